// Groups of parameters: what they inherit, and get of a state.
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/optim/optimizers.h>

namespace aorta::optim {
namespace {

// Options of every optimizer: what a group doesn't name is the optimizer's, what it names its own,
// even where that is the default.
TEST(Groups, GroupsInheritWhatTheyDoNotName) {
  const Tensor w = full({1, 1}, 1.0, {.requires_grad = true});  // Muon's are matrices
  const Tensor b = full({1, 1}, 2.0, {.requires_grad = true});
  const Tensor c = full({1, 1}, 3.0, {.requires_grad = true});
  const auto inherits = [&]<class T>(const T*, const typename T::Options& base,
                                     const typename T::Options& own) {
    using Groups = std::vector<typename T::Group>;
    T optimizer(Groups{{{w}}, {{b}, own}}, base);
    optimizer.add_param_group({c});
    typename T::Options given = base, named = own;
    Fields of_base, of_own;
    given.fields(of_base);
    named.fields(of_own);
    const auto same = [](const Fields::Field& one, const Fields::Field& other) {
      return std::visit([&]<class P>(P* place) { return *place == *std::get<P*>(other.place); },
                        one.place);
    };
    const Fields first = optimizer.fields(0), second = optimizer.fields(1),
                 third = optimizer.fields(2);
    for (size_t i = 0; i < of_base.list().size(); ++i) {
      SCOPED_TRACE(of_base.list()[i].name);
      EXPECT_TRUE(*of_base.list()[i].named);  // the row names them all
      EXPECT_TRUE(same(first.list()[i], of_base.list()[i]));
      EXPECT_TRUE(same(third.list()[i], of_base.list()[i]));
      EXPECT_TRUE(same(second.list()[i], (*of_own.list()[i].named ? of_own : of_base).list()[i]));
    }
  };
  inherits(static_cast<SGD*>(nullptr),
           {.lr = 0.5,
            .momentum = 0.9,
            .dampening = 0.1,
            .weight_decay = 0.2,
            .nesterov = false,
            .maximize = true,
            .dialect = Dialect::pytorch},
           {.weight_decay = 0});
  inherits(static_cast<Adam*>(nullptr),
           {.lr = 0.5,
            .betas = {0.5, 0.6},
            .eps = 0.1,
            .weight_decay = 0.2,
            .amsgrad = true,
            .maximize = true,
            .decoupled_weight_decay = true},
           {.lr = 1e-3, .amsgrad = false, .decoupled_weight_decay = false});
  inherits(static_cast<AdamW*>(nullptr),
           {.lr = 0.5,
            .betas = {0.5, 0.6},
            .eps = 0.1,
            .weight_decay = 0.2,
            .amsgrad = true,
            .maximize = true},
           {.betas = {0.9, 0.999}, .weight_decay = 0});
  inherits(static_cast<Adamax*>(nullptr),
           {.lr = 0.5, .betas = {0.5, 0.6}, .eps = 0.1, .weight_decay = 0.2, .maximize = true},
           {.eps = 1e-8});
  inherits(static_cast<NAdam*>(nullptr),
           {.lr = 0.5,
            .betas = {0.5, 0.6},
            .eps = 0.1,
            .weight_decay = 0.2,
            .momentum_decay = 0.3,
            .decoupled_weight_decay = true,
            .maximize = true},
           {.decoupled_weight_decay = false});
  inherits(static_cast<RAdam*>(nullptr),
           {.lr = 0.5,
            .betas = {0.5, 0.6},
            .eps = 0.1,
            .weight_decay = 0.2,
            .decoupled_weight_decay = true,
            .maximize = true},
           {.weight_decay = 0});
  inherits(static_cast<Rprop*>(nullptr),
           {.lr = 0.5, .etas = {0.3, 1.5}, .step_sizes = {0.1, 0.5}, .maximize = true},
           {.etas = {0.5, 1.2}});
  inherits(static_cast<ASGD*>(nullptr),
           {.lr = 0.5, .lambd = 0.1, .alpha = 0.2, .t0 = 3, .weight_decay = 0.2, .maximize = true},
           {.lambd = 1e-4});
  inherits(static_cast<Adafactor*>(nullptr),
           {.lr = 0.5,
            .beta2_decay = -0.5,
            .eps = {0.1, 0.2},
            .d = 2,
            .weight_decay = 0.2,
            .maximize = true},
           {.eps = {kMachineEpsilon, 1e-3}});
  inherits(static_cast<Muon*>(nullptr),
           {.lr = 0.5,
            .weight_decay = 0.2,
            .momentum = 0.4,
            .nesterov = false,
            .ns_coefficients = {1.0, 2.0, 3.0},
            .eps = 0.1,
            .ns_steps = 2,
            .adjust_lr_fn = "match_rms_adamw",
            .bf16 = false},
           {.momentum = 0.95, .adjust_lr_fn = "original"});
  inherits(static_cast<RMSprop*>(nullptr),
           {.lr = 0.5,
            .alpha = 0.4,
            .eps = 0.1,
            .weight_decay = 0.2,
            .momentum = 0.3,
            .centered = true,
            .maximize = true},
           {.momentum = 0});
  inherits(static_cast<Adagrad*>(nullptr),
           {.lr = 0.5,
            .lr_decay = 0.4,
            .weight_decay = 0.2,
            .initial_accumulator_value = 0.3,
            .eps = 0.1,
            .maximize = true,
            .dialect = Dialect::pytorch},
           {.lr_decay = 0});
  inherits(static_cast<Adadelta*>(nullptr),
           {.lr = 0.5,
            .rho = 0.4,
            .eps = 0.1,
            .weight_decay = 0.2,
            .maximize = true,
            .dialect = Dialect::pytorch},
           {.rho = 0.9});
  // The short form, and the options that a group completes of its own dialect.
  SGD sgd({{{w}, {.lr = 0.25}}, {{b}, {}}}, {.lr = 0.5, .momentum = 0.9});
  EXPECT_EQ(sgd.lr(0), 0.25);
  EXPECT_EQ(sgd.lr(1), 0.5);
  EXPECT_EQ(sgd.options(0).momentum, 0.9);
  Adagrad adagrad({{{w}, {.dialect = Dialect::paper}}, {{b}, {}}}, {.lr = 0.5});
  EXPECT_EQ(adagrad.options(0).eps, 1e-8);
  EXPECT_EQ(adagrad.options(1).eps, 1e-10);
}

TEST(Groups, OptionsAreNumbersAmongNumbersAndTensors) {
  struct {
    Option<double> lr = Default(0.25), beta = Default(0.5);
    Option<int64_t> count = Default(3);
    Option<bool> flag = Default(false);
  } o;
  EXPECT_EQ(o.lr * o.beta + o.lr / o.beta - (1 - o.lr) * 2 - o.count, 0.125 + 0.5 - 1.5 - 3);
  EXPECT_TRUE(o.lr < o.beta && o.lr != o.beta && o.lr <= 0.25 && o.count == 3 && !o.flag);
  const Tensor x = full({2}, 2, {.dtype = f64});
  EXPECT_EQ((o.lr * x - o.beta).to_vector<double>(), (std::vector{0.0, 0.0}));
  o.lr *= 2;
  o.beta = o.lr;
  EXPECT_TRUE(o.lr.is_named() && o.beta == 0.5 && !o.count.is_named());
}

TEST(Groups, ACopyOfOptionsKeepsThemAll) {
  const Tensor w = leaf({1}), b = leaf({2});
  SGD sgd({w}, {.momentum = 0.9});
  sgd.set_lr(0.7);  // by a schedule
  sgd.add_param_group({b}, sgd.options());
  EXPECT_EQ(sgd.lr(1), 0.7);
  EXPECT_EQ(sgd.options(1).momentum, 0.9);
}

TEST(Groups, AFieldThatCannotBeInheritedSaysSo) {
  struct PlainOptions {
    double lr = 1e-3;
    void fields(Fields& f) { f("lr", lr); }
    void check() const {}
  };
  struct Plain : CustomOptimizer<PlainOptions> {
    using CustomOptimizer::CustomOptimizer;
    void update(Slot&, const PlainOptions&) override {}
  };
  const Tensor w = leaf({1}), b = leaf({2});
  Plain optimizer({w}, {.lr = 0.1});
  EXPECT_EQ(error_of([&] { optimizer.add_param_group({b}); }),
            "optimizer: an option that groups inherit must be an optim::Option, got lr");
  EXPECT_EQ(optimizer.group_count(), 1u);
  optimizer.add_param_group({b}, {.lr = 0.2});
  EXPECT_EQ(optimizer.lr(1), 0.2);
}

// States of Adam that were saved before it could be AdamW.
TEST(Groups, AStateWithoutALaterOptionComesBack) {
  const Tensor w = ones({2}, {.requires_grad = true});
  w.set_grad(ones({2}));
  Adam adam({w}, {.lr = 0.5, .decoupled_weight_decay = true});
  adam.step();
  const State now = adam.state();
  State before;
  for (const auto& [name, tensor] : now.tensors()) before.set(name, tensor);
  for (const auto& [name, value] : now.values())
    if (name != "param_groups.0.decoupled_weight_decay") before.set(name, value);
  adam.restore(before);
  EXPECT_FALSE(adam.state().get<bool>("param_groups.0.decoupled_weight_decay"));
  adam.restore(adam.state());
}

}  // namespace
}  // namespace aorta::optim
