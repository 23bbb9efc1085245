// Convolutions as graphs of cuDNN's: tensors, one operation that reads two of x, y and w and writes
// the third, and where y gets a bias its addition, to sums in f32 that are rounded once.
#include <aorta/core/backends.h>
#include <aorta/cuda/convolution_graph.h>
#include <aorta/cuda/gemm_plan.h>

#include <algorithm>

namespace aorta::cuda {
namespace {

using kernel::ConvDim;
using kernel::ConvolutionArgs;

// What tensors are called in a graph.
enum Uid : int64_t { kX = 1, kY, kW, kBias, kSum };

// cuDNN has more engines for two dimensions than for one, and for both than for three.
int first_dim(const ConvolutionArgs& args) {
  const ConvDim& d = args.dims[0];
  return d.input == 1 && d.output == 1 && d.kernel == 1 && d.padding == 0 ? 1 : 0;
}

std::vector<int64_t> sizes(const ConvolutionArgs& args, int64_t outer, int64_t channels,
                           int64_t ConvDim::*size) {
  std::vector<int64_t> result{outer, channels};
  for (int d = first_dim(args); d < 3; ++d) result.push_back(args.dims[d].*size);
  return result;
}

std::vector<int64_t> spatial(const ConvolutionArgs& args, int64_t ConvDim::*number) {
  std::vector<int64_t> result;
  for (int d = first_dim(args); d < 3; ++d) result.push_back(args.dims[d].*number);
  return result;
}

// (A, B, *) that lies in memory as (A, *, B).
std::vector<int64_t> inner_strides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size());
  strides[1] = 1;
  int64_t step = dims[1];
  for (size_t d = dims.size() - 1; d >= 2; --d) {
    strides[d] = step;
    step *= dims[d];
  }
  strides[0] = step;
  return strides;
}

/// The graph of a problem, as it is made.
class Graph {
 public:
  Graph(const ConvolutionProblem& problem, const char* op) : p_(problem), graph_(op) {}

  /// Null where cuDNN has none of this pattern.
  CudnnParts build(const CudnnTarget& target) {
    const ConvolutionArgs& a = p_.args;
    const int64_t x_channels = a.x_channels, y_channels = a.y_channels;
    const std::vector<int64_t> x_sizes = sizes(a, a.batch, x_channels, &ConvDim::input);
    const std::vector<int64_t> y_sizes = sizes(a, a.batch, y_channels, &ConvDim::output);
    const std::vector<int64_t> w_sizes =
        sizes(a, y_channels, x_channels / a.groups, &ConvDim::kernel);
    const size_t x = add(kX, x_sizes, p_.x_alignment);
    const size_t y = p_.bias ? add_sum(y_sizes) : add(kY, y_sizes, p_.y_alignment);
    add_convolution(x, y, add(kW, w_sizes, p_.w_alignment));
    if (p_.bias) {
      std::vector<int64_t> row(y_sizes.size(), 1);
      row[1] = y_channels;
      const size_t bias = add(kBias, row, p_.bias_alignment);
      graph_.add_pointwise(CUDNN_POINTWISE_ADD, {y, bias}, add(kY, y_sizes, p_.y_alignment));
    }
    return std::move(graph_).finish(target);
  }

 private:
  size_t add(Uid uid, const std::vector<int64_t>& dims, int64_t alignment) {
    return graph_.add_tensor(
        {uid, dims, inner_strides(dims), cudnn_type(p_.args.dtype), alignment});
  }
  // A result before the bias, which lies in no memory.
  size_t add_sum(const std::vector<int64_t>& dims) {
    return graph_.add_tensor({.id = kSum,
                              .dims = dims,
                              .strides = inner_strides(dims),
                              .type = CUDNN_DATA_FLOAT,
                              .is_virtual = true});
  }

  void add_convolution(size_t x, size_t y, size_t w) {
    CudnnDescriptor rule = graph_.make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const auto set = [&](cudnnBackendAttributeName_t name, int64_t ConvDim::*number) {
      const std::vector<int64_t> numbers = spatial(p_.args, number);
      rule.set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(numbers.size()), numbers.data());
    };
    rule.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    rule.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
             CUDNN_CROSS_CORRELATION);
    rule.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
             int64_t{3 - first_dim(p_.args)});
    set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &ConvDim::padding);
    std::vector<int64_t> behind;
    for (int d = first_dim(p_.args); d < 3; ++d) behind.push_back(padding_behind(p_.args.dims[d]));
    rule.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64,
             static_cast<int64_t>(behind.size()), behind.data());
    set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &ConvDim::stride);
    set(CUDNN_ATTR_CONVOLUTION_DILATIONS, &ConvDim::dilation);
    const size_t convolution = graph_.add(std::move(rule));

    struct Names {
      cudnnBackendDescriptorType_t type;
      cudnnBackendAttributeName_t alpha, beta, rule, x, y, w;
    };
    constexpr Names kNames[] = {
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW}};
    const Names& names = kNames[static_cast<int>(p_.result)];
    CudnnDescriptor operation = graph_.make(names.type);
    operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0f);
    operation.set(names.beta, CUDNN_TYPE_FLOAT, 0.0f);
    operation.set(names.rule, graph_[convolution]);
    operation.set(names.x, graph_[x]);
    operation.set(names.y, graph_[y]);
    operation.set(names.w, graph_[w]);
    graph_.add_operation(std::move(operation));
  }

  const ConvolutionProblem& p_;
  CudnnGraph graph_;
};

int64_t alignment_for_engines(const void* data) {
  return std::min<int64_t>(alignment_of(data), kWidestLoad);
}

}  // namespace

ConvolutionProblem ConvolutionProblem::make(const ConvolutionArgs& args, ConvResult result,
                                            int64_t w_alignment) {
  ConvolutionProblem p;
  p.args = args;
  p.result = result;
  p.bias = args.bias != nullptr;
  p.x_alignment = alignment_for_engines(args.x);
  p.y_alignment = alignment_for_engines(args.y);
  p.w_alignment = std::min(w_alignment, kWidestLoad);
  p.bias_alignment = p.bias ? alignment_for_engines(args.bias) : kWidestLoad;
  p.tf32 = args.dtype == DType::f32 && backends::cudnn::allow_tf32();
  p.deterministic = backends::cudnn::deterministic();
  p.winograd = args.dtype == DType::f32 && winograd_enabled();
  // The fastest by the clock is another one from run to run.
  p.timed = backends::cudnn::benchmark() && !p.deterministic;
  return p;
}

std::vector<int64_t> ConvolutionProblem::key() const {
  std::vector<int64_t> key{static_cast<int64_t>(CudnnKind::convolution),
                           static_cast<int64_t>(result),
                           static_cast<int64_t>(args.dtype),
                           args.batch,
                           args.groups,
                           args.x_channels,
                           args.y_channels,
                           bias,
                           x_alignment,
                           y_alignment,
                           w_alignment,
                           bias_alignment,
                           tf32,
                           deterministic,
                           winograd,
                           timed};
  for (const ConvDim& d : args.dims)
    key.insert(key.end(), {d.input, d.output, d.kernel, d.stride, d.padding, d.dilation});
  return key;
}

std::vector<std::unique_ptr<CudnnEngine>> find_convolutions(const ConvolutionProblem& problem,
                                                            const CudnnTarget& target,
                                                            const char* op, size_t most) {
  const CudnnPermits permits{.f32 = problem.args.dtype == DType::f32,
                             .tf32 = problem.tf32,
                             .deterministic = problem.deterministic,
                             .winograd = problem.winograd};
  return CudnnEngine::find(Graph(problem, op).build(target), permits, target, op, most);
}

CudnnPointers pointers_of(const ConvolutionArgs& args, const void* w) {
  CudnnPointers pointers;
  pointers.add(kX, args.x);
  pointers.add(kY, args.y);
  pointers.add(kW, w);
  if (args.bias) pointers.add(kBias, args.bias);
  return pointers;
}

}  // namespace aorta::cuda
