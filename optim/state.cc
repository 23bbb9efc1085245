// The state of an optimizer, both ways.
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/shard.h>
#include <aorta/core/io/bytes.h>
#include <aorta/optim/group.h>

#include <algorithm>
#include <cmath>

namespace aorta::optim {
namespace {

constexpr const char* kLoadState = "load_state_dict";

std::string group_prefix(size_t group) { return "param_groups." + std::to_string(group) + "."; }
std::string parameter_prefix(size_t position) { return "state." + std::to_string(position) + "."; }

const char* dialect_name(Dialect dialect) {
  return dialect == Dialect::paper ? "paper" : "pytorch";
}

State::Value value_of(const Fields::Field& field) {
  return std::visit(
      []<class T>(const T* place) -> State::Value {
        if constexpr (std::is_same_v<T, Dialect>)
          return std::string(dialect_name(*place));
        else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
          return *place;
        else
          return std::vector<double>(place->begin(), place->end());
      },
      field.place);
}

Dialect dialect_of(const std::string& text) {
  check(text == "pytorch" || text == "paper", kLoadState, "a dialect must be pytorch or paper",
        io::quote(text));
  return text == "paper" ? Dialect::paper : Dialect::pytorch;
}

// Reads the field's value from `state`, of the right type.
State::Value read(const State& state, const std::string& name, const Fields::Field& field) {
  return std::visit(
      [&]<class T>(const T*) -> State::Value {
        if constexpr (std::is_same_v<T, Dialect>) {
          const std::string text = state.get<std::string>(name);
          dialect_of(text);
          return text;
        } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
          return state.get<T>(name);
        } else {
          constexpr size_t kCount = std::tuple_size_v<T>;
          const auto numbers = state.get<std::vector<double>>(name);
          check(numbers.size() == kCount, kLoadState,
                kCount == 2 ? "a pair of numbers must be two" : "three numbers must be three",
                io::quote(name), " with ", numbers.size());
          return numbers;
        }
      },
      field.place);
}

void write(const Fields::Field& field, const State::Value& value) {
  std::visit(
      [&]<class T>(T* place) {
        if constexpr (std::is_same_v<T, Dialect>) {
          *place = dialect_of(std::get<std::string>(value));
        } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
          *place = std::get<T>(value);
        } else {
          std::copy_n(std::get<std::vector<double>>(value).begin(), place->size(), place->begin());
        }
      },
      field.place);
}

std::vector<int64_t> positions_of(const GroupData& group) {
  std::vector<int64_t> positions(group.parameters.size());
  for (size_t i = 0; i < positions.size(); ++i)
    positions[i] = static_cast<int64_t>(group.first_position + i);
  return positions;
}

void check_state_tensor(const Tensor& tensor, const Shape& shape, bool shaped,
                        const std::string& name) {
  check(tensor.shape() == shape, kLoadState,
        shaped ? "state must have the shape that the rule gives it"
               : "state must have its parameter's shape",
        io::quote(name), " of ", tensor.shape(), " for ", shape);
  check(is_floating(tensor.dtype()), kLoadState, "state must be of a floating dtype",
        io::quote(name), " of ", tensor.dtype());
}

bool contains(const std::vector<const char*>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What a restored state says of one parameter.
struct Restored {
  int64_t steps = 0;
  bool shaped = false;  // the rule says of which shape the tensors are
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<std::pair<std::string, double>> values;
};

}  // namespace

State Optimizer::state() const {
  check_at_rest("state_dict");
  State result;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const GroupData& group = *groups_[g];
    const std::string prefix = group_prefix(g);
    const Fields group_fields = fields(g);
    for (const Fields::Field& field : group_fields.list())
      result.set(prefix + field.name, value_of(field));
    if (group.initial_lr) result.set(prefix + "initial_lr", State::Value(*group.initial_lr));
    result.set(prefix + "params", State::Value(positions_of(group)));
    for (size_t i = 0; i < group.parameters.size(); ++i) {
      if (group.steps[i] == 0) continue;
      const std::string name = parameter_prefix(group.first_position + i);
      result.set(name + "step", State::Value(group.steps[i]));
      for (const auto& kind : group.kinds) {
        if (kind->saved && kind->has(i)) result.set(name + kind->name, group.state_of(*kind, i));
      }
      for (const auto& [value_name, values] : group.values) {
        if (!std::isnan(values[i])) result.set(name + value_name, State::Value(values[i]));
      }
    }
  }
  return result;
}

State Optimizer::full_state() const {
  const State own = state();
  State result;
  for (const auto& [name, value] : own.values()) result.set(name, value);
  bool is_first = true;
  for (const auto& group : groups_) {
    for (size_t i = 0; i < group->parameters.size(); ++i) {
      const Tensor& parameter = group->parameters[i];
      const autograd::Shard* const shard = autograd::shard_of(parameter);
      if (shard)
        for (const Communicator* const ranks : shard->groups()) is_first &= ranks->rank() == 0;
      const std::string prefix = parameter_prefix(group->first_position + i);
      const State mine = own.with_prefix(prefix);
      for (const auto& [name, tensor] : mine.tensors()) {
        const bool is_part = shard && tensor.shape() == parameter.shape();
        const Tensor value = is_part ? shard->gather(tensor) : tensor;
        if (is_first) result.set(prefix + name, value.cpu());
      }
    }
  }
  return is_first ? result : State();
}

namespace {

// Options of a group, checked by name and type.
std::vector<State::Value> read_options(const State& state, const GroupData& group,
                                       const Fields& fields, std::optional<double>& initial_lr) {
  std::vector<std::string> expected = {"params"};
  const auto was_before = [&](const Fields::Field& field) {
    return field.is_later && !state.contains(field.name);
  };
  for (const Fields::Field& field : fields.list())
    if (!was_before(field)) expected.push_back(field.name);
  if (state.contains("initial_lr")) expected.push_back("initial_lr");
  state.check_names(expected);
  const auto positions = state.get<std::vector<int64_t>>("params");
  check(positions == positions_of(group), kLoadState,
        "a group must have the same parameters, by position", positions.size(), " for ",
        group.parameters.size());
  std::vector<State::Value> values;
  for (const Fields::Field& field : fields.list())
    values.push_back(was_before(field) ? State::Value(false) : read(state, field.name, field));
  if (state.contains("initial_lr")) initial_lr = state.get<double>("initial_lr");
  return values;
}

Restored read_parameter(const State& state, const std::string& prefix, const Tensor& parameter,
                        const StateNames& names) {
  Restored restored;
  if (state.empty()) return restored;
  restored.steps = state.get<int64_t>("step");
  restored.shaped = names.shape_of != nullptr;
  check(restored.steps >= 1, kLoadState, "a parameter's steps must be at least 1", restored.steps);
  const bool any = names.required.empty() && names.optional.empty() && !names.none;
  // The shape of a state; none where the rule keeps no such state for this parameter.
  const auto shape_of = [&](std::string_view name) -> std::optional<Shape> {
    return names.shape_of ? names.shape_of(name, parameter.shape()) : parameter.shape();
  };
  for (const char* name : names.required) {
    if (!shape_of(name)) continue;
    check(state.contains(name), kLoadState, "the state must have every tensor of the rule",
          "no " + io::quote(prefix + name));
  }
  const autograd::Shard* const shard = autograd::shard_of(parameter);
  for (const auto& [name, given] : state.tensors()) {
    const Tensor tensor = shard && given.shape() == shard->full() ? shard->part_of(given) : given;
    const std::optional<Shape> shape = shape_of(name);
    check(any || (shape && (contains(names.required, name) || contains(names.optional, name))),
          kLoadState, "the state must be of this rule", "an unknown " + io::quote(prefix + name));
    check_state_tensor(tensor, *shape, names.shape_of != nullptr, prefix + name);
    restored.tensors.emplace_back(name, tensor);
  }
  for (const auto& [name, value] : state.values()) {
    if (name == "step") continue;
    check(any || contains(names.values, name), kLoadState, "the state must be of this rule",
          "an unknown " + io::quote(prefix + name));
    restored.values.emplace_back(name, state.get<double>(name));
  }
  return restored;
}

void take_over(GroupData& group, const std::vector<Restored>& restored) {
  group.follow_parameters();
  for (const auto& kind : group.kinds) {
    std::fill(kind->present.begin(), kind->present.end(), 0);
  }
  for (auto& [name, values] : group.values) values.assign(values.size(), std::nan(""));
  for (size_t i = 0; i < restored.size(); ++i) {
    group.steps[i] = restored[i].steps;
    for (const auto& [name, tensor] : restored[i].tensors) {
      StateKind* kind = restored[i].shaped ? &group.shaped_kind(name.c_str(), i, tensor.shape())
                                           : group.find(name);
      if (!kind) kind = &group.kind({name.c_str()});
      group.state_of(*kind, i).copy_(tensor.detach());
      kind->present[i] = 1;
    }
    for (const auto& [name, value] : restored[i].values) group.value(name)[i] = value;
  }
  for (const auto& kind : group.kinds) {
    if (!kind->shaped.empty()) continue;
    for (size_t i = 0; i < restored.size(); ++i) {
      if (!kind->has(i)) group.state_of(*kind, i).fill_(kind->initial);
    }
  }
}

}  // namespace

void Optimizer::restore(const State& state) {
  check_at_rest(kLoadState);
  const NoGradGuard no_grad;
  std::vector<std::vector<State::Value>> options;
  std::vector<std::optional<double>> initial(groups_.size());
  std::vector<std::vector<Restored>> restored(groups_.size());
  size_t entries = 0, positions = 0;
  check(state.with_prefix(group_prefix(groups_.size())).empty(), kLoadState,
        "the state must have as many groups as the optimizer", "more than ", groups_.size());
  std::vector<std::vector<State::Value>> before;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const State part = state.with_prefix(group_prefix(g));
    check(!part.empty(), kLoadState, "the state must have as many groups as the optimizer", "only ",
          g, " for ", groups_.size());
    const Fields group_fields = fields(g);
    options.push_back(read_options(part, *groups_[g], group_fields, initial[g]));
    entries += part.names().size();
    before.emplace_back();
    for (const Fields::Field& field : group_fields.list()) before[g].push_back(value_of(field));
  }
  const auto write_options = [&](const std::vector<std::vector<State::Value>>& values) {
    for (size_t g = 0; g < groups_.size(); ++g) {
      const Fields group_fields = fields(g);
      for (size_t f = 0; f < values[g].size(); ++f) write(group_fields.list()[f], values[g][f]);
    }
  };
  write_options(options);
  try {
    for (size_t g = 0; g < groups_.size(); ++g) {
      // A schedule may end below 0, as OneCycleLR's line does: a step would be refused, a state
      // not.
      const double rate = lr(g);
      if (rate < 0 && initial[g]) set_lr(0, g);
      check_options(g);
      if (rate < 0) set_lr(rate, g);
      const GroupData& group = *groups_[g];
      const StateNames names = state_names(g);
      for (size_t i = 0; i < group.parameters.size(); ++i) {
        const std::string prefix = parameter_prefix(positions++);
        const State part = state.with_prefix(prefix);
        restored[g].push_back(read_parameter(part, prefix, group.parameters[i], names));
        entries += part.names().size();
      }
    }
    check(entries == state.names().size(), kLoadState,
          "the state must hold nothing but the optimizer's groups and parameters",
          state.names().size() - entries, " other entries");
  } catch (...) {
    write_options(before);
    throw;
  }
  for (size_t g = 0; g < groups_.size(); ++g) {
    groups_[g]->initial_lr = initial[g];
    take_over(*groups_[g], restored[g]);
  }
}

}  // namespace aorta::optim
