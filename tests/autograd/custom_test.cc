#include <aorta/autograd/anomaly.h>
#include <aorta/autograd/backward.h>
#include <aorta/autograd/checkpoint.h>
#include <aorta/autograd/dot.h>
#include <aorta/autograd/function.h>
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/autograd/saved.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/autograd/leaves.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <cmath>

namespace aorta {
namespace {

using autograd::checkpoint;
using Tensors = std::vector<Tensor>;

// ---- Custom functions.

struct Cube : autograd::Function<Cube> {
  static constexpr const char* name = "cube";
  static Tensors forward(FunctionContext& context, const Tensor& x) {
    context.save_for_backward({x});
    return {x * x * x};
  }
  static Tensors backward(FunctionContext& context, const Tensors& gradients) {
    const Tensor x = context.saved_tensors()[0];
    return {gradients[0] * 3 * x * x};
  }
};

// Two tensors and a number in; a result, its negative and a mask out.
struct ScaledProduct : autograd::Function<ScaledProduct> {
  static constexpr const char* name = "scaled_product";
  static Tensors forward(FunctionContext& context, const Tensor& a, double scale, const Tensor& b) {
    context.save_for_backward({a, b});
    context.data["scale"] = scale;
    const Tensor product = a * b * scale;
    const Tensor rounded = floor(product);
    context.mark_non_differentiable({rounded});
    return {product, -product, rounded};
  }
  static Tensors backward(FunctionContext& context, const Tensors& g) {
    const Tensors saved = context.saved_tensors();
    const Tensor both = (g[0] - g[1]) * context.get<double>("scale");
    return {context.needs_input_gradient(0) ? both * saved[1] : Tensor(),
            context.needs_input_gradient(1) ? both * saved[0] : Tensor()};
  }
};

struct SavesOutput : autograd::Function<SavesOutput> {
  static constexpr const char* name = "my_exp";
  static Tensors forward(FunctionContext& context, const Tensor& x) {
    const Tensor y = exp(x);
    context.save_for_backward({y});
    return {y};
  }
  static Tensors backward(FunctionContext& context, const Tensors& g) {
    return {g[0] * context.saved_tensors()[0]};
  }
};

struct WrongCount : autograd::Function<WrongCount> {
  static constexpr const char* name = "wrong_count";
  static Tensors forward(FunctionContext&, const Tensor& x) { return {x * 2}; }
  static Tensors backward(FunctionContext&, const Tensors&) { return {}; }
};

struct WrongShape : autograd::Function<WrongShape> {
  static constexpr const char* name = "wrong_shape";
  static Tensors forward(FunctionContext&, const Tensor& x) { return {x * 2}; }
  static Tensors backward(FunctionContext&, const Tensors& g) { return {sum(g[0])}; }
};

TEST(CustomFunction, HasTheGradientThatItSays) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = Cube::apply(x)[0];
  EXPECT_EQ(y.grad_fn(), "cube");
  sum(y).backward();
  EXPECT_EQ(list(x.grad()), (Doubles{3, 12, 27}));
  const auto cube = [](const Tensor& t) { return Cube::apply(t); };
  EXPECT_GRADIENTS(cube, {leaf({1, -2, 3})});
  EXPECT_SECOND_GRADIENTS(cube, {leaf({1, -2, 3})});
}

// The sum, with a gradient whose elements have one memory.
struct Expanding : autograd::Function<Expanding> {
  static constexpr const char* name = "expanding";
  static Tensors forward(FunctionContext&, const Tensor& x) { return {sum(x)}; }
  static Tensors backward(FunctionContext&, const Tensors& g) {
    return {(g[0] * 1.0).expand({3}).detach()};
  }
};

TEST(CustomFunction, ExpandedGradientsAddUp) {
  const Tensor x = leaf({1, 2, 3});
  for (const double times : {1.0, 2.0}) {
    Expanding::apply(x)[0].backward();
    EXPECT_EQ(list(x.grad()), (Doubles{times, times, times}));
  }
}

// As a module's parameter is.
struct Weight : Tensor {
  explicit Weight(const Tensor& value) : Tensor(value) {}
};

TEST(CustomFunction, TakesTypesDerivedFromTensor) {
  const Weight weight(leaf({2}));
  sum(Cube::apply(weight)[0]).backward();
  EXPECT_EQ(list(weight.grad()), Doubles{12});
}

TEST(CustomFunction, SeveralInputsAndOutputs) {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4});
  const Tensors out = ScaledProduct::apply(a, 2.5, b);
  EXPECT_TRUE(out[1].requires_grad());
  EXPECT_FALSE(out[2].requires_grad());
  const auto product = [](const Tensor& x, const Tensor& y) {
    return ScaledProduct::apply(x, 2.5, y);
  };
  EXPECT_GRADIENTS(
      [&](const Tensor& x, const Tensor& y) {
        const Tensors r = product(x, y);
        return r[0] * 3 + r[1];
      },
      {a, b});
  const Tensor constant = tensor({3.0, 4.0}, {.dtype = DType::f64});
  sum(product(a, constant)[0]).backward();
  EXPECT_EQ(list(a.grad()), (Doubles{7.5, 10}));
}

TEST(CustomFunction, MaySaveItsOutput) {
  const auto my_exp = [](const Tensor& t) { return SavesOutput::apply(t); };
  EXPECT_GRADIENTS(my_exp, {leaf({0.5, -1})});
  EXPECT_SECOND_GRADIENTS(my_exp, {leaf({0.5, -1})});
}

TEST(CustomFunction, WithoutGradientRecordsNothing) {
  EXPECT_FALSE(Cube::apply(tensor({1.0}))[0].requires_grad());
}

// Its result, which it saves, lies in its input's memory.
struct Flat : autograd::Function<Flat> {
  static constexpr const char* name = "flat";
  static Tensors forward(FunctionContext& context, const Tensor& x) {
    const Tensor y = x.transpose(0, 1);
    context.save_for_backward({y});
    return {y};
  }
  static Tensors backward(FunctionContext& context, const Tensors& g) {
    EXPECT_EQ(context.saved_tensors()[0].shape(), g[0].shape());
    return {g[0].transpose(0, 1)};
  }
};

TEST(CustomFunction, MayReturnAViewOfItsInput) {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}).detach().view({2, 3}).requires_grad_();
  const Tensor y = Flat::apply(x)[0];
  EXPECT_TRUE(x.is_leaf());
  EXPECT_EQ(y.grad_fn(), "flat");
  sum(y).backward();
  EXPECT_EQ(list(x.grad()), (Doubles{1, 1, 1, 1, 1, 1}));
  // The gradient holds for a result that is used elsewhere, too.
  const Tensor a = leaf({1, 2}).detach().view({1, 2}).requires_grad_();
  const Tensor z = a * 2;
  (sum(Flat::apply(z)[0]) + sum(z * 3)).backward();
  EXPECT_EQ(list(a.grad()), (Doubles{2 * (1 + 3), 2 * (1 + 3)}));
  const auto flat = [](const Tensor& t) { return Flat::apply(t.view({2, 2}))[0]; };
  EXPECT_GRADIENTS(flat, {leaf({1, -2, 3, 0.5})});
}

struct Asks : autograd::Function<Asks> {
  static Tensors forward(FunctionContext& context, const Tensor& x, const Tensor& y) {
    seen() = {context.needs_input_gradient(0), context.needs_input_gradient(1)};
    return {x * y};
  }
  static Tensors backward(FunctionContext&, const Tensors&) { return {Tensor(), Tensor()}; }
  static std::vector<bool>& seen() {
    static std::vector<bool> all;
    return all;
  }
  static constexpr const char* name = "asks";
};

TEST(CustomFunction, KnowsInForwardWhatMayBeNeeded) {
  Asks::apply(leaf({1}), leaf({2}).detach());
  EXPECT_EQ(Asks::seen(), (std::vector<bool>{true, false}));
  const NoGradGuard no_grad;
  Asks::apply(leaf({1}), leaf({2}));
  EXPECT_EQ(Asks::seen(), (std::vector<bool>{false, false}));
}

TEST(CustomFunction, Errors) {
  const Tensor x = leaf({1, 2});
  EXPECT_EQ(error_of([&] { sum(WrongCount::apply(x)[0]).backward(); }),
            "wrong_count: backward must return one gradient a tensor argument, got 0 for 1");
  EXPECT_EQ(error_of([&] { sum(WrongShape::apply(x)[0]).backward(); }),
            "wrong_shape: the gradient of an input must have its shape, got input 0: [] for [2]");
  const Tensor y = x * 1;
  const Tensor z = Cube::apply(y)[0];
  add_(y, 1);
  EXPECT_EQ(error_of([&] { sum(z).backward(); }),
            "cube: a tensor saved for the gradient must not be changed in place, got input 0 of "
            "shape [2] at version 1, saved at 0");
}

// ---- Checkpointing.

Tensor block(const Tensor& x, const Tensor& w) {
  const Tensor h = tanh(matmul(x, w));
  const Tensor kept = bernoulli_(empty_like(h.detach()), 0.5);
  return sigmoid(h * kept) * h;
}

TEST(Checkpoint, GivesTheSameGradientsAndRandomNumbers) {
  manual_seed(5);
  const Tensor x = randn({4, 3}, {.dtype = DType::f64}).requires_grad_();
  const Tensor w = randn({3, 3}, {.dtype = DType::f64}).requires_grad_();
  const GeneratorState start = default_generator().state();
  const Tensor plain = block(block(x, w), w);
  const Tensors expected = autograd::grad({sum(plain)}, {x, w});
  const GeneratorState end = default_generator().state();

  default_generator().restore(start);
  const auto inner = [&](const Tensor& t) { return block(t, w); };
  const Tensor saved = checkpoint(inner, checkpoint(inner, x));
  EXPECT_EQ(list(saved), list(plain));
  rand({100});
  const GeneratorState later = default_generator().state();
  const Tensors actual = autograd::grad({sum(saved)}, {x, w});
  EXPECT_EQ(list(actual[0]), list(expected[0]));
  EXPECT_EQ(list(actual[1]), list(expected[1]));
  EXPECT_EQ(default_generator().state(), later) << "the second run leaves the generator alone";
  EXPECT_FALSE(later == end);
}

TEST(Checkpoint, ComputesOnceMoreAndOnlyWhenNeeded) {
  const Tensor x = leaf({0.5, 2});
  int runs = 0;
  const auto counted = [&](const Tensor& t) {
    ++runs;
    return exp(sin(t * t));
  };
  const Tensor y = checkpoint(counted, x);
  EXPECT_EQ(runs, 1);
  sum(y).backward();
  EXPECT_EQ(runs, 2);
}

TEST(Checkpoint, KeepsNothingInside) {
  const Tensor x = ones({1 << 16}).requires_grad_();
  const auto deep = [](const Tensor& t) {
    Tensor y = t;
    for (int i = 0; i < 20; ++i) y = sin(y);
    return y;
  };
  const int64_t before = cpu::allocator_stats().bytes_in_use;
  const Tensor y = checkpoint(deep, x);
  const int64_t kept = cpu::allocator_stats().bytes_in_use - before;
  EXPECT_LT(kept, 2 * x.nbytes()) << "of 20 results of this size, the last";
  sum(y).backward();
  double value = 1, slope = 1;
  for (int i = 0; i < 20; ++i) {
    slope *= std::cos(value);
    value = std::sin(value);
  }
  EXPECT_NEAR(x.grad().select(0, 0).item<double>(), slope, 1e-6);
}

TEST(Checkpoint, NestsAndDifferentiatesTwice) {
  const auto inner = [](const Tensor& t) { return sin(t * t); };
  const auto outer = [&](const Tensor& t) { return exp(checkpoint(inner, t)) * t; };
  const auto function = [&](const Tensor& t) { return checkpoint(outer, t); };
  EXPECT_GRADIENTS(function, {leaf({0.3, -0.7, 1.1})});
  EXPECT_SECOND_GRADIENTS(function, {leaf({0.3, -0.7, 1.1})});
}

TEST(Checkpoint, RefusesAFunctionThatChangesItsMind) {
  const Tensor x = leaf({0.5, 2});
  int runs = 0;
  const Tensor y =
      checkpoint([&](const Tensor& t) { return runs++ == 0 ? sin(t) : sin(cos(t)); }, x);
  EXPECT_EQ(
      error_of([&] { sum(y).backward(); }),
      "checkpoint: the function must save the same tensors when it runs again, got more than 1");
}

// ---- Saved-tensor hooks.

TEST(SavedTensorsHooks, PackAndUnpack) {
  const Tensor x = leaf({1, 2});
  int packed = 0, unpacked = 0;
  Tensor y;
  {
    const autograd::SavedTensorsHooks hooks(
        [&](const Tensor& t) {
          ++packed;
          return std::any(t * 10);
        },
        [&](const std::any& value) {
          ++unpacked;
          return std::any_cast<Tensor>(value) / 10;
        });
    y = exp(x * x);
  }
  EXPECT_EQ(packed, 3);
  sum(y).backward();
  EXPECT_EQ(unpacked, 3);
  EXPECT_NEAR(x.grad().select(0, 1).item<double>(), 4 * std::exp(4), 1e-9);
}

TEST(SavedTensorsHooks, GiveBackWhatWasPackedOrSayWhatTheyGave) {
  using Unpack = std::function<Tensor(const Tensor& packed)>;
  const auto run = [](const Unpack& unpack) {
    const Tensor x = tensor({1.0, 2.0}, {.dtype = DType::f64, .requires_grad = true});
    Tensor y;
    {
      const autograd::SavedTensorsHooks hooks(
          [](const Tensor& t) { return std::any(t); },
          [&](const std::any& packed) { return unpack(std::any_cast<Tensor>(packed)); });
      y = exp(x);
    }
    return error_of([&] { sum(y).backward(); });
  };
  const std::string rule =
      "exp: unpack must give what was packed, by shape, dtype and device, got ";
  EXPECT_EQ(run([](const Tensor& t) { return t; }), kNoError);
  EXPECT_EQ(run([](const Tensor&) { return Tensor(); }), rule + "nothing for [2] f64 on cpu");
  EXPECT_EQ(run([](const Tensor& t) { return t.slice(0, 0, 1); }),
            rule + "[1] f64 on cpu for [2] f64 on cpu");
  EXPECT_EQ(run([](const Tensor& t) { return t.to(DType::f32); }),
            rule + "[2] f32 on cpu for [2] f64 on cpu");
  EXPECT_EQ(run([](const Tensor&) -> Tensor { fail("hook", "no"); }), "hook: no");
}

TEST(SavedTensorsHooks, PackReadsItsTensorAndIsOutsideOfItself) {
  const Tensor x = tensor({1.0, 2.0}, {.dtype = DType::f64, .requires_grad = true});
  {
    const autograd::SavedTensorsHooks hooks(
        [](const Tensor& t) {
          mul_(t, 0);
          return std::any(t);
        },
        [](const std::any& packed) { return std::any_cast<Tensor>(packed); });
    EXPECT_EQ(error_of([&] { exp(x); }),
              "SavedTensorsHooks: pack must not write to its tensor, got [2]");
  }
  int depth = 0;
  Tensor y;
  {
    const autograd::SavedTensorsHooks hooks(
        [&](const Tensor& t) {
          ++depth;
          const EnableGradGuard recording;  // what is saved here goes through no hook
          exp(x);
          return std::any(t);
        },
        [](const std::any& packed) { return std::any_cast<Tensor>(packed); });
    y = exp(x);
  }
  EXPECT_EQ(depth, 1);
  EXPECT_EQ(error_of([&] { sum(y).backward(); }), kNoError);
  EXPECT_EQ(error_of([] { const autograd::SavedTensorsHooks hooks({}, {}); }),
            "SavedTensorsHooks: pack and unpack must be functions, got an empty one");
}

TEST(SavedTensorsHooks, SaveOnCpu) {
  const auto function = [](const Tensor& t) {
    const autograd::SaveOnCpu on_cpu;
    return softmax(t * t, 0) * t;
  };
  EXPECT_GRADIENTS(function, {leaf({0.3, -0.7, 1.1})});
  EXPECT_SECOND_GRADIENTS(function, {leaf({0.3, -0.7, 1.1})});
}

// ---- Anomaly mode.

TEST(DetectAnomaly, NamesTheForwardOpAndItsModule) {
  const Tensor x = leaf({0, 4});
  Tensor y;
  {
    const ModuleScope outer("encoder"), inner("norm");
    y = sqrt(x * 0);
  }
  sum(y).backward({}, true);  // silent: 0 * inf
  const autograd::DetectAnomaly anomaly;
  EXPECT_EQ(error_of([&] { sum(y * 0).backward(); }),
            "sqrt in encoder.norm: a gradient must not be NaN, got input 0 of shape [2]");
}

// ---- The graph as a picture.

TEST(ToDot, DrawsOpsAndLeavesWithShapes) {
  const Tensor w = ones({3, 2}).requires_grad_(), b = ones({2}).requires_grad_();
  Tensor y;
  {
    const ModuleScope scope("hidden");
    y = relu(matmul(ones({4, 3}), w) + b);
  }
  EXPECT_EQ(autograd::to_dot(sum(y), {{"hidden.weight", w}, {"hidden.bias", b}}), R"(digraph {
  node [shape=box, fontname="sans-serif", fontsize=10];
  n0 [label="sum\n[]"];
  n1 [label="relu\nhidden\n[4,2]"];
  n2 [label="add\nhidden\n[4,2]"];
  n3 [label="matmul\nhidden\n[4,2]"];
  n4 [label="hidden.bias\n[2]", style="filled,rounded", fillcolor="#cfe2f3"];
  n5 [label="hidden.weight\n[3,2]", style="filled,rounded", fillcolor="#cfe2f3"];
  loss [label="loss", shape=plaintext];
  n1 -> n0;
  n2 -> n1;
  n3 -> n2;
  n4 -> n2;
  n5 -> n3;
  n0 -> loss;
}
)");
}

}  // namespace
}  // namespace aorta
