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
  struct Step {
    std::string name;  // in front of errors
    Run run;
    std::vector<int> inputs;  // -1: left out
    std::vector<int> outputs;
    std::vector<int> last;  // values that no later step reads
  };
  struct Input {
    std::string name;
    int value;
    DType dtype;
    int ndim;  // -1: any
  };
  std::vector<Value> tensors;
  std::vector<Input> inputs;
  std::vector<int> outputs;
  std::vector<std::string> input_names, output_names;
  std::vector<Step> steps;
  size_t values = 0;
  /// What the file says, for `save`: its initializers are the parameters and buffers, without their
  /// elements, and nodes that became tensors are left out.
  ModelProto file = {};
};

/// `load` of a file's bytes, whose name is its path.
Model load(const std::shared_ptr<const io::FileBytes>& file);

/// The network of a model that is in memory; `path` stands in front of errors, and what it keeps
/// outside lies in its folder.
Model build(const std::string& path, ModelProto model);

/// libaorta_onnx.so; throws with `path` where it can't be had.
const PluginTable& plugin(const std::string& path);

}  // namespace aorta::onnx
