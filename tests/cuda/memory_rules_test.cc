// Rules of the CUDA runtime about memory: what is given out, what a pointer is, and copies.
#include <aorta/tests/cuda/runtime_rules.h>

#include <gtest/gtest.h>

namespace aorta::rules {
namespace {

using RuntimeMemory = Rules;
using RuntimeCopies = Rules;
using RuntimePointers = Rules;

/// Host memory that nobody has registered when a case begins.
alignas(4096) char pageable_memory[2 * kBytes];

void* inside(void* data, size_t offset) { return static_cast<char*>(data) + offset; }

}  // namespace

// ---- Memory of the device.

TEST_F(RuntimeMemory, NothingIsGivenForNothing) {
  void* data = pageable_memory;
  EXPECT_EQ(cudaMalloc(&data, 0), cudaSuccess);
  EXPECT_EQ(data, nullptr);
}

TEST_F(RuntimeMemory, NullIsFreed) { EXPECT_EQ(cudaFree(nullptr), cudaSuccess); }

TEST_F(RuntimeMemory, FreedTwice) {
  void* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, kBytes), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, FreedInTheMiddle) {
  EXPECT_EQ(cudaFree(inside(device_memory(kBytes), 256)), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, FreeOfPageableMemory) {
  EXPECT_EQ(cudaFree(pageable_memory), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, FreeOfPinnedMemory) {
  EXPECT_EQ(cudaFree(pinned_memory(kBytes)), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, WhatIsFreeBecomesLess) {
  size_t before = 0, after = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  EXPECT_LE(before, total);
  device_memory(size_t{64} << 20);
  EXPECT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_GE(before - after, size_t{64} << 20);
}

// ---- Memory of the host.

TEST_F(RuntimeMemory, HostAllocWithUnknownFlags) {
  void* data = nullptr;
  EXPECT_EQ(cudaHostAlloc(&data, kBytes, kNoFlag), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, HostAllocOfNothing) {
  void* data = pageable_memory;
  EXPECT_EQ(cudaHostAlloc(&data, 0, cudaHostAllocDefault), cudaSuccess);
  EXPECT_EQ(data, nullptr);
}

TEST_F(RuntimeMemory, NullIsFreedOnTheHost) { EXPECT_EQ(cudaFreeHost(nullptr), cudaSuccess); }

TEST_F(RuntimeMemory, HostMemoryFreedTwice) {
  void* data = nullptr;
  ASSERT_EQ(cudaHostAlloc(&data, kBytes, cudaHostAllocDefault), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(data), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(data), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, HostMemoryFreedInTheMiddle) {
  EXPECT_EQ(cudaFreeHost(inside(pinned_memory(kBytes), 256)), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, FreeHostOfDeviceMemory) {
  EXPECT_EQ(cudaFreeHost(device_memory(kBytes)), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, FreeHostOfPageableMemory) {
  EXPECT_EQ(cudaFreeHost(pageable_memory), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, FreeHostOfRegisteredMemory) {
  ASSERT_EQ(cudaHostRegister(pageable_memory, kBytes, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pageable_memory), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostUnregister(pageable_memory), cudaSuccess);
}

TEST_F(RuntimeMemory, NullIsRegistered) {
  EXPECT_EQ(cudaHostRegister(nullptr, kBytes, cudaHostRegisterDefault), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, NothingIsRegistered) {
  EXPECT_EQ(cudaHostRegister(pageable_memory, 0, cudaHostRegisterDefault), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, RegisterWithUnknownFlags) {
  EXPECT_EQ(cudaHostRegister(pageable_memory, kBytes, kNoFlag), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, RegisterOfDeviceMemory) {
  EXPECT_EQ(cudaHostRegister(device_memory(kBytes), kBytes, cudaHostRegisterDefault),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, RegisteredTwice) {
  ASSERT_EQ(cudaHostRegister(pageable_memory, kBytes, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(pageable_memory, kBytes, cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostUnregister(pageable_memory), cudaSuccess);
}

TEST_F(RuntimeMemory, RegisteredInPart) {
  ASSERT_EQ(cudaHostRegister(pageable_memory, kBytes, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(pageable_memory, 2 * kBytes, cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostUnregister(pageable_memory), cudaSuccess);
}

TEST_F(RuntimeMemory, RegisterOfPinnedMemory) {
  EXPECT_EQ(cudaHostRegister(pinned_memory(kBytes), kBytes, cudaHostRegisterDefault),
            cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, UnregisterOfPageableMemory) {
  EXPECT_EQ(cudaHostUnregister(pageable_memory), cudaErrorHostMemoryNotRegistered);
}

TEST_F(RuntimeMemory, UnregisteredTwice) {
  ASSERT_EQ(cudaHostRegister(pageable_memory, kBytes, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(pageable_memory), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(pageable_memory), cudaErrorHostMemoryNotRegistered);
}

TEST_F(RuntimeMemory, UnregisteredInTheMiddle) {
  ASSERT_EQ(cudaHostRegister(pageable_memory, kBytes, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(pageable_memory + 256), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostUnregister(pageable_memory), cudaSuccess);
}

TEST_F(RuntimeMemory, UnregisterOfPinnedMemory) {
  EXPECT_EQ(cudaHostUnregister(pinned_memory(kBytes)), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, UnregisterOfNull) {
  EXPECT_EQ(cudaHostUnregister(nullptr), cudaErrorInvalidValue);
}

// ---- What a pointer is.

TEST_F(RuntimePointers, OfDeviceMemory) {
  const void* const data = inside(device_memory(kBytes), 256);
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, data), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  EXPECT_EQ(attributes.devicePointer, data);
  EXPECT_EQ(attributes.hostPointer, nullptr);
}

TEST_F(RuntimePointers, OfAnotherDevicesMemory) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  cudaSetDevice(1);
  const void* const data = device_memory(kBytes);
  cudaSetDevice(0);
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, data), cudaSuccess);
  EXPECT_EQ(attributes.device, 1);
}

TEST_F(RuntimePointers, OfPinnedMemory) {
  const void* const data = pinned_memory(kBytes);
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, data), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.device, 0);
  EXPECT_EQ(attributes.devicePointer, data);
  EXPECT_EQ(attributes.hostPointer, data);
}

TEST_F(RuntimePointers, OfRegisteredMemory) {
  ASSERT_EQ(cudaHostRegister(pageable_memory, kBytes, cudaHostRegisterDefault), cudaSuccess);
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, pageable_memory), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(cudaHostUnregister(pageable_memory), cudaSuccess);
}

TEST_F(RuntimePointers, OfPageableMemory) {
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, pageable_memory), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

TEST_F(RuntimePointers, PageableMemoryIsNoDevices) {
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, pageable_memory), cudaSuccess);
  EXPECT_EQ(attributes.device, -2);
  EXPECT_EQ(attributes.devicePointer, nullptr);
  EXPECT_EQ(attributes.hostPointer, pageable_memory);
}

TEST_F(RuntimePointers, OfFreedMemory) {
  void* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, kBytes), cudaSuccess);
  ASSERT_EQ(cudaFree(data), cudaSuccess);
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, data), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

// ---- Copies.

TEST_F(RuntimeCopies, OfNothing) {
  EXPECT_EQ(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyDefault, new_stream()), cudaSuccess);
}

TEST_F(RuntimeCopies, TheDirectionIsFoundByThePointers) {
  void *const there = device_memory(kBytes), *const here = pinned_memory(kBytes);
  const cudaStream_t stream = new_stream();
  EXPECT_EQ(cudaMemcpyAsync(there, here, kBytes, cudaMemcpyDefault, stream), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(here, there, kBytes, cudaMemcpyDefault, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
}

TEST_F(RuntimeCopies, ToTheHostSaidToBeToTheDevice) {
  stricter_in_own_process(cudaErrorInvalidMemcpyDirection, [&] {
    void *const from = device_memory(kBytes), *const to = pinned_memory(kBytes);
    return cudaMemcpyAsync(to, from, kBytes, cudaMemcpyHostToDevice, nullptr);
  });
}

TEST_F(RuntimeCopies, ToTheDeviceSaidToBeToTheHost) {
  stricter_in_own_process(cudaErrorInvalidMemcpyDirection, [&] {
    void *const to = device_memory(kBytes), *const from = pinned_memory(kBytes);
    return cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToHost, nullptr);
  });
}

TEST_F(RuntimeCopies, OnTheDeviceSaidToBeFromTheHost) {
  stricter_in_own_process(cudaErrorInvalidMemcpyDirection, [&] {
    void *const to = device_memory(kBytes), *const from = device_memory(kBytes);
    EXPECT_EQ(cudaMemsetAsync(from, 0, kBytes, nullptr), cudaSuccess);
    return cudaMemcpyAsync(to, from, kBytes, cudaMemcpyHostToDevice, nullptr);
  });
}

TEST_F(RuntimeCopies, OnTheHostSaidToBeToTheDevice) {
  in_own_process(cudaErrorInvalidValue, [&] {
    return cudaMemcpyAsync(pageable_memory, pageable_memory + kBytes, kBytes,
                           cudaMemcpyHostToDevice, nullptr);
  });
}

TEST_F(RuntimeCopies, ToPageableMemorySaidToBeOnTheDevice) {
  in_own_process(cudaErrorInvalidValue, [&] {
    void* const from = device_memory(kBytes);
    EXPECT_EQ(cudaMemsetAsync(from, 0, kBytes, nullptr), cudaSuccess);
    return cudaMemcpyAsync(pageable_memory, from, kBytes, cudaMemcpyDeviceToDevice, nullptr);
  });
}

TEST_F(RuntimeCopies, ToNull) {
  in_own_process(cudaErrorInvalidValue, [&] {
    return cudaMemcpyAsync(nullptr, pageable_memory, kBytes, cudaMemcpyHostToDevice, nullptr);
  });
}

TEST_F(RuntimeCopies, PastTheEndOfAnAllocation) {
  in_own_process(cudaErrorInvalidValue, [&] {
    void* const to = device_memory(kBytes);
    return cudaMemcpyAsync(to, pageable_memory, kBytes + 1, cudaMemcpyHostToDevice, nullptr);
  });
}

TEST_F(RuntimeCopies, ToFreedMemory) {
  in_own_process(cudaErrorInvalidValue, [&] {
    void* data = nullptr;
    cudaMalloc(&data, kBytes);
    cudaFree(data);
    return cudaMemcpyAsync(data, pageable_memory, kBytes, cudaMemcpyHostToDevice, nullptr);
  });
}

TEST_F(RuntimeCopies, OfRangesThatOverlap) {
  char* const data = static_cast<char*>(device_memory(kBytes));
  ASSERT_EQ(cudaMemsetAsync(data, 0, kBytes, nullptr), cudaSuccess);
  stricter(cudaMemcpyAsync(data + 256, data, 1024, cudaMemcpyDeviceToDevice, nullptr),
           cudaErrorInvalidValue);
}

TEST_F(RuntimeCopies, BetweenPeersThatAreOne) {
  void *const to = device_memory(kBytes), *const from = device_memory(kBytes);
  ASSERT_EQ(cudaMemsetAsync(from, 0, kBytes, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemcpyPeerAsync(to, 0, from, 0, kBytes, nullptr), cudaSuccess);
}

TEST_F(RuntimeCopies, BetweenPeersOfWhichOneIsNone) {
  void *const to = device_memory(kBytes), *const from = device_memory(kBytes);
  EXPECT_EQ(cudaMemcpyPeerAsync(to, devices(), from, 0, kBytes, nullptr), cudaErrorInvalidDevice);
}

TEST_F(RuntimeCopies, BetweenPeersThatAreNotThePointers) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  void *const to = device_memory(kBytes), *const from = device_memory(kBytes);
  EXPECT_EQ(cudaMemcpyPeerAsync(to, 1, from, 0, kBytes, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeCopies, MemsetOfNothing) {
  EXPECT_EQ(cudaMemsetAsync(nullptr, 0, 0, nullptr), cudaSuccess);
}

TEST_F(RuntimeCopies, MemsetOfPinnedMemory) {
  EXPECT_EQ(cudaMemsetAsync(pinned_memory(kBytes), 0, kBytes, nullptr), cudaSuccess);
}

TEST_F(RuntimeCopies, MemsetOfPageableMemory) {
  in_own_process(cudaErrorInvalidValue,
                 [&] { return cudaMemsetAsync(pageable_memory, 0, kBytes, nullptr); });
}

TEST_F(RuntimeCopies, MemsetPastTheEndOfAnAllocation) {
  in_own_process(cudaErrorInvalidValue,
                 [&] { return cudaMemsetAsync(device_memory(kBytes), 0, kBytes + 1, nullptr); });
}

TEST_F(RuntimeCopies, MemsetOfFreedMemory) {
  in_own_process(cudaErrorInvalidValue, [&] {
    void* data = nullptr;
    cudaMalloc(&data, kBytes);
    cudaFree(data);
    return cudaMemsetAsync(data, 0, kBytes, nullptr);
  });
}

}  // namespace aorta::rules
