#pragma once

#include <aorta/core/random.h>

#include <array>
#include <cstdint>
#include <vector>

namespace aorta::echo {

/// A place or a vector. In the heart, cm: y points along the long axis of the left ventricle from
/// the mitral valve to the apex, x from the septum to the lateral wall, and (0, 0) is the middle of
/// the mitral annulus at the end of diastole. In a picture, pixels: (0, 0) is the middle of the
/// upper left one, and y points down.
struct Point {
  double x = 0;
  double y = 0;
};
using Outline = std::vector<Point>;

/// Random numbers of a Generator.
class Draw {
 public:
  explicit Draw(Generator& generator) : generator_(generator) {}
  double uniform(double low, double high) { return low + (high - low) * generator_.next_uniform(); }
  bool chance(double probability) { return generator_.next_uniform() < probability; }
  double normal(double mean, double deviation);
  /// A normal number that is drawn anew until it lies within two deviations.
  double normal_within(double mean, double deviation);

 private:
  Generator& generator_;
};

/// The course of a heartbeat, in seconds; time 0 is the end of diastole.
///
/// Ejection is fast at first and slow at its end; after isovolumic relaxation the ventricle fills
/// rapidly (E), rests (diastasis), and is filled up by the atrium (A).
struct Heartbeat {
  double beat = 1;           // from one end of diastole to the next
  double systole = 0.36;     // to the end of systole
  double early_share = 0.7;  // of the stroke volume, filled by E
  double atrial_share = 0.22;
  double ajar = 0.2;  // opening of the valves at the end of diastole: they close as systole begins

  /// 0 at the end of diastole, 1 at the end of systole.
  double contraction(double time) const;
  /// How far the valves between atria and ventricles are open, 0 to 1.
  double opening(double time) const;
};

/// What differs from one heart to the next. Lengths in cm, at the end of diastole.
struct Anatomy {
  double length = 8, width = 4.7;  // of the left ventricle
  double widest = 0.72;            // where, as a part of the way from apex to base
  double roundness = 2;            // of the apex: the exponent of a superellipse
  double base_width = 0.85;        // of the annulus, as a part of `width`
  double bend = 0, mitral_tilt = 0;
  std::array<double, 3> bulge{};  // of septal, lateral wall: amplitudes of waves along them
  double septal_part = 0.5;       // of `width`, on the septum's side
  double septum = 1, lateral_wall = 1, apex_wall = 0.8;
  double right_width = 2.8, right_length = 0.8, right_wall = 0.4;  // of the right ventricle
  double left_atrium_width = 4, left_atrium_length = 4.5;
  double right_atrium_width = 4, right_atrium_length = 4.3, atrial_septum = 0.3;
  double septal_motion = 1, lateral_motion = 1;  // of the contraction
  double longitudinal_motion = 0.24;             // part of `length` that the base moves at most
  double apical_motion = 0;  // part of `length` that the apex of the cavity sinks at most
  double taper = 0.4;        // part of its narrowing that the ventricle's base doesn't share
  double papillary_at = 0.5, papillary_size = 0.5;
  bool papillary = true;
  // Pieces of chordae and muscle that stand in the blood.
  struct Strand {
    double part = 0.5, across = 0, width = 0.1, size = 0;  // size 0: none
  };
  std::array<Strand, 3> strands{};
  double septal_leaflet = 0.6;  // part of the annulus that the anterior mitral leaflet closes
  double tent = 0.2;            // angle of the closed leaflets, radians
  double open_angle = 1.2;
  double left_fat = 0.9, right_fat = 0.9;  // of the grooves
  // Blood between the border as people trace it and the first tissue, but at the apex, cm: volumes
  // by echocardiography are 26 % (end of diastole) and 29 % (of systole) below those by magnetic
  // resonance (Mor-Avi et al., JACC Cardiovascular Imaging 1, 2008).
  double margin = 0;
  // Between that margin and the compact wall: how thick they are, and how much of them is blood, in
  // recesses.
  double septal_trabeculae = 0.08, lateral_trabeculae = 0.15;
  double recesses = 0.5;

  static Anatomy random(Draw& draw);
};

/// What a scatterer is part of.
enum class Tissue : uint8_t {
  left_blood,   // of the left ventricle
  other_blood,  // of the atria and of the right ventricle
  septum,
  apex,
  lateral_wall,
  right_wall,
  atrial_wall,
  annulus,
  fat,  // of the grooves between atria and ventricles
  papillary,
  strand,
  trabeculae,
  pericardium,
  outside,
};
inline constexpr int kTissues = static_cast<int>(Tissue::outside) + 1;

/// A heart in the apical four-chamber view: shapes at the end of diastole, and how each place of
/// them moves. The left ventricle shortens along its axis, its base going to the apex, and narrows
/// across it, and the apex of its blood may sink to the base; muscle keeps its volume, so that
/// walls thicken as they go in (x'^2 = x^2 - R^2 + R'^2 at a distance x from the axis, where the
/// traced border goes from R to R'). The recesses between trabeculae lose their blood faster than
/// the ventricle does (see move()).
class Phantom {
 public:
  explicit Phantom(const Anatomy& anatomy);
  const Anatomy& anatomy() const { return anatomy_; }

  /// A place at the end of diastole, with what its motion needs.
  struct Particle {
    float x = 0, y = 0;      // as Point; x from the ventricle's axis
    float axis = 0;          // x of the axis
    float border = 0;        // R, of the side of the particle
    float margin = 0;        // cm of blood beyond it
    float layer = 0;         // cm of trabeculae there
    float recesses = 0;      // their part that is blood
    float narrowing = 0;     // part of R that goes at full contraction
    float falloff = 0;       // of the motion across, away from the ventricle
    float lift = 0;          // cm that it goes to the apex at full contraction
    float right_motion = 0;  // cm that it goes to the septum with the right ventricle's wall
  };
  Particle particle(Point place) const;
  /// Where it is at `contraction`, 0 to 1. In four-chamber views the area of the recesses falls to
  /// 37 % by the end of systole where that of the cavity falls to 72 % (Visoiu, Rimbas, Nicula,
  /// Vinereanu, Jensen, "Left ventricular trabecular layer operates at high ejection fraction",
  /// medRxiv 2024.01.02.24300719): they lose 2.25 times as much, here up to nine tenths.
  static Point move(const Particle& particle, double contraction);

  /// The border of the left ventricle's blood, from the septal end of the mitral annulus over the
  /// apex, which is point apex_index(), to its lateral end.
  Outline ventricle(double contraction) const;
  size_t apex_index() const { return left_.size() / 2; }

  struct Kind {
    Tissue tissue = Tissue::outside;
    double depth = 0;  // cm, from the border of its tissue
    Point normal;      // of that border, outwards
  };
  Kind kind(Point place) const;

  /// Places of the four leaflets (mitral septal, mitral lateral, tricuspid septal, tricuspid
  /// lateral): `along` 0 at the hinge to 1 at the tip.
  Point leaflet(int which, double along, double contraction, double opening) const;

 private:
  double half_width(double part, bool lateral) const;
  double axis_x(double part) const;
  double margin_at(double part) const;
  double wall_at(double part, bool lateral) const;
  double trabeculae_at(double part, bool lateral) const;

  Anatomy anatomy_;
  Outline left_, right_, left_atrium_, right_atrium_;
  std::array<Particle, 4> hinges_;
};

/// Area-length volume of a traced ventricle, the single-plane method of disks.
struct Tracing {
  Point apex, base;                             // the long axis
  std::array<std::array<Point, 2>, 20> chords;  // across it, from apex to base, left end first
};
/// The tracing of a border as Phantom::ventricle gives it, in its units: the long axis goes from
/// the apex to the middle of the annulus, chord i crosses it at (i + 1/2) / 20 of its length.
Tracing trace(const Outline& border, size_t apex_index);
/// pi / 4 * sum of chord^2 * length / 20, in cubic units of the tracing.
double disk_volume(const Tracing& tracing);

/// The contraction at which the volume is 1 - ejection_fraction of that at contraction 0; throws
/// when even 1 gives more.
double contraction_for(const Phantom& phantom, double ejection_fraction);

}  // namespace aorta::echo
