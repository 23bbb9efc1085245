#include <aorta/core/check.h>
#include <aorta/core/module_path.h>
#include <aorta/onnx/recording.h>

#include <algorithm>
#include <set>

namespace aorta::onnx {
namespace {

bool is_view(const std::string& op) {
  static const std::set<std::string> kViews{"view",   "permute",  "expand",     "slice",
                                            "select", "diagonal", "as_strided", "unfold"};
  return kViews.count(op) > 0;
}

}  // namespace

Recording::Place Recording::place_of(const Tensor& tensor) {
  std::vector<int64_t> numbers{tensor.storage_offset(), static_cast<int64_t>(tensor.dtype())};
  for (int d = 0; d < tensor.dim(); ++d) {
    numbers.push_back(tensor.shape()[d]);
    numbers.push_back(tensor.shape()[d] == 1 ? 0 : tensor.strides()[d]);
  }
  return {&*tensor.storage(), std::move(numbers)};
}

uint32_t& Recording::known_version(const Tensor& tensor) {
  return versions_.emplace(&*tensor.storage(), tensor.version()).first->second;
}

int Recording::add_value(const Tensor& tensor, int call) {
  values_.push_back({.tensor = tensor, .call = call, .version = tensor.version()});
  return static_cast<int>(values_.size()) - 1;
}

int Recording::add_call(TracedCall call, std::vector<int> inputs) {
  const int number = static_cast<int>(calls_.size());
  RecordedCall recorded;
  for (const Tensor& output : call.outputs)
    recorded.outputs.push_back(output.defined() ? add_value(output, number) : -1);
  recorded.call = std::move(call);
  recorded.inputs = std::move(inputs);
  if (module_path()) recorded.module = module_path()->to_string();
  calls_.push_back(std::move(recorded));
  return number;
}

void Recording::add_input(const Tensor& tensor) {
  const int value = add_value(tensor, -1);
  values_.back().input = static_cast<int>(std::count_if(
      values_.begin(), values_.end() - 1, [](const RecordedValue& v) { return v.input >= 0; }));
  entries_[place_of(tensor)] = {value, known_version(tensor), -1};
}

// The value at the version that is known; a view of what was written since is made again.
int Recording::current(const Tensor& tensor) {
  const uint32_t version = known_version(tensor);
  const auto [place, is_new] = entries_.emplace(place_of(tensor), Entry());
  Entry& entry = place->second;
  if (is_new) {
    entry = {add_value(tensor, -1), version, -1};
  } else if (entry.version != version) {
    check(entry.view >= 0, "onnx::save",
          "a tensor must be written by ops that are recorded, whole or through views made by them",
          tensor.shape(), " written otherwise");
    const RecordedCall view = calls_[static_cast<size_t>(entry.view)];
    const int base = current(view.call.inputs[0]);
    const int call = add_call(view.call, {base});
    calls_.back().module = view.module;
    entry = {calls_.back().outputs[0], version, call};
  }
  return entry.value;
}

int Recording::value_of(const Tensor& tensor) {
  known_version(tensor) = tensor.version();
  return current(tensor);
}

// Nobody knows what a constant was that has been written before anything read it.
void Recording::note_lost(const Tensor& tensor) {
  const auto [place, is_new] = entries_.emplace(place_of(tensor), Entry());
  if (!is_new) return;
  place->second = {add_value(tensor, -1), known_version(tensor), -1};
  values_.back().version = tensor.version() - 1;
}

// The tensor has been written and holds `value`; so do those that it is a view of, in part.
void Recording::note_write(const Tensor& tensor, int value) {
  const uint32_t before = known_version(tensor), after = tensor.version();
  Entry& entry = entries_[place_of(tensor)];
  const bool was_view = entry.view >= 0 && before != after;
  const int made = entry.view;
  if (!was_view) {
    entry = {value, after, -1};
    known_version(tensor) = after;
    return;
  }
  const TracedCall view = calls_[static_cast<size_t>(made)].call;
  const int base = current(view.inputs[0]);
  TracedCall write{kWriteView, {view.inputs[0]}, {view.inputs[0], tensor}, {}, {}};
  write.options = WriteView{view.op, view.options};
  add_call(std::move(write), {base, value});
  const int written = calls_.back().outputs[0];
  note_write(view.inputs[0], written);
  entries_[place_of(tensor)] = {value, after, made};
}

void Recording::add(TracedCall call) {
  // What the call wrote is told afterwards: what it read is what was there before.
  const auto is_output = [&](const Tensor& tensor) {
    return std::any_of(call.outputs.begin(), call.outputs.end(), [&](const Tensor& output) {
      return output.defined() && output.shares_storage(tensor);
    });
  };
  const bool makes_view = is_view(call.op);
  std::vector<int> inputs;
  for (const Tensor& input : call.inputs) {
    if (input.defined() && !makes_view && is_output(input)) note_lost(input);
    if (!input.defined()) {
      inputs.push_back(-1);
    } else {
      inputs.push_back(is_output(input) ? current(input) : value_of(input));
    }
  }
  const std::vector<Tensor> outputs = call.outputs;
  if (makes_view) {
    const auto known = entries_.find(place_of(outputs[0]));
    if (known != entries_.end() && known->second.version == known_version(outputs[0])) return;
  }
  const int number = add_call(std::move(call), std::move(inputs));
  const std::vector<int> made = calls_.back().outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (made[i] < 0) continue;
    if (makes_view) {
      entries_[place_of(outputs[i])] = {made[i], known_version(outputs[i]), number};
    } else {
      note_write(outputs[i], made[i]);
    }
  }
}

}  // namespace aorta::onnx
