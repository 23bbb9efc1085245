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
  // Of engines, and what is made of them.
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

/// The graph of a convolution: which result, and what with.
struct CudnnGraph {
  enum Result { y, x, w } result = y;
  const CudnnDescriptor *x_tensor = nullptr, *y_tensor = nullptr, *w_tensor = nullptr;
  const CudnnDescriptor* bias = nullptr;  // null for none
  const CudnnDescriptor* out = nullptr;   // what is written
  const CudnnDescriptor* rule = nullptr;  // the convolution's

  /// That of a finalized operation graph of one of the patterns that are supported; false for
  /// another.
  bool read(const CudnnDescriptor& graph);
  /// Those that lie in memory.
  std::vector<const CudnnDescriptor*> tensors() const;
};

/// Engines for a graph, by number, the best first. Which there are is a small table, and now and
/// then, by the seed, there are fewer or none.
std::vector<int> cudnn_engines(const CudnnGraph& graph, cudnnBackendHeurMode_t mode);
std::vector<cudnnBackendNumericalNote_t> cudnn_notes(const CudnnGraph& graph, int engine);
/// Whether an engine that was advised makes a plan after all.
bool cudnn_takes(const CudnnGraph& graph, int engine);
int64_t cudnn_workspace(const CudnnGraph& graph, int engine);
/// Computes it; pointers by unique id.
void cudnn_compute(const CudnnGraph& graph, int engine, const std::map<int64_t, void*>& pointers);

}  // namespace aorta::emulated
