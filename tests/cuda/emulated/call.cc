#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/collectives.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>

#include <unistd.h>

#include <cstdlib>
#include <map>
#include <utility>

namespace aorta::emulated {
namespace {

struct Injection {
  int nth = -1, calls = 0, taken = 0;
  bool failed = false;
  cudaError_t error = cudaSuccess;
};

std::map<std::string, Injection>& injections() {
  static auto* all = new std::map<std::string, Injection>;
  return *all;
}

const pid_t first_process = getpid();
bool unloading = false;
[[maybe_unused]] const int at_exit = std::atexit([] {
  unloading = true;
  Streams::get().stop();
  Memory::get().check_registered();
});

thread_local int device_of_thread = 0;
thread_local cudaError_t last_error = cudaSuccess;

struct ErrorText {
  cudaError_t error;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorCudartUnloading, "cudaErrorCudartUnloading", "driver shutting down"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined",
     "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
};

}  // namespace

std::mutex& machine_mutex() {
  static std::mutex mutex;
  return mutex;
}

int current_device() { return device_of_thread; }

// "Not ready" is an answer and no error (driver_types.h): it isn't left behind.
cudaError_t finish_call(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

/// The error that this call is to fail with.
static cudaError_t count_call(const char* name) {
  Injection& injection = injections()[name];
  ++injection.calls;
  ++injection.taken;
  if (injection.nth != 0 && injection.nth != injection.calls) return cudaSuccess;
  injection.failed = true;
  return injection.error;
}

bool is_injected(const char* name) {
  const MachineLock lock;
  return count_call(name) != cudaSuccess;
}

cudaError_t closed() {
  if (getpid() != first_process) return cudaErrorInitializationError;
  return unloading ? cudaErrorCudartUnloading : cudaSuccess;
}

// "This call may also return error codes from previous, asynchronous launches" stands on every page
// of the runtime's manual.
cudaError_t begin_call(const char* name) {
  if (const cudaError_t error = count_call(name); error != cudaSuccess) return error;
  if (Streams::get().sticky != cudaSuccess) return Streams::get().sticky;
  if (const cudaError_t error = forbidden_by_capture(name); error != cudaSuccess) return error;
  Streams::get().drift();
  return Streams::get().sticky;
}

cudaError_t broken(const char* name, const std::string& rule, const std::string& got,
                   const char* page, cudaError_t error) {
  report(name, rule, got, page);
  return error;
}

void inject(const std::string& name, int nth, cudaError_t error) {
  const MachineLock lock;
  Injection& injection = injections()[name];
  injection.nth = nth;
  injection.calls = 0;
  injection.error = error;
}

void inject_nothing() {
  const MachineLock lock;
  for (auto& [name, injection] : injections()) injection.nth = -1;
}

int calls_of(const std::string& name) {
  const MachineLock lock;
  return injections()[name].calls;
}

std::map<std::string, int> take_calls() {
  const MachineLock lock;
  std::map<std::string, int> made;
  for (auto& [name, injection] : injections()) {
    if (const int count = std::exchange(injection.taken, 0); count > 0) made[name] = count;
  }
  return made;
}

void note_failed(const std::string& name) {
  const MachineLock lock;
  injections()[name].failed = true;
}

std::set<std::string> failed_calls() {
  const MachineLock lock;
  std::set<std::string> names;
  for (const auto& [name, injection] : injections()) {
    if (injection.failed) names.insert(name);
  }
  return names;
}

}  // namespace aorta::emulated

using namespace aorta::emulated;

extern "C" {

cudaError_t cudaGetLastError() {
  if (closed() != cudaSuccess) return last_error;
  const MachineLock lock;
  const cudaError_t error = last_error;
  last_error = Streams::get().sticky;
  return error;
}

cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  for (const ErrorText& known : kErrors) {
    if (known.error == error) return known.name;
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  for (const ErrorText& known : kErrors) {
    if (known.error == error) return known.text;
  }
  return "unrecognized error code";
}

cudaError_t cudaDriverGetVersion(int* version) {
  return call("cudaDriverGetVersion", [&] {
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceCount(int* count) {
  return call("cudaGetDeviceCount", [&] {
    *count = settings().devices;
    return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call("cudaSetDevice", [&] {
    if (device < 0 || device >= settings().devices) {
      return broken("cudaSetDevice", "the device must exist", std::to_string(device), page::kDevice,
                    cudaErrorInvalidDevice);
    }
    device_of_thread = device;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return call("cudaGetDevice", [&] {
    *device = device_of_thread;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call("cudaDeviceGetAttribute", [&] {
    const bool there = device >= 0 && device < settings().devices;
    if (!there || attribute != cudaDevAttrMultiProcessorCount) {
      return broken("cudaDeviceGetAttribute", "the device and the attribute must exist",
                    std::to_string(device) + ", " + std::to_string(attribute), page::kDevice,
                    there ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
    }
    *value = settings().multiprocessors;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [&] {
    const cudaError_t forbidden = Streams::get().forbidden_device_wait(device_of_thread);
    if (forbidden != cudaSuccess) return forbidden;
    check_no_open_group("cudaDeviceSynchronize");
    Streams::get().finish_all(device_of_thread);
    return Streams::get().sticky;
  });
}
}
