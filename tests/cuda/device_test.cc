// Memory, copies, streams and events on a GPU.
#include <aorta/tests/cuda/gpu.h>

#include <cstdlib>

using namespace aorta;
using gpu_test::random_values;

namespace {

using CudaDevice = gpu_test::Gpu;

std::vector<double> values_of(const Tensor& t) { return t.to_vector<double>(); }

}  // namespace

TEST_F(CudaDevice, CopiesThereAndBack) {
  for (int64_t n : {1, 7, 1000, 1 << 20}) {
    const Tensor x = random_values({n}, f32, 1, false);
    const Tensor y = x.cuda();
    EXPECT_TRUE(y.is_cuda());
    EXPECT_EQ(values_of(y), values_of(x));
    EXPECT_EQ(values_of(y.to(f64)), values_of(x));
  }
  EXPECT_EQ(empty({0, 3}, {.device = "cuda"}).cpu().shape(), Shape({0, 3}));
}

// What a thread knows of a device stays as it is while kernels run there.
TEST_F(CudaDevice, TheCurrentStreamStaysWhileKernelsRun) {
  const Stream before = device().current_stream(0), side = device().create_stream(0);
  device().set_current_stream(side);
  const Tensor x = ones({1000}, {.device = "cuda:0"}).to(f64);
  EXPECT_EQ(values_of(x), std::vector<double>(1000, 1));
  EXPECT_EQ(device().current_stream(0).handle, side.handle);
  device().set_current_stream(before);
  device().destroy_stream(side);
}

TEST_F(CudaDevice, ConvertsEveryPairOfDtypesAsTheCpuDoes) {
  const DType dtypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean};
  for (DType from : dtypes) {
    const Tensor x = random_values({3, 1031}, from, 5, false);
    const Tensor on_gpu = x.cuda();
    for (DType to : dtypes) {
      if (is_floating(from) && to == u8) continue;  // negative to unsigned: not specified
      SCOPED_TRACE(std::string(name(from)) + " to " + name(to));
      EXPECT_EQ(values_of(on_gpu.to(to)), values_of(x.to(to)));
      EXPECT_EQ(values_of(on_gpu.slice(1, 0, 1031, 3).to(to)),
                values_of(x.slice(1, 0, 1031, 3).to(to)));
    }
  }
}

TEST_F(CudaDevice, CopiesEveryLayout) {
  for (DType dtype : {u8, f16, f32, f64}) {
    const Tensor x = random_values({5, 37, 65}, dtype, 9, false);
    const Tensor y = x.cuda();
    for (const Dims& order : {Dims{0, 2, 1}, Dims{2, 1, 0}, Dims{1, 0, 2}, Dims{2, 0, 1}}) {
      const Tensor wanted = x.permute(order).contiguous();
      gpu_test::poison(wanted.nbytes());
      EXPECT_EQ(values_of(y.permute(order).contiguous()), values_of(wanted)) << to_string(order);
    }
    EXPECT_EQ(values_of(y.slice(2, 1, 64, 3).contiguous()), values_of(x.slice(2, 1, 64, 3)));
    const Tensor row = y.select(0, 1).select(0, 0);
    EXPECT_EQ(values_of(row.expand({4, 65}).contiguous()),
              values_of(x.select(0, 1).select(0, 0).expand({4, 65})));
  }
}

TEST_F(CudaDevice, FillsEveryLayout) {
  for (DType dtype : {f32, f64, f16, i64, u8, boolean}) {
    for (int64_t offset : {0, 1, 3}) {
      const Tensor x = zeros({1003}, {.dtype = dtype, .device = "cuda"});
      x.narrow(0, offset, 900).fill_(1);
      x.slice(0, 950, 1003, 7).fill_(1);
      const Tensor y = zeros({1003}, {.dtype = dtype});
      y.narrow(0, offset, 900).fill_(1);
      y.slice(0, 950, 1003, 7).fill_(1);
      EXPECT_EQ(values_of(x), values_of(y)) << name(dtype) << " from " << offset;
    }
  }
}

TEST_F(CudaDevice, PinnedCopiesDoNotWait) {
  const Tensor pinned = random_values({1 << 20}, f32, 2, false).pin_memory();
  EXPECT_TRUE(pinned.is_pinned());
  const Tensor there = pinned.to(Device("cuda"), true);
  const Tensor back(Storage::allocate_pinned(there.nbytes()), f32, there.shape(), {1});
  back.copy_(there, true);
  synchronize("cuda:0");
  EXPECT_EQ(values_of(back), values_of(pinned));
}

// A pinned tensor that is freed while its copy runs isn't given out again before the copy is done.
TEST_F(CudaDevice, PinnedMemoryRestsWhileItIsRead) {
  const int64_t n = 16 << 20;
  const Tensor wanted = full({n}, 1.0);
  Tensor there;
  {
    const Tensor first = wanted.pin_memory();
    there = first.to(Device("cuda"), true);
  }
  const Tensor second(Storage::allocate_pinned(n * 4), f32, {n}, {1});
  second.fill_(2.0);
  EXPECT_EQ(there.cpu().at<float>({n - 1}), 1.0f);
  EXPECT_EQ(there.cpu().at<float>({0}), 1.0f);
}

TEST_F(CudaDevice, NonBlockingWithoutPinnedMemoryIsCorrect) {
  Tensor x = full({1 << 20}, 3.0);
  const Tensor y = x.to(Device("cuda"), true);
  x.fill_(4.0);
  EXPECT_EQ(y.cpu().at<float>({(1 << 20) - 1}), 3.0f);
}

TEST_F(CudaDevice, RegisteredHostMemoryIsPageLocked) {
  const int64_t bytes = 1 << 20;
  void* data = std::aligned_alloc(4096, bytes);
  std::memset(data, 7, bytes);
  device().register_host(data, bytes);
  const Tensor x = from_blob(data, {bytes}, {.dtype = u8});
  const Tensor y = x.to(Device("cuda"), true);
  synchronize("cuda:0");
  device().unregister_host(data);
  EXPECT_EQ(y.cpu().at<uint8_t>({bytes - 1}), 7);
  std::free(data);
}

TEST_F(CudaDevice, EventsOrderStreams) {
  DeviceBackend& gpu = device();
  const Stream side = gpu.create_stream(0);
  const Event ready = gpu.create_event(0);
  const int64_t n = gpu_test::elements_that_take_long();
  for (int round = 0; round < 2; ++round) {
    const Tensor x = zeros({n}, {.device = "cuda"});
    x.fill_(static_cast<double>(round + 1));
    gpu.record_event(ready, gpu.current_stream(0));
    gpu.wait_event(ready, side);
    gpu.record_stream(x.storage()->data(), side);
    gpu.set_current_stream(side);
    const Tensor y = x.clone();
    gpu.synchronize_stream(side);
    gpu.set_current_stream({Device("cuda:0"), nullptr});
    EXPECT_EQ(y.cpu().at<float>({n - 1}), static_cast<float>(round + 1));
    EXPECT_EQ(y.cpu().at<float>({0}), static_cast<float>(round + 1));
  }
  EXPECT_TRUE(gpu.event_done(ready));
  gpu.destroy_event(ready);
  gpu.destroy_stream(side);
}

TEST_F(CudaDevice, MemoryIsReusedAndCounted) {
  DeviceBackend& gpu = device();
  gpu.empty_cache();
  const int64_t before = gpu.memory_stats(0).bytes_in_use;
  void* first = nullptr;
  {
    const Tensor x = empty({1 << 22}, {.device = "cuda"});
    first = x.data();
    EXPECT_EQ(gpu.memory_stats(0).bytes_in_use - before, 16 << 20);
  }
  EXPECT_EQ(gpu.memory_stats(0).bytes_in_use, before);
  const int64_t calls = gpu.memory_stats(0).system_calls;
  EXPECT_EQ(empty({1 << 22}, {.device = "cuda"}).data(), first);
  EXPECT_EQ(gpu.memory_stats(0).system_calls, calls);
  gpu.empty_cache();
  EXPECT_EQ(gpu.memory_stats(0).bytes_cached, 0);
}

// Work on a freed block may still be queued on the block's own stream, or on another device's.
TEST_F(CudaDevice, MemoryIsGivenBackWhenItsWorkIsDone) {
  DeviceBackend& gpu = device();
  const Tensor ones_there = ones({1 << 20}, {.device = "cuda"});
  {
    const Tensor x = ones_there.clone();
    x.fill_(2.0);
  }
  gpu.empty_cache();
  synchronize("cuda:0");
  EXPECT_EQ(ones_there.cpu().at<float>({0}), 1.0f);
  if (cuda::device_count() < 2) return;
  ones_there.cuda(1);  // freed while cuda:0 may still write to it
  gpu.empty_cache();
  synchronize("cuda:0");
  synchronize("cuda:1");
}

TEST_F(CudaDevice, OutOfMemoryIsOneClearError) {
  try {
    const Tensor x = empty({int64_t{1} << 42}, {.dtype = u8, .device = "cuda"});
    FAIL() << "4 TiB were there";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("allocate: cuda:0 has no more memory, got 4.00 TiB wanted, ", 0), 0u)
        << text;
  }
  EXPECT_EQ(ones({3}, {.device = "cuda"}).cpu().at<float>({2}), 1.0f) << "life goes on";
}

TEST_F(CudaDevice, MissingDeviceIsAnError) {
  const int count = cuda::device_count();
  EXPECT_THROW(empty({1}, {.device = Device(DeviceType::cuda, count)}), Error);
}

TEST_F(CudaDevice, CopiesBetweenGpus) {
  if (cuda::device_count() < 2) GTEST_SKIP() << "one GPU";
  const Tensor x = random_values({1 << 20}, f32, 3, false);
  const Tensor y = x.cuda(0).cuda(1);
  EXPECT_EQ(y.device().index, 1);
  EXPECT_EQ(values_of(y), values_of(x));
}

TEST_F(CudaDevice, WithoutAnIndexItIsTheCurrentOne) {
  const Device last(DeviceType::cuda, cuda::device_count() - 1);
  const DeviceGuard guard(last);
  EXPECT_EQ(Device(DeviceType::cuda), last);
  EXPECT_EQ(Device("cuda"), last);
  EXPECT_EQ(ones({3}).cuda().device(), last);
}
