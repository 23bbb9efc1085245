#pragma once

#include <aorta/core/tensor.h>

#include <array>
#include <span>

namespace aorta::echo {

inline constexpr int kDisks = 20;

/// The largest of a mask's connected parts (pixels that share an edge), with its holes filled.
/// u8 (H, W), nonzero inside -> u8 (H, W) of 0 and 1.
Tensor clean_mask(const Tensor& mask);

/// A point in pixels: (0, 0) is the middle of the upper left one.
struct PointXY {
  double x = 0, y = 0;
};

/// A ventricle measured by the single-plane method of disks (Lang et al., "Recommendations for
/// cardiac chamber quantification by echocardiography in adults", 2015): 20 disks of equal height
/// across the long axis,
///
///     volume = pi / 4 * sum(width^2) * length / 20
///
/// in pixels^3.
struct Disks {
  PointXY apex, base;                   // the ends of the long axis
  std::array<double, kDisks> widths{};  // from the apex to the base, in pixels
  double length = 0;                    // of the long axis, in pixels
  double area = 0;                      // of the cleaned mask, in pixels
  double volume = 0;                    // 0 for an empty mask
};

/// How far a traced mask reaches beyond its tracing on each side, in pixels. Pixels on the outline
/// count as inside (data::fill_polygon), so that by Pick's theorem a mask has B / 2 + 1 pixels more
/// than its polygon's area, B being those on the outline: of EchoNet's tracings 0.3 of its length.
/// A network learns masks with that border. It would take 0.7 to 1 % off ejection fractions, for it
/// is a larger part of a small ventricle.
inline constexpr double kTraceBorder = 0.3;

/// Measures clean_mask(mask) without `border` pixels on each side. The long axis is the mask's
/// principal axis of inertia through its centre, which is how EchoNet's tracings lie (half a degree
/// off on average); its end in the wider half is the base, where the mitral valve is. A disk's
/// width is the area of its slice over its height, each pixel a square that is divided exactly
/// among the slices. An ellipsoid's volume within 2 % where its short axis has 24 pixels or more;
/// below, the pixels themselves say less.
Disks measure_disks(const Tensor& mask, double border = 0);

/// A row of VolumeTracings.csv.
struct Chord {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  double length() const;
};
/// Computes the volume from a tracing of EchoNet's: the long axis first, then a chord a disk.
/// Throws for fewer than two rows.
double traced_volume(std::span<const Chord> rows);

/// (EDV - ESV) / EDV in percent; NaN unless EDV is positive.
double ejection_fraction(double end_diastolic_volume, double end_systolic_volume);

}  // namespace aorta::echo
