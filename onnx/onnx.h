#pragma once

#include <aorta/core/list.h>
#include <aorta/nn/call.h>
#include <aorta/nn/module.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

// Networks in ONNX files (https://onnx.ai), which other programs train and serve. Files are read
// and written by libaorta_onnx.so, which is loaded for the first of them. docs/onnx.md lists the
// operators.

namespace aorta::onnx {

struct Program;

/// The newest operator set that `load` takes; the oldest is kOldestOpset.
inline constexpr int kOldestOpset = 7, kNewestOpset = 28;

/// A network that an ONNX file describes. Its initializers, and Identities of them, are its
/// tensors, under their names in the file: those of a floating dtype whose elements are finite are
/// parameters, but for running statistics and what an operator takes as a number and not as a
/// weight (the bounds of Clip, the mask of Attention): these are buffers, as are integers. Where
/// nodes take one as a weight and as a number, each that takes a number has a buffer of its own,
/// "OUTPUT.PLACE" by the node's first output and the input's place. Those of graphs in nodes (If,
/// Loop, Scan) are among them, behind the others; of equal names the later ones end with "_1", ...
/// It begins in evaluation, as files are meant; after `train()` batch normalisation takes the
/// batch's statistics and updates those running ones that are buffers, as nn::BatchNorm does, and
/// dropout drops.
class Model : public nn::Module {
 public:
  /// The program and its tensors, by the program's numbers of values; for `load`.
  explicit Model(std::shared_ptr<const Program> program, std::vector<Tensor> tensors);

  /// The output of a network of one input and one output. Inputs have the file's dtype and number
  /// of dimensions; sizes are what the nodes can do with, whatever the file says. Throws `Model:
  /// ...`, and what the ops throw, behind the node's name.
  Tensor forward(const Tensor& input) const override;
  /// The outputs, in the file's order, of the inputs in the file's order.
  std::vector<Tensor> forward(const List<Tensor>& inputs) const;
  Tensor operator()(const Tensor& input) const { return nn::call_module(*this, input); }
  std::vector<Tensor> operator()(const List<Tensor>& inputs) const {
    return nn::call_module(*this, inputs);
  }

  /// The names that the file gives inputs and outputs.
  const std::vector<std::string>& input_names() const;
  const std::vector<std::string>& output_names() const;

  std::string extra_repr() const override;
  /// For `save`.
  const Program& program() const { return *program_; }

 protected:
  void append_members(Members& members) const override;

 private:
  std::shared_ptr<const Program> program_;
  std::vector<Tensor> tensors_;
};

/// Reads the network in the ONNX file at `path`, of the operator sets 7 to 28. Elements that stand
/// in files of their own are read from the same folder or folders in it. Throws `path: rule, got
/// values` where the file is damaged, has an operator, an attribute or a dtype that Aorta has not
/// (strings, int8), inputs or outputs that are no tensors, or an initializer whose shape and
/// elements differ. Format: onnx.proto3 of the ONNX project.
Model load(const Text& path);

/// What of the inputs stays open in a file, and the names in it.
struct SaveOptions {
  /// Leave the batch size open, else all sizes are the example's.
  bool dynamic_batch = true;
  /// The dimension of each input that has it; -1: none. By default 0, of all inputs that have the
  /// first one's size there.
  std::vector<int64_t> batch_dims = {};
  /// By default "input" and "output", or "input_0", "input_1", ... where there are several.
  std::vector<std::string> input_names = {}, output_names = {};
};

/// Writes the network to an ONNX file of operator set 18 at `path`, atomically: what it runs in
/// evaluation and without gradients, op by op, for inputs of the example's dtypes and shapes but
/// for the batch size. The file has parameters under their names in the module, and the module's
/// state and mode stay as they are. It runs three times: with 2 samples of the example's, with
/// other elements, by which nothing may change, and with 5 samples: what differs must follow from
/// the batch size.
/// Throws `onnx::save: OP (in MODULE): rule, got values` where an op has no export, and where what
/// runs depends on what the elements are. Format: onnx.proto3 of the ONNX project.
void save(const nn::Module& net, const Tensor& example, const Text& path,
          const SaveOptions& options = {});

/// Does the same for a network of several inputs or outputs, called by `run`: `onnx::save(net,
/// {tokens, mask}, [&](const std::vector<Tensor>& x) { return std::vector{net(x[0], x[1])}; },
/// "net.onnx")`.
void save(const nn::Module& net, const List<Tensor>& examples,
          const std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>& run,
          const Text& path, const SaveOptions& options = {});

/// Writes a network that a file described, with that file's nodes and names, and the tensors that
/// it has now, of which only the values may have changed.
void save(const Model& net, const Text& path);
inline void save(const nn::AnyModule& net, const Tensor& example, const Text& path,
                 const SaveOptions& options = {}) {
  save(*net, example, path, options);
}

}  // namespace aorta::onnx
