#include <aorta/core/allocator.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/resource_error.h>
#include <aorta/onnx/onnx.h>
#include <aorta/onnx/program.h>

#include <new>

namespace aorta::onnx {
namespace {

// A loop whose end never comes is an error by then.
constexpr int64_t kMostLooped = int64_t{1} << 21;

// The values of one call of a network.
class Frame {
 public:
  Frame(const Program& program, const std::vector<Tensor>& tensors, bool training)
      : training_(training) {
    if (!tensors.empty()) device_ = tensors[0].device();
    values_ = Values(tensors);
    values_.resize(program.values);
  }

  void set_input(int number, const Tensor& input) {
    value(number) = input;
    device_ = input.device();
  }

  Value& value(int number) { return values_[static_cast<size_t>(number)]; }

  Values run(const Program::Block& block) {
    for (const Program::Step& step : block.steps) run(step);
    Values outputs;
    for (const int number : block.outputs) outputs.push_back(value(number));
    return outputs;
  }

 private:
  void run(const Program::Step& step) {
    const ModuleScope scope(step.name);
    Values given;
    for (const int number : step.inputs) given.push_back(number < 0 ? Value() : value(number));
    RunGraph graphs;
    if (!step.blocks.empty())
      graphs = [&](size_t number, Values inputs) {
        return run_inner(step.blocks[number], std::move(inputs));
      };
    Values results = step.run(Inputs(std::move(given), training_, graphs, device_));
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.outputs[i] < 0) continue;
      check(i < results.size(), "Model", "a node must make its outputs", results.size(), " of ",
            step.outputs.size());
      value(step.outputs[i]) = std::move(results[i]);
    }
    for (const int number : step.last) value(number) = Value();
  }

  Values run_inner(const Program::Block& block, Values inputs) {
    looped_ += static_cast<int64_t>(block.steps.size()) + 1;
    check(looped_ <= kMostLooped, "Model", "loops must come to an end within 2097152 nodes",
          "more");
    check(inputs.size() == block.inputs.size(), "Model", "a graph must take what its node gives it",
          block.inputs.size(), " inputs for ", inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) value(block.inputs[i]) = std::move(inputs[i]);
    Values outputs = run(block);
    for (const int number : block.own) value(number) = Value();
    return outputs;
  }

  bool training_;
  Device device_;  // of the inputs, or else of the network's tensors
  Values values_;
  int64_t looped_ = 0;
};

std::vector<Tensor> run(const Program& program, const std::vector<Tensor>& tensors,
                        const List<Tensor>& inputs, bool training) {
  Frame frame(program, tensors, training);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& [name, value, dtype, ndim] = program.inputs[i];
    check(inputs[i].defined(), "Model", "inputs must be defined", "none for \"", name, "\"");
    check(inputs[i].dtype() == dtype, "Model", "an input must have the file's dtype",
          inputs[i].dtype(), " for \"", name, "\" of ", dtype);
    check(ndim < 0 || inputs[i].dim() == ndim, "Model",
          "an input must have as many dimensions as in the file", inputs[i].shape(), " for \"",
          name, "\" of ", ndim);
    frame.set_input(value, inputs[i]);
  }
  std::vector<Tensor> outputs;
  for (const Value& output : frame.run(program.main)) {
    check(output.tensor.defined(), "Model", "an output must be a tensor", "another");
    outputs.push_back(output.tensor);
  }
  return outputs;
}

}  // namespace

Model::Model(std::shared_ptr<const Program> program, std::vector<Tensor> tensors)
    : program_(std::move(program)), tensors_(std::move(tensors)) {}

void Model::append_members(Members& members) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    Tensor* const tensor = const_cast<Tensor*>(&tensors_[i]);
    const auto& [name, kind] = program_->tensors[i];
    if (kind == Program::Kind::parameter) {
      members.parameters.emplace_back(name, tensor);
    } else {
      members.buffers.emplace_back(name, tensor);
      members.kinds.push_back(kind == Program::Kind::buffer ? nn::Buffer::Kind::persistent
                                                            : nn::Buffer::Kind::transient);
    }
  }
}

const std::vector<std::string>& Model::input_names() const { return program_->input_names; }
const std::vector<std::string>& Model::output_names() const { return program_->output_names; }

std::string Model::extra_repr() const {
  std::string text;
  const auto list = [&](const char* what, const std::vector<std::string>& names) {
    text += what;
    for (size_t i = 0; i < names.size(); ++i) text += (i ? ", " : "") + names[i];
  };
  list("inputs=[", input_names());
  list("], outputs=[", output_names());
  return text + "], nodes=" + std::to_string(program_->main.steps.size());
}

Tensor Model::forward(const Tensor& input) const {
  check(program_->main.outputs.size() == 1, "Model",
        "a network of several outputs must be called with a list of inputs",
        program_->main.outputs.size(), " outputs");
  return forward(std::vector<Tensor>{input})[0];
}

std::vector<Tensor> Model::forward(const List<Tensor>& inputs) const {
  const Program& program = *program_;
  check(inputs.size() == program.inputs.size(), "Model", "inputs must be as many as the file has",
        inputs.size(), " of ", program.inputs.size());
  try {
    return run(program, tensors_, inputs, is_training());
  } catch (const Error&) {
    cpu::empty_cache();  // of what a loop without an end has made
    throw;
  } catch (const std::bad_alloc&) {  // of what isn't a tensor, where a loop runs on
    cpu::empty_cache();
    fail_for_resources("Model", "a network's values must fit in memory", "no more memory");
  }
}

}  // namespace aorta::onnx
