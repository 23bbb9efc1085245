#pragma once

#include <aorta/apps/echo/synth/phantom.h>

#include <utility>

namespace aorta::echo {

/// The side of a picture, pixels.
inline constexpr int kPicture = 112;

/// Where the heart lies in the picture.
struct View {
  Point apex{56, 22};        // of the left ventricle at the end of diastole
  double scale = 6.8;        // pixels a cm
  double tilt = 0.2;         // of the long axis, radians; positive: the base lies right of the apex
  double twist = 0;          // added to the tilt at full contraction
  Point sway{};              // of the apex at full contraction, pixels
  Point breath{};            // of the apex with breathing, pixels
  double breath_period = 4;  // s

  static View random(Draw& draw, const Anatomy& anatomy);
  /// Where a heart of `length` lies at a moment: a turn, a scale and a shift.
  struct Pose {
    double x = 0, y = 0, cosine = 1, sine = 0, scale = 1, length = 0;
    /// The picture's place of one in the heart.
    Point place(Point heart) const {
      const double across = scale * heart.x, down = scale * (length - heart.y);
      return {x + across * cosine + down * sine, y - across * sine + down * cosine};
    }
  };
  Pose pose(double length, double contraction, double time) const;
  /// The picture's place of one in the heart.
  Point place(Point heart, double length, double contraction, double time) const {
    return pose(length, contraction, time).place(heart);
  }
};

/// The transducer and the settings of the machine. Lengths in pixels, angles in radians from
/// straight down, positive to the right; decibels are relative to muscle's mean echo.
struct Probe {
  Point apex{58, 3};  // of the sector
  double left = -0.78, right = 0.78, near = 4, depth = 112;
  double axial = 0.75;  // deviation of the pulse along the beam
  double lateral = 0.9, focus = 60,
         spreading = 0.012;  // of the beam at its focus, and away from it
  double speckle = 0.5;      // part of the power that is speckle; the rest, its mean, is what a
                             // machine's averaging of looks leaves
  double side_lobes = 0.05, side_lobe_width = 0.3;  // amplitude, radians
  double noise = -42, noise_slope = 0.1;            // dB at the probe, and a pixel of depth
  double white = 12, range = 50, gamma = 1.3;       // what is white, and dB down to black
  double persistence = 0.4;                         // part of the picture 1/50 s before
  double depth_gain = 0;                            // dB at the bottom
  double clutter = -30, clutter_depth = 14;         // that stands still near the probe
  double blood_memory = 0.6;                        // of the blood's speckle, over 1/50 s
  struct Shadow {
    double angle = 0, width = 0.1, decibels = 0;
  };
  std::array<Shadow, 4> shadows{};
  double left_dropout = 0, right_dropout = 0;  // dB at the sector's edges
  bool marks = true;                           // signs on the screen beside the sector

  static Probe random(Draw& draw);
  /// Whether a place is in the picture and in the sector.
  bool sees(Point place) const;
};

/// How much the tissues of a patient echo.
struct Echoes {
  std::array<double, kTissues> decibels{};
  double border = 4, border_depth = 0.12;  // dB more at the border to blood, cm
  double across_only = 0.5;                // part that only borders across the beam send back
  double lung_decay = 4;                   // dB a cm, of what lies around the heart
  double leaflets = 8, right_leaflets = 6;
  double roughness = 0.08;  // of the borders, cm
  double patches = 5;       // dB, deviation of patches of tissue
  double layers = 6;        // dB, of layers across the beam, around the heart
  double leaf_patches = 5;
  double crux = 8;  // dB more of the atrial septum's upper end
  double blood_patches = 4;
  double apical_haze = 0, haze_depth = 1.5;  // dB more of the ventricle's blood at the apex; cm

  static Echoes random(Draw& draw);
};

/// Pictures of a phantom as a phased array makes them.
///
/// Each resolution cell holds many scatterers of random phase, so that the sum is a complex normal
/// number and its envelope is Rayleigh distributed (fully developed speckle: Wagner et al.,
/// "Statistics of speckle in ultrasound B-scans", 1983). Scatterers move with the tissue, so
/// speckle does, too; in blood they lose their phase. They are summed in beam coordinates (depth,
/// angle) with a pulse of constant length and a beam that spreads away from its focus; the envelope
/// is compressed logarithmically and brought into the picture's coordinates.
class Scanner {
 public:
  Scanner(const Phantom& phantom, const View& view, const Probe& probe, const Echoes& echoes,
          double fps, Generator& generator);

  /// The next frame, kPicture x kPicture grey values.
  void frame(double contraction, double opening, double time, uint8_t* pixels);

 private:
  struct Scatterer {
    Phantom::Particle particle;
    float re = 0, im = 0, amplitude = 0;
  };
  struct Still {  // a scatterer that doesn't move
    float row = 0, beam = 0, re = 0, im = 0, power = 0;
  };
  struct Leaf {
    float along = 0, off_x = 0, off_y = 0, re = 0, im = 0, power = 0;
    int which = 0;
  };
  struct Sample {  // where a pixel comes from
    int pixel = 0, cell = 0;
    float down = 0, right = 0;
  };

  void scatter(const Echoes& echoes);
  void tune();
  void map_pixels();
  void add_marks();
  void splat(Point place, float re, float im, float power);
  void splat_cell(float row, float beam, float re, float im, float power);
  static void add_line(float weight, const float* from, float* to);
  void blur(const std::vector<float>& from, std::vector<float>& to, bool power) const;
  void compress();
  float random_normal();

  static constexpr int kRows = 208, kBeams = 128;
  const Phantom& phantom_;
  View view_;
  Probe probe_;
  Draw draw_;
  double step_ = 0, pitch_ = 0;  // pixels a row, radians a beam
  std::vector<Scatterer> scatterers_;
  size_t blood_ = 0;  // the first so many are blood's
  std::vector<Still> still_;
  std::vector<Leaf> leaves_;
  std::vector<float> normals_;
  size_t next_normal_ = 0;
  std::vector<float> loss_, gain_, noise_, scale_;
  static constexpr int kLevels = 1024;
  std::array<float, kLevels + 1> greys_{};  // of levels of decibels, black to white
  std::vector<float> axial_, axial_power_;
  std::vector<std::vector<float>> lateral_, lateral_power_;
  std::vector<float> re_, im_, power_, re2_, im2_, power2_, grey_;
  std::vector<Sample> samples_;
  std::vector<std::pair<int, uint8_t>> marks_;
  bool first_ = true;
};

}  // namespace aorta::echo
