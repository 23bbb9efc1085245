#include <aorta/autograd/function.h>
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/autograd/leaves.h>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace aorta {
namespace {

using autograd::gradcheck;
using autograd::gradgradcheck;
using Tensors = std::vector<Tensor>;

// x^2 whose gradient is wrong in a way of its own.
template <int which>
struct WrongSquare : autograd::Function<WrongSquare<which>> {
  static constexpr const char* name = "wrong_square";
  static Tensors forward(FunctionContext& context, const Tensor& x) {
    context.save_for_backward({x});
    return {x * x};
  }
  static Tensors backward(FunctionContext& context, const Tensors& g) {
    const Tensor right = g[0] * 2 * context.saved_tensors()[0];
    if (which == 0) return {right * 1.01};
    if (which == 1) return {-right};
    if (which == 2) return {right * tensor({1, 1, 0}, {.dtype = DType::f64})};
    return {right.detach()};  // right itself, and wrong when differentiated
  }
};

template <int which>
Tensors wrong_square(const Tensors& x) {
  return WrongSquare<which>::apply(x[0]);
}

TEST(Gradcheck, AcceptsWhatIsRight) {
  const auto f = [](const Tensor& a, const Tensor& b) { return sin(a) * exp(b); };
  EXPECT_GRADIENTS(f, {leaf({1, 2, 3}), leaf({0.5})});
  EXPECT_SECOND_GRADIENTS(f, {leaf({1, 2, 3}), leaf({0.5})});
  EXPECT_GRADIENTS(f, {leaf({1, 2, 3}), leaf({0.5})}, {.full_jacobian = true});
}

TEST(Gradcheck, NamesTheWorstElementAndBothValues) {
  const auto result = gradcheck(wrong_square<2>, {leaf({1, 2, 3})}, {.full_jacobian = true});
  EXPECT_EQ(result.message,
            "the gradient of input 0 of wrong_square (output 0) is wrong; worst at element [2] of "
            "[3]: analytic 0, numeric 6");
}

TEST(Gradcheck, NamesTheModule) {
  const auto f = [](const Tensor& x) {
    const ModuleScope scope("decoder");
    return WrongSquare<1>::apply(x);
  };
  const auto result = gradcheck(autograd::differentiable(f), {leaf({1, 2, 3})});
  EXPECT_NE(result.message.find("of wrong_square in decoder (output 0)"), std::string::npos)
      << result.message;
}

TEST(Gradcheck, FindsSmallErrors) {
  EXPECT_FALSE(gradcheck(wrong_square<0>, {leaf({1, 2, 3})}));
  EXPECT_FALSE(gradcheck(wrong_square<1>, {leaf({1, 2, 3})}));
  EXPECT_TRUE(gradcheck(wrong_square<3>, {leaf({1, 2, 3})}));
  EXPECT_FALSE(gradgradcheck(wrong_square<3>, {leaf({1, 2, 3})}));
}

TEST(Gradcheck, LeavesOutElementsAtAKink) {
  const auto f = [](const Tensor& x) { return relu(x); };
  EXPECT_GRADIENTS(f, {leaf({1, 0, -1})});
  const auto result = gradcheck(autograd::differentiable(f), {leaf({0, 0})});
  EXPECT_EQ(result.message, "every element of input 0 lies at a kink of relu");
}

// A share of an infinite difference would be any.
TEST(Gradcheck, LeavesOutElementsAtAPole) {
  const auto f = [](const Tensor& x) { return 1 / (x - 1.5); };
  const auto at = [&](double x) {
    return gradcheck(autograd::differentiable(f), {leaf({x})}, {.step = 0.5}).message;
  };
  EXPECT_EQ(at(1.0), "every element of input 0 lies at a kink of div");
}

TEST(Gradcheck, RejectsGradientsThatAreZeroEverywhere) {
  const auto f = [](const Tensor& x) { return floor(x); };
  const auto result = gradcheck(autograd::differentiable(f), {leaf({0.5, 1.5})});
  EXPECT_EQ(result.message,
            "the gradient of input 0 of floor is 0 in every direction tried, so that a wrong one "
            "would not be seen (allow_vacuous admits it)");
  EXPECT_GRADIENTS(f, {leaf({0.5, 1.5})}, {.allow_vacuous = true});
}

TEST(Gradcheck, PutsTheInputsBack) {
  const Tensor x = leaf({1, 2, 3});
  EXPECT_GRADIENTS([](const Tensor& t) { return sin(t); }, {x});
  EXPECT_EQ(x.to_vector<double>(), (Doubles{1, 2, 3}));
  EXPECT_FALSE(x.grad().defined());
}

TEST(Gradcheck, BadInput) {
  const auto f = autograd::differentiable([](const Tensor& t) { return sin(t); });
  EXPECT_THROW(gradcheck(f, {tensor({1.0F}).requires_grad_()}), Error);
  EXPECT_THROW(gradcheck(f, {tensor({1.0}, {.dtype = DType::f64})}), Error);
  EXPECT_THROW(gradcheck(f, {leaf({1}) * 2}), Error);
}

TEST(Gradcheck, AssertionFailsInGoogleTest) {
  EXPECT_NONFATAL_FAILURE(EXPECT_GRADIENTS(wrong_square<0>, {leaf({1, 2, 3})}), "wrong_square");
  EXPECT_NONFATAL_FAILURE(EXPECT_SECOND_GRADIENTS(wrong_square<3>, {leaf({1, 2, 3})}),
                          "second derivative");
}

}  // namespace
}  // namespace aorta
