// What a module's state is, and how it is taken back.
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/history.h>
#include <aorta/autograd/shard.h>
#include <aorta/nn/module.h>

#include <algorithm>

namespace aorta::nn {
namespace {

struct Entry {
  std::string name;
  Tensor tensor;
  bool optional = false;
};

void collect(const std::string& prefix, const Module& module, std::vector<Entry>& entries) {
  const Module::Members members = module.members();
  for (const auto& [name, tensor] : members.parameters) entries.push_back({prefix + name, *tensor});
  for (size_t i = 0; i < members.buffers.size(); ++i) {
    const auto& [name, tensor] = members.buffers[i];
    if (members.kinds[i] == Buffer::Kind::transient) continue;
    entries.push_back({prefix + name, *tensor, members.kinds[i] == Buffer::Kind::optional});
  }
  for (const auto& [name, child] : members.modules) collect(prefix + name + ".", *child, entries);
}

std::vector<Entry> entries_of(const Module& module) {
  std::vector<Entry> entries;
  collect("", module, entries);
  return entries;
}

// `missing "a", "b" and 3 more`; nothing for an empty list.
void append_list(std::string& text, const char* what, const std::vector<std::string>& items) {
  constexpr size_t kShown = 10;
  if (items.empty()) return;
  if (!text.empty()) text += "; ";
  text += what;
  for (size_t i = 0; i < items.size() && i < kShown; ++i) text += (i ? ", " : " ") + items[i];
  if (items.size() > kShown) text += " and " + std::to_string(items.size() - kShown) + " more";
}

std::string quote(const std::string& name) { return "\"" + name + "\""; }

std::vector<std::string> quote(std::vector<std::string> names) {
  for (std::string& name : names) name = quote(name);
  return names;
}

// Whether `name` is the part `part` or lies in it.
bool is_within(const std::string& name, const std::string& part) {
  return name.starts_with(part) && (name.size() == part.size() || name[part.size()] == '.');
}

bool is_left_out(const std::string& name, const LoadOptions& options) {
  return std::any_of(options.leave_out.begin(), options.leave_out.end(),
                     [&](const std::string& part) { return is_within(name, part); });
}

}  // namespace

NamedTensors Module::state_dict() const {
  NamedTensors state;
  for (const Entry& entry : entries_of(*this)) {
    state.emplace_back(entry.name, entry.tensor.detach());
  }
  return state;
}

NamedTensors Module::full_state_dict() const {
  NamedTensors state;
  bool is_first = true;
  for (const Entry& entry : entries_of(*this)) {
    const autograd::Shard* const shard = autograd::shard_of(entry.tensor);
    const Tensor part = entry.tensor.detach();
    if (shard)
      for (const Communicator* const group : shard->groups()) is_first &= group->rank() == 0;
    const Tensor value = shard ? shard->gather(part) : part;
    if (is_first) state.emplace_back(entry.name, value.cpu());
  }
  if (!is_first) state.clear();
  return state;
}

LoadReport Module::load_state_dict(const NamedTensors& state, const LoadOptions& options) {
  std::map<std::string, Tensor> given;
  for (const auto& [name, tensor] : state) {
    check(tensor.defined(), "load_state_dict", "tensors must be defined", quote(name));
    check(given.emplace(name, tensor).second, "load_state_dict", "names must differ", quote(name),
          " twice");
  }
  LoadReport report, wrong;
  std::vector<std::string> shapes, kinds;
  const std::vector<Entry> entries = entries_of(*this);
  for (const std::string& part : options.leave_out) {
    check(std::any_of(entries.begin(), entries.end(),
                      [&](const Entry& entry) { return is_within(entry.name, part); }) ||
              std::any_of(given.begin(), given.end(),
                          [&](const auto& one) { return is_within(one.first, part); }),
          "load_state_dict", "what is left out must be a part of the module or of the state",
          quote(part));
  }
  std::vector<std::pair<Tensor, Tensor>> values;
  for (const Entry& entry : entries) {
    const auto found = given.find(entry.name);
    const bool left_out = is_left_out(entry.name, options);
    if (left_out || found == given.end()) {
      if (entry.optional && !left_out) continue;
      report.missing.push_back(entry.name);
      if (!left_out) wrong.missing.push_back(entry.name);
      continue;
    }
    const autograd::Shard* const shard = autograd::shard_of(entry.tensor);
    const bool is_whole = shard && found->second.shape() == shard->full();
    Tensor value = is_whole ? shard->part_of(found->second) : found->second;
    if (is_whole && options.assign) value = value.clone();  // of its rows alone
    given.erase(found);
    if (value.is_meta() && !entry.tensor.is_meta()) {
      kinds.push_back(quote(entry.name) + " without memory");
    } else if ((value.is_complex() && !entry.tensor.is_complex()) ||
               (options.assign &&
                is_differentiable(entry.tensor.dtype()) != is_differentiable(value.dtype()))) {
      kinds.push_back(quote(entry.name) + " " + to_string(value.dtype()) + " for " +
                      to_string(entry.tensor.dtype()));
    } else if (value.shape() == entry.tensor.shape()) {
      values.emplace_back(entry.tensor, value.detach());
    } else {
      shapes.push_back(quote(entry.name) + " " + to_string(value.shape()) + " for " +
                       to_string(entry.tensor.shape()));
    }
  }
  for (const auto& [name, tensor] : given) {
    report.unexpected.push_back(name);
    if (!is_left_out(name, options)) wrong.unexpected.push_back(name);
  }

  std::string problems;
  if (options.strict) {
    append_list(problems, "missing", quote(wrong.missing));
    append_list(problems, "unexpected", quote(wrong.unexpected));
  }
  append_list(problems, "of another shape", shapes);
  append_list(problems, "of another kind", kinds);
  check(problems.empty(), "load_state_dict", "names and shapes must be the module's", problems);
  const NoGradGuard no_grad;
  for (const auto& [tensor, value] : values) {
    if (options.assign)
      autograd::set_data(tensor, value);
    else
      tensor.detach().copy_(value);
  }
  return report;
}

State Module::state() const {
  State state;
  for (const auto& [name, tensor] : state_dict()) state.set(name, tensor);
  return state;
}

void Module::restore(const State& state) {
  check(state.values().empty(), "load_state_dict", "a module's state has tensors alone",
        state.values().empty() ? "" : quote(state.values().begin()->first));
  NamedTensors tensors;
  tensors.assign(state.tensors().begin(), state.tensors().end());
  load_state_dict(tensors);
}

}  // namespace aorta::nn
