#include <aorta/core/check.h>
#include <aorta/core/io/safetensors.h>
#include <aorta/core/io/state.h>

#include <algorithm>

namespace aorta {
namespace {

const char* type_name(const State::Value& value) {
  constexpr const char* kNames[] = {"a bool",         "an integer",         "a double",
                                    "text",           "a list of integers", "a list of doubles",
                                    "a list of texts"};
  return kNames[value.index()];
}

// `"a", "b" and 3 more`.
std::string list_text(const std::vector<std::string>& names) {
  constexpr size_t kShown = 10;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + io::quote(names[i]);
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

}  // namespace

void State::set(const Text& name, const Tensor& tensor) {
  check(!contains(name), "state", "names must differ", io::quote(name), " twice");
  if (!tensor.defined()) fail("state", io::quote(name) + " must be defined", "an undefined tensor");
  tensors_[name] = tensor;
}

void State::set(const Text& name, const Value& value) {
  check(!contains(name), "state", "names must differ", io::quote(name), " twice");
  values_[name] = value;
}

void State::add(const Text& prefix, const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors) set(prefix + name, tensor);
}

void State::add(const Text& prefix, const State& other) {
  if (&other == this) return add(prefix, State(other));
  for (const auto& [name, tensor] : other.tensors_) set(prefix + name, tensor);
  for (const auto& [name, value] : other.values_) set(prefix + name, value);
}

State State::with_prefix(const Text& prefix) const {
  State result;
  auto take = [&](const auto& from, auto& to) {
    for (auto it = from.lower_bound(prefix); it != from.end() && it->first.starts_with(prefix);
         ++it)
      to[it->first.substr(prefix.size())] = it->second;
  };
  take(tensors_, result.tensors_);
  take(values_, result.values_);
  return result;
}

bool State::contains(const Text& name) const {
  return tensors_.contains(name) || values_.contains(name);
}

std::vector<std::string> State::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  for (const auto& [name, value] : values_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

const Tensor& State::tensor(const Text& name) const {
  auto found = tensors_.find(name);
  check(found != tensors_.end(), "state", "tensor must be there",
        values_.contains(name) ? "a plain value as " : "no ", io::quote(name));
  return found->second;
}

template <class T>
T State::get(const Text& name) const {
  auto found = values_.find(name);
  check(found != values_.end(), "state", "value must be there",
        tensors_.contains(name) ? "a tensor as " : "no ", io::quote(name));
  const Value& value = found->second;
  if (auto held = std::get_if<T>(&value)) return *held;
  if constexpr (std::is_same_v<T, double>) {
    if (auto integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  }
  bool empty_list = std::visit(
      [](const auto& held) {
        if constexpr (requires {
                        held.data();
                        held.front();
                      } &&
                      !std::is_same_v<std::decay_t<decltype(held)>, std::string>)
          return held.empty();
        else
          return false;
      },
      value);
  bool list_wanted = Value(T()).index() >= Value(std::vector<int64_t>()).index();
  if (empty_list && list_wanted) return T();
  fail("state", std::string("value must be ") + type_name(Value(T())), io::quote(name), " as ",
       type_name(value));
}

template bool State::get<bool>(const Text&) const;
template int64_t State::get<int64_t>(const Text&) const;
template double State::get<double>(const Text&) const;
template std::string State::get<std::string>(const Text&) const;
template std::vector<int64_t> State::get<std::vector<int64_t>>(const Text&) const;
template std::vector<double> State::get<std::vector<double>>(const Text&) const;
template std::vector<std::string> State::get<std::vector<std::string>>(const Text&) const;

void State::check_names(const List<std::string>& expected) const {
  std::vector<std::string> have = names(), want = expected, missing, unexpected;
  std::sort(want.begin(), want.end());
  std::set_difference(want.begin(), want.end(), have.begin(), have.end(),
                      std::back_inserter(missing));
  std::set_difference(have.begin(), have.end(), want.begin(), want.end(),
                      std::back_inserter(unexpected));
  std::string got = missing.empty() ? "" : "missing " + list_text(missing);
  if (!unexpected.empty())
    got += (got.empty() ? "unexpected " : "; unexpected ") + list_text(unexpected);
  check(got.empty(), "state", "names must be the object's", got);
}

void State::save(const Text& path, int keep_previous) const {
  NamedTensors tensors;
  tensors.assign(tensors_.begin(), tensors_.end());
  safetensors::save(tensors, path, state_format::metadata(values_), keep_previous);
}

State State::load(const Text& path) {
  // Another version may keep its checksums otherwise: it is compared before they are.
  {
    auto file = io::FileBytes::map(path);
    state_format::check_version(safetensors::parse_header(file->bytes(), path).metadata, path);
  }
  safetensors::Reader reader(path);
  State state;
  for (const std::string& name : reader.names()) state.set(name, reader.tensor(name));
  for (const auto& [name, value] : state_format::parse_values(reader.metadata(), path)) {
    check(!state.contains(name), path, "names must differ", io::quote(name), " twice");
    state.values_[name] = value;
  }
  return state;
}

void save(const State& state, const Text& path) { state.save(path); }

}  // namespace aorta
