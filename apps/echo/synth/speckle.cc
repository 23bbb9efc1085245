#include <aorta/apps/echo/synth/speckle.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace aorta::echo {
namespace {

using std::numbers::pi;
// Scatterers a square pixel: about ten a resolution cell.
constexpr double kDensity = 1.5;
// Tissue is filled beyond the picture, from where it may move in.
constexpr double kMargin = 14;

double amplitude_of(double decibels) { return std::pow(10.0, decibels / 20); }

// cos(2 pi turns) within 4e-6, for up to a million turns: without branches, so that the compiler
// takes several at once.
float cosine_of_turns(float turns) {
  constexpr float kRound = 12582912;  // 1.5 * 2^23: what is added to it loses its fraction
  const float whole = (turns + kRound) - kRound;
  // cos(2 pi t) = sin(2 pi (1/4 - |t|)), whose series is taken to the ninth power.
  const float x = 6.2831853f * (0.25f - std::abs(turns - whole)), square = x * x;
  return x * (1 + square * (-1 / 6.f +
                            square * (1 / 120.f + square * (-1 / 5040.f + square / 362880.f))));
}

// The angle of (x, y) from straight down, y > 0, within 1e-5: arctan after Abramowitz and Stegun,
// "Handbook of Mathematical Functions", 4.4.47.
float angle_before(float x, float y) {
  const float across = std::abs(x);
  const bool beyond = across > y;
  const float ratio = beyond ? y / across : across / y, square = ratio * ratio;
  const float angle =
      ratio * (0.9998660f +
               square * (-0.3302995f +
                         square * (0.1801410f + square * (-0.0851330f + square * 0.0208351f))));
  return std::copysign(beyond ? static_cast<float>(pi / 2) - angle : angle, x);
}

// A smooth random field of deviation 1: a sum of waves of wavelengths about `size`.
class Patches {
 public:
  Patches(Draw& draw, double size) {
    for (size_t i = 0; i < kWaves; ++i) {
      const double angle = draw.uniform(0, 2 * pi);
      const double number = 1 / (size * std::exp(draw.uniform(-0.7, 1.4)));
      x_[i] = static_cast<float>(number * std::cos(angle));
      y_[i] = static_cast<float>(number * std::sin(angle));
      phase_[i] = static_cast<float>(draw.uniform(0, 1));
    }
  }
  double at(Point p) const {
    const auto x = static_cast<float>(p.x), y = static_cast<float>(p.y);
    std::array<float, kWaves> cosines;
    for (size_t i = 0; i < kWaves; ++i)
      cosines[i] = cosine_of_turns(x_[i] * x + y_[i] * y + phase_[i]);
    float sum = 0;
    for (const float cosine : cosines) sum += cosine;
    return sum * std::sqrt(2.0 / kWaves);
  }

 private:
  static constexpr size_t kWaves = 24;
  std::array<float, kWaves> x_, y_, phase_;  // waves a cm, turns
};

std::vector<float> bell(double deviation) {
  const int half = static_cast<int>(std::ceil(2.6 * deviation));
  std::vector<float> kernel;
  for (int i = -half; i <= half; ++i)
    kernel.push_back(static_cast<float>(std::exp(-0.5 * i * i / (deviation * deviation))));
  return kernel;
}

std::vector<float> squares(std::vector<float> kernel) {
  for (float& value : kernel) value *= value;
  return kernel;
}

double energy(const std::vector<float>& kernel) {
  double sum = 0;
  for (const float value : kernel) sum += static_cast<double>(value) * value;
  return sum;
}

}  // namespace

View View::random(Draw& draw, const Anatomy& anatomy) {
  View view;
  view.scale = draw.normal_within(6.8, 0.85);
  view.tilt = draw.normal_within(0.2, 0.19);
  view.twist = draw.normal_within(-0.05, 0.05);
  const double length = view.scale * anatomy.length;
  view.apex = {draw.normal_within(60, 4) - 0.5 * length * std::sin(view.tilt),
               draw.normal_within(50.5, 4.5) - 0.5 * length * std::cos(view.tilt)};
  view.apex.y = std::max(view.apex.y, 10.0);
  view.sway = {draw.normal_within(0, 1), draw.normal_within(0, 1)};
  view.breath = {draw.normal_within(0, 0.8), draw.normal_within(0, 0.8)};
  view.breath_period = draw.uniform(2.5, 6);
  return view;
}

View::Pose View::pose(double length, double contraction, double time) const {
  const double angle = tilt + twist * contraction;
  const double breathing = std::sin(2 * pi * time / breath_period);
  return {.x = apex.x + sway.x * contraction + breath.x * breathing,
          .y = apex.y + sway.y * contraction + breath.y * breathing,
          .cosine = std::cos(angle),
          .sine = std::sin(angle),
          .scale = scale,
          .length = length};
}

Probe Probe::random(Draw& draw) {
  Probe p;
  p.apex = {draw.normal_within(57.5, 2.5), draw.uniform(-4, 9)};
  p.left = -draw.uniform(0.7, 0.9);
  p.right = draw.uniform(0.7, 0.9);
  p.near = draw.uniform(1, 7);
  p.depth = draw.uniform(104, 130);
  p.axial = draw.uniform(0.45, 0.85);
  p.lateral = draw.uniform(0.45, 1);
  p.speckle = draw.uniform(0.08, 0.8);
  p.focus = draw.uniform(35, 90);
  p.spreading = draw.uniform(0.008, 0.026);
  p.side_lobes = amplitude_of(draw.uniform(-42, -25));
  p.side_lobe_width = draw.uniform(0.1, 0.4);
  p.noise = draw.chance(0.7) ? draw.uniform(-60, -42) : draw.uniform(-42, -30);
  p.noise_slope = draw.uniform(0, 0.15);
  p.white = draw.uniform(5, 16);
  p.range = draw.uniform(40, 60);
  p.gamma = draw.uniform(1.1, 2);
  p.persistence = draw.uniform(0.1, 0.6);
  p.depth_gain = draw.normal_within(0, 4);
  p.clutter_depth = draw.uniform(5, 40);
  p.clutter = draw.uniform(-34, -2) - 0.35 * p.clutter_depth;
  p.blood_memory = draw.uniform(0.3, 0.85);
  for (Shadow& shadow : p.shadows)
    if (draw.chance(0.35))
      shadow = {draw.uniform(p.left, p.right), draw.uniform(0.04, 0.16), draw.uniform(3, 16)};
  p.left_dropout = draw.chance(0.6) ? draw.uniform(0, 25) : 0;
  p.right_dropout = draw.chance(0.6) ? draw.uniform(0, 25) : 0;
  p.marks = draw.chance(0.8);
  return p;
}

bool Probe::sees(Point place) const {
  const double x = place.x - apex.x, y = place.y - apex.y;
  const double distance = std::hypot(x, y), angle = std::atan2(x, y);
  return place.x > -0.5 && place.y > -0.5 && place.x < kPicture - 0.5 && place.y < kPicture - 0.5 &&
         distance > near && distance < depth && angle > left && angle < right;
}

Echoes Echoes::random(Draw& draw) {
  Echoes e;
  const auto of = [&](Tissue tissue) -> double& { return e.decibels[static_cast<size_t>(tissue)]; };
  const auto set = [&](Tissue tissue, double mean, double deviation) {
    of(tissue) = draw.normal_within(mean, deviation);
  };
  set(Tissue::left_blood, -42, 6);
  of(Tissue::other_blood) = of(Tissue::left_blood) + draw.normal_within(-1, 3);
  set(Tissue::septum, 1, 5);
  set(Tissue::apex, -18, 6);
  set(Tissue::lateral_wall, -12, 6);
  set(Tissue::right_wall, -14, 6);
  set(Tissue::atrial_wall, -13, 6);
  set(Tissue::annulus, 3, 5);
  set(Tissue::fat, 0, 6);
  set(Tissue::papillary, -18, 6);
  set(Tissue::strand, -8, 6);
  of(Tissue::trabeculae) = of(Tissue::lateral_wall) - draw.uniform(0, 6);
  set(Tissue::pericardium, -10, 7);
  set(Tissue::outside, -18, 6);
  e.border = draw.uniform(0, 7);
  e.border_depth = draw.uniform(0.08, 0.25);
  e.across_only = draw.uniform(0, 0.7);
  e.lung_decay = draw.uniform(0.5, 6);
  e.leaflets = draw.normal_within(-4, 5);
  e.right_leaflets = draw.normal_within(-6, 5);
  e.crux = draw.uniform(4, 16);
  e.roughness = draw.uniform(0.03, 0.1);
  e.patches = draw.uniform(3.5, 8);
  e.layers = draw.uniform(3, 9);
  e.leaf_patches = draw.uniform(2, 8);
  e.blood_patches = draw.uniform(2, 6);
  e.apical_haze = draw.chance(0.6) ? draw.uniform(0, 24) : 0;
  e.haze_depth = draw.uniform(0.6, 2.5);
  return e;
}

Scanner::Scanner(const Phantom& phantom, const View& view, const Probe& probe, const Echoes& echoes,
                 double fps, Generator& generator)
    : phantom_(phantom), view_(view), probe_(probe), draw_(generator) {
  // Both are of a frame, however many there are a second.
  probe_.persistence = std::pow(probe.persistence, 50 / fps);
  probe_.blood_memory = std::pow(probe.blood_memory, 50 / fps);
  step_ = probe.depth / kRows;
  pitch_ = (probe.right - probe.left) / (kBeams - 1);
  normals_.resize(size_t{1} << 17);
  for (float& normal : normals_) normal = static_cast<float>(draw_.normal(0, std::sqrt(0.5)));
  tune();
  scatter(echoes);
  map_pixels();
  if (probe.marks) add_marks();
}

// A component of a complex normal number of power 1.
float Scanner::random_normal() {
  const float value = normals_[next_normal_];
  if (++next_normal_ == normals_.size()) next_normal_ = 0;
  return value;
}

// What depends on depth and angle alone.
void Scanner::tune() {
  constexpr size_t kCells = size_t{kRows} * kBeams;
  for (auto* grid : {&re_, &im_, &power_, &re2_, &im2_, &power2_, &grey_}) grid->assign(kCells, 0);
  for (int i = 0; i <= kLevels; ++i)
    greys_[static_cast<size_t>(i)] =
        static_cast<float>(255 * std::pow(static_cast<double>(i) / kLevels, probe_.gamma));
  axial_ = bell(probe_.axial / step_);
  axial_power_ = squares(axial_);
  loss_.resize(kCells);
  gain_.resize(kRows);
  for (int row = 0; row < kRows; ++row) {
    const double depth = (row + 0.5) * step_;
    const double beam = std::hypot(probe_.lateral, probe_.spreading * (depth - probe_.focus));
    lateral_.push_back(bell(std::clamp(beam / (depth * pitch_), 0.6, 8.0)));
    lateral_power_.push_back(squares(lateral_.back()));
    const double power =
        kDensity * step_ * depth * pitch_ * energy(axial_) * energy(lateral_.back());
    scale_.push_back(static_cast<float>(1 / std::sqrt(power)));
    noise_.push_back(static_cast<float>(amplitude_of(probe_.noise + probe_.noise_slope * depth) /
                                        std::sqrt(energy(axial_) * energy(lateral_.back()))));
    gain_[static_cast<size_t>(row)] =
        static_cast<float>(probe_.depth_gain * (depth / probe_.depth - 0.3));
    for (int b = 0; b < kBeams; ++b) {
      const double angle = probe_.left + b * pitch_;
      double decibels = 0;
      for (const Probe::Shadow& shadow : probe_.shadows) {
        const double off = (angle - shadow.angle) / shadow.width;
        decibels -= shadow.decibels * std::exp(-0.5 * off * off);
      }
      const double edge = angle < 0 ? angle / probe_.left : angle / probe_.right;
      decibels -= (angle < 0 ? probe_.left_dropout : probe_.right_dropout) * edge * edge * edge;
      loss_[static_cast<size_t>(row) * kBeams + static_cast<size_t>(b)] =
          static_cast<float>(amplitude_of(decibels));
    }
  }
}

void Scanner::scatter(const Echoes& echoes) {
  const Patches patches(draw_, 2), layers(draw_, 0.8), blood_patches(draw_, 3), rough_x(draw_, 0.5),
      rough_y(draw_, 0.5);
  const double length = phantom_.anatomy().length;
  const double c = std::cos(view_.tilt), s = std::sin(view_.tilt);
  const double side = kPicture + 2 * kMargin;
  const auto count = static_cast<int64_t>(kDensity * side * side);
  std::vector<Scatterer> blood, other;
  for (int64_t i = 0; i < count; ++i) {
    const Point at{draw_.uniform(-kMargin, kPicture + kMargin),
                   draw_.uniform(-kMargin, kPicture + kMargin)};
    const Point beam{at.x - probe_.apex.x, at.y - probe_.apex.y};
    const double depth = std::hypot(beam.x, beam.y), angle = std::atan2(beam.x, beam.y);
    if (depth > probe_.depth + kMargin || angle < probe_.left - 0.3 || angle > probe_.right + 0.3)
      continue;
    const double x = at.x - view_.apex.x, y = at.y - view_.apex.y;
    const Point heart{(x * c - y * s) / view_.scale, length - (x * s + y * c) / view_.scale};
    const Point rough{heart.x + echoes.roughness * rough_x.at(heart),
                      heart.y + echoes.roughness * rough_y.at(heart)};
    const Phantom::Kind kind = phantom_.kind(rough);
    const bool is_blood = kind.tissue == Tissue::left_blood || kind.tissue == Tissue::other_blood;
    double decibels = echoes.decibels[static_cast<size_t>(kind.tissue)];
    if (is_blood) {
      decibels += echoes.blood_patches * blood_patches.at(heart);
      if (kind.tissue == Tissue::left_blood)
        decibels += echoes.apical_haze * std::exp((heart.y - length) / echoes.haze_depth);
    } else {
      decibels += echoes.patches * patches.at(heart);
      // Recesses are dark.
      if (kind.tissue == Tissue::trabeculae)
        decibels += 10 * std::log10(1 - phantom_.anatomy().recesses);
      if (kind.tissue == Tissue::outside || kind.tissue == Tissue::pericardium ||
          kind.tissue == Tissue::fat || kind.tissue == Tissue::atrial_wall)
        decibels +=
            echoes.layers * layers.at({0.25 * angle * depth / view_.scale, depth / view_.scale});
      if (kind.tissue == Tissue::atrial_wall)
        decibels += echoes.crux * std::exp(std::min(heart.y, 0.0) / 1.2);
      if (kind.tissue == Tissue::outside)
        decibels -= echoes.lung_decay * kind.depth;
      else if (kind.tissue != Tissue::trabeculae)
        decibels += echoes.border * std::exp(-kind.depth / echoes.border_depth);
      if (kind.tissue != Tissue::annulus && kind.tissue != Tissue::fat &&
          kind.tissue != Tissue::outside) {
        // The beam's direction in the heart.
        const Point ray{(beam.x * c - beam.y * s) / depth, -(beam.x * s + beam.y * c) / depth};
        const double across = std::abs(ray.x * kind.normal.x + ray.y * kind.normal.y);
        decibels += 20 * std::log10(1 - echoes.across_only * (1 - across));
      }
    }
    Scatterer scatterer;
    scatterer.particle = phantom_.particle(heart);
    scatterer.re = random_normal();
    scatterer.im = random_normal();
    scatterer.amplitude = static_cast<float>(amplitude_of(decibels));
    (is_blood ? blood : other).push_back(scatterer);
  }
  blood_ = blood.size();
  scatterers_ = std::move(blood);
  scatterers_.insert(scatterers_.end(), other.begin(), other.end());
  // Leaflets are half a millimetre thick, and seen in parts.
  for (int which = 0; which < 4; ++which) {
    const Patches parts(draw_, 0.6);
    for (int i = 0; i < 60; ++i) {
      const double along = draw_.uniform(0, 1);
      const auto amplitude =
          static_cast<float>(amplitude_of((which < 2 ? echoes.leaflets : echoes.right_leaflets) +
                                          echoes.leaf_patches * parts.at({along, 0})));
      leaves_.push_back({static_cast<float>(along), static_cast<float>(draw_.normal(0, 0.03)),
                         static_cast<float>(draw_.normal(0, 0.03)), amplitude * random_normal(),
                         amplitude * random_normal(), amplitude * amplitude, which});
    }
  }
  // As many a cell of the grid at every depth, where scale_ expects more with depth.
  constexpr int kStill = 4000;
  const double reach = 3 * probe_.clutter_depth, a_cell = kStill * step_ / (reach * kBeams);
  for (int i = 0; i < kStill; ++i) {
    const double depth = draw_.uniform(0, reach);
    const auto amplitude =
        static_cast<float>(amplitude_of(probe_.clutter - 8.7 * depth / probe_.clutter_depth) *
                           std::sqrt(kDensity * step_ * depth * pitch_ / a_cell));
    still_.push_back({static_cast<float>(depth / step_),
                      static_cast<float>(draw_.uniform(0, kBeams - 1)), amplitude * random_normal(),
                      amplitude * random_normal(), amplitude * amplitude});
  }
}

void Scanner::map_pixels() {
  for (int y = 0; y < kPicture; ++y)
    for (int x = 0; x < kPicture; ++x) {
      const Point place{static_cast<double>(x), static_cast<double>(y)};
      if (!probe_.sees(place)) continue;
      const double dx = x - probe_.apex.x, dy = y - probe_.apex.y;
      const double row = std::clamp(std::hypot(dx, dy) / step_ - 0.5, 0.0, kRows - 1.001);
      const double beam =
          std::clamp((std::atan2(dx, dy) - probe_.left) / pitch_, 0.0, kBeams - 1.001);
      const int top = static_cast<int>(row), left = static_cast<int>(beam);
      samples_.push_back({y * kPicture + x, top * kBeams + left, static_cast<float>(row - top),
                          static_cast<float>(beam - left)});
    }
}

// A scale along the right edge of the sector, the sign of the probe, and a few dots.
void Scanner::add_marks() {
  const auto dot = [&](double x, double y, double grey) {
    const int column = static_cast<int>(std::lround(x)), row = static_cast<int>(std::lround(y));
    if (column < 0 || row < 0 || column >= kPicture || row >= kPicture ||
        probe_.sees({static_cast<double>(column), static_cast<double>(row)}))
      return;
    marks_.emplace_back(row * kPicture + column, static_cast<uint8_t>(grey));
  };
  const double sign_x = probe_.apex.x + draw_.uniform(2, 7), sign_y = draw_.uniform(1, 5);
  for (int i = 0; i < 9; ++i) dot(sign_x + i % 3, sign_y + i / 3, draw_.uniform(40, 200));
  const double away = draw_.uniform(3, 9), along_x = std::sin(probe_.right),
               along_y = std::cos(probe_.right), spacing = draw_.uniform(5, 14);
  for (double r = draw_.uniform(5, 20); r < 90; r += spacing)
    dot(probe_.apex.x + r * along_x + away * along_y, probe_.apex.y + r * along_y - away * along_x,
        draw_.uniform(60, 160));
  const double from = draw_.uniform(25, 60), size = draw_.uniform(6, 16);
  for (double r = from; r < from + size; r += 0.7)
    dot(probe_.apex.x + r * along_x + 0.7 * away * along_y,
        probe_.apex.y + r * along_y - 0.7 * away * along_x, 220);
}

void Scanner::splat_cell(float row, float beam, float re, float im, float power) {
  if (!(row >= 0) || !(beam >= 0) || row >= kRows - 1 || beam >= kBeams - 1) return;
  const int top = static_cast<int>(row), left = static_cast<int>(beam);
  const float down = row - static_cast<float>(top), right = beam - static_cast<float>(left);
  const float weights[4] = {(1 - down) * (1 - right), (1 - down) * right, down * (1 - right),
                            down * right};
  const size_t first = static_cast<size_t>(top) * kBeams + static_cast<size_t>(left);
  const size_t cells[4] = {first, first + 1, first + kBeams, first + kBeams + 1};
  for (int i = 0; i < 4; ++i) {
    re_[cells[i]] += weights[i] * re;
    im_[cells[i]] += weights[i] * im;
    power_[cells[i]] += weights[i] * power;
  }
}

void Scanner::splat(Point place, float re, float im, float power) {
  const auto x = static_cast<float>(place.x - probe_.apex.x),
             y = static_cast<float>(place.y - probe_.apex.y);
  if (y <= 0) return;
  splat_cell(std::sqrt(x * x + y * y) / static_cast<float>(step_) - 0.5f,
             (angle_before(x, y) - static_cast<float>(probe_.left)) / static_cast<float>(pitch_),
             re, im, power);
}

// to += weight * from, a row of the grid: its length is a constant and the two differ, so that the
// compiler takes several beams at once.
void Scanner::add_line(float weight, const float* __restrict from, float* __restrict to) {
  for (int b = 0; b < kBeams; ++b) to[b] += weight * from[b];
}

// With the pulse and the beam.
void Scanner::blur(const std::vector<float>& from, std::vector<float>& to, bool power) const {
  const std::vector<float>& axial = power ? axial_power_ : axial_;
  const int half = static_cast<int>(axial.size() / 2);
  for (int row = 0; row < kRows; ++row) {
    float* out = to.data() + row * kBeams;
    std::fill_n(out, kBeams, 0.f);
    for (int k = std::max(-half, -row); k <= std::min(half, kRows - 1 - row); ++k) {
      add_line(axial[static_cast<size_t>(k + half)], from.data() + (row + k) * kBeams, out);
    }
  }
  const int wide = std::clamp(static_cast<int>(probe_.side_lobe_width / pitch_), 1, kBeams - 1);
  const auto lobes = static_cast<float>(probe_.side_lobes / std::sqrt(2.0 * wide + 1));
  constexpr int kPad = 32;
  float line[kBeams + 2 * kPad] = {};
  for (int row = 0; row < kRows; ++row) {
    float* out = to.data() + row * kBeams;
    std::copy_n(out, kBeams, line + kPad);
    std::fill_n(out, kBeams, 0.f);
    const std::vector<float>& kernel =
        (power ? lateral_power_ : lateral_)[static_cast<size_t>(row)];
    const int reach = static_cast<int>(kernel.size() / 2);
    for (int k = -reach; k <= reach; ++k)
      add_line(kernel[static_cast<size_t>(k + reach)], line + kPad + k, out);
    float lobe = 0;
    for (const float weight : lateral_power_[static_cast<size_t>(row)]) lobe += weight;
    lobe = power ? lobes * lobes * lobe : lobes * std::sqrt(lobe);
    float sum = 0;
    for (int b = 0; b < wide; ++b) sum += line[kPad + b];
    for (int b = 0; b < kBeams; ++b) {
      if (b + wide < kBeams) sum += line[kPad + b + wide];
      if (b > wide) sum -= line[kPad + b - wide - 1];
      out[b] += lobe * sum;
    }
  }
}

// The envelope's grey values, with those of the frame before.
void Scanner::compress() {
  const auto old = static_cast<float>(first_ ? 0 : probe_.persistence);
  const auto range = static_cast<float>(probe_.range);
  const auto black = static_cast<float>(probe_.white - probe_.range);
  const auto speckle = static_cast<float>(probe_.speckle);
  for (int row = 0; row < kRows; ++row) {
    const float gain = gain_[static_cast<size_t>(row)] - black;
    for (int b = 0; b < kBeams; ++b) {
      const auto cell = static_cast<size_t>(row * kBeams + b);
      const float power = speckle * (re2_[cell] * re2_[cell] + im2_[cell] * im2_[cell]) +
                          (1 - speckle) * std::max(power2_[cell], 0.f);
      const float level = (10 * std::log10(power + 1e-12f) + gain) / range;
      const float grey = greys_[static_cast<size_t>(std::clamp(level, 0.f, 1.f) * kLevels + 0.5f)];
      grey_[cell] = old * grey_[cell] + (1 - old) * grey;
    }
  }
  first_ = false;
}

void Scanner::frame(double contraction, double opening, double time, uint8_t* pixels) {
  std::fill(re_.begin(), re_.end(), 0.f);
  std::fill(im_.begin(), im_.end(), 0.f);
  std::fill(power_.begin(), power_.end(), 0.f);
  const View::Pose pose = view_.pose(phantom_.anatomy().length, contraction, time);
  const auto memory = static_cast<float>(probe_.blood_memory);
  const float fresh = std::sqrt(1 - memory * memory);
  for (size_t i = 0; i < scatterers_.size(); ++i) {
    Scatterer& s = scatterers_[i];
    if (i < blood_) {
      s.re = memory * s.re + fresh * random_normal();
      s.im = memory * s.im + fresh * random_normal();
    }
    splat(pose.place(Phantom::move(s.particle, contraction)), s.amplitude * s.re,
          s.amplitude * s.im, s.amplitude * s.amplitude);
  }
  for (const Leaf& leaf : leaves_) {
    Point place = phantom_.leaflet(leaf.which, leaf.along, contraction, opening);
    place = {place.x + leaf.off_x, place.y + leaf.off_y};
    splat(pose.place(place), leaf.re, leaf.im, leaf.power);
  }
  for (const Still& still : still_)
    splat_cell(still.row, still.beam, still.re, still.im, still.power);
  next_normal_ = static_cast<size_t>(draw_.uniform(0, 1) * static_cast<double>(normals_.size()));
  for (int row = 0; row < kRows; ++row) {
    const float scale = scale_[static_cast<size_t>(row)], noise = noise_[static_cast<size_t>(row)];
    for (int b = 0; b < kBeams; ++b) {
      const auto cell = static_cast<size_t>(row * kBeams + b);
      re_[cell] = re_[cell] * scale * loss_[cell] + noise * random_normal();
      im_[cell] = im_[cell] * scale * loss_[cell] + noise * random_normal();
      power_[cell] = power_[cell] * scale * scale * loss_[cell] * loss_[cell] + noise * noise;
    }
  }
  blur(re_, re2_, false);
  blur(im_, im2_, false);
  blur(power_, power2_, true);
  compress();
  std::fill_n(pixels, kPicture * kPicture, uint8_t{0});
  for (const Sample& at : samples_) {
    const float* cell = grey_.data() + at.cell;
    const float upper = cell[0] + at.right * (cell[1] - cell[0]);
    const float lower = cell[kBeams] + at.right * (cell[kBeams + 1] - cell[kBeams]);
    pixels[at.pixel] = static_cast<uint8_t>(upper + at.down * (lower - upper) + 0.5f);
  }
  for (const auto& [pixel, grey] : marks_) pixels[pixel] = grey;
}

}  // namespace aorta::echo
