#pragma once

#include <aorta/core/tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace aorta::nn {

/// What a machine does in a second, by measurement: measure_machine().
struct MachineSpeed {
  double multiply_adds = 0;  // of a product of matrices
  double bytes = 0;          // read and written by a copy
};
/// Products of two 1024 x 1024 matrices of `dtype` and copies of 64 MiB with this thread's number
/// of threads, the best of several: a tenth of a second of each.
MachineSpeed measure_machine(DType dtype = DType::f32);

/// What a step does with inputs of certain shapes, in all its calls of one op.
struct PlannedOp {
  std::string name;    // of the op: "convolution_weight"
  std::string shapes;  // of its inputs: "[8,30], [30,10]"
  int64_t calls = 0;
  int64_t multiply_adds = 0;  // of products, those with padding left out
  int64_t bytes = 0;          // read and written, if each byte moves once an op
};

/// What a step would do.
struct StepPlan {
  /// The ops, those that move most first.
  std::vector<PlannedOp> ops;
  int64_t peak_bytes = 0;  // of tensors that are there at once, those from before the step too

  int64_t multiply_adds() const;
  int64_t bytes() const;
  /// Seconds below which the step can't be on such a machine as long as it runs op by op: the sum
  /// over ops of the longer of its products and its bytes.
  double floor(const MachineSpeed& speed) const;
  /// A line an op, the longest floor first, and a last line with the sums.
  std::string table(const MachineSpeed& speed) const;
};

/// Runs `step` on tensors of the meta device, where nothing is computed, and tells what it would
/// do:
///
///     net.to("meta");
///     StepPlan plan = nn::plan_step([&] {
///       nn::cross_entropy(net(empty({64, 784}, {.device = "meta"})), labels).backward();
///       optimizer.step();
///     });
///     std::cout << plan.table(nn::measure_machine());
///
/// The first step of an optimizer makes its state, so the second is the one to plan. Gradients that
/// a plan leaves behind are there in the next.
StepPlan plan_step(const std::function<void()>& step);

}  // namespace aorta::nn
