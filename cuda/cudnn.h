#pragma once

// cuDNN's graph API, found where the program runs: the plugin loads without it.

#include <aorta/core/device_backend.h>
#include <aorta/cuda/shared_library.h>

#include <cudnn.h>

#include <utility>

namespace aorta::cuda {

/// The functions of cuDNN that this room calls.
struct CudnnCalls {
  decltype(&cudnnGetVersion) get_version = nullptr;
  decltype(&cudnnGetErrorString) get_error_string = nullptr;
  decltype(&cudnnGetLastErrorString) get_last_error_string = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;
};

/// The calls, or why they can't be made.
struct CudnnLibrary {
  CudnnCalls calls;
  DeviceLibrary state;
};

CudnnLibrary find_cudnn(SharedLibrary library);

/// That of this process: the cuDNN that the program has loaded, else libcudnn.so.9, looked for
/// once.
const CudnnLibrary& cudnn_library();

/// Throws "op: cuDNN must succeed, got NAME (what cuDNN says of it)" unless a call of `op`
/// succeeded.
void check_cudnn(cudnnStatus_t status, const char* op);

/// Whether a status says that something isn't supported, which isn't an error: another engine may.
bool is_refusal(cudnnStatus_t status);

/// A descriptor of cuDNN's: attributes are set, it is finalized, and then it is as it is. Errors
/// name `op`.
class CudnnDescriptor {
 public:
  CudnnDescriptor(cudnnBackendDescriptorType_t type, const char* op);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : value_(std::exchange(other.value_, nullptr)), op_(other.op_) {}
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* elements);
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.value_);
  }
  /// Reads up to `most` elements; how many there are.
  int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most,
              void* elements) const;
  int64_t get_int64(cudnnBackendAttributeName_t name) const;

  void finalize();
  /// Finalizes where cuDNN may not support it: false then.
  bool try_finalize();

  cudnnBackendDescriptor_t value() const { return value_; }

 private:
  cudnnBackendDescriptor_t value_ = nullptr;
  const char* op_;
};

}  // namespace aorta::cuda
