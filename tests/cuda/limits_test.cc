#include <aorta/cuda/limits.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

using namespace aorta;
using cuda::Limits;

TEST(CudaLimits, AreRead) {
  const Limits limits = Limits::parse("256,3");
  EXPECT_EQ(limits.elements, 256);
  EXPECT_EQ(limits.blocks, 3);
  const Limits most = Limits::parse("2147483648,1073741824");
  EXPECT_EQ(most.elements, Limits{}.elements);
  EXPECT_EQ(most.blocks, Limits{}.blocks);
}

TEST(CudaLimits, BadTextsAreErrors) {
  for (const char* text : {"", "256", "256,", ",3", "256;3", "1,3", "256,0", "-256,3", "256,3 ",
                           "2147483649,3", "256,1073741825", "99999999999999999999,3"}) {
    EXPECT_EQ(error_of([&] { Limits::parse(text); }),
              std::string("device: AORTA_CUDA_LIMITS is ELEMENTS,BLOCKS, from 2,1 to "
                          "2147483648,1073741824, got ") +
                  text);
  }
}

TEST(CudaLimits, AGridTakesWhatItCan) {
  EXPECT_EQ(cuda::grid_blocks(7), 7u);
  EXPECT_EQ(cuda::grid_blocks(int64_t{1} << 40), 1u << 30);
}
