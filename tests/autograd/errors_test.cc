#include <aorta/autograd/backward.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/history.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

// What a user does wrong, and the line that says so.
namespace aorta {
namespace {

Tensor any_leaf() { return ones({2}, {.dtype = DType::f64}).requires_grad_(); }

Tensor inference_tensor() {
  const InferenceMode inference;
  return ones({2}, {.dtype = DType::f64});
}

struct Mistake {
  const char* name;
  void (*make)();
  const char* message;
};

const Mistake kMistakes[] = {
    {"NoGraph", [] { sum(ones({2})).backward(); },
     "backward: an output must require a gradient: it does when an input that was computed with "
     "does, "
     "got output 0 of shape []"},
    {"NoGraphUnderNoGrad",
     [] {
       const NoGradGuard no_grad;
       sum(any_leaf()).backward();
     },
     "backward: an output must require a gradient: it does when an input that was computed with "
     "does, "
     "got output 0 of shape []"},
    {"NotAScalar", [] { (any_leaf() * 2).backward(); },
     "backward: a gradient must be given for an output of more than one element, got [2]"},
    {"ShapeOfTheGradient", [] { (any_leaf() * 2).backward(ones({3})); },
     "backward: the gradient must have the output's shape, got [3] for [2]"},
    {"DtypeOfTheGradient", [] { (any_leaf() * 2).backward(ones({2}, {.dtype = DType::i64})); },
     "backward: the gradient must be floating, got i64"},
    {"DeviceOfTheGradient", [] { (any_leaf() * 2).backward(ones({2}, {.device = "cpu:1"})); },
     "backward: the gradient must be on the output's device, got cpu:1 for cpu"},
    {"BackwardTwice",
     [] {
       const Tensor y = sum(exp(any_leaf()));
       y.backward();
       y.backward();
     },
     "backward: a graph can be run a second time only if the first kept it (retain_graph = true), "
     "got "
     "the saved tensors of exp have been freed"},
    {"GradOfAnInputWithoutGradient",
     [] {
       const Tensor x = any_leaf();
       autograd::grad({sum(x)}, {ones({2})});
     },
     "grad: an input must require a gradient, got input 0 of shape [2]"},
    {"GradOfAnUnusedInput", [] { autograd::grad({sum(any_leaf())}, {any_leaf()}); },
     "grad: the outputs must depend on every input, unless allow_unused, got input 0 of shape [2]"},
    {"GradOfNothing", [] { autograd::grad({sum(any_leaf())}, {}); },
     "grad: at least one input must be given, got 0"},
    {"NumberOfGradients",
     [] {
       const Tensor x = any_leaf();
       autograd::grad({sum(x)}, {x}, {ones({}), ones({})});
     },
     "grad: there must be one gradient an output, got 2 for 1"},
    {"InputsThatAreNoLeaves",
     [] {
       const Tensor y = any_leaf() * 2, z = sum(y);
       autograd::backward({&z, 1}, {}, {.inputs = {&y, 1}});
     },
     "backward: inputs must be leaves, got mul"},
    {"WriteIntoALeaf", [] { add_(any_leaf(), 1); },
     "add_: a leaf that requires a gradient can't be written in place; use NoGradGuard to change "
     "its "
     "values, got [2]"},
    {"FillALeaf", [] { any_leaf().zero_(); },
     "zero_: a leaf that requires a gradient can't be written in place; use NoGradGuard to change "
     "its "
     "values, got [2]"},
    {"CopyIntoALeaf", [] { any_leaf().copy_(ones({2})); },
     "copy_: a leaf that requires a gradient can't be written in place; use NoGradGuard to change "
     "its "
     "values, got [2]"},
    {"RandomIntoALeaf", [] { uniform_(any_leaf()); },
     "uniform_: a leaf that requires a gradient can't be written in place; use NoGradGuard to "
     "change "
     "its values, got [2]"},
    {"IndexIntoALeaf", [] { index_put_(any_leaf(), {tensor({0})}, 1); },
     "index_put_: a leaf that requires a gradient can't be written in place; use NoGradGuard to "
     "change "
     "its values, got [2]"},
    {"WriteIntoAViewOfALeaf", [] { mul_(any_leaf().slice(0, 0, 1), 2); },
     "mul_: a view of a leaf that requires a gradient can't be written in place; use NoGradGuard "
     "to "
     "change its values, got [1]"},
    {"WriteIntoAViewMadeWithoutGradients",
     [] {
       const Tensor y = any_leaf() * 2;
       Tensor view;
       {
         const NoGradGuard no_grad;
         view = y.slice(0, 0, 1);
       }
       mul_(view, any_leaf().slice(0, 0, 1));
     },
     "mul_: a view made without gradients (under NoGradGuard, or for a module's backward hook) "
     "can't be written where they are recorded, got [1]"},
    {"SaveAnInferenceTensor", [] { any_leaf() * inference_tensor(); },
     "autograd: a tensor made in inference mode can't be saved for a gradient; clone it first, got "
     "[2]"},
    {"WriteIntoAnInferenceTensor", [] { add_(inference_tensor(), any_leaf()); },
     "add_: a tensor made in inference mode can't be written where gradients are recorded; clone "
     "it, "
     "got [2]"},
    {"GradientOfAnInferenceTensor", [] { inference_tensor().requires_grad_(); },
     "requires_grad_: a tensor made in inference mode can't require a gradient outside it; clone "
     "it "
     "first, got [2]"},
    {"GradientOfIntegers", [] { ones({2}, {.dtype = DType::i64}).requires_grad_(); },
     "requires_grad_: only floating and complex tensors can require gradients, got i64"},
    {"FlagOfAResult", [] { (any_leaf() * 2).requires_grad_(false); },
     "requires_grad_: only a leaf's flag can be changed; use detach() for a tensor without "
     "history, got [2]"},
    {"ShapeOfGrad", [] { any_leaf().set_grad(ones({3}, {.dtype = DType::f64})); },
     "set_grad: the gradient must have the tensor's shape, got [3] for [2]"},
    {"DtypeOfGrad", [] { any_leaf().set_grad(ones({2})); },
     "set_grad: the gradient must have the tensor's dtype, got f32 for f64"},
    {"GradOfAResult", [] { (any_leaf() * 2).set_grad(ones({2}, {.dtype = DType::f64})); },
     "set_grad: only a leaf has a gradient to set, got [2]"},
    {"RetainGradWithoutGradient", [] { ones({2}).retain_grad(); },
     "retain_grad: the tensor must require a gradient, got [2]"},
    {"HookWithoutGradient", [] { ones({2}).register_hook([](const Tensor& g) { return g; }); },
     "register_hook: the tensor must require a gradient, got [2]"},
    {"PostAccumulateHookOnAResult",
     [] { (any_leaf() * 2).register_post_accumulate_grad_hook([](const Tensor&) {}); },
     "register_post_accumulate_grad_hook: the tensor must be a leaf that requires a gradient, got "
     "[2]"},
    {"AsStridedBesideItsInput",
     [] {
       const Tensor y = any_leaf() * 2;
       as_strided(y.slice(0, 0, 1), {2}, {1}, 0);
     },
     "as_strided: where gradients are recorded, every element must lie in the input, got shape "
     "[2], "
     "strides [1], offset 0"},
};

class AutogradErrors : public ::testing::TestWithParam<Mistake> {};

TEST_P(AutogradErrors, Text) { EXPECT_EQ(error_of(GetParam().make), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(Mistakes, AutogradErrors, ::testing::ValuesIn(kMistakes),
                         [](const auto& mistake) { return mistake.param.name; });

// A failed pass leaves the graph and the gradients as they were.
TEST(AutogradErrors, AnErrorInAHookLeavesTheGraphUsable) {
  const Tensor x = any_leaf();
  const Tensor y = exp(x);
  HookHandle hook =
      y.register_hook([](const Tensor&) -> Tensor { fail("hook", "it must not run"); });
  EXPECT_THROW(sum(y * 2).backward(), Error);
  EXPECT_FALSE(x.grad().defined());
  hook.remove();
  sum(y * 2).backward();
  EXPECT_NEAR(x.grad().select(0, 0).item<double>(), 2 * 2.718281828459045, 1e-12);
}

}  // namespace
}  // namespace aorta
