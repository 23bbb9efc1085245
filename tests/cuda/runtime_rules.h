#pragma once

// Which call of CUDA, cuBLASLt, cuDNN or NCCL returns which status: the rules that the emulated
// device holds by returning an error. The *_rules_test.cc are compiled twice, over the double and
// over the toolkit, so that a difference between the two is one failed case.

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>
#include <nccl.h>
#ifndef AORTA_TOOLKIT
#include <aorta/tests/cuda/emulated/report.h>
#endif

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

// A failed EXPECT_EQ names the statuses.
inline void PrintTo(cudaError_t error, std::ostream* out) {
  *out << cudaGetErrorName(error) << " = " << static_cast<int>(error);
}
inline void PrintTo(cublasStatus_t status, std::ostream* out) {
  *out << cublasLtGetStatusName(status) << " = " << static_cast<int>(status);
}

namespace aorta::rules {

/// What most cases allocate, and a flag that no call knows.
inline constexpr size_t kBytes = 4096;
inline constexpr unsigned kNoFlag = 1u << 20;

#ifdef AORTA_TOOLKIT
inline constexpr bool kEmulated = false;
#else
inline constexpr bool kEmulated = true;
#endif

/// Why a case isn't run on a GPU, which it could take with it.
inline constexpr const char* kUndefined = "NVIDIA's pages leave this undefined: no GPU is asked";
/// Why a case isn't run where there is one device.
inline constexpr const char* kTwoDevices = "this rule is about two devices, and there is one";

/// A function of a library that the program isn't linked with: among what the program has loaded,
/// then in the library, as cuda/cudnn.cc and cuda/nccl.cc look for it. Null where it isn't there.
struct Symbol {
  const char *library, *name;

  template <class Function>
  operator Function*() const {
    void* address = dlsym(RTLD_DEFAULT, name);
    if (!address) {
      void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
      if (handle) address = dlsym(handle, name);
    }
    return reinterpret_cast<Function*>(address);
  }
};

/// Starts a kernel that does nothing, and is compiled for at most 256 threads a block.
cudaError_t launch_nothing(const cudaLaunchConfig_t& config);

/// A call that could take the device or the program with it, where the two differ: a process of its
/// own makes it.
template <class Status, class Call>
void in_own_process(Status wanted, const Call& call) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto make = [&] {
    const Status got = call();
    std::fprintf(stderr, "the call returned %s\n", testing::PrintToString(got).c_str());
    std::_Exit(0);
  };
  EXPECT_EXIT(make(), testing::ExitedWithCode(0),
              "the call returned " + testing::PrintToString(wanted));
}

/// The double refuses what NVIDIA's pages leave undefined, and a library may take it: the case is
/// skipped then, and says what the library returned.
template <class Status>
void stricter(Status got, Status wanted) {
  if (kEmulated) {
    EXPECT_EQ(got, wanted);
  } else if (got != wanted) {
    GTEST_SKIP() << "the double is stricter: it returns " << testing::PrintToString(wanted)
                 << ", this library " << testing::PrintToString(got);
  }
}

/// Does the same for a call that could take the device or the program with it.
template <class Status, class Call>
void stricter_in_own_process(Status wanted, const Call& call) {
  if (kEmulated) return in_own_process(wanted, call);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr int kTaken = 99;
  const auto make = [&] {
    const Status got = call();
    std::fprintf(stderr, "the call returned %s\n", testing::PrintToString(got).c_str());
    std::_Exit(got == wanted ? 0 : static_cast<int>(got) == 0 ? kTaken : 1);
  };
  bool taken = false;
  const auto refused_or_taken = [&](int status) {
    taken = WIFEXITED(status) && WEXITSTATUS(status) == kTaken;
    return taken || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
  };
  EXPECT_EXIT(make(), refused_or_taken, "the call returned ");
  if (taken) stricter(Status{}, wanted);
}

/// Rules that need no device.
class LibraryRules : public testing::Test {
#ifndef AORTA_TOOLKIT
  // The double reports most of what it refuses; here the status alone counts.
  emulated::Collector collector_;
#endif
};

/// Rules of a device. What a case makes is gone when it ends, and device 0 is current when it
/// begins.
class Rules : public LibraryRules {
 protected:
  void SetUp() override {
    const cudaError_t error = cudaGetDeviceCount(&devices_);
    if (error != cudaSuccess) devices_ = 0;
    cudaGetLastError();
    if (devices_ == 0) GTEST_SKIP() << "no GPU: " << cudaGetErrorString(error);
    if (!lost().empty()) {
      devices_ = 0;
      GTEST_SKIP() << "the device was lost in " << lost();
    }
    cudaSetDevice(0);
  }

  void TearDown() override {
    if (devices_ == 0) return;
    cudaSetDevice(0);
    for (cudaStream_t stream : streams_) end_capture(stream);
    const cudaError_t error = cudaDeviceSynchronize();
    EXPECT_EQ(error, cudaSuccess) << "the device is of no use after this case";
    if (error != cudaSuccess)
      lost() = testing::UnitTest::GetInstance()->current_test_info()->name();
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    for (void* data : device_) cudaFree(data);
    for (void* data : pinned_) cudaFreeHost(data);
    cudaGetLastError();
  }

  int devices() const { return devices_; }

  void* device_memory(size_t bytes) {
    device_.push_back(nullptr);
    EXPECT_EQ(cudaMalloc(&device_.back(), bytes), cudaSuccess);
    return device_.back();
  }
  void* pinned_memory(size_t bytes) {
    pinned_.push_back(nullptr);
    EXPECT_EQ(cudaHostAlloc(&pinned_.back(), bytes, cudaHostAllocDefault), cudaSuccess);
    return pinned_.back();
  }
  cudaStream_t new_stream(unsigned flags = cudaStreamNonBlocking) {
    streams_.push_back(nullptr);
    EXPECT_EQ(cudaStreamCreateWithFlags(&streams_.back(), flags), cudaSuccess);
    return streams_.back();
  }
  cudaEvent_t new_event(unsigned flags = cudaEventDisableTiming) {
    events_.push_back(nullptr);
    EXPECT_EQ(cudaEventCreateWithFlags(&events_.back(), flags), cudaSuccess);
    return events_.back();
  }

  /// What the end of a capture returns, or cudaSuccess where there is none.
  static cudaError_t end_capture(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream, &status) != cudaSuccess ||
        status == cudaStreamCaptureStatusNone) {
      return cudaSuccess;
    }
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(stream, &graph);
    if (graph) cudaGraphDestroy(graph);
    return error;
  }

  /// Queues so much that a device is still at it when the host has made its next call.
  void queue_much(cudaStream_t stream) {
    const size_t bytes = size_t{kEmulated ? 1 : 512} << 20;
    void *const from = device_memory(bytes), *const to = pinned_memory(bytes);
    ASSERT_EQ(cudaMemsetAsync(from, 0, bytes, stream), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  }

 private:
  static std::string& lost() {
    static std::string name;
    return name;
  }

  int devices_ = 0;
  std::vector<void*> device_, pinned_;
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> events_;
};

}  // namespace aorta::rules
