// The operations of cuDNN's graphs: what they read and write, and the rules of those of attention.
#include <aorta/tests/cuda/emulated/cudnn_descriptors.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace aorta::emulated {
namespace {

using Name = cudnnBackendAttributeName_t;
using Dims = std::vector<int64_t>;

/// The attributes of an operation that are tensors.
struct Operation {
  cudnnBackendDescriptorType_t type;
  std::vector<Name> inputs;
  Name output;
};

const Operation& operation_of(const CudnnDescriptor& d) {
  static const std::vector<Operation> all = {
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
       {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W},
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
       {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W},
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
       {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW},
      {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
       {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_TDESC},
       CUDNN_ATTR_OPERATION_POINTWISE_YDESC},
      {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
       {CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC},
       CUDNN_ATTR_OPERATION_MATMUL_CDESC},
      {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
       {CUDNN_ATTR_OPERATION_REDUCTION_XDESC},
       CUDNN_ATTR_OPERATION_REDUCTION_YDESC},
      {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
       {CUDNN_ATTR_OPERATION_RESHAPE_XDESC},
       CUDNN_ATTR_OPERATION_RESHAPE_YDESC}};
  return *std::find_if(all.begin(), all.end(),
                       [&](const Operation& o) { return o.type == d.type; });
}

Dims dims_of(const CudnnDescriptor& tensor) {
  return tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
}

int64_t count_of(const CudnnDescriptor& tensor) {
  const Dims dims = dims_of(tensor);
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

/// Whether each size is that of `to`, or 1.
bool broadcasts(const Dims& from, const Dims& to) {
  return std::equal(from.begin(), from.end(), to.begin(), to.end(),
                    [](int64_t a, int64_t b) { return a == b || a == 1; });
}

CudnnProblem problem_of_matmul(const CudnnDescriptor& d) {
  const Dims a = dims_of(*d.part(CUDNN_ATTR_OPERATION_MATMUL_ADESC)),
             b = dims_of(*d.part(CUDNN_ATTR_OPERATION_MATMUL_BDESC)),
             c = dims_of(*d.part(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
  const size_t n = c.size();
  const bool fits = n >= 2 && a.size() == n && b.size() == n && a[n - 1] == b[n - 2] &&
                    a[n - 2] == c[n - 2] && b[n - 1] == c[n - 1] &&
                    std::equal(c.begin(), c.end() - 2, a.begin()) &&
                    std::equal(c.begin(), c.end() - 2, b.begin());
  if (fits) return {};
  return {"the sizes of a product's matrices fit each other", "", page::kCudnnMatmul};
}

size_t operands_of(cudnnPointwiseMode_t mode) {
  switch (mode) {
    case CUDNN_POINTWISE_EXP:
    case CUDNN_POINTWISE_LOG:
    case CUDNN_POINTWISE_IDENTITY:
    case CUDNN_POINTWISE_GEN_INDEX:
      return 1;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return 3;
    default:
      return 2;
  }
}

CudnnProblem problem_of_pointwise(const CudnnDescriptor& d) {
  const CudnnDescriptor& rule = *d.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const auto mode = rule.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  const std::vector<const CudnnDescriptor*> inputs = cudnn_inputs(d);
  if (inputs.size() != operands_of(mode)) {
    return {"a pointwise operation has the tensors that its mode takes",
            std::to_string(inputs.size()) + " for mode " + std::to_string(mode),
            page::kCudnnPointwise};
  }
  const Dims y = dims_of(*cudnn_output(d));
  for (const CudnnDescriptor* input : inputs) {
    if (broadcasts(dims_of(*input), y)) continue;
    return {"the tensors of a pointwise operation broadcast to its result", "",
            page::kCudnnPointwise};
  }
  const int64_t axis = rule.one<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1);
  if (mode == CUDNN_POINTWISE_GEN_INDEX && (axis < 0 || axis >= static_cast<int64_t>(y.size()))) {
    return {"an index counts along an axis of its tensor", std::to_string(axis),
            page::kCudnnPointwise};
  }
  return {};
}

}  // namespace

std::vector<const CudnnDescriptor*> cudnn_operations(const CudnnDescriptor& graph) {
  std::vector<const CudnnDescriptor*> all;
  for (void* operation : graph.list<void*>(CUDNN_ATTR_OPERATIONGRAPH_OPS))
    all.push_back(static_cast<const CudnnDescriptor*>(operation));
  return all;
}

std::vector<const CudnnDescriptor*> cudnn_inputs(const CudnnDescriptor& operation) {
  std::vector<const CudnnDescriptor*> all;
  for (const Name name : operation_of(operation).inputs) {
    if (operation.has(name)) all.push_back(operation.part(name));
  }
  return all;
}

const CudnnDescriptor* cudnn_output(const CudnnDescriptor& operation) {
  return operation.part(operation_of(operation).output);
}

std::vector<const CudnnDescriptor*> cudnn_tensors(const CudnnDescriptor& operation) {
  std::vector<const CudnnDescriptor*> all = cudnn_inputs(operation);
  all.push_back(cudnn_output(operation));
  return all;
}

CudnnProblem cudnn_problem_of_operation(const CudnnDescriptor& d) {
  switch (d.type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return problem_of_matmul(d);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return problem_of_pointwise(d);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      if (broadcasts(dims_of(*cudnn_output(d)), dims_of(*cudnn_inputs(d)[0]))) return {};
      return {"a reduction leaves a size as it is, or makes it 1", "", page::kCudnnReduction};
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      if (count_of(*cudnn_output(d)) == count_of(*cudnn_inputs(d)[0])) return {};
      return {"a reshape has as many numbers as before", "", page::kCudnnReshape};
    default:
      return {};
  }
}

CudnnProblem cudnn_problem_of_order(const CudnnDescriptor& graph) {
  std::set<const CudnnDescriptor*> written;
  for (const CudnnDescriptor* operation : cudnn_operations(graph)) {
    for (const CudnnDescriptor* input : cudnn_inputs(*operation)) {
      if (!cudnn_is_virtual(*input) || written.contains(input)) continue;
      return {"a virtual tensor is written by an operation before another reads it",
              std::to_string(input->one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)), page::kCudnnGraph};
    }
    if (!written.insert(cudnn_output(*operation)).second)
      return {"one operation writes a tensor of a graph", "", page::kCudnnGraph};
  }
  return {};
}

bool cudnn_is_virtual(const CudnnDescriptor& tensor) {
  return tensor.one<char>(CUDNN_ATTR_TENSOR_IS_VIRTUAL) != 0;
}

bool cudnn_is_value(const CudnnDescriptor& tensor) {
  return tensor.one<char>(CUDNN_ATTR_TENSOR_IS_BY_VALUE) != 0;
}

std::vector<int64_t> cudnn_offsets(const CudnnDescriptor& tensor) {
  const Dims dims = dims_of(tensor), strides = tensor.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  Dims index(dims.size(), 0), offsets;
  offsets.reserve(static_cast<size_t>(count_of(tensor)));
  int64_t offset = 0;
  for (;;) {
    offsets.push_back(offset);
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) {
      offset -= (dims[d - 1] - 1) * strides[d - 1];
      index[--d] = 0;
    }
    if (d == 0) return offsets;
    offset += strides[d - 1];
  }
}

bool CudnnGraph::writes(const CudnnDescriptor& tensor) const {
  return std::any_of(operations.begin(), operations.end(),
                     [&](const CudnnDescriptor* o) { return cudnn_output(*o) == &tensor; });
}

}  // namespace aorta::emulated
