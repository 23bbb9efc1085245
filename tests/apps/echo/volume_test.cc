#include <aorta/aorta.h>
#include <aorta/apps/echo/measure/volume.h>
#include <aorta/data/csv.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>

#include <aorta/tests/apps/echo/test_files.h>

namespace aorta::echo {
namespace {

// The pixels whose middles lie inside an ellipse that is turned by `angle`, and of it the part
// between two planes across the long axis: -1 and 1 are its ends.
struct Ellipse {
  double x, y, long_half, short_half, angle;
  double from = -1, to = 1;

  Tensor mask(int64_t side = 112) const {
    const Tensor mask = zeros({side, side}, {.dtype = u8});
    for (int64_t row = 0; row < side; ++row)
      for (int64_t column = 0; column < side; ++column) {
        const double dx = static_cast<double>(column) - x, dy = static_cast<double>(row) - y;
        const double along = (dx * std::cos(angle) + dy * std::sin(angle)) / long_half;
        const double across = (dy * std::cos(angle) - dx * std::sin(angle)) / short_half;
        mask.at<uint8_t>({row, column}) =
            along * along + across * across <= 1 && along >= from && along <= to;
      }
    return mask;
  }
  // The volume of the body of revolution about the long axis.
  double volume() const {
    const auto integral = [](double t) { return t - t * t * t / 3; };
    return std::numbers::pi * long_half * short_half * short_half * (integral(to) - integral(from));
  }
};

TEST(Volume, OfEllipsoidsIsKnownWithinTwoPercent) {
  double worst = 0;
  int count = 0;
  for (const double long_half : {24., 30.7, 42.})
    for (const double ratio : {0.5, 0.6, 0.75, 0.9})
      for (int turn = 0; turn < 12; ++turn) {
        const Ellipse ellipse{.x = 55.3 + 0.09 * turn,
                              .y = 56.8 - 0.13 * turn,
                              .long_half = long_half,
                              .short_half = ratio * long_half,
                              .angle = turn * std::numbers::pi / 12 + 0.01};
        const Disks disks = measure_disks(ellipse.mask());
        const double error = disks.volume / ellipse.volume() - 1;
        worst = std::max(worst, std::abs(error));
        EXPECT_LT(std::abs(error), 0.02) << long_half << " " << ratio << " " << turn;
        EXPECT_NEAR(disks.length, 2 * long_half, 1.2);
        ++count;
      }
  EXPECT_EQ(count, 144);
  RecordProperty("worst_percent", std::to_string(100 * worst));
}

TEST(Volume, HoldsForOtherSizesOfPictures) {
  const Ellipse ellipse{
      .x = 300, .y = 250, .long_half = 200, .short_half = 90, .angle = 1.1, .from = -1, .to = 1};
  EXPECT_NEAR(measure_disks(ellipse.mask(600)).volume / ellipse.volume(), 1, 0.003);
}

// A ventricle: an ellipsoid whose base is cut off by the mitral plane.
TEST(Volume, OfCutEllipsoidsIsKnownAndTheBaseIsWhereTheyAreCut) {
  for (const double cut : {0., 0.3, 0.6})
    for (int turn = 0; turn < 16; ++turn) {
      const double angle = turn * std::numbers::pi / 8 + 0.05;
      const Ellipse ellipse{.x = 56,
                            .y = 55.4,
                            .long_half = 40,
                            .short_half = 19,
                            .angle = angle,
                            .from = -1,
                            .to = cut};
      const Disks disks = measure_disks(ellipse.mask());
      EXPECT_NEAR(disks.volume / ellipse.volume(), 1, 0.03) << cut << " " << turn;
      EXPECT_NEAR(disks.apex.x, 56 - 40 * std::cos(angle), 2);
      EXPECT_NEAR(disks.apex.y, 55.4 - 40 * std::sin(angle), 2);
      EXPECT_NEAR(disks.base.x, 56 + cut * 40 * std::cos(angle), 2);
      EXPECT_NEAR(disks.base.y, 55.4 + cut * 40 * std::sin(angle), 2);
      EXPECT_LT(disks.widths.front(), disks.widths.back());
    }
}

TEST(Volume, OfACylinderIsExact) {
  const Tensor mask = zeros({50, 80}, {.dtype = u8});
  mask.narrow(0, 20, 9).narrow(1, 11, 57).fill_(1);  // 57 x 9
  const Disks disks = measure_disks(mask);
  EXPECT_NEAR(disks.volume, std::numbers::pi / 4 * 81 * 57, 1e-6);
  EXPECT_EQ(disks.area, 57 * 9);
  EXPECT_NEAR(disks.length, 57, 1e-9);
  EXPECT_NEAR(std::abs(disks.apex.x - disks.base.x), 57, 1e-9);
  for (const double width : disks.widths) EXPECT_NEAR(width, 9, 1e-9);
}

TEST(Volume, OfNothingIsZeroAndOfAPixelIsOneCylinder) {
  const Tensor mask = zeros({7, 9}, {.dtype = u8});
  EXPECT_EQ(measure_disks(mask).volume, 0);
  EXPECT_TRUE(std::isnan(ejection_fraction(0, 0)));
  mask.at<uint8_t>({3, 8}) = 255;
  EXPECT_NEAR(measure_disks(mask).volume, std::numbers::pi / 4, 1e-9);
  EXPECT_EQ(ejection_fraction(80, 20), 75);
  EXPECT_EQ(ejection_fraction(50, 100), -100);
}

TEST(Volume, LeavesOutWhatLiesApartAndFillsHoles) {
  const Ellipse ellipse{.x = 50, .y = 50, .long_half = 30, .short_half = 16, .angle = 0.6};
  const Tensor whole = ellipse.mask();
  Tensor spotted = whole.clone();
  spotted.narrow(0, 45, 6).narrow(1, 46, 7).fill_(0);    // a papillary muscle
  spotted.narrow(0, 90, 12).narrow(1, 95, 12).fill_(1);  // an island
  EXPECT_EQ(measure_disks(spotted).volume, measure_disks(whole).volume);
}

TEST(Volume, CleansAsScipyDoes) {
  int count = 0;
  for (const auto& [name, arrays] : echo_fixture()) {
    if (!name.starts_with("mask")) continue;
    EXPECT_EQ(clean_mask(arrays.at("given")).to_vector<int>(),
              arrays.at("cleaned").to_vector<int>())
        << name;
    ++count;
  }
  EXPECT_EQ(count, 5);
}

TEST(Volume, RefusesWhatIsNoMask) {
  EXPECT_EQ(error_of([] {
              measure_disks(zeros({3, 4}));
            }),
            "clean_mask: mask must be u8 (H, W), got f32 [3,4]");
  const Chord axis{0, 0, 0, 9};
  EXPECT_EQ(error_of([&] {
              traced_volume({&axis, 1});
            }),
            "traced_volume: a tracing must have its long axis and a chord at least, got 1 rows");
}

TEST(Volume, OfATracingIsTheFormula) {
  std::vector<Chord> rows = {{10, 0, 10, 40}};
  for (int i = 0; i < 20; ++i) rows.push_back({10 - 6, 1. + 2 * i, 10 + 6, 1. + 2 * i});
  EXPECT_NEAR(traced_volume(rows), std::numbers::pi * 36 * 40, 1e-9);
}

// EDV and ESV of the table are volumes of its tracings, in pixels^3; masks of the tracings, drawn
// with their edges, are half a pixel wider on each side, which leaves the EF.
TEST(Volume, OfRealTracingsIsTheTablesOwn) {
  const char* folder = std::getenv("AORTA_ECHO");
  if (!folder || !*folder) GTEST_SKIP() << "AORTA_ECHO names no folder";
  data::EchoOptions options = data::EchoOptions::segmentation(data::EchoSplit::all);
  options.targets = {"LargeTrace", "SmallTrace", "EDV", "ESV", "EF"};
  const data::Echo echo(folder, options);
  const data::CsvTable tracings = data::read_csv(std::string(folder) + "/VolumeTracings.csv");
  data::DataLoader loader(data::make_dataset<data::Echo>(std::string(folder), options));
  int64_t i = 0;
  double error = 0;
  for (const auto& batch : loader) {
    for (const bool large : {true, false}) {
      std::vector<Chord> rows;
      const int64_t frame = (large ? echo.large_trace(i) : echo.small_trace(i)).frame;
      for (int64_t row = 0; row < tracings.rows(); ++row) {
        if (tracings.text(row, 0) != echo.file_name(i) || tracings.integer(row, 5) != frame)
          continue;
        rows.push_back({tracings.number(row, 1), tracings.number(row, 2), tracings.number(row, 3),
                        tracings.number(row, 4)});
      }
      const double told = batch[large ? "EDV" : "ESV"].item<double>();
      EXPECT_NEAR(traced_volume(rows) / told, 1, 0.01) << echo.file_name(i);
      EXPECT_NEAR(measure_disks(batch[large ? "LargeTrace" : "SmallTrace"][0]).volume / told, 1.08,
                  0.08);
    }
    const double ef = ejection_fraction(measure_disks(batch["LargeTrace"][0]).volume,
                                        measure_disks(batch["SmallTrace"][0]).volume);
    EXPECT_NEAR(ef, batch["EF"].item<double>(), 3);
    error += std::abs(ef - batch["EF"].item<double>());
    ++i;
  }
  EXPECT_LT(error / static_cast<double>(i), 1);
}

}  // namespace
}  // namespace aorta::echo
