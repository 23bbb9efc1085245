#include <aorta/core/half.h>
#include <aorta/core/ops/creation.h>
#include <gtest/gtest.h>
#include <immintrin.h>

#include <cmath>
#include <cstring>
#include <ios>

namespace aorta {
namespace {

// Every 251st float: a prime, so that all low bits are met, with each exponent.
constexpr uint32_t kStride = 251;

bool is_nan(float x) { return std::isnan(x); }

__attribute__((target("f16c"))) uint16_t hardware_half(float x) {
  return static_cast<uint16_t>(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
}
__attribute__((target("f16c"))) float hardware_float(uint16_t bits) { return _cvtsh_ss(bits); }
bool has_f16c() { return __builtin_cpu_supports("f16c"); }

// The bf16 number nearest to x by comparing distances, ties to the even one.
uint16_t nearest_bfloat16(float x) {
  const uint32_t bits = bits_of(x);
  const uint32_t low = bits & 0xffff0000u;
  const double below = std::abs(static_cast<double>(float_of(low)));
  // One step up from the largest is 2^128, which counts as infinity.
  const uint32_t next = low + 0x10000u;
  const double above =
      std::isinf(float_of(next)) ? 0x1p128 : std::abs(static_cast<double>(float_of(next)));
  const double value = std::abs(static_cast<double>(x));
  const bool up =
      above - value < value - below || (above - value == value - below && ((low >> 16) & 1u) == 1);
  return static_cast<uint16_t>((up ? next : low) >> 16);
}

TEST(Half, EveryHalfToFloatAsTheHardware) {
  if (!has_f16c()) GTEST_SKIP() << "the CPU has no F16C";
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const uint16_t bits = static_cast<uint16_t>(i);
    const float ours = float_from_half(bits), wanted = hardware_float(bits);
    if (is_nan(wanted)) {
      ASSERT_TRUE(is_nan(ours)) << i;
      ASSERT_EQ(std::signbit(ours), std::signbit(wanted)) << i;
    } else {
      ASSERT_EQ(bits_of(ours), bits_of(wanted)) << i;
    }
  }
}

TEST(Half, FloatsToHalfAsTheHardware) {
  if (!has_f16c()) GTEST_SKIP() << "the CPU has no F16C";
  for (uint64_t i = 0; i < (uint64_t{1} << 32); i += kStride) {
    const float x = float_of(static_cast<uint32_t>(i));
    ASSERT_EQ(half_bits(x), hardware_half(x)) << std::hex << i;
  }
}

TEST(Half, FloatsAroundEveryHalf) {
  if (!has_f16c()) GTEST_SKIP() << "the CPU has no F16C";
  for (uint32_t i = 0; i < 0xffff; ++i) {
    if ((i & 0x7fff) >= 0x7c00) continue;
    const float a = float_from_half(static_cast<uint16_t>(i));
    const float b = (i & 0x7fff) == 0x7bff ? std::copysign(65536.0f, a)
                                           : float_from_half(static_cast<uint16_t>(i + 1));
    const float middle = static_cast<float>((static_cast<double>(a) + b) / 2);
    for (float x : {a, middle, std::nextafter(middle, a), std::nextafter(middle, b)}) {
      ASSERT_EQ(half_bits(x), hardware_half(x)) << x;
    }
  }
}

TEST(Half, RoundTrip) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const uint16_t bits = static_cast<uint16_t>(i);
    const float h = float_from_half(bits), b = float_from_bfloat16(bits);
    if (is_nan(h)) {
      ASSERT_TRUE(is_nan(float_from_half(half_bits(h))));
    } else {
      ASSERT_EQ(half_bits(h), bits);
    }
    if (is_nan(b)) {
      ASSERT_TRUE(is_nan(float_from_bfloat16(bfloat16_bits(b))));
    } else {
      ASSERT_EQ(bfloat16_bits(b), bits);
    }
  }
}

TEST(BFloat16, FloatsToNearest) {
  for (uint64_t i = 0; i < (uint64_t{1} << 32); i += kStride) {
    const float x = float_of(static_cast<uint32_t>(i));
    if (is_nan(x)) {
      ASSERT_TRUE(is_nan(float_from_bfloat16(bfloat16_bits(x)))) << std::hex << i;
      ASSERT_EQ(bfloat16_bits(x) >> 15, i >> 31);
    } else if (std::isinf(x)) {
      ASSERT_EQ(bfloat16_bits(x), i >> 16);
    } else {
      ASSERT_EQ(bfloat16_bits(x), nearest_bfloat16(x)) << std::hex << i;
    }
  }
}

TEST(BFloat16, Ties) {
  EXPECT_EQ(bfloat16_bits(float_of(0x3f808000u)), 0x3f80);  // between 1 and its neighbour: even
  EXPECT_EQ(bfloat16_bits(float_of(0x3f818000u)), 0x3f82);
  EXPECT_EQ(bfloat16_bits(float_of(0x7f7fffffu)), 0x7f80);  // the largest float is infinite
  EXPECT_EQ(bfloat16_bits(float_of(0x00008000u)), 0x0000);  // subnormal ties
  EXPECT_EQ(bfloat16_bits(float_of(0x00018000u)), 0x0002);
  EXPECT_EQ(bfloat16_bits(float_of(0x7f800001u)) & 0x7fff, 0x7fc0);  // a signalling NaN stays one
}

// The kernels' conversions are the functions above, whatever instructions they use.
TEST(Half, KernelsConvertEveryPattern) {
  std::vector<uint16_t> all(0x10000);
  for (uint32_t i = 0; i < 0x10000; ++i) all[i] = static_cast<uint16_t>(i);
  for (DType dtype : {f16, bf16}) {
    const Tensor halves = from_blob(all.data(), {0x10000}, {.dtype = dtype});
    const std::vector<float> floats = halves.to(f32).to_vector<float>();
    const std::vector<double> doubles = halves.to(f64).to_vector<double>();
    const Tensor back = halves.to(f32).to(dtype);
    const uint16_t* bits = static_cast<const uint16_t*>(back.data());
    for (uint32_t i = 0; i < 0x10000; ++i) {
      const uint16_t pattern = static_cast<uint16_t>(i);
      const float wanted = dtype == f16 ? float_from_half(pattern) : float_from_bfloat16(pattern);
      if (is_nan(wanted)) {
        ASSERT_TRUE(is_nan(floats[i]) && std::isnan(doubles[i])) << i;
        ASSERT_EQ(bits[i] & 0x7c00, 0x7c00);
        ASSERT_NE(bits[i] & (dtype == f16 ? 0x03ff : 0x007f), 0);
        continue;
      }
      ASSERT_EQ(bits_of(floats[i]), bits_of(wanted)) << i;
      ASSERT_EQ(doubles[i], static_cast<double>(wanted)) << i;
      ASSERT_EQ(bits[i], pattern);
    }
  }
}

TEST(Half, KernelsRoundFloats) {
  constexpr int64_t n = 1 << 20;
  std::vector<float> values(n);
  for (int64_t i = 0; i < n; ++i)
    values[static_cast<size_t>(i)] = float_of(static_cast<uint32_t>(i * 4099));
  const Tensor x = from_blob(values.data(), {n});
  const Tensor h = x.to(f16), b = x.to(bf16);
  for (int64_t i = 0; i < n; ++i) {
    const float value = values[static_cast<size_t>(i)];
    if (is_nan(value)) continue;
    ASSERT_EQ(h.data<Half>()[i].bits, half_bits(value)) << value;
    ASSERT_EQ(b.data<BFloat16>()[i].bits, bfloat16_bits(value)) << value;
  }
}

}  // namespace
}  // namespace aorta
