#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/onnx/networks.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

// Operators where their published cases don't reach: gradients, overflow, and what they refuse.
namespace aorta::onnx {
namespace {

Tensor gradient_of(const Model& net, const Tensor& x) {
  const Tensor leaf = x.clone().requires_grad_();
  net(leaf).sum().backward();
  return leaf.grad();
}

// At zeros, where the formula's own gradient is 0 * infinity.
TEST(OnnxOperator, GradientsOfNormsOfZeros) {
  expect_close(gradient_of(node_net("LpPool", {}, {list("kernel_shape", {2})}), zeros({1, 1, 4})),
               zeros({1, 1, 4}), 0);
  // A line of zeros is divided by 1.
  const Tensor x = f32s({0, 0, 3, 4}, {2, 2});
  const float along = 0.032F;  // d(sum x / |x|) = (1 - x_i (x_1 + x_2) / |x|^2) / |x|
  expect_close(gradient_of(node_net("LpNormalization", {}), x),
               f32s({1, 1, along, -0.75F * along}, {2, 2}), 1e-5);
}

// Attributes that the published cases leave at their defaults.
TEST(OnnxOperator, HeedsWhatPublishedCasesDont) {
  const Tensor x = f32s({1, 5, 3, 2}, {2, 2});
  const float low = 1 / (1 + std::exp(2.0F)), high = 1 / (1 + std::exp(-3.0F));
  expect_close(node_net("Softmax", {}, {integer("axis", 0)})(x),
               f32s({low, high, 1 - low, 1 - high}, {2, 2}), 1e-6);
  expect_close(node_net("TopK", {integers("k", {1})}, {integer("axis", 0)})(x),
               f32s({3, 5}, {1, 2}), 0);
  expect_close(node_net("Celu", {}, {number("alpha", 2)})(f32s({-1, 3}, {2})),
               f32s({2 * (std::exp(-0.5F) - 1), 3}, {2}), 1e-6);
  const AttributeProto dropped = integer("keepdims", 0);
  expect_close(node_net("ReduceSum", {}, {dropped})(x), f32s({11}, {}), 0);
  expect_close(node_net("ReduceMean", {}, {dropped})(x), f32s({2.75}, {}), 0);
  expect_close(node_net("ReduceL1", {}, {dropped})(-x), f32s({11}, {}), 0);
}

// Slopes broadcast as in NumPy, and aren't the channels'.
TEST(OnnxOperator, SlopesBelongToTheLastDimension) {
  const Tensor x = f32s({-1, -1, -1, -1}, {1, 2, 2});
  expect_close(node_net("PRelu", {floats("slope", {2}, {2, 3})})(x),
               f32s({-2, -3, -2, -3}, {1, 2, 2}), 0);
}

TEST(OnnxOperator, ScoresOfModeZeroStandBeforeTheCap) {
  ModelProto model;
  model.opset_import = {{"", 23}};
  NodeProto node;
  node.op_type = "Attention";
  for (const char* name : {"q", "k", "v"}) {
    node.input.push_back(name);
    model.graph.input.push_back({name, DataType::f32, false, {}});
  }
  node.output = {"y", "", "", "scores"};
  node.attribute = {number("softcap", 2), number("scale", 1)};
  model.graph.output.push_back({"scores", DataType::f32, false, {}});
  model.graph.node.push_back(node);
  const Tensor q = f32s({3}, {1, 1, 1, 1}), k = f32s({1, 2}, {1, 1, 2, 1});
  expect_close(build("net", model)({q, k, k})[0], f32s({3, 6}, {1, 1, 1, 2}), 1e-6);
  model.graph.node[0].attribute.push_back(integer("qk_matmul_output_mode", 1));
  expect_close(build("net", model)({q, k, k})[0],
               f32s({2 * std::tanh(1.5F), 2 * std::tanh(3.0F)}, {1, 1, 1, 2}), 1e-6);
  model.graph.node[0].attribute.push_back(integer("softmax_precision", 7));
  EXPECT_EQ(error_of([&] { build("net", model); }),
            "net: Attention (node \"y\", opset 23): attribute softmax_precision must be a floating "
            "dtype, got i64");
}

TEST(OnnxOperator, OnePositionIsItsOwnMean) {
  const Model net = node_net("InstanceNormalization",
                             {floats("scale", {2}, {3, 4}), floats("bias", {2}, {5, 6})});
  expect_close(net(f32s({1, 2, 3, 4}, {2, 2, 1})).detach(), f32s({5, 6, 5, 6}, {2, 2, 1}), 0);
}

TEST(OnnxOperator, DrawsWhereTheInputsAre) {
  ModelProto model;
  model.opset_import = {{"", 17}};
  model.graph.input.push_back({"x", DataType::f32, false, {}});
  for (const char* const op : {"RandomNormal", "RandomUniform"}) {
    NodeProto node;
    node.op_type = op;
    node.output = {op};
    node.attribute = {list("shape", {2, 3})};
    model.graph.node.push_back(node);
    model.graph.output.push_back({op, DataType::f32, false, {}});
  }
  const Model net = build("net", model);
  for (const DeviceType device : {DeviceType::cpu, DeviceType::meta})
    for (const Tensor& drawn : net(std::vector<Tensor>{zeros({2}, {.device = device})}))
      EXPECT_EQ(drawn.device(), Device(device));
}

TEST(OnnxOperator, IntegersStayExact) {
  TensorProto exponent = floats("exponent", {}, {});
  exponent.data_type = DataType::i32;
  exponent.bytes = std::string("\x27\0\0\0", 4);
  const Model pow = node_net("Pow", {exponent}, {}, DataType::i64);
  EXPECT_EQ(pow(full({}, 3, {.dtype = i64})).item<int64_t>(), 4052555153018976267);
  // No f64.
  const int64_t large = (int64_t{1} << 53) + 1;
  ModelProto model;
  model.opset_import = {{"", 17}};
  for (const char* name : {"a", "b", "c"})
    model.graph.input.push_back({name, DataType::i64, false, {}});
  model.graph.output.push_back({"y", DataType::i64, false, {}});
  NodeProto node;
  node.op_type = "Gemm";
  node.input = {"a", "b", "c"};
  node.output = {"y"};
  node.attribute = {number("alpha", 2), number("beta", 3)};
  model.graph.node.push_back(node);
  const auto one = [](int64_t value) { return full({1, 1}, value, {.dtype = i64}); };
  EXPECT_EQ(build("net", model)({one(large), one(1), one(2)})[0].item<int64_t>(), 2 * large + 6);
  model.graph.node[0].attribute[1].f = 0.5F;
  EXPECT_EQ(error_of([&] {
              build("net", model)({one(1), one(1), one(1)});
            }),
            "Gemm_0: Gemm: alpha and beta of integers must be whole and below 2^31, got 0.5");
}

// Picked integers too, of which f64 doesn't hold all; those that cubic weights make are cut off.
TEST(OnnxOperator, ResizedIntegersStayInTheirDtype) {
  const TensorProto none = floats("region", {0}, {});
  const TensorProto twice = floats("scales", {4}, {1, 1, 1, 2});
  const int64_t large = (int64_t{1} << 53) + 1;
  const Tensor x = tensor(std::vector<int64_t>{large, -large}, {1, 1, 1, 2});
  const Tensor y = node_net("Resize", {none, twice}, {text("mode", "nearest")}, DataType::i64)(x);
  EXPECT_EQ(y.to_vector<int64_t>(), (std::vector<int64_t>{large, large, -large, -large}));
  const Tensor edge = f32s({0, 0, 255, 255}, {1, 1, 1, 4}).to(u8);
  const Tensor z = node_net("Resize", {none, twice}, {text("mode", "cubic")}, DataType::u8)(edge);
  EXPECT_EQ(z.to_vector<int64_t>(), (std::vector<int64_t>{0, 0, 0, 58, 197, 255, 255, 255}));
}

TEST(OnnxOperator, ARangeMayCountNothing) {
  const Model net = node_net("Range", {floats("limit", {}, {0}), floats("delta", {}, {1})});
  EXPECT_EQ(net(full({}, 5.0)).shape(), Shape(0));
  EXPECT_EQ(net(full({}, -2.0)).to_vector<double>(), (std::vector<double>{-2, -1}));
}

TEST(OnnxOperator, PoolsOfHalfTypesAreSummedInF32) {
  const Tensor x = full({1, 1, 3, 3}, 30000, {.dtype = f16});
  for (const std::vector<AttributeProto>& attributes :
       {std::vector<AttributeProto>{list("kernel_shape", {2, 2}), text("auto_pad", "SAME_UPPER")},
        {list("kernel_shape", {2, 2}), list("dilations", {2, 2})}}) {
    const Tensor y = node_net("AveragePool", {}, attributes, DataType::f16, 19)(x);
    expect_close(y, full(y.shape(), 30000, {.dtype = f16}), 0);
  }
  const Tensor y = node_net("LpPool", {}, {list("kernel_shape", {2, 2})}, DataType::f16)(x);
  expect_close(y, full({1, 1, 2, 2}, 60000, {.dtype = f16}), 0);
}

TEST(OnnxOperator, OtherHalfTypesAreSummedInF32Too) {
  const auto of = [](const Shape& shape, double value) {
    return full(shape, value, {.dtype = f16});
  };
  const auto run = [](const char* op, const std::vector<AttributeProto>& attributes,
                      const Tensor& x) { return node_net(op, {}, attributes, DataType::f16)(x); };
  // 300 / (1 + 1 / 1 * 300^2)^0.5
  expect_close(
      run("LRN", {integer("size", 1), number("alpha", 1), number("beta", 0.5)}, of({1, 2, 1}, 300)),
      of({1, 2, 1}, 1), 1e-3);
  expect_close(run("ReduceLogSum", {integer("keepdims", 0)}, of({3}, 30000)),
               of({}, std::log(90000.0)), 1e-3);
  expect_close(
      run("ReduceSumSquare", {integer("keepdims", 0)}, of({1024}, 0x1p-13)).to(f64) * 65536,
      ones({}, {.dtype = f64}), 0);
  expect_close(run("LpNormalization", {}, of({9}, 30000)), of({9}, 1.0 / 3), 1e-3);
  const Tensor signs = f32s({300, -300}, {1, 1, 2}).to(f16);
  expect_close(run("MeanVarianceNormalization", {list("axes", {2})}, signs),
               f32s({1, -1}, {1, 1, 2}).to(f16), 1e-3);
}

TEST(OnnxOperator, RunningStatisticsOfHalfTypesAreMixedInF32) {
  std::vector<TensorProto> numbers;
  for (const char* name : {"scale", "bias", "mean", "var"})
    numbers.push_back(proto_of(name, ones({1}, {.dtype = f16})));
  Model net = node_net("BatchNormalization", numbers, {integer("training_mode", 1)}, DataType::f16);
  net.train();
  net(f32s({300, -300}, {2, 1}).to(f16));  // whose variance is 90000
  ASSERT_EQ(net.named_buffers().size(), 2u);
  for (const auto& [name, buffer] : net.named_buffers())
    expect_close(buffer, full({1}, name == "var" ? 9000.9 : 0.9, {.dtype = f16}), 0);
}

// y = op(x, x).
Tensor of_twice(const char* op, const Tensor& x, const std::vector<AttributeProto>& attributes) {
  ModelProto model;
  model.opset_import = {{"", 17}};
  model.graph.input.push_back({"x", DataType::f16, false, {}});
  model.graph.output.push_back({"y", DataType::f16, false, {}});
  NodeProto node;
  node.op_type = op;
  node.input = {"x", "x"};
  node.output = {"y"};
  node.attribute = attributes;
  model.graph.node.push_back(node);
  return build("net", model)(std::vector<Tensor>{x})[0];
}

TEST(OnnxOperator, HalfTypesAreRoundedOnce) {
  const Tensor x = full({1, 1}, 60000, {.dtype = f16}), y = full({1, 1}, 300, {.dtype = f16});
  expect_close(of_twice("Mean", x, {}), x, 0);
  expect_close(of_twice("Gemm", y, {number("alpha", 0.01F)}), full({1, 1}, 900, {.dtype = f16}), 0);
}

// The policy's common scale, and the length that sizes say: their quotient times 49 isn't 1.
TEST(OnnxOperator, ResizesToTheLengthOfTheSizes) {
  const auto resized = [](int64_t from, int64_t to, const std::vector<AttributeProto>& attributes) {
    const Model net = node_net("Resize",
                               {floats("region", {8}, {0, 0, 0, 0, 1, 1, 1, 1}),
                                floats("scales", {0}, {}), integers("sizes", {1, 1, 1, to})},
                               attributes);
    return net(arange(from, {.dtype = f32}).view({1, 1, 1, from})).to_vector<float>();
  };
  const AttributeProto crop = text("coordinate_transformation_mode", "tf_crop_and_resize");
  for (const int64_t size : {48, 49, 98, 103})
    EXPECT_EQ(resized(size, 1, {text("mode", "linear"), crop}),
              (std::vector<float>{static_cast<float>(size - 1) / 2}));
  // Place o * 6 / 28, rounded down.
  std::vector<float> wanted;
  for (int o = 0; o < 29; ++o) wanted.push_back(static_cast<float>(o * 6 / 28));
  EXPECT_EQ(resized(7, 29,
                    {text("mode", "nearest"), text("nearest_mode", "floor"),
                     text("coordinate_transformation_mode", "align_corners")}),
            wanted);
}

// onnxruntime's values; the first is a case of ONNX 1.5.
TEST(OnnxOperator, OldResizeRoundsUpWhereItShrinks) {
  const auto resized = [](const Tensor& x, const std::vector<float>& scales) {
    return node_net("Resize", {floats("scales", {4}, scales)}, {text("mode", "nearest")},
                    DataType::f32, 10)(x)
        .to_vector<float>();
  };
  EXPECT_EQ(resized((arange(8, {.dtype = f32}) + 1).view({1, 1, 2, 4}), {1, 1, 0.6F, 0.6F}),
            (std::vector<float>{1, 3}));
  const Tensor line = arange(30, {.dtype = f32}).view({1, 1, 1, 30});
  EXPECT_EQ(resized(line, {1, 1, 1, 0.7F}),
            (std::vector<float>{0,  2,  3,  5,  6,  8,  9,  10, 12, 13, 15,
                                16, 18, 19, 20, 22, 23, 25, 26, 28, 29}));
  EXPECT_EQ(resized(line, {1, 1, 1, 1.0F / 3}),
            (std::vector<float>{0, 3, 6, 9, 12, 15, 18, 21, 24, 27}));
  EXPECT_EQ(resized(line.narrow(3, 0, 3), {1, 1, 1, 1.65F}), (std::vector<float>{0, 0, 1, 1}));
}

// onnxruntime's and PyTorch's length, of the product in f32.
TEST(OnnxOperator, ResizesToTheRoundedProduct) {
  const TensorProto region = floats("region", {0}, {});
  const Model net = node_net("Resize", {region, floats("scales", {4}, {1, 1, 1, 0.7F})},
                             {text("mode", "linear")});
  expect_close(net(arange(10, {.dtype = f32}).view({1, 1, 1, 10})),
               f32s({0.21428573F, 1.6428571F, 3.0714285F, 4.5F, 5.9285717F, 7.357143F, 8.785714F},
                    {1, 1, 1, 7}),
               1e-6);
}

// The error of running a node on x, or of making it.
std::string error_of_node(const std::string& op, const Tensor& x,
                          const std::vector<TensorProto>& others,
                          const std::vector<AttributeProto>& attributes = {}, int64_t opset = 17) {
  return error_of([&] { node_net(op, others, attributes, DataType::f32, opset)(x); });
}

TEST(OnnxOperator, NodesRefuseAxesAndPlacesThatArentThere) {
  const Tensor x = ones({2, 2, 3});
  for (const auto& [op, opset] :
       {std::pair("Softmax", 11), std::pair("LogSoftmax", 11), std::pair("Flatten", 17)}) {
    const std::string text = error_of_node(op, x, {}, {integer("axis", -5)}, opset);
    EXPECT_TRUE(text.starts_with(op + std::string("_0: ") + op + ": ")) << text;
  }
  EXPECT_TRUE(error_of_node("Squeeze", ones({1, 1, 3}), {integers("axes", {-5})})
                  .starts_with("Squeeze_0: Squeeze: "));
  EXPECT_TRUE(error_of_node("Unsqueeze", x, {integers("axes", {-6})})
                  .starts_with("Unsqueeze_0: Unsqueeze: "));
  EXPECT_EQ(error_of_node("Unsqueeze", x, {integers("axes", {0, 0})}),
            "Unsqueeze_0: Unsqueeze: axes must differ, got [0,0]");
  for (const int64_t place : {3, -4}) {
    EXPECT_NE(error_of_node("GatherElements", ones({3}), {integers("places", {place})}), kNoError);
    EXPECT_NE(error_of_node("ScatterElements", ones({3}),
                            {integers("places", {place}), floats("updates", {1}, {7})}),
              kNoError);
  }
  expect_close(node_net("GatherElements", {integers("places", {-1, 0})})(f32s({1, 2, 3}, {3})),
               f32s({3, 1}, {2}), 0);
  EXPECT_EQ(error_of_node("Cast", x, {}, {integer("to", (int64_t{1} << 32) + 1)}),
            "net: Cast (node \"y\", opset 17): attribute to must name a dtype that Aorta has, got "
            "one that this library doesn't know");
  EXPECT_EQ(error_of_node("Pad", ones({3}), {integers("pads", {0, -5})}),
            "Pad_0: Pad: pads below 0 must cut off no more than there is, got 0 and -5 of 3");
  EXPECT_NE(error_of_node("TopK", x, {integers("k", {})}), kNoError);
  expect_close(node_net("Pad", {integers("pads", {})})(ones({})), ones({}), 0);
}

// Sums and products of numbers of a file that int64 doesn't hold.
TEST(OnnxOperator, NodesRefuseNumbersThatOverflow) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  for (const char* op : {"DepthToSpace", "SpaceToDepth"})
    EXPECT_EQ(
        error_of_node(op, ones({1, 1, 1, 1}), {}, {integer("blocksize", int64_t{1} << 32)}),
        std::string("net: ") + op +
            " (node \"y\", opset 17): attribute blocksize must be 1 to 32767, got 4294967296");
  EXPECT_EQ(
      error_of_node("CenterCropPad", ones({1}), {integers("shape", {least})}, {}, 18),
      "CenterCropPad_0: CenterCropPad: sizes must not be negative, got " + std::to_string(least));
  EXPECT_EQ(
      error_of_node("ConvTranspose", ones({1, 1, 2}), {floats("w", {1, 1, 1}, {1})},
                    {list("output_padding", {std::numeric_limits<int64_t>::max()})}),
      "net: ConvTranspose (node \"y\", opset 17): output_padding and output_shape must be 0 to "
      "2147483647, got 9223372036854775807");
}

TEST(OnnxOperator, ErrorsNameTheOperator) {
  EXPECT_EQ(error_of_node("MaxPool", ones({1, 1}), {}, {list("kernel_shape", {2})}),
            "MaxPool_0: MaxPool: input must have 1 to 3 spatial dimensions, got [1,1]");
  EXPECT_EQ(error_of_node("AveragePool", ones({1, 1, 2}), {}, {list("kernel_shape", {3})}),
            "AveragePool_0: AveragePool: a window must fit the padded input, got 3 in 2");
  EXPECT_EQ(error_of_node("GlobalMaxPool", ones({1, 1}), {}),
            "GlobalMaxPool_0: GlobalMaxPool: input must have spatial dimensions, got [1,1]");
  EXPECT_TRUE(error_of_node("LayerNormalization", ones({2}), {floats("w", {2}, {1, 1})},
                            {integer("axis", 4)})
                  .starts_with("LayerNormalization_0: LayerNormalization: "));
}

// Weights of a file say how large the gates are.
TEST(OnnxOperator, RecurrentLayersRefuseShapesThatDiffer) {
  struct Layer {
    const char* op;
    int64_t gates;
  };
  const Tensor x = ones({2, 1, 1});
  const std::vector<float> room(64, 0.1F);
  const auto weights = [&](const char* name, const std::vector<int64_t>& dims) {
    int64_t size = 1;
    for (const int64_t d : dims) size *= d;
    return floats(name, dims, {room.begin(), room.begin() + size});
  };
  for (const auto& [op, gates] : {Layer{"LSTM", 4}, Layer{"GRU", 3}, Layer{"RNN", 1}}) {
    const std::string start = op + std::string("_0: ") + op + ": ";
    const TensorProto w = weights("w", {1, gates, 1}), r = weights("r", {1, gates, 1});
    const TensorProto b = weights("b", {1, 2 * gates});
    const auto error = [&](std::vector<TensorProto> tensors) {
      const std::string text = error_of_node(op, x, tensors);
      return text.starts_with(start) ? text.substr(start.size()) : text;
    };
    EXPECT_EQ(error({w, r, b, integers("lengths", {2})}), kNoError);
    EXPECT_EQ(error({w, r, b, integers("lengths", {3})}),
              "sequence_lens must be 0 to the steps of X, got 3 to 3 for 2");
    EXPECT_EQ(error({weights("w", {1, gates + 1, 1}), r, b}).substr(0, 34),
              "W must have the layer's shape, got");
    EXPECT_EQ(error({w, weights("r", {1, 1, 1}), b}).substr(0, 34),
              gates == 1 ? kNoError : "R must have the layer's shape, got");
    EXPECT_EQ(error({w, r, weights("b", {1, 1})}).substr(0, 34),
              "B must have the layer's shape, got");
    EXPECT_EQ(error({w, r, b}), kNoError);
  }
}

TEST(OnnxOperator, NodesRefuseNumbersThatDontFit) {
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

TEST(OnnxOperator, ResizesToNothing) {
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

}  // namespace
}  // namespace aorta::onnx
