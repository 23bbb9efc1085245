#pragma once

#include <aorta/core/dispatch/pointwise_args.h>
#include <aorta/core/tracer.h>

#include <atomic>
#include <initializer_list>
#include <span>
#include <tuple>

// Where an op is dispatched, a tracer is told of it; without one that is a comparison.
namespace aorta::kernel {

namespace tracing {
extern std::atomic<int> tracers;  // of all threads
void tell(TracedCall call);
std::vector<Tensor> handles(std::initializer_list<const Tensor*> tensors);
TracedCall pointwise_call(const char* op, const Tensor& output,
                          std::initializer_list<Operand> inputs);
}  // namespace tracing

/// Whether some thread has a tracer.
inline bool is_traced() { return tracing::tracers.load(std::memory_order_relaxed) != 0; }

template <class... Options>
void tell_tracer(const char* op, std::initializer_list<const Tensor*> outputs,
                 std::initializer_list<const Tensor*> inputs, const Options&... options) {
  if (is_traced()) [[unlikely]] {
    tracing::tell({op,
                   tracing::handles(outputs),
                   tracing::handles(inputs),
                   {},
                   std::tuple<Options...>(options...)});
  }
}

/// Does the same for an op of any number of inputs.
template <class... Options>
void tell_tracer(const char* op, std::initializer_list<const Tensor*> outputs,
                 std::span<const Tensor> inputs, const Options&... options) {
  if (is_traced()) [[unlikely]] {
    tracing::tell({op,
                   tracing::handles(outputs),
                   {inputs.begin(), inputs.end()},
                   {},
                   std::tuple<Options...>(options...)});
  }
}

/// Does the same for a pointwise op.
template <class Functor>
void tell_tracer(const char* op, const Tensor& output, std::initializer_list<Operand> inputs,
                 const Functor& functor) {
  if (is_traced()) [[unlikely]] {
    TracedCall call = tracing::pointwise_call(op, output, inputs);
    call.options = functor;
    tracing::tell(std::move(call));
  }
}

}  // namespace aorta::kernel
