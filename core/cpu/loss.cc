#include <aorta/core/cpu/loss.h>

#include <aorta/core/cpu/tiles.h>
#include <aorta/core/integers.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <vector>

namespace aorta::cpu {
namespace {

// Elements that are worth a thread of their own: about an exponential each.
constexpr int64_t kGrain = 16384;

int64_t find_outside(const LossArgs& args) {
  const auto is_probability = [&](const void* values, int64_t i) {
    double x;
    converter(DType::f64, args.dtype)(
        &x, static_cast<const char*>(values) + i * item_size(args.dtype), 1);
    return x >= 0 && x <= 1;
  };
  for (int64_t i = 0; i < args.count; ++i) {
    if (!is_probability(args.input, i) || !is_probability(args.target, i)) return i;
  }
  return -1;
}

// A sum a range, added up in their order.
int64_t run(const LossArgs& args) {
  const LossFunction function = loss_loops().forward(args.kind, args.dtype);
  const size_t ranges = static_cast<size_t>(divide_up(args.count, kGrain));
  std::vector<double> sums(ranges);
  std::vector<char> outside(ranges);
  parallel_for(0, args.count, kGrain, [&](int64_t first, int64_t end) {
    const size_t range = static_cast<size_t>(first / kGrain);
    bool any = false;
    sums[range] = function(args, first, end, any);
    outside[range] = any;
  });
  if (std::find(outside.begin(), outside.end(), 1) != outside.end()) return find_outside(args);
  if (!args.reduced) return -1;
  double sum = 0;
  for (double part : sums) sum += part;
  sum *= args.scale;
  converter(args.dtype, DType::f64)(args.output, &sum, 1);
  return -1;
}

void run_backward(const LossArgs& args) {
  const LossBackwardFunction function = loss_loops().backward(args.kind, args.dtype);
  parallel_for(0, args.count, kGrain,
               [&](int64_t first, int64_t end) { function(args, first, end); });
}

void run_lines(const LineProductsArgs& args, LineProductsFunction function) {
  const int64_t grain = std::max<int64_t>(kThreadGrain / args.lines.length, 1);
  parallel_for(0, args.lines.count(), grain,
               [&](int64_t first, int64_t end) { function(args, first, end); });
}

void run_line_products(const LineProductsArgs& args) {
  run_lines(args, loss_loops().line_products(args.dtype));
}
void run_line_products_backward(const LineProductsArgs& args) {
  run_lines(args, loss_loops().line_products_backward(args.dtype));
}

}  // namespace

void register_loss() {
  pointwise_loss_op.set_kernel(DeviceType::cpu, run);
  pointwise_loss_backward_op.set_kernel(DeviceType::cpu, run_backward);
  line_products_op.set_kernel(DeviceType::cpu, run_line_products);
  line_products_backward_op.set_kernel(DeviceType::cpu, run_line_products_backward);
}

}  // namespace aorta::cpu
