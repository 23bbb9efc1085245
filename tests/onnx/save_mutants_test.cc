// Files that a wrong export would write are told from right ones by what they give when loaded.
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/random.h>
#include <aorta/onnx/onnx.h>
#include <aorta/onnx/program.h>
#include <aorta/tests/mutants.h>
#include <aorta/tests/onnx/networks.h>
#include <aorta/tests/onnx/saved_networks.h>
#include <aorta/tests/test_folder.h>

#include <algorithm>
#include <set>

namespace aorta::onnx {
namespace {

using Tensors = std::vector<Tensor>;
using Change = std::function<void(NodeProto& node)>;

bool is_alike(const Tensors& results, const Tensors& wanted) {
  if (results.size() != wanted.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (results[i].shape() != wanted[i].shape() || results[i].dtype() != wanted[i].dtype())
      return false;
    const std::vector<double> a = results[i].to_vector<double>(), b = wanted[i].to_vector<double>();
    for (size_t k = 0; k < a.size(); ++k)
      if (!is_near(a[k], b[k], 1e-5 * (1 + std::abs(b[k])))) return false;
  }
  return true;
}

/// Whether a network whose nodes of an operator are all changed gives other results, or none.
bool is_told(ModelProto model, const std::string& op, const Change& change, const Tensors& inputs,
             const Tensors& wanted) {
  for (NodeProto& node : model.graph.node)
    if (node.op_type == op) change(node);
  try {
    return !is_alike(build("net", model)(inputs), wanted);
  } catch (const Error&) {
    return true;
  }
}

/// By an operator and what its export does wrong, whether a network tells.
std::map<std::string, bool> mutants_of_exports() {
  std::map<std::string, bool> told;
  const NoGradGuard no_grad;
  for (const auto* networks : {&example_networks(), &layer_networks()}) {
    for (const NamedNetwork& named : *networks) {
      const SavedNetwork network = named.make();
      network.net->eval();
      const TestFolder folder;
      const std::string file = folder.file("net.onnx");
      save(*network.net, network.examples, network.run, file, network.options);
      const std::string bytes = read_text(file);
      ModelProto model;
      EXPECT_EQ(plugin(file).parse(bytes.data(), bytes.size(), model), "");
      const Tensors wanted = network.run(network.others);
      const auto try_change = [&](const std::string& op, const std::string& what,
                                  const Change& change) {
        bool& found = told[op + " " + what];
        if (!found) found = is_told(model, op, change, network.others, wanted);
      };
      std::map<std::string, std::set<std::string>> attributes;
      std::map<std::string, size_t> inputs;
      for (const NodeProto& node : model.graph.node) {
        for (const AttributeProto& one : node.attribute) attributes[node.op_type].insert(one.name);
        inputs[node.op_type] = std::max(inputs[node.op_type], node.input.size());
      }
      for (const auto& [op, names] : attributes) {
        for (const std::string& name : names) {
          try_change(op, "without " + name, [&](NodeProto& node) {
            std::erase_if(node.attribute,
                          [&](const AttributeProto& one) { return one.name == name; });
          });
        }
      }
      for (const auto& [op, count] : inputs) {
        if (count < 2) continue;
        try_change(op, "with inputs exchanged", [](NodeProto& node) {
          if (node.input.size() > 1) std::swap(node.input[0], node.input[1]);
        });
        try_change(op, "without the last input", [](NodeProto& node) {
          if (node.input.size() > 1) node.input.pop_back();
        });
      }
    }
  }
  return told;
}

const std::vector<mutants::Exception> kUntoldOfExports = {
    {"it repeats a shape",
     "(Conv|ConvTranspose) without kernel_shape|(LSTM|GRU|RNN) without hidden_size|"
     "(Split|Squeeze) without the last input"},
    {"the operator is symmetric",
     "(Add|And|Bitwise(And|Or|Xor)|Equal|Max|Min|Mul|Or|Xor) with inputs exchanged"},
    {"PyTorch has the operator's default alone",
     "HardSigmoid without beta|Resize without cubic_coeff_a|Shape without start"}};

TEST(OnnxSaveMutants, ThePageCountsThem) {
  mutants::expect_operators("files of networks", "exports", mutants_of_exports(), kUntoldOfExports);
}

}  // namespace
}  // namespace aorta::onnx
