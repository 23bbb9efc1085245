#pragma once

#include <aorta/onnx/export_call.h>
#include <aorta/onnx/recording.h>

#include <set>

namespace aorta::onnx {

/// A network in one batch size: what becomes a file together with its twin of another batch size.
struct Draft {
  /// A tensor that no node makes. `is_weight`: it is written as an initializer, which readers take
  /// for a part of the state, and else as a Constant. Of the module's own the elements are taken
  /// from `source` when the model is made.
  struct Constant {
    TensorProto tensor;
    bool is_weight = false;
    Tensor source = {};
  };
  std::vector<Constant> constants;
  std::vector<NodeProto> nodes;
  std::vector<int64_t> fixed;  // sizes that nodes were chosen by
  Names inputs, outputs;
  std::vector<Tensor> input_tensors, output_tensors;  // their shapes and dtypes
};

/// The tensors of a module by their place in memory.
struct ModuleTensors {
  enum class Kind : uint8_t { parameter, state, transient };
  struct Entry {
    std::string name;
    Kind kind;
  };
  std::map<Recording::Place, Entry> by_place;
};

/// Writes what outputs depend on as ONNX nodes, by the table of exports.
class GraphWriter {
 public:
  GraphWriter(const Recording& recording, const ModuleTensors& tensors);

  Draft write(const std::vector<int>& outputs, const Names& input_names, const Names& output_names);

 private:
  friend class ExportCall;

  const std::string& name_of(int value);
  std::string unique(const std::string& wanted);
  std::string add_constant(const std::string& wanted, const Tensor& tensor);
  Names add_node(const RecordedCall& recorded, const char* op_type, const Names& inputs,
                 size_t outputs, const Attributes& attributes);
  DataType output_type(const NodeProto& node, size_t i) const;
  void find_live(const std::vector<int>& outputs);
  void mark_statistics();

  const Recording& recording_;
  const ModuleTensors& tensors_;
  Draft draft_;
  std::vector<bool> live_calls_, read_;
  std::map<int, std::string> names_;       // of values
  std::map<std::string, DataType> types_;  // of what has a name
  std::set<std::string> taken_, state_names_;
};

/// Throws where two drafts of one batch size, whose inputs have other elements, differ.
void check_same(const Draft& first, const Draft& second);
/// The model of two drafts of one network. Where they differ because their batch sizes do, in that
/// dimension of each input (-1: none), sizes are computed from that of the first such input;
/// throws where they differ otherwise.
ModelProto merged(const Draft& first, const Draft& second, const std::vector<int64_t>& batch_dims);

}  // namespace aorta::onnx
