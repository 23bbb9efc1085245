#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/resource_error.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/forked.h>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <span>

#include <aorta/report/canvas.h>
#include <aorta/tests/special_numbers.h>

namespace aorta::report {
namespace {

constexpr Colour kBlack{0, 0, 0}, kWhite{255, 255, 255};

// What was drawn in white on black, in pixels: each counts by its brightness.
struct Ink {
  double area = 0, x = 0, y = 0;  // the centre of it
  int left = 1 << 20, right = -1, top = 1 << 20, bottom = -1;
};

Ink ink(const Canvas& canvas) {
  const Tensor image = canvas.image().contiguous();
  const auto* pixels = image.data<uint8_t>();
  Ink ink;
  for (int y = 0; y < canvas.height(); ++y)
    for (int x = 0; x < canvas.width(); ++x) {
      const double value = pixels[y * canvas.width() + x] / 255.;
      if (value == 0) continue;
      ink.area += value;
      ink.x += value * (x + 0.5);
      ink.y += value * (y + 0.5);
      ink.left = std::min(ink.left, x), ink.right = std::max(ink.right, x);
      ink.top = std::min(ink.top, y), ink.bottom = std::max(ink.bottom, y);
    }
  ink.x /= ink.area;
  ink.y /= ink.area;
  return ink;
}

template <class Draw>
Ink drawn(const Draw& draw, int width = 200, int height = 120) {
  Canvas canvas(width, height, kBlack);
  draw(canvas);
  return ink(canvas);
}

TEST(Canvas, StartsAsItsBackground) {
  const Tensor image = Canvas(3, 2, {1, 2, 3}).image().contiguous();
  EXPECT_EQ(image.shape(), Shape({3, 2, 3}));
  EXPECT_EQ(image.to_vector<uint8_t>(),
            (std::vector<uint8_t>{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3}));
}

TEST(Canvas, CirclesHaveTheirAreaAndCentre) {
  for (const double radius : {3., 10., 40.5}) {
    const Ink full = drawn([&](Canvas& c) { c.circle(100.25, 60, radius, kWhite); });
    const double area = std::numbers::pi * radius * radius;
    EXPECT_NEAR(full.area, area, 0.4 * 2 * std::numbers::pi * radius) << radius;
    EXPECT_NEAR(full.x, 100.25, 0.05);
    EXPECT_NEAR(full.y, 60, 0.05);
    const Ink ring = drawn([&](Canvas& c) { c.circle(100, 60, radius, kWhite, false); });
    EXPECT_NEAR(ring.area, 2 * std::numbers::pi * radius * 1.5, 0.2 * area + 4) << radius;
  }
}

TEST(Canvas, LinesHaveLengthTimesWidth) {
  for (const double width : {1., 1.5, 2., 6.}) {
    const Ink line = drawn([&](Canvas& c) { c.line(30.5, 20.5, 150.5, 90.5, kWhite, width); });
    const double length = std::hypot(120, 70);
    const double caps = std::numbers::pi * width * width / 4;
    EXPECT_NEAR(line.area, length * width + caps, 0.4 * length) << width;
    EXPECT_NEAR(line.x, 90.5, 0.2);
    EXPECT_NEAR(line.y, 55.5, 0.2);
  }
  // Along the middle of a row of pixels a line of one pixel is that row.
  const Ink row = drawn([](Canvas& c) { c.line(10, 20.5, 60, 20.5, kWhite); });
  EXPECT_NEAR(row.area, 51, 15);
}

TEST(Canvas, RectanglesCoverWhatTheyCover) {
  const Ink whole = drawn([](Canvas& c) { c.rectangle(10, 20, 30, 40, kWhite); });
  EXPECT_DOUBLE_EQ(whole.area, 30 * 40);
  EXPECT_EQ(whole.left, 10);
  EXPECT_EQ(whole.right, 39);
  EXPECT_EQ(whole.top, 20);
  EXPECT_EQ(whole.bottom, 59);
  const Ink part = drawn([](Canvas& c) { c.rectangle(10.25, 20.5, 30.5, 40, kWhite); });
  EXPECT_NEAR(part.area, 30.5 * 40, 0.01 * 30.5 * 40);
  const Ink outline = drawn([](Canvas& c) { c.rectangle(10, 20, 30, 40, kWhite, false); });
  EXPECT_DOUBLE_EQ(outline.area, 2 * 30 + 2 * 38);
}

TEST(Canvas, WhatLiesOutsideIsCutOff) {
  // Half of a line of 2e9 pixels' length lies in the upper left quarter of the plane.
  const Ink diagonal = drawn([](Canvas& c) { c.line(-1e9, -1e9, 1e9, 1e9, kWhite, 2); }, 100, 100);
  EXPECT_NEAR(diagonal.area, 2 * std::hypot(100, 100), 60);
  EXPECT_NEAR(diagonal.x, 50, 0.1);
  EXPECT_NEAR(diagonal.y, 50, 0.1);
  const Ink all = drawn([](Canvas& c) { c.rectangle(-1e12, -1e12, 2e12, 2e12, kWhite); }, 100, 80);
  EXPECT_DOUBLE_EQ(all.area, 100 * 80);
  const Ink none = drawn([&](Canvas& c) {
    c.line(-5, -5, -5, 500, kWhite);
    c.circle(1e9, 50, 10, kWhite);
    c.circle(50, 50, 1e9, kWhite);
    c.circle(50, 50, -1, kWhite);
    c.rectangle(300, 10, 20, 20, kWhite);
    c.rectangle(30, 10, -20, 20, kWhite);
    c.text("far", 1e12, 30, 14, kWhite);
    c.text("far", 10, -1e12, 14, kWhite);
  });
  EXPECT_EQ(none.area, 0);
  const Ink quarter = drawn([](Canvas& c) { c.circle(0, 0, 50, kWhite); });
  EXPECT_NEAR(quarter.area, std::numbers::pi * 2500 / 4, 30);
}

TEST(Canvas, WhatIsNotFiniteIsAGap) {
  const std::pair<double, double> points[] = {{10, 10.5},   {60, 10.5}, {kNaN, 5}, {70, 40.5},
                                              {kInf, 40.5}, {80, 90.5}, {90, 90.5}};
  const Ink two = drawn([&](Canvas& c) { c.polyline(points, kWhite, 2); });
  const Ink apart = drawn([](Canvas& c) {
    c.line(10, 10.5, 60, 10.5, kWhite, 2);
    c.line(80, 90.5, 90, 90.5, kWhite, 2);
  });
  EXPECT_GT(two.area, 100);
  EXPECT_DOUBLE_EQ(two.area, apart.area);
  const Ink none = drawn([&](Canvas& c) {
    c.line(kNaN, 0, 10, 10, kWhite);
    c.line(0, 0, 10, 10, kWhite, kNaN);
    c.circle(10, kInf, 5, kWhite);
    c.circle(10, 10, kNaN, kWhite);
    c.rectangle(0, 0, kNaN, 5, kWhite);
    c.text("nan", kNaN, 10, 12, kWhite);
    c.text("nan", 10, 10, kNaN, kWhite);
    c.polyline({}, kWhite);
    c.polyline(std::span(points).first(1), kWhite);
  });
  EXPECT_EQ(none.area, 0);
}

TEST(Canvas, AClosedLineHasNoSeamWhereItIsPaintedTwice) {
  // Half covered pixels of two strokes in one polyline are covered once, not twice.
  const std::pair<double, double> there_and_back[] = {{10, 10}, {60, 35}, {10, 10}};
  const Ink once = drawn([](Canvas& c) { c.line(10, 10, 60, 35, kWhite, 2); });
  const Ink twice = drawn([&](Canvas& c) { c.polyline(there_and_back, kWhite, 2); });
  EXPECT_NEAR(once.area, twice.area, 1);
}

TEST(Canvas, TextStandsWhereItsAnchorSays) {
  for (const double size : {10., 14., 33.}) {
    const auto at = [&](Anchor anchor, double x) {
      return drawn([&](Canvas& c) { c.text("HELM", x, 80, size, kWhite, anchor); }, 300);
    };
    const double width = Canvas::text_width("HELM", size);
    const Ink left = at(Anchor::left, 20), right = at(Anchor::right, 280);
    const Ink middle = at(Anchor::middle, 150);
    EXPECT_GE(left.left, 19);
    EXPECT_LE(left.left, 20 + 0.2 * size);
    EXPECT_LE(right.right, 280);
    EXPECT_GE(right.right, 279 - 0.2 * size);
    EXPECT_NEAR(middle.x, 150, 0.12 * size);
    EXPECT_NEAR(left.right - left.left + 1, width, 0.3 * size);
    // Capitals stand on the baseline and are 0.7 of the size high.
    EXPECT_NEAR(left.bottom + 1, 80, 1.01);
    EXPECT_NEAR(left.bottom + 1 - left.top, 0.7 * size, 1.5);
  }
  EXPECT_EQ(Canvas::text_width("", 12), 0);
  EXPECT_NEAR(Canvas::text_width("mmmmmmmmmm", 12), 10 * Canvas::text_width("m", 12), 12);
}

TEST(Canvas, TextOfAnyBytesIsDrawn) {
  // Likenesses, and one question mark a letter that the font has not.
  EXPECT_EQ(Canvas::text_width("±2−1", 14), Canvas::text_width("+-2-1", 14));
  EXPECT_EQ(Canvas::text_width("日本é", 14), Canvas::text_width("???", 14));
  EXPECT_EQ(Canvas::text_width("é\xff\xed\xa0\x80", 14), Canvas::text_width("?????", 14));
  EXPECT_EQ(Canvas::text_width("a\tb\n", 14), Canvas::text_width("a b ", 14));
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  EXPECT_GT(drawn([&](Canvas& c) { c.text(bytes, 5, 50, 12, kWhite); }, 2500).area, 500);
}

TEST(Canvas, ColoursBlend) {
  Canvas canvas(8, 2, {100, 0, 200});
  canvas.rectangle(0.5, 0, 1, 2, {200, 100, 0});
  const Tensor image = canvas.image().contiguous();
  const auto pixel = [&](int x) {
    const auto* data = image.data<uint8_t>() + x;
    return Colour{data[0], data[16], data[32]};
  };
  EXPECT_EQ(pixel(0), (Colour{150, 50, 100}));
  EXPECT_EQ(pixel(1), (Colour{150, 50, 100}));
  EXPECT_EQ(pixel(2), (Colour{100, 0, 200}));
}

TEST(Canvas, PicturesAreCopiedOrEnlarged) {
  const Tensor grey = tensor(std::vector<uint8_t>{10, 20, 30, 40, 50, 60}, {1, 2, 3});
  Canvas canvas(4, 3, kBlack);
  canvas.picture(grey, 1, 1);
  const std::vector<uint8_t> plane = {0, 0, 0, 0, 0, 10, 20, 30, 0, 40, 50, 60};
  std::vector<uint8_t> expected;
  for (int c = 0; c < 3; ++c) expected.insert(expected.end(), plane.begin(), plane.end());
  EXPECT_EQ(canvas.image().to_vector<uint8_t>(), expected);

  // Cut off on the left and above; (h, w) alike.
  Canvas cut(2, 1, kBlack);
  cut.picture(grey.select(0, 0), -1, -1);
  EXPECT_EQ(cut.image().slice(0, 0, 1).to_vector<uint8_t>(), (std::vector<uint8_t>{50, 60}));

  // Whole multiples repeat pixels; one of the sizes gives the other.
  Canvas large(6, 4, kBlack);
  large.picture(grey, 0, 0, 6);
  EXPECT_EQ(large.image().slice(0, 2, 3).to_vector<uint8_t>(),
            (std::vector<uint8_t>{10, 10, 20, 20, 30, 30, 10, 10, 20, 20, 30, 30,
                                  40, 40, 50, 50, 60, 60, 40, 40, 50, 50, 60, 60}));

  // Colours keep their channel, whatever the strides.
  const Tensor colours =
      tensor(std::vector<uint8_t>{1, 2, 3, 4, 5, 6}, {1, 2, 3}).permute({2, 0, 1});
  Canvas coloured(2, 1, kBlack);
  coloured.picture(colours, 0, 0);
  EXPECT_EQ(coloured.image().to_vector<uint8_t>(), (std::vector<uint8_t>{1, 4, 2, 5, 3, 6}));
}

TEST(Canvas, ResizedRampsStayRamps) {
  // Linear interpolation of a linear ramp is the ramp, away from the edges.
  std::vector<uint8_t> values;
  for (int y = 0; y < 10; ++y)
    for (int x = 0; x < 20; ++x) values.push_back(static_cast<uint8_t>(5 * x + 10 * y));
  const Tensor ramp = tensor<uint8_t>(values, {1, 10, 20});
  for (const auto& [width, height] : {std::pair(30, 15), {15, 8}}) {
    Canvas canvas(width, height, kBlack);
    canvas.picture(ramp, 0, 0, width, height);
    const Tensor image = canvas.image().contiguous();
    const auto* pixels = image.data<uint8_t>();
    for (int y = 2; y < height - 2; ++y)
      for (int x = 2; x < width - 2; ++x)
        EXPECT_NEAR(pixels[y * width + x],
                    5 * ((x + 0.5) * 20 / width - 0.5) + 10 * ((y + 0.5) * 10 / height - 0.5), 1.5)
            << x << " " << y;
  }
}

TEST(Canvas, NamesWhatIsWrong) {
  Canvas canvas(10, 10, kBlack);
  EXPECT_EQ(error_of([] { Canvas(0, 10, kBlack); }),
            "canvas: size must be 1 to 32767 pixels each way, got 0 x 10");
  EXPECT_EQ(error_of([] { Canvas(10, 40000, kBlack); }),
            "canvas: size must be 1 to 32767 pixels each way, got 10 x 40000");
  EXPECT_EQ(error_of([&] {
              canvas.picture(zeros({3, 4, 4}), 0, 0);
            }),
            "canvas: picture must be u8 (1|3, h, w), got f32 [3,4,4]");
  EXPECT_EQ(error_of([&] {
              canvas.picture(zeros({4, 4, 4}, {.dtype = u8}), 0, 0);
            }),
            "canvas: picture must be u8 (1|3, h, w), got u8 [4,4,4]");
  EXPECT_EQ(error_of([&] {
              canvas.picture(zeros({3, 0, 4}, {.dtype = u8}), 0, 0);
            }),
            "canvas: picture must be u8 (1|3, h, w), got u8 [3,0,4]");
  EXPECT_EQ(error_of([&] { canvas.picture(Tensor(), 0, 0); }),
            "canvas: picture must be defined, got an undefined tensor");
  EXPECT_EQ(error_of([&] {
              canvas.picture(zeros({3, 4, 4}, {.dtype = u8}), 0, 0, -1);
            }),
            "canvas: picture's size must be 0 to 32767 pixels each way, got 4 x 4 as -1 x 0");
  // Far away, at the ends of int.
  canvas.picture(zeros({3, 4, 4}, {.dtype = u8}), INT32_MAX, INT32_MIN, 8);
  EXPECT_EQ(ink(canvas).area, 0);
}

TEST(Canvas, SaysThatThereIsNoMemory) {
#ifndef __SANITIZE_ADDRESS__  // which reserves terabytes
  const int status = forked([] {
    Canvas canvas(64, 64, kWhite);
    const Tensor image = zeros({3, 7, 7}, {.dtype = u8});
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (32 << 20);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    EXPECT_THROW(canvas.picture(image, 0, 0, 4096, 4096), ResourceError);
    EXPECT_EQ(error_of([&] { canvas.picture(image, 0, 0, 4096, 4096); }),
              "canvas: there must be memory to draw in (ulimit -v and -d limit it), got too little "
              "for 4096 x 4096 pixels");
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(status, 0);
#else
  GTEST_SKIP() << "the address sanitizer has no limit of memory";
#endif
}

}  // namespace
}  // namespace aorta::report
