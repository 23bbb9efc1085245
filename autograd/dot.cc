#include <aorta/autograd/dot.h>
#include <aorta/autograd/history.h>

#include <unordered_map>

namespace aorta::autograd {
namespace {

std::string quote(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + "\"";
}

std::string spec_text(const GradientSpec& spec) {
  std::string text = to_string(spec.shape);
  if (spec.dtype != DType::f32) text += std::string(" ") + to_string(spec.dtype);
  return text;
}

struct Drawing {
  // Nodes in the order in which a walk from the loss meets them, which numbers them.
  int number(Node* node) {
    const auto [place, is_new] = numbers.try_emplace(node, static_cast<int>(nodes.size()));
    if (is_new) nodes.push_back(node);
    return place->second;
  }
  std::unordered_map<const Node*, int> numbers;
  std::vector<Node*> nodes;
};

}  // namespace

std::string to_dot(const Tensor& loss,
                   const List<std::pair<std::string, Tensor>>& named_parameters) {
  check_defined("to_dot", {{"loss", loss}});
  const Edge root = edge_of(loss);
  check(root.node.get() != nullptr, "to_dot", "the tensor must require a gradient", loss.shape());
  std::unordered_map<const Node*, std::string> names;
  for (const auto& [name, parameter] : named_parameters) {
    const Edge edge = edge_of(parameter);
    if (edge.node && edge.node->is_leaf()) names[edge.node.get()] = name;
  }
  Drawing drawing;
  drawing.number(root.node.get());
  std::string boxes, arrows;
  for (size_t i = 0; i < drawing.nodes.size(); ++i) {
    Node& node = *drawing.nodes[i];
    const std::string id = "n" + std::to_string(i);
    std::string label;
    if (node.is_leaf()) {
      const auto name = names.find(&node);
      label = name == names.end() ? "leaf" : name->second;
    } else {
      label = node.name();
      if (node.path()) label += "\n" + node.path()->to_string();
    }
    for (const GradientSpec& spec : node.outputs()) label += "\n" + spec_text(spec);
    boxes += "  " + id + " [label=" + quote(label) +
             (node.is_leaf() ? ", style=\"filled,rounded\", fillcolor=\"#cfe2f3\"" : "") + "];\n";
    for (const Edge& edge : node.edges()) {
      if (edge.node)
        arrows += "  n" + std::to_string(drawing.number(edge.node.get())) + " -> " + id + ";\n";
    }
  }
  boxes += "  loss [label=" + quote("loss") + ", shape=plaintext];\n";
  return "digraph {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n" + boxes + arrows +
         "  n0 -> loss;\n}\n";
}

}  // namespace aorta::autograd
