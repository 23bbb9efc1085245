// Parameters that are converted after their optimizer was made: another dtype, device or layout.
#include <aorta/autograd/history.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/optim/optimizers.h>

namespace aorta::optim {
namespace {

// As Module::to does it: the parameters stay the objects that they are. An optimizer goes on as one
// that was made on the new ones and took over its state.
TEST(Conversion, AnOptimizerFollows) {
  const auto transposed = [](const Tensor& x) {
    return x.dim() == 2 ? x.t().contiguous().t() : x.clone();
  };
  const auto with_gaps = [](const Tensor& x) { return stack({x, x}, x.dim()).select(x.dim(), 0); };
  struct Change {
    DType before;
    std::function<Tensor(const Tensor&)> convert;
  };
  const std::vector<Change> changes = {
      {f32, [](const Tensor& x) { return x.to(f64); }},
      {f32, [](const Tensor& x) { return x.to(bf16); }},
      {f64, [](const Tensor& x) { return x.to(f32); }},
      {bf16, [](const Tensor& x) { return x.to(f32); }},
      {f32, transposed},
      {f32, with_gaps},
      {f64, [&](const Tensor& x) { return transposed(x).to(f32); }},
      // One of the two, so that a bucket becomes two.
      {f32, [](const Tensor& x) { return x.dim() == 2 ? x.to(f64) : x.clone(); }}};
  for (const auto& [name, make] : runs()) {
    for (size_t c = 0; c < changes.size(); ++c) {
      for (const int64_t steps_before : {0, 7}) {
        const std::string what =
            name + ", change " + std::to_string(c) + " after " + std::to_string(steps_before);
        const Problem problem(changes[c].before);
        const std::vector<Given> one_group = {{{problem.parameter(0), problem.parameter(1)}, 1}};
        const auto optimizer = make(one_group);
        int64_t t = 1;
        for (; t <= steps_before; ++t) {
          problem.set_gradients(t);
          optimizer->step();
        }
        const State state = optimizer->state();
        std::vector<Tensor> expected;
        for (size_t i = 0; i < 2; ++i) {
          const Tensor converted = changes[c].convert(problem.parameter(i).detach());
          expected.push_back(converted.clone().requires_grad_());
          autograd::set_data(problem.parameter(i), converted);
        }
        const auto reference = make({{expected, 1}});
        reference->restore(state);
        for (; t <= steps_before + 6; ++t) {
          problem.set_gradients(t);
          for (size_t i = 0; i < 2; ++i) expected[i].set_grad(problem.parameter(i).grad());
          optimizer->step();
          reference->step();
          for (size_t i = 0; i < 2; ++i) expect_same_bits(problem.parameter(i), expected[i], what);
        }
        const State after = optimizer->state(), wanted = reference->state();
        for (const auto& [key, tensor] : wanted.tensors())
          expect_same_bits(after.tensor(key), tensor, what + ", " + key);
      }
    }
  }
}

TEST(Conversion, ToAnotherDevice) {
  const Tensor w = leaf({1, 2});
  SGD sgd({w}, {.lr = 0.5, .momentum = 0.5});
  w.set_grad(ones({2}, {.dtype = f64}));
  sgd.step();
  autograd::set_data(w, w.detach().to(Device("cpu:1")));
  EXPECT_EQ(w.grad().device(), Device("cpu:1"));
  sgd.step();
  EXPECT_EQ(w.to_vector<double>(), (std::vector{1 - 0.5 - 0.75, 2 - 0.5 - 0.75}));
  EXPECT_EQ(sgd.state().tensor("state.0.momentum_buffer").device(), Device("cpu:1"));
}

TEST(Conversion, RestoresInto) {
  const double third = 1.0 / 3;
  const Tensor w = leaf({1}, f32), other = leaf({1}, f64);
  SGD sgd({w}, {.momentum = 0.9}), source({other}, {.momentum = 0.9});
  w.set_grad(ones({1}));
  sgd.step();
  other.set_grad(tensor({third}, {.dtype = f64}));
  source.step();
  autograd::set_data(w, w.detach().to(f64));
  sgd.restore(source.state());
  EXPECT_EQ(sgd.state().tensor("state.0.momentum_buffer").item<double>(), third);
}

TEST(Conversion, LooksBack) {
  const Tensor w = leaf({1, 2}, f32);
  SGD sgd({w}, {.lr = 0.5, .momentum = 0.5, .nesterov = true, .dialect = Dialect::paper});
  const auto gradient_of_one = [&] {
    w.set_grad(ones({2}, {.dtype = w.dtype()}));
    return Tensor();
  };
  sgd.step(gradient_of_one);  // v = 0.5
  sgd.look_ahead();
  autograd::set_data(w, w.detach().to(f64));
  EXPECT_EQ(w.to_vector<double>(), (std::vector{0.25, 1.25}));
  sgd.look_back();
  EXPECT_EQ(w.to_vector<double>(), (std::vector{0.5, 1.5}));
  sgd.look_ahead();
  autograd::set_data(w, w.detach().to(f32));
  gradient_of_one();
  sgd.step();  // v = 0.75
  EXPECT_EQ(w.to_vector<double>(), (std::vector{-0.25, 0.75}));
}

struct SumOptions {
  double lr = 0.5;
  void fields(Fields& f) { f("lr", lr); }
  void check() const {}
};
// SumOptimizer steps along the sum of all gradients so far.
struct SumOptimizer : CustomOptimizer<SumOptions> {
  using CustomOptimizer::CustomOptimizer;
  void update(Slot& slot, const SumOptions& o) override {
    const Tensor sum = slot.state("sum");
    add_(sum, slot.gradient);
    sub_(slot.parameter, o.lr * sum);
  }
};

TEST(Conversion, ACustomOptimizerFollowsToo) {
  const Tensor w = leaf({0, 0}, f32);
  SumOptimizer optimizer({w});
  w.set_grad(ones({2}));
  optimizer.step();
  autograd::set_data(w, w.detach().to(f64));
  optimizer.step();
  EXPECT_EQ(optimizer.state().tensor("state.0.sum").dtype(), f64);
  EXPECT_EQ(w.to_vector<double>(), (std::vector{-1.5, -1.5}));  // 0.5 (1 + 2)
}

// Which is the optimizer's own memory.
TEST(Optimizers, TakeTheirOwnStateAsItIs) {
  for (const auto& [name, make] : runs()) {
    const Tensor w = tensor({1.0, -2.0, 3.0}, {.dtype = f64}).requires_grad_();
    const Tensor other = w.detach().clone().requires_grad_();
    const auto first = make({{{w}}}), second = make({{{other}}});
    for (int t = 0; t < 6; ++t) {
      w.set_grad(w.detach() * 0.5 + t % 2);
      other.set_grad(other.detach() * 0.5 + t % 2);
      first->step();
      second->step();
      if (t == 2) first->restore(first->state());
    }
    EXPECT_EQ(w.detach().to_vector<double>(), other.detach().to_vector<double>()) << name;
  }
}

}  // namespace
}  // namespace aorta::optim
