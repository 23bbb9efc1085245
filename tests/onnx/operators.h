#pragma once

#include <aorta/core/tensor.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

// ONNX operators in terms of Aorta's ops, for the published cases of onnx_test.
namespace aorta::onnx {

using Tensors = std::vector<Tensor>;

/// One published case; an optional input that is left out is undefined.
struct Case {
  std::string name;
  nlohmann::json attributes;
  Tensors inputs;
  size_t outputs = 1;

  bool has(size_t i) const { return i < inputs.size() && inputs[i].defined(); }
  int64_t integer(const char* key, int64_t otherwise) const {
    return attributes.value(key, otherwise);
  }
  double number(const char* key, double otherwise) const {
    return attributes.value(key, otherwise);
  }
  std::string text(const char* key, const char* otherwise) const {
    return attributes.value(key, std::string(otherwise));
  }
};

/// How an operator is run, and how far its floating results may be from the published ones:
/// |error| <= relative * |value| + absolute.
struct Operator {
  std::function<Tensors(const Case&)> run;
  double relative = 0;
  double absolute = 0;
  /// Why a case is out of the op's reach; "" where it isn't.
  std::string (*misfit)(const Case&) = nullptr;
};

using Operators = std::map<std::string, Operator>;

/// Every operator that Aorta has the ops for.
const Operators& operators();
void add_pointwise(Operators& table);
void add_reductions(Operators& table);
void add_shapes(Operators& table);
void add_indexing(Operators& table);
void add_normalization(Operators& table);
void add_pooling(Operators& table);
void add_convolution(Operators& table);
void add_losses(Operators& table);
void add_layers(Operators& table);
void add_recurrent(Operators& table);
void add_optimizers(Operators& table);

}  // namespace aorta::onnx
