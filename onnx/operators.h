#pragma once

#include <aorta/core/check.h>
#include <aorta/core/tensor.h>
#include <aorta/onnx/file_model.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

// ONNX operators in terms of Aorta's ops: one place an operator, its entry in the table.
namespace aorta::onnx {

using Tensors = std::vector<Tensor>;

/// What goes from node to node: a tensor, a sequence of tensors, or none, of which an optional
/// value may be.
struct Value {
  Tensor tensor = {};
  std::shared_ptr<const Tensors> sequence = {};

  Value() = default;
  Value(Tensor given) : tensor(std::move(given)) {}  // NOLINT: a tensor is a value
  static Value of(Tensors tensors) {
    Value value;
    value.sequence = std::make_shared<const Tensors>(std::move(tensors));
    return value;
  }
  bool is_given() const { return tensor.defined() || sequence; }
};
struct Values : std::vector<Value> {
  using std::vector<Value>::vector;
  Values(const Tensors& tensors) : std::vector<Value>(tensors.begin(), tensors.end()) {}  // NOLINT
};

/// The dtype of that number in a file; none where Aorta has no such.
std::optional<DType> dtype_of_file(DataType type);
/// "int16".
std::string to_string(DataType type);
DataType type_in_file(DType dtype);
/// The tensor, checked against its shape. `context` stands in front of errors.
Tensor tensor_of(const std::string& context, const TensorProto& proto);
/// The tensor's elements, shape and dtype under that name.
TensorProto proto_of(const std::string& name, const Tensor& tensor);

/// A node as the maker of its function sees it. Every attribute that isn't asked for is an error,
/// so that none is ignored.
class Node {
 public:
  /// `buffers`: the inputs that are floating buffers of the network.
  Node(const std::string& path, const NodeProto& proto, int64_t opset,
       std::set<size_t> buffers = {});

  bool has(const char* attribute) const { return find(attribute) != nullptr; }
  int64_t integer(const char* attribute, int64_t otherwise) const;
  bool flag(const char* attribute, bool otherwise) const;
  double number(const char* attribute, double otherwise) const;
  std::string text(const char* attribute, const char* otherwise) const;
  /// The place in `choices` of a text; the first is the default.
  size_t choice(const char* attribute, std::initializer_list<const char*> choices) const;
  std::vector<int64_t> integers(const char* attribute) const;
  std::vector<float> numbers(const char* attribute) const;
  Tensor tensor(const char* attribute) const;
  std::vector<std::string> texts(const char* attribute) const;
  /// A graph of an attribute, which the node runs by its number.
  struct Graph {
    size_t number;
    const GraphProto& proto;
  };
  Graph graph(const char* attribute) const;
  /// Marks an attribute of a type as known: it says nothing that a run needs.
  void type(const char* attribute) const;
  /// The dtype that an attribute has the number of.
  std::optional<DType> dtype(const char* attribute) const;

  /// Whether the network reads the output.
  bool has_output(size_t i) const { return i < proto_.output.size() && !proto_.output[i].empty(); }
  /// Whether an input is a buffer of the network, which its node may write to in training.
  bool is_buffer(size_t i) const { return buffers_.count(i) > 0; }
  size_t outputs() const { return proto_.output.size(); }
  size_t inputs() const { return proto_.input.size(); }
  int64_t opset() const { return opset_; }

  /// Throws `path: Conv (node "name", opset 17): rule, got values`.
  template <class... Parts>
  [[noreturn]] void fail(std::string_view rule, const Parts&... got) const {
    aorta::fail(text_, rule, got...);
  }
  template <class... Parts>
  void check(bool ok, std::string_view rule, const Parts&... got) const {
    if (!ok) this->fail(rule, got...);
  }
  /// Throws where an attribute was not asked for.
  void check_attributes() const;

 private:
  const AttributeProto* find(const char* name) const;
  const AttributeProto* find(const char* name, AttributeProto::Kind kind, const char* what) const;

  const NodeProto& proto_;
  int64_t opset_;
  std::string text_;
  std::set<size_t> buffers_;
  mutable std::set<std::string> asked_;
};

/// Runs a graph of a node's attribute.
using RunGraph = std::function<Values(size_t number, Values inputs)>;

/// What a node's function gets at each run.
class Inputs {
 public:
  /// `device`: that of the network's inputs.
  Inputs(Values values, bool training, RunGraph run = {}, Device device = {})
      : values_(std::move(values)), training_(training), run_(std::move(run)), device_(device) {}
  bool has(size_t i) const { return i < values_.size() && values_[i].is_given(); }
  /// Throws where it is none, or a sequence.
  const Tensor& operator[](size_t i) const;
  const Tensors& sequence(size_t i) const;
  const Value& value(size_t i) const { return values_[i]; }
  /// Undefined where it is left out.
  Tensor or_none(size_t i) const { return has(i) ? (*this)[i] : Tensor(); }
  Tensors all() const;
  /// The device of the first tensor that is given, or else of the network's inputs.
  Device device() const;
  size_t size() const { return values_.size(); }
  /// The elements of an input that is a list of numbers.
  std::vector<int64_t> integers(size_t i) const { return (*this)[i].to_vector<int64_t>(); }
  /// Whether the network is in training.
  bool training() const { return training_; }
  /// What a graph of the node makes of its inputs.
  Values run(size_t graph, Values inputs) const { return run_(graph, std::move(inputs)); }

 private:
  Values values_;
  bool training_;
  RunGraph run_;
  Device device_;
};

/// A node's function: its outputs from its inputs.
using Run = std::function<Values(const Inputs&)>;

constexpr int kAnyNumber = 1 << 30;

struct Operator {
  /// The function of a node, with its attributes; throws where they are beyond Aorta.
  Run (*make)(const Node& node);
  int min_inputs = 1, max_inputs = 1, max_outputs = 1;
  /// The inputs that are numbers and no weights, though their dtype is floating.
  std::set<size_t> numbers = {};
};

/// By name. Operators of the default domain.
using Operators = std::map<std::string, Operator>;
const Operators& operators();
void add_pointwise(Operators& table);
void add_reductions(Operators& table);
void add_shapes(Operators& table);
void add_indexing(Operators& table);
void add_normalization(Operators& table);
void add_pooling(Operators& table);
void add_resizing(Operators& table);
void add_convolution(Operators& table);
void add_losses(Operators& table);
void add_layers(Operators& table);
void add_recurrent(Operators& table);
void add_control(Operators& table);
void add_sequences(Operators& table);
void add_signals(Operators& table);
void add_quantized(Operators& table);
void add_vision(Operators& table);
void add_language(Operators& table);

/// The function of a Conv with the node's attributes.
Run convolution(const Node& node);

/// Sums of half types are f32's, and are rounded once.
inline Tensor summable(const Tensor& x) { return x.to(compute_dtype(x.dtype())); }

/// x (T, N, ...) with the first lengths[n] steps of sample n in reverse; `lengths` (N) are i64.
Tensor reversed_in_time(const Tensor& x, const Tensor& lengths);

}  // namespace aorta::onnx
