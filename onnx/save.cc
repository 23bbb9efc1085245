#include <aorta/autograd/grad_mode.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/io/file.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/resource_error.h>
#include <aorta/onnx/graph_writer.h>
#include <aorta/onnx/operators.h>
#include <aorta/onnx/program.h>

#include <map>
#include <set>

// From a module to a file: it is recorded with other elements and with another batch size, and the
// drafts become one model.
namespace aorta::onnx {
namespace {

using Runner = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

constexpr const char* kSave = "onnx::save";
// Batch sizes of recordings. Halves, squares and what is rounded differ from multiples at these.
constexpr int64_t kFew = 2, kMany = 5;

/// While it lives, a module and those inside are in evaluation; then they are what they were.
class EvaluationScope {
 public:
  explicit EvaluationScope(const nn::Module& net) : net_(const_cast<nn::Module&>(net)) {
    for (const auto& [name, module] : net_.named_modules())
      modes_.emplace_back(module, module->is_training());
    net_.eval();
  }
  // train() reaches the modules inside, which come later.
  ~EvaluationScope() {
    for (const auto& [module, training] : modes_) module->train(training);
  }
  EvaluationScope(const EvaluationScope&) = delete;
  EvaluationScope& operator=(const EvaluationScope&) = delete;

 private:
  nn::Module& net_;
  std::vector<std::pair<nn::Module*, bool>> modes_;
};

ModuleTensors tensors_of(const nn::Module& net) {
  ModuleTensors tensors;
  std::set<std::string> state;
  for (const auto& [name, tensor] : net.state_dict()) state.insert(name);
  using Kind = ModuleTensors::Kind;
  const auto add = [&](const std::string& name, const Tensor& tensor, Kind kind) {
    tensors.by_place.emplace(Recording::place_of(tensor), ModuleTensors::Entry{name, kind});
  };
  for (const auto& [name, tensor] : net.named_parameters()) add(name, tensor, Kind::parameter);
  for (const auto& [name, tensor] : net.named_buffers())
    add(name, tensor, state.count(name) ? Kind::state : Kind::transient);
  return tensors;
}

bool same_elements(const Tensor& a, const Tensor& b) { return eq(a, b).all().item<bool>(); }

// The example's elements in other places: those that a network may read stay what they are.
// Samples change places where nothing else does, as of one integer each.
Tensor changed(const Tensor& example, int64_t dim) {
  Dims others;
  for (int d = 0; d < example.dim(); ++d)
    if (d != dim) others.push_back(d);
  const Tensor moved = flip(example, others);
  if (!is_floating(example.dtype()))
    return dim >= 0 && same_elements(moved, example) ? flip(moved, {dim}) : moved;
  const Tensor smaller = mul(moved, 0.75);
  return same_elements(smaller, example) ? add(smaller, 0.25) : smaller;  // of zeros, say
}

// `count` samples of the example, again from the first where it has fewer.
Tensor with_batch(const Tensor& example, int64_t dim, int64_t count) {
  const Tensor places = arange(count, {.device = example.device()}) % example.size(dim);
  return index_select(example, dim, places).contiguous();
}

Names names_for(const char* what, const std::vector<std::string>& given, size_t count) {
  if (!given.empty()) {
    check(given.size() == count, kSave, std::string("there must be a name for each ") + what,
          given.size(), " for ", count);
    return given;
  }
  if (count == 1) return {what};
  Names names;
  for (size_t i = 0; i < count; ++i) names.push_back(std::string(what) + "_" + std::to_string(i));
  return names;
}

Draft record(const ModuleTensors& tensors, const std::vector<Tensor>& inputs, const Runner& run,
             const SaveOptions& options) {
  Recording recording;
  for (const Tensor& input : inputs) recording.add_input(input);
  std::vector<Tensor> outputs;
  {
    const TracerScope scope(recording);
    outputs = run(inputs);
  }
  check(!outputs.empty(), kSave, "a network must have outputs", "none");
  check_defined(kSave, "outputs", outputs);
  std::vector<int> values;
  for (const Tensor& output : outputs) values.push_back(recording.value_of(output));
  GraphWriter writer(recording, tensors);
  return writer.write(values, names_for("input", options.input_names, inputs.size()),
                      names_for("output", options.output_names, outputs.size()));
}

// The dimension of each input that has the batch size; -1: none.
std::vector<int64_t> batch_dims(const List<Tensor>& examples, const SaveOptions& options) {
  std::vector<int64_t> dims = options.batch_dims;
  if (!options.dynamic_batch) {
    dims.assign(examples.size(), -1);
  } else if (dims.empty()) {
    check(examples[0].dim() > 0, kSave, "the first input must have a dimension for the batch",
          examples[0].shape());
    for (const Tensor& example : examples)
      dims.push_back(example.dim() > 0 && example.size(0) == examples[0].size(0) ? 0 : -1);
  }
  check(dims.size() == examples.size(), kSave, "batch_dims must have a number for each input",
        dims.size(), " for ", examples.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    check(examples[i].numel() > 0, kSave, "an example must have elements", examples[i].shape());
    check(dims[i] >= -1 && dims[i] < examples[i].dim(), kSave,
          "batch_dims must name dimensions of the examples, or -1", dims[i], " for ",
          examples[i].shape());
  }
  return dims;
}

ModelProto model_of(const nn::Module& net, const List<Tensor>& examples, const Runner& run,
                    const SaveOptions& options) {
  check(!examples.empty(), kSave, "there must be an example of the inputs", "none");
  check_defined(kSave, "examples", examples);
  const std::vector<int64_t> dims = batch_dims(examples, options);
  const NoGradGuard no_grad;
  const EvaluationScope evaluation(net);
  const ModuleTensors tensors = tensors_of(net);
  std::vector<Tensor> few, many, other;
  for (size_t i = 0; i < examples.size(); ++i) {
    const Tensor own = examples[i].detach();
    few.push_back(dims[i] >= 0 ? with_batch(own, dims[i], kFew) : own.clone());
    many.push_back(dims[i] >= 0 ? with_batch(own, dims[i], kMany) : own.clone());
    other.push_back(changed(few.back(), dims[i]));
  }
  const Draft first = record(tensors, few, run, options);
  check_same(first, record(tensors, other, run, options));
  if (!options.dynamic_batch) return merged(first, first, dims);
  return merged(first, record(tensors, many, run, options), dims);
}

void write(const std::string& file, const ModelProto& model) {
  std::string bytes;
  const std::string problem = plugin(file).serialize(model, bytes);
  if (problem == kNoMemory) fail_for_resources(file, "a model must fit in memory", problem);
  const size_t got = problem.find(", got ");
  if (got != std::string::npos) fail(file, problem.substr(0, got), problem.substr(got + 6));
  check(problem.empty(), file, "model must be writable", problem);
  io::AtomicFile out(file);
  out.write(bytes);
  out.commit();
}

}  // namespace

void save(const nn::Module& net, const List<Tensor>& examples, const Runner& run, const Text& path,
          const SaveOptions& options) {
  write(path, model_of(net, examples, run, options));
}

void save(const nn::Module& net, const Tensor& example, const Text& path,
          const SaveOptions& options) {
  save(
      net, std::vector<Tensor>{example},
      [&](const std::vector<Tensor>& inputs) { return std::vector<Tensor>{net(inputs[0])}; }, path,
      options);
}

void save(const Model& net, const Text& path) {
  ModelProto model = net.program().file;
  const nn::Module::Members members = net.members();
  std::map<std::string, const Tensor*> tensors;
  for (const auto* named : {&members.parameters, &members.buffers})
    for (const auto& [name, tensor] : *named) tensors[name] = tensor;
  auto stored = net.program().stored.begin();
  for_each_graph(model.graph, [&](GraphProto& graph) {
    for (TensorProto& proto : graph.initializer) {
      const Tensor& tensor = *tensors.at(net.program().tensors[*stored++].name);
      check(type_in_file(tensor.dtype()) == proto.data_type, kSave,
            "a network's tensors must have the dtypes of the file that it was loaded from",
            tensor.dtype(), " for ", io::quote(proto.name), " of ", to_string(proto.data_type));
      proto = proto_of(proto.name, tensor);
    }
  });
  write(path, model);
}

}  // namespace aorta::onnx
