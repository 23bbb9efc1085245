#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/history.h>
#include <aorta/nn/draw_graph.h>
#include <aorta/nn/graph_layout.h>

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace aorta::nn {
namespace {

using autograd::Edge;
using autograd::Node;

constexpr double kCharacter = 7.2, kLine = 16, kPadding = 9;

struct Box {
  enum class Kind { tensor, function, module } kind;
  std::vector<std::string> lines;
};

// The module that a node is drawn as a part of; an empty name for one that is drawn by itself.
class Owners {
 public:
  Owners(const Module& module, int depth) : depth_(depth), prefix_(module.name()) {
    const Module::NamedModules modules = const_cast<Module&>(module).named_modules();
    for (const auto& [name, inner] : modules) modules_[name] = inner;
  }

  std::string owner(const Node& node) const {
    std::string path = node.path() ? node.path()->to_string() : "";
    if (!prefix_.empty() && path.compare(0, prefix_.size(), prefix_) == 0) {
      path.erase(0, std::min(path.size(), prefix_.size() + 1));
    }
    size_t end = std::string::npos;
    int names = path.empty() ? 0 : 1;
    for (size_t point = path.find('.'); point != std::string::npos;
         point = path.find('.', point + 1), ++names) {
      if (names == depth_) end = std::min(end, point);
    }
    const std::string name = path.substr(0, end);
    const auto found = modules_.find(name);
    if (name.empty() || found == modules_.end()) return {};
    const bool whole = names >= depth_ || found->second->named_children().empty();
    return whole ? name : std::string();
  }

  Box box(const std::string& name) const {
    Module& module = *modules_.at(name);
    int64_t parameters = 0;
    for (const Tensor& parameter : module.parameters()) parameters += parameter.numel();
    Box result{Box::Kind::module, {name, module.type_name()}};
    if (parameters > 0) result.lines[1] += fmt::format("  {} parameters", parameters);
    return result;
  }

 private:
  int depth_;
  std::string prefix_;
  std::map<std::string, Module*> modules_;
};

// The recorded nodes behind an output, without the leaves but for the input's.
struct Recorded {
  std::vector<Node*> nodes;
  std::unordered_map<const Node*, size_t> number;
  struct Arrow {
    size_t from, to;
    std::string shape;
  };
  std::vector<Arrow> arrows;

  Recorded(const Edge& output, const Node* input) {
    add(output.node.get());
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (const Edge& edge : nodes[i]->edges()) {
        Node* const from = edge.node.get();
        if (!from || (from->is_leaf() && from != input)) continue;
        add(from);
        arrows.push_back({number[from], i, to_string(from->outputs()[edge.output].shape)});
      }
    }
  }

 private:
  void add(Node* node) {
    if (number.emplace(node, nodes.size()).second) nodes.push_back(node);
  }
};

// Joins neighbours of one owner: of each node, the first node of its group.
std::vector<size_t> groups_of(const Recorded& graph, const std::vector<std::string>& owners) {
  std::vector<size_t> parent(graph.nodes.size());
  std::iota(parent.begin(), parent.end(), size_t{0});
  const auto root = [&](size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const Recorded::Arrow& arrow : graph.arrows) {
    if (owners[arrow.from].empty() || owners[arrow.from] != owners[arrow.to]) continue;
    parent[root(arrow.from)] = root(arrow.to);
  }
  std::vector<size_t> groups(parent.size());
  for (size_t i = 0; i < groups.size(); ++i) groups[i] = root(i);
  return groups;
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}

GraphBox size_of(const Box& box) {
  size_t longest = 0;
  for (const std::string& line : box.lines) longest = std::max(longest, line.size());
  return {.width = kCharacter * static_cast<double>(longest) + 2 * kPadding,
          .height = kLine * static_cast<double>(box.lines.size()) + kPadding};
}

void draw_box(std::string& svg, const Box& box, const GraphBox& place) {
  constexpr const char* kFill[] = {"#d9ead3", "#eeeeee", "#cfe2f3"};
  constexpr const char* kStroke[] = {"#6aa84f", "#999999", "#3d85c6"};
  const size_t kind = static_cast<size_t>(box.kind);
  svg += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" fill=\"{}\" "
      "stroke=\"{}\"/>\n",
      place.x - place.width / 2, place.y - place.height / 2, place.width, place.height, kFill[kind],
      kStroke[kind]);
  double y = place.y - place.height / 2 + kPadding / 2 + 12;
  for (size_t i = 0; i < box.lines.size(); ++i, y += kLine) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", place.x, y,
                       box.kind == Box::Kind::module && i == 0 ? " font-weight=\"bold\"" : "",
                       escaped(box.lines[i]));
  }
}

void draw_arrow(std::string& svg, const GraphArrow& arrow, const std::string& shape) {
  std::string path = fmt::format("M{:.1f} {:.1f}", arrow.x[0], arrow.y[0]);
  for (size_t i = 1; i < arrow.x.size(); ++i) {
    const double middle = (arrow.y[i - 1] + arrow.y[i]) / 2;
    path += fmt::format(" C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", arrow.x[i - 1], middle,
                        arrow.x[i], middle, arrow.x[i], arrow.y[i]);
  }
  svg += "<path d=\"" + path + "\" class=\"arrow\" marker-end=\"url(#head)\"/>\n";
  if (shape.empty()) return;
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"shape\">{}</text>\n", arrow.x[0] + 5,
                     arrow.y[0] + 13, shape);
}

std::string draw(const std::vector<Box>& boxes, std::vector<GraphArrow> arrows,
                 const std::vector<std::string>& shapes) {
  std::vector<GraphBox> places;
  for (const Box& box : boxes) places.push_back(size_of(box));
  const GraphSize size = lay_out(places, arrows);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"monospace\" font-size=\"12\" "
      "text-anchor=\"middle\">\n"
      "<style>.arrow{{fill:none;stroke:#555555}} .shape{{font-size:10px;fill:#555555;"
      "text-anchor:start}}</style>\n"
      "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
      "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#555555\"/></marker>"
      "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      size.width + 60, size.height);  // room for the shapes beside the last arrows
  for (size_t i = 0; i < arrows.size(); ++i) draw_arrow(svg, arrows[i], shapes[i]);
  for (size_t i = 0; i < boxes.size(); ++i) draw_box(svg, boxes[i], places[i]);
  return svg + "</svg>\n";
}

}  // namespace

std::string draw_graph(const Module& module, const Tensor& input, int depth) {
  check(depth >= 1, "draw_graph", "depth must be at least 1", depth);
  const EnableGradGuard recording;
  const Tensor x = input.detach();
  if (is_floating(x.dtype())) x.requires_grad_();
  const Tensor output = module(x);
  const Edge root = autograd::edge_of(output);
  check(root.node && !root.node->is_leaf(), "draw_graph",
        "something that the module computes must require a gradient", output.shape());
  const Edge start = autograd::edge_of(x);
  const Recorded graph(root, start.node.get());
  const Owners owners(module, depth);
  std::vector<std::string> owner;
  for (const Node* node : graph.nodes) {
    owner.push_back(node->is_leaf() ? std::string() : owners.owner(*node));
  }
  const std::vector<size_t> group = groups_of(graph, owner);

  std::vector<Box> boxes;
  std::map<size_t, size_t> place;  // of each group's box
  const auto box_of = [&](size_t node) {
    const auto [at, is_new] = place.emplace(group[node], boxes.size());
    if (!is_new) return at->second;
    if (graph.nodes[node]->is_leaf())
      boxes.push_back({Box::Kind::tensor, {"input " + to_string(input.shape())}});
    else if (owner[node].empty())
      boxes.push_back({Box::Kind::function, {graph.nodes[node]->name()}});
    else
      boxes.push_back(owners.box(owner[node]));
    return at->second;
  };
  std::vector<GraphArrow> arrows;
  std::vector<std::string> shapes;
  const auto connect = [&](size_t from, size_t to, const std::string& shape) {
    for (const GraphArrow& arrow : arrows) {
      if (arrow.from == from && arrow.to == to) return;
    }
    // One text for all arrows that carry the same away from a box.
    bool said = false;
    for (size_t i = 0; i < arrows.size(); ++i) said |= arrows[i].from == from && shapes[i] == shape;
    arrows.push_back({from, to, {}, {}});
    shapes.push_back(said ? "" : shape);
  };
  // The nodes were found from the output back, so the last ones come first.
  for (size_t i = graph.arrows.size(); i-- > 0;) {
    const Recorded::Arrow& arrow = graph.arrows[i];
    if (group[arrow.from] == group[arrow.to]) continue;
    const size_t from = box_of(arrow.from), to = box_of(arrow.to);
    connect(from, to, arrow.shape);
  }
  const size_t last = box_of(0);
  boxes.push_back({Box::Kind::tensor, {"output " + to_string(output.shape())}});
  connect(last, boxes.size() - 1, to_string(output.shape()));
  return draw(boxes, std::move(arrows), shapes);
}

}  // namespace aorta::nn
