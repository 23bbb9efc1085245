// The three variants of aorta_isa_library are what they are called.
#include <aorta/tests/checks/isa_probe.h>
#include <gtest/gtest.h>

using namespace aorta::cpu;

TEST(IsaLibrary, VariantsHaveTheirInstructionSets) {
  IsaTraits t2 = v2::isa_traits();
  EXPECT_TRUE(t2.sse42);
  EXPECT_FALSE(t2.avx2 || t2.fma || t2.f16c || t2.avx512);
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "v3 not tried: no AVX2 here";
  IsaTraits t3 = v3::isa_traits();
  EXPECT_TRUE(t3.sse42 && t3.avx2 && t3.fma && t3.f16c);
  EXPECT_FALSE(t3.avx512);
  if (!__builtin_cpu_supports("avx512vl")) GTEST_SKIP() << "v4 not tried: no AVX-512 here";
  IsaTraits t4 = v4::isa_traits();
  EXPECT_TRUE(t4.avx2 && t4.fma && t4.avx512);
}

TEST(IsaLibrary, NeitherErrnoNorFastMath) {
  EXPECT_FALSE(v2::isa_traits().math_errno);
  EXPECT_FALSE(v2::isa_traits().fast_math);
}

// (1 + e)(1 - e) - 1 is 0 when the product is rounded, and -e^2 when it is contracted to a fused
// multiply-add.
TEST(IsaLibrary, ProductsAreNotContracted) {
  const float e = 0x1p-13f;
  EXPECT_EQ(v2::multiply_add(1 + e, 1 - e, -1.0f), 0.0f);
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "v3 not tried: no FMA here";
  EXPECT_EQ(v3::multiply_add(1 + e, 1 - e, -1.0f), 0.0f);
  if (!__builtin_cpu_supports("avx512vl")) GTEST_SKIP() << "v4 not tried: no AVX-512 here";
  EXPECT_EQ(v4::multiply_add(1 + e, 1 - e, -1.0f), 0.0f);
}
