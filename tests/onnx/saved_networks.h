#pragma once

#include <aorta/nn/module.h>
#include <aorta/onnx/onnx.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

// Networks that are saved as ONNX: of models/ and of examples/, and small ones of ops that
// these don't have.
namespace aorta::onnx {

struct SavedNetwork {
  std::shared_ptr<nn::Module> net;
  std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)> run;
  std::vector<Tensor> examples;
  /// Inputs of another batch size; where the batch is fixed, other inputs.
  std::vector<Tensor> others;
  SaveOptions options = {};
};

struct NamedNetwork {
  const char* name;
  SavedNetwork (*make)();
};

/// The networks of models/, by their names, and small ones of families that are too large; `all`:
/// also those that are as others, but larger.
std::vector<std::string> model_names(bool all);
SavedNetwork model_network(const std::string& name);
const std::vector<NamedNetwork>& example_networks();
const std::vector<NamedNetwork>& layer_networks();

/// Families that stand in a file of their own.
SavedNetwork points_of_grids();
SavedNetwork mantissas();

/// A network of one input and one output, and two batches of random inputs of that shape.
SavedNetwork image_network(std::shared_ptr<nn::Module> net, const Shape& sample);

template <class Net, class... Args>
std::shared_ptr<Net> make_net(Args&&... args) {
  manual_seed(0);
  return std::make_shared<Net>(std::forward<Args>(args)...);
}

}  // namespace aorta::onnx
