#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/optim/sgd.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/forked.h>
#include <aorta/tests/onnx/networks.h>
#include <aorta/tests/test_folder.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

// Nodes that run graphs: they train, are saved as they were read, and don't run on for ever.
namespace aorta::onnx {
namespace {

NodeProto node(const std::string& op, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs,
               const std::vector<AttributeProto>& attributes = {}) {
  NodeProto proto;
  proto.op_type = op;
  proto.name = outputs.empty() ? op : outputs[0];
  proto.input = inputs;
  proto.output = outputs;
  proto.attribute = attributes;
  return proto;
}

AttributeProto graph(const std::string& name, const GraphProto& proto) {
  AttributeProto a;
  a.name = name;
  a.kind = AttributeProto::Kind::graph;
  a.g = {proto};
  return a;
}

ValueInfoProto value(const std::string& name, DataType type = DataType::f32) {
  return {name, type, false, {}};
}

ModelProto model_of(const std::vector<NodeProto>& nodes, const std::vector<ValueInfoProto>& inputs,
                    const std::string& output, const std::vector<TensorProto>& tensors = {}) {
  ModelProto model;
  model.ir_version = 8;
  model.opset_import = {{"", 17}};
  model.graph.node = nodes;
  model.graph.input = inputs;
  model.graph.output = {value(output)};
  model.graph.initializer = tensors;
  return model;
}

// y = x * w, of a weight of the branch, or x + w of another of the same name.
ModelProto branches() {
  GraphProto yes, no;
  yes.initializer = {floats("w", {}, {3})};
  yes.node = {node("Mul", {"x", "w"}, {"product"})};
  yes.output = {value("product")};
  no.initializer = {floats("w", {}, {5})};
  no.node = {node("Add", {"x", "w"}, {"sum"})};
  no.output = {value("sum")};
  return model_of({node("If", {"c"}, {"y"}, {graph("then_branch", yes), graph("else_branch", no)})},
                  {value("c", DataType::boolean), value("x")}, "y");
}

// y = x w^n, and the sum of what came between.
ModelProto powers() {
  GraphProto body;
  body.input = {value("i", DataType::i64), value("go", DataType::boolean), value("h")};
  body.node = {node("Mul", {"h", "w"}, {"next"}), node("Identity", {"go"}, {"still"}),
               node("Identity", {"next"}, {"seen"})};
  body.output = {
      value("still", DataType::boolean), value("next"), {"seen", DataType::f32, true, {{2, ""}}}};
  return model_of({node("Loop", {"n", "", "x"}, {"last", "all"}, {graph("body", body)}),
                   node("ReduceSum", {"all"}, {"total"}, {integer("keepdims", 0)}),
                   node("Add", {"last", "total"}, {"y"})},
                  {value("n", DataType::i64), value("x")}, "y", {floats("w", {}, {2})});
}

Tensor flag(bool on) { return full({}, on, {.dtype = boolean}); }
Tensor count(int64_t n) { return full({}, n, {.dtype = i64}); }

std::vector<std::string> keys(const NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

TEST(OnnxControl, BranchesHaveWeightsThatTrain) {
  Model net = build("net", branches());
  EXPECT_EQ(keys(net.named_parameters()), (std::vector<std::string>{"w", "w_1"}));
  const Tensor x = f32s({1, 2}, {2});
  expect_close(net({flag(true), x})[0].detach(), f32s({3, 6}, {2}), 0);
  expect_close(net({flag(false), x})[0].detach(), f32s({6, 7}, {2}), 0);
  net({flag(true), x})[0].sum().backward();
  expect_close(net.named_parameters()[0].second.grad(), full({}, 3.0F), 0);
  EXPECT_FALSE(net.named_parameters()[1].second.grad().defined());
  net({flag(false), x})[0].sum().backward();
  expect_close(net.named_parameters()[1].second.grad(), full({}, 2.0F), 0);
  optim::SGD optimizer(net.parameters(), {.lr = 1});
  optimizer.step();
  expect_close(net({flag(true), x})[0].detach(), f32s({0, 0}, {2}), 0);
  expect_close(net({flag(false), x})[0].detach(), f32s({4, 5}, {2}), 0);
}

// Values of two branches may have one name.
TEST(OnnxControl, BranchesHaveNumbersOfTheirOwn) {
  const GraphProto norm = [] {
    GraphProto made;
    made.node = {node("BatchNormalization", {"x", "ones", "zeros", "zeros", "ones"}, {"n"})};
    made.output = {value("n")};
    return made;
  }();
  const Model net = build(
      "net",
      model_of({node("If", {"c"}, {"y"}, {graph("then_branch", norm), graph("else_branch", norm)})},
               {value("c", DataType::boolean), value("x")}, "y",
               {floats("ones", {2}, {1, 1}), floats("zeros", {2}, {0, 0})}));
  EXPECT_EQ(keys(net.named_parameters()), (std::vector<std::string>{"ones", "zeros"}));
  EXPECT_EQ(keys(net.named_buffers()), (std::vector<std::string>{"n.3", "n.4", "n.3_1", "n.4_1"}));
  const Tensor x = f32s({1, 2, 3, 4}, {2, 2});
  for (const bool on : {false, true}) expect_close(net({flag(on), x})[0].detach(), x, 1e-4);
}

TEST(OnnxControl, GradientsGoThroughLoops) {
  const Model net = build("net", powers());
  const Tensor x = f32s({1, 10}, {2}).requires_grad_();
  const Tensor y = net({count(3), x})[0];
  // 8 x, and 2 + 4 + 8 times the sum of x.
  expect_close(y.detach(), f32s({162, 234}, {2}), 0);
  y.sum().backward();
  expect_close(x.grad(), f32s({36, 36}, {2}), 0);
  // 3 w^2 sum x + 2 (1 + 2 w + 3 w^2) sum x
  expect_close(net.named_parameters()[0].second.grad(), full({}, 132.0F + 374.0F), 0);
  // After no round the output says the shape.
  expect_close(net({count(0), x.detach()})[0].detach(), f32s({1, 10}, {2}), 0);
}

TEST(OnnxControl, AreSavedAsTheyWereRead) {
  const TestFolder folder;
  for (const bool looped : {false, true}) {
    Model net = build("net", looped ? powers() : branches());
    for (const Tensor& parameter : net.parameters()) parameter.detach().fill_(1.5);
    save(net, folder.file("net.onnx"));
    const Model again = load(folder.file("net.onnx"));
    EXPECT_EQ(keys(again.state_dict()), keys(net.state_dict()));
    EXPECT_EQ(again.extra_repr(), net.extra_repr());
    const Tensor x = f32s({1, 2}, {2});
    for (const int choice : {0, 1}) {
      const std::vector<Tensor> inputs{looped ? count(choice + 1) : flag(choice == 1), x};
      expect_close(again(inputs)[0].detach(), net(inputs)[0].detach(), 0);
    }
  }
}

TEST(OnnxControl, AScanTrains) {
  GraphProto body;
  body.input = {value("s"), value("row")};
  body.node = {node("Mul", {"s", "w"}, {"old"}), node("Add", {"old", "row"}, {"new"}),
               node("Identity", {"new"}, {"out"})};
  body.output = {value("new"), value("out")};
  const Model net =
      build("net", model_of({node("Scan", {"zero", "x"}, {"last", "y"},
                                  {graph("body", body), integer("num_scan_inputs", 1)})},
                            {value("zero"), value("x")}, "y", {floats("w", {}, {2})}));
  const Tensor y = net({zeros({}), f32s({1, 2, 3}, {3})})[0];
  expect_close(y.detach(), f32s({1, 4, 11}, {3}), 0);
  y.sum().backward();
  // 1, 2 w + 2 and their sum: d/dw of (1) + (w + 2) + (w^2 + 2 w + 3).
  expect_close(net.named_parameters()[0].second.grad(), full({}, 7.0F), 0);
}

std::string loading(const ModelProto& model) {
  return error_of([&] { build("net", model); });
}

TEST(OnnxControl, SayWhatIsWrongWithAGraph) {
  const auto changed = [](const ModelProto& from, const auto& change) {
    ModelProto model = from;
    change(model.graph.node[0].attribute[0].g[0]);
    return loading(model);
  };
  EXPECT_EQ(changed(branches(), [](GraphProto& g) { g.node[0].input[0] = "z"; }),
            "net: a value must be made before it is read, got \"z\" of node \"product\"");
  EXPECT_EQ(changed(branches(), [](GraphProto& g) { g.node[0].output[0] = "x"; }),
            "net: a value must be made once, got \"x\" again");
  EXPECT_EQ(
      changed(branches(), [](GraphProto& g) { g.output.clear(); }),
      "net: If (node \"y\", opset 17): branches must take nothing and give the outputs, got 0 "
      "and 0 for 1");
  EXPECT_EQ(changed(powers(), [](GraphProto& g) { g.input.pop_back(); }),
            "net: Loop (node \"last\", opset 17): the body must take the round, the condition and "
            "what is carried, and give all but the round, and what is gathered, got 2 and 3 for 1 "
            "carried");
  ModelProto model = branches();
  model.graph.node[0].attribute.pop_back();
  EXPECT_EQ(loading(model),
            "net: If (node \"y\", opset 17): attribute else_branch must be given, got none");
  // What a branch makes is its own.
  model = branches();
  model.graph.output[0].name = "product";
  EXPECT_EQ(
      loading(model),
      "net: a value must be made before it is read, got \"product\" of an output of the graph");
  model = branches();
  model.graph.output[0].is_sequence = true;
  EXPECT_EQ(loading(model), "net: an output must be a tensor, got another for \"y\"");
  model = branches();
  model.graph.input[1].is_optional = true;
  EXPECT_EQ(loading(model),
            "net: an input must be a tensor of a dtype that Aorta has, got an optional one for "
            "\"x\"");
}

// In a child, whose memory other tests don't find.
TEST(OnnxControl, LoopsComeToAnEnd) {
  const Model net = build("net", powers());
  EXPECT_EQ(forked([&] {
              return error_of([&] {
                       net({count(int64_t{1} << 62), zeros({})});
                     }) != "last: Model: loops must come to an end within 2097152 nodes, got more";
            }),
            0);
}

TEST(OnnxControl, GraphsAreNestedAsDeepAsFilesCanBe) {
  const TestFolder folder;
  const auto nested = [&](int depth) {
    GraphProto inner = branches().graph.node[0].attribute[0].g[0];
    for (int i = 0; i < depth; ++i) {
      GraphProto outer;
      outer.node = {node("If", {"c"}, {"y" + std::to_string(i)},
                         {graph("then_branch", inner), graph("else_branch", inner)})};
      outer.node[0].attribute[1].g[0].node.clear();
      outer.node[0].attribute[1].g[0].output = {value("x")};
      outer.output = {value("y" + std::to_string(i))};
      inner = outer;
    }
    ModelProto model = branches();
    model.graph.node = inner.node;
    model.graph.output = inner.output;
    std::string bytes;
    EXPECT_EQ(plugin("net").serialize(model, bytes), "");
    return folder.write("net.onnx", bytes);
  };
  const Tensor x = f32s({1, 2}, {2});
  expect_close(load(nested(20))({flag(true), x})[0].detach(), f32s({3, 6}, {2}), 0);
  const std::string deep = nested(60);
  EXPECT_EQ(error_of([&] { load(deep); }),
            deep + ": file must be an ONNX model, got bytes that aren't a ModelProto");
}

TEST(OnnxControl, SequencesAreNoTensors) {
  const auto of_sequence = [](const std::string& op, const std::vector<std::string>& inputs) {
    return build(
        "net", model_of({node("SequenceConstruct", {"x", "x"}, {"s"}), node(op, inputs, {"y"}, {})},
                        {value("x")}, "y", {integers("two", {2})}));
  };
  const Tensor x = ones({2});
  EXPECT_EQ(error_of([&] { of_sequence("Relu", {"s"})(x); }),
            "y: Model: a node's input must be a tensor, got a sequence at place 0");
  EXPECT_EQ(error_of([&] { of_sequence("SequenceLength", {"x"})(x); }),
            "y: Model: a node's input must be a sequence, got a tensor at place 0");
  EXPECT_EQ(error_of([&] {
              of_sequence("SequenceAt", {"s", "two"})(x);
            }),
            "y: SequenceAt: a place must lie in the sequence, got 2 of 2");
  EXPECT_EQ(error_of([&] { of_sequence("Identity", {"s"})(x); }),
            "Model: an output must be a tensor, got another");
}

}  // namespace
}  // namespace aorta::onnx
