#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace aorta::report {

/// Values of a function on a grid: `value(column, row)` is f at x low + column x step, and so on.
struct Grid {
  double x_low = 0, x_high = 1, y_low = 0, y_high = 1;
  int columns = 2, rows = 2;
  std::vector<double> values = {};  // row by row, the lowest y first

  double x(double column) const { return x_low + (x_high - x_low) * column / (columns - 1); }
  double y(double row) const { return y_low + (y_high - y_low) * row / (rows - 1); }
  double value(int column, int row) const {
    return values[static_cast<size_t>(row) * static_cast<size_t>(columns) +
                  static_cast<size_t>(column)];
  }
};

/// The grid with the values of f.
Grid sample_grid(const std::function<double(double x, double y)>& f, Grid grid);

using Polyline = std::vector<std::pair<double, double>>;

/// The lines on which the grid's values, bilinear between its points, are `level`: marching squares
/// (Lorensen and Cline's cubes in two dimensions), the middle of a cell deciding a saddle. Closed
/// lines end where they start. Cells with a value that isn't finite have none.
std::vector<Polyline> contour_lines(const Grid& grid, double level);

/// `count` levels with as much of the area between each two neighbours.
std::vector<double> quantile_levels(const Grid& grid, int count);

}  // namespace aorta::report
