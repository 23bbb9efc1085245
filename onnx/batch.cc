#include <aorta/core/io/bytes.h>
#include <aorta/core/version.h>
#include <aorta/onnx/graph_writer.h>
#include <aorta/onnx/operators.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

// From drafts to a model: what differs between two batch sizes becomes a function of the size.
namespace aorta::onnx {
namespace {

constexpr int64_t kIrVersion = 8, kOpset = 18;

NodeProto make_node(const std::string& name, const char* op_type, Names inputs, Names outputs,
                    Attributes attributes = {}) {
  NodeProto node;
  node.name = name;
  node.op_type = op_type;
  node.input = std::move(inputs);
  node.output = std::move(outputs);
  node.attribute = std::move(attributes);
  return node;
}

bool same(const TensorProto& a, const TensorProto& b) {
  return a.data_type == b.data_type && a.dims == b.dims && a.bytes == b.bytes;
}
bool same(const Draft::Constant& a, const Draft::Constant& b) {
  if (a.source.defined() && b.source.defined())
    return Recording::place_of(a.source) == Recording::place_of(b.source);
  return same(a.tensor, b.tensor);
}
bool same(const AttributeProto& a, const AttributeProto& b) {
  return a.name == b.name && a.kind == b.kind && a.f == b.f && a.i == b.i && a.s == b.s &&
         a.floats == b.floats && a.ints == b.ints && a.strings == b.strings;
}
bool same(const NodeProto& a, const NodeProto& b) {
  return a.name == b.name && a.op_type == b.op_type && a.input == b.input && a.output == b.output;
}

TensorProto integers_proto(const std::string& name, const std::vector<int64_t>& values) {
  TensorProto proto;
  proto.name = name;
  proto.data_type = DataType::i64;
  proto.dims = {static_cast<int64_t>(values.size())};
  for (const int64_t value : values) io::append(proto.bytes, value);
  return proto;
}
std::vector<int64_t> integers_of(const TensorProto& proto) {
  std::vector<int64_t> values(proto.bytes.size() / sizeof(int64_t));
  std::memcpy(values.data(), proto.bytes.data(), proto.bytes.size());
  return values;
}

NodeProto constant_node(const TensorProto& tensor) {
  AttributeProto value;
  value.name = "value";
  value.kind = AttributeProto::Kind::tensor;
  value.t = tensor;
  return make_node(tensor.name, "Constant", {}, {tensor.name}, {value});
}

/// factor * batch + offset.
struct Size {
  int64_t factor = 0, offset = 0;
};

class Merger {
 public:
  Merger(const Draft& first, const Draft& second, const std::vector<int64_t>& dims)
      : first_(first), second_(second), merged_(first) {
    for (size_t i = dims.size(); i-- > 0;) {
      if (dims[i] < 0) continue;
      dim_ = dims[i];
      source_ = first.inputs[i];
      batch_[0] = first.input_tensors[i].size(dim_);
      batch_[1] = second.input_tensors[i].size(dim_);
    }
    for (const Draft::Constant& constant : first.constants) taken_.insert(constant.tensor.name);
    for (const Names* names : {&first.inputs, &first.outputs})
      taken_.insert(names->begin(), names->end());
    for (const NodeProto& node : first.nodes) {
      taken_.insert(node.name);
      taken_.insert(node.output.begin(), node.output.end());
    }
  }

  Draft merge() {
    compare_nodes();
    for (size_t i = 0; i < merged_.constants.size(); ++i) {
      TensorProto& mine = merged_.constants[i].tensor;
      const TensorProto& other = second_.constants[i].tensor;
      if (same(merged_.constants[i], second_.constants[i])) continue;
      const bool is_list = mine.dims == other.dims && mine.dims.size() <= 1;
      if (batch_[0] != batch_[1] && mine.data_type == DataType::i64 && is_list)
        merge_integers(mine, integers_of(mine), integers_of(other));
      else if (!merge_counts(mine, other))
        merge_rows(mine, other);
    }
    const auto is_gone = [](const Draft::Constant& constant) {
      return constant.tensor.name.empty();
    };
    auto& constants = merged_.constants;
    constants.erase(std::remove_if(constants.begin(), constants.end(), is_gone), constants.end());
    for (TensorProto& made : made_constants_) constants.push_back({std::move(made), false});
    merged_.nodes.insert(merged_.nodes.begin(), made_.begin(), made_.end());
    return std::move(merged_);
  }

  // The size of a dimension of the network's outputs or inputs: "batch", "2*batch", or a number.
  ValueInfoProto::Dimension dimension(int64_t first, int64_t second) const {
    const std::optional<Size> size = size_of(first, second);
    if (!size) return {};
    if (size->factor == 0) return {first, ""};
    std::string name = size->factor == 1 ? "batch" : std::to_string(size->factor) + "*batch";
    if (size->offset != 0) name += (size->offset > 0 ? "+" : "") + std::to_string(size->offset);
    return {-1, name};
  }

 private:
  void compare_nodes() const {
    const size_t count = std::min(first_.nodes.size(), second_.nodes.size());
    for (size_t i = 0; i < count; ++i) {
      const NodeProto &a = first_.nodes[i], &b = second_.nodes[i];
      if (!same(a, b)) fail_for_ops(a.name + " and " + b.name);
      bool alike = a.attribute.size() == b.attribute.size();
      for (size_t k = 0; alike && k < a.attribute.size(); ++k)
        alike = same(a.attribute[k], b.attribute[k]);
      if (!alike)
        fail("onnx::save", "what ops are told besides tensors must be the same for every batch",
             io::quote(a.name), " that differs");
    }
    const bool alike = first_.fixed == second_.fixed &&
                       first_.nodes.size() == second_.nodes.size() &&
                       first_.constants.size() == second_.constants.size();
    if (!alike)
      fail_for_ops(std::to_string(first_.nodes.size()) + " and " +
                   std::to_string(second_.nodes.size()) + " nodes");
  }
  [[noreturn]] static void fail_for_ops(const std::string& got) {
    fail("onnx::save",
         "the ops that a network runs must be the same for every batch size and every input "
         "(where it is the size, save with dynamic_batch = false)",
         got);
  }

  // Two sizes tell a multiple of the batch, or a size that is a fixed number more or less than it:
  // of other rules two sizes are no proof.
  std::optional<Size> size_of(int64_t first, int64_t second) const {
    if (first == second) return Size{0, first};
    const int64_t change = second - first, apart = batch_[1] - batch_[0];
    if (apart == 0 || change % apart != 0) return {};
    const Size size{change / apart, first - change / apart * batch_[0]};
    if (size.offset != 0 && size.factor != 1) return {};
    return size;
  }

  std::string reader_of(const std::string& constant) const {
    for (const NodeProto& node : first_.nodes)
      if (std::find(node.input.begin(), node.input.end(), constant) != node.input.end())
        return node.name;
    return constant;
  }

  std::string unique(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
    return name;
  }
  std::string integers(const std::vector<int64_t>& values) {
    made_constants_.push_back(integers_proto(unique("constant"), values));
    return made_constants_.back().name;
  }
  std::string add_node(const char* op_type, Names inputs, Attributes attributes = {}) {
    const std::string name = unique(std::string("batch/") + op_type);
    const std::string output = unique(name + "_output_0");
    made_.push_back(make_node(name, op_type, std::move(inputs), {output}, std::move(attributes)));
    return output;
  }

  // A list of one integer.
  std::string size_node(const Size& size) {
    if (size.factor == 0) return integers({size.offset});
    std::string& batch = sizes_[{1, 0}];
    if (batch.empty())
      batch = add_node("Shape", {source_}, {attribute("start", dim_), attribute("end", dim_ + 1)});
    std::string& known = sizes_[{size.factor, size.offset}];
    if (!known.empty()) return known;
    std::string value = batch;
    if (size.factor != 1) value = add_node("Mul", {value, integers({size.factor})});
    if (size.offset != 0) value = add_node("Add", {value, integers({size.offset})});
    return sizes_[{size.factor, size.offset}] = value;
  }

  // A list of sizes of which some are known when the network runs.
  std::string sizes_node(const std::vector<Size>& sizes) {
    Names parts;
    for (const Size& size : sizes) parts.push_back(size_node(size));
    return parts.size() == 1 ? parts[0] : add_node("Concat", parts, {attribute("axis", 0)});
  }

  void replace(const std::string& name, const std::string& by) {
    for (NodeProto& node : merged_.nodes)
      std::replace(node.input.begin(), node.input.end(), name, by);
  }

  void merge_integers(TensorProto& mine, const std::vector<int64_t>& first,
                      const std::vector<int64_t>& second) {
    std::vector<Size> sizes;
    for (size_t i = 0; i < first.size(); ++i) {
      const std::optional<Size> size = size_of(first[i], second[i]);
      check(size.has_value(), "onnx::save",
            "sizes and numbers must be a multiple of the batch size, or a fixed number more or "
            "less than it (else save with dynamic_batch = false)",
            first[i], " and ", second[i], " for batches of ", batch_[0], " and ", batch_[1], " in ",
            io::quote(reader_of(mine.name)));
      sizes.push_back(*size);
    }
    const auto changes = std::count_if(sizes.begin(), sizes.end(),
                                       [](const Size& size) { return size.factor != 0; });
    if (changes == 1 && is_shape_of_reshapes(mine.name)) {
      std::vector<int64_t> values = first;
      for (size_t i = 0; i < sizes.size(); ++i)
        if (sizes[i].factor != 0) values[i] = -1;
      mine = integers_proto(mine.name, values);
      return;
    }
    std::string value = sizes_node(sizes);
    if (mine.dims.empty()) value = add_node("Squeeze", {value, integers({0})});
    replace(mine.name, value);
    mine.name.clear();
  }

  bool is_shape_of_reshapes(const std::string& name) const {
    return std::all_of(first_.nodes.begin(), first_.nodes.end(), [&](const NodeProto& node) {
      const auto found = std::find(node.input.begin(), node.input.end(), name);
      return found == node.input.end() ||
             (node.op_type == "Reshape" && found - node.input.begin() == 1);
    });
  }

  // 0, 1, ... up to a size, as the samples' own numbers.
  bool merge_counts(TensorProto& mine, const TensorProto& other) {
    if (!is_count(mine) || !is_count(other)) return false;
    const std::optional<Size> size = size_of(mine.dims[0], other.dims[0]);
    if (!size) return false;
    const auto scalar = [&](const std::string& list) {
      return add_node("Squeeze", {list, integers({0})});
    };
    const std::string end = scalar(size_node(*size));
    replace(mine.name, add_node("Range", {scalar(integers({0})), end, scalar(integers({1}))}));
    mine.name.clear();
    return true;
  }

  static bool is_count(const TensorProto& proto) {
    if (proto.data_type != DataType::i64 || proto.dims.size() != 1) return false;
    const std::vector<int64_t> values = integers_of(proto);
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] != static_cast<int64_t>(i)) return false;
    return true;
  }

  // A constant with one row for each sample, all alike: the row is kept, and repeated.
  void merge_rows(TensorProto& mine, const TensorProto& other) {
    int dim = -1;
    bool fits = mine.data_type == other.data_type && mine.dims.size() == other.dims.size();
    std::vector<Size> sizes;
    for (size_t d = 0; fits && d < mine.dims.size(); ++d) {
      const std::optional<Size> size = size_of(mine.dims[d], other.dims[d]);
      fits = size.has_value() && (size->factor == 0 || dim < 0);
      if (!fits) break;
      if (size->factor != 0) dim = static_cast<int>(d);
      sizes.push_back(size->factor == 0 ? Size{0, 1} : *size);
    }
    const std::string row = fits && dim >= 0 ? row_of(mine, dim) : std::string();
    check(!row.empty() && row == row_of(other, dim), "onnx::save",
          "what a network reads besides its inputs and its parameters must not depend on the "
          "inputs or on the batch size, but for rows that are all alike",
          "a tensor that does, in ", io::quote(reader_of(mine.name)));
    mine.bytes = row;
    mine.dims[static_cast<size_t>(dim)] = 1;
    const std::string name = mine.name;
    const std::string shape = sizes_node(sizes);
    const std::string expanded = unique(name + "_expanded");
    made_.push_back(make_node(unique("batch/Expand"), "Expand", {name, shape}, {expanded}));
    replace(name, expanded);
  }

  // The elements at one place of dimension `dim`, where those of all places are alike; else "".
  static std::string row_of(const TensorProto& proto, int dim) {
    const auto at = static_cast<size_t>(dim);
    size_t count = 1, outer = 1;
    for (size_t d = 0; d < proto.dims.size(); ++d) {
      count *= static_cast<size_t>(proto.dims[d]);
      if (d < at) outer *= static_cast<size_t>(proto.dims[d]);
    }
    if (count == 0) return {};
    const size_t places = static_cast<size_t>(proto.dims[at]);
    const size_t block = proto.bytes.size() / outer / places;  // bytes behind a place
    std::string row;
    for (size_t o = 0; o < outer; ++o) {
      const char* const begin = proto.bytes.data() + o * places * block;
      for (size_t p = 1; p < places; ++p)
        if (std::memcmp(begin, begin + p * block, block) != 0) return {};
      row.append(begin, block);
    }
    return row;
  }

  const Draft &first_, &second_;
  Draft merged_;
  std::string source_;  // the input that the batch size is read from, in that dimension
  int64_t dim_ = 0;
  int64_t batch_[2] = {};
  std::set<std::string> taken_;
  std::vector<NodeProto> made_;
  std::vector<TensorProto> made_constants_;
  std::map<std::pair<int64_t, int64_t>, std::string> sizes_;
};

// Equal constants become the first of them.
void join_constants(Draft& draft) {
  std::map<std::tuple<DataType, std::vector<int64_t>, std::string>, std::string> known;
  std::map<std::string, std::string> renamed;
  std::vector<Draft::Constant> kept;
  for (Draft::Constant& constant : draft.constants) {
    if (!constant.source.defined()) {
      const TensorProto& t = constant.tensor;
      const auto [place, is_new] = known.emplace(std::tuple(t.data_type, t.dims, t.bytes), t.name);
      if (!is_new) {
        renamed[t.name] = place->second;
        continue;
      }
    }
    kept.push_back(std::move(constant));
  }
  draft.constants = std::move(kept);
  for (NodeProto& node : draft.nodes) {
    for (std::string& name : node.input) {
      const auto found = renamed.find(name);
      if (found != renamed.end()) name = found->second;
    }
  }
}

// An output that is a node's gets that name where it is made; else an Identity gives it.
void name_outputs(Draft& draft) {
  const size_t first = draft.nodes.size() - draft.outputs.size();
  std::set<std::string> made;
  for (size_t i = 0; i < first; ++i)
    made.insert(draft.nodes[i].output.begin(), draft.nodes[i].output.end());
  std::vector<NodeProto> identities(draft.nodes.begin() + static_cast<ptrdiff_t>(first),
                                    draft.nodes.end());
  draft.nodes.resize(first);
  std::map<std::string, std::string> renamed;
  for (const NodeProto& identity : identities) {
    const std::string& source = identity.input[0];
    if (made.count(source) && !renamed.count(source)) {
      renamed[source] = identity.output[0];
    } else {
      draft.nodes.push_back(identity);
    }
  }
  for (NodeProto& node : draft.nodes) {
    for (Names* names : {&node.input, &node.output}) {
      for (std::string& name : *names) {
        const auto found = renamed.find(name);
        if (found != renamed.end()) name = found->second;
      }
    }
  }
}

// What an export has written and nothing reads: the places of a maximum, say.
void drop_unread(Draft& draft) {
  std::set<std::string> read(draft.outputs.begin(), draft.outputs.end());
  std::vector<NodeProto> kept;
  for (size_t i = draft.nodes.size(); i-- > 0;) {
    NodeProto& node = draft.nodes[i];
    const bool is_read = std::any_of(node.output.begin(), node.output.end(),
                                     [&](const std::string& name) { return read.count(name) > 0; });
    if (!is_read) continue;
    read.insert(node.input.begin(), node.input.end());
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  draft.nodes = std::move(kept);
  const auto is_unread = [&](const Draft::Constant& constant) {
    return read.count(constant.tensor.name) == 0;
  };
  auto& constants = draft.constants;
  constants.erase(std::remove_if(constants.begin(), constants.end(), is_unread), constants.end());
}

using DimensionOf = std::function<ValueInfoProto::Dimension(bool is_input, size_t i, int d)>;

ModelProto finish(Draft draft, const DimensionOf& dimension) {
  join_constants(draft);
  name_outputs(draft);
  drop_unread(draft);
  ModelProto model;
  model.ir_version = kIrVersion;
  model.producer_name = "aorta";
  model.producer_version = version();
  model.opset_import = {{"", kOpset}};
  model.graph.name = "aorta";
  const auto describe = [&](bool is_input, const Names& names, const std::vector<Tensor>& tensors) {
    std::vector<ValueInfoProto> infos;
    for (size_t i = 0; i < names.size(); ++i) {
      ValueInfoProto info{names[i], type_in_file(tensors[i].dtype()), true, {}};
      for (int d = 0; d < tensors[i].dim(); ++d) info.shape.push_back(dimension(is_input, i, d));
      infos.push_back(std::move(info));
    }
    return infos;
  };
  model.graph.input = describe(true, draft.inputs, draft.input_tensors);
  model.graph.output = describe(false, draft.outputs, draft.output_tensors);
  for (Draft::Constant& constant : draft.constants) {
    if (constant.source.defined())
      constant.tensor = proto_of(constant.tensor.name, constant.source);
    if (constant.is_weight)
      model.graph.initializer.push_back(std::move(constant.tensor));
    else
      model.graph.node.push_back(constant_node(constant.tensor));
  }
  for (NodeProto& node : draft.nodes) model.graph.node.push_back(std::move(node));
  return model;
}

}  // namespace

void check_same(const Draft& first, const Draft& second) { Merger(first, second, {}).merge(); }

ModelProto merged(const Draft& first, const Draft& second, const std::vector<int64_t>& batch_dims) {
  Merger merger(first, second, batch_dims);
  Draft draft = merger.merge();
  return finish(std::move(draft), [&](bool is_input, size_t i, int d) {
    const auto& mine = is_input ? first.input_tensors : first.output_tensors;
    const auto& other = is_input ? second.input_tensors : second.output_tensors;
    return merger.dimension(mine[i].shape()[d], other[i].shape()[d]);
  });
}

}  // namespace aorta::onnx
