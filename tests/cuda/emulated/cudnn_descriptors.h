#pragma once

#include <cudnn.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

// What the handles of cuDNN point to here.

struct cudnnContext {
  int device = 0;
  cudaStream_t stream = nullptr;
  bool busy = false;  // a thread is in a call with it
};

namespace aorta::emulated {

/// Where NVIDIA writes cuDNN's rules down.
namespace page {
inline constexpr const char* kCudnnSet =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "cudnnBackendSetAttribute()";
inline constexpr const char* kCudnnGet =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "cudnnBackendGetAttribute()";
inline constexpr const char* kCudnnFinalize =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "cudnnBackendFinalize()";
inline constexpr const char* kCudnnTensor =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "CUDNN_BACKEND_TENSOR_DESCRIPTOR";
inline constexpr const char* kCudnnConvolution =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR";
inline constexpr const char* kCudnnOperation =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR";
inline constexpr const char* kCudnnMatmul =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR";
inline constexpr const char* kCudnnPointwise =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR";
inline constexpr const char* kCudnnReduction =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR";
inline constexpr const char* kCudnnReshape =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR";
inline constexpr const char* kCudnnGraph =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR";
inline constexpr const char* kCudnnPlan =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR";
inline constexpr const char* kCudnnPack =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR";
inline constexpr const char* kCudnnExecute =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, "
    "cudnnBackendExecute()";
inline constexpr const char* kCudnnHandle =
    "docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-graph-library.html, cudnnSetStream()";
inline constexpr const char* kCudnnThreads =
    "docs.nvidia.com/deeplearning/cudnn/latest/developer/core-concepts.html, Thread Safety";
}  // namespace page

/// A descriptor: attributes by name, and then finalized. Never given out twice, so that the use of
/// one that was destroyed is seen; who holds one that was destroyed keeps it, as in cuDNN.
struct CudnnDescriptor {
  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, std::vector<char>> attributes;
  // Engines, and what is made of them, have these.
  const CudnnDescriptor* graph = nullptr;
  int engine = -1;

  bool has(cudnnBackendAttributeName_t name) const { return attributes.contains(name); }
  template <class T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    std::vector<T> values(found->second.size() / sizeof(T));
    std::memcpy(values.data(), found->second.data(), values.size() * sizeof(T));
    return values;
  }
  template <class T>
  T one(cudnnBackendAttributeName_t name, T otherwise = {}) const {
    const std::vector<T> values = list<T>(name);
    return values.empty() ? otherwise : values[0];
  }
  const CudnnDescriptor* part(cudnnBackendAttributeName_t name) const {
    return static_cast<const CudnnDescriptor*>(one<void*>(name));
  }
};

/// An attribute: whose it is, of which type, how many elements it may have, and whether one is
/// finalized without it. What cuDNN computes is read alone. (cuDNN 9.19 itself takes f32 where no
/// type was set, and 0 for a unique id.)
struct CudnnAttribute {
  cudnnBackendDescriptorType_t of;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t least, most;
  bool needed, computed;
};
const std::vector<CudnnAttribute>& cudnn_attributes();

/// A rule that a descriptor breaks, and the status for it; no page where it breaks none.
struct CudnnProblem {
  std::string rule, got;
  const char* page = nullptr;
  cudnnStatus_t status = CUDNN_STATUS_BAD_PARAM;
};

/// The descriptor of a call; null where it is none, which is reported.
CudnnDescriptor* cudnn_descriptor(const char* call, const char* page,
                                  cudnnBackendDescriptor_t handle);
/// What keeps a call from being made: an injected failure, or a fault of earlier work.
bool cudnn_stopped(const char* call);
/// Reports a broken rule and gives the call its status.
cudnnStatus_t cudnn_refuse(const char* call, const std::string& rule, const std::string& got,
                           const char* page, cudnnStatus_t status);
/// What cudnnGetLastErrorString says from now on in this thread.
void set_cudnn_error(const std::string& text);

/// Bytes of an element.
int64_t cudnn_item_bytes(cudnnDataType_t type);

// Operations: their tensors, and the rules of those that aren't convolutions.

std::vector<const CudnnDescriptor*> cudnn_operations(const CudnnDescriptor& graph);
std::vector<const CudnnDescriptor*> cudnn_inputs(const CudnnDescriptor& operation);
const CudnnDescriptor* cudnn_output(const CudnnDescriptor& operation);
/// What it reads and, at the end, what it writes.
std::vector<const CudnnDescriptor*> cudnn_tensors(const CudnnDescriptor& operation);
CudnnProblem cudnn_problem_of_operation(const CudnnDescriptor& operation);
/// What an operation reads without another having written it.
CudnnProblem cudnn_problem_of_order(const CudnnDescriptor& graph);

bool cudnn_is_virtual(const CudnnDescriptor& tensor);
/// Whether it is a number in the host's memory.
bool cudnn_is_value(const CudnnDescriptor& tensor);
/// Where a tensor's numbers are: in elements from its first, the last dimension the fastest.
std::vector<int64_t> cudnn_offsets(const CudnnDescriptor& tensor);

/// The graph of a convolution or of attention: which result, and what with.
struct CudnnGraph {
  enum Result { y, x, w, attention, attention_gradients } result = y;
  std::vector<const CudnnDescriptor*> operations;
  // A convolution has these:
  const CudnnDescriptor *x_tensor = nullptr, *y_tensor = nullptr, *w_tensor = nullptr;
  const CudnnDescriptor* bias = nullptr;  // null for none
  const CudnnDescriptor* out = nullptr;   // what is written
  const CudnnDescriptor* rule = nullptr;  // the convolution's

  /// That of a finalized operation graph of one of the patterns that are supported; false for
  /// another.
  bool read(const CudnnDescriptor& graph);
  bool is_attention() const { return result == attention || result == attention_gradients; }
  /// The tensors that a pack names.
  std::vector<const CudnnDescriptor*> tensors() const;
  bool writes(const CudnnDescriptor& tensor) const;

 private:
  bool read_attention();
};

/// Engines for a graph, by number, the best first. Which there are is a small table, and now and
/// then, by the seed, there are fewer or none.
std::vector<int> cudnn_engines(const CudnnGraph& graph, cudnnBackendHeurMode_t mode);
std::vector<cudnnBackendNumericalNote_t> cudnn_notes(const CudnnGraph& graph, int engine);
/// Whether an engine that was advised makes a plan after all.
bool cudnn_takes(const CudnnGraph& graph, int engine);
int64_t cudnn_workspace(const CudnnGraph& graph, int engine);
/// Numbers as they lie in memory, and rounded to a type.
double cudnn_load(const void* data, cudnnDataType_t type, int64_t i);
void cudnn_store(void* data, cudnnDataType_t type, int64_t i, double value);
double cudnn_rounded(cudnnDataType_t type, double value);
/// Computes it; pointers by unique id.
void cudnn_compute(const CudnnGraph& graph, int engine, const std::map<int64_t, void*>& pointers);

// What the functions above are for attention.

std::vector<int> attention_engines(const CudnnGraph& graph, cudnnBackendHeurMode_t mode);
std::vector<cudnnBackendNumericalNote_t> attention_notes(const CudnnGraph& graph, int engine);
bool attention_takes(const CudnnGraph& graph, int engine);
int64_t attention_workspace(const CudnnGraph& graph, int engine);
void attention_compute(const CudnnGraph& graph, int engine,
                       const std::map<int64_t, void*>& pointers);

}  // namespace aorta::emulated
