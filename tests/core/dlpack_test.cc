#include <aorta/core/dlpack.h>
#include <aorta/core/ops/creation.h>
#include <aorta/tests/core/elements.h>
#include <dlpack/dlpack.h>

#include <cstring>
#include <tuple>

namespace aorta {
namespace {

using namespace elements;

// A producer in plain C terms: counts the calls of its deleter.
struct Producer {
  DLManagedTensor managed{};
  std::vector<int64_t> shape, strides;
  alignas(16) char data[64] = {};
  int deleted = 0;

  Producer(std::vector<int64_t> sizes, int code, int bits) : shape(std::move(sizes)) {
    managed.dl_tensor.data = data;
    managed.dl_tensor.device = {kDLCPU, 0};
    managed.dl_tensor.ndim = static_cast<int>(shape.size());
    managed.dl_tensor.dtype = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
    managed.dl_tensor.shape = shape.data();
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) {
      ++static_cast<Producer*>(self->manager_ctx)->deleted;
    };
  }
  void use(std::vector<int64_t> values) {
    strides = std::move(values);
    managed.dl_tensor.strides = strides.data();
  }
};

TEST(FromDlpack, SharesMemoryAndCallsTheDeleterOnce) {
  Producer producer({2, 3}, kDLFloat, 32);
  float values[] = {1, 2, 3, 4, 5, 6};
  std::memcpy(producer.data, values, sizeof values);
  {
    const Tensor x = from_dlpack(&producer.managed);
    EXPECT_EQ(x.data(), producer.data);
    expect_values(x, {2, 3}, {1, 2, 3, 4, 5, 6});
    x.at<float>({1, 2}) = 9;
    const Tensor row = x[1];
    EXPECT_EQ(reinterpret_cast<float*>(producer.data)[5], 9);
    EXPECT_EQ(producer.deleted, 0);
  }
  EXPECT_EQ(producer.deleted, 1);
}

TEST(FromDlpack, TakesStridesOffsetsAndNoDeleter) {
  Producer producer({2, 2}, kDLInt, 32);
  const int32_t values[] = {0, 1, 2, 3, 4, 5, 6, 7};
  std::memcpy(producer.data, values, sizeof values);
  producer.use({1, 3});
  producer.managed.dl_tensor.byte_offset = 8;
  producer.managed.deleter = nullptr;
  expect_values(from_dlpack(&producer.managed), {2, 2}, {2, 5, 3, 6});
  // Strides along a dimension of size 1 mean nothing.
  Producer one({1, 2}, kDLInt, 64);
  one.use({-7, 1});
  expect_values(from_dlpack(&one.managed), {1, 2}, {0, 0});
  Producer nothing({0, 2}, kDLFloat, 64);
  nothing.managed.dl_tensor.data = nullptr;
  EXPECT_EQ(from_dlpack(&nothing.managed).numel(), 0);
  Producer scalar({}, kDLUInt, 8);
  scalar.managed.dl_tensor.shape = nullptr;
  EXPECT_EQ(from_dlpack(&scalar.managed).dim(), 0);
}

TEST(FromDlpack, KnowsTheDTypes) {
  const std::tuple<int, int, DType> known[] = {
      {kDLFloat, 16, f16}, {kDLFloat, 32, f32}, {kDLFloat, 64, f64}, {kDLBfloat, 16, bf16},
      {kDLInt, 32, i32},   {kDLInt, 64, i64},   {kDLUInt, 8, u8},    {6, 8, boolean}};
  for (const auto& [code, bits, dtype] : known) {
    Producer producer({2}, code, bits);
    EXPECT_EQ(from_dlpack(&producer.managed).dtype(), dtype);
  }
}

TEST(FromDlpack, RefusesAndLeavesTheTensorToTheCaller) {
  const auto refuse = [](Producer& producer, const std::string& text) {
    expect_error([&] { from_dlpack(&producer.managed); }, text);
    EXPECT_EQ(producer.deleted, 0);
  };
  Producer small({2}, kDLInt, 8);
  refuse(small, "from_dlpack: there must be a dtype for the elements, got code 0, 8 bits, 1 lanes");
  Producer lanes({2}, kDLFloat, 32);
  lanes.managed.dl_tensor.dtype.lanes = 4;
  refuse(lanes,
         "from_dlpack: there must be a dtype for the elements, got code 2, 32 bits, 4 lanes");
  Producer vulkan({2}, kDLFloat, 32);
  vulkan.managed.dl_tensor.device.device_type = kDLVulkan;
  refuse(vulkan, "from_dlpack: the device must be a CPU or a CUDA GPU, got device type 7");
  Producer backwards({2}, kDLFloat, 32);
  backwards.use({-1});
  refuse(backwards,
         "from_dlpack: strides must be from 0 on and inside the memory, got -1 in dimension 0");
  Producer far({3}, kDLFloat, 32);
  far.use({INT64_MAX});
  refuse(far,
         "from_dlpack: strides must be from 0 on and inside the memory, got 9223372036854775807 in "
         "dimension 0");
  Producer odd({2}, kDLFloat, 32);
  odd.managed.dl_tensor.byte_offset = 2;
  refuse(
      odd,
      "from_dlpack: data must be aligned to its elements, got f32 at an address with remainder 2");
  Producer deep(std::vector<int64_t>(13, 1), kDLFloat, 32);
  refuse(deep, "from_dlpack: at most 12 dimensions, got 13");
  Producer negative({-1}, kDLFloat, 32);
  refuse(negative, "from_dlpack: sizes can't be negative, got [-1]");
  Producer huge({INT64_MAX, 2}, kDLFloat, 32);
  refuse(huge, "from_dlpack: the number of bytes must fit in 63 bits, got [9223372036854775807,2]");
  Producer null({2}, kDLFloat, 32);
  null.managed.dl_tensor.data = nullptr;
  refuse(null, "from_dlpack: there must be data, got null for [2]");
  expect_error([] { from_dlpack(nullptr); }, "from_dlpack: there must be a tensor, got null");
}

TEST(ToDlpack, ExportsAViewAndKeepsItAlive) {
  DLManagedTensor* managed = nullptr;
  {
    const Tensor x = arange(12).view({3, 4});
    managed = to_dlpack(x.transpose(0, 1).slice(0, 1, 3));
    EXPECT_EQ(x.storage()->use_count(), 2);
  }
  const DLTensor& t = managed->dl_tensor;
  EXPECT_EQ(t.device.device_type, kDLCPU);
  ASSERT_EQ(t.ndim, 2);
  EXPECT_EQ(t.shape[0], 2);
  EXPECT_EQ(t.shape[1], 3);
  EXPECT_EQ(t.strides[0], 1);
  EXPECT_EQ(t.strides[1], 4);
  EXPECT_EQ(t.dtype.code, kDLInt);
  EXPECT_EQ(t.dtype.bits, 64);
  const int64_t* const first =
      reinterpret_cast<const int64_t*>(static_cast<const char*>(t.data) + t.byte_offset);
  EXPECT_EQ(first[t.strides[0] + 2 * t.strides[1]], 10);
  managed->deleter(managed);
}

TEST(ToDlpack, RoundTripsEveryDType) {
  Dice dice(31);
  for (DType dtype : kAllDTypes) {
    for (Layout layout : kLayouts) {
      const Tensor x = scramble(dice, {3, 4}, dtype, layout);
      const Tensor y = from_dlpack(to_dlpack(x));
      EXPECT_EQ(y.data(), x.data());
      EXPECT_EQ(to_string(y.strides()), to_string(x.strides()));
      // DLPack 0.6 has no bool.
      expect_equal(y, dtype == boolean ? x.to(u8) : x, to_string(dtype));
    }
  }
  EXPECT_EQ(from_dlpack(to_dlpack(ones({2}, {.device = "cpu:1"}))).device(), Device());
  expect_error(
      [] { to_dlpack(ones({2}, {.requires_grad = true})); },
      "to_dlpack: a tensor that requires a gradient can't be exported; detach it first, got [2]");
}

}  // namespace
}  // namespace aorta
