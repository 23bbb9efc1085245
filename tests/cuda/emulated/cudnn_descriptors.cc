// cuDNN's descriptors: their attributes, and the rules that hold when they are finalized.
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/cudnn_descriptors.h>
#include <aorta/tests/cuda/emulated/report.h>

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_set>

namespace aorta::emulated {
namespace {

thread_local std::string last_error;

using Type = cudnnBackendDescriptorType_t;

size_t element_bytes(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
      return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    default:
      return 4;  // enumerations and floats
  }
}

std::deque<CudnnDescriptor>& descriptors() {
  static auto* all = new std::deque<CudnnDescriptor>;
  return *all;
}

/// The descriptors that were made and not destroyed.
std::unordered_set<void*>& live() {
  static auto* all = new std::unordered_set<void*>;
  return *all;
}

std::string name_of(cudnnBackendAttributeName_t name) {
  return "attribute " + std::to_string(name);
}

/// The attribute that a call is about; null where a rule forbids it, which is reported.
const CudnnAttribute* attribute_of(const char* call, const char* page, const CudnnDescriptor& d,
                                   cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, bool set,
                                   cudnnStatus_t& status) {
  const auto found = std::find_if(cudnn_attributes().begin(), cudnn_attributes().end(),
                                  [&](const CudnnAttribute& a) {
                                    return a.of == d.type && a.name == name && !(set && a.computed);
                                  });
  if (found == cudnn_attributes().end()) {
    const bool computed = name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE ||
                          name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE;
    status = cudnn_refuse(call, "an attribute is one of its descriptor's",
                          name_of(name) + " of descriptor " + std::to_string(d.type), page,
                          computed ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_BAD_PARAM);
    return nullptr;
  }
  if (found->type != type) {
    status = cudnn_refuse(call, "an attribute is set and read as its own type",
                          name_of(name) + " as " + std::to_string(type), page,
                          CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
    return nullptr;
  }
  return &*found;
}

std::vector<int64_t> dims_of(const CudnnDescriptor& tensor) {
  return tensor.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
}

constexpr int64_t kMostDims = 8;  // CUDNN_DIM_MAX
constexpr const char* kFinalizedBefore = "what a descriptor is made of is finalized before it";

// ---- Rules of finalized descriptors; what is wrong, or nothing. The statuses are those of cuDNN
// 9.19, which gives the plain CUDNN_STATUS_BAD_PARAM for some of which the pages name another.

using Problem = CudnnProblem;

Problem problem_of_tensor(const CudnnDescriptor& d) {
  const std::vector<int64_t> dims = dims_of(d);
  const std::vector<int64_t> strides = d.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (dims.size() != strides.size()) {
    return {"a tensor has a stride for each dimension",
            std::to_string(strides.size()) + " for " + std::to_string(dims.size()),
            page::kCudnnTensor};
  }
  if (static_cast<int64_t>(dims.size()) > kMostDims) {
    return {"a tensor has at most 8 dimensions", std::to_string(dims.size()), page::kCudnnTensor};
  }
  if (std::any_of(dims.begin(), dims.end(), [](int64_t n) { return n < 1; }))
    return {"the sizes of a tensor are positive", "", page::kCudnnTensor};
  const int64_t alignment = d.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  const int64_t item =
      cudnn_item_bytes(d.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT));
  if (alignment < 1 || alignment % item != 0) {
    return {"an alignment is a multiple of an element's bytes", std::to_string(alignment),
            page::kCudnnTensor};
  }
  if (d.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID) == 0)
    return {"the unique id of a tensor isn't 0", "", page::kCudnnTensor};
  return {};
}

Problem problem_of_rule(const CudnnDescriptor& d) {
  const auto n = d.one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  for (const auto name :
       {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
        CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS}) {
    const std::vector<int64_t> numbers = d.list<int64_t>(name);
    if (static_cast<int64_t>(numbers.size()) != n) {
      return {"a convolution has a number for each spatial dimension",
              std::to_string(numbers.size()) + " for " + std::to_string(n),
              page::kCudnnConvolution};
    }
    const bool padding =
        name == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS || name == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS;
    if (std::any_of(numbers.begin(), numbers.end(),
                    [&](int64_t number) { return number < (padding ? 0 : 1); })) {
      return {"strides and dilations are positive, and paddings aren't negative", "",
              page::kCudnnConvolution};
    }
  }
  return {};
}

/// The parts of a convolution's operation: rule, w, x, y, in the order of their attributes.
struct Parts {
  const CudnnDescriptor *rule, *w, *x, *y;
};

int first_attribute(Type type) {
  return type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
             ? CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA
         : type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
             ? CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA
             : CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA;
}

bool is_convolution(const CudnnDescriptor& d) {
  return d.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
         d.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
         d.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
}

Parts parts_of(const CudnnDescriptor& operation) {
  const auto part = [&](int i) {
    return operation.part(
        static_cast<cudnnBackendAttributeName_t>(first_attribute(operation.type) + i));
  };
  return {part(2), part(3), part(4), part(5)};
}

Problem problem_of_operation(const CudnnDescriptor& d) {
  const Parts p = parts_of(d);
  const std::vector<int64_t> x = dims_of(*p.x), y = dims_of(*p.y), w = dims_of(*p.w);
  const auto n = static_cast<size_t>(p.rule->one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS)) + 2;
  bool fits = x.size() == n && y.size() == n && w.size() == n && x[0] == y[0] && y[1] == w[0] &&
              x[1] % w[1] == 0 && w[0] % (x[1] / w[1]) == 0;
  for (size_t i = 2; fits && i < n; ++i) {
    const auto number = [&](cudnnBackendAttributeName_t name) {
      return p.rule->list<int64_t>(name)[i - 2];
    };
    const int64_t room = x[i] + number(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS) +
                         number(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS) -
                         (w[i] - 1) * number(CUDNN_ATTR_CONVOLUTION_DILATIONS) - 1;
    fits = room >= 0 && y[i] == room / number(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES) + 1;
  }
  if (fits) return {};
  return {"the sizes of x, y and w fit each other", "", page::kCudnnOperation};
}

Problem problem_of_graph(const CudnnDescriptor& d) {
  std::map<int64_t, const CudnnDescriptor*> ids;
  for (void* operation : d.list<void*>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    for (const CudnnDescriptor* t : cudnn_tensors(*static_cast<CudnnDescriptor*>(operation))) {
      const auto id = t->one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
      if (ids.try_emplace(id, t).first->second != t) {
        return {"a unique id is one tensor's of a graph", std::to_string(id), page::kCudnnGraph,
                CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES};
      }
    }
  }
  if (const Problem problem = cudnn_problem_of_order(d); problem.page) return problem;
  // A convolution that writes nothing is a graph, for which there is no engine.
  if (CudnnGraph().read(d) || d.list<void*>(CUDNN_ATTR_OPERATIONGRAPH_OPS).size() == 1) return {};
  // No rule is broken: cuDNN has no engine of this pattern.
  return {"", "", page::kCudnnGraph, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN};
}

Problem problem_of_plan(CudnnDescriptor& d) {
  const CudnnDescriptor& config = *d.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const auto handle = d.one<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
  const auto of_graph = config.graph->one<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
  if (handle->device != of_graph->device) {
    return {"a plan is made for the device of its graph",
            std::to_string(handle->device) + " for " + std::to_string(of_graph->device),
            page::kCudnnPlan};
  }
  d.graph = config.graph;
  d.engine = config.engine;
  CudnnGraph graph;
  graph.read(*d.graph);
  if (cudnn_takes(graph, d.engine)) return {};
  return {"", "", page::kCudnnPlan, CUDNN_STATUS_NOT_SUPPORTED};
}

Problem problem_of_pack(const CudnnDescriptor& d) {
  const auto ids = d.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  if (ids.size() != d.list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size())
    return {"a variant pack has a pointer for each unique id", "", page::kCudnnPack};
  if (std::set<int64_t>(ids.begin(), ids.end()).size() != ids.size()) {
    return {"a variant pack names a tensor once", "", page::kCudnnPack,
            CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES};
  }
  return {};
}

Problem problem_of(CudnnDescriptor& d) {
  if (d.finalized)
    return {"a descriptor that is finalized stays as it is", "", page::kCudnnFinalize};
  for (const CudnnAttribute& a : cudnn_attributes()) {
    if (a.of != d.type) continue;
    if (a.needed && !d.has(a.name)) {
      return {"a descriptor is finalized with all attributes that it needs",
              "no " + name_of(a.name), page::kCudnnFinalize};
    }
    if (a.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) continue;
    for (void* part : d.list<void*>(a.name)) {
      if (static_cast<CudnnDescriptor*>(part)->finalized) continue;
      return {kFinalizedBefore, name_of(a.name), page::kCudnnFinalize,
              is_convolution(d) ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED};
    }
  }
  switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return problem_of_tensor(d);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return problem_of_rule(d);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return problem_of_graph(d);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return problem_of_plan(d);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return problem_of_pack(d);
    default:
      return is_convolution(d) ? problem_of_operation(d) : cudnn_problem_of_operation(d);
  }
}

/// Writes what cuDNN computes of a finalized descriptor; how many elements there are.
int64_t read_computed(CudnnDescriptor& d, cudnnBackendAttributeName_t name, int64_t most,
                      void* elements) {
  CudnnGraph graph;
  if (d.graph) graph.read(*d.graph);
  // What is asked for is filled in, into descriptors that the caller has made.
  const auto fill = [&](int64_t i, const CudnnDescriptor* of_graph, int engine) {
    auto& filled = *static_cast<CudnnDescriptor*>(static_cast<void**>(elements)[i]);
    filled.graph = of_graph;
    filled.engine = engine;
    filled.finalized = true;
  };
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
      const CudnnDescriptor* of_graph = d.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
      if (!graph.read(*of_graph)) return 0;
      const std::vector<int> engines =
          cudnn_engines(graph, d.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE));
      const int64_t count = static_cast<int64_t>(engines.size());
      for (int64_t i = 0; i < std::min(most, count); ++i)
        fill(i, of_graph, engines[static_cast<size_t>(i)]);
      return count;
    }
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      if (most > 0) fill(0, d.graph, d.engine);
      return 1;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
      const auto notes = cudnn_notes(graph, d.engine);
      std::copy_n(notes.begin(), std::min<size_t>(static_cast<size_t>(most), notes.size()),
                  static_cast<cudnnBackendNumericalNote_t*>(elements));
      return static_cast<int64_t>(notes.size());
    }
    default:
      if (most > 0) {
        *static_cast<int64_t*>(elements) =
            name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX ? d.engine : cudnn_workspace(graph, d.engine);
      }
      return 1;
  }
}

}  // namespace

CudnnDescriptor* cudnn_descriptor(const char* call, const char* page,
                                  cudnnBackendDescriptor_t handle) {
  if (live().contains(handle)) return static_cast<CudnnDescriptor*>(handle);
  cudnn_refuse(call, "a descriptor is one that was made and not destroyed", "", page,
               CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  return nullptr;
}

bool cudnn_stopped(const char* call) {
  if (closed() == cudaSuccess && begin_call(call) == cudaSuccess) return false;
  set_cudnn_error("CUDA failed");
  return true;
}

cudnnStatus_t cudnn_refuse(const char* call, const std::string& rule, const std::string& got,
                           const char* page, cudnnStatus_t status) {
  set_cudnn_error(rule);
  report(call, rule, got, page);
  return status;
}

void set_cudnn_error(const std::string& text) { last_error = text; }

int64_t cudnn_item_bytes(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
      return 8;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
      return 4;
    case CUDNN_DATA_BOOLEAN:
      return 1;
    default:
      return 2;
  }
}

bool CudnnGraph::read(const CudnnDescriptor& graph) {
  operations = cudnn_operations(graph);
  const CudnnDescriptor& first = *operations[0];
  if (read_attention()) return true;
  if (operations.size() > 2 || !is_convolution(first)) return false;
  const Parts p = parts_of(first);
  result = first.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR         ? y
           : first.type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ? x
                                                                                        : w;
  rule = p.rule;
  x_tensor = p.x;
  y_tensor = p.y;
  w_tensor = p.w;
  const CudnnDescriptor* sum = result == y ? p.y : result == x ? p.x : p.w;
  if (operations.size() == 1) {
    out = sum;
    return !cudnn_is_virtual(*out);
  }
  const CudnnDescriptor& addition = *operations[1];
  if (addition.type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR || result != y) return false;
  bias = addition.part(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  out = addition.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  return addition.part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC) == sum && cudnn_is_virtual(*sum);
}

std::vector<const CudnnDescriptor*> CudnnGraph::tensors() const {
  std::vector<const CudnnDescriptor*> all;
  for (const CudnnDescriptor* operation : operations) {
    for (const CudnnDescriptor* t : cudnn_tensors(*operation)) {
      const bool known = std::find(all.begin(), all.end(), t) != all.end();
      if (!cudnn_is_virtual(*t) && !known) all.push_back(t);
    }
  }
  return all;
}

}  // namespace aorta::emulated

using namespace aorta::emulated;

extern "C" {

void cudnnGetLastErrorString(char* message, size_t bytes) {
  if (bytes == 0) return;
  const size_t length = std::min(last_error.size(), bytes - 1);
  std::memcpy(message, last_error.data(), length);
  message[length] = 0;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  const MachineLock lock;
  if (cudnn_stopped("cudnnBackendCreateDescriptor")) return CUDNN_STATUS_INTERNAL_ERROR;
  *descriptor = &descriptors().emplace_back(CudnnDescriptor{.type = type, .attributes = {}});
  live().insert(*descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle) {
  const MachineLock lock;
  CudnnDescriptor* const d =
      cudnn_descriptor("cudnnBackendDestroyDescriptor", page::kCudnnSet, handle);
  if (!d) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  const bool fails = cudnn_stopped("cudnnBackendDestroyDescriptor");
  live().erase(d);
  if (fails) return CUDNN_STATUS_INTERNAL_ERROR;
  if (d->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) d->attributes.clear();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  const char* const call = "cudnnBackendSetAttribute";
  const MachineLock lock;
  if (cudnn_stopped(call)) return CUDNN_STATUS_INTERNAL_ERROR;
  CudnnDescriptor* const d = cudnn_descriptor(call, page::kCudnnSet, handle);
  if (!d) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (d->finalized) {
    return cudnn_refuse(call, "a descriptor that is finalized stays as it is", name_of(name),
                        page::kCudnnSet, CUDNN_STATUS_BAD_PARAM);
  }
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  const CudnnAttribute* const a = attribute_of(call, page::kCudnnSet, *d, name, type, true, status);
  if (!a) return status;
  if (!elements || count < a->least || count > a->most) {
    return cudnn_refuse(call, "an attribute has elements, and no more than it may",
                        std::to_string(count) + " of " + name_of(name), page::kCudnnSet,
                        CUDNN_STATUS_BAD_PARAM);
  }
  const bool operations = name == CUDNN_ATTR_OPERATIONGRAPH_OPS;
  for (int64_t i = 0; i < count && type == CUDNN_TYPE_BACKEND_DESCRIPTOR; ++i) {
    const CudnnDescriptor* const part =
        cudnn_descriptor(call, page::kCudnnSet, static_cast<void* const*>(elements)[i]);
    if (!part) return operations ? CUDNN_STATUS_BAD_PARAM_NULL_POINTER : CUDNN_STATUS_BAD_PARAM;
    if (operations && !part->finalized) {
      return cudnn_refuse(call, kFinalizedBefore, name_of(name), page::kCudnnSet,
                          CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
    }
  }
  const char* const bytes = static_cast<const char*>(elements);
  d->attributes[name].assign(bytes, bytes + static_cast<size_t>(count) * element_bytes(type));
  return status;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most,
                                       int64_t* count, void* elements) {
  const char* const call = "cudnnBackendGetAttribute";
  const MachineLock lock;
  if (cudnn_stopped(call)) return CUDNN_STATUS_INTERNAL_ERROR;
  CudnnDescriptor* const d = cudnn_descriptor(call, page::kCudnnGet, handle);
  if (!d) return CUDNN_STATUS_BAD_PARAM;
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  const CudnnAttribute* const a =
      attribute_of(call, page::kCudnnGet, *d, name, type, false, status);
  if (!a) return status;
  if (!d->finalized) {
    return cudnn_refuse(call, "attributes are read from finalized descriptors", name_of(name),
                        page::kCudnnGet, CUDNN_STATUS_NOT_INITIALIZED);
  }
  if (a->computed) {
    *count = read_computed(*d, name, most, elements);
    return status;
  }
  // All that there are where none is asked for, else those that are written.
  const std::vector<char>& bytes = d->attributes[name];
  const auto all = static_cast<int64_t>(bytes.size() / element_bytes(type));
  *count = most == 0 ? all : std::min(most, all);
  if (most > 0)
    std::memcpy(elements, bytes.data(), static_cast<size_t>(*count) * element_bytes(type));
  return status;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  const char* const call = "cudnnBackendFinalize";
  const MachineLock lock;
  if (cudnn_stopped(call)) return CUDNN_STATUS_INTERNAL_ERROR;
  CudnnDescriptor* const d = cudnn_descriptor(call, page::kCudnnFinalize, handle);
  if (!d) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  const Problem problem = problem_of(*d);
  if (!problem.page) {
    d->finalized = true;
    return CUDNN_STATUS_SUCCESS;
  }
  if (!problem.rule.empty())
    return cudnn_refuse(call, problem.rule, problem.got, problem.page, problem.status);
  set_cudnn_error("not supported");
  return problem.status;
}
}
