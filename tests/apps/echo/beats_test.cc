#include <aorta/aorta.h>
#include <aorta/apps/echo/measure/beats.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <aorta/tests/apps/echo/test_files.h>

namespace aorta::echo {
namespace {

TEST(Beats, PeaksAreScipys) {
  int count = 0, peaks = 0;
  for (const auto& [name, arrays] : echo_fixture()) {
    if (!name.starts_with("peaks")) continue;
    const std::vector<double> values = arrays.at("values").to_vector<double>();
    const auto found = find_peaks(values, {.distance = arrays.at("distance").item<double>(),
                                           .prominence = arrays.at("prominence").item<double>()});
    EXPECT_EQ(found, arrays.at("peaks").to_vector<int64_t>()) << name;
    ++count;
    peaks += static_cast<int>(found.size());
  }
  EXPECT_EQ(count, 40);
  EXPECT_GT(peaks, 300);
}

// Areas of a heart of that many frames a beat: largest in frame `phase` of each, smallest 0.4 beats
// later.
std::vector<double> heart(int frames, double beat, double phase) {
  std::vector<double> areas;
  for (int i = 0; i < frames; ++i) {
    double part = (i - phase) / beat;
    part -= std::floor(part);
    const double rise = part < 0.4 ? part / 0.4 : 1 - (part - 0.4) / 0.6;
    areas.push_back(1500 - 600 * rise);
  }
  return areas;
}

TEST(Beats, AreDiastolesAndTheSystolesAfterThem) {
  const auto beats = find_beats(heart(200, 50, 15), 50);
  ASSERT_EQ(beats.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(beats[i].diastole, 15 + 50 * static_cast<int64_t>(i));
    EXPECT_EQ(beats[i].systole, 35 + 50 * static_cast<int64_t>(i));
    EXPECT_FALSE(beats[i].cut);
  }
}

TEST(Beats, OfAVideoThatBeginsInContractionAreCut) {
  const auto beats = find_beats(heart(120, 50, -5), 50);
  ASSERT_EQ(beats.size(), 2u);
  EXPECT_EQ(beats[0].diastole, 0);
  EXPECT_EQ(beats[0].systole, 15);
  EXPECT_TRUE(beats[0].cut);
  EXPECT_EQ(beats[1].diastole, 45);
  EXPECT_EQ(beats[1].systole, 65);
  EXPECT_FALSE(beats[1].cut);
}

// The first area may be a little smaller than the second, by chance.
TEST(Beats, OfAVideoThatBeginsInContractionAreCutWithNoiseToo) {
  std::vector<double> areas = heart(120, 50, -8);
  areas[1] = areas[0] + 1;
  const auto beats = find_beats(areas, 50);
  ASSERT_EQ(beats.size(), 2u);
  EXPECT_EQ(beats[0].diastole, 1);
  EXPECT_TRUE(beats[0].cut);
  EXPECT_FALSE(beats[1].cut);
}

// A frame in which the network finds nothing, or a sliver, or what isn't there, is no systole and
// no diastole, and hides none.
TEST(Beats, AreNotMadeOfFramesThatSayNothing) {
  const std::vector<double> whole = heart(200, 50, 15);
  const std::vector<Beat> wanted = find_beats(whole, 50);
  for (const int64_t frame : {20, 28, 30, 42, 60, 75, 90})
    for (const double area : {0., 40., 4000.})
      for (const int64_t length : {1, 3}) {
        if (length > 1 && area > 0) continue;
        std::vector<double> areas = whole;
        std::fill_n(areas.begin() + frame, length, area);
        const std::vector<Beat> beats = find_beats(areas, 50);
        ASSERT_EQ(beats.size(), wanted.size()) << frame << " " << area;
        for (size_t i = 0; i < beats.size(); ++i) {
          EXPECT_EQ(beats[i].diastole, wanted[i].diastole) << frame << " " << area;
          EXPECT_EQ(beats[i].systole, wanted[i].systole) << frame << " " << area;
        }
      }
  // At an end itself the frame beside it stands for it.
  std::vector<double> areas = whole;
  areas[35] = 0;
  EXPECT_NEAR(find_beats(areas, 50)[0].systole, 35, 1);
  areas[15] = 0;
  EXPECT_NEAR(find_beats(areas, 50)[0].diastole, 15, 1);
  EXPECT_TRUE(find_beats(std::vector<double>(60, 0.), 50).empty());
}

TEST(Beats, AreKnownAtOtherFrameRates) {
  // 100 beats a minute in 25 frames a second: closer than 20 frames.
  const auto areas = heart(92, 15, 4);
  EXPECT_EQ(find_systoles(areas, 25).size(), 6u);
  EXPECT_LT(find_systoles(areas, 0).size(), 6u);
  // Half a beat is no beat.
  EXPECT_EQ(find_systoles(heart(500, 100, 10), 100).size(), 5u);
}

TEST(Beats, NeedMoreThanHalfOfTheRange) {
  std::vector<double> areas = heart(150, 50, 10);
  const auto expected = find_systoles(areas);
  areas[50] += 250;  // a dip of less than half the range on both sides of it
  EXPECT_EQ(find_systoles(areas), expected);
}

TEST(Beats, OfNothingAreNone) {
  EXPECT_TRUE(find_beats({}).empty());
  EXPECT_TRUE(find_beats(std::vector<double>(1, 5.)).empty());
  EXPECT_TRUE(find_beats(std::vector<double>(60, 5.)).empty());
  EXPECT_EQ(error_of([] { find_peaks({}, {.distance = 0.5}); }),
            "find_peaks: distance must be 1 at least, got 0.5");
}

TEST(MeanOfBeats, HasTheRangeOfBeatsAndOfViews) {
  using Beats = std::vector<std::vector<double>>;
  const auto expect = [](const Beats& beats, double value, double low, double high) {
    const Interval found = mean_of_beats(beats);
    EXPECT_NEAR(found.value, value, 1e-12);
    EXPECT_NEAR(found.low, low, 1e-12);
    EXPECT_NEAR(found.high, high, 1e-12);
  };
  // Two beats: one of them twice in half of the samples.
  expect({{60}, {64}}, 62, 60, 64);
  // One beat: the range is that of its views.
  expect({{58, 61, 64}}, 61, 58, 64);
  // Beats that agree, each in two views.
  expect({{50, 54}, {50, 54}, {50, 54}}, 52, 50, 54);
  // A view is the same for all beats: no sample mixes 40 of one with 60 of the other.
  expect({{40, 60}, {60, 40}}, 50, 40, 60);
  // Among 27 samples of three beats, those of the lowest alone and of the highest alone are 1 each.
  expect({{1}, {2}, {3}}, 2, 4. / 3, 8. / 3);
  const double nan = std::nan("");
  expect({{nan, 50}, {60, 70}}, 60, 50, 70);
}

TEST(MeanOfBeats, SaysWhatIsNotKnown) {
  const auto of = [](const std::vector<std::vector<double>>& beats) {
    return mean_of_beats(beats);
  };
  EXPECT_TRUE(std::isnan(of({}).value));
  EXPECT_TRUE(std::isnan(of({{std::nan("")}}).value));
  EXPECT_EQ(of({{55}}).value, 55);
  EXPECT_TRUE(std::isnan(of({{55}}).low) && std::isnan(of({{55}}).high));
  EXPECT_EQ(error_of([&] {
              of({{55}, {55, 56}});
            }),
            "mean_of_beats: beats must have the same views, got 2 and 1");
}

}  // namespace
}  // namespace aorta::echo
