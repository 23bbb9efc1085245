#include <aorta/core/ops/reduction.h>
#include <aorta/onnx/onnx.h>
#include <aorta/onnx/program.h>

namespace aorta::onnx {

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
  return text + "], nodes=" + std::to_string(program_->steps.size());
}

Tensor Model::forward(const Tensor& input) const {
  check(program_->outputs.size() == 1, "Model",
        "a network of several outputs must be called with a list of inputs",
        program_->outputs.size(), " outputs");
  return forward(std::vector<Tensor>{input})[0];
}

std::vector<Tensor> Model::forward(const List<Tensor>& inputs) const {
  const Program& program = *program_;
  check(inputs.size() == program.inputs.size(), "Model", "inputs must be as many as the file has",
        inputs.size(), " of ", program.inputs.size());
  std::vector<Tensor> values = tensors_;
  values.resize(program.values);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto& [name, value, dtype, ndim] = program.inputs[i];
    check(inputs[i].defined(), "Model", "inputs must be defined", "none for \"", name, "\"");
    check(inputs[i].dtype() == dtype, "Model", "an input must have the file's dtype",
          inputs[i].dtype(), " for \"", name, "\" of ", dtype);
    check(ndim < 0 || inputs[i].dim() == ndim, "Model",
          "an input must have as many dimensions as in the file", inputs[i].shape(), " for \"",
          name, "\" of ", ndim);
    values[static_cast<size_t>(value)] = inputs[i];
  }
  for (const Program::Step& step : program.steps) {
    const ModuleScope scope(step.name);
    Tensors given;
    for (const int value : step.inputs)
      given.push_back(value < 0 ? Tensor() : values[static_cast<size_t>(value)]);
    Tensors results = step.run(Inputs(std::move(given), is_training()));
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.outputs[i] < 0) continue;
      check(i < results.size(), "Model", "a node must make its outputs", results.size(), " of ",
            step.outputs.size());
      values[static_cast<size_t>(step.outputs[i])] = std::move(results[i]);
    }
    for (const int value : step.last) values[static_cast<size_t>(value)] = Tensor();
  }
  std::vector<Tensor> outputs;
  for (const int value : program.outputs) outputs.push_back(values[static_cast<size_t>(value)]);
  return outputs;
}

}  // namespace aorta::onnx
