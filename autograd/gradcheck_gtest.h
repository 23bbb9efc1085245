#pragma once

// GoogleTest assertions around gradcheck, for the tests of ops, layers and losses.

#include <aorta/autograd/gradcheck.h>

#include <gtest/gtest.h>

#include <type_traits>

namespace aorta::autograd {

/// Lets a function of one or several tensors that returns one or several be checked.
template <class F>
DifferentiableFunction differentiable(F function) {
  return [function](const std::vector<Tensor>& inputs) -> std::vector<Tensor> {
    const auto call = [&] {
      if constexpr (std::is_invocable_v<F, const std::vector<Tensor>&>)
        return function(inputs);
      else if constexpr (std::is_invocable_v<F, const Tensor&>)
        return function(inputs.at(0));
      else if constexpr (std::is_invocable_v<F, const Tensor&, const Tensor&>)
        return function(inputs.at(0), inputs.at(1));
      else
        return function(inputs.at(0), inputs.at(1), inputs.at(2));
    };
    if constexpr (std::is_same_v<decltype(call()), Tensor>)
      return {call()};
    else
      return call();
  };
}

template <class F>
testing::AssertionResult gradients_agree(F function, const std::vector<Tensor>& inputs,
                                         const GradcheckOptions& options = {}) {
  const GradcheckResult result = gradcheck(differentiable(function), inputs, options);
  return result ? testing::AssertionSuccess() : testing::AssertionFailure() << result.message;
}

template <class F>
testing::AssertionResult second_gradients_agree(F function, const std::vector<Tensor>& inputs,
                                                const GradcheckOptions& options = {}) {
  const GradcheckResult result = gradgradcheck(differentiable(function), inputs, options);
  return result ? testing::AssertionSuccess() : testing::AssertionFailure() << result.message;
}

}  // namespace aorta::autograd

/// EXPECT_GRADIENTS(fn, inputs): the gradients of fn at `inputs` (a vector of f64 tensors) agree
/// with finite differences. EXPECT_SECOND_GRADIENTS: their gradients too. Options may follow.
#define EXPECT_GRADIENTS(fn, ...) EXPECT_TRUE(::aorta::autograd::gradients_agree(fn, __VA_ARGS__))
#define ASSERT_GRADIENTS(fn, ...) ASSERT_TRUE(::aorta::autograd::gradients_agree(fn, __VA_ARGS__))
#define EXPECT_SECOND_GRADIENTS(fn, ...) \
  EXPECT_TRUE(::aorta::autograd::second_gradients_agree(fn, __VA_ARGS__))
#define ASSERT_SECOND_GRADIENTS(fn, ...) \
  ASSERT_TRUE(::aorta::autograd::second_gradients_agree(fn, __VA_ARGS__))
