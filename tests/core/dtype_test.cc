#include <aorta/core/finfo.h>
#include <aorta/core/io/npz.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <map>

namespace aorta {
namespace {

using std::complex_literals::operator""i;

constexpr DType kEveryDType[] = {f32, f64, f16, bf16, i64, i32, u8, boolean, c64, c128};

const Tensor& table(const std::string& name) {
  static const std::map<std::string, Tensor> tables = [] {
    std::map<std::string, Tensor> all;
    for (auto& [key, value] : npz::load("tests/fixtures/core/promotion.npz")) all[key] = value;
    return all;
  }();
  return tables.at(name);
}

DType entry(const std::string& name, int64_t row, int64_t column) {
  return static_cast<DType>(table(name).at<uint8_t>({row, column}));
}

// What torch.finfo and torch.iinfo say.
TEST(DType, WhatItsNumbersCanBe) {
  struct Row {
    DType dtype;
    int bits;
    double eps, max, tiny, resolution;
  };
  const Row rows[] = {{f32, 32, 0x1p-23, 0x1.fffffep127, 0x1p-126, 1e-6},
                      {f64, 64, 0x1p-52, 0x1.fffffffffffffp1023, 0x1p-1022, 1e-15},
                      {f16, 16, 0x1p-10, 65504, 0x1p-14, 1e-3},
                      {bf16, 16, 0x1p-7, 0x1.fep127, 0x1p-126, 1e-2},
                      {c64, 32, 0x1p-23, 0x1.fffffep127, 0x1p-126, 1e-6}};
  for (const Row& row : rows) {
    SCOPED_TRACE(name(row.dtype));
    const FloatInfo info = finfo(row.dtype);
    EXPECT_EQ(info.bits, row.bits);
    EXPECT_EQ(info.eps, row.eps);
    EXPECT_EQ(info.max, row.max);
    EXPECT_EQ(info.min, -row.max);
    EXPECT_EQ(info.tiny, row.tiny);
    EXPECT_EQ(info.resolution, row.resolution);
  }
  EXPECT_EQ(iinfo(i64).max, INT64_MAX);
  EXPECT_EQ(iinfo(i64).min, INT64_MIN);
  EXPECT_EQ(iinfo(i32).min, INT32_MIN);
  EXPECT_EQ(iinfo(u8).max, 255);
  EXPECT_EQ(iinfo(u8).min, 0);
  EXPECT_EQ(iinfo(u8).bits, 8);
  EXPECT_EQ(error_of([] { finfo(i64); }), "finfo: dtype must be floating or complex, got i64");
  EXPECT_EQ(error_of([] { iinfo(boolean); }), "iinfo: dtype must be of integers, got bool");
}

TEST(DType, SizesAndNames) {
  const int64_t sizes[] = {4, 8, 2, 2, 8, 4, 1, 1, 8, 16};
  const char* names[] = {"f32", "f64", "f16", "bf16", "i64", "i32", "u8", "bool", "c64", "c128"};
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(item_size(kEveryDType[i]), sizes[i]);
    EXPECT_STREQ(name(kEveryDType[i]), names[i]);
    EXPECT_EQ(is_complex(kEveryDType[i]), i >= 8);
    if (i >= 8) {
      EXPECT_EQ(error_of([&] { visit_dtype(kEveryDType[i], [](auto) {}); }),
                std::string("dtype: dtype must be real, got ") + names[i]);
      continue;
    }
    visit_dtype(kEveryDType[i], [&](auto value) {
      EXPECT_EQ(dtype_of<decltype(value)>, kEveryDType[i]);
      EXPECT_EQ(static_cast<int64_t>(sizeof value), sizes[i]);
    });
    EXPECT_EQ(is_floating(kEveryDType[i]), i < 4);
    EXPECT_EQ(is_half(kEveryDType[i]), i == 2 || i == 3);
    EXPECT_EQ(is_integral(kEveryDType[i]), i >= 4 && i < 7);
  }
}

TEST(Promotion, OfDTypesAsPyTorch) {
  for (int i = 0; i < kDTypeCount; ++i) {
    for (int j = 0; j < kDTypeCount; ++j) {
      EXPECT_EQ(promote(kEveryDType[i], kEveryDType[j]), entry("promote", i, j))
          << name(kEveryDType[i]) << " " << name(kEveryDType[j]);
      EXPECT_EQ(can_cast(kEveryDType[i], kEveryDType[j]), table("can_cast").at<bool>({i, j}))
          << name(kEveryDType[i]) << " " << name(kEveryDType[j]);
    }
  }
}

// Tensors with dimensions (0), 0-d ones (1) and numbers (2): add's result has PyTorch's dtype.
struct Kinds {
  const char* table;
  int left, right;
};
class PromotionOf : public ::testing::TestWithParam<Kinds> {};

Operand operand(int kind, int i, Tensor& keep) {
  if (kind == 2) {
    return i == 0 ? Operand(true) : i == 1 ? Operand(2) : i == 2 ? Operand(2.5) : Operand(2i);
  }
  keep = ones(kind == 0 ? Shape{2} : Shape{}, {.dtype = kEveryDType[i]});
  return keep;
}

TEST_P(PromotionOf, AsPyTorch) {
  const auto [file, left, right] = GetParam();
  for (int i = 0; i < kDTypeCount; ++i) {
    for (int j = 0; j < (right == 2 ? 4 : kDTypeCount); ++j) {
      Tensor a, b;
      const Operand x = operand(left, i, a), y = operand(right, j, b);
      const DType wanted = entry(file, i, j);
      EXPECT_EQ(add(x, y).dtype(), wanted) << file << " " << i << " " << j;
      EXPECT_EQ(add(y, x).dtype(), wanted) << file << " " << i << " " << j;
      const Operand both[] = {x, y};
      EXPECT_EQ(result_type(both), wanted);
      const std::complex<double> other = right < 2 || j == 0 ? 1.0
                                         : j == 1            ? 2.0
                                         : j == 2            ? 2.5
                                                             : 2i;
      const std::complex<double> sum = wanted == boolean ? 1.0 : 1.0 + other;
      EXPECT_EQ(add(x, y).to_vector<std::complex<double>>()[0], sum)
          << file << " " << i << " " << j;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Kinds, PromotionOf,
    ::testing::Values(Kinds{"tensor_tensor", 0, 0}, Kinds{"tensor_scalar", 0, 1},
                      Kinds{"tensor_number", 0, 2}, Kinds{"scalar_tensor", 1, 0},
                      Kinds{"scalar_scalar", 1, 1}, Kinds{"scalar_number", 1, 2}),
    [](const auto& kind) { return std::string(kind.param.table); });

}  // namespace
}  // namespace aorta
