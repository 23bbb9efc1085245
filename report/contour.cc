#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include <aorta/report/contour.h>

namespace aorta::report {
namespace {

// Edges of the grid are numbered: 2 x point for the one to its right, 2 x point + 1 upwards.
using Edge = int64_t;

// At most two segments meet at an edge: one from each of its cells.
struct Neighbours {
  std::array<Edge, 2> at{-1, -1};
  void add(Edge edge) { at[at[0] < 0 ? 0 : 1] = edge; }
};

class Tracer {
 public:
  Tracer(const Grid& grid, double level) : grid_(grid), level_(level) {
    for (int row = 0; row + 1 < grid.rows; ++row)
      for (int column = 0; column + 1 < grid.columns; ++column) add_cell(column, row);
  }

  std::vector<Polyline> lines() {
    std::vector<Polyline> lines;
    // Open lines start at an edge with one neighbour; what is left then is closed.
    for (const bool open : {true, false})
      for (const Edge start : order_) {
        auto found = segments_.find(start);
        if (found == segments_.end() || (open && found->second.at[1] >= 0)) continue;
        lines.push_back(follow(start));
      }
    return lines;
  }

 private:
  void connect(Edge a, Edge b) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      auto [entry, is_new] = segments_.try_emplace(from);
      if (is_new) order_.push_back(from);
      entry->second.add(to);
    }
  }

  Edge edge(int column, int row, bool up) const {
    return 2 * (int64_t{row} * grid_.columns + column) + up;
  }

  void add_cell(int column, int row) {
    const double corner[4] = {grid_.value(column, row), grid_.value(column + 1, row),
                              grid_.value(column + 1, row + 1), grid_.value(column, row + 1)};
    double middle = 0;
    for (const double value : corner) {
      if (!std::isfinite(value)) return;
      middle += value / 4;
    }
    // Edge i joins corners i and i + 1.
    const Edge edges[4] = {edge(column, row, false), edge(column + 1, row, true),
                           edge(column, row + 1, false), edge(column, row, true)};
    int crossed[4], count = 0;
    for (int i = 0; i < 4; ++i)
      if (above(corner[i]) != above(corner[(i + 1) % 4])) crossed[count++] = i;
    if (count == 2) connect(edges[crossed[0]], edges[crossed[1]]);
    if (count != 4) return;
    // A saddle: corner 0's own two edges belong together unless the middle is on its side.
    const bool joined = above(middle) == above(corner[0]);
    connect(edges[0], edges[joined ? 1 : 3]);
    connect(edges[2], edges[joined ? 3 : 1]);
  }

  bool above(double value) const { return value >= level_; }

  std::pair<double, double> point(Edge edge) const {
    const auto at = edge / 2;
    const int column = static_cast<int>(at % grid_.columns);
    const int row = static_cast<int>(at / grid_.columns);
    const bool up = edge % 2 != 0;
    const double from = grid_.value(column, row);
    const double to = grid_.value(column + !up, row + up);
    const double part = (level_ - from) / (to - from);
    return {grid_.x(column + (up ? 0 : part)), grid_.y(row + (up ? part : 0))};
  }

  Polyline follow(Edge start) {
    Polyline line;
    Edge before = -1, at = start;
    for (;;) {
      line.push_back(point(at));
      auto entry = segments_.find(at);
      if (entry == segments_.end()) break;  // back at the start of a closed line
      const auto next = entry->second.at;
      segments_.erase(entry);
      const Edge to = next[0] != before ? next[0] : next[1];
      if (to < 0) break;
      before = at;
      at = to;
    }
    return line;
  }

  const Grid& grid_;
  double level_;
  std::unordered_map<Edge, Neighbours> segments_;
  std::vector<Edge> order_;  // of their appearance, so that results don't depend on hashes
};

}  // namespace

Grid sample_grid(const std::function<double(double x, double y)>& f, Grid grid) {
  grid.values.clear();
  for (int row = 0; row < grid.rows; ++row)
    for (int column = 0; column < grid.columns; ++column)
      grid.values.push_back(f(grid.x(column), grid.y(row)));
  return grid;
}

std::vector<Polyline> contour_lines(const Grid& grid, double level) {
  return Tracer(grid, level).lines();
}

std::vector<double> quantile_levels(const Grid& grid, int count) {
  std::vector<double> sorted;
  for (const double value : grid.values)
    if (std::isfinite(value)) sorted.push_back(value);
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> levels;
  for (int i = 0; i < count && !sorted.empty(); ++i) {
    const double level =
        sorted[sorted.size() * (2 * static_cast<size_t>(i) + 1) / (2 * static_cast<size_t>(count))];
    if (level > sorted.front() && (levels.empty() || level > levels.back()))
      levels.push_back(level);
  }
  return levels;
}

}  // namespace aorta::report
