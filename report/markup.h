#pragma once

#include <string>
#include <string_view>

namespace aorta::report {

/// Any bytes as text of XML and HTML, between tags or in a double-quoted attribute: & < > " become
/// entities, what is no UTF-8 or no letter of XML 1.0 becomes U+FFFD, and control characters become
/// blanks.
std::string escape(std::string_view text);

/// A coordinate: two decimals, without "-0.00", and nothing that lies far outside any picture.
std::string number(double value);
/// An SVG text with more attributes in `style`.
std::string text_element(double x, double y, const std::string& text, const std::string& style);
/// About how wide that text is in kFont: Helvetica's letters by kind; other fonts differ by some
/// per cent.
double text_width(const std::string& text, double size);

inline constexpr const char* kFont = "Inter, Helvetica Neue, Arial, DejaVu Sans, sans-serif";

/// A colour on a light ground, which SVG files carry, and what a page makes of it on a dark one.
struct Tone {
  const char* light;
  const char* dark;
};

/// The colours of a plot's parts.
inline constexpr Tone kGround{"#ffffff", "#15191f"};
inline constexpr Tone kText{"#1f2328", "#e6edf3"};
inline constexpr Tone kQuiet{"#59636e", "#9aa4af"};
inline constexpr Tone kGridLine{"#e7eaee", "#2a313a"};
inline constexpr Tone kMinorLine{"#f3f5f7", "#20262d"};
inline constexpr Tone kAxisLine{"#8c959f", "#6b7580"};
/// The colours of a plot's curves: Okabe and Ito's palette without its yellow, which is too pale
/// for lines on white.
inline constexpr Tone kPalette[] = {
    {"#0072b2", "#4fa8e0"}, {"#d55e00", "#f08239"}, {"#009e73", "#2fc79a"}, {"#cc79a7", "#dd94ba"},
    {"#e69f00", "#f0b435"}, {"#56b4e9", "#86cdf5"}, {"#4d4d4d", "#b4bac1"}};

}  // namespace aorta::report
