// Bugs in the order of work, in memory's lifetime and in arguments. The numbers are those of the
// list of cases in README.md.
#include <aorta/tests/cuda/emulated/planted.h>

#include <sys/mman.h>

#include <algorithm>
#include <thread>

namespace aorta::emulated {
namespace {

using PlantedStreams = Planted;

}  // namespace

// 1: a block that another stream still uses is given out again.
TEST_F(PlantedStreams, MemoryReusedWhileAnotherStreamReadsIt) {
  waits_are_missed([](bool waits) {
    float* block = on_device(std::vector<float>(64, 1));
    float* out = on_device(std::vector<float>(64));
    const cudaStream_t a = new_stream(), b = new_stream();
    start(add_to, 1, 32, b, static_cast<const float*>(block), out, 64);
    if (waits) order(b, a);
    start(set_all, 1, 32, a, block, 64, 5.0f);  // the next owner's
    cudaStreamSynchronize(a);
    return on_host(out, 64);
  });
  EXPECT_EQ(found(), "");
}

// 2: page-locked memory is written again while a copy from it is queued.
TEST_F(PlantedStreams, PinnedMemoryReusedWhileACopyReadsIt) {
  waits_are_missed([](bool waits) {
    void* pinned = nullptr;
    cudaHostAlloc(&pinned, 256, cudaHostAllocPortable);
    std::fill_n(static_cast<float*>(pinned), 64, 1.0f);
    float* out = on_device(std::vector<float>(64));
    const cudaStream_t stream = new_stream();
    cudaMemcpyAsync(out, pinned, 256, cudaMemcpyHostToDevice, stream);
    if (waits) cudaStreamSynchronize(stream);
    std::fill_n(static_cast<float*>(pinned), 64, 2.0f);
    const auto result = on_host(out, 64);
    cudaFreeHost(pinned);
    return result;
  });
}

// 3: one host thread puts a block among the free ones and records afterwards what still uses it;
// another takes it in between, and waits for an event that says nothing.
TEST_F(PlantedStreams, FreeBeforeItsEventIsRecorded) {
  waits_are_missed([](bool waits) {
    float* block = on_device(std::vector<float>(64, 1));
    float* out = on_device(std::vector<float>(64));
    const cudaStream_t giver = new_stream(), taker = new_stream();
    const cudaEvent_t used = new_event();
    start(add_to, 1, 32, giver, static_cast<const float*>(block), out, 64);
    const auto give = [&] { cudaEventRecord(used, giver); };
    if (waits) std::thread(give).join();
    std::thread([&] {
      cudaStreamWaitEvent(taker, used, 0);
      start(set_all, 1, 32, taker, block, 64, 5.0f);
      cudaStreamSynchronize(taker);
    }).join();
    if (!waits) std::thread(give).join();
    return on_host(out, 64);
  });
}

// 4, 6: an event of one device recorded on another's stream, as pools and cleaning up have it when
// another device is current.
TEST_F(PlantedStreams, EventsOfAnotherDevice) {
  const cudaStream_t stream = new_stream();
  cudaSetDevice(1);
  const cudaEvent_t foreign = new_event();
  EXPECT_EQ(cudaEventRecord(foreign, stream), cudaErrorInvalidResourceHandle);
  EXPECT_TRUE(finds("event and stream are of one device"));
  cudaSetDevice(0);
  const cudaEvent_t own = new_event();
  cudaSetDevice(1);
  EXPECT_EQ(cudaEventRecord(own, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(new_stream(), own, 0), cudaSuccess) << "devices may wait";
  EXPECT_EQ(found(), "");
}

// Time between events that don't measure it, that nobody recorded, or of two devices.
TEST_F(PlantedStreams, TimeBetweenEventsThatHaveNone) {
  const auto timer = [] {
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDefault), cudaSuccess);
    return event;
  };
  const cudaStream_t stream = new_stream();
  const cudaEvent_t untimed = new_event(), start = timer(), end = timer();
  float milliseconds = -1;
  cudaEventRecord(untimed, stream);
  cudaEventRecord(start, stream);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);
  EXPECT_TRUE(finds("both events were made to measure time"));
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
  EXPECT_TRUE(finds("both events were recorded, outside of captures"));
  cudaSetDevice(1);
  const cudaEvent_t foreign = timer();
  cudaEventRecord(foreign, new_stream());
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, foreign), cudaErrorInvalidResourceHandle);
  EXPECT_TRUE(finds("both events are of one device"));
  cudaSetDevice(0);
  float* const data = on_device(std::vector<float>(64));
  cudaEventRecord(start, stream);
  emulated::start(set_all, 1, 32, stream, data, 64, 5.0f);
  cudaEventRecord(end, stream);
  cudaEventSynchronize(end);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
  EXPECT_GT(milliseconds, 0);
  float back = 0;
  EXPECT_EQ(cudaEventElapsedTime(&back, end, start), cudaSuccess);
  EXPECT_EQ(back, -milliseconds);
  EXPECT_EQ(found(), "");
}

// 5: the destination of another device's copy is freed before the copy is done.
TEST_F(PlantedStreams, FreedWhileAPeerCopiesIntoIt) {
  for (const bool waits : {false, true}) {
    cudaSetDevice(1);
    float* to = on_device(std::vector<float>(64));
    cudaSetDevice(0);
    const float* from = on_device(std::vector<float>(64, 1));
    const cudaStream_t stream = new_stream();
    cudaMemcpyPeerAsync(to, 1, from, 0, 256, stream);
    if (waits) cudaStreamSynchronize(stream);
    cudaFree(to);
    cudaStreamSynchronize(stream);
    if (waits) {
      EXPECT_EQ(found(), "");
    } else {
      EXPECT_TRUE(finds("freed memory of cuda:1"));
    }
  }
}

// 7: work is recorded on a stream that is no more.
TEST_F(PlantedStreams, DestroyedStreamsAndEvents) {
  const cudaStream_t stream = new_stream();
  const cudaEvent_t event = new_event();
  cudaEventRecord(event, stream);
  cudaStreamDestroy(stream);
  EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess) << "its work is still done";
  EXPECT_EQ(found(), "");
  EXPECT_EQ(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle);
  EXPECT_TRUE(finds("the stream must be one that was made and not destroyed"));
  cudaEventDestroy(event);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorInvalidResourceHandle);
  EXPECT_TRUE(finds("the event must be one that was made and not destroyed"));
}

// 13: the host reads what nobody waited for.
TEST_F(PlantedStreams, ReadBeforeItIsDone) {
  waits_are_missed([](bool waits) {
    const float* from = on_device(std::vector<float>(64, 1));
    std::vector<float> result(64, -1);
    const cudaStream_t stream = new_stream();
    cudaMemcpyAsync(result.data(), from, 256, cudaMemcpyDeviceToHost, stream);
    if (waits) cudaStreamSynchronize(stream);
    std::vector<float> read;
    for (float value : result) read.push_back(value);
    cudaStreamSynchronize(stream);
    return read;
  });
}

// 14: a stream that doesn't wait for stream 0.
TEST_F(PlantedStreams, NonBlockingStreamsAndStreamZero) {
  waits_are_missed([](bool waits) {
    float* data = on_device(std::vector<float>(64));
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, waits ? cudaStreamDefault : cudaStreamNonBlocking);
    start(set_all, 1, 32, nullptr, data, 64, 3.0f);
    std::vector<float> result(64);
    cudaMemcpyAsync(result.data(), data, 256, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    return result;
  });
}

// A stream that another's event would order, without the wait.
TEST_F(PlantedStreams, StreamsWithoutAnEventBetweenThem) {
  waits_are_missed([](bool waits) {
    float* data = on_device(std::vector<float>(64));
    float* out = on_device(std::vector<float>(64));
    const cudaStream_t first = new_stream(), second = new_stream();
    start(set_all, 1, 32, first, data, 64, 3.0f);
    if (waits) order(first, second);
    start(add_to, 1, 32, second, static_cast<const float*>(data), out, 64);
    cudaStreamSynchronize(second);
    return on_host(out, 64);
  });
}

// A wait stands for the last record before it: one that comes first waits for nothing.
TEST_F(PlantedStreams, AWaitBeforeItsRecord) {
  waits_are_missed([](bool waits) {
    float* data = on_device(std::vector<float>(64));
    float* out = on_device(std::vector<float>(64));
    const cudaStream_t first = new_stream(), second = new_stream();
    const cudaEvent_t event = new_event();
    start(set_all, 1, 32, first, data, 64, 3.0f);
    if (waits) cudaEventRecord(event, first);
    cudaStreamWaitEvent(second, event, 0);
    start(add_to, 1, 32, second, static_cast<const float*>(data), out, 64);
    if (!waits) cudaEventRecord(event, first);
    cudaStreamSynchronize(second);
    return on_host(out, 64);
  });
}

// 20: copies and registrations of nothing.
TEST_F(PlantedStreams, NothingIsCopiedOrRegistered) {
  EXPECT_EQ(cudaMemcpyAsync(nullptr, nullptr, 0, cudaMemcpyDefault, nullptr), cudaSuccess);
  EXPECT_EQ(found(), "");
  char byte = 0;
  EXPECT_EQ(cudaHostRegister(&byte, 0, cudaHostRegisterPortable), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("host memory of at least a byte"));
}

// 23: the error that an earlier call left is blamed on the next launch.
TEST_F(PlantedStreams, ErrorsLeftBehind) {
  float* data = on_device(std::vector<float>(64));
  EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
  EXPECT_TRUE(finds("the device must exist"));
  EXPECT_EQ(start(set_all, 1, 32, nullptr, data, 64, 1.0f), cudaSuccess) << "the launch's own";
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice) << "who asks here, blames the launch";
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// A fault of queued work comes with a later call, and stays.
TEST_F(PlantedStreams, FaultsStay) {
  float* freed = on_device(std::vector<float>(64));
  EXPECT_EQ(cudaMemsetAsync(freed, 0, 256, nullptr), cudaSuccess);
  cudaFree(freed);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, 16), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress) << "it isn't cleared";
  EXPECT_TRUE(finds("the range is allocated when the call has its turn"));
}

TEST_F(PlantedStreams, FreedTwiceOrByTheWrongCall) {
  float* data = on_device(std::vector<float>(64));
  EXPECT_EQ(cudaFree(data + 1), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("the pointer is one that cudaMalloc gave"));
  EXPECT_EQ(cudaFreeHost(data), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("the pointer is one that cudaHostAlloc gave"));
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("freed memory of cuda:0, 0 bytes into a block of 256"));
}

TEST_F(PlantedStreams, RegisteredInPartOrTwice) {
  std::vector<char> data(4096);
  EXPECT_EQ(cudaHostRegister(data.data(), 2048, cudaHostRegisterPortable), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(data.data() + 1024, 2048, cudaHostRegisterPortable),
            cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_TRUE(finds("no part of the range is page-locked already"));
  float* to = on_device(std::vector<float>(1024));
  EXPECT_EQ(cudaMemcpyAsync(to, data.data() + 1024, 2048, cudaMemcpyHostToDevice, nullptr),
            cudaErrorInvalidValue);
  EXPECT_TRUE(finds("2048 bytes of registered memory, 1024 bytes into a block of 2048"));
  std::vector<char> behind(4096);
  EXPECT_EQ(cudaHostRegister(behind.data() + 2048, 2048, cudaHostRegisterPortable), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(to, behind.data(), 4096, cudaMemcpyHostToDevice, nullptr),
            cudaErrorInvalidValue);
  EXPECT_TRUE(finds("memory that is registered in part"));
  EXPECT_EQ(cudaHostUnregister(behind.data() + 2048), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(data.data() + 1), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("the pointer is the one that was registered"));
  EXPECT_EQ(cudaHostUnregister(data.data()), cudaSuccess);
  EXPECT_EQ(found(), "");
}

// The address space goes while a device may still read it.
TEST_F(PlantedStreams, UnmappedWhileItIsRegistered) {
  for (const bool before : {true, false}) {
    void* data = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    float* to = on_device(std::vector<float>(1024));
    EXPECT_EQ(cudaHostRegister(data, 4096, cudaHostRegisterPortable), cudaSuccess);
    cudaMemcpyAsync(to, data, 4096, cudaMemcpyHostToDevice, nullptr);
    if (before) {
      munmap(data, 4096);
      EXPECT_TRUE(
          finds("registered memory, 0 bytes into a block of 4096 that is no longer mapped"));
    } else {
      EXPECT_EQ(found(), "");
      munmap(data, 4096);
    }
    EXPECT_EQ(cudaHostUnregister(data), cudaSuccess);
    EXPECT_TRUE(finds("memory stays mapped until it is unregistered"));
  }
}

TEST_F(PlantedStreams, FlagsAndDevicesThatAreNone) {
  void* data = nullptr;
  char byte = 0;
  int value = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  const char* const flags = "the flags are known";
  EXPECT_EQ(cudaHostAlloc(&data, 16, 8), cudaErrorInvalidValue);
  EXPECT_TRUE(finds(flags));
  EXPECT_EQ(cudaHostRegister(&byte, 1, 8), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("host memory of at least a byte, and known flags"));
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, 8), cudaErrorInvalidValue);
  EXPECT_TRUE(finds(flags));
  EXPECT_EQ(cudaEventCreateWithFlags(&event, 8), cudaErrorInvalidValue);
  EXPECT_TRUE(finds(flags));
  EXPECT_EQ(cudaStreamWaitEvent(new_stream(), new_event(), 8), cudaErrorInvalidValue);
  EXPECT_TRUE(finds(flags));
  EXPECT_EQ(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_TRUE(finds("stream 0 stays"));
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 9),
            cudaErrorInvalidDevice);
  EXPECT_TRUE(finds("the device and the attribute must exist"));
  for (const int peer : {0, 9}) {
    EXPECT_EQ(cudaDeviceEnablePeerAccess(peer, 0),
              peer == 0 ? cudaErrorPeerAccessUnsupported : cudaErrorInvalidDevice);
    EXPECT_TRUE(finds("the peer is another device, and flags are 0"));
  }
}

TEST_F(PlantedStreams, MemoryThatCallsDoNotFind) {
  float* data = on_device(std::vector<float>(64));
  cudaPointerAttributes attributes;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, data), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(data, 0, 257, nullptr), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("the range lies in one allocation that the device may touch"));
  EXPECT_EQ(cudaMemcpyPeerAsync(data, 9, data, 0, 4, nullptr), cudaErrorInvalidDevice);
  EXPECT_TRUE(finds("the devices exist, got 9, 0"));
  EXPECT_EQ(cudaMemcpyPeerAsync(data, 1, data, 0, 4, nullptr), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("each pointer is the named device's"));
  cudaFree(data);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, data), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered) << "CUDA doesn't know it any more";
  if (!checks_accesses) return;  // what is written isn't noted then
  void* unwritten = nullptr;
  float host = 0;
  cudaMalloc(&unwritten, 4);
  cudaMemcpyAsync(&host, unwritten, 4, cudaMemcpyDeviceToHost, nullptr);
  EXPECT_TRUE(
      finds("both ranges lie in memory that is allocated and, where it is read, written, got from "
            "bytes never written"));
}

TEST_F(PlantedStreams, CopiesThatOverlapOrPointTheWrongWay) {
  float* data = on_device(std::vector<float>(64));
  cudaMemcpyAsync(data + 1, data, 128, cudaMemcpyDeviceToDevice, nullptr);
  EXPECT_TRUE(finds("the two ranges may not overlap"));
  cudaMemcpyAsync(data, data + 32, 128, cudaMemcpyHostToDevice, nullptr);
  EXPECT_TRUE(finds("the direction suits both pointers"));
  cudaMemcpyAsync(data, data + 32, 256, cudaMemcpyDefault, nullptr);
  EXPECT_TRUE(finds("each range lies in one allocation"));
}

}  // namespace aorta::emulated
