#pragma once

#include <aorta/core/check.h>
#include <aorta/onnx/file_model.h>
#include <aorta/onnx/recording.h>

#include <initializer_list>
#include <map>
#include <string>
#include <tuple>
#include <vector>

// Aorta's ops in terms of ONNX operators: one place an op, its entry in the table.
namespace aorta::onnx {

class GraphWriter;

using Names = std::vector<std::string>;
using Attributes = std::vector<AttributeProto>;

AttributeProto attribute(const char* name, int64_t value);
AttributeProto attribute(const char* name, double value);
AttributeProto attribute(const char* name, const char* value);
AttributeProto attribute(const char* name, std::vector<int64_t> values);
inline AttributeProto attribute(const char* name, int value) {
  return attribute(name, static_cast<int64_t>(value));
}
inline AttributeProto attribute(const char* name, bool value) {
  return attribute(name, static_cast<int64_t>(value));
}

/// A recorded call as its export sees it, which writes nodes and returns the names of the outputs.
class ExportCall {
 public:
  ExportCall(GraphWriter& writer, const RecordedCall& recorded)
      : writer_(writer), recorded_(recorded) {}

  const char* op() const { return recorded_.call.op; }
  bool has(size_t i) const { return i < recorded_.inputs.size() && recorded_.inputs[i] >= 0; }
  size_t inputs() const { return recorded_.inputs.size(); }
  /// The name of an input's value; "" where it is left out.
  std::string operator[](size_t i) const;
  /// For its shape and dtype: the elements are what came last.
  const Tensor& input(size_t i) const { return recorded_.call.inputs[i]; }
  const Tensor& output(size_t i = 0) const { return recorded_.call.outputs[i]; }
  /// Whether anything reads the output.
  bool is_read(size_t i) const;
  template <class... Options>
  const std::tuple<Options...>& options() const {
    return of_type<std::tuple<Options...>>();
  }
  /// The functor of a pointwise op.
  template <class Functor>
  const Functor& functor() const {
    return of_type<Functor>();
  }
  /// A pointwise op's input as a value of that dtype, and the dtype that all are promoted to.
  std::string operand(size_t i, DType dtype) const;
  DType common_dtype(size_t from = 0) const;
  /// Half types don't hold squares and powers: what is composed of these is computed in f32. An
  /// input in that dtype, and a value of it as the output.
  DType computed_dtype() const { return compute_dtype(output().dtype()); }
  std::string computed(size_t i) const;
  std::string rounded(const std::string& value) const;

  std::string node(const char* op_type, const Names& inputs,
                   const Attributes& attributes = {}) const;
  Names nodes(const char* op_type, const Names& inputs, size_t outputs,
              const Attributes& attributes = {}) const;
  std::string cast(const std::string& value, DType from, DType to) const;
  /// Constants: a list of integers and one integer, which may follow from the batch size; a number
  /// of no dimensions; a tensor.
  std::string integers(const std::vector<int64_t>& values) const;
  std::string integer(int64_t value) const;
  std::string number(const Scalar& value, DType dtype) const;
  std::string constant(const Tensor& tensor) const;
  std::string reshaped(const std::string& value, const Shape& shape) const;
  /// Says that nodes are chosen by a size, which must then be the same for every batch.
  void fix(int64_t size) const;

  /// Throws `onnx::save: OP (in MODULE): rule, got values`.
  template <class... Parts>
  [[noreturn]] void fail(std::string_view rule, const Parts&... got) const {
    aorta::fail(context(), rule, got...);
  }
  template <class... Parts>
  void check(bool ok, std::string_view rule, const Parts&... got) const {
    if (!ok) this->fail(rule, got...);
  }

 private:
  template <class T>
  const T& of_type() const {
    const T* const options = std::any_cast<T>(&recorded_.call.options);
    if (!options) this->fail("an op must be recorded with its options", "others");
    return *options;
  }
  std::string context() const;

  GraphWriter& writer_;
  const RecordedCall& recorded_;
};

using Export = Names (*)(const ExportCall& call);
/// By the name that the op has in a TracedCall.
using Exports = std::map<std::string, Export>;
const Exports& exports();
void add_pointwise_exports(Exports& table);
void add_pointwise_binary_exports(Exports& table);
void add_matmul_exports(Exports& table);
void add_convolution_exports(Exports& table);
void add_pooling_exports(Exports& table);
void add_normalization_exports(Exports& table);
void add_reduction_exports(Exports& table);
void add_shape_exports(Exports& table);
void add_indexing_exports(Exports& table);
void add_layer_exports(Exports& table);
void add_loss_exports(Exports& table);

/// Whether a value of that dtype is negative, or -0.
std::string sign_bit(const ExportCall& call, const std::string& x, DType dtype);
/// log(exp(a) + exp(b)) without overflow.
std::string log_sum(const ExportCall& call, const std::string& a, const std::string& b,
                    DType dtype);

inline std::vector<int64_t> list_of(const Dims& dims) { return {dims.begin(), dims.end()}; }

}  // namespace aorta::onnx
