#pragma once

#include <aorta/core/tensor.h>

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace aorta {

namespace detail {

/// The graphs of one step.
class CapturedSteps {
 public:
  using Step = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

  CapturedSteps();
  CapturedSteps(CapturedSteps&&) noexcept;
  CapturedSteps& operator=(CapturedSteps&&) noexcept;
  ~CapturedSteps();
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, const Step& step);
  int graphs() const;

 private:
  struct Graph;
  std::vector<std::unique_ptr<Graph>> graphs_;
};

}  // namespace detail

/// What `capture` returns: it is called as the step is.
template <class Step>
class Captured {
 public:
  explicit Captured(Step step) : step_(std::move(step)) {}

  template <std::convertible_to<Tensor>... Inputs>
  requires std::invocable<Step&, const Inputs&...>
  auto operator()(const Inputs&... inputs) {
    using Result = std::invoke_result_t<Step&, const Inputs&...>;
    static_assert(sizeof...(Inputs) > 0, "a captured step takes its batch as tensors");
    const auto call = [this]<size_t... i>(const std::vector<Tensor>& given,
                                          std::index_sequence<i...>) {
      if constexpr (std::is_void_v<Result>) {
        step_(given[i]...);
        return std::vector<Tensor>();
      } else if constexpr (std::is_convertible_v<Result, Tensor>) {
        return std::vector<Tensor>{Tensor(step_(given[i]...))};
      } else {
        return std::vector<Tensor>(step_(given[i]...));
      }
    };
    std::vector<Tensor> outputs =
        steps_.run({Tensor(inputs)...}, [&](const std::vector<Tensor>& given) {
          return call(given, std::index_sequence_for<Inputs...>());
        });
    if constexpr (std::is_void_v<Result>) {
      return;
    } else if constexpr (std::is_convertible_v<Result, Tensor>) {
      return std::move(outputs[0]);
    } else {
      return outputs;
    }
  }

  /// How many graphs there are: one for each kind of inputs that has come three times.
  int graphs() const { return steps_.graphs(); }

 private:
  Step step_;
  detail::CapturedSteps steps_;
};

/// A step of training (forward, backward, clipping, optimizer) as one CUDA graph, which a GPU runs
/// without waiting for the host: where ops are small, the host's time is most of a step's.
///
///     auto step = capture([&](const Tensor& x, const Tensor& y) {
///       optimizer.zero_grad();
///       const Tensor loss = cross_entropy(net(x), y);
///       loss.backward();
///       optim::clip_grad_norm_(net.parameters(), 1.0);
///       optimizer.step();
///       return loss;
///     });
///     for (...) total += step(x, y);
///
/// The step takes tensors of one CUDA device and returns a Tensor, a vector of them or nothing;
/// what it returns is outside the autograd graph. Its first two calls for inputs of a kind (shapes,
/// dtypes, strides, autocast, gradient mode) run as they are, the third is captured, and from then
/// on a call copies the inputs to where the graph reads them and launches it. Other inputs get a
/// graph, with memory, of their own. On the CPU the step is called as it is, and so it is with
/// AORTA_LAUNCH_BLOCKING=1.
///
/// A launch does what the device did and none of the step's C++. These are anew at each launch:
/// random numbers of generators, which give what they would give without a graph; step counts,
/// learning rates and other options of the fused optimizers; gradients of leaves. Everything else
/// that the host computes (a number that multiplies a tensor, a branch, a mode of modules) is as it
/// was at the capture. What the step uses must live as long as it does.
///
/// Errors: inputs on several devices or with a gradient. At the capture: what waits for the device
/// or copies from or to the host (item(), nonzero, a CPU tensor), a write to an input, an optimizer
/// that is written with tensor ops, a collective. At a launch: parameters of an optimizer that have
/// moved since the capture (Module::to). A value out of range (a class that isn't one) is said by a
/// wait or a later launch. Source: CUDA C++ Programming Guide, "CUDA Graphs".
template <class Step>
Captured<Step> capture(Step step) {
  return Captured<Step>(std::move(step));
}

}  // namespace aorta
