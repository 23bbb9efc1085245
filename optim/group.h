#pragma once

// What an optimizer keeps of a group, and the fused step over it. For the files of this room.

#include <aorta/core/ops/update.h>
#include <aorta/optim/optimizer.h>

#include <map>
#include <span>

namespace aorta::optim {

/// Parameters of one dtype on one device: what one call of the kernel takes.
struct Bucket {
  DType dtype;
  Device device;
  std::vector<size_t> members;  // places in the group
  int64_t size = 0;             // of an arena, in elements
};

/// One kind of state: an arena a bucket, and which parameters have come to it. State whose shape
/// isn't the parameter's has a tensor a parameter, and no arena.
struct StateKind {
  std::string name;
  double initial = 0;
  bool saved = true;
  std::vector<Tensor> arenas;
  std::vector<Tensor> shaped;  // by parameter, undefined where none has been needed
  std::vector<char> present;

  /// Whether a parameter has it.
  bool has(size_t place) const { return present[place] != 0; }
};

/// Where a parameter's state lies, and how its elements are paired with others'.
struct StatePlace {
  size_t bucket;
  int64_t offset;   // in each arena of the bucket
  bool dense;       // its elements fill memory without gaps; else the step works on a copy
  Shape shape;      // of the parameter, when its place was made
  Strides layout;   // and its strides
  Strides strides;  // of its state
  Tensor copy;      // of a parameter that isn't dense
  Tensor gradient;  // of a gradient in another layout
};

/// The rows of a parameter that its sparse gradient names, as copies of them and of their state.
struct StepRows {
  size_t tensor;  // which of the step's tensors
  Tensor indices, parameter;
  Tensor states[kMaxUpdateStates] = {};
};

/// How far a parameter has come, in a step; `value` is the number of the rule's, if any (NaN at
/// first), and may be changed.
struct Progress {
  int64_t step = 0;    // this one, from 1
  bool first = false;  // the first kind of state isn't there yet
  double value = 0;
  bool operator==(const Progress&) const = default;
};

struct StateName {
  const char* name;
  double initial = 0;
  bool saved = true;
};

/// The kernels' runs of a step() in a step that is captured (core/dispatch/capture.h). Launches of
/// the graph take what the host does about a step, again: counts and numbers, and no kernel.
struct CapturedRuns {
  /// What the kernel was given of a tensor.
  struct Operands {
    const void* parameter;
    const void* states[kMaxUpdateStates];
    int64_t numbers;
    bool operator==(const Operands&) const = default;
  };
  struct Run {
    UpdateRule rule;
    std::vector<Operands> operands;
    std::vector<UpdateNumbers<double>> numbers;
  };
  std::vector<std::shared_ptr<Run>> runs;
  size_t next = 0;
  bool renews = false;  // while a launch is prepared

  /// At the capture: where the kernel finds the numbers.
  const UpdateNumbers<double>* record(Run now);
  /// At a launch.
  void renew(const Run& now);
};

struct GroupData {
  explicit GroupData(std::vector<Tensor> given);

  std::vector<Tensor> parameters;
  std::vector<int64_t> steps;
  std::vector<StatePlace> places;
  std::vector<Bucket> buckets;
  std::vector<std::unique_ptr<StateKind>> kinds;
  std::map<std::string, std::vector<double>> values;  // NaN: not there
  std::optional<double> initial_lr;
  size_t first_position = 0;  // among all parameters of the optimizer

  // These describe the step that runs; they are kept so that a step allocates nothing.
  std::vector<Tensor> gradients;
  std::vector<kernel::UpdateTensor> tensors;
  std::vector<UpdateNumbers<double>> numbers;
  CapturedRuns* captured = nullptr;
  Tensor must_be_finite;  // f64, or nothing changes; undefined where nothing is asked

  StateKind* find(std::string_view name) const;
  StateKind& kind(const StateName& name);
  /// A kind of state with shapes of its own, with room for a parameter's, zeros at first.
  StateKind& shaped_kind(const char* name, size_t place, const Shape& shape);
  std::vector<double>& value(const std::string& name);
  /// Makes the places anew when a parameter has another dtype, device or layout than they were made
  /// for (Module::to). All state goes along, converted to what the parameter needs now. Where one
  /// has another shape (nn::fully_shard) there must be none yet.
  void follow_parameters();
  /// The state of one parameter, in its shape or the state's own.
  Tensor state_of(const StateKind& kind, size_t place) const;

  /// Puts a parameter and its gradient into `tensors`; false when there is no gradient. Of a sparse
  /// one it puts the rows.
  bool gather(size_t place, bool with_gradient);
  /// Runs a rule over what was gathered of a bucket, and writes back what was copied.
  void run(UpdateRule rule, const Bucket& bucket, std::span<StateKind* const> states);
  void forget_gathered();

  /// A fused step. `numbers(Progress&)` gives what the rule needs, once for all parameters that
  /// have come equally far. `value_name`, if any, names the number of the rule's.
  template <class Numbers>
  void fused_step(UpdateRule rule, std::initializer_list<StateName> names,
                  const Numbers& numbers_of, std::vector<double>* rule_values = nullptr,
                  bool with_gradient = true);

 private:
  void add(size_t place, void* data, const void* gradient, int64_t count);
  CapturedRuns::Run captured_run(UpdateRule rule) const;
  void gather_rows(size_t place, const autograd::SparseGradient& gradient);

  std::vector<size_t> gathered_;
  std::vector<StepRows> rows_;
};

template <class Numbers>
void GroupData::fused_step(UpdateRule rule, std::initializer_list<StateName> names,
                           const Numbers& numbers_of, std::vector<double>* rule_values,
                           bool with_gradient) {
  forget_gathered();  // of a step that threw
  follow_parameters();
  StateKind* states[kMaxUpdateStates] = {};
  size_t count = 0;
  for (const StateName& name : names) states[count++] = &kind(name);
  for (const Bucket& bucket : buckets) {
    Progress before, after;
    for (size_t place : bucket.members) {
      if (!gather(place, with_gradient)) continue;
      const Progress now{steps[place] + (with_gradient ? 1 : 0),
                         count > 0 && !states[0]->has(place),
                         rule_values ? (*rule_values)[place] : 0};
      if (numbers.empty() || !(now == before)) {
        before = after = now;
        numbers.push_back(numbers_of(after));
      }
      tensors.back().numbers = static_cast<int64_t>(numbers.size()) - 1;
      steps[place] = now.step;
      if (rule_values) (*rule_values)[place] = after.value;
    }
    run(rule, bucket, {states, count});
  }
}

}  // namespace aorta::optim
