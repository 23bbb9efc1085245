#include <aorta/autograd/backward.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/io/npz.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/nn/container.h>
#include <aorta/nn/dropout.h>
#include <aorta/nn/embedding_bag.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/recurrent.h>
#include <aorta/onnx/export_call.h>
#include <aorta/optim/sgd.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/onnx/networks.h>
#include <aorta/tests/onnx/saved_networks.h>
#include <aorta/tests/test_folder.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

// Networks that are saved as ONNX: what is loaded again gives the same, has the same gradients, and
// is saved again. tests/onnx/compare_with_onnxruntime.py holds the files to onnxruntime's results.
namespace aorta::onnx {
namespace {

using Tensors = std::vector<Tensor>;

// The folder that files and values are left in, for the comparison with onnxruntime; "" for none.
std::string kept_folder() {
  const char* const folder = std::getenv("AORTA_ONNX_SAVED");
  return folder ? folder : "";
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const std::string& name : model_names(!kept_folder().empty()))
    names.push_back("model_" + name);
  for (const NamedNetwork& network : example_networks())
    names.push_back(std::string("example_") + network.name);
  for (const NamedNetwork& network : layer_networks())
    names.push_back(std::string("layer_") + network.name);
  return names;
}

// But for networks of models/ that have no part that others don't have.
std::vector<std::string> trained_names() {
  std::vector<std::string> names = network_names();
  const std::set<std::string> others{"model_resnet50", "model_fcn_resnet50", "model_r3d_18",
                                     "model_mc3_18", "model_r2plus1d_18"};
  const auto is_other = [&](const std::string& name) {
    return others.count(name) > 0 || name.find("101") != std::string::npos;
  };
  names.erase(std::remove_if(names.begin(), names.end(), is_other), names.end());
  return names;
}

SavedNetwork network_of(const std::string& name) {
  const std::string rest = name.substr(name.find('_') + 1);
  if (name.starts_with("model_")) return model_network(rest);
  for (const auto* networks : {&example_networks(), &layer_networks()})
    for (const NamedNetwork& network : *networks)
      if (name ==
          (networks == &example_networks() ? "example_" : "layer_") + std::string(network.name))
        return network.make();
  fail("network_of", "a network must be known", name);
}

void expect_all_close(const Tensors& results, const Tensors& wanted, double tolerance) {
  ASSERT_EQ(results.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    expect_close(results[i], wanted[i], tolerance);
  }
}

void keep(const std::string& name, const std::string& file, const Tensors& inputs,
          const Tensors& outputs) {
  if (kept_folder().empty()) return;
  const std::filesystem::path folder = kept_folder();
  std::filesystem::copy_file(file, folder / (name + ".onnx"),
                             std::filesystem::copy_options::overwrite_existing);
  NamedTensors values;
  for (size_t i = 0; i < inputs.size(); ++i)
    values.emplace_back("in" + std::to_string(i), inputs[i]);
  for (size_t i = 0; i < outputs.size(); ++i)
    values.emplace_back("out" + std::to_string(i), outputs[i]);
  npz::save(values, (folder / (name + ".npz")).string());
}

class Saved : public ::testing::TestWithParam<std::string> {
 protected:
  Saved() { network.net->eval(); }
  Tensors values(const Tensors& inputs) const {
    const NoGradGuard no_grad;
    return network.run(inputs);
  }
  SavedNetwork network = network_of(GetParam());
  TestFolder folder;
  const std::string file = folder.file("net.onnx");
};

TEST_P(Saved, IsWhatItWasWhenLoadedAndSavedAgain) {
  save(*network.net, network.examples, network.run, file, network.options);
  const Tensors wanted = values(network.others);
  if (GetParam().starts_with("model_")) {  // whose results are no constants
    const Tensor apart = wanted[0].select(0, 0) - wanted[0].select(0, 1);
    ASSERT_GT(apart.abs().max().item<double>(), 1e-4 * wanted[0].abs().max().item<double>());
  }
  const Model net = load(file);
  expect_all_close(net(network.others), wanted, 1e-5);
  keep(GetParam(), file, network.others, wanted);

  const std::string again = folder.file("again.onnx");
  save(net, again);
  EXPECT_TRUE(read_text(again) == read_text(file));  // texts that are too long to show
}

// What is loaded has the gradients of what was saved, under the names that it had.
class SavedToTrain : public Saved {};
TEST_P(SavedToTrain, HasTheSameGradients) {
  save(*network.net, network.examples, network.run, file, network.options);
  Model net = load(file);
  const auto backward = [](const Tensors& outputs) {
    Tensor loss = zeros({}, {.dtype = f64});
    for (const Tensor& output : outputs)
      if (output.requires_grad()) loss = loss + output.to(f64).square().mean();
    loss.backward();
  };
  if (network.net->parameters().empty()) return;
  backward(network.run(network.others));
  backward(net(network.others));
  std::map<std::string, Tensor> loaded;
  for (const auto& [name, tensor] : net.named_parameters()) loaded[name] = tensor;
  size_t compared = 0;
  for (const auto& [name, tensor] : network.net->named_parameters()) {
    if (!tensor.grad().defined()) continue;
    SCOPED_TRACE(name);
    ASSERT_TRUE(loaded.count(name));
    ASSERT_TRUE(loaded[name].grad().defined());
    const double size = tensor.grad().abs().max().item<double>() + 1e-3;
    expect_close(loaded[name].grad() / size, tensor.grad() / size, 1e-3);
    ++compared;
  }
  EXPECT_GT(compared, 0u);
  EXPECT_EQ(loaded.size(), compared);  // and nothing else became a parameter
}

INSTANTIATE_TEST_SUITE_P(Networks, SavedToTrain, ::testing::ValuesIn(trained_names()),
                         [](const auto& tested) { return tested.param; });
INSTANTIATE_TEST_SUITE_P(Networks, Saved, ::testing::ValuesIn(network_names()),
                         [](const auto& tested) { return tested.param; });

// ---- The file and the module.

struct Net : nn::Module {
  nn::Linear fc{*this, "fc", 4, 3};
  nn::BatchNorm1d norm{*this, "norm", 3};
  nn::Dropout drop{*this, "drop"};
  Tensor forward(const Tensor& x) const override { return drop(norm(fc(x)).relu()); }
};

TEST(OnnxSave, GivesTheSameBytesAgain) {
  const TestFolder folder;
  manual_seed(0);
  const Net net;
  save(net, randn({2, 4}), folder.file("a.onnx"));
  save(net, randn({7, 4}), folder.file("b.onnx"));
  EXPECT_EQ(read_text(folder.file("a.onnx")), read_text(folder.file("b.onnx")));
}

TEST(OnnxSave, LeavesTheModuleAsItWas) {
  const TestFolder folder;
  Net net;
  net.norm.eval();
  const Tensor before = net.norm.running_mean.clone();
  save(net, randn({2, 4}), folder.file("net.onnx"));
  EXPECT_TRUE(net.is_training());
  EXPECT_TRUE(net.drop.is_training());
  EXPECT_FALSE(net.norm.is_training());
  expect_close(net.norm.running_mean, before, 0);
  EXPECT_TRUE(net.fc.weight.requires_grad());
}

TEST(OnnxSave, WritesNamesAndAnOpenBatch) {
  const TestFolder folder;
  const Net net;
  const std::string file = folder.file("net.onnx");
  save(net, randn({2, 4}), file, {.input_names = {"features"}, .output_names = {"scores"}});
  const std::string bytes = read_text(file);
  ModelProto model;
  ASSERT_EQ(plugin(file).parse(bytes.data(), bytes.size(), model), "");
  EXPECT_EQ(model.opset_import, (std::vector<std::pair<std::string, int64_t>>{{"", 18}}));
  const GraphProto& graph = model.graph;
  ASSERT_EQ(graph.input.size(), 1u);
  EXPECT_EQ(graph.input[0].name, "features");
  EXPECT_EQ(graph.input[0].shape[0].name, "batch");
  EXPECT_EQ(graph.input[0].shape[1].size, 4);
  EXPECT_EQ(graph.output[0].name, "scores");
  EXPECT_EQ(graph.output[0].shape[0].name, "batch");
  std::vector<std::string> weights, nodes;
  for (const TensorProto& tensor : graph.initializer) weights.push_back(tensor.name);
  for (const NodeProto& node : graph.node)
    if (node.op_type != "Constant") nodes.push_back(node.name);
  EXPECT_EQ(weights, (std::vector<std::string>{"fc.weight", "fc.bias", "norm.weight", "norm.bias",
                                               "norm.running_mean", "norm.running_var"}));
  EXPECT_EQ(nodes, (std::vector<std::string>{"fc/Gemm", "norm/BatchNormalization", "Relu"}));

  save(net, randn({2, 4}), file, {.dynamic_batch = false});
  const std::string fixed = read_text(file);
  ModelProto of_two;
  ASSERT_EQ(plugin(file).parse(fixed.data(), fixed.size(), of_two), "");
  EXPECT_EQ(of_two.graph.input[0].shape[0].size, 2);
}

// A loaded network is a module like others: inside one, what it runs is recorded.
TEST(OnnxSave, SavesALoadedNetworkInsideAnother) {
  const TestFolder folder;
  for (const std::string name : {"layer_convolutions", "layer_resizing", "model_lenet5"}) {
    SCOPED_TRACE(name);
    const SavedNetwork network = network_of(name);
    network.net->eval();
    save(*network.net, network.examples, network.run, folder.file("inner.onnx"), network.options);
    const Model inner = load(folder.file("inner.onnx"));
    const auto run = [&](const Tensors& x) { return Tensors{inner(x)[0] * 2, inner(x).back()}; };
    save(inner, network.examples, run, folder.file("outer.onnx"));
    const NoGradGuard no_grad;
    expect_all_close(load(folder.file("outer.onnx"))(network.others), run(network.others), 1e-5);
  }
}

TEST(OnnxSave, TrainsAsAModuleDoes) {
  const TestFolder folder;
  manual_seed(1);
  Net net;
  const std::string file = folder.file("net.onnx");
  save(net, randn({2, 4}), file);
  Model loaded = load(file);
  const Tensor x = randn({8, 4});
  optim::SGD mine(net.parameters(), {.lr = 0.1}), other(loaded.parameters(), {.lr = 0.1});
  loaded.train();
  net.train();
  net.drop.eval();
  for (int step = 0; step < 3; ++step) {
    const Tensor loss = net(x).square().mean(), its = loaded(x).square().mean();
    EXPECT_NEAR(its.item<double>(), loss.item<double>(), 1e-6);
    mine.zero_grad();
    other.zero_grad();
    loss.backward();
    its.backward();
    mine.step();
    other.step();
  }
  net.eval();
  const NoGradGuard no_grad;
  const Tensor wanted = net(x);
  save(loaded, file);  // with running statistics that have moved
  expect_close(load(file)(x), wanted, 1e-6);
}

// The number of steps may be any.
TEST(OnnxSave, ARecurrentLayerIsOneNode) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  for (const int64_t steps : {1, 7}) {
    const nn::LSTM lstm(4, 3, {.num_layers = 2, .batch_first = true});
    save(lstm, randn({2, steps, 4}), file);
    const Model loaded = load(file);
    std::map<std::string, int> counts;
    for (const NodeProto& node : loaded.program().file.graph.node) ++counts[node.op_type];
    EXPECT_EQ(counts["LSTM"], 2) << steps;
    EXPECT_EQ(counts["Sigmoid"] + counts["MatMul"] + counts["Gemm"], 0) << steps;
    std::vector<std::string> names;
    for (const auto& [name, tensor] : loaded.named_parameters()) names.push_back(name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"bias_hh_l0", "bias_hh_l1", "bias_ih_l0",
                                               "bias_ih_l1", "weight_hh_l0", "weight_hh_l1",
                                               "weight_ih_l0", "weight_ih_l1"}));
  }
}

// Names that numbers and nodes have too.
TEST(OnnxSave, TensorsKeepTheirNames) {
  struct Named : nn::Module {
    explicit Named(const char* name) : weight(*this, name, ones({4})) {}
    Tensor forward(const Tensor& x) const override { return (x * 2 + weight).relu(); }
    nn::Parameter weight;
  };
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  for (const char* const name : {"constant", "constant_1", "Mul", "Relu", "Mul_output_0"}) {
    const Named net(name);
    const Tensor x = randn({3, 4});
    save(net, randn({2, 4}), file);
    const Model loaded = load(file);
    ASSERT_EQ(loaded.named_parameters().size(), 1u);
    EXPECT_EQ(loaded.named_parameters()[0].first, name);
    const NoGradGuard no_grad;
    expect_close(loaded(x), net(x), 0);
  }
}

// A constant and a parameter that the network gives as they are.
TEST(OnnxSave, SavesAgainWhatItGivesWithoutANode) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx"), again = folder.file("again.onnx");
  nn::Linear net(4, 3);
  save(
      net, {randn({2, 4})},
      [&](const Tensors& x) {
        return Tensors{net(x[0]), arange(3), net.weight};
      },
      file);
  Model loaded = load(file);
  save(loaded, again);
  EXPECT_TRUE(read_text(again) == read_text(file));
  const Model other = load(again);
  EXPECT_EQ(other.parameters().size(), 2u);
  const std::vector<Tensor> x{randn({3, 4})};
  const NoGradGuard no_grad;
  expect_all_close(other(x), {net(x[0]), arange(3), net.weight}, 1e-6);
}

// ScatterND takes values of the indexed shape alone.
TEST(OnnxSave, ValuesOfMoreDimensionsAreWrittenInTheIndexedShape) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  for (const Shape& shape : {Shape{1, 1, 1, 4}, Shape{1, 2, 1, 1}, Shape{1}}) {
    const Function net([&](const Tensor& x) {
      const Tensor y = x * 2;
      index_put_(y.transpose(0, 1), {tensor({0, 2}, {.dtype = i64})}, ones(shape) * 3);
      return y;
    });
    save(net, randn({2, 3, 4}), file);
    const Tensor x = randn({5, 3, 4});
    const Model loaded = load(file);
    expect_close(loaded(x), net(x), 1e-6);
    ModelProto model = loaded.program().file;
    for (const NodeProto& node : model.graph.node)
      if (node.op_type == "ScatterND") model.graph.output[0].name = node.input[2];
    EXPECT_EQ(build(file, model)(x).shape(), (Shape{2, 5, 4}));
  }
}

// The numbers of the samples, which a bag's rows are summed by.
TEST(OnnxSave, CountsGrowWithTheBatch) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  for (const nn::EmbeddingBagMode mode : {nn::EmbeddingBagMode::sum, nn::EmbeddingBagMode::mean}) {
    const nn::EmbeddingBag net(7, 3, {.mode = mode});
    save(net, tensor({{0, 1, 2, 2}, {3, 6, 5, 4}}), file);
    const Tensor x = tensor({{1, 1, 2, 0}, {6, 5, 4, 4}, {0, 2, 4, 6}});
    const NoGradGuard no_grad;
    expect_close(load(file)(x), net(x), 1e-6);
  }
  // Each sample's first element, then as many zeros as there are samples less one.
  const Function places([](const Tensor& x) {
    const int64_t n = x.size(0);
    return cat({index(x, {arange(n), zeros({n}, {.dtype = i64})}), arange(n - 1).to(f32) * 0}, 0);
  });
  save(places, randn({2, 4}), file);
  const Tensor x = randn({4, 4});
  expect_close(load(file)(x), places(x), 1e-6);
}

// The groups have one position, as squeezing a picture to a pixel leaves.
TEST(OnnxSave, GroupsOfOneElement) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  const Tensor weight = randn({3}), bias = randn({3});
  const Function net([&](const Tensor& x) { return group_norm(x, 3, weight, bias); });
  save(net, randn({2, 3, 1}), file);
  const Tensor x = randn({4, 3, 1});
  expect_close(load(file)(x), net(x), 1e-6);
}

// ---- What can't be saved.

// But for backward passes and what is no function of users, or is told of by a loss's name.
TEST(OnnxSave, EveryOpHasAnExportOrThePageSaysThatItHasNone) {
  const std::string page = read_text("docs/onnx.md");
  const size_t begin = page.find("These ops have no export");
  ASSERT_NE(begin, std::string::npos);
  const std::string list = page.substr(begin, page.find("- of others", begin) - begin);
  const std::set<std::string> inner{"find_bad_index", "convolution_weight", "in_place", "keep",
                                    "pointwise_loss"};
  size_t exported = 0;
  for (const kernel::OpRow* row = kernel::first_op(); row; row = row->next()) {
    const std::string name = row->name();
    if (name.find("backward") != std::string::npos || inner.count(name)) continue;
    exported += exports().count(name);
    const bool is_listed = list.find("`" + name + "`") != std::string::npos;
    EXPECT_NE(exports().count(name) > 0, is_listed) << name;
  }
  EXPECT_GT(exported, 100u);
}

std::string error_of_saving(const std::function<Tensor(const Tensor&)>& function,
                            const SaveOptions& options = {},
                            const Tensor& example = randn({2, 4, 4})) {
  const TestFolder folder;
  const std::string error =
      error_of([&] { save(Function(function), example, folder.file("net.onnx"), options); });
  EXPECT_EQ(std::filesystem::exists(folder.file("net.onnx")), error == kNoError);
  return error;
}

TEST(OnnxSave, NamesTheOpThatHasNoExport) {
  EXPECT_EQ(error_of_saving([](const Tensor& x) { return x.lgamma(); }),
            "onnx::save: lgamma: an op must be one that has an export (docs/onnx.md), got lgamma");
  EXPECT_EQ(
      error_of_saving([](const Tensor& x) { return dropout(x, 0.5); }),
      "onnx::save: dropout: an op must be one that has an export (docs/onnx.md), got dropout");
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

TEST(OnnxSave, RefusesWhatDependsOnTheElements) {
  const std::string rule =
      "onnx::save: what a network reads besides its inputs and its parameters must not depend";
  for (const Tensor& example : {randn({2, 4, 4}), zeros({2, 4, 4}), ones({2, 4, 4})})
    EXPECT_TRUE(starts_with(
        error_of_saving([](const Tensor& x) { return x + x.sum().item<float>(); }, {}, example),
        rule));
  EXPECT_TRUE(starts_with(error_of_saving([](const Tensor& x) {
                            return x + tensor(x.select(1, 0).select(1, 0).to_vector<float>()).sum();
                          }),
                          rule));
  EXPECT_TRUE(
      starts_with(error_of_saving([](const Tensor& x) {
                    return x.numel() > 40 ? x.relu() : x.relu().sigmoid();
                  }),
                  "onnx::save: the ops that a network runs must be the same for every batch size"));
  // As many steps as the size has doublings: 12 and 15 have as many, 17 has more.
  for (const int64_t rows : {0, 10}) {
    EXPECT_TRUE(starts_with(
        error_of_saving([rows](const Tensor& x) {
          return cat({ones({rows, x.size(1), x.size(2)}), x}, 0).cumprod(0);
        }),
        "onnx::save: the ops that a network runs must be the same for every batch size"));
  }
}

// A line has one integer for each sample, which change places.
TEST(OnnxSave, RefusesWhatDependsOnTheElementsOfALine) {
  const TestFolder folder;
  const Function net([](const Tensor& x) { return x; });
  const std::string error = error_of([&] {
    save(
        net, {randn({2, 4}), tensor({3, 7}, {.dtype = i64})},
        [](const Tensors& x) { return Tensors{x[0] * x[1].select(0, 0).item<int64_t>()}; },
        folder.file("net.onnx"));
  });
  EXPECT_TRUE(starts_with(error, "onnx::save: what a network reads besides its inputs")) << error;
}

// Samples are taken where the example is; of a device without elements nothing can be recorded.
TEST(OnnxSave, TakesSamplesOnTheExamplesDevice) {
  const auto same = [](const Tensor& x) { return x.relu(); };
  const std::string error = error_of_saving(same, {}, ones({2, 4}, {.device = DeviceType::meta}));
  EXPECT_EQ(error.find("one device"), std::string::npos) << error;
}

TEST(OnnxSave, RefusesConstantsThatAreWritten) {
  const std::string rule = "onnx::save: a constant must stay as it is while the network runs";
  EXPECT_TRUE(starts_with(error_of_saving([](const Tensor& x) {
                            const Tensor c = arange(4, {.dtype = f32});
                            c.add_(1);
                            return x + c;
                          }),
                          rule));
  EXPECT_TRUE(starts_with(error_of_saving([](const Tensor& x) {
                            const Tensor c = arange(4, {.dtype = f32});
                            const Tensor y = x + c;
                            c.copy_(x.select(0, 0).select(0, 0));
                            return y + c;
                          }),
                          rule));
}

// A place that is found is no size, whatever it may be a multiple of. (One in four is the same in
// all recordings, and nothing tells it from a number; place 0 is no slice, so that the ops differ.)
TEST(OnnxSave, RefusesPlacesThatAreFound) {
  int refused = 0, named = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    manual_seed(seed);
    const std::string error = error_of_saving([](const Tensor& x) {
      const auto at = argmax(x.select(0, 0).select(0, 0)).item<int64_t>();
      return x.slice(1, at);
    });
    refused += error != kNoError;
    named += starts_with(error, "onnx::save: what a network reads besides its inputs");
  }
  EXPECT_GE(refused, 12);
  EXPECT_GE(named, 3);
}

TEST(OnnxSave, RefusesSizesThatDontFollowFromTheBatch) {
  EXPECT_TRUE(
      starts_with(error_of_saving([](const Tensor& x) { return x.slice(0, x.size(0) / 2); }),
                  "onnx::save: sizes and numbers must be a multiple of the batch size"));
  EXPECT_EQ(error_of_saving([](const Tensor& x) { return x.slice(0, x.size(0) / 2); },
                            {.dynamic_batch = false}),
            kNoError);
}

TEST(OnnxSave, RefusesBadOptions) {
  const auto same = [](const Tensor& x) { return x.relu(); };
  EXPECT_EQ(
      error_of_saving(same, {.batch_dims = {3}}),
      "onnx::save: batch_dims must name dimensions of the examples, or -1, got 3 for [2,4,4]");
  EXPECT_EQ(error_of_saving(same, {.input_names = {"a", "b"}}),
            "onnx::save: there must be a name for each input, got 2 for 1");
  EXPECT_EQ(error_of_saving(same, {.input_names = {"output"}}),
            "onnx::save: inputs and outputs must have names of their own, got \"output\"");
}

}  // namespace
}  // namespace aorta::onnx
