#include <aorta/autograd/grad_mode.h>
#include <aorta/core/clock.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/nn/step_plan.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace aorta::nn {
namespace {

// The least time of a call, over a tenth of a second of calls.
template <class F>
double best_seconds(const F& call) {
  call();  // brings memory and threads about
  const double start = seconds_now();
  double best = 1e9;
  while (seconds_now() - start < 0.1) {
    const double before = seconds_now();
    call();
    best = std::min(best, seconds_now() - before);
  }
  return best;
}

double floor_of(const PlannedOp& op, const MachineSpeed& speed) {
  return std::max(static_cast<double>(op.multiply_adds) / speed.multiply_adds,
                  static_cast<double>(op.bytes) / speed.bytes);
}

}  // namespace

MachineSpeed measure_machine(DType dtype) {
  check(is_floating(dtype), "measure_machine", "dtype must be floating", dtype);
  const NoGradGuard no_grad;
  constexpr int64_t n = 1024, elements = 16 << 20;
  const Tensor a = ones({n, n}, {.dtype = dtype}), b = ones({n, n}, {.dtype = dtype});
  const Tensor from = ones({elements}), to = empty({elements});
  MachineSpeed speed;
  speed.multiply_adds = static_cast<double>(n * n * n) / best_seconds([&] { matmul(a, b); });
  speed.bytes = static_cast<double>(2 * from.nbytes()) / best_seconds([&] { to.copy_(from); });
  return speed;
}

int64_t StepPlan::multiply_adds() const {
  int64_t sum = 0;
  for (const PlannedOp& op : ops) sum += op.multiply_adds;
  return sum;
}

int64_t StepPlan::bytes() const {
  int64_t sum = 0;
  for (const PlannedOp& op : ops) sum += op.bytes;
  return sum;
}

double StepPlan::floor(const MachineSpeed& speed) const {
  check(speed.multiply_adds > 0 && speed.bytes > 0, "step_plan", "the speeds must be positive",
        speed.multiply_adds, " multiply-adds and ", speed.bytes, " bytes a second");
  double sum = 0;
  for (const PlannedOp& op : ops) sum += floor_of(op, speed);
  return sum;
}

std::string StepPlan::table(const MachineSpeed& speed) const {
  const double whole = floor(speed);
  std::vector<PlannedOp> sorted = ops;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const PlannedOp& a, const PlannedOp& b) {
    return floor_of(a, speed) > floor_of(b, speed);
  });
  size_t width = 4;
  for (const PlannedOp& op : sorted) width = std::max(width, op.name.size());
  std::string text = fmt::format("{:<{}}  {:>6}  {:>9}  {:>9}  {:>9}  {:>6}  shapes\n", "name",
                                 width, "calls", "GMAC", "MB", "floor ms", "share");
  for (const PlannedOp& op : sorted) {
    const double seconds = floor_of(op, speed);
    text += fmt::format("{:<{}}  {:>6}  {:>9.3f}  {:>9.2f}  {:>9.3f}  {:>5.1f}%  {}\n", op.name,
                        width, op.calls, 1e-9 * static_cast<double>(op.multiply_adds),
                        1e-6 * static_cast<double>(op.bytes), 1e3 * seconds,
                        100 * seconds / std::max(whole, 1e-300), op.shapes);
  }
  return text + fmt::format(
                    "{:.3f} GMAC, {:.2f} MB moved, {:.2f} MB at most at once, floor {:.3f} ms "
                    "at {:.1f} GMAC/s and {:.1f} GB/s\n",
                    1e-9 * static_cast<double>(multiply_adds()),
                    1e-6 * static_cast<double>(bytes()), 1e-6 * static_cast<double>(peak_bytes),
                    1e3 * whole, 1e-9 * speed.multiply_adds, 1e-9 * speed.bytes);
}

StepPlan plan_step(const std::function<void()>& step) {
  check(bool(step), "plan_step", "the step must be a function", "an empty one");
  DeviceBackend& meta = backend(DeviceType::meta);
  meta.reset_peak_memory(0);
  Profiler profiler;
  step();
  profiler.stop();
  std::map<std::pair<std::string, std::string>, PlannedOp> found;
  for (const ProfiledRange& range : profiler.ranges()) {
    if (range.bytes == 0 && range.multiply_adds == 0) continue;
    PlannedOp& op = found[{range.name, range.shapes}];
    op.name = range.name;
    op.shapes = range.shapes;
    ++op.calls;
    op.multiply_adds += range.multiply_adds;
    op.bytes += range.bytes;
  }
  StepPlan plan;
  for (auto& [key, op] : found) plan.ops.push_back(std::move(op));
  std::stable_sort(plan.ops.begin(), plan.ops.end(),
                   [](const PlannedOp& a, const PlannedOp& b) { return a.bytes > b.bytes; });
  plan.peak_bytes = meta.memory_stats(0).peak_bytes;
  check(!plan.ops.empty(), "plan_step", "the step must run ops", "none");
  return plan;
}

}  // namespace aorta::nn
