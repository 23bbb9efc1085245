#include <aorta/core/shape.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta {
namespace {

TEST(Dims, InsertEraseResize) {
  Dims d{2, 3};
  d.insert(0, 1);
  d.insert(3, 9);
  d.insert(2, 7);
  EXPECT_EQ(d, (Dims{1, 2, 7, 3, 9}));
  d.erase(0);
  d.erase(3);
  EXPECT_EQ(d, (Dims{2, 7, 3}));
  d.resize(5, 4);
  EXPECT_EQ(d, (Dims{2, 7, 3, 4, 4}));
  d.resize(1);
  EXPECT_EQ(d, Dims{2});
  EXPECT_EQ(d.back(), 2);
  EXPECT_EQ(Dims::filled(3, 5), (Dims{5, 5, 5}));
  EXPECT_NE((Dims{1, 2}), (Dims{1, 2, 3}));
  EXPECT_EQ(Dims(), Dims{});
  EXPECT_EQ(Dims().numel(), 1);
  EXPECT_EQ((Dims{2, 0, 3}).numel(), 0);
  EXPECT_EQ(to_string(Dims{}), "[]");
  EXPECT_EQ(to_string(Dims{8, -3}), "[8,-3]");
}

TEST(Dims, AtMostTwelve) {
  Dims d = Dims::filled(12, 1);
  EXPECT_EQ(error_of([&] { d.push_back(1); }), "tensor: at most 12 dimensions, got 13");
  EXPECT_EQ(error_of([&] { d.insert(0, 1); }), "tensor: at most 12 dimensions, got 13");
  EXPECT_EQ(error_of([&] { d.resize(13); }), "tensor: at most 12 dimensions, got 13");
  EXPECT_EQ(error_of([] { Dims(std::vector<int64_t>(100)); }),
            "tensor: at most 12 dimensions, got 100");
  EXPECT_EQ(error_of([] { Dims::filled(-1, 0); }), "tensor: at most 12 dimensions, got -1");
  EXPECT_EQ(d.size(), 12);
}

TEST(Shape, Strides) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({}), Strides{});
  EXPECT_EQ(contiguous_strides({2, 0, 4}), (Strides{4, 4, 1}));
  EXPECT_EQ(channels_last_strides({2, 3, 4, 5}), (Strides{60, 1, 15, 3}));
  EXPECT_EQ(channels_last_strides({2, 3, 4, 5, 6}), (Strides{360, 1, 90, 18, 3}));
  EXPECT_EQ(error_of([] {
              channels_last_strides({2, 3});
            }),
            "channels_last: a tensor of 4 or 5 dimensions, got [2,3]");
}

TEST(Shape, DenseStridesKeepTheOrder) {
  EXPECT_EQ(dense_strides({2, 3}, {1, 2}), (Strides{1, 2}));
  EXPECT_EQ(dense_strides({2, 3}, {1, 7}), (Strides{1, 2}));
  EXPECT_EQ(dense_strides({2, 3}, {10, 3}), (Strides{3, 1}));
  EXPECT_EQ(dense_strides({2, 3}, {0, 1}), (Strides{3, 1}));
  EXPECT_EQ(dense_strides({2, 3, 4, 5}, channels_last_strides({2, 3, 4, 5})),
            channels_last_strides({2, 3, 4, 5}));
  EXPECT_EQ(dense_strides({4, 3, 2}, {1, 8, 4}), (Strides{1, 8, 4}));
}

// A dimension of size 1 says nothing about the order, whatever its stride.
TEST(Shape, DenseStridesNeedOneForEachSize) {
  EXPECT_EQ(error_of([] {
              dense_strides({2, 3}, {1});
            }),
            "dense_strides: there must be a stride for each size, got [1] for [2,3]");
}

TEST(Shape, DenseStridesPastSizeOne) {
  for (int64_t stride : {0, 1, 2, 5, 100}) {
    const Strides dense = dense_strides({2, 1, 3}, {1, stride, 2});
    EXPECT_EQ(dense[0], 1) << stride;
    EXPECT_EQ(dense[2], 2) << stride;
  }
  const Strides flat = dense_strides({2, 3, 1, 4}, channels_last_strides({2, 3, 1, 4}));
  EXPECT_EQ(flat[0], 12);
  EXPECT_EQ(flat[1], 1);
  EXPECT_EQ(flat[3], 3);
}

TEST(Shape, CheckedNumel) {
  EXPECT_EQ(checked_numel("op", {2, 3}, 4), 6);
  EXPECT_EQ(checked_numel("op", {}, 8), 1);
  EXPECT_EQ(checked_numel("op", {0, 5}, 8), 0);
  EXPECT_EQ(checked_numel("op", {int64_t{1} << 59}, 8), int64_t{1} << 59);
  EXPECT_EQ(error_of([] {
              checked_numel("op", {2, -3});
            }),
            "op: sizes can't be negative, got [2,-3]");
  EXPECT_EQ(error_of([] { checked_numel("op", {int64_t{1} << 60}, 8); }),
            "op: the number of bytes must fit in 63 bits, got [1152921504606846976]");
  EXPECT_EQ(error_of([] {
              checked_numel("op", {int64_t{1} << 62, 4});
            }),
            "op: the number of bytes must fit in 63 bits, got [4611686018427387904,4]");
  EXPECT_EQ(error_of([] {
              checked_numel("op", {0, int64_t{1} << 62, 4});
            }),
            "op: the number of bytes must fit in 63 bits, got [0,4611686018427387904,4]");
}

// An empty tensor's strides are computed before anybody has counted its elements.
TEST(Shape, StridesOfSizesThatNoTensorHas) {
  constexpr int64_t kWide = int64_t{1} << 62;
  EXPECT_EQ(contiguous_strides({0, 4, kWide}), (Strides{INT64_MAX, kWide, 1}));
  EXPECT_EQ(dense_strides({4, 0, kWide}, {1, 8, 2})[1], INT64_MAX);
  EXPECT_EQ(channels_last_strides({0, 8, 2, kWide})[0], INT64_MAX);
}

TEST(Shape, WrapDim) {
  EXPECT_EQ(wrap_dim("op", -1, 3), 2);
  EXPECT_EQ(wrap_dim("op", 0, 0), 0);
  EXPECT_EQ(wrap_dim("op", -1, 0), 0);
  EXPECT_EQ(error_of([] { wrap_dim("op", 3, 3); }),
            "op: dimension out of range, got dim 3 of a 3-d tensor");
  EXPECT_EQ(error_of([] { wrap_dim("op", -4, 3); }),
            "op: dimension out of range, got dim -4 of a 3-d tensor");
  EXPECT_EQ(error_of([] { wrap_dim("op", INT64_MIN, 3); }),
            "op: dimension out of range, got dim -9223372036854775808 of a 3-d tensor");
}

TEST(Shape, Broadcast) {
  EXPECT_EQ(broadcast_shapes("op", {2, 3}, {3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes("op", {2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast_shapes("op", {}, {2, 0}), (Shape{2, 0}));
  EXPECT_EQ(broadcast_shapes("op", {1}, {0}), Shape{0});
  EXPECT_EQ(broadcast_shapes("op", {}, {}), Shape{});
  EXPECT_EQ(error_of([] {
              broadcast_shapes("op", {2, 3}, {4});
            }),
            "op: shapes must broadcast, got [2,3] and [4]");
  EXPECT_EQ(error_of([] { broadcast_shapes("op", {0}, {2}); }),
            "op: shapes must broadcast, got [0] and [2]");
}

}  // namespace
}  // namespace aorta
