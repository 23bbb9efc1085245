#pragma once

#include <cstddef>
#include <vector>

// Places the boxes of an acyclic graph in layers from top to bottom (Sugiyama et al. 1981).

namespace aorta::nn {

struct GraphBox {
  double width = 0, height = 0;
  double x = 0, y = 0;  // the centre; set by lay_out
};
struct GraphArrow {
  size_t from = 0, to = 0;
  std::vector<double> x, y;  // the points that it passes, its ends included; set by lay_out
};
struct GraphSize {
  double width = 0, height = 0;
};
/// Every box lies in the layer below the lowest box that points to it, layers are ordered so that
/// few arrows cross, and arrows over several layers pass between the boxes. Arrows of a cycle, if
/// there is one, may point up.
GraphSize lay_out(std::vector<GraphBox>& boxes, std::vector<GraphArrow>& arrows);

}  // namespace aorta::nn
