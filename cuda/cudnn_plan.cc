#include <aorta/cuda/cudnn_plan.h>

#include <algorithm>

namespace aorta::cuda {
namespace {

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
bool is_allowed(const CudnnDescriptor& engine, const CudnnPermits& permits) {
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  const int64_t count = engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                   CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes);
  return std::all_of(notes, notes + count, [&](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        return !permits.f32 || permits.tf32;
      case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
        return permits.f32 && permits.tf32;
      case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        return !permits.deterministic;
      case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
        return permits.winograd;
      case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      case CUDNN_NUMERICAL_NOTE_FFT:
        return false;
      default:
        return true;
    }
  });
}

}  // namespace

cudnnDataType_t cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return CUDNN_DATA_HALF;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

size_t CudnnGraph::add(CudnnDescriptor part) {
  part.finalize();
  parts_.push_back(std::move(part));
  return parts_.size() - 1;
}

size_t CudnnGraph::add_tensor(const CudnnTensor& tensor) {
  const int64_t rank = static_cast<int64_t>(tensor.dims.size());
  CudnnDescriptor t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, tensor.type);
  t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, tensor.dims.data());
  t.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, tensor.strides.data());
  t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, tensor.id);
  t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, tensor.alignment);
  if (tensor.is_virtual) t.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  if (tensor.is_a_value) t.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  return add(std::move(t));
}

size_t CudnnGraph::add_pointwise(cudnnPointwiseMode_t mode, std::initializer_list<size_t> from,
                                 size_t to, cudnnDataType_t precision, int64_t axis) {
  CudnnDescriptor rule = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  rule.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  rule.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, precision);
  if (axis >= 0) rule.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  const size_t function = add(std::move(rule));
  constexpr cudnnBackendAttributeName_t kOperands[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                       CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                       CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
  CudnnDescriptor operation = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, parts_[function]);
  const cudnnBackendAttributeName_t* operand = kOperands;
  for (const size_t tensor : from) operation.set(*operand++, parts_[tensor]);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, parts_[to]);
  add_operation(std::move(operation));
  return to;
}

CudnnParts CudnnGraph::finish(const CudnnTarget& target) && {
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const size_t operation : operations_) operations.push_back(parts_[operation].value());
  CudnnDescriptor graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (target.handle) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
            static_cast<int64_t>(operations.size()), operations.data());
  if (!graph.try_finalize()) return nullptr;
  parts_.push_back(std::move(graph));
  return std::make_shared<const std::vector<CudnnDescriptor>>(std::move(parts_));
}

CudnnEngine::CudnnEngine(CudnnParts graph, CudnnParts made_from, CudnnDescriptor plan,
                         int64_t index)
    : graph_(std::move(graph)),
      made_from_(std::move(made_from)),
      plan_(std::move(plan)),
      index_(index),
      workspace_(plan_.get_int64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)) {}

std::vector<std::unique_ptr<CudnnEngine>> CudnnEngine::find(const CudnnParts& graph,
                                                            const CudnnPermits& permits,
                                                            const CudnnTarget& target,
                                                            const char* op, size_t most) {
  std::vector<std::unique_ptr<CudnnEngine>> engines;
  if (!graph) return engines;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (!engines.empty()) break;
    for (CudnnDescriptor& config : advice(graph->back(), mode, target, op)) {
      CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR, op);
      cudnnBackendDescriptor_t value = engine.value();
      config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
      if (!is_allowed(engine, permits)) continue;
      CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, op);
      if (target.handle)
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
      if (target.device) {
        plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 target.device);
      }
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      if (!plan.try_finalize()) continue;
      if (plan.get_int64(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) > permits.workspace) continue;
      const int64_t index = engine.get_int64(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
      std::vector<CudnnDescriptor> own;
      own.push_back(std::move(engine));
      own.push_back(std::move(config));
      engines.emplace_back(new CudnnEngine(
          graph, std::make_shared<const std::vector<CudnnDescriptor>>(std::move(own)),
          std::move(plan), index));
      if (engines.size() == most) return engines;
    }
  }
  return engines;
}

void CudnnEngine::run(const CudnnPointers& pointers, void* workspace, cudnnHandle_t handle,
                      const char* op) const {
  const int64_t count = static_cast<int64_t>(pointers.ids.size());
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, op);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, pointers.ids.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers.data.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finalize();
  check_cudnn(cudnn_library().calls.execute(handle, plan_.value(), pack.value()), op);
}

}  // namespace aorta::cuda
