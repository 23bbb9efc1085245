#include <aorta/core/dispatch/pointwise_args.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/creation.h>
#include <aorta/onnx/graph_writer.h>
#include <aorta/onnx/operators.h>

#include <algorithm>

namespace aorta::onnx {
namespace {

AttributeProto named(const char* name, AttributeProto::Kind kind) {
  AttributeProto result;
  result.name = name;
  result.kind = kind;
  return result;
}

// Whether operator set 18 has the operator for that floating type; all have f32. Of bf16 it has a
// SoftmaxCrossEntropyLoss, but not what that is made of.
bool is_allowed(const std::string& op_type, DataType type) {
  constexpr std::string_view kNotOfBf16 =
      " Acos Acosh Asin Asinh Atan Atanh AveragePool Conv ConvTranspose Cos Cosh Det Elu GRU "
      "GlobalAveragePool HardSigmoid HardSwish InstanceNormalization LSTM MaxPool Mish "
      "NegativeLogLikelihoodLoss RNN Round Selu Sin Sinh SoftmaxCrossEntropyLoss Softplus "
      "Softsign Tan TopK ";
  if (op_type == "IsInf") return type != DataType::f16 && type != DataType::bf16;
  return type != DataType::bf16 || kNotOfBf16.find(" " + op_type + " ") == std::string_view::npos;
}

}  // namespace

AttributeProto attribute(const char* name, int64_t value) {
  AttributeProto result = named(name, AttributeProto::Kind::integer);
  result.i = value;
  return result;
}
AttributeProto attribute(const char* name, double value) {
  AttributeProto result = named(name, AttributeProto::Kind::number);
  result.f = static_cast<float>(value);
  return result;
}
AttributeProto attribute(const char* name, const char* value) {
  AttributeProto result = named(name, AttributeProto::Kind::text);
  result.s = value;
  return result;
}
AttributeProto attribute(const char* name, std::vector<int64_t> values) {
  AttributeProto result = named(name, AttributeProto::Kind::integers);
  result.ints = std::move(values);
  return result;
}

const Exports& exports() {
  static const Exports table = [] {
    Exports made;
    add_pointwise_exports(made);
    add_pointwise_binary_exports(made);
    add_matmul_exports(made);
    add_convolution_exports(made);
    add_pooling_exports(made);
    add_normalization_exports(made);
    add_reduction_exports(made);
    add_shape_exports(made);
    add_indexing_exports(made);
    add_layer_exports(made);
    add_loss_exports(made);
    return made;
  }();
  return table;
}

// ---- ExportCall.

std::string ExportCall::operator[](size_t i) const {
  return has(i) ? writer_.name_of(recorded_.inputs[i]) : std::string();
}

bool ExportCall::is_read(size_t i) const {
  return recorded_.outputs[i] >= 0 && writer_.read_[static_cast<size_t>(recorded_.outputs[i])];
}

std::string ExportCall::context() const {
  const std::string& module = recorded_.module;
  return "onnx::save: " + std::string(op()) + (module.empty() ? "" : " (in " + module + ")");
}

std::string ExportCall::operand(size_t i, DType dtype) const {
  if (!has(i)) return number(recorded_.call.numbers[i], dtype);
  return cast((*this)[i], input(i).dtype(), dtype);
}

DType ExportCall::common_dtype(size_t from) const {
  std::vector<Operand> operands;
  for (size_t i = from; i < inputs(); ++i)
    operands.push_back(has(i) ? Operand(input(i)) : Operand(recorded_.call.numbers[i]));
  return result_type(operands);
}

std::string ExportCall::computed(size_t i) const {
  return cast((*this)[i], input(i).dtype(), computed_dtype());
}
std::string ExportCall::rounded(const std::string& value) const {
  return cast(value, computed_dtype(), output().dtype());
}

std::string ExportCall::node(const char* op_type, const Names& inputs,
                             const Attributes& attributes) const {
  return writer_.add_node(recorded_, op_type, inputs, 1, attributes)[0];
}
Names ExportCall::nodes(const char* op_type, const Names& inputs, size_t outputs,
                        const Attributes& attributes) const {
  return writer_.add_node(recorded_, op_type, inputs, outputs, attributes);
}

std::string ExportCall::cast(const std::string& value, DType from, DType to) const {
  if (from == to) return value;
  return node("Cast", {value}, {attribute("to", static_cast<int64_t>(type_in_file(to)))});
}

std::string ExportCall::integers(const std::vector<int64_t>& values) const {
  const Tensor list = empty({static_cast<int64_t>(values.size())}, {.dtype = DType::i64});
  std::copy(values.begin(), values.end(), list.data<int64_t>());
  return constant(list);
}
std::string ExportCall::integer(int64_t value) const { return number(value, DType::i64); }
std::string ExportCall::number(const Scalar& value, DType dtype) const {
  return constant(full({}, value, {.dtype = dtype}));
}
void ExportCall::fix(int64_t size) const { writer_.draft_.fixed.push_back(size); }
std::string ExportCall::constant(const Tensor& tensor) const {
  return writer_.add_constant("constant", tensor);
}
std::string ExportCall::reshaped(const std::string& value, const Shape& shape) const {
  return node("Reshape", {value, integers(list_of(shape))});
}

// ---- GraphWriter.

GraphWriter::GraphWriter(const Recording& recording, const ModuleTensors& tensors)
    : recording_(recording), tensors_(tensors) {}

std::string GraphWriter::unique(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

std::string GraphWriter::add_constant(const std::string& wanted, const Tensor& tensor) {
  draft_.constants.push_back({proto_of(unique(wanted), tensor)});
  const TensorProto& made = draft_.constants.back().tensor;
  types_[made.name] = made.data_type;
  return made.name;
}

// A value that no node has made yet is a tensor of the module, or another constant.
const std::string& GraphWriter::name_of(int value) {
  const auto known = names_.find(value);
  if (known != names_.end()) return known->second;
  const RecordedValue& recorded = recording_.values()[static_cast<size_t>(value)];
  check(recorded.tensor.version() == recorded.version, "onnx::save",
        "a constant must stay as it is while the network runs", recorded.tensor.shape(),
        " written in place");
  const auto found = tensors_.by_place.find(Recording::place_of(recorded.tensor));
  if (found == tensors_.by_place.end())
    return names_[value] = add_constant("constant", recorded.tensor);
  const auto& [name, kind] = found->second;
  draft_.constants.push_back({{.name = name, .data_type = type_in_file(recorded.tensor.dtype())},
                              kind == ModuleTensors::Kind::parameter,
                              recorded.tensor});
  types_[name] = type_in_file(recorded.tensor.dtype());
  if (kind == ModuleTensors::Kind::state) state_names_.insert(name);
  return names_[value] = name;
}

// The type of an output of one call's nodes; what the call itself makes is known.
DataType GraphWriter::output_type(const NodeProto& node, size_t i) const {
  static const std::set<std::string> kToBool{"And",   "Equal", "Greater", "GreaterOrEqual",
                                             "IsInf", "IsNaN", "Less",    "LessOrEqual",
                                             "Not",   "Or",    "Xor"};
  static const std::set<std::string> kToPlaces{"ArgMax", "ArgMin", "Shape"};
  const std::string& op = node.op_type;
  if (op == "Cast") return static_cast<DataType>(node.attribute[0].i);
  if (kToBool.count(op)) return DataType::boolean;
  if (kToPlaces.count(op) || (i > 0 && (op == "MaxPool" || op == "TopK"))) return DataType::i64;
  const auto found = types_.find(node.input[op == "Where" ? 1 : 0]);
  return found == types_.end() ? DataType::undefined : found->second;
}

// What an operator has not for a half type it computes in f32.
Names GraphWriter::add_node(const RecordedCall& recorded, const char* op_type, const Names& inputs,
                            size_t outputs, const Attributes& attributes) {
  const auto cast = [&](const std::string& value, DataType to) {
    return add_node(recorded, "Cast", {value}, 1, {attribute("to", static_cast<int64_t>(to))})[0];
  };
  const auto type = inputs.empty() ? types_.end() : types_.find(inputs[0]);
  if (type != types_.end() && !is_allowed(op_type, type->second)) {
    const DataType own = type->second;
    Names wide = inputs;
    for (std::string& input : wide)
      if (!input.empty() && types_.at(input) == own) input = cast(input, DataType::f32);
    Names made = add_node(recorded, op_type, wide, outputs, attributes);
    for (std::string& output : made)
      if (types_.at(output) == DataType::f32) output = cast(output, own);
    return made;
  }
  // A path with a slash is the name of a node in the file that the network was loaded from.
  const std::string& module = recorded.module;
  const bool is_loaded = module.find('/') != std::string::npos;
  const std::string prefix = module.empty() ? "" : module + "/";
  NodeProto node;
  node.name = unique(is_loaded ? module : prefix + op_type);
  node.op_type = op_type;
  node.input = inputs;
  node.attribute = attributes;
  for (size_t i = 0; i < outputs; ++i)
    node.output.push_back(unique(node.name + "_output_" + std::to_string(i)));
  for (size_t i = 0; i < outputs; ++i) types_[node.output[i]] = output_type(node, i);
  draft_.nodes.push_back(node);
  return node.output;
}

void GraphWriter::find_live(const std::vector<int>& outputs) {
  const auto& calls = recording_.calls();
  live_calls_.assign(calls.size(), false);
  read_.assign(recording_.values().size(), false);
  const auto read = [&](int value) {
    if (value < 0) return;
    read_[static_cast<size_t>(value)] = true;
    const int call = recording_.values()[static_cast<size_t>(value)].call;
    if (call >= 0) live_calls_[static_cast<size_t>(call)] = true;
  };
  for (const int output : outputs) read(output);
  for (size_t i = calls.size(); i-- > 0;) {
    if (!live_calls_[i]) continue;
    for (const int input : calls[i].inputs) read(input);
  }
}

// Running statistics are part of the state, for readers know them by their place; of other
// floating buffers they would make parameters.
void GraphWriter::mark_statistics() {
  std::set<std::string> statistics;
  for (const NodeProto& node : draft_.nodes)
    if (node.op_type == "BatchNormalization")
      statistics.insert(node.input.begin() + 3, node.input.begin() + 5);
  for (Draft::Constant& constant : draft_.constants) {
    const std::string& name = constant.tensor.name;
    const bool is_number = constant.tensor.data_type == DataType::i64 || statistics.count(name) > 0;
    if (is_number && state_names_.count(name)) constant.is_weight = true;
  }
}

Draft GraphWriter::write(const std::vector<int>& outputs, const Names& input_names,
                         const Names& output_names) {
  find_live(outputs);
  for (const auto& [place, entry] : tensors_.by_place) taken_.insert(entry.name);
  for (const Names* names : {&input_names, &output_names}) {
    for (const std::string& name : *names)
      check(!name.empty() && taken_.insert(name).second, "onnx::save",
            "inputs and outputs must have names of their own", io::quote(name));
  }
  const auto& values = recording_.values();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].input < 0) continue;
    names_[static_cast<int>(i)] = input_names[static_cast<size_t>(values[i].input)];
    draft_.input_tensors.push_back(values[i].tensor);
    types_[names_[static_cast<int>(i)]] = type_in_file(values[i].tensor.dtype());
  }
  draft_.inputs = input_names;
  for (size_t i = 0; i < live_calls_.size(); ++i) {
    if (!live_calls_[i]) continue;
    const RecordedCall& recorded = recording_.calls()[i];
    const ExportCall call(*this, recorded);
    const auto found = exports().find(recorded.call.op);
    if (found == exports().end())
      call.fail("an op must be one that has an export (docs/onnx.md)", recorded.call.op);
    const Names made = found->second(call);
    for (size_t k = 0; k < made.size(); ++k) {
      if (recorded.outputs[k] < 0) continue;
      names_[recorded.outputs[k]] = made[k];
      types_[made[k]] = type_in_file(recorded.call.outputs[k].dtype());
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    NodeProto node;
    node.name = unique(output_names[i] + "/Identity");
    node.op_type = "Identity";
    node.input = {name_of(outputs[i])};
    node.output = {output_names[i]};
    draft_.nodes.push_back(node);
    draft_.output_tensors.push_back(values[static_cast<size_t>(outputs[i])].tensor);
  }
  mark_statistics();
  draft_.outputs = output_names;
  return std::move(draft_);
}

}  // namespace aorta::onnx
