#pragma once

#include <aorta/report/plot.h>

namespace aorta::report {

/// The SVG text of one Plot: where everything stands, and the elements in their order.
class Drawing {
 public:
  explicit Drawing(const Plot& plot);
  std::string svg();

 private:
  struct Entry {  // of the legend
    double x, y;
    const Plot::Series* series;
  };
  struct Pixel {
    double x, y;
  };

  void choose_ranges();
  void lay_out_legend();
  Pixel pixel(Plot::Point point) const;
  double x_of(double value) const;
  double y_of(double value) const;
  std::vector<std::vector<Pixel>> pieces(const Plot::Series& series) const;
  size_t number_of(const Plot::Series& series) const;
  std::string colour(const Plot::Series& series) const;
  std::string dash(const Plot::Series& series) const;

  void draw_grid();
  void draw_contours();
  void draw_series(const Plot::Series& series);
  void draw_band(const Plot::Series& series);
  void draw_bars(const Plot::Series& series);
  void draw_rules();
  void draw_circle(Pixel at, double radius, const std::string& style);
  void draw_axes();
  void draw_legend();

  const Plot& plot_;
  Ticks x_, y_;
  std::vector<Entry> legend_;
  double left_ = 0, right_ = 0, top_ = 0, bottom_ = 0;  // of the area of the data
  bool empty_ = false;
  std::string out_;
};

}  // namespace aorta::report
