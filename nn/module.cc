#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/history.h>
#include <aorta/autograd/shard.h>
#include <aorta/core/module_path.h>
#include <aorta/core/ops/creation.h>
#include <aorta/nn/module.h>
#include <aorta/nn/module_hooks.h>
#include <aorta/nn/parametrization_list.h>

#include <cxxabi.h>
#include <algorithm>
#include <cstdlib>
#include <set>
#include <typeinfo>

namespace aorta::nn {
namespace {

// A leaf that requires a gradient where its dtype can: `value` itself when it is that already.
Tensor trained(const char* op, const Tensor& value) {
  if (!value.defined()) return value;
  check(value.is_leaf(), op, "a parameter must be a leaf; use detach()", value.grad_fn());
  if (value.requires_grad() || !is_differentiable(value.dtype())) return value;
  return value.detach().requires_grad_();
}

std::string dotted(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : prefix + "." + name;
}

using Visit = std::function<void(const std::string& prefix, Module& module)>;

void walk(const std::string& prefix, Module& module, const Visit& visit) {
  visit(prefix, module);
  const Module::NamedModules children = module.named_children();
  for (const auto& [name, child] : children) {
    walk(dotted(prefix, name), *child, visit);
  }
}

// The traversals below change no module where they are called for a const one.
Module& mutable_module(const Module& module) { return const_cast<Module&>(module); }

// Parameters or buffers, each tensor once.
NamedTensors named_tensors(const Module& module, bool recurse,
                           std::vector<std::pair<std::string, Tensor*>> Module::Members::*list) {
  NamedTensors result;
  std::set<const TensorImpl*> seen;
  const auto add = [&](const std::string& prefix, const Module& of) {
    const Module::Members members = of.members();
    for (const auto& [name, tensor] : members.*list) {
      if (seen.insert(&tensor->impl()).second) result.emplace_back(dotted(prefix, name), *tensor);
    }
  };
  if (recurse)
    walk("", mutable_module(module), add);
  else
    add("", module);
  return result;
}

template <class Value>
std::vector<Value> without_names(const std::vector<std::pair<std::string, Value>>& named) {
  std::vector<Value> values;
  for (const auto& [name, value] : named) values.push_back(value);
  return values;
}

// Gives each parameter and buffer, each once, the elements of `data(it)`; it stays the same object.
void replace_data(Module& module, const std::function<Tensor(const Tensor& before)>& data) {
  const NoGradGuard no_grad;
  std::set<const TensorImpl*> seen;
  const auto replace = [&](const Tensor& tensor) {
    if (!seen.insert(&tensor.impl()).second) return;
    const Tensor before = tensor.detach(), after = data(before);
    if (!after.is_same(before)) autograd::set_data(tensor, after);
  };
  walk("", module, [&](const std::string&, Module& part) {
    const Module::Members members = part.members();
    for (const auto& [name, tensor] : members.parameters) replace(*tensor);
    for (const auto& [name, tensor] : members.buffers) replace(*tensor);
  });
}

}  // namespace

Parameter::Parameter(Module& owner, const char* name, const Tensor& value)
    : Tensor(trained("Parameter", value)) {
  owner.add_member(name, Module::Kind::parameter, static_cast<Tensor*>(this));
}

Parameter& Parameter::operator=(const Tensor& value) {
  Tensor::operator=(trained("Parameter", value));
  return *this;
}

Buffer::Buffer(Module& owner, const char* name, const Tensor& value, Kind kind) : Tensor(value) {
  const auto as = kind == Kind::persistent ? Module::Kind::persistent
                  : kind == Kind::optional ? Module::Kind::optional
                                           : Module::Kind::transient;
  owner.add_member(name, as, static_cast<Tensor*>(this));
}

Buffer& Buffer::operator=(const Tensor& value) {
  Tensor::operator=(value);
  return *this;
}

Module::~Module() = default;

Module::Module(const Module& other)
    : members_(other.members_),
      name_(other.name_),
      training_(other.training_),
      moved_away_(other.moved_away_),
      hooks_(other.hooks_ ? std::make_shared<ModuleHooks>(*other.hooks_) : nullptr),
      parametrizations_(other.parametrizations_
                            ? std::make_shared<detail::Parametrizations>(*other.parametrizations_)
                            : nullptr) {}

Module::Module(Module&& other) noexcept
    : members_(std::move(other.members_)),
      name_(std::move(other.name_)),
      training_(other.training_),
      moved_away_(std::exchange(other.moved_away_, true)),
      hooks_(std::move(other.hooks_)),
      parametrizations_(std::move(other.parametrizations_)) {}

Module& Module::operator=(const Module& other) {
  if (this != &other) *this = Module(other);
  return *this;
}

Module& Module::operator=(Module&& other) noexcept {
  members_ = std::move(other.members_);
  training_ = other.training_;
  moved_away_ = std::exchange(other.moved_away_, true);
  hooks_ = std::move(other.hooks_);
  parametrizations_ = std::move(other.parametrizations_);
  return *this;
}

void Module::check_given(std::initializer_list<NamedOperand> inputs) const {
  for (const NamedOperand& input : inputs) {
    if (!input.tensor.defined()) check_defined(type_name().c_str(), {input});
  }
}

void Module::fail_for_moved() const {
  fail(type_name(), "the module must be there", "one that was moved away");
}

void Module::add_member(const char* name, Kind kind, const void* member) {
  const std::string text = name ? name : "";
  check(!text.empty() && text.find('.') == std::string::npos, "Module",
        "the name of a member must not be empty and have no point", "\"", text, "\"");
  for (const Member& other : members_) {
    check(other.name != text, "Module", "names of members must differ", "\"", text, "\" twice");
  }
  members_.push_back(
      {text, kind, static_cast<const char*>(member) - reinterpret_cast<const char*>(this)});
}

void Module::join(Module& owner, const char* name) {
  owner.add_member(name, Kind::module, this);
  name_ = name;
}

void Module::append_members(Members&) const {}

Module::Members Module::all_members() const {
  check_there();
  Members result;
  for (const Member& member : members_) {
    char* const place = const_cast<char*>(reinterpret_cast<const char*>(this)) + member.offset;
    if (member.kind == Kind::module) {
      result.modules.emplace_back(member.name, reinterpret_cast<Module*>(place));
      continue;
    }
    Tensor* const tensor = reinterpret_cast<Tensor*>(place);
    if (member.kind == Kind::parameter) {
      result.parameters.emplace_back(member.name, tensor);
      continue;
    }
    result.buffers.emplace_back(member.name, tensor);
    result.kinds.push_back(member.kind == Kind::persistent ? Buffer::Kind::persistent
                           : member.kind == Kind::optional ? Buffer::Kind::optional
                                                           : Buffer::Kind::transient);
  }
  append_members(result);
  return result;
}

Module::Members Module::members() const {
  Members all = all_members(), result;
  const auto is_there = [&](const std::pair<std::string, Tensor*>& member) {
    return member.second->defined() && !detail::Parametrizations::find(*this, member.first);
  };
  for (auto& parameter : all.parameters)
    if (is_there(parameter)) result.parameters.push_back(std::move(parameter));
  for (size_t i = 0; i < all.buffers.size(); ++i) {
    if (!is_there(all.buffers[i])) continue;
    result.buffers.push_back(std::move(all.buffers[i]));
    result.kinds.push_back(all.kinds[i]);
  }
  result.modules = std::move(all.modules);
  if (parametrizations_)
    for (detail::ParametrizationList& list : parametrizations_->lists)
      result.modules.emplace_back(list.name(), &list);
  return result;
}

void Module::check_members(const void* begin, size_t size) const {
  const char* const first = static_cast<const char*>(begin);
  for (const Member& member : members_) {
    const char* const place = reinterpret_cast<const char*>(this) + member.offset;
    check(place >= first && place < first + size, "Module",
          "what is declared with an owner must be a member of it", "\"", member.name, "\"");
    if (member.kind == Kind::module) {
      reinterpret_cast<const Module*>(place)->check_members(begin, size);
    }
  }
}

Tensor Module::forward(const Tensor&) const {
  fail("forward", "the module must define `Tensor forward(const Tensor&) const`", type_name());
}

NamedTensors Module::named_parameters(bool recurse) const {
  return named_tensors(*this, recurse, &Members::parameters);
}

NamedTensors Module::named_buffers(bool recurse) const {
  return named_tensors(*this, recurse, &Members::buffers);
}

std::vector<Tensor> Module::parameters(bool recurse) const {
  return without_names(named_parameters(recurse));
}

std::vector<Tensor> Module::buffers(bool recurse) const {
  return without_names(named_buffers(recurse));
}

Module::NamedModules Module::named_children() { return members().modules; }

std::vector<Module*> Module::children() { return without_names(named_children()); }

std::vector<Module*> Module::modules() { return without_names(named_modules()); }

Module::NamedModules Module::named_modules() {
  NamedModules result;
  walk("", *this,
       [&](const std::string& prefix, Module& module) { result.emplace_back(prefix, &module); });
  return result;
}

Module& Module::get_submodule(const Text& name) {
  for (const auto& [path, module] : named_modules()) {
    if (path == name) return *module;
  }
  fail("Module", "name must be one of its modules", "\"", name, "\"");
}

void Module::train(bool training) {
  walk("", *this, [&](const std::string&, Module& module) { module.training_ = training; });
}

void Module::zero_grad(bool set_to_none) {
  for (const Tensor& parameter : parameters()) autograd::zero_grad(parameter, set_to_none);
}

void Module::requires_grad_(bool requires_grad) {
  for (const Tensor& parameter : parameters()) {
    if (is_differentiable(parameter.dtype())) parameter.requires_grad_(requires_grad);
  }
}

void Module::apply(const std::function<void(Module& module)>& function) {
  check(bool(function), "apply", "there must be a function", "an empty one");
  const NamedModules children = named_children();
  for (const auto& [name, child] : children) child->apply(function);
  function(*this);
}

void Module::to(const ToOptions& options) {
  check(!options.dtype || is_floating(*options.dtype), "Module", "parameters take a floating dtype",
        options.dtype.value_or(DType::f32));
  replace_data(*this, [&](const Tensor& tensor) {
    ToOptions wanted = options;
    if (!is_floating(tensor.dtype())) wanted.dtype.reset();
    if (tensor.dim() != 4 && tensor.dim() != 5) wanted.memory_format = MemoryFormat::preserve;
    return tensor.to(wanted);
  });
}

void Module::to_empty(Device device) {
  replace_data(*this, [&](const Tensor& tensor) { return empty_like(tensor, {.device = device}); });
}

void Module::share_memory() {
  replace_data(*this, [](const Tensor& tensor) { return tensor.share_memory(); });
}

void Module::unshare() {
  const NoGradGuard no_grad;
  struct Copied {
    Tensor original,
        copy;  // the original stays alive until the end, so that its address is its own
  };
  std::map<const TensorImpl*, Copied> copies;
  for (const Tensor& parameter : parameters()) autograd::check_whole("clone", parameter);
  const auto replace = [&](Tensor& tensor) {
    Copied& copied = copies[&tensor.impl()];
    if (!copied.copy.defined()) {
      copied = {tensor, tensor.detach().clone()};
      if (tensor.requires_grad()) copied.copy.requires_grad_();
      copies[&copied.copy.impl()] = {copied.copy, copied.copy};
    }
    tensor = copied.copy;
  };
  walk("", *this, [&](const std::string&, Module& module) {
    const Members members = module.members();
    for (const auto& [name, tensor] : members.parameters) replace(*tensor);
    for (const auto& [name, tensor] : members.buffers) replace(*tensor);
  });
}

std::string Module::type_name() const {
  int status = 0;
  char* const text = abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : typeid(*this).name();
  std::free(text);
  name = name.substr(0, name.find('<'));
  const size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

int64_t Module::multiply_adds(const std::vector<Tensor>&, const std::vector<Tensor>&) const {
  return 0;
}

std::string to_string(const Module& module) {
  const Module::NamedModules children = module.members().modules;
  const std::string extra = module.extra_repr();
  std::string text = module.type_name() + "(" + extra;
  if (children.empty()) return text + ")";
  text += "\n";
  for (const auto& [name, child] : children) {
    std::string inner = to_string(*child);
    for (size_t at = 0; (at = inner.find('\n', at)) != std::string::npos; at += 3) {
      inner.replace(at, 1, "\n  ");
    }
    text += "  (" + name + "): " + inner + "\n";
  }
  return text + ")";
}

}  // namespace aorta::nn
