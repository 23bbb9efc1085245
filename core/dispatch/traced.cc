#include <aorta/core/dispatch/traced.h>

namespace aorta {
namespace {

thread_local constinit Tracer* current = nullptr;

void set_tracer(Tracer* tracer) {
  kernel::tracing::tracers += (tracer != nullptr) - (current != nullptr);
  current = tracer;
}

}  // namespace

constinit std::atomic<int> kernel::tracing::tracers = 0;

void kernel::tracing::tell(TracedCall call) {
  if (current) current->add(std::move(call));
}

std::vector<Tensor> kernel::tracing::handles(std::initializer_list<const Tensor*> tensors) {
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (const Tensor* tensor : tensors) result.push_back(*tensor);
  return result;
}

TracedCall kernel::tracing::pointwise_call(const char* op, const Tensor& output,
                                           std::initializer_list<Operand> inputs) {
  TracedCall call{op, {output}, {}};
  for (const Operand& input : inputs) {
    call.inputs.push_back(input.tensor ? *input.tensor : Tensor());
    call.numbers.push_back(input.number);
  }
  return call;
}

TracerScope::TracerScope(Tracer& tracer) : outer_(current) { set_tracer(&tracer); }
TracerScope::~TracerScope() { set_tracer(outer_); }

}  // namespace aorta
