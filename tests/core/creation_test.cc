#include <aorta/core/ops/creation.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <cmath>

namespace aorta {
namespace {

constexpr DType kCreatedDTypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean};

TEST(Creation, DefaultDTypes) {
  EXPECT_EQ(empty({2}).dtype(), f32);
  EXPECT_EQ(zeros({2}).dtype(), f32);
  EXPECT_EQ(ones({2}).dtype(), f32);
  EXPECT_EQ(full({2}, 1).dtype(), i64);
  EXPECT_EQ(full({2}, 1.0).dtype(), f32);
  EXPECT_EQ(full({2}, true).dtype(), boolean);
  EXPECT_EQ(arange(3).dtype(), i64);
  EXPECT_EQ(arange(3.0).dtype(), f32);
  EXPECT_EQ(arange(0, 1, 0.5).dtype(), f32);
  EXPECT_EQ(linspace(0, 1, 3).dtype(), f32);
  EXPECT_EQ(eye(2).dtype(), f32);
  EXPECT_EQ(tensor({1, 2}).dtype(), i64);
  EXPECT_EQ(tensor({1, 2.5}).dtype(), f32);
  EXPECT_EQ(tensor({true, false}).dtype(), boolean);
  EXPECT_EQ(tensor({true, 2}).dtype(), i64);
  EXPECT_EQ(tensor(std::vector<double>{1}).dtype(), f64);
}

TEST(Creation, EveryDTypeAndDevice) {
  for (DType dtype : kCreatedDTypes) {
    for (const char* device : {"cpu", "cpu:1"}) {
      const TensorOptions options{.dtype = dtype, .device = device};
      std::vector<Tensor> all{zeros({2, 3}, options), ones({2, 3}, options),
                              full({2, 3}, 1, options), eye(2, 3, options),
                              tensor({{1, 0, 1}, {0, 1, 1}}, options)};
      if (dtype != boolean) {
        all.push_back(arange(2, options));
        all.push_back(linspace(0, 1, 2, options));
      }
      for (const Tensor& x : all) {
        EXPECT_EQ(x.dtype(), dtype);
        EXPECT_EQ(x.device(), Device(device));
        EXPECT_TRUE(x.is_contiguous());
      }
      EXPECT_EQ(ones({2}, options).to_vector<double>(), (std::vector<double>{1, 1}));
      EXPECT_EQ(eye(2, 3, options).to_vector<double>(), (std::vector<double>{1, 0, 0, 0, 1, 0}));
      EXPECT_EQ(tensor({1, 0, 1}, options).to_vector<double>(), (std::vector<double>{1, 0, 1}));
    }
  }
}

TEST(Creation, Arange) {
  EXPECT_EQ(arange(5).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(arange(5, 0, -2).to_vector<int64_t>(), (std::vector<int64_t>{5, 3, 1}));
  EXPECT_EQ(arange(1, 2, 0.25).to_vector<double>(), (std::vector<double>{1, 1.25, 1.5, 1.75}));
  EXPECT_EQ(arange(0, 0).numel(), 0);
  EXPECT_EQ(arange(1, 1.000001, 1).numel(), 1);
  EXPECT_EQ(arange(INT64_MAX - 2, INT64_MAX).to_vector<int64_t>(),
            (std::vector<int64_t>{INT64_MAX - 2, INT64_MAX - 1}));
  EXPECT_EQ(arange(INT64_MIN, INT64_MIN + 2).to_vector<int64_t>(),
            (std::vector<int64_t>{INT64_MIN, INT64_MIN + 1}));
  EXPECT_EQ(arange(INT64_MIN, INT64_MAX, INT64_MAX).to_vector<int64_t>(),
            (std::vector<int64_t>{INT64_MIN, -1, INT64_MAX - 1}));
  EXPECT_EQ(linspace(-5, 5, 3, {.dtype = u8}).to_vector<int64_t>(),
            (std::vector<int64_t>{251, 0, 5}));
  EXPECT_EQ(arange(-2.0, 2.0, 1.0, {.dtype = u8}).to_vector<int64_t>(),
            (std::vector<int64_t>{254, 255, 0, 1}));
  EXPECT_EQ(error_of([] { arange(INT64_MIN, INT64_MAX); }),
            "arange: there must be fewer than 2^46 numbers, got 1.8446744073709552e+19");
  EXPECT_EQ(error_of([] { arange(0, 5, 0); }),
            "arange: the bounds must be finite and the step not zero, got 0, 5, 0");
  EXPECT_EQ(error_of([] { arange(0, NAN); }),
            "arange: the bounds must be finite and the step not zero, got 0, nan, 1");
  EXPECT_EQ(error_of([] { arange(0, INFINITY); }),
            "arange: the bounds must be finite and the step not zero, got 0, inf, 1");
  EXPECT_EQ(error_of([] { arange(5, 0); }),
            "arange: the step must lead from start towards end, got 5, 0, 1");
  EXPECT_EQ(error_of([] { arange(0, 1e300, 1); }),
            "arange: there must be fewer than 2^46 numbers, got 1e+300");
}

TEST(Creation, Linspace) {
  EXPECT_EQ(linspace(0, 1, 5).to_vector<double>(), (std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(linspace(3, -3, 3).to_vector<double>(), (std::vector<double>{3, 0, -3}));
  EXPECT_EQ(linspace(2, 7, 1).to_vector<double>(), std::vector<double>{2});
  EXPECT_EQ(linspace(2, 7, 0).numel(), 0);
  const std::vector<float> x = linspace(-1, 1, 1001).to_vector<float>();
  EXPECT_EQ(x.back(), 1.0f);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(x[i], -x[1000 - i]);
    EXPECT_NEAR(x[i], -1 + 0.002 * static_cast<double>(i), 1e-7);
  }
  EXPECT_EQ(error_of([] { linspace(0, 1, -1); }), "linspace: steps can't be negative, got -1");
}

TEST(Creation, Eye) {
  EXPECT_EQ(eye(2).to_vector<float>(), (std::vector<float>{1, 0, 0, 1}));
  EXPECT_EQ(eye(3, 2).to_vector<float>(), (std::vector<float>{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(eye(0).shape(), (Shape{0, 0}));
  EXPECT_EQ(eye(3, 0).shape(), (Shape{3, 0}));
  EXPECT_EQ(error_of([] { eye(-1); }), "eye: sizes can't be negative, got [-1,-1]");
}

TEST(Creation, FromNestedLists) {
  EXPECT_EQ(tensor(5).dim(), 0);
  EXPECT_EQ(tensor({{{1, 2}, {3, 4}}}).shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(tensor({0.5, -0.5, 0.0, 2.0}, {.dtype = boolean}).to_vector<bool>(),
            (std::vector<bool>{true, true, false, true}));
  EXPECT_EQ(tensor({-1, 2.5}, {.dtype = u8}).to_vector<int>(), (std::vector<int>{255, 2}));
  EXPECT_EQ(error_of([] {
              tensor({1, 300}, {.dtype = u8});
            }),
            "tensor: the value must fit the dtype, got 300 for u8");
  EXPECT_EQ(error_of([] {
              tensor(std::vector<double>{1, NAN}, {.dtype = i32});
            }),
            "tensor: the value must fit the dtype, got nan for i32");
  EXPECT_EQ(error_of([] { arange(0, 300, {.dtype = u8}); }),
            "arange: the value must fit the dtype, got 256 for u8");
  EXPECT_EQ(tensor({INT64_MAX, INT64_MIN}).to_vector<int64_t>(),
            (std::vector<int64_t>{INT64_MAX, INT64_MIN}));
  EXPECT_EQ(tensor({INT64_MAX}, {.dtype = f64}).item<double>(), 0x1p63);
  EXPECT_EQ(error_of([] {
              tensor({{1, 2}, {3}});
            }),
            "tensor: nested lists must be regular, got [2,2]");
  EXPECT_EQ(error_of([] {
              tensor({{1, 2}, 3});
            }),
            "tensor: nested lists must be regular, got [2,2]");
  EXPECT_EQ(error_of([] { tensor({1, {2, 3}}); }), "tensor: nested lists must be regular, got [2]");
  EXPECT_EQ(error_of([] {
              tensor(std::vector<int>{1, 2, 3}, {2, 2});
            }),
            "tensor: the number of values must match the shape, got 3 for [2,2]");
  const std::vector<int> values{1, 2, 3, 4};
  EXPECT_EQ(tensor(values, {2, 2}, {.dtype = f16}).to_vector<double>(),
            (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(tensor(values).dtype(), i32);
}

TEST(Creation, LikeKeepsTheLayout) {
  const Tensor x = zeros({2, 3, 4, 5}, {.dtype = f64}).contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(empty_like(x).is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(ones_like(x).dtype(), f64);
  EXPECT_EQ(ones_like(x, {.dtype = i32, .device = "cpu:1"}).device(), Device("cpu:1"));
  EXPECT_TRUE(zeros_like(x, {.memory_format = MemoryFormat::contiguous}).is_contiguous());
  EXPECT_EQ(full_like(x.transpose(0, 3), 2.5).strides(), x.transpose(0, 3).strides());
  EXPECT_EQ(ones_like(x.narrow(0, 0, 1).expand({2, 3, 4, 5})).to_vector<double>(),
            std::vector<double>(120, 1.0));
  EXPECT_TRUE(full_like(x, 1.0, {.requires_grad = true}).requires_grad());
  EXPECT_EQ(error_of([] {
              empty_like(zeros({2, 3}), {.memory_format = MemoryFormat::channels_last});
            }),
            "channels_last: a tensor of 4 or 5 dimensions, got [2,3]");
}

TEST(Creation, EmptyStrided) {
  const Tensor x = empty_strided({2, 3}, {1, 2}, {.dtype = f64});
  EXPECT_EQ(x.strides(), (Strides{1, 2}));
  EXPECT_EQ(x.storage()->size_bytes(), 48);
  EXPECT_EQ(empty_strided({2}, {5}).storage()->size_bytes(), 24);
  EXPECT_EQ(empty_strided({0, 3}, {3, 1}).storage()->size_bytes(), 0);
  EXPECT_EQ(error_of([] {
              empty_strided({2, 3}, {1});
            }),
            "empty_strided: one stride a dimension, got [1] for shape [2,3]");
  EXPECT_EQ(error_of([] { empty_strided({2}, {}); }),
            "empty_strided: one stride a dimension, got [] for shape [2]");
  EXPECT_EQ(error_of([] {
              empty_strided({2, 3}, {-3, 1});
            }),
            "empty_strided: strides can't be negative, got [-3,1]");
  EXPECT_EQ(error_of([] {
              empty_strided({3, 3}, {INT64_MAX, INT64_MAX});
            }),
            "empty_strided: the number of bytes must fit in 63 bits, got [3,3] with strides "
            "[9223372036854775807,9223372036854775807]");
}

// At the end of 63 bits, where the undefined-behaviour sanitizer sees a step beyond.
TEST(Creation, SizesAtTheEndOf63Bits) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(eye(0, kMost, {.dtype = u8}).numel(), 0);
  EXPECT_EQ(empty({0, kMost}, {.dtype = u8}).diagonal(1).shape(), Shape({0}));
  EXPECT_EQ(error_of([] { arange(kMost, kMost - 1); }),
            "arange: the step must lead from start towards end, got 9223372036854775807, "
            "9223372036854775806, 1");
  const int64_t before = bytes_allocated_by_thread();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(error_of([] { empty({kMost}, {.dtype = u8}); }),
              "allocate: a tensor has at most 2^46 bytes, got 9223372036854775807");
  }
  EXPECT_EQ(bytes_allocated_by_thread(), before);
}

TEST(Creation, TooLarge) {
  EXPECT_EQ(error_of([] { empty({-1}); }), "empty: sizes can't be negative, got [-1]");
  EXPECT_EQ(error_of([] {
              empty({int64_t{1} << 40, int64_t{1} << 40});
            }),
            "empty: the number of bytes must fit in 63 bits, got [1099511627776,1099511627776]");
  EXPECT_EQ(error_of([] { empty({int64_t{1} << 50}); }),
            "allocate: a tensor has at most 2^46 bytes, got 4503599627370496");
  EXPECT_EQ(error_of([] { ones({int64_t{1} << 60}, {.dtype = u8}); }),
            "ones: a tensor has at most 2^46 bytes, got 1152921504606846976");
}

TEST(Fill, ValuesThatFit) {
  EXPECT_EQ(error_of([] { zeros({2}, {.dtype = u8}).fill_(300); }),
            "fill_: the value must fit the dtype, got 300 for u8");
  EXPECT_EQ(error_of([] { full({2}, -256, {.dtype = u8}); }),
            "full: the value must fit the dtype, got -256 for u8");
  EXPECT_EQ(error_of([] { full({2}, 1e10, {.dtype = i32}); }),
            "full: the value must fit the dtype, got 1e+10 for i32");
  EXPECT_EQ(error_of([] { full({2}, NAN, {.dtype = i64}); }),
            "full: the value must fit the dtype, got nan for i64");
  EXPECT_EQ(error_of([] { full({2}, INFINITY, {.dtype = i64}); }),
            "full: the value must fit the dtype, got inf for i64");
  EXPECT_EQ(error_of([] { full({2}, 70000, {.dtype = f16}); }),
            "full: the value must fit the dtype, got 70000 for f16");
  EXPECT_EQ(error_of([] { full({2}, 1e300, {.dtype = f32}); }),
            "full: the value must fit the dtype, got 1e+300 for f32");
  EXPECT_EQ(full({1}, INFINITY, {.dtype = f16}).item<double>(), INFINITY);
  EXPECT_TRUE(std::isnan(full({1}, NAN, {.dtype = bf16}).item<double>()));
  EXPECT_EQ(full({1}, -1, {.dtype = u8}).item<int>(), 255);
  EXPECT_EQ(full({1}, INT64_MAX).item<int64_t>(), INT64_MAX);
  EXPECT_EQ(full({1}, INT64_MIN).item<int64_t>(), INT64_MIN);
  EXPECT_EQ(full({1}, 2.9, {.dtype = i32}).item<int>(), 2);
  EXPECT_TRUE(full({1}, 0.5, {.dtype = boolean}).item<bool>());
}

TEST(Fill, EveryLayout) {
  for (DType dtype : kCreatedDTypes) {
    const Tensor x = zeros({6, 8}, {.dtype = dtype});
    x.slice(0, 1, 6, 2).slice(1, 0, 8, 3).fill_(1);
    double sum = 0;
    for (double v : x.to_vector<double>()) sum += v;
    EXPECT_EQ(sum, 9.0) << name(dtype);
    x.t().fill_(0);
    EXPECT_EQ(x.to_vector<double>(), std::vector<double>(48, 0.0));
    zeros({}, {.dtype = dtype}).fill_(1);
  }
  EXPECT_EQ(full({100000}, 2.5).to_vector<float>(), std::vector<float>(100000, 2.5f));
}

}  // namespace
}  // namespace aorta
