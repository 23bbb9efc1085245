#pragma once

#include <aorta/core/io/state_format.h>
#include <aorta/core/io/tensors.h>

#include <map>
#include <variant>

namespace aorta {

/// What a stateful object (module, optimizer, schedule, scaler, generator, loader, meter) is
/// restored from: named tensors and named plain values. Names are dotted, "optimizer.step"; each is
/// a tensor or a value, never both. Copying a State copies handles: its tensors are still the
/// object's own.
class State {
 public:
  using Value = StateValue;

  /// Adds an entry; throws `state: names must differ, got "NAME" twice`.
  void set(const Text& name, const Tensor& tensor);
  void set(const Text& name, const Value& value);
  /// Adds everything in `other` under `prefix`: `state.add("model.", model.state())`.
  void add(const Text& prefix, const State& other);
  void add(const Text& prefix, const NamedTensors& tensors);

  /// The entries whose names start with `prefix`, without it; empty when there are none.
  State with_prefix(const Text& prefix) const;

  bool contains(const Text& name) const;
  bool empty() const { return tensors_.empty() && values_.empty(); }
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  const std::map<std::string, Value>& values() const { return values_; }
  /// All names, sorted.
  std::vector<std::string> names() const;

  /// The tensor of that name; throws `state: tensor must be there, got no "NAME"`.
  const Tensor& tensor(const Text& name) const;
  /// The value of that name and type: `state.get<double>("lr")`. An integer is given as a double
  /// when asked so, and an empty list as an empty list of any type; else another type throws.
  template <class T>
  T get(const Text& name) const;

  /// Throws unless the names are exactly these: `state: names must be the object's, got missing
  /// "a", "b"; unexpected "c"` (at most ten of each, then their number).
  void check_names(const List<std::string>& expected) const;

  /// Writes a safetensors file, whole or not at all: values stand in its metadata as JSON text, and
  /// everything is under checksums. `keep_previous` older files stay as `path.1`, `path.2`, ...
  void save(const Text& path, int keep_previous = 0) const;
  /// Reads it back and checks it; a damaged tensor is named. The version of the format is compared
  /// first: `path: state format must be at most version 1, got version 2`.
  static State load(const Text& path);

 private:
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, Value> values_;
};

extern template bool State::get<bool>(const Text&) const;
extern template int64_t State::get<int64_t>(const Text&) const;
extern template double State::get<double>(const Text&) const;
extern template std::string State::get<std::string>(const Text&) const;
extern template std::vector<int64_t> State::get<std::vector<int64_t>>(const Text&) const;
extern template std::vector<double> State::get<std::vector<double>>(const Text&) const;
extern template std::vector<std::string> State::get<std::vector<std::string>>(const Text&) const;

/// `state.save(path)`, so that `save(net.state_dict(), "net.safetensors")` reads alike for both.
void save(const State& state, const Text& path);

}  // namespace aorta
