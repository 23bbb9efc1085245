// Rules of the CUDA runtime: devices, errors, streams, events and launches.
#include <aorta/tests/cuda/runtime_rules.h>

#include <gtest/gtest.h>

#include <thread>

namespace aorta::rules {
namespace {

using RuntimeDevices = Rules;
using RuntimeErrors = Rules;
using RuntimeStreams = Rules;
using RuntimeEvents = Rules;
using RuntimeLaunches = Rules;
using RuntimeNames = LibraryRules;

/// A launch that is right, for a case to spoil.
cudaLaunchConfig_t config_of(dim3 grid, dim3 block, size_t shared_bytes = 0) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  return config;
}

}  // namespace

// ---- Devices.

TEST_F(RuntimeDevices, SetDeviceBelowZero) { EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice); }

TEST_F(RuntimeDevices, SetDevicePastTheLast) {
  EXPECT_EQ(cudaSetDevice(devices()), cudaErrorInvalidDevice);
}

TEST_F(RuntimeDevices, ARefusedSetDeviceChangesNothing) {
  cudaSetDevice(devices());
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);
}

TEST_F(RuntimeDevices, AttributeOfNoDevice) {
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, devices()),
            cudaErrorInvalidDevice);
}

TEST_F(RuntimeDevices, AttributeThatIsNone) {
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(100000), 0),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeDevices, BusIdOfADevicePastTheLast) {
  char id[32];
  EXPECT_EQ(cudaDeviceGetPCIBusId(id, sizeof id, devices()), cudaErrorInvalidDevice);
}

TEST_F(RuntimeDevices, BusIdOfADeviceBelowZero) {
  char id[32];
  EXPECT_EQ(cudaDeviceGetPCIBusId(id, sizeof id, -1), cudaErrorInvalidDevice);
}

TEST_F(RuntimeDevices, BusIdWithoutRoom) {
  char id[8];
  EXPECT_EQ(cudaDeviceGetPCIBusId(id, sizeof id, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeDevices, ADeviceIsNoPeerOfItself) {
  int can = 1;
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 0), cudaSuccess);
  EXPECT_EQ(can, 0);
}

TEST_F(RuntimeDevices, PeerAccessToItself) {
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);
}

TEST_F(RuntimeDevices, PeerAccessToNoDevice) {
  EXPECT_EQ(cudaDeviceEnablePeerAccess(devices(), 0), cudaErrorInvalidDevice);
}

TEST_F(RuntimeDevices, PeerAccessTwice) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  const cudaError_t first = cudaDeviceEnablePeerAccess(1, 0);
  EXPECT_TRUE(first == cudaSuccess || first == cudaErrorPeerAccessAlreadyEnabled) << first;
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
}

TEST_F(RuntimeDevices, PeerAccessWithFlags) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 1), cudaErrorInvalidDevice);
}

// ---- The last error.

TEST_F(RuntimeErrors, AFailedCallLeavesItsError) {
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST_F(RuntimeErrors, GetLastErrorClears) {
  cudaSetDevice(-1);
  cudaGetLastError();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(RuntimeErrors, PeekAtLastErrorClearsNothing) {
  cudaSetDevice(-1);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
}

TEST_F(RuntimeErrors, ACallThatSucceedsClearsNothing) {
  cudaSetDevice(-1);
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST_F(RuntimeErrors, AnotherFailureTakesItsPlace) {
  cudaSetDevice(-1);
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, kNoFlag), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST_F(RuntimeErrors, EachThreadHasItsOwn) {
  cudaSetDevice(-1);
  std::thread([] { EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST_F(RuntimeErrors, WhatIsNotReadyIsNotLeft) {
  const cudaStream_t stream = new_stream();
  queue_much(stream);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(RuntimeErrors, WhatIsNotReadyTakesNoErrorsPlace) {
  const cudaStream_t stream = new_stream();
  queue_much(stream);
  cudaSetDevice(-1);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST_F(RuntimeErrors, OutOfMemoryIsLeftAndCleared) {
  size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, 2 * total), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&data, kBytes), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// Whoever reads what the double prints reads CUDA's words.
TEST_F(RuntimeNames, OfErrors) {
  struct Text {
    cudaError_t error;
    const char *name, *description;
  };
  const Text texts[] = {
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
      {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
       "operation not permitted on an event last recorded in a capturing stream"},
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
  };
  for (const Text& text : texts) {
    EXPECT_STREQ(cudaGetErrorName(text.error), text.name);
    EXPECT_STREQ(cudaGetErrorString(text.error), text.description);
  }
}

// ---- Streams.

TEST_F(RuntimeStreams, UnknownFlags) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, kNoFlag), cudaErrorInvalidValue);
}

TEST_F(RuntimeStreams, StreamZeroStays) {
  EXPECT_EQ(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeStreams, QueryOfWorkThatGoesOn) {
  const cudaStream_t stream = new_stream();
  queue_much(stream);
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
}

TEST_F(RuntimeStreams, QueryOfWorkThatIsDone) {
  const cudaStream_t stream = new_stream();
  queue_much(stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
}

TEST_F(RuntimeStreams, DestroyedWhileWorkGoesOn) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  queue_much(stream);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(RuntimeStreams, WaitWithUnknownFlags) {
  const cudaEvent_t event = new_event();
  EXPECT_EQ(cudaStreamWaitEvent(new_stream(), event, kNoFlag), cudaErrorInvalidValue);
}

TEST_F(RuntimeStreams, WaitForAnEventThatWasNeverRecorded) {
  const cudaEvent_t event = new_event();
  EXPECT_EQ(cudaStreamWaitEvent(new_stream(), event, 0), cudaSuccess);
}

TEST_F(RuntimeStreams, WaitForNoEvent) {
  EXPECT_EQ(cudaStreamWaitEvent(new_stream(), nullptr, 0), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeStreams, WaitForAnotherDevicesEvent) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  const cudaStream_t stream = new_stream();
  cudaSetDevice(1);
  const cudaEvent_t event = new_event();
  EXPECT_EQ(cudaEventRecord(event, new_stream()), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream, event, 0), cudaSuccess);
}

TEST_F(RuntimeStreams, WorkOfAStreamWhileAnotherDeviceIsCurrent) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  const cudaStream_t stream = new_stream();
  void* const data = device_memory(kBytes);
  cudaSetDevice(1);
  EXPECT_EQ(cudaMemsetAsync(data, 0, kBytes, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

// ---- Events.

TEST_F(RuntimeEvents, UnknownFlags) {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&event, kNoFlag), cudaErrorInvalidValue);
}

TEST_F(RuntimeEvents, QueryOfOneThatWasNeverRecorded) {
  EXPECT_EQ(cudaEventQuery(new_event()), cudaSuccess);
}

TEST_F(RuntimeEvents, SynchronizeOfOneThatWasNeverRecorded) {
  EXPECT_EQ(cudaEventSynchronize(new_event()), cudaSuccess);
}

TEST_F(RuntimeEvents, QueryOfWorkThatGoesOn) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  queue_much(stream);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
}

TEST_F(RuntimeEvents, QueryOfWorkThatIsDone) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  queue_much(stream);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
}

TEST_F(RuntimeEvents, RecordOfNone) {
  EXPECT_EQ(cudaEventRecord(nullptr, new_stream()), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeEvents, QueryOfNone) {
  EXPECT_EQ(cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeEvents, SynchronizeOfNone) {
  EXPECT_EQ(cudaEventSynchronize(nullptr), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeEvents, DestroyOfNone) {
  EXPECT_EQ(cudaEventDestroy(nullptr), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeEvents, TimeBetweenThoseOfWorkThatIsDone) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t start = new_event(cudaEventDefault), end = new_event(cudaEventDefault);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventRecord(start, stream), cudaSuccess);
  queue_much(stream);
  EXPECT_EQ(cudaEventRecord(end, stream), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorNotReady);
  EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
  EXPECT_GT(milliseconds, 0);
}

TEST_F(RuntimeEvents, TimeOfOneThatWasNeverRecorded) {
  const cudaEvent_t start = new_event(cudaEventDefault), end = new_event(cudaEventDefault);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventRecord(start, new_stream()), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeEvents, TimeOfOneThatMeasuresNone) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t start = new_event(cudaEventDefault), end = new_event();
  float milliseconds = -1;
  EXPECT_EQ(cudaEventRecord(start, stream), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(end, stream), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeEvents, TimeOfNone) {
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, nullptr, new_event(cudaEventDefault)),
            cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeEvents, RecordOnAnotherDevicesStream) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  const cudaEvent_t event = new_event();
  cudaSetDevice(1);
  EXPECT_EQ(cudaEventRecord(event, new_stream()), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeEvents, QueryWhileAnotherDeviceIsCurrent) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  const cudaEvent_t event = new_event();
  cudaSetDevice(1);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
}

// ---- Launches. (A kernel<<<>>> says cudaErrorInvalidConfiguration of the same numbers.)

TEST_F(RuntimeLaunches, AsLargeAsMayBe) {
  EXPECT_EQ(launch_nothing(config_of({1, 65535, 1}, {4, 1, 64}, 48 << 10)), cudaSuccess);
  EXPECT_EQ(launch_nothing(config_of({2, 1, 65535}, 256)), cudaSuccess);
}

TEST_F(RuntimeLaunches, BlockTooLongAlongX) {
  EXPECT_EQ(launch_nothing(config_of(1, 1025)), cudaErrorInvalidValue);
}

TEST_F(RuntimeLaunches, BlockTooLongAlongY) {
  EXPECT_EQ(launch_nothing(config_of(1, {1, 1025, 1})), cudaErrorInvalidValue);
}

TEST_F(RuntimeLaunches, BlockTooLongAlongZ) {
  EXPECT_EQ(launch_nothing(config_of(1, {1, 1, 65})), cudaErrorInvalidValue);
}

TEST_F(RuntimeLaunches, BlockOfTooManyThreads) {
  EXPECT_EQ(launch_nothing(config_of(1, {64, 32, 1})), cudaErrorInvalidValue);
}

TEST_F(RuntimeLaunches, BlockPastTheKernelsLaunchBounds) {
  EXPECT_EQ(launch_nothing(config_of(1, 288)), cudaErrorInvalidValue);
}

TEST_F(RuntimeLaunches, BlockOfNoThreads) {
  EXPECT_EQ(launch_nothing(config_of(1, {32, 0, 1})), cudaErrorInvalidValue);
}

TEST_F(RuntimeLaunches, GridOfNoBlocks) {
  EXPECT_EQ(launch_nothing(config_of(0, 32)), cudaErrorInvalidValue);
}

TEST_F(RuntimeLaunches, GridTooLongAlongX) {
  EXPECT_EQ(launch_nothing(config_of(1u << 31, 32)), cudaErrorInvalidValue);
}

TEST_F(RuntimeLaunches, GridTooLongAlongY) {
  EXPECT_EQ(launch_nothing(config_of({1, 65536, 1}, 32)), cudaErrorInvalidValue);
}

TEST_F(RuntimeLaunches, GridTooLongAlongZ) {
  EXPECT_EQ(launch_nothing(config_of({1, 1, 65536}, 32)), cudaErrorInvalidValue);
}

TEST_F(RuntimeLaunches, TooMuchSharedMemory) {
  EXPECT_EQ(launch_nothing(config_of(1, 32, (48 << 10) + 16)), cudaErrorInvalidValue);
}

TEST_F(RuntimeLaunches, OnAnotherDevicesStream) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  cudaLaunchConfig_t config = config_of(1, 32);
  config.stream = new_stream();
  cudaSetDevice(1);
  EXPECT_EQ(launch_nothing(config), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeLaunches, ARefusedOneLeavesItsErrorAndNoMore) {
  EXPECT_EQ(launch_nothing(config_of(0, 32)), cudaErrorInvalidValue);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(launch_nothing(config_of(1, 32)), cudaSuccess) << "the error isn't this launch's";
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

}  // namespace aorta::rules
