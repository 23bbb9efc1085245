#include <aorta/core/io/bytes.h>
#include <aorta/core/io/file.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/plugin.h>
#include <aorta/core/resource_error.h>
#include <aorta/core/text.h>
#include <aorta/onnx/program.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

// From a file to a program: reads it, and checks what doesn't depend on the inputs.
namespace aorta::onnx {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGot = ", got ";

struct Loaded {
  const PluginTable* table = nullptr;
  std::string problem;
  Loaded() {
    const detail::PluginEntry plugin =
        detail::load_plugin("libaorta_onnx.so", "AORTA_ONNX_PLUGIN", "aorta_onnx_table");
    problem = plugin.problem;
    if (!plugin.function) return;
    table = reinterpret_cast<const PluginTable* (*)()>(plugin.function)();
    if (table->version == kPluginVersion) return;
    table = nullptr;
    problem = "libaorta_onnx.so of another version of Aorta";
  }
};

// Elements that stand in files beside the model's.
class ExternalData {
 public:
  explicit ExternalData(std::string path) : path_(std::move(path)) {}

  void fetch(TensorProto& tensor) {
    const std::span<const std::byte> bytes = file(tensor)->bytes();
    const auto size = static_cast<int64_t>(bytes.size());
    const auto rest = [&] { return tensor.length < 0 ? size - tensor.offset : tensor.length; };
    check(tensor.offset <= size && rest() <= size - tensor.offset, path_,
          "external data must lie in its file", tensor.offset, " + ", tensor.length, " of ", size,
          " bytes for tensor ", io::quote(tensor.name));
    tensor.bytes =
        io::as_text(bytes.subspan(static_cast<size_t>(tensor.offset), static_cast<size_t>(rest())));
    tensor.is_external = false;
  }

 private:
  // A file in the model's folder or below it, also where links lead.
  const std::shared_ptr<const io::FileBytes>& file(const TensorProto& tensor) {
    std::shared_ptr<const io::FileBytes>& known = files_[tensor.location];
    if (known) return known;
    const fs::path location = tensor.location;
    const bool climbs = std::any_of(location.begin(), location.end(),
                                    [](const fs::path& part) { return part == ".."; });
    check(!location.empty() && location.is_relative() && !climbs &&
              tensor.location.find('\0') == std::string::npos,
          path_, "external data must lie in the file's folder or below it",
          io::quote(tensor.location), " for tensor ", io::quote(tensor.name));
    std::error_code error;
    const fs::path parent = fs::path(path_).parent_path();
    const fs::path folder = fs::canonical(parent.empty() ? "." : parent, error);
    const fs::path target = error ? fs::path() : fs::canonical(folder / location, error);
    check(!error, path_, "external data must be there", io::quote(tensor.location), " for tensor ",
          io::quote(tensor.name));
    check(std::mismatch(folder.begin(), folder.end(), target.begin(), target.end()).first ==
              folder.end(),
          path_, "external data must lie in the file's folder or below it, links followed",
          io::quote(tensor.location), " for tensor ", io::quote(tensor.name));
    return known = io::FileBytes::map(target.string());
  }

  std::string path_;
  std::map<std::string, std::shared_ptr<const io::FileBytes>> files_;
};

bool is_default_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

int64_t opset_of(const std::string& path, const ModelProto& model) {
  for (const auto& [domain, version] : model.opset_import) {
    if (!is_default_domain(domain)) continue;
    check(version >= kOldestOpset && version <= kNewestOpset, path, "operator set must be 7 to 28",
          version);
    return version;
  }
  fail(path, "model must name its operator set", "none of ai.onnx");
}

// A Constant's value; the other ways to write one have attributes that nobody asks for.
Tensor constant_of(const Node& node) {
  if (node.has("value_float"))
    return tensor_of("", {.data_type = DataType::f32, .bytes = [&] {
                            const auto value = static_cast<float>(node.number("value_float", 0));
                            return std::string(reinterpret_cast<const char*>(&value), 4);
                          }()});
  std::string bytes;
  std::vector<int64_t> dims;
  DataType type = DataType::i64;
  if (node.has("value_int")) {
    io::append(bytes, node.integer("value_int", 0));
  } else if (node.has("value_ints")) {
    const std::vector<int64_t> values = node.integers("value_ints");
    for (const int64_t value : values) io::append(bytes, value);
    dims = {static_cast<int64_t>(values.size())};
  } else if (node.has("value_floats")) {
    const std::vector<float> values = node.numbers("value_floats");
    for (const float value : values) io::append(bytes, value);
    dims = {static_cast<int64_t>(values.size())};
    type = DataType::f32;
  } else {
    return node.tensor("value");
  }
  return tensor_of("", {.data_type = type, .dims = dims, .bytes = bytes});
}

class Builder {
 public:
  Builder(std::string path, ModelProto model)
      : path_(std::move(path)),
        model_(std::move(model)),
        graph_(model_.graph),
        opset_(opset_of(path_, model_)) {}

  Model build() {
    Scope& scope = scopes_[&graph_];
    add_tensors(graph_, scope);
    add_identities(scope);
    choose_parameters();
    for (const ValueInfoProto& input : graph_.input) add_input(input, scope);
    check(!graph_.output.empty(), path_, "graph must have outputs", "none");
    program_->main = block_of(graph_, scope);
    for (const ValueInfoProto& output : graph_.output) {
      check(!output.is_sequence && !output.is_optional, path_, "an output must be a tensor",
            "another for ", io::quote(output.name));
      program_->output_names.push_back(output.name);
    }
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (program_->tensors[i].kind == Program::Kind::parameter) tensors_[i].requires_grad_();
    keep_file();
    Model net(std::move(program_), std::move(tensors_));
    net.eval();
    return net;
  }

 private:
  // The values that a graph's nodes see: its own, and those of the graphs around it.
  struct Scope {
    const Scope* outer = nullptr;
    std::map<std::string, int> numbers = {};

    int find(const std::string& name) const {
      for (const Scope* scope = this; scope; scope = scope->outer) {
        const auto found = scope->numbers.find(name);
        if (found != scope->numbers.end()) return found->second;
      }
      return -1;
    }
  };

  // A new value of that name.
  int define(const std::string& name, Scope& scope) {
    check(!name.empty(), path_, "values must have names", "none");
    const int number = static_cast<int>(owners_.size());
    check(scope.find(name) < 0, path_, "a value must be made once", io::quote(name), " again");
    scope.numbers[name] = number;
    owners_.push_back(&scope);
    return number;
  }

  int value_of(const std::string& name, const std::string& reader, const Scope& scope) const {
    const int number = scope.find(name);
    check(number >= 0, path_, "a value must be made before it is read", io::quote(name), " of ",
          reader);
    return number;
  }

  // Tensors of graphs in nodes have names that others may have too.
  void add_tensor(const std::string& name, const Tensor& tensor, Program::Kind kind, Scope& scope) {
    define(name, scope);
    tensors_.push_back(tensor);
    std::string unique = name;
    for (int i = 1; !taken_.insert(unique).second; ++i) unique = name + "_" + std::to_string(i);
    program_->tensors.push_back({unique, kind});
  }

  void add_tensors(GraphProto& graph, Scope& scope) {
    for (TensorProto& proto : graph.initializer) {
      if (proto.is_external) external_.fetch(proto);
      add_tensor(proto.name, tensor_of(path_, proto), Program::Kind::buffer, scope);
      proto.bytes = {};
    }
    for (const NodeProto& proto : graph.node) {
      if (proto.op_type != "Constant" || !is_default_domain(proto.domain)) continue;
      const Node node(path_, proto, opset_);
      node.check(proto.input.empty() && proto.output.size() == 1, "must have one output alone",
                 proto.input.size(), " inputs, ", proto.output.size(), " outputs");
      const Tensor tensor = constant_of(node);
      node.check_attributes();
      add_tensor(proto.output[0], tensor, Program::Kind::constant, scope);
    }
    for (NodeProto& proto : graph.node) {
      for (AttributeProto& attribute : proto.attribute) {
        for (GraphProto& inner : attribute.g) {
          scopes_[&inner].outer = &scope;
          add_tensors(inner, scopes_[&inner]);
        }
      }
    }
  }

  // PyTorch writes one of the tensors with equal values, as those of fresh layers, and makes the
  // others Identities of it, under the names that its state has. What the network gives is no such
  // one: it follows the tensor that it is.
  void add_identities(Scope& scope) {
    std::set<std::string> given;
    for (const ValueInfoProto& output : graph_.output) given.insert(output.name);
    for (const NodeProto& proto : graph_.node) {
      if (proto.op_type != "Identity" || !is_default_domain(proto.domain)) continue;
      if (proto.input.size() != 1 || proto.output.size() != 1 || !proto.attribute.empty()) continue;
      const int source = scope.find(proto.input[0]);
      if (source < 0 || given.count(proto.output[0])) continue;
      const auto place = static_cast<size_t>(source);
      if (program_->tensors[place].kind == Program::Kind::constant) continue;
      add_tensor(proto.output[0], tensors_[place].clone(), program_->tensors[place].kind, scope);
      made_.insert(&proto);
    }
  }

  // The network's tensor of that name that is of a floating dtype and no constant; -1: there is
  // none.
  int weight_of(const std::string& name, const Scope& scope) const {
    const int number = scope.find(name);
    if (number < 0 || number >= static_cast<int>(tensors_.size())) return -1;
    const auto place = static_cast<size_t>(number);
    const bool is_weight = program_->tensors[place].kind != Program::Kind::constant &&
                           is_floating(tensors_[place].dtype());
    return is_weight ? number : -1;
  }

  // Calls `use` for each input of a node that is such a tensor, and says whether it is a number.
  template <class Use>
  void for_each_use(const Use& use) {
    for_each_graph(graph_, [&](GraphProto& graph) {
      for (NodeProto& proto : graph.node) {
        const auto found = operators().find(proto.op_type);
        if (found == operators().end() || made_.count(&proto)) continue;
        for (size_t i = 0; i < proto.input.size(); ++i) {
          const int tensor = weight_of(proto.input[i], scopes_[&graph]);
          if (tensor >= 0) use(proto, i, tensor, found->second.numbers.count(i) > 0);
        }
      }
    });
  }

  // Parameters are what nodes take as weights, or graphs of nodes give, but for what has elements
  // that aren't finite, as masks have. Where a node takes one as a number too, it gets a buffer of
  // its own. An Identity takes what it is elsewhere.
  void choose_parameters() {
    std::set<int> weights, numbers, passed;
    for_each_use([&](NodeProto& proto, size_t, int tensor, bool is_number) {
      (is_number ? numbers : proto.op_type == "Identity" ? passed : weights).insert(tensor);
    });
    std::set_difference(passed.begin(), passed.end(), numbers.begin(), numbers.end(),
                        std::inserter(weights, weights.end()));
    for_each_graph(graph_, [&](GraphProto& graph) {
      if (&graph == &graph_) return;
      for (const ValueInfoProto& output : graph.output)
        weights.insert(weight_of(output.name, scopes_[&graph]));
    });
    weights.erase(-1);
    for (const int tensor : weights) {
      const auto place = static_cast<size_t>(tensor);
      if (all(isfinite(tensors_[place])).item<bool>())
        program_->tensors[place].kind = Program::Kind::parameter;
    }
    for_each_use([&](NodeProto& proto, size_t i, int tensor, bool is_number) {
      const auto place = static_cast<size_t>(tensor);
      if (!is_number || program_->tensors[place].kind != Program::Kind::parameter) return;
      const std::string user = proto.output.empty() ? proto.name : proto.output[0];
      const std::string wanted = user + "." + std::to_string(i);
      std::string name = wanted;
      for (int k = 1; taken_.count(name) > 0; ++k) name = wanted + "_" + std::to_string(k);
      add_tensor(name, tensors_[place].clone(), Program::Kind::buffer, scopes_[&graph_]);
      proto.input[i] = name;
    });
  }

  void add_input(const ValueInfoProto& input, Scope& scope) {
    const int known = scope.find(input.name);
    if (known >= 0) {  // an initializer, which old files list here too
      check(known < static_cast<int>(graph_.initializer.size()), path_, "a value must be made once",
            io::quote(input.name), " again");
      return;
    }
    const std::optional<DType> dtype = dtype_of_file(input.elem_type);
    check(dtype.has_value() && !input.is_sequence && !input.is_optional, path_,
          "an input must be a tensor of a dtype that Aorta has",
          input.is_sequence   ? "a sequence"
          : input.is_optional ? "an optional one"
                              : to_string(input.elem_type),
          " for ", io::quote(input.name));
    const int ndim = input.has_shape ? static_cast<int>(input.shape.size()) : -1;
    check(ndim <= kMaxDims, path_, "an input must have at most 12 dimensions", ndim, " for ",
          io::quote(input.name));
    program_->inputs.push_back({input.name, define(input.name, scope), *dtype, ndim});
    program_->input_names.push_back(input.name);
  }

  // The steps of a graph whose inputs are known.
  Program::Block block_of(const GraphProto& graph, Scope& scope) {
    Program::Block block;
    std::vector<std::set<int>> reads;
    for (const NodeProto& proto : graph.node) {
      if (proto.op_type == "Constant" || made_.count(&proto)) continue;
      block.steps.push_back(step_of(proto, block.steps.size(), scope, reads.emplace_back()));
    }
    std::set<int>& all = reads_[&scope];
    for (const ValueInfoProto& output : graph.output)
      block.outputs.push_back(value_of(output.name, "an output of the graph", scope));
    all.insert(block.outputs.begin(), block.outputs.end());
    // Each value is let go of by the step that reads it last.
    std::set<int> kept = all;
    for (size_t s = block.steps.size(); s-- > 0;) {
      Program::Step& step = block.steps[s];
      reads[s].insert(step.outputs.begin(), step.outputs.end());
      for (const int value : reads[s]) {
        all.insert(value);
        if (value >= static_cast<int>(tensors_.size()) &&
            owners_[static_cast<size_t>(value)] == &scope && kept.insert(value).second)
          step.last.push_back(value);
      }
    }
    return block;
  }

  Program::Block inner_block(const GraphProto& graph) {
    Scope& scope = scopes_[&graph];
    std::vector<int> inputs;
    for (const ValueInfoProto& input : graph.input) inputs.push_back(define(input.name, scope));
    Program::Block block = block_of(graph, scope);
    block.own = inputs;
    for (const int value : block.outputs)
      if (value >= static_cast<int>(tensors_.size()) &&
          owners_[static_cast<size_t>(value)] == &scope)
        block.own.push_back(value);
    block.inputs = std::move(inputs);
    return block;
  }

  Program::Step step_of(const NodeProto& proto, size_t number, Scope& scope, std::set<int>& reads) {
    std::set<size_t> buffers;
    for (size_t i = 0; i < proto.input.size(); ++i) {
      const int tensor = weight_of(proto.input[i], scope);
      if (tensor >= 0 &&
          program_->tensors[static_cast<size_t>(tensor)].kind == Program::Kind::buffer)
        buffers.insert(i);
    }
    const Node node(path_, proto, opset_, std::move(buffers));
    const auto found = operators().find(proto.op_type);
    if (!is_default_domain(proto.domain))
      node.fail("domain must be ai.onnx", io::quote(proto.domain));
    if (found == operators().end())
      node.fail("operator must be one that Aorta has (docs/onnx.md)", io::quote(proto.op_type));
    const Operator& op = found->second;
    const auto inputs = static_cast<int64_t>(proto.input.size());
    node.check(inputs >= op.min_inputs && inputs <= op.max_inputs,
               "inputs must be as many as the operator takes", inputs);
    node.check(!proto.output.empty() && static_cast<int64_t>(proto.output.size()) <= op.max_outputs,
               "outputs must be as many as Aorta's operator makes", proto.output.size());
    Program::Step step;
    step.name =
        printable(proto.name.empty() ? proto.op_type + "_" + std::to_string(number) : proto.name);
    for (size_t i = 0; i < proto.input.size(); ++i) {
      const bool given = !proto.input[i].empty();
      node.check(given || static_cast<int>(i) >= op.min_inputs, "inputs must be given",
                 "none at place ", i);
      step.inputs.push_back(given ? value_of(proto.input[i], "node " + io::quote(step.name), scope)
                                  : -1);
    }
    reads.insert(step.inputs.begin(), step.inputs.end());
    step.run = op.make(node);
    node.check_attributes();
    for (const AttributeProto& attribute : proto.attribute) {
      for (const GraphProto& graph : attribute.g) {
        step.blocks.push_back(inner_block(graph));
        const std::set<int>& inner = reads_[&scopes_[&graph]];
        reads.insert(inner.begin(), inner.end());
      }
    }
    for (const std::string& name : proto.output)
      step.outputs.push_back(name.empty() ? -1 : define(name, scope));
    return step;
  }

  void keep_file() {
    program_->values = owners_.size();
    std::vector<NodeProto> nodes;
    for (NodeProto& node : graph_.node)
      if (!made_.count(&node)) nodes.push_back(std::move(node));
    graph_.node = std::move(nodes);
    const auto keep = [&](GraphProto& graph, const std::string& name, size_t number) {
      TensorProto& tensor = graph.initializer.emplace_back();
      tensor.name = name;
      tensor.data_type = type_in_file(tensors_[number].dtype());
      program_->stored.push_back(number);
    };
    for_each_graph(graph_, [&](GraphProto& graph) {
      graph.initializer.clear();
      std::map<int, std::string> names;
      for (const auto& [name, number] : scopes_[&graph].numbers) names[number] = name;
      for (const auto& [number, name] : names) {
        if (number >= static_cast<int>(tensors_.size())) break;
        const auto place = static_cast<size_t>(number);
        if (program_->tensors[place].kind != Program::Kind::constant) keep(graph, name, place);
      }
    });
    program_->file = std::move(model_);
  }

  std::string path_;
  ModelProto model_;
  GraphProto& graph_;
  int64_t opset_;
  ExternalData external_{path_};
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  Tensors tensors_;
  std::map<const GraphProto*, Scope> scopes_;
  std::vector<const Scope*> owners_;             // of the values
  std::map<const Scope*, std::set<int>> reads_;  // what the steps of a graph read, and write
  std::set<std::string> taken_;                  // names of tensors
  std::set<const NodeProto*> made_;              // Identities that became tensors
};

}  // namespace

const PluginTable& plugin(const std::string& path) {
  static const Loaded loaded;
  check(loaded.table != nullptr, path, "an ONNX file needs libaorta_onnx.so", loaded.problem);
  return *loaded.table;
}

Model build(const std::string& path, ModelProto model) {
  return Builder(path, std::move(model)).build();
}

Model load(const std::shared_ptr<const io::FileBytes>& file) {
  ModelProto model;
  const std::string problem = plugin(file->name()).parse(file->data(), file->size(), model);
  if (problem == kNoMemory) fail_for_resources(file->name(), "a model must fit in memory", problem);
  const size_t got = problem.find(kGot);
  if (got != std::string::npos)
    fail(file->name(), problem.substr(0, got), problem.substr(got + kGot.size()));
  check(problem.empty(), file->name(), "file must be readable", problem);
  return build(file->name(), std::move(model));
}

Model load(const Text& path) { return load(io::FileBytes::map(path)); }

}  // namespace aorta::onnx
