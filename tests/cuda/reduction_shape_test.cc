#include <aorta/core/integers.h>
#include <aorta/cuda/reduction.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

using namespace aorta;
using namespace aorta::kernel;
using cuda::ReductionShape;
using cuda::ReductionWay;

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

ReductionShape choose(const ReduceArgs& args) {
  return ReductionShape::choose(args, true, sizeof(double));
}

}  // namespace

// Every unit is taken by one lane of one chunk, whatever the sizes.
TEST(ReductionShape, CoversEverythingOnce) {
  for (int64_t kept : {1, 2, 3, 31, 32, 33, 1000, 100000, 10000000}) {
    for (int64_t reduced : {0, 1, 2, 3, 7, 8, 255, 256, 257, 4095, 100003, 300000000}) {
      for (int64_t step : {4, 8}) {
        for (bool rows : {true, false}) {
          const ReduceArgs args = rows ? args_of(kept, reduced, step * reduced, step)
                                       : args_of(kept, reduced, step, step * kept);
          const ReductionShape shape = choose(args);
          const int64_t units =
              shape.way == ReductionWay::rows ? divide_up(reduced, 4) : int64_t{reduced};
          SCOPED_TRACE(testing::Message()
                       << kept << " x " << reduced << (rows ? " rows" : " columns"));
          ASSERT_TRUE(std::has_single_bit(static_cast<unsigned>(shape.reduced_lanes)));
          ASSERT_GE(shape.kept_lanes, 1);
          ASSERT_LE(shape.threads(), 256u);
          ASSERT_TRUE(shape.kept_fast || shape.threads() % 32 == 0);
          ASSERT_GE(shape.groups() * shape.kept_lanes, shape.outputs);
          ASSERT_GE(shape.outputs * (shape.way == ReductionWay::columns ? 4 : 1), kept);
          ASSERT_GE(shape.chunks, 1);
          ASSERT_GE(shape.chunk * shape.chunks, units);
          ASSERT_LT(shape.chunk * (shape.chunks - 1), std::max<int64_t>(units, 1));
          ASSERT_EQ(shape.chunk % shape.reduced_lanes, 0);
          ASSERT_LE(shape.chunks, 2048);
          const ReductionShape join = ReductionShape::join(kept, shape.chunks);
          ASSERT_GE(join.groups() * join.kept_lanes, kept);
          ASSERT_LE(join.threads(), 256u);
        }
      }
    }
  }
}

TEST(ReductionShape, NeighboursReadNeighbours) {
  EXPECT_EQ(choose(args_of(1000, 1000, 4000, 4)).way, ReductionWay::rows);
  EXPECT_EQ(choose(args_of(1000, 1000, 4, 4000)).way, ReductionWay::columns);
  EXPECT_EQ(choose(args_of(1000, 1000, 8, 8000)).way, ReductionWay::any);
  EXPECT_FALSE(choose(args_of(1000, 1000, 4000, 4)).kept_fast);
  EXPECT_TRUE(choose(args_of(1000, 1000, 8, 8000)).kept_fast);
  EXPECT_GE(choose(args_of(1000, 1000, 4, 4000)).kept_lanes, 32);
  EXPECT_GE(choose(args_of(1000, 1000, 4000, 4)).reduced_lanes, 32);
}

TEST(ReductionShape, BlocksAreOfSixteenBytesAndFewStates) {
  EXPECT_EQ(cuda::row_block(4), 4);
  EXPECT_EQ(cuda::column_block(4, 8), 4);
  EXPECT_EQ(cuda::column_block(2, 8), 8);
  EXPECT_EQ(cuda::column_block(1, 8), 8);
  EXPECT_EQ(cuda::column_block(1, 1), 8);
  EXPECT_EQ(cuda::column_block(4, 24), 2);
}

TEST(ReductionShape, FillsTheDevice) {
  EXPECT_GT(choose(args_of(1, 100000000, 4, 4)).chunks, 500);
  EXPECT_EQ(choose(args_of(1000000, 100, 400, 4)).chunks, 1);
  EXPECT_EQ(choose(args_of(1, 100, 4, 4)).chunks, 1);
}
