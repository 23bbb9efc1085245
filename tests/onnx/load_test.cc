#include <aorta/core/io/npz.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/random.h>
#include <aorta/nn/container.h>
#include <aorta/onnx/onnx.h>
#include <aorta/onnx/program.h>
#include <aorta/optim/sgd.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/test_folder.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

// Networks that PyTorch exports (tests/fixtures/make_onnx.py), as modules: values, training, state;
// files that are damaged or beyond Aorta.
namespace aorta::onnx {
namespace {

std::string fixture(const std::string& name) { return "tests/fixtures/onnx/" + name; }

void expect_close(const Tensor& result, const Tensor& wanted, double tolerance) {
  ASSERT_EQ(result.shape(), wanted.shape());
  ASSERT_EQ(result.dtype(), wanted.dtype());
  const std::vector<double> a = result.to_vector<double>(), b = wanted.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << "element " << i;
}

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
  expect_close(net(input)[0].detach(), before, 0);
  copy.load_state_dict(state);
  expect_close(copy(input)[0].detach(), before, 0);
  // Other sizes than the example's, which the file leaves open.
  EXPECT_EQ(net(std::vector<Tensor>{cat({input[0], input[0]}, 0)})[0].size(0), 4);
}

INSTANTIATE_TEST_SUITE_P(Onnx, Exported, ::testing::Values("conv_net", "sequence"),
                         [](const auto& p) { return std::string(p.param); });

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

TEST(OnnxLoad, StandsInASequential) {
  nn::Sequential all;
  all.push_back(load(fixture("conv_net.onnx")));
  EXPECT_EQ(all(zeros({1, 3, 8, 8})).shape(), Shape(1, 5));
}

// ---- Networks that are made here.

AttributeProto integer(const std::string& name, int64_t value) {
  AttributeProto a;
  a.name = name;
  a.kind = AttributeProto::Kind::integer;
  a.i = value;
  return a;
}

// y = Gemm(x, w, b) of f32.
ModelProto gemm() {
  ModelProto model;
  model.ir_version = 8;
  model.opset_import = {{"", 17}};
  model.graph.input.push_back({"x", DataType::f32, true, {{-1, "n"}, {2, ""}}});
  model.graph.output.push_back({"y", DataType::f32, false, {}});
  const std::vector<float> w{1, 2, 3, 4, 5, 6}, b{1, 1, 1};
  const auto bytes = [](const std::vector<float>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  };
  model.graph.initializer.push_back(
      {.name = "w", .data_type = DataType::f32, .dims = {2, 3}, .bytes = bytes(w)});
  model.graph.initializer.push_back(
      {.name = "b", .data_type = DataType::f32, .dims = {3}, .bytes = bytes(b)});
  NodeProto node;
  node.name = "fc";
  node.op_type = "Gemm";
  node.input = {"x", "w", "b"};
  node.output = {"y"};
  model.graph.node.push_back(node);
  return model;
}

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
  EXPECT_EQ(error_with([](ModelProto& m) { m.graph.node[0].op_type = "NonMaxSuppression"; }),
            "\"NonMaxSuppression\" (node \"fc\", opset 17): operator must be one that Aorta has "
            "(docs/onnx.md), got \"NonMaxSuppression\"");
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

// A network of one node, whose inputs but the first stand in the file.
Model node_net(const std::string& op, const std::vector<TensorProto>& others,
               const std::vector<AttributeProto>& attributes = {}) {
  ModelProto model;
  model.opset_import = {{"", 17}};
  model.graph.input.push_back({"x", DataType::f32, false, {}});
  model.graph.output.push_back({"y", DataType::f32, false, {}});
  model.graph.initializer = others;
  NodeProto node;
  node.op_type = op;
  node.input = {"x"};
  for (const TensorProto& tensor : others) node.input.push_back(tensor.name);
  node.output = {"y"};
  node.attribute = attributes;
  model.graph.node.push_back(node);
  return build("net", model);
}

TensorProto integers(const std::string& name, const std::vector<int64_t>& values) {
  return {.name = name,
          .data_type = DataType::i64,
          .dims = {static_cast<int64_t>(values.size())},
          .bytes = std::string(reinterpret_cast<const char*>(values.data()), values.size() * 8)};
}

TEST(OnnxLoad, NodesRefuseNumbersThatDontFit) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  const Model pad = node_net("Pad", {integers("pads", {0, least, 0, 0})});
  EXPECT_EQ(error_of([&] {
              pad(ones({2, 2}));
            }),
            "Pad_0: Pad: pads must be within 2^48, got " + std::to_string(least) + " and 0");
  const Model reshape = node_net("Reshape", {integers("shape", {1, 1, 0})});
  EXPECT_EQ(error_of([&] {
              reshape(ones({2, 2}));
            }),
            "Reshape_0: Reshape: a size of 0 must stand for one of the input's, got [1,1,0] of "
            "[2,2]");
  AttributeProto kernel;
  kernel.name = "kernel_shape";
  kernel.kind = AttributeProto::Kind::integers;
  kernel.ints = {int64_t{1} << 31};
  EXPECT_EQ(error_of([&] { node_net("MaxPool", {}, {kernel}); }),
            "net: MaxPool (node \"y\", opset 17): kernel_shape, strides and dilations must be 1 to "
            "2147483647, got 2147483648");
}

TEST(OnnxLoad, ResizesToNothing) {
  const TensorProto region{.name = "region", .data_type = DataType::f32, .dims = {0}};
  const float scales[] = {1, 1, 0.25, 2};
  const Model net = node_net(
      "Resize", {region,
                 {.name = "scales",
                  .data_type = DataType::f32,
                  .dims = {4},
                  .bytes = std::string(reinterpret_cast<const char*>(scales), sizeof scales)}});
  EXPECT_EQ(net(ones({1, 1, 2, 2})).shape(), Shape(1, 1, 0, 4));
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
