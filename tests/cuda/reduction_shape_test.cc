#include <aorta/cuda/reduction.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

using namespace aorta;
using namespace aorta::kernel;
using cuda::ReductionShape;

namespace {

ReduceArgs args_of(int64_t kept, int64_t reduced, int64_t kept_stride, int64_t reduced_stride) {
  ReduceArgs args;
  args.kept = kept;
  args.reduced = reduced;
  args.kept_ndim = kept > 1;
  args.reduced_ndim = reduced != 1;
  args.kept_shape[0] = kept;
  args.reduced_shape[0] = reduced;
  args.kept_strides[0] = kept_stride;
  args.reduced_strides[0] = reduced_stride;
  return args;
}

}  // namespace

// Every element is taken by one lane of one chunk, whatever the sizes.
TEST(ReductionShape, CoversEverythingOnce) {
  for (int64_t kept : {1, 2, 3, 31, 32, 33, 1000, 100000, 10000000}) {
    for (int64_t reduced : {0, 1, 2, 3, 7, 8, 255, 256, 257, 4095, 100003, 300000000}) {
      for (bool rows : {true, false}) {
        const ReduceArgs args =
            rows ? args_of(kept, reduced, 4 * reduced, 4) : args_of(kept, reduced, 4, 4 * kept);
        const ReductionShape shape = ReductionShape::choose(args);
        SCOPED_TRACE(testing::Message()
                     << kept << " x " << reduced << (rows ? " rows" : " columns"));
        ASSERT_TRUE(std::has_single_bit(static_cast<unsigned>(shape.reduced_lanes)));
        ASSERT_GE(shape.kept_lanes, 1);
        ASSERT_LE(shape.kept_lanes * shape.reduced_lanes, 256);
        ASSERT_GE(shape.chunks, 1);
        ASSERT_GE(shape.chunk * shape.chunks, reduced);
        ASSERT_LT(shape.chunk * (shape.chunks - 1), std::max<int64_t>(reduced, 1));
        ASSERT_EQ(shape.chunk % shape.reduced_lanes, 0);
        ASSERT_LE(shape.chunks, 1024);
      }
    }
  }
}

TEST(ReductionShape, NeighboursReadNeighbours) {
  EXPECT_FALSE(ReductionShape::choose(args_of(1000, 1000, 4000, 4)).kept_fast);
  EXPECT_TRUE(ReductionShape::choose(args_of(1000, 1000, 4, 4000)).kept_fast);
  EXPECT_GE(ReductionShape::choose(args_of(1000, 1000, 4, 4000)).kept_lanes, 32);
  EXPECT_GE(ReductionShape::choose(args_of(1000, 1000, 4000, 4)).reduced_lanes, 32);
}

TEST(ReductionShape, FillsTheDevice) {
  EXPECT_GT(ReductionShape::choose(args_of(1, 100000000, 4, 4)).chunks, 500);
  EXPECT_EQ(ReductionShape::choose(args_of(1000000, 100, 400, 4)).chunks, 1);
  EXPECT_EQ(ReductionShape::choose(args_of(1, 100, 4, 4)).chunks, 1);
}
