#include <aorta/autograd/engine.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/record.h>
#include <aorta/autograd/shard.h>
#include <aorta/core/module_path.h>
#include <aorta/nn/call.h>
#include <aorta/nn/module_hooks.h>
#include <aorta/nn/parametrization_list.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

namespace aorta::nn {
namespace {

using Tensors = std::vector<Tensor>;

void check_count(const char* what, size_t before, size_t now) {
  if (now == before) return;
  fail("module",
       "a hook must leave " + std::to_string(before) + " " + what + (before == 1 ? "" : "s"), now);
}

// Runs a hook that may replace tensors: they stay as many, and what was there doesn't vanish, for
// the one who called the module counts on both.
template <class Hook>
void run_replacing(const char* what, Tensors& tensors, const Hook& hook) {
  const Tensors before = tensors;
  hook();
  check_count(what, before.size(), tensors.size());
  for (size_t i = 0; i < before.size(); ++i) {
    check(tensors[i].defined() || !before[i].defined(), "module",
          "what a hook replaces must be defined", what, " ", i, " undefined");
  }
}

// What the two ends of a module tell each other in a backward pass.
struct Boundary {
  std::vector<ModuleHooks::Entry> entries;
  Tensors grad_outputs;  // of the pass that runs
  size_t inputs = 0;
  bool has_input_node = false;

  void run(Tensors& grad_inputs) const {
    for (const ModuleHooks::Entry& entry : entries) {
      if (!entry.backward) continue;
      entry.backward(grad_inputs, grad_outputs);
      check_count("gradient", inputs, grad_inputs.size());
    }
  }
};

bool has_backward(const std::vector<ModuleHooks::Entry>& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const ModuleHooks::Entry& entry) { return bool(entry.backward); });
}

bool any_requires_grad(const Tensors& tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.defined() && tensor.requires_grad()) return true;
  }
  return false;
}

// Replaces the tensors by aliases whose history is one node with `closure` as gradient.
template <class Closure>
void put_node(const char* name, Tensors& tensors, Closure closure) {
  std::vector<const Tensor*> inputs;
  for (const Tensor& tensor : tensors) inputs.push_back(&tensor);
  const auto node = autograd::make_node(name, inputs, tensors.size(), std::move(closure));
  for (uint32_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined() || !tensors[i].requires_grad()) continue;
    const Tensor alias = tensors[i].detach();
    autograd::set_history(alias, node, i);
    // A write in place is refused: it would reach the tensor's memory and not its history.
    TensorImpl& impl = alias.impl();
    impl.base = tensors[i].impl().base ? tensors[i].impl().base : tensors[i].impl_ref();
    impl.view_without_grad = true;
    tensors[i] = alias;
  }
}

void put_input_node(Tensors& inputs, const std::shared_ptr<Boundary>& boundary) {
  boundary->inputs = inputs.size();
  boundary->has_input_node = any_requires_grad(inputs);
  if (!boundary->has_input_node) return;
  put_node("module_inputs", inputs, [boundary](autograd::Gradients& g) {
    Tensors gradients(boundary->inputs);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (g.wanted(i) && g.has_output(i)) gradients[i] = g.output(i);
    }
    // Where no output is part of the pass, as for a gradient of an input that a hook kept.
    if (!boundary->grad_outputs.empty()) boundary->run(gradients);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (g.wanted(i)) g.input(i) = gradients[i];
    }
  });
}

void put_output_node(Tensors& outputs, const std::shared_ptr<Boundary>& boundary) {
  if (!any_requires_grad(outputs)) return;
  const size_t count = outputs.size();
  put_node("module_outputs", outputs, [boundary, count](autograd::Gradients& g) {
    // Nothing of the pass outlives it: its gradients may hold the graph that holds this.
    if (boundary->grad_outputs.empty()) {
      autograd::after_backward(
          [boundary](const std::exception_ptr&) { boundary->grad_outputs.clear(); });
    }
    boundary->grad_outputs.assign(count, Tensor());
    for (size_t i = 0; i < count; ++i) {
      if (!g.has_output(i)) continue;
      boundary->grad_outputs[i] = g.output(i);
      if (g.wanted(i)) g.input(i) = g.output(i);
    }
    if (boundary->has_input_node) return;
    Tensors none(boundary->inputs);
    boundary->run(none);
  });
}

}  // namespace

namespace {

thread_local constinit const Module* running_module = nullptr;

// A copy that was made before the module was sharded has its parts, and nothing gathers them.
void check_whole(const Module& module) {
  for (const auto& [name, tensor] : module.members().parameters) {
    const autograd::Shard* const shard = autograd::shard_of(*tensor);
    if (!shard) continue;
    check(shard->is_computed_with(), "fully_shard",
          "a module must run inside of the one that was sharded, or be that or a later copy",
          module.type_name(), " with a part of ", name);
    const auto& computed = detail::Parametrizations::of(module);
    check(computed && std::any_of(computed->scopes.begin(), computed->scopes.end(),
                                  [](const auto& one) { return one->computes_with_parts(); }),
          "parallelize_module", "a module must be the one that was divided, or a later copy",
          module.type_name(), " with a part of ", name);
  }
}

// A module without a name is a program's whole network, or one that its owner doesn't know.
void say_once_if_trained(const Module& module, const Module& caller) {
  static std::atomic_flag said;
  if (said.test() || !grad_enabled()) return;
  const std::vector<Tensor> parameters = module.parameters();
  if (!any_requires_grad(parameters) || said.test_and_set()) return;
  const std::string type = module.type_name();
  std::fprintf(stderr,
               "aorta: %s: runs a %s that is no part of it, so that no optimizer, to() or "
               "state_dict() sees its parameters; declare it with owner and name, %s "
               "layer{*this, \"layer\", ...}, or in a ModuleList\n",
               caller.type_name().c_str(), type.c_str(), type.c_str());
}

}  // namespace

detail::RunningModule::RunningModule(const Module& module) : outer_(running_module) {
  if (!module.name().empty())
    scope_.emplace(module.name());
  else if (outer_) [[unlikely]]
    say_once_if_trained(module, *outer_);
  if (const auto& computed = Parametrizations::of(module)) [[unlikely]] {
    computed->enter(module);
    computed_ = computed;
    replay_.emplace([computed, &module]() -> std::shared_ptr<void> {
      computed->enter(module);
      return {nullptr, [computed](void*) { computed->leave(); }};
    });
  }
  if (autograd::are_shards()) [[unlikely]] {
    try {
      check_whole(module);
    } catch (...) {
      if (computed_) computed_->leave();
      throw;
    }
  }
  running_module = &module;
}
detail::RunningModule::~RunningModule() {
  running_module = outer_;
  replay_.reset();
  if (computed_) [[unlikely]]
    computed_->leave();
}

ModuleHooks& Module::hooks() {
  if (!hooks_) hooks_ = std::make_shared<ModuleHooks>();
  return *hooks_;
}

HookHandle Module::register_forward_pre_hook(
    std::function<void(const Module& module, std::vector<Tensor>& inputs)> hook) {
  check(bool(hook), "register_forward_pre_hook", "the hook must be a function", "an empty one");
  const int64_t id = hooks().add({.before = std::move(hook)});
  return {hooks_, id};
}

HookHandle Module::register_forward_hook(
    std::function<void(const Module& module, const std::vector<Tensor>& inputs,
                       std::vector<Tensor>& outputs)>
        hook) {
  check(bool(hook), "register_forward_hook", "the hook must be a function", "an empty one");
  const int64_t id = hooks().add({.after = std::move(hook)});
  return {hooks_, id};
}

HookHandle Module::register_full_backward_hook(
    std::function<void(std::vector<Tensor>& grad_inputs, const std::vector<Tensor>& grad_outputs)>
        hook) {
  check(bool(hook), "register_full_backward_hook", "the hook must be a function", "an empty one");
  const int64_t id = hooks().add({.backward = std::move(hook)});
  return {hooks_, id};
}

Tensor Module::operator()(const Tensor& input) const {
  check_there();
  if (hooks_ && !hooks_->entries.empty()) [[unlikely]] {
    return call({input}, [this](const Tensors& inputs) { return Tensors{forward(inputs[0])}; })[0];
  }
  const detail::RunningModule running(*this);
  return forward(input);
}

Tensors Module::call(Tensors inputs, const std::function<Tensors(const Tensors&)>& forward) const {
  check_there();
  const detail::RunningModule running(*this);
  if (!hooks_ || hooks_->entries.empty()) return forward(inputs);
  const std::vector<ModuleHooks::Entry> entries = hooks_->entries;  // a hook may remove itself
  for (const ModuleHooks::Entry& entry : entries) {
    if (entry.before) run_replacing("input", inputs, [&] { entry.before(*this, inputs); });
  }
  std::shared_ptr<Boundary> boundary;
  if (has_backward(entries) && grad_enabled()) {
    boundary = std::make_shared<Boundary>();
    boundary->entries = entries;
    put_input_node(inputs, boundary);
  }
  Tensors outputs = forward(inputs);
  for (const ModuleHooks::Entry& entry : entries) {
    if (entry.after) run_replacing("output", outputs, [&] { entry.after(*this, inputs, outputs); });
  }
  if (boundary) put_output_node(outputs, boundary);
  return outputs;
}

}  // namespace aorta::nn
