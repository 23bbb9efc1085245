#include <aorta/autograd/grad_mode.h>
#include <aorta/nn/summary.h>

#include <fmt/format.h>
#include <algorithm>
#include <map>

namespace aorta::nn {
namespace {

// Puts every module's training flag back as it was.
class EvalMode {
 public:
  explicit EvalMode(Module& module) : modules_(module.named_modules()) {
    for (const auto& [name, inner] : modules_) were_training_.push_back(inner->is_training());
    module.eval();
  }
  ~EvalMode() {
    // A module's own flag is set after those inside: train() reaches them too.
    for (size_t i = 0; i < modules_.size(); ++i) modules_[i].second->train(were_training_[i]);
  }

 private:
  Module::NamedModules modules_;
  std::vector<bool> were_training_;
};

int depth_of(const std::string& name) {
  return name.empty() ? 0 : 1 + static_cast<int>(std::count(name.begin(), name.end(), '.'));
}

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<size_t>(at), 1, ',');
  }
  return text;
}

std::string shapes_text(const std::vector<Shape>& shapes) {
  std::string text;
  for (const Shape& shape : shapes) text += (text.empty() ? "" : " ") + to_string(shape);
  return text;
}

}  // namespace

std::vector<ModuleSummary> summarize(Module& module, const Tensor& input) {
  const Module::NamedModules modules = module.named_modules();
  std::vector<ModuleSummary> rows(modules.size());
  std::vector<HookHandle> hooks;
  for (size_t i = 0; i < modules.size(); ++i) {
    const auto& [name, inner] = modules[i];
    rows[i].name = name;
    rows[i].type = inner->type_name();
    rows[i].depth = depth_of(name);
    for (const Tensor& parameter : inner->parameters()) rows[i].parameters += parameter.numel();
    hooks.push_back(inner->register_forward_hook([&row = rows[i]](const Module& called,
                                                                  const std::vector<Tensor>& inputs,
                                                                  std::vector<Tensor>& outputs) {
      row.multiply_adds += called.multiply_adds(inputs, outputs);
      if (!row.output_shapes.empty()) return;
      for (const Tensor& output : outputs) {
        if (output.defined()) row.output_shapes.push_back(output.shape());
      }
    }));
  }
  struct RemoveHooks {
    std::vector<HookHandle>& hooks;
    ~RemoveHooks() {
      for (HookHandle& hook : hooks) hook.remove();
    }
  } const remove_hooks{hooks};
  if (input.defined()) {
    const NoGradGuard no_grad;
    const EvalMode eval(module);
    module(input);
  }
  // Parents come before what is inside them.
  for (size_t i = rows.size(); i-- > 1;) {
    const size_t point = rows[i].name.rfind('.');
    const std::string parent = point == std::string::npos ? "" : rows[i].name.substr(0, point);
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const ModuleSummary& other) { return other.name == parent; });
    row->multiply_adds += rows[i].multiply_adds;
  }
  return rows;
}

std::string Module::summary(const Tensor& input) {
  const std::vector<ModuleSummary> rows = summarize(*this, input);
  struct Line {
    std::string module, shape, parameters, products;
  };
  std::vector<Line> lines{{"module", "output", "parameters", "multiply-adds"}};
  for (const ModuleSummary& row : rows) {
    const std::string last = row.name.substr(row.name.rfind('.') + 1);  // npos + 1 is 0
    lines.push_back({std::string(static_cast<size_t>(2 * row.depth), ' ') +
                         (row.name.empty() ? row.type : last + ": " + row.type),
                     shapes_text(row.output_shapes), with_commas(row.parameters),
                     row.multiply_adds > 0 ? with_commas(row.multiply_adds) : ""});
  }
  size_t module_width = 0, shape_width = 0;
  for (const Line& line : lines) {
    module_width = std::max(module_width, line.module.size());
    shape_width = std::max(shape_width, line.shape.size());
  }
  std::string text;
  for (const Line& line : lines) {
    std::string row = fmt::format("{:<{}}  {:<{}}  {:>13}  {:>15}", line.module, module_width,
                                  line.shape, shape_width, line.parameters, line.products);
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  int64_t trained = 0;
  for (const Tensor& parameter : parameters()) {
    if (parameter.requires_grad()) trained += parameter.numel();
  }
  text += fmt::format("{} parameters, {} of them trained", with_commas(rows[0].parameters),
                      with_commas(trained));
  if (input.defined()) {
    text += fmt::format("; {} multiply-adds for input {}", with_commas(rows[0].multiply_adds),
                        to_string(input.shape()));
  }
  return text + "\n";
}

}  // namespace aorta::nn
