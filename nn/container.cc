#include <aorta/nn/container.h>

#include <algorithm>

namespace aorta::nn {
namespace {

void check_name(const char* op, const std::string& name, const char* of = "module") {
  check(!name.empty() && name.find('.') == std::string::npos, op,
        std::string("the name of a ") + of + " must not be empty and have no point", "\"", name,
        "\"");
}

size_t place(const char* op, int64_t i, size_t size, const char* of = "modules") {
  const int64_t count = static_cast<int64_t>(size);
  check(i >= -count && i < count, op, std::string("the number must be one of its ") + of + "'", i,
        " of ", count);
  return static_cast<size_t>(i < 0 ? i + count : i);
}

// The path of an element: nothing calls the container itself, so its name stands here.
std::string path_of(const Module& container, const std::string& name) {
  return container.name().empty() ? name : container.name() + "." + name;
}

}  // namespace

Sequential::Sequential(List<Named> modules) {
  for (Named& named : modules) push_back(named.first, std::move(named.second));
}

Sequential::Sequential(Module& owner, const char* name, List<Named> modules)
    : Sequential(std::move(modules)) {
  join(owner, name);
}

void Sequential::push_back(AnyModule module) {
  push_back(std::to_string(modules_.size()), std::move(module));
}

void Sequential::push_back(const Text& name, AnyModule module) {
  check_name("Sequential", name);
  for (const Named& other : modules_) {
    check(other.first != name, "Sequential", "names must differ", "\"", name, "\" twice");
  }
  module->set_name(name);
  modules_.emplace_back(name, std::move(module));
}

Module& Sequential::operator[](int64_t i) const {
  return *modules_[place("Sequential", i, modules_.size())].second;
}

AnyModule Sequential::at(int64_t i) const {
  return modules_[place("Sequential", i, modules_.size())].second;
}

Sequential Sequential::slice(int64_t begin, int64_t end) const {
  const auto count = static_cast<int64_t>(modules_.size());
  const auto from_start = [count](int64_t i) {
    return std::clamp(i < 0 ? i + count : i, int64_t{0}, count);
  };
  Sequential part;
  part.train(is_training());
  for (int64_t i = from_start(begin); i < from_start(end); ++i) {
    const auto& [name, module] = modules_[static_cast<size_t>(i)];
    part.push_back(name, module);
  }
  return part;
}

Tensor Sequential::forward(const Tensor& input) const {
  Tensor x = input;
  for (const Named& named : modules_) x = named.second(x);
  return x;
}

void Sequential::append_members(Members& members) const {
  for (const auto& [name, module] : modules_) members.modules.emplace_back(name, &*module);
}

ModuleList& ModuleList::operator=(ModuleList other) {
  modules_ = std::move(other.modules_);
  Module::operator=(std::move(other));
  for (size_t i = 0; i < modules_.size(); ++i)
    modules_[i]->set_name(path_of(*this, std::to_string(i)));
  return *this;
}

void ModuleList::push_back(AnyModule module) {
  module->set_name(path_of(*this, std::to_string(modules_.size())));
  modules_.push_back(std::move(module));
}

void ModuleList::extend(List<AnyModule> modules) {
  for (AnyModule& module : modules) push_back(std::move(module));
}

AnyModule& ModuleList::operator[](int64_t i) {
  return modules_[place("ModuleList", i, modules_.size())];
}

const AnyModule& ModuleList::operator[](int64_t i) const {
  return modules_[place("ModuleList", i, modules_.size())];
}

void ModuleList::append_members(Members& members) const {
  for (size_t i = 0; i < modules_.size(); ++i) {
    members.modules.emplace_back(std::to_string(i), &*modules_[i]);
  }
}

ModuleDict& ModuleDict::operator=(ModuleDict other) {
  modules_ = std::move(other.modules_);
  Module::operator=(std::move(other));
  for (const auto& [name, module] : modules_) module->set_name(path_of(*this, name));
  return *this;
}

void ModuleDict::insert(const Text& name, AnyModule module) {
  check_name("ModuleDict", name);
  module->set_name(path_of(*this, name));
  for (auto& [key, value] : modules_) {
    if (key == name) {
      value = std::move(module);
      return;
    }
  }
  modules_.emplace_back(name, std::move(module));
}

bool ModuleDict::contains(const Text& name) const {
  for (const auto& [key, value] : modules_) {
    if (key == name) return true;
  }
  return false;
}

const AnyModule& ModuleDict::operator[](const Text& name) const {
  for (const auto& [key, value] : modules_) {
    if (key == name) return value;
  }
  fail("ModuleDict", "name must be one of its modules", "\"", name, "\"");
}

AnyModule& ModuleDict::operator[](const Text& name) {
  return const_cast<AnyModule&>(static_cast<const ModuleDict&>(*this)[name]);
}

void ModuleDict::append_members(Members& members) const {
  for (const auto& [name, module] : modules_) members.modules.emplace_back(name, &*module);
}

void ParameterList::append(const Tensor& parameter) {
  check_defined("ParameterList", {{"parameter", parameter}});
  Parameter one;
  one = parameter;
  parameters_.push_back(one);
}

void ParameterList::extend(const List<Tensor>& parameters) {
  for (const Tensor& parameter : parameters) append(parameter);
}

const Parameter& ParameterList::operator[](int64_t i) const {
  return parameters_[place("ParameterList", i, parameters_.size(), "parameters")];
}

Parameter& ParameterList::operator[](int64_t i) {
  return const_cast<Parameter&>(static_cast<const ParameterList&>(*this)[i]);
}

void ParameterList::append_members(Members& members) const {
  for (size_t i = 0; i < parameters_.size(); ++i)
    members.parameters.emplace_back(std::to_string(i), const_cast<Parameter*>(&parameters_[i]));
}

ParameterDict::ParameterDict(const List<Named>& parameters) {
  for (const auto& [name, parameter] : parameters) insert(name, parameter);
}

void ParameterDict::insert(const Text& name, const Tensor& parameter) {
  check_name("ParameterDict", name, "parameter");
  check_defined("ParameterDict", {{"parameter", parameter}});
  if (contains(name)) {
    (*this)[name] = parameter;
    return;
  }
  Parameter one;
  one = parameter;
  parameters_.emplace_back(name, one);
}

bool ParameterDict::contains(const Text& name) const {
  for (const auto& [key, value] : parameters_) {
    if (key == name) return true;
  }
  return false;
}

const Parameter& ParameterDict::operator[](const Text& name) const {
  for (const auto& [key, value] : parameters_) {
    if (key == name) return value;
  }
  fail("ParameterDict", "name must be one of its parameters", "\"", name, "\"");
}

Parameter& ParameterDict::operator[](const Text& name) {
  return const_cast<Parameter&>(static_cast<const ParameterDict&>(*this)[name]);
}

void ParameterDict::append_members(Members& members) const {
  for (const auto& [name, parameter] : parameters_)
    members.parameters.emplace_back(name, const_cast<Parameter*>(&parameter));
}

}  // namespace aorta::nn
