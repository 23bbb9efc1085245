#include <aorta/autograd/grad_mode.h>
#include <aorta/core/io/npz.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/random.h>
#include <aorta/core/resource_error.h>
#include <aorta/nn/container.h>
#include <aorta/optim/sgd.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/forked.h>
#include <aorta/tests/onnx/networks.h>
#include <aorta/tests/test_folder.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <set>

// Networks that PyTorch exports (tests/fixtures/make_onnx.py), as modules: values, training, state;
// files that are damaged or beyond Aorta.
namespace aorta::onnx {
namespace {

std::string fixture(const std::string& name) { return "tests/fixtures/onnx/" + name; }

class Exported : public ::testing::TestWithParam<const char*> {
 protected:
  npz::Reader values{fixture(std::string(GetParam()) + ".npz")};
  Model net = load(fixture(std::string(GetParam()) + ".onnx"));
};

TEST_P(Exported, GivesWhatOnnxruntimeGives) {
  const std::vector<Tensor> outputs = net(std::vector<Tensor>{values.tensor("in0")});
  ASSERT_EQ(outputs.size(), net.output_names().size());
  for (size_t i = 0; i < outputs.size(); ++i)
    expect_close(outputs[i], values.tensor("out" + std::to_string(i)), 1e-5);
  EXPECT_EQ(net.input_names(), std::vector<std::string>{"input"});
}

// PyTorch's losses from the same weights, and what it then gives in evaluation: the gradients and
// the running statistics are its own.
TEST_P(Exported, TrainsAsPyTorchDoes) {
  net.train();
  optim::SGD optimizer(net.parameters(), {.lr = 0.02, .momentum = 0.9});
  const std::vector<Tensor> input{values.tensor("in0")};
  for (const double wanted : values.tensor("losses").to_vector<double>()) {
    optimizer.zero_grad();
    const Tensor loss = net(input)[0].square().mean();
    EXPECT_NEAR(loss.item<double>(), wanted, 2e-5 * wanted);
    loss.backward();
    optimizer.step();
  }
  net.eval();
  expect_close(net(input)[0].detach(), values.tensor("trained"), 1e-4);
}

TEST_P(Exported, IsAValueWithState) {
  const std::vector<Tensor> input{values.tensor("in0")};
  const Tensor before = net(input)[0].detach();
  const NamedTensors state = net.state_dict();
  Model copy = clone(net);
  for (const Tensor& parameter : copy.parameters()) parameter.detach().fill_(0.5);
  EXPECT_GT(copy(input)[0].detach().sub(before).abs().max().item<double>(), 0.01);
  expect_close(net(input)[0].detach(), before, 0);
  copy.load_state_dict(state);
  expect_close(copy(input)[0].detach(), before, 0);
  // Other sizes than the example's, which the file leaves open.
  EXPECT_EQ(net(std::vector<Tensor>{cat({input[0], input[0]}, 0)})[0].size(0),
            2 * input[0].size(0));
}

INSTANTIATE_TEST_SUITE_P(Onnx, Exported, ::testing::Values("conv_net", "sequence", "fresh"),
                         [](const auto& p) { return std::string(p.param); });

// Functions, clips and gates that exporters seldom write, in both directions, and statistics of
// each element.
TEST(OnnxLoad, SeldomAttributesAreOnnxruntimes) {
  Model net = load(fixture("seldom.onnx"));
  npz::Reader values(fixture("seldom.npz"));
  const Tensor x = values.tensor("in0");
  const std::vector<Tensor> outputs = net(std::vector<Tensor>{x});
  ASSERT_EQ(outputs.size(), 10u);
  for (size_t i = 0; i < outputs.size(); ++i) {
    SCOPED_TRACE(net.output_names()[i]);
    expect_close(outputs[i], values.tensor("out" + std::to_string(i)), 1e-5);
  }
  // In training an element's mean over the batch is 0 but for its bias, and its own running mean
  // moves.
  net.train();
  const auto parameter = [&](const std::string& name) {
    for (const auto& [known, tensor] : net.state_dict())
      if (known == name) return tensor;
    return Tensor();
  };
  const Tensor before = parameter("norm_each_mean").clone();
  const Tensor y = net(std::vector<Tensor>{x}).back();
  expect_close(y.mean(0).detach(), parameter("norm_each_bias"), 1e-5);
  expect_close(parameter("norm_each_mean"), 0.9 * before + 0.1 * x.mean(0), 1e-5);
  y.sum().backward();
}

TEST(OnnxLoad, NamesAreTheFiles) {
  const Model net = load(fixture("conv_net.onnx"));
  std::vector<std::string> parameters, buffers;
  for (const auto& [name, tensor] : net.named_parameters()) parameters.push_back(name);
  for (const auto& [name, kind] : net.state_dict()) buffers.push_back(name);
  EXPECT_EQ(parameters, (std::vector<std::string>{"stem.weight", "norm.weight", "norm.bias",
                                                  "conv.weight", "conv.bias", "norm2.weight",
                                                  "norm2.bias", "head.weight", "head.bias"}));
  EXPECT_EQ(buffers.size(), parameters.size() + 4);  // running statistics
  EXPECT_FALSE(net.is_training());
  EXPECT_TRUE(net.extra_repr().starts_with("inputs=[input], outputs=["));
}

// PyTorch's own state_dict, but for num_batches_tracked, though the file has one tensor for those
// that begin with equal values.
TEST(OnnxLoad, AFreshNetworkHasPyTorchsState) {
  const Model net = load(fixture("fresh.onnx"));
  std::set<std::string> parameters, state;
  for (const auto& [name, tensor] : net.named_parameters()) parameters.insert(name);
  for (const auto& [name, tensor] : net.state_dict()) state.insert(name);
  std::set<std::string> wanted{"conv.weight",  "conv.bias",  "norm.weight",  "norm.bias",
                               "conv2.weight", "norm2.bias", "norm2.weight", "before.weight",
                               "before.bias",  "after.bias", "after.weight", "twice.weight",
                               "twice.bias"};
  EXPECT_EQ(parameters, wanted);
  wanted.insert(
      {"norm.running_mean", "norm.running_var", "norm2.running_mean", "norm2.running_var"});
  EXPECT_EQ(state, wanted);
}

TEST(OnnxLoad, StandsInASequential) {
  nn::Sequential all;
  all.push_back(load(fixture("conv_net.onnx")));
  EXPECT_EQ(all(zeros({1, 3, 8, 8})).shape(), Shape(1, 5));
}

// ---- Networks that are made here.

std::string bytes_of(const ModelProto& model) {
  std::string bytes;
  EXPECT_EQ(plugin("net").serialize(model, bytes), "");
  return bytes;
}

// The error of loading the changed network from a file.
std::string error_with(const std::function<void(ModelProto& model)>& change) {
  const TestFolder folder;
  ModelProto model = gemm();
  change(model);
  const std::string path = folder.write("net.onnx", bytes_of(model));
  const std::string text = error_of([&] { load(path); });
  return text.starts_with(path + ": ") ? text.substr(path.size() + 2) : text;
}

TEST(OnnxLoad, RunsAPlainNetwork) {
  EXPECT_EQ(error_with([](ModelProto&) {}), kNoError);
  const Model net = build("net", gemm());
  expect_close(net(tensor(std::vector<float>{1, 2}, {1, 2})),
               tensor(std::vector<float>{10, 13, 16}, {1, 3}), 0);
}

TEST(OnnxLoad, SaysWhatIsBeyondAorta) {
  EXPECT_EQ(error_with([](ModelProto& m) { m.graph.node[0].op_type = "TfIdfVectorizer"; }),
            "\"TfIdfVectorizer\" (node \"fc\", opset 17): operator must be one that Aorta has "
            "(docs/onnx.md), got \"TfIdfVectorizer\"");
  EXPECT_EQ(error_with([](ModelProto& m) { m.graph.node[0].domain = "com.microsoft"; }),
            "Gemm (node \"fc\", opset 17): domain must be ai.onnx, got \"com.microsoft\"");
  EXPECT_EQ(error_with([](ModelProto& m) {
              m.graph.node[0].attribute.push_back(integer("broadcast", 1));
            }),
            "Gemm (node \"fc\", opset 17): attributes must be known, got \"broadcast\"");
  EXPECT_EQ(
      error_with([](ModelProto& m) { m.graph.node[0].attribute.push_back(integer("alpha", 1)); }),
      "Gemm (node \"fc\", opset 17): attribute alpha must be a number, got another kind");
  EXPECT_EQ(
      error_with([](ModelProto& m) { m.graph.node[0].attribute.push_back(integer("transA", 2)); }),
      "Gemm (node \"fc\", opset 17): attribute transA must be 0 or 1, got 2");
  EXPECT_EQ(error_with([](ModelProto& m) { m.graph.node[0].input.push_back("x"); }),
            "Gemm (node \"fc\", opset 17): inputs must be as many as the operator takes, got 4");
  EXPECT_EQ(
      error_with([](ModelProto& m) { m.graph.node[0].output.push_back("z"); }),
      "Gemm (node \"fc\", opset 17): outputs must be as many as Aorta's operator makes, got 2");
  EXPECT_EQ(error_with([](ModelProto& m) { m.graph.input[0].elem_type = DataType::i8; }),
            "an input must be a tensor of a dtype that Aorta has, got int8 for \"x\"");
  EXPECT_EQ(error_with([](ModelProto& m) { m.graph.initializer[0].data_type = DataType::text; }),
            "a tensor must have a dtype that Aorta has, got string of tensor \"w\"");
  EXPECT_EQ(error_with([](ModelProto& m) { m.opset_import[0].second = 6; }),
            "operator set must be 7 to 28, got 6");
  EXPECT_EQ(error_with([](ModelProto& m) { m.opset_import[0].second = 29; }),
            "operator set must be 7 to 28, got 29");
  EXPECT_EQ(error_with([](ModelProto& m) { m.opset_import.clear(); }),
            "model must name its operator set, got none of ai.onnx");
}

TEST(OnnxLoad, SaysWhatIsDamaged) {
  EXPECT_EQ(error_with([](ModelProto& m) { m.graph.initializer[0].bytes.resize(20); }),
            "elements must fill the shape, got 20 bytes for [2,3] of tensor \"w\"");
  EXPECT_EQ(error_with([](ModelProto& m) {
              m.graph.initializer[0].dims = {-2, -3};
            }),
            "sizes must not be negative, got -2 of tensor \"w\"");
  EXPECT_EQ(error_with([](ModelProto& m) {
              m.graph.initializer[0].dims = {int64_t{1} << 40, int64_t{1} << 40};
            }).substr(0, 39),
            "shape x item size must fit in 63 bits, ");
  EXPECT_EQ(error_with([](ModelProto& m) { m.graph.node[0].input[1] = "v"; }),
            "a value must be made before it is read, got \"v\" of node \"fc\"");
  EXPECT_EQ(error_with([](ModelProto& m) { m.graph.node[0].input[1] = ""; }),
            "Gemm (node \"fc\", opset 17): inputs must be given, got none at place 1");
  EXPECT_EQ(error_with([](ModelProto& m) { m.graph.node[0].output[0] = "w"; }),
            "a value must be made once, got \"w\" again");
  EXPECT_EQ(error_with([](ModelProto& m) { m.graph.output[0].name = "z"; }),
            "a value must be made before it is read, got \"z\" of an output of the graph");
  EXPECT_EQ(error_with([](ModelProto& m) { m.graph.output.clear(); }),
            "graph must have outputs, got none");
  const TestFolder folder;
  const std::string bytes = bytes_of(gemm());
  EXPECT_EQ(error_of([&] { load(folder.write("a", "no model")); }),
            folder.file("a") + ": file must be an ONNX model, got bytes that aren't a ModelProto");
  EXPECT_EQ(error_of([&] { load(folder.write("b", "")); }),
            folder.file("b") + ": model must have a graph, got none");
  // Wherever a file ends too early, there is an error and nothing worse.
  for (size_t size = 1; size < bytes.size(); ++size)
    EXPECT_NE(error_of([&] { load(folder.write("c", bytes.substr(0, size))); }), kNoError) << size;
  EXPECT_NE(error_of([&] { load(folder.file("none")); }), kNoError);
}

TEST(OnnxLoad, SaysWhichInputIsWrong) {
  const Model net = build("net", gemm());
  EXPECT_EQ(error_of([&] {
              net(zeros({1, 2}, {.dtype = f64}));
            }),
            "Model: an input must have the file's dtype, got f64 for \"x\" of f32");
  EXPECT_EQ(error_of([&] { net(zeros({2})); }),
            "Model: an input must have as many dimensions as in the file, got [2] for \"x\" of 2");
  EXPECT_EQ(error_of([&] { net(std::vector<Tensor>{}); }),
            "Model: inputs must be as many as the file has, got 0 of 1");
  EXPECT_EQ(error_of([&] { net(zeros({1, 3})); }).substr(0, 4), "fc: ");
}

TEST(OnnxLoad, ElementsMayStandInAnotherFile) {
  const TestFolder folder;
  const auto external = [](ModelProto& model, const std::string& location, int64_t offset,
                           int64_t length) {
    TensorProto& w = model.graph.initializer[0];
    w.is_external = true;
    w.location = location;
    w.offset = offset;
    w.length = length;
  };
  ModelProto model = gemm();
  const std::string elements = model.graph.initializer[0].bytes;
  folder.write("weights/w.bin", std::string(16, 'x') + elements + "rest");
  folder.write("all.bin", elements);
  std::filesystem::create_symlink("/etc/passwd", folder.file("link"));
  const auto load_with = [&](const std::string& location, int64_t offset, int64_t length) {
    ModelProto changed = model;
    external(changed, location, offset, length);
    const std::string path = folder.write("net.onnx", bytes_of(changed));
    const std::string text = error_of([&] {
      expect_close(load(path)(tensor(std::vector<float>{1, 2}, {1, 2})),
                   tensor(std::vector<float>{10, 13, 16}, {1, 3}), 0);
    });
    return text.starts_with(path + ": ") ? text.substr(path.size() + 2) : text;
  };
  EXPECT_EQ(load_with("weights/w.bin", 16, 24), kNoError);
  EXPECT_EQ(load_with("all.bin", 0, -1), kNoError);
  EXPECT_EQ(load_with("weights/w.bin", 16, -1),
            "elements must fill the shape, got 28 bytes for [2,3] of tensor \"w\"");
  EXPECT_EQ(load_with("weights/w.bin", 40, 24),
            "external data must lie in its file, got 40 + 24 of 44 bytes for tensor \"w\"");
  EXPECT_EQ(load_with("../w.bin", 0, -1),
            "external data must lie in the file's folder or below it, got \"../w.bin\" for tensor "
            "\"w\"");
  EXPECT_EQ(load_with("/etc/passwd", 0, -1),
            "external data must lie in the file's folder or below it, got \"/etc/passwd\" for "
            "tensor \"w\"");
  EXPECT_EQ(load_with("link", 0, -1),
            "external data must lie in the file's folder or below it, links followed, got \"link\" "
            "for tensor \"w\"");
  EXPECT_EQ(load_with("none", 0, -1), "external data must be there, got \"none\" for tensor \"w\"");
}

TEST(OnnxLoad, WhatNoWeightIsIsNoParameter) {
  ModelProto model = gemm();
  const float limits[] = {0, 12};
  for (int i = 0; i < 2; ++i)
    model.graph.initializer.push_back(
        {.name = i ? "high" : "low",
         .data_type = DataType::f32,
         .bytes = std::string(reinterpret_cast<const char*>(&limits[i]), 4)});
  NodeProto clip;
  clip.op_type = "Clip";
  clip.input = {"y", "low", "high"};
  clip.output = {"z"};
  model.graph.node.push_back(clip);
  model.graph.output[0].name = "z";
  const Model net = build("net", model);
  EXPECT_EQ(net.named_parameters().size(), 2u);
  EXPECT_EQ(net.named_buffers().size(), 2u);
  expect_close(net(tensor(std::vector<float>{1, 2}, {1, 2})),
               tensor(std::vector<float>{10, 12, 12}, {1, 3}), 0);
}

std::vector<std::string> names_of(const NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// z = BatchNormalization(x, scale, bias, mean, var), the last four in the file or given.
ModelProto batch_norm(const std::vector<std::string>& inputs,
                      const std::vector<TensorProto>& tensors, bool by_file) {
  ModelProto model;
  model.opset_import = {{"", 17}};
  model.graph.initializer = tensors;
  for (const std::string& name : inputs) {
    const bool stands = std::any_of(tensors.begin(), tensors.end(),
                                    [&](const TensorProto& t) { return t.name == name; });
    if (!stands) model.graph.input.push_back({name, DataType::f32, false, {}});
  }
  NodeProto node;
  node.name = "norm";
  node.op_type = "BatchNormalization";
  node.input = inputs;
  node.output = {"z"};
  if (by_file) {
    node.attribute = {integer("training_mode", 1)};
    node.output = {"z", "mean_out", "var_out"};
  }
  for (const std::string& name : node.output)
    model.graph.output.push_back({name, DataType::f32, false, {}});
  model.graph.node.push_back(node);
  return model;
}

// Tools fold equal tensors into one, whatever they are for.
TEST(OnnxLoad, ATensorThatIsNumberAndWeightIsTwo) {
  for (const bool by_file : {false, true}) {
    Model net = build(
        "net", batch_norm({"x", "ones", "zeros", "zeros", "ones"},
                          {floats("ones", {2}, {1, 1}), floats("zeros", {2}, {0, 0})}, by_file));
    EXPECT_EQ(names_of(net.named_parameters()), (std::vector<std::string>{"ones", "zeros"}));
    EXPECT_EQ(names_of(net.named_buffers()), (std::vector<std::string>{"z.3", "z.4"}));
    net.train();
    const std::vector<Tensor> x{f32s({1, 5, 3, 5}, {2, 2})};
    net(x)[0].sum().backward();
    expect_close(net.named_parameters()[1].second, zeros({2}), 0);
    // A tenth of the batch's mean.
    expect_close(net.named_buffers()[0].second, f32s({0.2F, 0.5F}, {2}), 1e-6);
  }
}

// An Identity that is an output gives the tensor, which is what it was without the Identity.
TEST(OnnxLoad, WhatIsGivenFollowsItsTensor) {
  const auto give = [](ModelProto& model, const std::string& name) {
    NodeProto node;
    node.op_type = "Identity";
    node.input = {name};
    node.output = {name + "_out"};
    model.graph.node.push_back(node);
    model.graph.output.push_back({name + "_out", DataType::f32, false, {}});
  };
  ModelProto model = gemm();
  give(model, "w");
  Model net = build("net", model);
  EXPECT_EQ(names_of(net.named_parameters()), (std::vector<std::string>{"w", "b"}));
  EXPECT_TRUE(net.named_buffers().empty());
  const std::vector<Tensor> x{f32s({1, 1}, {1, 2})};
  const Tensor given = net(x)[1];
  given.sum().backward();
  expect_close(net.named_parameters()[0].second.grad(), ones({2, 3}), 0);
  {
    const NoGradGuard no_grad;
    net.named_parameters()[0].second.fill_(5);
    expect_close(net(x)[1], full({2, 3}, 5.0F), 0);
  }

  ModelProto norm = batch_norm({"x", "scale", "bias", "mean", "var"},
                               {floats("scale", {2}, {1, 1}), floats("bias", {2}, {0, 0}),
                                floats("mean", {2}, {0, 0}), floats("var", {2}, {1, 1})},
                               false);
  give(norm, "mean");
  Model running = build("net", norm);
  EXPECT_EQ(names_of(running.named_parameters()), (std::vector<std::string>{"scale", "bias"}));
  EXPECT_EQ(names_of(running.named_buffers()), (std::vector<std::string>{"mean", "var"}));
  running.train();
  running(std::vector<Tensor>{f32s({1, 5, 3, 5}, {2, 2})});
  // A tenth of the batch's mean.
  const std::vector<Tensor> still{f32s({0.2F, 0.5F, 0.2F, 0.5F}, {2, 2})};
  expect_close(running(still)[1], f32s({0.2F, 0.5F}, {2}), 1e-6);
}

TEST(OnnxLoad, OnlyBuffersOfTheNetworkMoveOn) {
  for (const bool by_file : {false, true}) {
    Model net = build("net", batch_norm({"x", "scale", "bias", "mean", "var"}, {}, by_file));
    net.train();
    const Tensor mean = zeros({2}), var = ones({2});
    const Tensor x = f32s({1, 5, 3, 7}, {2, 2});
    const Tensor y = net(std::vector<Tensor>{x, ones({2}), zeros({2}), mean, var})[0];
    expect_close(y, f32s({-1, -1, 1, 1}, {2, 2}), 1e-4);
    expect_close(mean, zeros({2}), 0);
    expect_close(var, ones({2}), 0);
  }
}

TEST(OnnxLoad, MasksAreNoParameters) {
  EXPECT_TRUE(node_net("Add", {floats("mask", {2}, {0, -kInfinity})}).parameters().empty());
  EXPECT_EQ(node_net("Add", {floats("bias", {2}, {0, -9})}).parameters().size(), 1u);
  const Model hot = node_net("OneHot", {floats("depth", {}, {3}), floats("values", {2}, {0, 1})});
  EXPECT_TRUE(hot.parameters().empty());
  const TensorProto kv = floats("kv", {1, 1, 2, 1}, {1, 2});
  TensorProto v = kv;
  v.name = "v";
  const Model attention =
      node_net("Attention", {kv, v, floats("mask", {1, 2}, {0, -1e4F})}, {}, DataType::f32, 23);
  EXPECT_EQ(names_of(attention.named_parameters()), (std::vector<std::string>{"kv", "v"}));
  expect_close(attention(ones({1, 1, 1, 1})).detach(), ones({1, 1, 1, 1}), 1e-6);
}

TEST(OnnxLoad, SaysThatThereIsNoMemory) {
#ifndef __SANITIZE_ADDRESS__  // which reserves terabytes
  const TestFolder folder;
  const std::string path = folder.file("net.onnx");
  // Made in a child, so that no memory is at hand that it left.
  ASSERT_EQ(forked([&] {
              ModelProto model = gemm();
              const int64_t elements = 80 << 20;  // more than a heap of malloc holds
              const std::string bytes(static_cast<size_t>(elements), 'x');
              model.graph.initializer.push_back(
                  {.name = "more", .data_type = DataType::u8, .dims = {elements}, .bytes = bytes});
              folder.write("net.onnx", bytes_of(model));
              return 0;
            }),
            0);
  load(folder.write("small.onnx", bytes_of(gemm())));  // the plugin is there
  int said = 0, loaded = 0;
  // From too little for the file itself to enough.
  for (const rlim_t megabytes : {16, 120, 200, 2048}) {
    const int status = forked([&] {
      rlim_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (megabytes << 20);
      const rlimit limit{bytes, bytes};
      setrlimit(RLIMIT_AS, &limit);
      try {
        load(path);
      } catch (const ResourceError& error) {
        return error.what() == path + ": a model must fit in memory, got no more memory" ? 3 : 4;
      }
      return 0;
    });
    EXPECT_TRUE(status == 0 || status == 3 || status == 4) << status << " at " << megabytes;
    said += status == 3;
    loaded += status == 0;
  }
  EXPECT_GT(said, 0);
  EXPECT_GT(loaded, 0);
#else
  GTEST_SKIP() << "the address sanitizer has no limit of memory";
#endif
}

TEST(OnnxLoad, DropsInTrainingAlone) {
  ModelProto model = gemm();
  NodeProto node;
  node.op_type = "Dropout";
  node.input = {"y"};
  node.output = {"z"};
  model.graph.node.push_back(node);
  model.graph.output[0].name = "z";
  Model net = build("net", model);
  const Tensor x = ones({100, 2});
  EXPECT_EQ(net(x).eq(0).sum().item<int64_t>(), 0);
  net.train();
  manual_seed(1);
  const int64_t zeros = net(x).eq(0).sum().item<int64_t>();
  EXPECT_GT(zeros, 100);
  EXPECT_LT(zeros, 200);
}

}  // namespace
}  // namespace aorta::onnx
