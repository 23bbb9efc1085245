#include <aorta/onnx/file_model.h>
#include <onnx/onnx_pb.h>

#include <charconv>
#include <cstring>
#include <exception>
#include <limits>
#include <new>

// The library that links protobuf, so that no other does.
namespace aorta::onnx {
namespace {

// A message's own fault; it becomes the answer of the call.
struct Problem : std::exception {
  explicit Problem(std::string said) : text(std::move(said)) {}
  std::string text;
};

template <class To, class From>
void append(std::string& bytes, const From& values) {
  for (const auto value : values) {
    const To element = static_cast<To>(value);
    bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
  }
}

// The elements of a tensor that has no raw data, from the field that its dtype is stored in.
std::string elements_of(const ::onnx::TensorProto& from) {
  std::string bytes;
  switch (static_cast<DataType>(from.data_type())) {
    case DataType::f32:
    case DataType::c64:
      append<float>(bytes, from.float_data());
      break;
    case DataType::f64:
    case DataType::c128:
      append<double>(bytes, from.double_data());
      break;
    case DataType::i64:
      append<int64_t>(bytes, from.int64_data());
      break;
    case DataType::u64:
      append<uint64_t>(bytes, from.uint64_data());
      break;
    case DataType::u32:
      append<uint32_t>(bytes, from.uint64_data());
      break;
    case DataType::i32:
      append<int32_t>(bytes, from.int32_data());
      break;
    case DataType::u16:
    case DataType::i16:
    case DataType::f16:
    case DataType::bf16:
      append<uint16_t>(bytes, from.int32_data());
      break;
    case DataType::u8:
    case DataType::i8:
    case DataType::boolean:
      append<uint8_t>(bytes, from.int32_data());
      break;
    default:
      break;  // the reader refuses these by their number
  }
  return bytes;
}

int64_t number_of(const std::string& text) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw Problem("offset and length of external data must be whole numbers, got other text");
  return value;
}

// Takes what is large out of the message, so that nothing is in memory twice.
TensorProto read(::onnx::TensorProto& from) {
  TensorProto to;
  to.name = from.name();
  to.data_type = static_cast<DataType>(from.data_type());
  to.dims.assign(from.dims().begin(), from.dims().end());
  if (from.has_segment()) throw Problem("tensors must be whole, got a segment of one");
  to.is_external = from.data_location() == ::onnx::TensorProto::EXTERNAL;
  if (to.is_external) {
    for (const auto& entry : from.external_data()) {
      if (entry.key() == "location") to.location = entry.value();
      if (entry.key() == "offset") to.offset = number_of(entry.value());
      if (entry.key() == "length") to.length = number_of(entry.value());
    }
  } else if (from.has_raw_data()) {
    to.bytes = std::move(*from.mutable_raw_data());
  } else {
    to.bytes = elements_of(from);
  }
  return to;
}

ValueInfoProto read(const std::string& name, const ::onnx::TypeProto& type) {
  ValueInfoProto to;
  to.name = name;
  const ::onnx::TypeProto* inner = &type;
  to.is_optional = inner->has_optional_type();
  if (to.is_optional) inner = &inner->optional_type().elem_type();
  to.is_sequence = inner->has_sequence_type();
  if (to.is_sequence) inner = &inner->sequence_type().elem_type();
  if (inner->value_case() == ::onnx::TypeProto::VALUE_NOT_SET) return to;
  if (!inner->has_tensor_type())
    throw Problem("values must be tensors, sequences of them, or optional ones, got another type");
  const auto& tensor = inner->tensor_type();
  to.elem_type = static_cast<DataType>(tensor.elem_type());
  to.has_shape = tensor.has_shape();
  for (const auto& dim : tensor.shape().dim())
    to.shape.push_back({dim.has_dim_value() ? dim.dim_value() : -1, dim.dim_param()});
  return to;
}

void read(::onnx::GraphProto& from, GraphProto& to);

AttributeProto read(::onnx::AttributeProto& from) {
  using Kind = AttributeProto::Kind;
  AttributeProto to;
  to.name = from.name();
  switch (from.type()) {
    case ::onnx::AttributeProto::FLOAT:
      to.kind = Kind::number;
      to.f = from.f();
      break;
    case ::onnx::AttributeProto::INT:
      to.kind = Kind::integer;
      to.i = from.i();
      break;
    case ::onnx::AttributeProto::STRING:
      to.kind = Kind::text;
      to.s = from.s();
      break;
    case ::onnx::AttributeProto::TENSOR:
      to.kind = Kind::tensor;
      to.t = read(*from.mutable_t());
      break;
    case ::onnx::AttributeProto::FLOATS:
      to.kind = Kind::numbers;
      to.floats.assign(from.floats().begin(), from.floats().end());
      break;
    case ::onnx::AttributeProto::INTS:
      to.kind = Kind::integers;
      to.ints.assign(from.ints().begin(), from.ints().end());
      break;
    case ::onnx::AttributeProto::STRINGS:
      to.kind = Kind::texts;
      to.strings.assign(from.strings().begin(), from.strings().end());
      break;
    case ::onnx::AttributeProto::GRAPH:
      to.kind = Kind::graph;
      read(*from.mutable_g(), to.g.emplace_back());
      break;
    case ::onnx::AttributeProto::TYPE_PROTO:
      to.kind = Kind::type;
      to.tp = read("", from.tp());
      break;
    default:
      break;  // of a kind that no operator here takes
  }
  return to;
}

NodeProto read(::onnx::NodeProto& from) {
  NodeProto to;
  to.name = from.name();
  to.op_type = from.op_type();
  to.domain = from.domain();
  to.input.assign(from.input().begin(), from.input().end());
  to.output.assign(from.output().begin(), from.output().end());
  for (auto& attribute : *from.mutable_attribute()) to.attribute.push_back(read(attribute));
  return to;
}

void read(::onnx::GraphProto& from, GraphProto& to) {
  if (from.sparse_initializer_size() > 0)
    throw Problem("initializers must be dense, got " +
                  std::to_string(from.sparse_initializer_size()) + " sparse ones");
  to.name = from.name();
  for (auto& node : *from.mutable_node()) to.node.push_back(read(node));
  for (auto& tensor : *from.mutable_initializer()) to.initializer.push_back(read(tensor));
  for (const auto& input : from.input()) to.input.push_back(read(input.name(), input.type()));
  for (const auto& output : from.output()) to.output.push_back(read(output.name(), output.type()));
}

void read(::onnx::ModelProto& from, ModelProto& to) {
  if (!from.has_graph()) throw Problem("model must have a graph, got none");
  if (from.functions_size() > 0)
    throw Problem("model must have no functions of its own, got " +
                  std::to_string(from.functions_size()));
  if (from.training_info_size() > 0)
    throw Problem("model must have no training_info, got " +
                  std::to_string(from.training_info_size()));
  to.ir_version = from.ir_version();
  to.producer_name = from.producer_name();
  to.producer_version = from.producer_version();
  for (const auto& set : from.opset_import())
    to.opset_import.emplace_back(set.domain(), set.version());
  read(*from.mutable_graph(), to.graph);
}

void write(const TensorProto& from, ::onnx::TensorProto& to) {
  to.set_name(from.name);
  to.set_data_type(static_cast<int32_t>(from.data_type));
  for (const int64_t size : from.dims) to.add_dims(size);
  if (!from.is_external) {
    to.set_raw_data(from.bytes);
    return;
  }
  to.set_data_location(::onnx::TensorProto::EXTERNAL);
  const auto add = [&](const char* key, const std::string& value) {
    auto* entry = to.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", from.location);
  add("offset", std::to_string(from.offset));
  if (from.length >= 0) add("length", std::to_string(from.length));
}

void write(const GraphProto& from, ::onnx::GraphProto& to);
void write(const ValueInfoProto& from, ::onnx::TypeProto& to);

void write(const AttributeProto& from, ::onnx::AttributeProto& to) {
  using Kind = AttributeProto::Kind;
  to.set_name(from.name);
  switch (from.kind) {
    case Kind::number:
      to.set_type(::onnx::AttributeProto::FLOAT);
      to.set_f(from.f);
      break;
    case Kind::integer:
      to.set_type(::onnx::AttributeProto::INT);
      to.set_i(from.i);
      break;
    case Kind::text:
      to.set_type(::onnx::AttributeProto::STRING);
      to.set_s(from.s);
      break;
    case Kind::tensor:
      to.set_type(::onnx::AttributeProto::TENSOR);
      write(from.t, *to.mutable_t());
      break;
    case Kind::numbers:
      to.set_type(::onnx::AttributeProto::FLOATS);
      for (const float value : from.floats) to.add_floats(value);
      break;
    case Kind::integers:
      to.set_type(::onnx::AttributeProto::INTS);
      for (const int64_t value : from.ints) to.add_ints(value);
      break;
    case Kind::texts:
      to.set_type(::onnx::AttributeProto::STRINGS);
      for (const std::string& value : from.strings) to.add_strings(value);
      break;
    case Kind::graph:
      to.set_type(::onnx::AttributeProto::GRAPH);
      write(from.g.at(0), *to.mutable_g());
      break;
    case Kind::type:
      to.set_type(::onnx::AttributeProto::TYPE_PROTO);
      write(from.tp, *to.mutable_tp());
      break;
    case Kind::other:
      throw Problem("attributes must be of a kind that can be written, got another of " +
                    from.name);
  }
}

void write(const NodeProto& from, ::onnx::NodeProto& to) {
  to.set_name(from.name);
  to.set_op_type(from.op_type);
  to.set_domain(from.domain);
  for (const std::string& name : from.input) to.add_input(name);
  for (const std::string& name : from.output) to.add_output(name);
  for (const AttributeProto& attribute : from.attribute) write(attribute, *to.add_attribute());
}

void write(const ValueInfoProto& from, ::onnx::TypeProto& to) {
  if (from.elem_type == DataType::undefined) return;
  ::onnx::TypeProto* inner = &to;
  if (from.is_optional) inner = inner->mutable_optional_type()->mutable_elem_type();
  if (from.is_sequence) inner = inner->mutable_sequence_type()->mutable_elem_type();
  auto* type = inner->mutable_tensor_type();
  type->set_elem_type(static_cast<int32_t>(from.elem_type));
  if (!from.has_shape) return;
  auto* shape = type->mutable_shape();
  for (const auto& dimension : from.shape) {
    auto* dim = shape->add_dim();
    if (dimension.size >= 0) dim->set_dim_value(dimension.size);
    if (dimension.size < 0 && !dimension.name.empty()) dim->set_dim_param(dimension.name);
  }
}

void write(const ValueInfoProto& from, ::onnx::ValueInfoProto& to) {
  to.set_name(from.name);
  write(from, *to.mutable_type());
}

void write(const GraphProto& from, ::onnx::GraphProto& to) {
  to.set_name(from.name);
  for (const NodeProto& node : from.node) write(node, *to.add_node());
  for (const TensorProto& tensor : from.initializer) write(tensor, *to.add_initializer());
  for (const ValueInfoProto& input : from.input) write(input, *to.add_input());
  for (const ValueInfoProto& output : from.output) write(output, *to.add_output());
}

// The answer of `body`, or what stopped it: nothing that protobuf throws passes the border.
template <class Body>
std::string guarded(const Body& body) {
  try {
    return body();
  } catch (const Problem& problem) {
    return problem.text;
  } catch (const std::bad_alloc&) {
    return kNoMemory;
  } catch (const std::exception& problem) {
    return problem.what();
  }
}

std::string parse(const void* bytes, size_t size, ModelProto& model) {
  return guarded([&]() -> std::string {
    if (size > static_cast<size_t>(std::numeric_limits<int>::max()))
      return "file must be under 2 GiB, with larger models' tensors beside it, got " +
             std::to_string(size) + " bytes";
    ::onnx::ModelProto message;
    if (!message.ParseFromArray(bytes, static_cast<int>(size)))
      return "file must be an ONNX model, got bytes that aren't a ModelProto";
    read(message, model);
    return "";
  });
}

std::string serialize(const ModelProto& model, std::string& bytes) {
  return guarded([&]() -> std::string {
    ::onnx::ModelProto message;
    message.set_ir_version(model.ir_version);
    message.set_producer_name(model.producer_name);
    message.set_producer_version(model.producer_version);
    for (const auto& [domain, version] : model.opset_import) {
      auto* set = message.add_opset_import();
      set->set_domain(domain);
      set->set_version(version);
    }
    write(model.graph, *message.mutable_graph());
    if (message.ByteSizeLong() > static_cast<size_t>(std::numeric_limits<int>::max()))
      return "model must be under 2 GiB, got " + std::to_string(message.ByteSizeLong()) + " bytes";
    return message.SerializeToString(&bytes) ? "" : "model must fit in memory, got no room for it";
  });
}

constexpr PluginTable kTable = {kPluginVersion, parse, serialize};

}  // namespace
}  // namespace aorta::onnx

const aorta::onnx::PluginTable* aorta_onnx_table() { return &aorta::onnx::kTable; }
