#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/history.h>
#include <aorta/autograd/shard.h>
#include <aorta/nn/parametrization_list.h>

#include <algorithm>

namespace aorta::nn {
namespace {

struct NamedMember {
  Tensor* tensor = nullptr;
  bool is_parameter = false;
};

// The member of that name, whether it is computed or not.
NamedMember member_of(const Module& module, const std::string& name) {
  const Module::Members members = detail::Parametrizations::all_members(module);
  for (const auto* list : {&members.parameters, &members.buffers}) {
    for (const auto& [member, tensor] : *list)
      if (member == name) return {tensor, list == &members.parameters};
  }
  return {};
}

detail::ParametrizationList& list_of(const char* op, const Module& module, const Text& name) {
  detail::ParametrizationList* const list = detail::Parametrizations::find(module, name);
  check(list != nullptr, op, "the member must be parametrized", module.type_name(), " and \"", name,
        "\"");
  return *list;
}

// A leaf of the same kind as `like` is.
Tensor leaf(const Tensor& value, const Tensor& like) {
  if (value.is_same(like)) return value;
  const Tensor own = value.detach().clone();
  return like.requires_grad() ? own.requires_grad_() : own;
}

void check_value(const Tensor& value, const Tensor& member) {
  const auto told = [](const Tensor& x) {
    return to_string(x.dtype()) + " " + to_string(x.shape()) + " on " + to_string(x.device());
  };
  check(value.defined() && value.dtype() == member.dtype() && value.shape() == member.shape() &&
            value.device() == member.device(),
        "register_parametrization", "it must give the member's dtype, shape and device",
        value.defined() ? told(value) : "an undefined tensor", " for ", told(member));
}

}  // namespace

Tensor Parametrization::compute(const std::vector<Tensor>& originals) const {
  check(originals.size() == 1, "Parametrization", "one of several originals must define compute",
        type_name(), " and ", originals.size());
  return (*this)(originals[0]);
}

void register_parametrization(Module& module, const Text& name, AnyModule parametrization) {
  const char* const op = "register_parametrization";
  const NoGradGuard no_grad;
  parametrization->train(module.is_training());
  const auto* const own = dynamic_cast<const Parametrization*>(&*parametrization);
  if (detail::ParametrizationList* const list = detail::Parametrizations::find(module, name)) {
    const Tensor before = list->value();
    if (own) {
      check(own->right_inverse(before).size() == 1, op,
            "only a member's first parametrization has several originals", own->type_name());
    }
    list->push_back(std::move(parametrization));
    try {
      check_value(list->value(), before);
    } catch (...) {
      list->steps.pop_back();
      throw;
    }
    return;
  }
  const Tensor member = detail::value_of(op, module, name);
  autograd::check_whole(op, member);
  std::vector<Tensor> originals;
  if (!own)
    originals = {member};
  else
    for (const Tensor& original : own->right_inverse(member))
      originals.push_back(leaf(original, member));
  const NamedMember found = member_of(module, name);
  detail::ParametrizationList list(name, found.is_parameter, std::move(originals));
  list.push_back(std::move(parametrization));
  check_value(list.value(), member);
  // An optimizer that has the member goes on with it.
  Tensor& original = list.originals[0];
  if (list.originals.size() == 1 && !original.is_same(member) &&
      original.shape() == member.shape()) {
    autograd::set_data(member, original.detach());
    original = member;
  }
  detail::Parametrizations::in(module).lists.push_back(std::move(list));
  *found.tensor = Tensor();
}

bool is_parametrized(const Module& module, const Text& name) {
  const auto& all = detail::Parametrizations::of(module);
  return name.empty() ? all && !all->lists.empty()
                      : detail::Parametrizations::find(module, name) != nullptr;
}

Tensor parametrized(const Module& module, const Text& name) {
  return list_of("parametrized", module, name).value();
}

void remove_parametrizations(Module& module, const Text& name, bool leave_parametrized) {
  const char* const op = "remove_parametrizations";
  detail::ParametrizationList& list = list_of(op, module, name);
  const bool is_one = list.originals.size() == 1;
  check(leave_parametrized || is_one, op, "there must be one original to go back to",
        list.originals.size());
  const NoGradGuard no_grad;
  Tensor stays = list.originals[0];
  if (leave_parametrized) {
    const Tensor value = list.value();
    if (is_one)
      autograd::set_data(stays, value);
    else
      stays = leaf(value, stays);
  }
  *member_of(module, name).tensor = stays;
  detail::Parametrizations::in(module).lists.remove_if(
      [&](const detail::ParametrizationList& one) { return &one == &list; });
}

namespace detail {

Tensor value_of(const char* op, const Module& module, const Text& name) {
  if (const ParametrizationList* const list = Parametrizations::find(module, name))
    return list->value();
  const NamedMember found = member_of(module, name);
  check(found.tensor && found.tensor->defined(), op,
        "name must be one of the module's parameters or buffers", module.type_name(), " and \"",
        name, "\"");
  return *found.tensor;
}

ParametrizationList::ParametrizationList(const std::string& member, bool is_parameter,
                                         std::vector<Tensor> originals)
    : member(member), is_parameter(is_parameter), originals(std::move(originals)) {
  set_name("parametrizations." + member);
}

void ParametrizationList::push_back(AnyModule step) {
  step->set_name(name() + "." + std::to_string(steps.size()));
  steps.push_back(std::move(step));
}

Tensor ParametrizationList::value() const {
  const auto* const several =
      originals.size() == 1 ? nullptr : &dynamic_cast<const Parametrization&>(*steps[0]);
  Tensor value = several ? several->compute(originals) : (*steps[0])(originals[0]);
  for (size_t i = 1; i < steps.size(); ++i) value = (*steps[i])(value);
  return value;
}

void ParametrizationList::append_members(Members& members) const {
  for (size_t i = 0; i < originals.size(); ++i) {
    const std::string number = originals.size() == 1 ? "" : std::to_string(i);
    Tensor* const tensor = const_cast<Tensor*>(&originals[i]);
    (is_parameter ? members.parameters : members.buffers).emplace_back("original" + number, tensor);
    if (!is_parameter) members.kinds.push_back(Buffer::Kind::persistent);
  }
  for (size_t i = 0; i < steps.size(); ++i)
    members.modules.emplace_back(std::to_string(i), &*steps[i]);
}

Parametrizations& Parametrizations::in(Module& module) {
  if (!module.parametrizations_) module.parametrizations_ = std::make_shared<Parametrizations>();
  return *module.parametrizations_;
}

ParametrizationList* Parametrizations::find(const Module& module, const std::string& name) {
  if (!module.parametrizations_) return nullptr;
  for (ParametrizationList& list : module.parametrizations_->lists)
    if (list.member == name) return &list;
  return nullptr;
}

Module::Members Parametrizations::all_members(const Module& module) { return module.all_members(); }

void Parametrizations::compute(const Module& module) {
  std::vector<Tensor> values;
  for (ParametrizationList& list : lists) {
    list.place = member_of(module, list.member).tensor;
    values.push_back(list.value());
  }
  auto value = values.begin();
  for (ParametrizationList& list : lists) *list.place = *value++;
}

void Parametrizations::enter(const Module& module) {
  std::unique_lock lock(mutex_);
  if (depth_ == 0) {
    auto scope = scopes.begin();
    try {
      for (; scope != scopes.end(); ++scope) (*scope)->enter(module);
      compute(module);
    } catch (...) {
      while (scope != scopes.begin()) (*--scope)->leave();
      throw;
    }
  }
  ++depth_;
  lock.release();
}

void Parametrizations::leave() {
  if (--depth_ == 0) {
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) (*scope)->leave();
    for (ParametrizationList& list : lists)  // a hook may have added one
      if (Tensor* const place = std::exchange(list.place, nullptr)) *place = Tensor();
  }
  mutex_.unlock();
}

}  // namespace detail
}  // namespace aorta::nn
