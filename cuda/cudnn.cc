#include <aorta/core/check.h>
#include <aorta/cuda/cudnn.h>

#include <string>

namespace aorta::cuda {
namespace {

constexpr int64_t kOldest = 90000;
const char* const kName = "libcudnn.so.9";

// 90102 is 9.1.2; before 9, 8907 was 8.9.7.
std::string version_text(int64_t version) {
  const int64_t major = version < 10000 ? 1000 : 10000;
  return std::to_string(version / major) + "." + std::to_string(version % major / 100) + "." +
         std::to_string(version % 100);
}

const CudnnCalls& calls() { return cudnn_library().calls; }

}  // namespace

CudnnLibrary find_cudnn(SharedLibrary shared) {
  CudnnLibrary library;
  CudnnCalls& calls = library.calls;
  shared.find(calls.get_version, "cudnnGetVersion");
  shared.find(calls.get_error_string, "cudnnGetErrorString");
  shared.find(calls.get_last_error_string, "cudnnGetLastErrorString");
  shared.find(calls.create, "cudnnCreate");
  shared.find(calls.set_stream, "cudnnSetStream");
  shared.find(calls.create_descriptor, "cudnnBackendCreateDescriptor");
  shared.find(calls.destroy_descriptor, "cudnnBackendDestroyDescriptor");
  shared.find(calls.set_attribute, "cudnnBackendSetAttribute");
  shared.find(calls.get_attribute, "cudnnBackendGetAttribute");
  shared.find(calls.finalize, "cudnnBackendFinalize");
  shared.find(calls.execute, "cudnnBackendExecute");
  const int64_t version = calls.get_version ? static_cast<int64_t>(calls.get_version()) : 0;
  if (version > 0 && version < kOldest) {
    library.state.problem =
        "cuDNN " + version_text(version) + " is too old: " + version_text(kOldest) + " is needed";
  } else if (!shared.problem().empty()) {
    library.state.problem = shared.problem();
  } else {
    library.state.version = version;
  }
  return library;
}

const CudnnLibrary& cudnn_library() {
  static const CudnnLibrary library = find_cudnn(SharedLibrary(kName, "cudnnBackendExecute"));
  return library;
}

void check_cudnn(cudnnStatus_t status, const char* op) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char text[512] = "";
  calls().get_last_error_string(text, sizeof text);
  fail(op, "cuDNN must succeed", calls().get_error_string(status), " (", text, ")");
}

// 4001: an engine that is compiled where it runs didn't compile.
bool is_refusal(cudnnStatus_t status) {
  return status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000 ||
         status == CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED;
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type, const char* op) : op_(op) {
  check_cudnn(calls().create_descriptor(type, &value_), op_);
}

CudnnDescriptor::~CudnnDescriptor() {
  if (value_) calls().destroy_descriptor(value_);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          int64_t count, const void* elements) {
  check_cudnn(calls().set_attribute(value_, name, type, count, elements), op_);
}

int64_t CudnnDescriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                             int64_t most, void* elements) const {
  int64_t count = 0;
  check_cudnn(calls().get_attribute(value_, name, type, most, &count, elements), op_);
  return count;
}

int64_t CudnnDescriptor::get_int64(cudnnBackendAttributeName_t name) const {
  int64_t number = 0;
  get(name, CUDNN_TYPE_INT64, 1, &number);
  return number;
}

void CudnnDescriptor::finalize() { check_cudnn(calls().finalize(value_), op_); }

bool CudnnDescriptor::try_finalize() {
  const cudnnStatus_t status = calls().finalize(value_);
  if (is_refusal(status)) return false;
  check_cudnn(status, op_);
  return true;
}

}  // namespace aorta::cuda
