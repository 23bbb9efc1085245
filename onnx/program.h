#pragma once

#include <aorta/core/io/file.h>
#include <aorta/nn/module.h>
#include <aorta/onnx/onnx.h>
#include <aorta/onnx/operators.h>

#include <memory>

namespace aorta::onnx {

/// The nodes of a network, ready to run: values have numbers, those of the network's own tensors
/// first.
struct Program {
  enum class Kind : uint8_t { parameter, buffer, constant };
  struct Value {
    std::string name;
    Kind kind;
  };
  struct Block;
  struct Step {
    std::string name;  // in front of errors
    Run run;
    std::vector<int> inputs;  // -1: left out
    std::vector<int> outputs;
    std::vector<int> last;      // values that no later step reads
    std::vector<Block> blocks;  // the graphs of its attributes
  };
  /// A graph: its values have numbers of their own, and it reads those around it.
  struct Block {
    std::vector<int> inputs, outputs;
    std::vector<Step> steps;
    std::vector<int> own;  // what no step lets go of
  };
  struct Input {
    std::string name;
    int value;
    DType dtype;
    int ndim;  // -1: any
  };
  std::vector<Value> tensors;
  std::vector<Input> inputs;
  std::vector<std::string> input_names, output_names;
  Block main;
  size_t values = 0;
  /// What the file says, for `save`: its initializers are the parameters and buffers, without their
  /// elements, and nodes that became tensors are left out. Graphs follow in the nodes' order.
  ModelProto file = {};
  std::vector<size_t> stored = {};  // the tensors of these initializers
};

/// `load` of a file's bytes, whose name is its path.
Model load(const std::shared_ptr<const io::FileBytes>& file);

/// The network of a model that is in memory; `path` stands in front of errors, and what it keeps
/// outside lies in its folder.
Model build(const std::string& path, ModelProto model);

/// Calls `visit` for a graph and all those inside, the outer ones first.
template <class Graph, class Visit>
void for_each_graph(Graph& graph, const Visit& visit) {
  visit(graph);
  for (auto& node : graph.node)
    for (auto& attribute : node.attribute)
      for (auto& inner : attribute.g) for_each_graph(inner, visit);
}

/// libaorta_onnx.so; throws with `path` where it can't be had.
const PluginTable& plugin(const std::string& path);

}  // namespace aorta::onnx
