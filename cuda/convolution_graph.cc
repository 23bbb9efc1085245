// Convolutions as graphs of cuDNN's: tensors, one operation that reads two of x, y and w and writes
// the third, and where y gets a bias its addition, to sums in f32 that are rounded once.
#include <aorta/core/backends.h>
#include <aorta/cuda/convolution_graph.h>
#include <aorta/cuda/gemm_plan.h>

#include <algorithm>
#include <array>
#include <optional>

namespace aorta::cuda {
namespace {

using kernel::ConvDim;
using kernel::ConvolutionArgs;

// What tensors are called in a graph.
enum Uid : int64_t { kX = 1, kY, kW, kBias, kSum };

constexpr int64_t kMostWorkspace = int64_t{1} << 30;
constexpr int64_t kWidest = 16;  // bytes that engines load at once

cudnnDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return CUDNN_DATA_HALF;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

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

/// Descriptors as they are made, each finalized when it is added.
class Graph {
 public:
  Graph(const ConvolutionProblem& problem, const char* op) : p_(problem), op_(op) {}

  /// The operation graph; nothing where cuDNN has none of this pattern.
  std::optional<CudnnDescriptor> build(const CudnnTarget& target) {
    const ConvolutionArgs& a = p_.args;
    const int64_t x_channels = a.x_channels, y_channels = a.y_channels;
    const std::vector<int64_t> x_sizes = sizes(a, a.batch, x_channels, &ConvDim::input);
    const std::vector<int64_t> y_sizes = sizes(a, a.batch, y_channels, &ConvDim::output);
    const std::vector<int64_t> w_sizes =
        sizes(a, y_channels, x_channels / a.groups, &ConvDim::kernel);
    const size_t x = add(kX, x_sizes, p_.x_alignment);
    const size_t y = p_.bias ? add_sum(y_sizes) : add(kY, y_sizes, p_.y_alignment);
    const size_t w = add(kW, w_sizes, p_.w_alignment);
    std::vector<cudnnBackendDescriptor_t> operations{parts_[add_convolution(x, y, w)].value()};
    if (p_.bias) {
      std::vector<int64_t> row(y_sizes.size(), 1);
      row[1] = y_channels;
      const size_t bias = add(kBias, row, p_.bias_alignment);
      operations.push_back(parts_[add_addition(y, bias, add(kY, y_sizes, p_.y_alignment))].value());
    }
    CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, op_);
    if (target.handle)
      graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              static_cast<int64_t>(operations.size()), operations.data());
    if (!graph.try_finalize()) return std::nullopt;
    return graph;
  }

  std::vector<CudnnDescriptor> take_parts() { return std::move(parts_); }

 private:
  size_t keep(CudnnDescriptor part) {
    part.finalize();
    parts_.push_back(std::move(part));
    return parts_.size() - 1;
  }

  CudnnDescriptor tensor(Uid uid, const std::vector<int64_t>& dims, int64_t alignment,
                         cudnnDataType_t type) {
    const std::vector<int64_t> strides = inner_strides(dims);
    const int64_t rank = static_cast<int64_t>(dims.size());
    CudnnDescriptor t(CUDNN_BACKEND_TENSOR_DESCRIPTOR, op_);
    t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
    t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, dims.data());
    t.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, strides.data());
    t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, int64_t{uid});
    t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
    return t;
  }
  size_t add(Uid uid, const std::vector<int64_t>& dims, int64_t alignment) {
    return keep(tensor(uid, dims, alignment, data_type(p_.args.dtype)));
  }
  // A result before the bias, which lies in no memory.
  size_t add_sum(const std::vector<int64_t>& dims) {
    CudnnDescriptor t = tensor(kSum, dims, kWidest, CUDNN_DATA_FLOAT);
    t.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
    return keep(std::move(t));
  }

  size_t add_convolution(size_t x, size_t y, size_t w) {
    CudnnDescriptor rule(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, op_);
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
    const size_t convolution = keep(std::move(rule));

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
    CudnnDescriptor operation(names.type, op_);
    operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0f);
    operation.set(names.beta, CUDNN_TYPE_FLOAT, 0.0f);
    operation.set(names.rule, parts_[convolution]);
    operation.set(names.x, parts_[x]);
    operation.set(names.y, parts_[y]);
    operation.set(names.w, parts_[w]);
    return keep(std::move(operation));
  }

  size_t add_addition(size_t sum, size_t bias, size_t out) {
    CudnnDescriptor rule(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, op_);
    rule.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
    rule.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    const size_t addition = keep(std::move(rule));
    CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, op_);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, parts_[addition]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts_[sum]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, parts_[bias]);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, parts_[out]);
    return keep(std::move(operation));
  }

  const ConvolutionProblem& p_;
  const char* op_;
  std::vector<CudnnDescriptor> parts_;
};

/// What the heuristics advise, the best first.
std::vector<CudnnDescriptor> advice(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode,
                                    const CudnnTarget& target, const char* op) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, op);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (target.device) {
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, target.device);
  }
  std::vector<CudnnDescriptor> list;
  if (!heuristics.try_finalize()) return list;
  const auto name = CUDNN_ATTR_ENGINEHEUR_RESULTS;
  const int64_t count = heuristics.get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<cudnnBackendDescriptor_t> values;
  for (int64_t i = 0; i < count; ++i) {
    list.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, op);
    values.push_back(list.back().value());
  }
  if (count == 0) return list;
  const int64_t filled = heuristics.get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, values.data());
  while (static_cast<int64_t>(list.size()) > filled) list.pop_back();
  return list;
}

/// Whether an engine does only what it may: in f32 tensor cores are TF32, and halves are summed in
/// f32. Transforms of Fourier's spread an infinity over a whole image.
bool is_allowed(const CudnnDescriptor& engine, const ConvolutionProblem& problem) {
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  const int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                   CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes);
  const bool f32 = problem.args.dtype == DType::f32;
  return std::all_of(notes, notes + count, [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        return !f32 || problem.tf32;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return f32 && problem.tf32;
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        return !problem.deterministic;
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return problem.winograd;
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_FFT:
        return false;
      default:
        return true;
    }
  });
}

int64_t alignment_for_engines(const void* data) {
  return std::min<int64_t>(alignment_of(data), kWidest);
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
  p.w_alignment = std::min(w_alignment, kWidest);
  p.bias_alignment = p.bias ? alignment_for_engines(args.bias) : kWidest;
  p.tf32 = args.dtype == DType::f32 && backends::cudnn::allow_tf32();
  p.deterministic = backends::cudnn::deterministic();
  p.winograd = args.dtype == DType::f32 && winograd_enabled();
  // The fastest by the clock is another one from run to run.
  p.timed = backends::cudnn::benchmark() && !p.deterministic;
  return p;
}

std::vector<int64_t> ConvolutionProblem::key() const {
  std::vector<int64_t> key{static_cast<int64_t>(result),
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

ConvolutionEngine::ConvolutionEngine(Parts graph, Parts made_from, CudnnDescriptor plan,
                                     int64_t index)
    : graph_(std::move(graph)),
      made_from_(std::move(made_from)),
      plan_(std::move(plan)),
      index_(index),
      workspace_(plan_.get_int64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)) {}

std::unique_ptr<ConvolutionEngine> ConvolutionEngine::find(const ConvolutionProblem& problem,
                                                           const CudnnTarget& target,
                                                           const char* op) {
  auto engines = find_some(problem, target, op, 1);
  return engines.empty() ? nullptr : std::move(engines.front());
}

std::vector<std::unique_ptr<ConvolutionEngine>> ConvolutionEngine::find_some(
    const ConvolutionProblem& problem, const CudnnTarget& target, const char* op, size_t most) {
  std::vector<std::unique_ptr<ConvolutionEngine>> engines;
  Graph builder(problem, op);
  std::optional<CudnnDescriptor> built = builder.build(target);
  if (!built) return engines;
  std::vector<CudnnDescriptor> list = builder.take_parts();
  list.push_back(std::move(*built));
  const auto parts = std::make_shared<const std::vector<CudnnDescriptor>>(std::move(list));
  const CudnnDescriptor& graph = parts->back();
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (!engines.empty()) break;
    for (CudnnDescriptor& config : advice(graph, mode, target, op)) {
      CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR, op);
      cudnnBackendDescriptor_t value = engine.value();
      config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
      if (!is_allowed(engine, problem)) continue;
      CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, op);
      if (target.handle)
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
      if (target.device) {
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 target.device);
      }
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (!plan.try_finalize()) continue;
      if (plan.get_int64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) > kMostWorkspace) continue;
      const int64_t index = engine.get_int64(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
      std::vector<CudnnDescriptor> own;
      own.push_back(std::move(engine));
      own.push_back(std::move(config));
      engines.emplace_back(new ConvolutionEngine(
          parts, std::make_shared<const std::vector<CudnnDescriptor>>(std::move(own)),
          std::move(plan), index));
      if (engines.size() == most) return engines;
    }
  }
  return engines;
}

void ConvolutionEngine::run(const ConvolutionArgs& args, const void* w, void* workspace,
                            cudnnHandle_t handle, const char* op) const {
  std::array<int64_t, 4> uids{kX, kY, kW, kBias};
  std::array<const void*, 4> pointers{args.x, args.y, w, args.bias};
  const int64_t count = args.bias ? 4 : 3;
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, op);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, uids.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finalize();
  check_cudnn(cudnn_library().calls.execute(handle, plan_.value(), pack.value()), op);
}

}  // namespace aorta::cuda
