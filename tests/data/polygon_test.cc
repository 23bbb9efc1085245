#include <aorta/data/images/polygon.h>

#include <cmath>

#include <aorta/tests/data/test_files.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

TEST(Polygon, IsScikitImages) {
  const auto cases = fixture("polygon.npz");
  EXPECT_EQ(cases.size(), 199u);
  for (const auto& [name, arrays] : cases) {
    const Tensor& corners = arrays.at("points");
    std::vector<Point> points;
    for (int64_t i = 0; i < corners.size(0); ++i)
      points.push_back({corners.at<int32_t>({i, 0}), corners.at<int32_t>({i, 1})});
    const Tensor mask = zeros(arrays.at("mask").shape(), {.dtype = u8});
    fill_polygon(mask, points);
    EXPECT_EQ(mask.to_vector<int>(), arrays.at("mask").to_vector<int>()) << name;
  }
}

TEST(Polygon, SetsItsPixelsAndNoOthers) {
  const Tensor mask = full({6, 7}, 5, {.dtype = u8});
  const Point square[] = {{2, 1}, {4, 1}, {4, 3}, {2, 3}};
  fill_polygon(mask, square, 9);
  for (int64_t y = 0; y < 6; ++y)
    for (int64_t x = 0; x < 7; ++x)
      EXPECT_EQ(int{mask.at<uint8_t>({y, x})}, x >= 2 && x <= 4 && y >= 1 && y <= 3 ? 9 : 5);
  fill_polygon(mask, {}, 1);
  EXPECT_EQ(polygon_area(square), 4);
  const Point triangle[] = {{0, 0}, {0, 5}, {3, 0}};
  EXPECT_EQ(polygon_area(triangle), 7.5);
}

// numpy.rint's halves go to the even neighbour.
TEST(Polygon, RoundsAsNumpyDoes) {
  EXPECT_EQ(round_coordinate(0.5), 0);
  EXPECT_EQ(round_coordinate(1.5), 2);
  EXPECT_EQ(round_coordinate(-2.5), -2);
  EXPECT_EQ(round_coordinate(33.5455), 34);
  EXPECT_EQ(error_of([] { round_coordinate(1e10); }),
            "polygon: coordinates must lie within 2^29 of 0, got 1e+10");
  EXPECT_TRUE(error_of([] { round_coordinate(std::nan("")); }).starts_with("polygon: "));
}

TEST(Polygon, SaysWhatIsWrong) {
  const Point far[] = {{0, 0}, {5, (1 << 29) + 1}};
  EXPECT_EQ(error_of([&] {
              fill_polygon(zeros({4, 4}, {.dtype = u8}), far);
            }),
            "fill_polygon: corners must lie within 2^29 of 0, got (5, 536870913)");
  EXPECT_EQ(error_of([&] {
              fill_polygon(zeros({4, 4}), far);
            }),
            "fill_polygon: mask must be u8 (H, W), row-major on the CPU, got f32 [4,4] on cpu");
}

}  // namespace
}  // namespace aorta::data
