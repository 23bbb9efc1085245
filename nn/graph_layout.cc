#include <aorta/nn/graph_layout.h>

#include <algorithm>
#include <numeric>

namespace aorta::nn {
namespace {

constexpr double kColumnGap = 28, kRowGap = 34, kMargin = 20, kPassWidth = 12;

// A box, or the place where an arrow passes a layer.
struct Item {
  size_t layer = 0;
  double width = 0, height = 0, x = 0, rank = 0;
  std::vector<size_t> above, below;  // neighbours in the next layers
};

struct Layers {
  std::vector<Item> items;                  // the boxes first
  std::vector<std::vector<size_t>> order;   // items of each layer, from left to right
  std::vector<std::vector<size_t>> routes;  // of each arrow: the items that it meets
};

// The longest way from a box without arrows into it; what lies on a cycle comes last.
std::vector<size_t> layers_of(size_t count, const std::vector<GraphArrow>& arrows) {
  std::vector<size_t> layer(count, 0), waiting(count, 0), ready;
  std::vector<std::vector<size_t>> below(count);
  for (const GraphArrow& arrow : arrows) {
    below[arrow.from].push_back(arrow.to);
    ++waiting[arrow.to];
  }
  for (size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push_back(i);
  }
  for (size_t done = 0; done < ready.size(); ++done) {
    for (const size_t next : below[ready[done]]) {
      layer[next] = std::max(layer[next], layer[ready[done]] + 1);
      if (--waiting[next] == 0) ready.push_back(next);
    }
  }
  return layer;
}

Layers build(const std::vector<GraphBox>& boxes, const std::vector<GraphArrow>& arrows) {
  Layers result;
  const std::vector<size_t> layer = layers_of(boxes.size(), arrows);
  for (size_t i = 0; i < boxes.size(); ++i) {
    result.items.push_back({.layer = layer[i],
                            .width = boxes[i].width,
                            .height = boxes[i].height,
                            .above = {},
                            .below = {}});
  }
  for (const GraphArrow& arrow : arrows) {
    std::vector<size_t> route{arrow.from};
    for (size_t at = layer[arrow.from] + 1; at < layer[arrow.to]; ++at) {
      result.items.push_back({.layer = at, .width = kPassWidth, .above = {}, .below = {}});
      route.push_back(result.items.size() - 1);
    }
    route.push_back(arrow.to);
    for (size_t i = 1; i < route.size(); ++i) {
      result.items[route[i - 1]].below.push_back(route[i]);
      result.items[route[i]].above.push_back(route[i - 1]);
    }
    result.routes.push_back(std::move(route));
  }
  size_t count = 0;
  for (const Item& item : result.items) count = std::max(count, item.layer + 1);
  result.order.resize(count);
  for (size_t i = 0; i < result.items.size(); ++i) {
    result.order[result.items[i].layer].push_back(i);
  }
  return result;
}

void rank(Layers& layers, const std::vector<size_t>& order) {
  for (size_t i = 0; i < order.size(); ++i) layers.items[order[i]].rank = static_cast<double>(i);
}

// Orders a layer by the mean place of each item's neighbours on one side.
void sort_by_neighbours(Layers& layers, size_t at, std::vector<size_t> Item::*side) {
  std::vector<size_t>& order = layers.order[at];
  rank(layers, order);
  std::vector<double> key(layers.items.size());
  for (const size_t i : order) {
    const std::vector<size_t>& near = layers.items[i].*side;
    double sum = 0;
    for (const size_t j : near) sum += layers.items[j].rank;
    key[i] = near.empty() ? layers.items[i].rank : sum / static_cast<double>(near.size());
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key[a] < key[b]; });
  rank(layers, order);
}

void reduce_crossings(Layers& layers) {
  for (const auto& order : layers.order) rank(layers, order);
  for (int sweep = 0; sweep < 8; ++sweep) {
    for (size_t at = 1; at < layers.order.size(); ++at)
      sort_by_neighbours(layers, at, &Item::above);
    for (size_t at = layers.order.size(); at-- > 0;) sort_by_neighbours(layers, at, &Item::below);
  }
}

// Moves the items of a layer towards their neighbours' mean, keeping order and gaps.
void pull(Layers& layers, const std::vector<size_t>& order, std::vector<size_t> Item::*side) {
  std::vector<Item>& items = layers.items;
  const auto wanted = [&](size_t i) {
    const std::vector<size_t>& near = items[i].*side;
    if (near.empty()) return items[i].x;
    double sum = 0;
    for (const size_t j : near) sum += items[j].x;
    return sum / static_cast<double>(near.size());
  };
  const auto gap = [&](size_t a, size_t b) {
    return (items[a].width + items[b].width) / 2 + kColumnGap;
  };
  // Half way between the places that a walk from the left and one from the right allow.
  std::vector<double> left(order.size()), right(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    left[i] = wanted(order[i]);
    if (i > 0) left[i] = std::max(left[i], left[i - 1] + gap(order[i - 1], order[i]));
  }
  for (size_t i = order.size(); i-- > 0;) {
    right[i] = wanted(order[i]);
    if (i + 1 < order.size()) {
      right[i] = std::min(right[i], right[i + 1] - gap(order[i], order[i + 1]));
    }
  }
  for (size_t i = 0; i < order.size(); ++i) items[order[i]].x = (left[i] + right[i]) / 2;
}

void place(Layers& layers) {
  for (const auto& order : layers.order) {
    double x = 0;
    for (const size_t i : order) {
      layers.items[i].x = x + layers.items[i].width / 2;
      x += layers.items[i].width + kColumnGap;
    }
  }
  for (int sweep = 0; sweep < 12; ++sweep) {
    for (const auto& order : layers.order) pull(layers, order, &Item::above);
    for (size_t at = layers.order.size(); at-- > 0;) pull(layers, layers.order[at], &Item::below);
  }
}

}  // namespace

GraphSize lay_out(std::vector<GraphBox>& boxes, std::vector<GraphArrow>& arrows) {
  Layers layers = build(boxes, arrows);
  reduce_crossings(layers);
  place(layers);
  double left = 0, right = 0;
  for (size_t i = 0; i < layers.items.size(); ++i) {
    const Item& item = layers.items[i];
    left = i == 0 ? item.x - item.width / 2 : std::min(left, item.x - item.width / 2);
    right = i == 0 ? item.x + item.width / 2 : std::max(right, item.x + item.width / 2);
  }
  std::vector<double> middle(layers.order.size());
  double y = kMargin;
  for (size_t at = 0; at < layers.order.size(); ++at) {
    double height = 0;
    for (const size_t i : layers.order[at]) height = std::max(height, layers.items[i].height);
    middle[at] = y + height / 2;
    y += height + kRowGap;
  }
  for (size_t i = 0; i < boxes.size(); ++i) {
    boxes[i].x = layers.items[i].x - left + kMargin;
    boxes[i].y = middle[layers.items[i].layer];
  }
  for (size_t i = 0; i < arrows.size(); ++i) {
    GraphArrow& arrow = arrows[i];
    for (const size_t at : layers.routes[i]) {
      arrow.x.push_back(layers.items[at].x - left + kMargin);
      arrow.y.push_back(middle[layers.items[at].layer]);
    }
    arrow.y.front() += boxes[arrow.from].height / 2;
    arrow.y.back() -= boxes[arrow.to].height / 2;
  }
  return {right - left + 2 * kMargin, y - kRowGap + kMargin};
}

}  // namespace aorta::nn
