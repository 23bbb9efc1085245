#include <aorta/aorta.h>
#include <aorta/apps/echo/synth/speckle.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace aorta::echo {
namespace {

constexpr double kPi = std::numbers::pi;

// Half an ellipse's outline from its left end over the apex to the right one, and the other half.
Outline ellipse(double half_width, double half_length, double tilt) {
  Outline outline;
  for (int i = 1; i < 4000; ++i) {
    const double angle = kPi * (1.5 - 2.0 * i / 4000);  // the apex is half way
    const double x = half_width * std::cos(angle), y = half_length * std::sin(angle);
    outline.push_back({60 + x * std::cos(tilt) + y * std::sin(tilt),
                       50 - (y * std::cos(tilt) - x * std::sin(tilt))});
  }
  return outline;
}

TEST(Tracing, HasAnEllipsoidsVolume) {
  for (const double tilt : {0.0, 0.3, -0.5}) {
    const Tracing tracing = trace(ellipse(14, 30, tilt), 1999);
    EXPECT_NEAR(disk_volume(tracing), 4 * kPi / 3 * 14 * 14 * 30,
                0.002 * 4 * kPi / 3 * 14 * 14 * 30);
    EXPECT_NEAR(std::hypot(tracing.apex.x - tracing.base.x, tracing.apex.y - tracing.base.y), 60,
                1e-3);
  }
}

TEST(Heartbeat, ContractsAndFills) {
  for (const double rate : {50.0, 75.0, 110.0}) {
    const Heartbeat heart{.beat = 60 / rate, .systole = 0.36 - 0.001 * rate};
    EXPECT_EQ(heart.contraction(0), 0);
    EXPECT_NEAR(heart.contraction(heart.systole), 1, 1e-12);
    double before = 0;
    for (double t = 0; t < heart.beat; t += 0.001) {
      const double now = heart.contraction(t);
      if (t <= heart.systole || t > heart.systole + 0.001) {
        EXPECT_GE(t <= heart.systole ? now - before : before - now, -1e-12) << rate << " " << t;
      }
      EXPECT_NEAR(now, before, 0.03);  // no jump within a millisecond
      EXPECT_NEAR(now, heart.contraction(t + 3 * heart.beat), 1e-9);
      before = now;
    }
    EXPECT_LT(before, 0.01);
    // Valves are shut in systole and wide open in early filling.
    EXPECT_EQ(heart.opening(0.5 * heart.systole), 0);
    EXPECT_EQ(heart.opening(heart.systole), 0);
    double widest = 0;
    for (double t = heart.systole; t < heart.beat; t += 0.005)
      widest = std::max(widest, heart.opening(t));
    EXPECT_GT(widest, 0.95);
  }
}

TEST(Phantom, EjectsWhatWasChosen) {
  const Phantom phantom{Anatomy{}};
  const auto volume = [&](double contraction) {
    return disk_volume(trace(phantom.ventricle(contraction), phantom.apex_index()));
  };
  double before = 0;
  for (const double chosen : {0.0, 0.2, 0.4, 0.6, 0.7}) {
    const double contraction = contraction_for(phantom, chosen);
    EXPECT_NEAR(1 - volume(contraction) / volume(0), chosen, 1e-9);
    EXPECT_GE(contraction, before);
    before = contraction;
  }
  EXPECT_THROW(contraction_for(phantom, 0.95), Error);
}

// x'^2 - R'^2 = x^2 - R^2: what lies between the cavity and a place in the wall keeps its volume.
TEST(Phantom, MuscleKeepsItsVolume) {
  Anatomy anatomy;
  anatomy.recesses = 0;
  const Phantom phantom(anatomy);
  for (const double part : {0.3, 0.5, 0.7}) {
    const double y = anatomy.length * (1 - part);
    const Phantom::Particle far = phantom.particle({10, y});
    const double border = far.border;
    const Point inner = Phantom::move(phantom.particle({border, y}), 0.8);
    const Point wall = Phantom::move(phantom.particle({border + 0.5, y}), 0.8);
    EXPECT_LT(inner.x, 0.8 * border);
    EXPECT_GT(wall.x - inner.x, 0.6);  // thicker than the 0.5 cm that it was
    const double area = 0.5 * (2 * border + 0.5);
    EXPECT_NEAR(wall.x * wall.x - inner.x * inner.x, area, 0.06 * area);
    // Far away nothing moves across, and what is at the apex stays.
    EXPECT_NEAR(Phantom::move(far, 0.8).x, 10, 0.05);
  }
  const Point apex = Phantom::move(phantom.particle({0, anatomy.length}), 1);
  EXPECT_NEAR(apex.y, anatomy.length, 1e-6);
  const Point base = Phantom::move(phantom.particle({0, 0}), 1);
  EXPECT_NEAR(base.y, anatomy.longitudinal_motion * anatomy.length, 1e-5);
}

// What lies between the cavity's border and the compact wall loses its blood, at most nine tenths.
TEST(Phantom, RecessesLoseTheirBlood) {
  Anatomy anatomy;
  anatomy.lateral_trabeculae = 0.4;
  anatomy.recesses = 0.6;
  const Phantom phantom(anatomy);
  const double y = anatomy.length / 2, border = phantom.particle({10, y}).border;
  const auto ring = [&](double depth, double contraction) {
    const double inner = Phantom::move(phantom.particle({border, y}), contraction).x;
    const double outer = Phantom::move(phantom.particle({border + depth, y}), contraction).x;
    return outer * outer - inner * inner;
  };
  EXPECT_NEAR(ring(0.4, 1) / ring(0.4, 0), 1 - 0.6 * 0.9, 0.02);
  EXPECT_NEAR(ring(0.2, 1) / ring(0.2, 0), 1 - 0.6 * 0.9, 0.02);
  // The wall behind it stays whole.
  EXPECT_NEAR((ring(1, 1) - ring(0.4, 1)) / (ring(1, 0) - ring(0.4, 0)), 1, 0.06);
  double before = 1;
  for (const double contraction : {0.1, 0.25, 0.4, 0.65}) {
    const double now = ring(0.4, contraction) / ring(0.4, 0);
    EXPECT_LE(now, before);
    before = now;
  }
}

TEST(Phantom, TheApexSinks) {
  Anatomy anatomy;
  anatomy.apical_motion = 0.1;
  const Phantom phantom(anatomy);
  const double length = anatomy.length;
  const auto rises = [&](double y) { return Phantom::move(phantom.particle({0, y}), 1).y - y; };
  EXPECT_NEAR(rises(length), -0.1 * length, 1e-5);
  EXPECT_NEAR(rises(length + anatomy.apex_wall), 0, 1e-5);
  EXPECT_NEAR(rises(0), anatomy.longitudinal_motion * length, 1e-5);
  // What lies above another place stays above it.
  for (double y = -2; y < length + 2; y += 0.05) EXPECT_GT(rises(y + 0.05) + 0.05, rises(y)) << y;
}

// But for the apex, where they trace the edge.
TEST(Phantom, PeopleTraceInsideOfTheEdge) {
  Anatomy anatomy;
  anatomy.papillary = false;
  anatomy.margin = 0.2;
  const Phantom phantom(anatomy);
  const double y = anatomy.length / 2;
  for (const double side : {-1.0, 1.0}) {
    const double border = phantom.particle({side * 10, y}).border;
    EXPECT_EQ(phantom.kind({side * (border + 0.15), y}).tissue, Tissue::left_blood);
    EXPECT_EQ(phantom.kind({side * (border + 0.24), y}).tissue, Tissue::trabeculae);
  }
  EXPECT_EQ(phantom.kind({0, anatomy.length - 0.05}).tissue, Tissue::left_blood);
  EXPECT_EQ(phantom.kind({0, anatomy.length + 0.05}).tissue, Tissue::trabeculae);
  // It keeps its volume, as muscle does.
  const double border = phantom.particle({10, y}).border;
  const auto ring = [&](double contraction) {
    const double inner = Phantom::move(phantom.particle({border, y}), contraction).x;
    const double outer = Phantom::move(phantom.particle({border + 0.2, y}), contraction).x;
    return outer * outer - inner * inner;
  };
  EXPECT_NEAR(ring(0.8) / ring(0), 1, 0.02);
}

// Else its border would be brighter than any tissue is.
TEST(Phantom, NoTissueLiesBeforeItsBorder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Generator generator(seed);
    Draw draw(generator);
    const Phantom phantom(Anatomy::random(draw));
    for (double y = -8; y < 12; y += 0.1)
      for (double x = -8; x < 8; x += 0.1)
        ASSERT_GE(phantom.kind({x, y}).depth, 0) << seed << " " << x << " " << y;
  }
}

TEST(Phantom, KnowsItsChambers) {
  Anatomy anatomy;
  anatomy.papillary = false;
  const Phantom phantom(anatomy);
  EXPECT_EQ(phantom.kind({0, 4}).tissue, Tissue::left_blood);
  EXPECT_EQ(phantom.kind({0, -2}).tissue, Tissue::other_blood);   // left atrium
  EXPECT_EQ(phantom.kind({-5, 2}).tissue, Tissue::other_blood);   // right ventricle
  EXPECT_EQ(phantom.kind({-5, -2}).tissue, Tissue::other_blood);  // right atrium
  EXPECT_EQ(phantom.kind({-2.9, 4}).tissue, Tissue::septum);
  EXPECT_EQ(phantom.kind({2.9, 4}).tissue, Tissue::lateral_wall);
  EXPECT_EQ(phantom.kind({0, 8.5}).tissue, Tissue::apex);
  EXPECT_EQ(phantom.kind({9, 4}).tissue, Tissue::outside);
}

// A scanner of which everything but speckle is switched off, before an even tissue.
struct Even {
  Probe probe{.noise = -200,
              .white = 20,
              .range = 80,
              .gamma = 1,
              .persistence = 0,
              .clutter = -300,
              .marks = false};
  Echoes echoes{.border = 0,
                .across_only = 0,
                .lung_decay = 0,
                .leaflets = -200,
                .right_leaflets = -200,
                .patches = 0,
                .layers = 0,
                .crux = 0,
                .blood_patches = 0};
  Even() {
    probe.side_lobes = 0;
    probe.speckle = 1;
    echoes.decibels.fill(-12);
  }
  // Decibels of the pixels of a band of depths, columns 40 to 75.
  std::vector<double> band(int from, int to) const {
    const Phantom phantom{Anatomy{}};
    std::vector<double> values;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Generator generator(seed);
      Scanner scanner(phantom, View{}, probe, echoes, 50, generator);
      std::vector<uint8_t> pixels(kPicture * kPicture);
      scanner.frame(0, 0, 0, pixels.data());
      for (int y = from; y < to; ++y)
        for (int x = 40; x < 75; ++x)
          values.push_back(pixels[static_cast<size_t>(y * kPicture + x)] / 255.0 * probe.range +
                           probe.white - probe.range);
    }
    return values;
  }
};

double mean_power(const std::vector<double>& decibels) {
  double sum = 0;
  for (const double value : decibels) sum += std::pow(10, value / 10);
  return 10 * std::log10(sum / static_cast<double>(decibels.size()));
}

TEST(Scanner, SpeckleIsRayleighDistributed) {
  const std::vector<double> values = Even().band(40, 100);
  double mean = 0, square = 0;
  for (const double value : values) {
    const double amplitude = std::pow(10, value / 20);
    mean += amplitude / static_cast<double>(values.size());
    square += amplitude * amplitude / static_cast<double>(values.size());
  }
  // The ratio of mean to deviation is sqrt(pi / (4 - pi)) = 1.91; between samples, pixels are
  // averages of logarithms, which takes a little of the deviation.
  const double ratio = mean / std::sqrt(square - mean * mean);
  EXPECT_GT(ratio, 1.8);
  EXPECT_LT(ratio, 2.35);
  Even smooth;
  smooth.probe.speckle = 0;
  const std::vector<double> even = smooth.band(40, 100);
  EXPECT_NEAR(mean_power(even), -12, 0.7);
}

TEST(Scanner, TissueIsAsBrightAtEveryDepth) {
  const Even even;
  EXPECT_NEAR(mean_power(even.band(25, 45)), -12, 1.5);
  EXPECT_NEAR(mean_power(even.band(85, 105)), -12, 1.5);
}

TEST(Scanner, ResolutionFallsBeyondTheFocus) {
  Even even;
  even.probe.focus = 35;
  even.probe.spreading = 0.03;
  // The correlation of pixels that lie two apart across the beam.
  const auto correlation = [](const std::vector<double>& values) {
    double product = 0, square = 0, mean = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (i % 35 < 2) continue;
      product += (values[i] - mean) * (values[i - 2] - mean);
      square += (values[i] - mean) * (values[i] - mean);
    }
    return product / square;
  };
  EXPECT_LT(correlation(even.band(30, 45)) + 0.25, correlation(even.band(88, 105)));
}

TEST(Scanner, ShowsNothingOutsideTheSector) {
  const Even even;
  const Phantom phantom{Anatomy{}};
  Generator generator(1);
  Scanner scanner(phantom, View{}, even.probe, even.echoes, 50, generator);
  std::vector<uint8_t> pixels(kPicture * kPicture);
  scanner.frame(0, 0, 0, pixels.data());
  int lit = 0, seen = 0;
  for (int y = 0; y < kPicture; ++y)
    for (int x = 0; x < kPicture; ++x) {
      const bool sees = even.probe.sees({static_cast<double>(x), static_cast<double>(y)});
      const bool bright = pixels[static_cast<size_t>(y * kPicture + x)] > 0;
      EXPECT_TRUE(sees || !bright);
      seen += sees;
      lit += bright;
    }
  EXPECT_GT(seen, 5000);
  EXPECT_GT(lit, 0.98 * seen);
}

}  // namespace
}  // namespace aorta::echo
