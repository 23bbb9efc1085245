#pragma once

#include <aorta/core/ops/creation.h>
#include <aorta/nn/module.h>
#include <aorta/onnx/onnx.h>
#include <aorta/onnx/program.h>
#include <aorta/tests/is_near.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

// Small networks that tests make.
namespace aorta::onnx {

inline void expect_close(const Tensor& result, const Tensor& wanted, double tolerance) {
  ASSERT_EQ(result.shape(), wanted.shape());
  ASSERT_EQ(result.dtype(), wanted.dtype());
  const std::vector<double> a = result.to_vector<double>(), b = wanted.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(is_near(a[i], b[i], tolerance * (1 + std::abs(b[i]))))
        << a[i] << " for " << b[i] << " at " << i;
  }
}

inline AttributeProto integer(const std::string& name, int64_t value) {
  AttributeProto a;
  a.name = name;
  a.kind = AttributeProto::Kind::integer;
  a.i = value;
  return a;
}

inline AttributeProto number(const std::string& name, float value) {
  AttributeProto a;
  a.name = name;
  a.kind = AttributeProto::Kind::number;
  a.f = value;
  return a;
}

inline AttributeProto text(const std::string& name, const std::string& value) {
  AttributeProto a;
  a.name = name;
  a.kind = AttributeProto::Kind::text;
  a.s = value;
  return a;
}

inline AttributeProto list(const std::string& name, const std::vector<int64_t>& values) {
  AttributeProto a;
  a.name = name;
  a.kind = AttributeProto::Kind::integers;
  a.ints = values;
  return a;
}

// A network that is a function.
struct Function : nn::Module {
  explicit Function(std::function<Tensor(const Tensor&)> f) : function(std::move(f)) {}
  Tensor forward(const Tensor& x) const override { return function(x); }
  std::function<Tensor(const Tensor&)> function;
};

// y = Gemm(x, w, b) of f32.
inline ModelProto gemm() {
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

// A network of one node, whose inputs but the first stand in the file.
inline Model node_net(const std::string& op, const std::vector<TensorProto>& others,
                      const std::vector<AttributeProto>& attributes = {},
                      DataType dtype = DataType::f32, int64_t opset = 17) {
  ModelProto model;
  model.opset_import = {{"", opset}};
  model.graph.input.push_back({"x", dtype, false, {}});
  model.graph.output.push_back({"y", dtype, false, {}});
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

inline TensorProto integers(const std::string& name, const std::vector<int64_t>& values) {
  return {.name = name,
          .data_type = DataType::i64,
          .dims = {static_cast<int64_t>(values.size())},
          .bytes = std::string(reinterpret_cast<const char*>(values.data()), values.size() * 8)};
}

inline TensorProto floats(const std::string& name, const std::vector<int64_t>& dims,
                          const std::vector<float>& values) {
  return {.name = name,
          .data_type = DataType::f32,
          .dims = dims,
          .bytes = std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4)};
}

inline Tensor f32s(const std::vector<float>& values, const Shape& shape) {
  return tensor(values, shape);
}

}  // namespace aorta::onnx
