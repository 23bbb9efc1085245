#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/view.h>
#include <aorta/nn/recurrent.h>
#include <aorta/tests/onnx/networks.h>
#include <aorta/tests/test_folder.h>
#include <gtest/gtest.h>

#include <map>

// Networks of half types, and dtypes that an operator of set 18 has not: its schema names what it
// has (onnx.defs of onnx 1.23).
namespace aorta::onnx {
namespace {

struct Narrow {
  const char* op_type;
  std::function<Tensor(const Tensor& x)> function;  // of x (N, 4, 6)
};

const std::vector<Narrow>& of_f32() {
  static const std::vector<Narrow> list{
      {"Conv",
       [](const Tensor& x) {
         return conv1d(x, ones({2, 4, 3}, {.dtype = x.dtype()}));
       }},
      {"ConvTranspose",
       [](const Tensor& x) {
         return conv_transpose1d(x, ones({4, 2, 3}, {.dtype = x.dtype()}));
       }},
      {"MaxPool", [](const Tensor& x) { return max_pool1d(x, 2); }},
      {"AveragePool", [](const Tensor& x) { return avg_pool1d(x, 2); }},
      {"GlobalAveragePool", [](const Tensor& x) { return adaptive_avg_pool1d(x, 1); }},
      {"InstanceNormalization", [](const Tensor& x) { return instance_norm(x); }},
      {"Elu", [](const Tensor& x) { return elu(x, 0.5); }},
      {"Selu", [](const Tensor& x) { return selu(x); }},
      {"Softplus", [](const Tensor& x) { return softplus(x); }},
      {"HardSigmoid", [](const Tensor& x) { return hardsigmoid(x); }},
      {"HardSwish", [](const Tensor& x) { return hardswish(x); }},
      {"Mish", [](const Tensor& x) { return mish(x); }},
      {"Softsign", [](const Tensor& x) { return softsign(x); }},
      {"SoftmaxCrossEntropyLoss",
       [](const Tensor& x) {
         const Tensor classes = zeros({x.size(0), 6}, {.dtype = i64});
         return cross_entropy(x, classes);
       }},
      {"Round", [](const Tensor& x) { return round(x); }},
      {"Sin", [](const Tensor& x) { return sin(x); }},
      {"Cosh", [](const Tensor& x) { return cosh(x); }},
      {"Tan", [](const Tensor& x) { return tan(x * 0.125); }},
      {"Atan", [](const Tensor& x) { return atan(x); }},
      {"TopK", [](const Tensor& x) { return topk(x, 3).values; }},
      {"IsInf", [](const Tensor& x) { return isinf(x); }}};
  return list;
}

// The nodes of that operator, and those among them that read what was cast to f32.
std::pair<int, int> count(const GraphProto& graph, const std::string& op_type) {
  std::map<std::string, const NodeProto*> made;
  for (const NodeProto& node : graph.node)
    for (const std::string& name : node.output) made[name] = &node;
  int all = 0, cast = 0;
  for (const NodeProto& node : graph.node) {
    if (node.op_type != op_type) continue;
    ++all;
    const auto source = made.find(node.input[0]);
    cast += source != made.end() && source->second->op_type == "Cast" &&
            source->second->attribute[0].i == static_cast<int64_t>(DataType::f32);
  }
  return {all, cast};
}

TEST(OnnxSavedTypes, WhatAnOperatorHasNotIsComputedInF32) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  manual_seed(0);
  for (const DType dtype : {bf16, f16, f32}) {
    for (const auto& [op_type, function] : of_f32()) {
      SCOPED_TRACE(op_type);
      const Function net(function);
      save(net, randn({2, 4, 6}).to(dtype), file);
      const Model loaded = load(file);
      const Tensor x = randn({3, 4, 6}).to(dtype);
      const Tensor wanted = net(x);
      const double tolerance = dtype == bf16 ? 8e-3 : dtype == f16 ? 1e-3 : 1e-6;
      expect_close(loaded(x), wanted, tolerance);
      const auto [all, cast] = count(loaded.program().file.graph, op_type);
      EXPECT_GT(all, 0);
      const bool is_narrow = dtype == bf16 || (dtype == f16 && op_type == std::string("IsInf"));
      EXPECT_EQ(cast, is_narrow ? all : 0) << dtype;
    }
  }
}

// Both outputs of an LSTM are cast back.
TEST(OnnxSavedTypes, RecurrentLayersOfBf16) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  nn::LSTM lstm(4, 3, {.batch_first = true});
  lstm.to(bf16);
  save(lstm, randn({2, 5, 4}).to(bf16), file);
  const Model loaded = load(file);
  EXPECT_EQ(count(loaded.program().file.graph, "LSTM"), std::pair(1, 1));
  const NoGradGuard no_grad;
  const Tensor x = randn({3, 5, 4}).to(bf16);
  expect_close(loaded(x), lstm(x).output, 1e-2);
}

// Celu is of f32 alone.
TEST(OnnxSavedTypes, CeluIsComposed) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  const Function net([](const Tensor& x) { return celu(x, 0.3); });
  for (const DType dtype : {bf16, f16, f64}) {
    const Tensor x = (randn({3, 4}) * 3).to(dtype);
    save(net, x, file);
    const Model loaded = load(file);
    expect_close(loaded(x), net(x), dtype == bf16 ? 4e-3 : dtype == f16 ? 5e-4 : 1e-12);
    EXPECT_EQ(count(loaded.program().file.graph, "Celu").first, 0);
  }
}

// The numbers are ones that f32 doesn't hold.
TEST(OnnxSavedTypes, NumbersOfF64AreExact) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  const Tensor unit = eye(4, {.dtype = f64});
  const std::vector<std::function<Tensor(const Tensor&)>> functions{
      [](const Tensor& x) { return leaky_relu(x, 0.1); },
      [](const Tensor& x) { return elu(x, 0.1); },
      [](const Tensor& x) { return selu(x); },
      [](const Tensor& x) { return hardsigmoid(x); },
      [](const Tensor& x) { return hardshrink(x, 0.1); },
      [](const Tensor& x) { return softshrink(x, 0.1); },
      [&](const Tensor& x) { return addmm(x, x, unit, {.beta = 0.1}); },
      [&](const Tensor& x) { return addmm(x, x, unit, {.alpha = 0.1}); }};
  for (size_t i = 0; i < functions.size(); ++i) {
    const Function net(functions[i]);
    const Tensor x = tensor({{-4.0, -0.7, -0.1, 0.0}, {0.05, 0.1, 0.7, 4.0}}, {.dtype = f64});
    save(net, x, file);
    expect_close(load(file)(x), net(x), 1e-14);
  }
}

TEST(OnnxSavedTypes, IntegersAreRoundedAlready) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  const Tensor x = tensor({{-3, 0}, {2, 7}, {1, 5}});
  for (const auto function : {floor, ceil, trunc, static_cast<Tensor (*)(const Tensor&)>(round)}) {
    const Function net([&](const Tensor& y) { return function(y * 2); });
    save(net, x, file);
    const Model loaded = load(file);
    expect_close(loaded(x), net(x), 0);
    for (const char* const op_type : {"Floor", "Ceil", "Round"})
      EXPECT_EQ(count(loaded.program().file.graph, op_type).first, 0) << op_type;
  }
}

// Squares and powers that half types don't hold.
TEST(OnnxSavedTypes, HalfTypesAreComputedInF32) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  manual_seed(0);
  const std::vector<std::function<Tensor(const Tensor&)>> functions{
      [](const Tensor& x) { return rms_norm(x, {4}, ones({4}, {.dtype = x.dtype()}) * 2); },
      [](const Tensor& x) { return x.std(2); },
      [](const Tensor& x) { return norm(x, 3, 2); },
      [](const Tensor& x) { return mse_loss(x, x * 0.5); },
      [](const Tensor& x) { return smooth_l1_loss(x, x * 0.5, Reduction::mean, 500.0); },
      [](const Tensor& x) { return hypot(x, flip(x, {2})); },
      [](const Tensor& x) { return addcmul(x, x, flip(x, {2}), 1e-3); }};
  for (const DType dtype : {f16, bf16}) {
    for (size_t i = 0; i < functions.size(); ++i) {
      SCOPED_TRACE(std::string(dtype == f16 ? "f16 " : "bf16 ") + std::to_string(i));
      const Function net(functions[i]);
      save(net, (randn({2, 4, 4}) * 300).to(dtype), file);
      const Tensor x = (randn({3, 4, 4}) * 300).to(dtype), wanted = net(x);
      ASSERT_TRUE(isfinite(wanted).all().item<bool>());
      expect_close(load(file)(x), wanted, dtype == f16 ? 1e-3 : 8e-3);
    }
  }
}

// Sums of half types are taken beside the tensor, and written back.
TEST(OnnxSavedTypes, HalfTypesAreWrittenThroughViews) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  manual_seed(0);
  const std::vector<std::function<void(const Tensor&, const Tensor&)>> writes{
      [](const Tensor& row, const Tensor& x) {
        row.scatter_add_(1, zeros(x.shape(), {.dtype = i64}), x);
      },
      [](const Tensor& row, const Tensor& x) {
        row.index_add_(1, tensor({0, 2, 2, 4, 1}, {.dtype = i64}), x);
      },
      [](const Tensor& row, const Tensor& x) {
        index_put_(row.transpose(0, 1), {tensor({0, 2}, {.dtype = i64})},
                   x.slice(1, 0, 2).transpose(0, 1), true);
      }};
  for (const DType dtype : {f16, bf16}) {
    for (size_t i = 0; i < writes.size(); ++i) {
      SCOPED_TRACE(std::string(dtype == f16 ? "f16 " : "bf16 ") + std::to_string(i));
      const Function net([&](const Tensor& x) {
        const Tensor y = x * 2;
        writes[i](y.select(1, 0), x.select(1, 1));
        return y;
      });
      save(net, randn({2, 4, 5}).to(dtype), file);
      const Tensor x = randn({3, 4, 5}).to(dtype);
      expect_close(load(file)(x), net(x), dtype == f16 ? 1e-3 : 8e-3);
    }
  }
}

// Where 1 + erf(x / sqrt(2)) is small.
TEST(OnnxSavedTypes, GeluOfHalfTypesIsComputedInF32) {
  const TestFolder folder;
  const std::string file = folder.file("net.onnx");
  for (const GeluApproximation approximate : {GeluApproximation::none, GeluApproximation::tanh}) {
    for (const DType dtype : {f16, bf16}) {
      const Function net([&](const Tensor& x) { return gelu(x, approximate); });
      const Tensor x = linspace(-5, -1, 64).to(dtype).reshape({2, 32});
      save(net, x, file);
      expect_close(load(file)(x), net(x), dtype == f16 ? 1e-4 : 6e-4);
    }
  }
}

}  // namespace
}  // namespace aorta::onnx
