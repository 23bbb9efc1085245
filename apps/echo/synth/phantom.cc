#include <aorta/apps/echo/synth/phantom.h>
#include <aorta/core/check.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace aorta::echo {
namespace {

using std::numbers::pi;
// Part of the ventricle's half width that goes at full contraction, at the apex.
constexpr double kNarrowing = 0.8;

double smooth(double x) {
  x = std::clamp(x, 0.0, 1.0);
  return x * x * (3 - 2 * x);
}

Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
Point operator*(double s, Point a) { return {s * a.x, s * a.y}; }
double dot(Point a, Point b) { return a.x * b.x + a.y * b.y; }
double length(Point a) { return std::hypot(a.x, a.y); }

struct Nearest {
  double distance = 1e9;  // negative inside
  Point normal;           // from the outline outwards
};

// The distance to a closed outline.
Nearest nearest(const Outline& outline, Point p) {
  double least = 1e18;
  Point to{};
  bool inside = false;
  for (size_t i = 0, j = outline.size() - 1; i < outline.size(); j = i++) {
    const Point a = outline[j], edge = outline[i] - a;
    const double along = std::clamp(dot(p - a, edge) / std::max(dot(edge, edge), 1e-12), 0.0, 1.0);
    const Point away = p - a - along * edge;
    if (const double square = dot(away, away); square < least) {
      least = square;
      to = away;
    }
    if ((outline[i].y > p.y) != (a.y > p.y) && p.x < a.x + edge.x * (p.y - a.y) / edge.y)
      inside = !inside;
  }
  const double distance = std::sqrt(least), sign = inside ? -1 : 1;
  return {sign * distance, (sign / std::max(distance, 1e-9)) * to};
}

// Half an ellipse's outline to each side, with flatter ends.
Outline chamber(Point centre, double half_width, double half_height, double exponent) {
  Outline outline;
  for (int i = 0; i < 40; ++i) {
    const double angle = 2 * pi * i / 40, c = std::cos(angle), s = std::sin(angle);
    outline.push_back(
        {centre.x + half_width * std::copysign(std::pow(std::abs(c), 2 / exponent), c),
         centre.y + half_height * std::copysign(std::pow(std::abs(s), 2 / exponent), s)});
  }
  return outline;
}

}  // namespace

double Draw::normal(double mean, double deviation) {
  const double u = 1 - generator_.next_uniform();
  return mean +
         deviation * std::sqrt(-2 * std::log(u)) * std::cos(2 * pi * generator_.next_uniform());
}

double Draw::normal_within(double mean, double deviation) {
  for (;;)
    if (const double value = normal(0, 1); std::abs(value) <= 2) return mean + deviation * value;
}

double Heartbeat::contraction(double time) const {
  const double t = time - beat * std::floor(time / beat);
  const double isovolumic = 0.04;
  if (t <= systole) {
    const double part = std::max(t - isovolumic, 0.0) / (systole - isovolumic);
    return 0.5 * smooth(part) + 0.5 * (1 - (1 - part) * (1 - part));
  }
  const double diastole = beat - systole;
  const double relaxed = systole + std::min(0.06, 0.15 * diastole);
  const double early = std::min(0.2, 0.45 * diastole), atrial = std::min(0.12, 0.25 * diastole);
  const double rest = (t - relaxed - early) / std::max(beat - atrial - relaxed - early, 1e-9);
  return 1 - early_share * smooth((t - relaxed) / early) -
         (1 - early_share - atrial_share) * std::clamp(rest, 0.0, 1.0) -
         atrial_share * smooth((t - (beat - atrial)) / atrial);
}

double Heartbeat::opening(double time) const {
  const double t = time - beat * std::floor(time / beat);
  if (t <= systole) return ajar * smooth(1 - t / 0.06);
  const double diastole = beat - systole;
  const double opens = systole + std::min(0.05, 0.12 * diastole);
  if (t < opens) return 0;
  const double early = std::min(0.28, 0.6 * diastole), atrial = std::min(0.15, 0.3 * diastole);
  const double shut = beat - 0.02;  // just before the ventricle contracts
  const double wave = t - opens < early ? std::sin(pi * (t - opens) / early) : 0;
  const double kick = t > shut - atrial ? std::sin(pi * (t - (shut - atrial)) / atrial) : 0;
  const double half_open = 0.3 * smooth((t - opens) / (0.5 * early)) * smooth((beat - t) / 0.05);
  const double closing = ajar * smooth(1 - (beat - t) / 0.04);
  return std::max({std::sqrt(std::max(wave, 0.0)), 0.8 * std::max(kick, 0.0), half_open, closing});
}

Anatomy Anatomy::random(Draw& draw) {
  Anatomy a;
  a.length = draw.normal_within(8.2, 0.85);
  a.width = a.length * draw.normal_within(0.56, 0.07);
  a.widest = draw.uniform(0.6, 0.95);
  a.roundness = draw.uniform(1.5, 2.4);
  a.base_width = draw.uniform(0.68, 0.95);
  a.bend = draw.normal_within(0, 0.05);
  a.mitral_tilt = draw.normal_within(0, 0.08);
  for (double& bulge : a.bulge) bulge = draw.normal_within(0, 0.03);
  a.septal_part = draw.uniform(0.42, 0.58);
  const double thickness = draw.uniform(0.65, 1.2);
  a.septum = thickness * draw.uniform(0.7, 1.05);
  a.lateral_wall = thickness * draw.uniform(0.8, 1.2);
  a.apex_wall = thickness * draw.uniform(0.5, 0.95);
  a.right_width = draw.uniform(1.8, 4.5);
  a.right_length = draw.uniform(0.65, 0.92);
  a.right_wall = draw.uniform(0.3, 0.6);
  a.left_atrium_width = a.width * draw.uniform(0.75, 1.15);
  a.left_atrium_length = draw.uniform(3.8, 6.8);
  a.right_atrium_width = draw.uniform(3, 5.5);
  a.right_atrium_length = draw.uniform(3.6, 6.5);
  a.atrial_septum = draw.uniform(0.2, 0.5);
  a.septal_motion = draw.normal_within(1, 0.15);
  a.lateral_motion = draw.normal_within(1, 0.15);
  a.longitudinal_motion = draw.uniform(0.19, 0.34);
  a.apical_motion = draw.uniform(0, 0.13);
  a.taper = draw.uniform(0.25, 0.6);
  a.papillary = draw.chance(0.6);
  a.papillary_at = draw.uniform(0.4, 0.65);
  a.papillary_size = draw.uniform(0.3, 0.65);
  for (Strand& strand : a.strands)
    if (draw.chance(0.45))
      strand = {draw.uniform(0.3, 0.95), draw.uniform(-0.3, 0.9), draw.uniform(0.06, 0.16),
                draw.uniform(0.15, 0.6)};
  a.septal_leaflet = draw.uniform(0.5, 0.68);
  a.tent = draw.normal_within(0.15, 0.12);
  a.open_angle = draw.uniform(0.9, 1.45);
  a.left_fat = draw.uniform(0.4, 1.3);
  a.right_fat = draw.uniform(0.2, 1.2);
  a.margin = draw.uniform(0.12, 0.22);
  a.septal_trabeculae = draw.uniform(0.02, 0.25);
  a.lateral_trabeculae = draw.uniform(0.08, 0.48);
  a.recesses = draw.uniform(0.4, 0.8);
  return a;
}

// `part`: of the way from apex (0) to base (1).
double Phantom::half_width(double part, bool lateral) const {
  const Anatomy& a = anatomy_;
  part = std::clamp(part, 0.0, 1.0);
  const double side = a.width * (lateral ? 1 - a.septal_part : a.septal_part);
  double profile;
  if (part < a.widest)
    profile = std::pow(std::max(1 - std::pow((a.widest - part) / a.widest, a.roundness), 0.0),
                       1 / a.roundness);
  else
    profile = 1 - (1 - a.base_width) * std::pow((part - a.widest) / (1 - a.widest), 2);
  const double wave =
      lateral ? a.bulge[0] * std::sin(2 * pi * part) + a.bulge[1] * std::sin(3 * pi * part)
              : a.bulge[2] * std::sin(2 * pi * part) - a.bulge[1] * std::sin(3 * pi * part);
  return side * profile * (1 + wave);
}

double Phantom::axis_x(double part) const {
  part = std::clamp(part, 0.0, 1.0);
  return anatomy_.bend * anatomy_.width * 4 * part * (1 - part);
}

double Phantom::margin_at(double part) const { return anatomy_.margin * smooth(part / 0.3); }

double Phantom::wall_at(double part, bool lateral) const {
  const double base = lateral ? anatomy_.lateral_wall : anatomy_.septum;
  return anatomy_.apex_wall + (base - anatomy_.apex_wall) * smooth(part / 0.45);
}

double Phantom::trabeculae_at(double part, bool lateral) const {
  const double septal = anatomy_.septal_trabeculae, most = anatomy_.lateral_trabeculae;
  return lateral ? most : septal + (most - septal) * smooth(1 - part / 0.3);
}

Phantom::Phantom(const Anatomy& anatomy) : anatomy_(anatomy) {
  const Anatomy& a = anatomy_;
  constexpr int kSide = 40;
  // Equal steps of angle put the points close together at the apex.
  for (int i = -kSide; i <= kSide; ++i) {
    const double part = 1 - std::cos(pi / 2 * std::abs(i) / kSide);
    const double across = (i < 0 ? -1 : 1) * half_width(part, i > 0);
    left_.push_back(
        {axis_x(part) + across, a.length * (1 - part) + a.mitral_tilt * across * part * part});
  }
  // The right ventricle lies on the septum; its free wall meets it near the apex.
  constexpr int kSteps = 24;
  const double top = a.length * a.right_length;
  const auto septal = [&](double y) {
    const double part = 1 - y / a.length;
    return axis_x(part) - half_width(part, false) - margin_at(part) - wall_at(part, false);
  };
  for (int i = 0; i <= kSteps; ++i) {
    const double y = top * i / kSteps;
    right_.push_back({septal(y), y});
  }
  for (int i = kSteps - 1; i >= 0; --i) {
    const double y = top * i / kSteps, up = y / top;
    const double wide = std::pow(std::max(1 - std::pow(up, 1.7), 0.0), 0.75) * (0.9 + 0.3 * up);
    right_.push_back({septal(y) - a.right_width * wide, y});
  }
  // Atria hang below the annuli.
  const double crux = -half_width(1, false) - 0.5 * a.septum;
  const double half_left = 0.5 * a.left_atrium_width, half_right = 0.5 * a.right_atrium_width;
  left_atrium_ = chamber({crux + 0.5 * a.atrial_septum + half_left, -0.5 * a.left_atrium_length},
                         half_left, 0.5 * a.left_atrium_length, 2.5);
  right_atrium_ =
      chamber({crux - 0.5 * a.atrial_septum - half_right, -0.5 * a.right_atrium_length - 0.2},
              half_right, 0.5 * a.right_atrium_length, 2.5);
  hinges_ = {particle(left_.front()), particle(left_.back()), particle({septal(0), 0}),
             particle({septal(0) - 0.85 * a.right_width, 0})};
}

Phantom::Particle Phantom::particle(Point place) const {
  const Anatomy& a = anatomy_;
  const double part = std::clamp(1 - place.y / a.length, 0.0, 1.0), axis = axis_x(part);
  const bool lateral = place.x > axis;
  const double across = std::abs(place.x - axis), border = half_width(part, lateral);
  const double below = place.y < 0 ? std::exp(-place.y * place.y / 2.2) : 1;
  const double beyond = std::max(across - border, 0.0);
  Particle p;
  p.x = static_cast<float>(place.x - axis);
  p.y = static_cast<float>(place.y);
  p.axis = static_cast<float>(axis);
  p.border = static_cast<float>(border);
  p.margin = static_cast<float>(margin_at(part));
  if (place.y > 0) p.layer = static_cast<float>(trabeculae_at(part, lateral));
  p.recesses = static_cast<float>(a.recesses);
  p.narrowing = static_cast<float>(std::min(
      kNarrowing * (1 - a.taper * part) * (lateral ? a.lateral_motion : a.septal_motion) * below,
      0.95));
  p.falloff = static_cast<float>(std::exp(-beyond * beyond / 20));
  const double depth = 1.2 * std::max(a.left_atrium_length, a.right_atrium_length);
  const double rise = a.longitudinal_motion *
                      std::max(place.y >= 0 ? 1 - place.y / a.length : 1 + place.y / depth, 0.0);
  // The outside of the apex stays where it is.
  const double within_wall = std::max(1 - std::max(place.y - a.length, 0.0) / a.apex_wall, 0.0);
  const double sink =
      a.apical_motion * smooth(place.y / a.length) * within_wall * std::exp(-beyond * beyond / 2);
  p.lift = static_cast<float>(a.length * (rise - sink));
  const double right = beyond - margin_at(part) - wall_at(part, false);
  if (!lateral && right > 0)
    p.right_motion =
        static_cast<float>(0.3 * std::min(right, a.right_width) *
                           std::exp(-std::max(right - a.right_width, 0.0) / 1.5) * below);
  return p;
}

Point Phantom::move(const Particle& p, double contraction) {
  const double across = std::abs(p.x), border = p.border;
  const double left = 1 - contraction * p.narrowing;
  double moved = across * left;
  if (across > border) {
    // The cavity narrows twice as much as it shortens.
    const double lost = std::min(2.25 * (1 - left * (1 + left) / 2), 0.9);
    const double inner = border + p.margin;
    const double within = std::clamp(across - inner, 0.0, static_cast<double>(p.layer));
    const double square = across * across - border * border * (1 - left * left) -
                          lost * p.recesses * within * (2 * inner + within);
    moved = across + (std::sqrt(std::max(square, 0.0)) - across) * p.falloff;
  }
  moved -= contraction * p.right_motion;
  return {p.axis + std::copysign(moved, p.x), p.y + contraction * p.lift};
}

Outline Phantom::ventricle(double contraction) const {
  Outline border;
  for (const Point& place : left_) border.push_back(move(particle(place), contraction));
  return border;
}

Phantom::Kind Phantom::kind(Point place) const {
  const Anatomy& a = anatomy_;
  const Nearest left = nearest(left_, place);
  if (left.distance < 0) {
    if (a.papillary) {
      const double part = a.papillary_at, y = a.length * (1 - part);
      const Point muscle{axis_x(part) + half_width(part, true) - 0.9 * a.papillary_size, y};
      const Point away = place - muscle;
      const double inside =
          std::hypot(away.x / a.papillary_size, away.y / (1.9 * a.papillary_size));
      if (inside < 1) return {Tissue::papillary, a.papillary_size * (1 - inside), {1, 0}};
    }
    for (const Anatomy::Strand& strand : a.strands) {
      const double at = axis_x(strand.part) + strand.across * half_width(strand.part, true);
      const double off = (place.x - at) / strand.width,
                   along = (place.y - a.length * (1 - strand.part)) / std::max(strand.size, 1e-9);
      if (strand.size > 0 && off * off + along * along < 1) return {Tissue::strand, 0.2, {1, 0}};
    }
    return {Tissue::left_blood, -left.distance, left.normal};
  }
  const double part = 1 - place.y / a.length;
  const double margin = place.y > 0 ? margin_at(part) : 0;
  if (left.distance < margin) return {Tissue::left_blood, left.distance, left.normal};
  const Nearest right = nearest(right_, place);
  const Nearest left_atrium = nearest(left_atrium_, place),
                right_atrium = nearest(right_atrium_, place);
  if (right.distance < 0) return {Tissue::other_blood, -right.distance, right.normal};
  for (const Nearest* atrium : {&left_atrium, &right_atrium})
    if (atrium->distance < 0) return {Tissue::other_blood, -atrium->distance, atrium->normal};
  const Point septal_hinge = left_.front(), lateral_hinge = left_.back();
  // Fibrous tissue where the valves are hinged.
  const Point crux = place - Point{septal_hinge.x - 0.5 * a.septum, septal_hinge.y - 0.1};
  if (std::hypot(crux.x / (0.55 * a.septum), crux.y / 0.5) < 1)
    return {Tissue::annulus, 0.2, {0, -1}};
  if (length(place - lateral_hinge - Point{0.3, -0.1}) < 0.4)
    return {Tissue::annulus, 0.2, {0, -1}};
  const Point left_groove = place - lateral_hinge - Point{0.9 * a.left_fat + 0.2, -0.5};
  if (std::hypot(left_groove.x / (0.9 * a.left_fat), left_groove.y / (1.1 * a.left_fat)) < 1)
    return {Tissue::fat, 0.5, {0, -1}};
  const Point right_hinge = right_.back();
  const Point right_groove = place - right_hinge + Point{0.7 * a.right_fat, 0.4};
  if (std::hypot(right_groove.x, right_groove.y) < 0.9 * a.right_fat)
    return {Tissue::fat, 0.5, {0, -1}};
  const bool lateral = place.x > axis_x(part);
  const double wall = margin + wall_at(part, lateral);
  // Above the annulus' level: walls of ventricles.
  const double inner = margin + trabeculae_at(part, lateral);
  if (place.y > 0 && left.distance < inner)
    return {Tissue::trabeculae, left.distance - margin, left.normal};
  if (place.y > -0.2 && left.distance < wall) {
    const Tissue tissue = part < 0.22 ? Tissue::apex
                          : lateral   ? Tissue::lateral_wall
                                      : Tissue::septum;
    return {tissue, std::max(left.distance - inner, 0.0), left.normal};
  }
  if (place.y > -0.2 && right.distance < a.right_wall)
    return {Tissue::right_wall, right.distance, right.normal};
  const double atrial = std::min(left_atrium.distance, right_atrium.distance);
  const Nearest& atrium = left_atrium.distance < right_atrium.distance ? left_atrium : right_atrium;
  if (atrial < std::max(0.25, 0.6 * a.atrial_septum))
    return {Tissue::atrial_wall, atrial, atrium.normal};
  const double outer =
      std::min({left.distance - wall, right.distance - a.right_wall, atrial - 0.25});
  const Nearest& side = outer == left.distance - wall            ? left
                        : outer == right.distance - a.right_wall ? right
                                                                 : atrium;
  if (outer < 0.25) return {Tissue::pericardium, std::max(outer, 0.0), side.normal};
  return {Tissue::outside, outer - 0.25, side.normal};
}

Point Phantom::leaflet(int which, double along, double contraction, double opening) const {
  const size_t first = which < 2 ? 0 : 2;
  const bool other = which % 2 == 1;
  Point hinge = move(hinges_[first], contraction), far = move(hinges_[first + 1], contraction);
  if (other) std::swap(hinge, far);
  const Point across = far - hinge;
  const double diameter = length(across);
  const Point forward = (1 / std::max(diameter, 1e-9)) * across;
  Point apical{-forward.y, forward.x};
  if (apical.y < 0) apical = -1 * apical;
  const bool septal = (which == 0) || (which == 2);
  const double share = septal ? anatomy_.septal_leaflet : 1 - anatomy_.septal_leaflet;
  const double angle = anatomy_.tent + opening * (anatomy_.open_angle - anatomy_.tent);
  // A leaflet bows to the atrium in systole and to the apex when it is open.
  const double bow = angle + (0.5 - along) * (opening > 0.2 ? -0.5 : 0.25);
  const double size = share * diameter * (1 / std::cos(anatomy_.tent) + 0.15 * opening);
  return hinge + (along * size) * (std::cos(bow) * forward + std::sin(bow) * apical);
}

Tracing trace(const Outline& border, size_t apex_index) {
  Tracing tracing;
  tracing.apex = border[apex_index];
  tracing.base = 0.5 * (border.front() + border.back());
  const Point axis = tracing.base - tracing.apex, across{-axis.y, axis.x};
  const double square = dot(axis, axis);
  for (size_t i = 0; i < tracing.chords.size(); ++i) {
    const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(tracing.chords.size());
    double low = 0, high = 0;
    for (size_t k = 0, j = border.size() - 1; k < border.size(); j = k++) {
      const Point a = border[j] - tracing.apex, b = border[k] - tracing.apex;
      const double from = dot(a, axis) / square - part, to = dot(b, axis) / square - part;
      if ((from < 0) == (to < 0)) continue;
      const double s = dot(a + (from / (from - to)) * (b - a), across) / square;
      low = std::min(low, s);
      high = std::max(high, s);
    }
    const Point middle = tracing.apex + part * axis;
    Point first = middle + low * across, second = middle + high * across;
    if (second.x < first.x) std::swap(first, second);
    tracing.chords[i] = {first, second};
  }
  return tracing;
}

double disk_volume(const Tracing& tracing) {
  double squares = 0;
  for (const auto& chord : tracing.chords) {
    const Point across = chord[1] - chord[0];
    squares += dot(across, across);
  }
  return pi / 4 * squares * length(tracing.base - tracing.apex) /
         static_cast<double>(tracing.chords.size());
}

double contraction_for(const Phantom& phantom, double ejection_fraction) {
  const auto volume = [&](double contraction) {
    return disk_volume(trace(phantom.ventricle(contraction), phantom.apex_index()));
  };
  const double goal = volume(0) * (1 - ejection_fraction);
  double low = 0, high = 1;
  check(ejection_fraction >= 0 && volume(1) <= goal, "synth",
        "the ejection fraction must be one that the heart can reach", ejection_fraction);
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (volume(middle) > goal ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace aorta::echo
