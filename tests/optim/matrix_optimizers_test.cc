// Adafactor and Muon: what they share with all optimizers, and the shapes of their state.
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/history.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

#include <aorta/tests/error_text.h>
#include <aorta/tests/optim/optimizers.h>

namespace aorta::optim {
namespace {

const Shape kWide{2, 5};

void steps(const Problem& problem, Optimizer& optimizer, int64_t first, int64_t last) {
  for (int64_t t = first; t <= last; ++t) {
    problem.set_gradients(t);
    optimizer.step();
  }
}

TEST(MatrixOptimizers, StateGoesThroughAFileBitForBit) {
  for (const auto& [name, make] : matrix_runs()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      const Problem first(dtype, {}, kWide), second(dtype, {}, kWide);
      const auto before = make(first.groups()), after = make(second.groups());
      steps(first, *before, 1, 12);
      const std::string path = testing::TempDir() + "/matrix_optimizer.safetensors";
      before->state_dict().save(path);
      steps(second, *after, 1, 3);  // what was there before is gone
      after->load_state_dict(State::load(path));
      {
        const NoGradGuard no_grad;
        for (size_t i = 0; i < 2; ++i) second.parameter(i).copy_(first.parameter(i));
      }
      steps(first, *before, 13, 20);
      steps(second, *after, 13, 20);
      for (size_t i = 0; i < 2; ++i)
        expect_same_bits(first.parameter(i), second.parameter(i), name);
    }
  }
}

TEST(MatrixOptimizers, TakeAnyLayoutAndHalfTypesInF32) {
  const auto transposed = [](const Tensor& x) { return x.t().contiguous().t(); };
  for (const auto& [name, make] : matrix_runs()) {
    const Problem expected(f64, {}, kWide), problem(f64, transposed, kWide);
    const auto reference = make(expected.groups()), optimizer = make(problem.groups());
    for (int64_t t = 1; t <= 6; ++t) {
      expected.set_gradients(t);
      problem.set_gradients(t, transposed);
      reference->step();
      optimizer->step();
    }
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_LT(max(abs(problem.parameter(i) - expected.parameter(i))).item<double>(),
                name == "muon" ? 1e-3 : 1e-14)
          << name;
    }
    const Problem half(DType::bf16, {}, kWide), single(f32, {}, kWide);
    if (name.starts_with("adafactor") && name != "adafactor_all") continue;  // eps1 is the dtype's
    const auto of_half = make(half.groups()), of_single = make(single.groups());
    for (int64_t t = 1; t <= 6; ++t) {
      half.set_gradients(t);
      const NoGradGuard no_grad;
      for (size_t i = 0; i < 2; ++i) {
        single.parameter(i).copy_(half.parameter(i));
        const Tensor gradient = half.parameter(i).grad();
        single.parameter(i).set_grad(gradient.defined() ? gradient.to(f32) : Tensor());
      }
      of_half->step();
      of_single->step();
      for (size_t i = 0; i < 2; ++i)
        expect_same_bits(half.parameter(i), single.parameter(i).detach().to(DType::bf16), name);
    }
  }
}

TEST(MatrixOptimizers, FollowConvertedParameters) {
  for (const auto& [name, make] : matrix_runs()) {
    const Problem problem(f32, {}, kWide);
    const auto optimizer = make(problem.groups());
    steps(problem, *optimizer, 1, 4);
    const State state = optimizer->state();
    std::vector<Given> groups = problem.groups();
    for (Given& group : groups) {
      const Tensor converted = group.parameters[0].detach().to(f64);
      autograd::set_data(group.parameters[0], converted);
      group.parameters[0] = converted.clone().requires_grad_();
    }
    const auto reference = make(groups);
    reference->restore(state);
    for (int64_t t = 6; t <= 9; ++t) {
      problem.set_gradients(t);
      for (size_t i = 0; i < 2; ++i) groups[i].parameters[0].set_grad(problem.parameter(i).grad());
      optimizer->step();
      reference->step();
      for (size_t i = 0; i < 2; ++i)
        expect_same_bits(problem.parameter(i), groups[i].parameters[0], name);
    }
    const State after = optimizer->state();
    for (const auto& [key, tensor] : after.tensors()) EXPECT_EQ(tensor.dtype(), f64) << key;
  }
}

TEST(MatrixOptimizers, AdafactorsStateIsRowsAndColumns) {
  const Tensor w = ones({3, 4, 5}, {.dtype = f64}).requires_grad_(), b = leaf({1, 2}),
               none = zeros({0, 4}).requires_grad_();
  Adafactor adafactor({w, b, none});
  for (const Tensor& p : {w, b, none}) p.set_grad(ones_like(p.detach()));
  adafactor.step();
  const State state = adafactor.state();
  EXPECT_EQ(state.tensor("state.0.row_var").shape(), (Shape{3, 4, 1}));
  EXPECT_EQ(state.tensor("state.0.col_var").shape(), (Shape{3, 1, 5}));
  EXPECT_FALSE(state.contains("state.0.variance"));
  EXPECT_EQ(state.tensor("state.1.variance").shape(), (Shape{2}));
  const auto changed = [&](const std::string& name, const Tensor& value) {
    State other;
    for (const auto& [key, tensor] : state.tensors())
      if (key != name) other.set(key, tensor);
    for (const auto& [key, old] : state.values()) other.set(key, old);
    if (value.defined()) other.set(name, value);
    return error_of([&] { adafactor.restore(other); });
  };
  EXPECT_EQ(changed("state.0.row_var", ones({3, 4})),
            "load_state_dict: state must have the shape that the rule gives it, got "
            "\"state.0.row_var\" of [3,4] for [3,4,1]");
  EXPECT_EQ(changed("state.0.col_var", {}),
            "load_state_dict: the state must have every tensor of the rule, got no "
            "\"state.0.col_var\"");
  EXPECT_EQ(changed("state.0.variance", ones({3, 4, 5})),
            "load_state_dict: the state must be of this rule, got an unknown \"state.0.variance\"");
  EXPECT_EQ(changed("state.1.row_var", ones({2})),
            "load_state_dict: the state must be of this rule, got an unknown \"state.1.row_var\"");
}

TEST(MatrixOptimizers, MuonsStateHoldsItsOptions) {
  const Tensor w = ones({2, 3}, {.dtype = f64}).requires_grad_(), other = w.detach().clone();
  Muon muon({w}, {.ns_coefficients = {2, -1.5, 0.5}, .adjust_lr_fn = "match_rms_adamw"});
  State state = muon.state();
  EXPECT_EQ(state.get<std::string>("param_groups.0.adjust_lr_fn"), "match_rms_adamw");
  EXPECT_EQ(state.get<std::vector<double>>("param_groups.0.ns_coefficients"),
            (std::vector<double>{2, -1.5, 0.5}));
  Muon plain({other.requires_grad_()});
  plain.restore(state);
  const std::string& adjustment = plain.options().adjust_lr_fn;
  EXPECT_EQ(adjustment, "match_rms_adamw");
  EXPECT_EQ(plain.options().ns_coefficients[1], -1.5);
  State two;
  for (const auto& [key, value] : state.values())
    two.set(key, key.ends_with("ns_coefficients") ? State::Value(std::vector{1.0, 2.0}) : value);
  EXPECT_EQ(error_of([&] { plain.restore(two); }),
            "load_state_dict: three numbers must be three, got \"ns_coefficients\" with 2");
  EXPECT_EQ(error_of([&] { muon.add_param_group({leaf({1})}), muon.step(); }),
            "muon: parameters must be matrices, got [1]");
}

// The iteration with the classical coefficients converges to the orthogonal factor.
TEST(MatrixOptimizers, MuonsStepIsOrthogonal) {
  const Tensor w = zeros({3, 5}, {.dtype = f64}).requires_grad_();
  w.set_grad(sin(square(arange(15, {.dtype = f64}))).view({3, 5}));
  Muon muon({w}, {.lr = 1,
                  .weight_decay = 0,
                  .ns_coefficients = {1.5, -0.5, 0},
                  .ns_steps = 60,
                  .bf16 = false});
  muon.step();
  const Tensor step = w.detach();
  EXPECT_LT(max(abs(matmul(step, step.t()) - eye(3, {.dtype = f64}))).item<double>(), 1e-13);
}

TEST(MatrixOptimizers, OfNoElementsHaveAStateThatIsTakenBack) {
  const auto expect = [](const auto& make) {
    const Tensor first = zeros({0, 3}).requires_grad_(), second = zeros({0, 3}).requires_grad_();
    first.set_grad(zeros({0, 3}));
    const auto before = make(first), after = make(second);
    before->step();
    after->restore(before->state());
    EXPECT_EQ(after->state().names(), before->state().names());
  };
  expect([](const Tensor& p) { return std::make_unique<Adafactor>(std::vector{p}); });
  expect([](const Tensor& p) { return std::make_unique<Muon>(std::vector{p}); });
}

}  // namespace
}  // namespace aorta::optim
