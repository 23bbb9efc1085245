#include <aorta/nn/parameter_vector.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/core/called_op.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/view.h>

namespace aorta::nn {

Tensor parameters_to_vector(const List<Tensor>& parameters) {
  const char* const op = "parameters_to_vector";
  const CalledOp called(op);
  check_defined(op, "parameters", parameters);
  check(!parameters.empty(), op, "there must be parameters", "none");
  std::vector<Tensor> parts;
  for (const Tensor& parameter : parameters) parts.push_back(parameter.reshape({-1}));
  return cat(parts);
}

void vector_to_parameters(const Tensor& vector, const List<Tensor>& parameters) {
  const char* const op = "vector_to_parameters";
  const CalledOp called(op);
  check_defined(op, {{"vector", vector}});
  check_defined(op, "parameters", parameters);
  int64_t count = 0;
  for (const Tensor& parameter : parameters) count += parameter.numel();
  check(vector.shape() == Shape{count}, op,
        "vector must be (N) with the elements of all parameters", vector.shape(), " for ", count);
  const NoGradGuard no_grad;
  int64_t first = 0;
  for (const Tensor& parameter : parameters) {
    parameter.copy_(vector.narrow(0, first, parameter.numel()).view(parameter.shape()));
    first += parameter.numel();
  }
}

}  // namespace aorta::nn
