#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

namespace aorta {
namespace {

constexpr DType kDTypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean};

// What a value becomes in a dtype, by the language's and IEEE's rules; half types through float.
double converted(double x, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return static_cast<float>(x);
    case DType::f64:
      return x;
    case DType::f16:
      return float_from_half(half_bits(static_cast<float>(x)));
    case DType::bf16:
      return float_from_bfloat16(bfloat16_bits(static_cast<float>(x)));
    case DType::i64:
    case DType::i32:
      return std::trunc(x);
    case DType::u8: {
      const double whole = std::trunc(x);
      return whole - 256 * std::floor(whole / 256);
    }
    default:
      return x != 0;
  }
}

class CopyPair : public ::testing::TestWithParam<std::tuple<int, int>> {};

// Every pair of dtypes, contiguous and transposed, short and long, onto cpu and cpu:1.
TEST_P(CopyPair, Converts) {
  const DType from = kDTypes[std::get<0>(GetParam())], to = kDTypes[std::get<1>(GetParam())];
  std::vector<double> values;
  for (int i = -40; i < 80; ++i) values.push_back(i * 0.75);
  for (double x : {100.0, -100.0, 200.0, 255.0, 0.0}) values.push_back(x);
  std::vector<double> wanted;
  for (double x : values) wanted.push_back(converted(converted(x, from), to));
  const Tensor source = tensor(values).to(from);
  EXPECT_EQ(source.to(to).to_vector<double>(), wanted);
  const Tensor target = zeros({125}, {.dtype = to});
  target.copy_(source);
  EXPECT_EQ(target.to_vector<double>(), wanted);

  const Tensor square = source.view({5, 25}).t().to(to);
  EXPECT_EQ(square.dtype(), to);
  EXPECT_EQ(square.t().to_vector<double>(), wanted);
  const Tensor gaps = zeros({5, 50}, {.dtype = to});
  gaps.slice(1, 0, {}, 2).copy_(source.view({5, 25}));
  EXPECT_EQ(gaps.slice(1, 0, {}, 2).to_vector<double>(), wanted);
  EXPECT_EQ(gaps.slice(1, 1, {}, 2).to_vector<double>(), std::vector<double>(125, 0.0));

  const Tensor other = source.to(ToOptions{.dtype = to, .device = Device("cpu:1")});
  EXPECT_EQ(other.device(), Device("cpu:1"));
  EXPECT_EQ(other.to_vector<double>(), wanted);
  target.zero_();
  target.copy_(source.to(Device("cpu:2")));
  EXPECT_EQ(target.to_vector<double>(), wanted);

  const Tensor many = source.expand({801, 125}).contiguous();
  const std::vector<double> all = many.to(to).to_vector<double>();
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], wanted[i % 125]) << i;
}
INSTANTIATE_TEST_SUITE_P(DTypes, CopyPair,
                         ::testing::Combine(::testing::Range(0, 8), ::testing::Range(0, 8)),
                         [](const auto& p) {
                           return std::string(name(kDTypes[std::get<0>(p.param)])) + "_to_" +
                                  name(kDTypes[std::get<1>(p.param)]);
                         });

TEST(Copy, SpecialValuesToBool) {
  const Tensor x = tensor({NAN, INFINITY, -0.0, 1e-40, -2.0});
  for (DType dtype : {f32, f64}) {
    EXPECT_EQ(x.to(dtype).to(boolean).to_vector<bool>(),
              (std::vector<bool>{true, true, false, true, true}));
  }
  EXPECT_EQ(tensor({256, 0}).to(boolean).to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(x.to(f16).to(f64).to_vector<double>()[1], INFINITY);
  EXPECT_TRUE(std::isnan(x.to(bf16).to(f64).to_vector<double>()[0]));
  EXPECT_EQ(tensor({1e300}, {.dtype = f64}).to(f32).item<double>(), INFINITY);
  EXPECT_EQ(tensor({INT64_MAX}).to(i32).item<int64_t>(), -1);
  EXPECT_EQ(tensor({-1, 256, 511}).to(u8).to_vector<int>(), (std::vector<int>{255, 0, 255}));
}

TEST(Copy, BoolsAreWrittenAsOneWhateverTheByte) {
  uint8_t bytes[4] = {0, 1, 2, 255};
  const Tensor x = from_blob(bytes, {4}, {.dtype = boolean});
  EXPECT_EQ(x.to(i64).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 1, 1}));
  EXPECT_EQ(x.to(f32).to_vector<float>(), (std::vector<float>{0, 1, 1, 1}));
  EXPECT_EQ(logical_not(x).to(i64).to_vector<int64_t>(), (std::vector<int64_t>{1, 0, 0, 0}));
}

TEST(To, SameTensorWhenNothingChanges) {
  const Tensor x = ones({2, 3});
  EXPECT_TRUE(x.to(f32).is_same(x));
  EXPECT_TRUE(x.to(Device("cpu")).is_same(x));
  EXPECT_TRUE(x.to(Device("cpu"), true).is_same(x));
  EXPECT_TRUE(x.cpu().is_same(x));
  EXPECT_TRUE(x.contiguous().is_same(x));
  EXPECT_TRUE(x.t().contiguous(MemoryFormat::preserve).strides() == x.t().strides());
  EXPECT_TRUE(x.to(ToOptions{.dtype = f32, .device = Device()}).is_same(x));
  EXPECT_FALSE(x.to(ToOptions{.copy = true}).shares_storage(x));
  EXPECT_FALSE(x.clone().shares_storage(x));
  EXPECT_FALSE(x.to(f64).shares_storage(x));
  EXPECT_FALSE(x.to(Device("cpu:1")).shares_storage(x));
  EXPECT_FALSE(x.t().contiguous().shares_storage(x));
  const Tensor vector = ones({6}).view({1, 6}).t();
  EXPECT_TRUE(vector.contiguous().is_same(vector));  // strides of sizes 1 don't count
}

TEST(To, KeepsTheStrideOrder) {
  const Tensor x = arange(120).view({2, 3, 4, 5}).contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(x.is_contiguous(MemoryFormat::channels_last));
  EXPECT_FALSE(x.is_contiguous());
  EXPECT_EQ(x.to_vector<int64_t>(), arange(120).to_vector<int64_t>());
  EXPECT_TRUE(x.to(f32).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(x.clone().is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE((x + x).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE((x + 1).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE((x + arange(5)).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(exp(x).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(x.contiguous().is_contiguous());
  const Tensor deep = zeros({2, 3, 2, 2, 2}).contiguous(MemoryFormat::channels_last);
  EXPECT_EQ(deep.strides(), (Strides{24, 1, 12, 6, 3}));
  const Tensor flat = zeros({2, 3, 1, 4}).contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(exp(flat).is_contiguous(MemoryFormat::channels_last));  // an image of height 1
}

TEST(CopyInto, OverlapsItself) {
  const auto fresh = [] { return arange(8); };
  Tensor x = fresh();
  x.slice(0, 1).copy_(x.slice(0, 0, 7));
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{0, 0, 1, 2, 3, 4, 5, 6}));
  x = fresh();
  x.slice(0, 0, 7).copy_(x.slice(0, 1));
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 7}));
  x = arange(9).view({3, 3});
  x.copy_(x.t());
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{0, 3, 6, 1, 4, 7, 2, 5, 8}));
  x = arange(9).view({3, 3});
  x.copy_(x[1]);
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{3, 4, 5, 3, 4, 5, 3, 4, 5}));
  x = arange(9).view({3, 3});
  add_(x, x.t());
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{0, 4, 8, 4, 8, 12, 8, 12, 16}));
  x = arange(9).view({3, 3});
  sub_(x, x[0]);
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{0, 0, 0, 3, 3, 3, 6, 6, 6}));
  x = fresh();
  add_(x.slice(0, 1), x.slice(0, 0, 7));
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{0, 1, 3, 5, 7, 9, 11, 13}));
  x = arange(200000);
  x.slice(0, 1).copy_(x.slice(0, 0, 199999));
  EXPECT_EQ(x[199999].item<int>(), 199998);
  EXPECT_EQ(x[1].item<int>(), 0);
  x = fresh();
  mul_(x, x);
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{0, 1, 4, 9, 16, 25, 36, 49}));
}

TEST(CopyInto, BroadcastsAndRefuses) {
  const Tensor x = zeros({2, 3});
  x.copy_(tensor({1, 2, 3}));
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{1, 2, 3, 1, 2, 3}));
  x.copy_(tensor({{7}, {8}}));
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{7, 7, 7, 8, 8, 8}));
  EXPECT_EQ(error_of([&] { x.copy_(zeros({4})); }),
            "copy_: shapes must broadcast, got [2,3] and [4]");
  EXPECT_EQ(error_of([&] {
              x.copy_(zeros({2, 2, 3}));
            }),
            "copy_: the source must broadcast to the destination, got [2,2,3] into [2,3]");
  EXPECT_EQ(error_of([] { zeros({1}).expand({3}).copy_(zeros({3})); }),
            "copy_: a tensor whose elements share memory can't be written; clone it first, got [3] "
            "with strides [0]");
  EXPECT_TRUE(&x.copy_(x) == &x);
}

TEST(Pin, NeedsCuda) {
  if (cuda::is_available()) GTEST_SKIP() << "CUDA is available";
  EXPECT_FALSE(cuda::unavailable_reason().empty());
  EXPECT_EQ(cuda::device_count(), 0);
  EXPECT_NE(error_of([] { ones({2}).pin_memory(); }), "no error");
  EXPECT_NE(error_of([] { ones({2}).cuda(); }), "no error");
  EXPECT_NE(error_of([] { ones({2}, {.device = "cuda:0"}); }), "no error");
  EXPECT_FALSE(ones({2}).is_pinned());
}

}  // namespace
}  // namespace aorta
