#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/creation.h>
#include <aorta/onnx/operators.h>

#include <algorithm>
#include <cstring>

// What a node and a tensor of a file say, checked.
namespace aorta::onnx {

using Kind = AttributeProto::Kind;

std::optional<DType> dtype_of_file(DataType type) {
  switch (type) {
    case DataType::f32:
      return f32;
    case DataType::f64:
      return f64;
    case DataType::f16:
      return f16;
    case DataType::bf16:
      return bf16;
    case DataType::i64:
      return i64;
    case DataType::i32:
      return i32;
    case DataType::u8:
      return u8;
    case DataType::boolean:
      return boolean;
    default:
      return {};
  }
}

DataType type_in_file(DType dtype) {
  for (const DataType type : {DataType::f32, DataType::f64, DataType::f16, DataType::bf16,
                              DataType::i64, DataType::i32, DataType::u8, DataType::boolean}) {
    if (dtype_of_file(type) == dtype) return type;
  }
  fail("onnx", "a tensor must be of a dtype that files have", dtype);
}

std::string to_string(DataType type) {
  constexpr const char* kNames[] = {"undefined",  "float32", "uint8",  "int8",   "uint16",
                                    "int16",      "int32",   "int64",  "string", "bool",
                                    "float16",    "float64", "uint32", "uint64", "complex64",
                                    "complex128", "bfloat16"};
  const auto number = static_cast<int64_t>(type);
  if (number < 0 || number >= static_cast<int64_t>(std::size(kNames)))
    return "one that this library doesn't know";
  return kNames[number];
}

TensorProto proto_of(const std::string& name, const Tensor& tensor) {
  const Tensor flat = tensor.detach().cpu().contiguous();
  TensorProto proto;
  proto.name = name;
  proto.data_type = type_in_file(tensor.dtype());
  proto.dims.assign(tensor.shape().begin(), tensor.shape().end());
  proto.bytes.assign(static_cast<const char*>(flat.data()), static_cast<size_t>(flat.nbytes()));
  return proto;
}

Tensor tensor_of(const std::string& context, const TensorProto& proto) {
  const std::string of = " of tensor " + io::quote(proto.name);
  const std::optional<DType> dtype = dtype_of_file(proto.data_type);
  aorta::check(dtype.has_value(), context, "a tensor must have a dtype that Aorta has",
               to_string(proto.data_type), of);
  for (const int64_t size : proto.dims)
    aorta::check(size >= 0, context, "sizes must not be negative", size, of);
  const uint64_t bytes = io::size_in_bytes(context, proto.dims, item_size(*dtype) * 8);
  aorta::check(bytes == proto.bytes.size(), context, "elements must fill the shape",
               proto.bytes.size(), " bytes for ", io::shape_text(proto.dims), of);
  if (*dtype == boolean) {
    for (const char byte : proto.bytes)
      aorta::check(byte == 0 || byte == 1, context, "a bool must be 0 or 1",
                   static_cast<int64_t>(static_cast<unsigned char>(byte)), of);
  }
  Tensor tensor = zeros(Shape(proto.dims), {.dtype = *dtype});
  if (bytes > 0) std::memcpy(tensor.data(), proto.bytes.data(), bytes);
  return tensor;
}

Node::Node(const std::string& path, const NodeProto& proto, int64_t opset, std::set<size_t> buffers)
    : proto_(proto),
      opset_(opset),
      text_(path + ": " +
            (operators().count(proto.op_type) ? proto.op_type : io::quote(proto.op_type)) +
            " (node " +
            io::quote(proto.name.empty() && !proto.output.empty() ? proto.output[0] : proto.name) +
            ", opset " + std::to_string(opset) + ")"),
      buffers_(std::move(buffers)) {}

const AttributeProto* Node::find(const char* name) const {
  for (const AttributeProto& attribute : proto_.attribute) {
    if (attribute.name != name) continue;
    asked_.insert(name);
    return &attribute;
  }
  return nullptr;
}

const AttributeProto* Node::find(const char* name, Kind kind, const char* what) const {
  const AttributeProto* const attribute = find(name);
  if (attribute && attribute->kind != kind)
    this->fail(std::string("attribute ") + name + " must be " + what, "another kind");
  return attribute;
}

int64_t Node::integer(const char* name, int64_t otherwise) const {
  const AttributeProto* const found = find(name, Kind::integer, "an integer");
  return found ? found->i : otherwise;
}

bool Node::flag(const char* name, bool otherwise) const {
  const int64_t value = integer(name, otherwise);
  this->check(value == 0 || value == 1, std::string("attribute ") + name + " must be 0 or 1",
              value);
  return value != 0;
}

double Node::number(const char* name, double otherwise) const {
  const AttributeProto* const found = find(name, Kind::number, "a number");
  return found ? static_cast<double>(found->f) : otherwise;
}

std::string Node::text(const char* name, const char* otherwise) const {
  const AttributeProto* const found = find(name, Kind::text, "a text");
  return found ? found->s : otherwise;
}

size_t Node::choice(const char* name, std::initializer_list<const char*> choices) const {
  const std::string value = text(name, *choices.begin());
  std::string rule = std::string("attribute ") + name + " must be";
  for (size_t i = 0; i < choices.size(); ++i) {
    if (value == choices.begin()[i]) return i;
    rule += std::string(i == 0 ? " " : i + 1 < choices.size() ? ", " : " or ") + choices.begin()[i];
  }
  this->fail(rule, io::quote(value));
}

std::vector<int64_t> Node::integers(const char* name) const {
  const AttributeProto* const found = find(name, Kind::integers, "a list of integers");
  return found ? found->ints : std::vector<int64_t>();
}

std::vector<float> Node::numbers(const char* name) const {
  const AttributeProto* const found = find(name, Kind::numbers, "a list of numbers");
  return found ? found->floats : std::vector<float>();
}

std::vector<std::string> Node::texts(const char* name) const {
  const AttributeProto* const found = find(name, Kind::texts, "a list of texts");
  return found ? found->strings : std::vector<std::string>();
}

Tensor Node::tensor(const char* name) const {
  const AttributeProto* const found = find(name, Kind::tensor, "a tensor");
  if (!found) this->fail(std::string("attribute ") + name + " must be given", "none");
  this->check(!found->t.is_external, "a tensor of an attribute must stand in the file itself",
              "an external one");
  return tensor_of(text_, found->t);
}

Node::Graph Node::graph(const char* name) const {
  const AttributeProto* const found = find(name, Kind::graph, "a graph");
  if (!found) this->fail(std::string("attribute ") + name + " must be given", "none");
  size_t number = 0;
  for (const AttributeProto* a = proto_.attribute.data(); a != found; ++a) number += a->g.size();
  return {number, found->g[0]};
}

void Node::type(const char* name) const { find(name, Kind::type, "a type"); }

std::optional<DType> Node::dtype(const char* name) const {
  if (!has(name)) return {};
  const int64_t number = integer(name, 0);
  const bool is_known = number >= 0 && number <= static_cast<int64_t>(DataType::bf16);
  const DataType type = is_known ? static_cast<DataType>(number) : static_cast<DataType>(-1);
  const std::optional<DType> dtype = dtype_of_file(type);
  this->check(dtype.has_value(),
              std::string("attribute ") + name + " must name a dtype that Aorta has",
              to_string(type));
  return dtype;
}

void Node::check_attributes() const {
  for (const AttributeProto& attribute : proto_.attribute)
    this->check(asked_.count(attribute.name) > 0, "attributes must be known",
                io::quote(attribute.name));
}

const Tensor& Inputs::operator[](size_t i) const {
  aorta::check(has(i), "Model", "a node's inputs must be given", "none at place ", i);
  aorta::check(!values_[i].sequence, "Model", "a node's input must be a tensor",
               "a sequence at place ", i);
  return values_[i].tensor;
}

const Tensors& Inputs::sequence(size_t i) const {
  aorta::check(has(i) && values_[i].sequence, "Model", "a node's input must be a sequence",
               has(i) ? "a tensor" : "none", " at place ", i);
  return *values_[i].sequence;
}

Tensors Inputs::all() const {
  Tensors tensors;
  for (size_t i = 0; i < size(); ++i) tensors.push_back(or_none(i));
  return tensors;
}

Device Inputs::device() const {
  for (const Value& value : values_) {
    if (value.tensor.defined()) return value.tensor.device();
    if (value.sequence && !value.sequence->empty()) return value.sequence->at(0).device();
  }
  return device_;
}

}  // namespace aorta::onnx
