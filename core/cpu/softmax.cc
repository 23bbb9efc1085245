#include <aorta/core/cpu/softmax.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>

namespace aorta::cpu {
namespace {

// Elements that are worth a thread of their own: an exponential each.
constexpr int64_t kGrain = 8192;

// Lines are taken `columns` side by side, in place or, of half types, through a buffer of floats.
void run(const SoftmaxArgs& args, bool log) {
  const Lines& lines = args.lines;
  const auto choose = lines.inner == 1 ? softmax_loops().line : softmax_loops().columns;
  const SoftmaxFunction function = choose(args.dtype == DType::f64, log);
  const DType compute = compute_dtype(args.dtype);
  const int64_t item = item_size(args.dtype), compute_item = item_size(compute);
  const int64_t width = std::min(lines.inner, kSoftmaxColumns);
  const int64_t across = divide_up(lines.inner, width);
  const int64_t grain = std::max<int64_t>(kGrain / (width * lines.length), 1);
  parallel_for(0, lines.outer * across, grain, [&](int64_t begin, int64_t end) {
    Tensor buffer;
    if (compute != args.dtype) buffer = empty({lines.length, width}, {.dtype = compute});
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % across * width;
      const int64_t columns = std::min(width, lines.inner - first);
      const int64_t offset = (i / across * lines.length * lines.inner + first) * item;
      const char* const in = static_cast<const char*>(args.input) + offset;
      char* const out = static_cast<char*>(args.output) + offset;
      const int64_t stride = lines.inner * item;
      if (compute == args.dtype) {
        function(out, in, stride, lines.length, columns);
        continue;
      }
      // One run of elements when lines are contiguous, else a row of each.
      char* const floats = static_cast<char*>(buffer.data());
      const int64_t rows = lines.inner == 1 ? 1 : lines.length;
      const int64_t row = lines.inner == 1 ? lines.length : columns;
      for (int64_t r = 0; r < rows; ++r)
        converter(compute, args.dtype)(floats + r * row * compute_item, in + r * stride, row);
      function(floats, floats, row * compute_item, lines.length, columns);
      for (int64_t r = 0; r < rows; ++r)
        converter(args.dtype, compute)(out + r * stride, floats + r * row * compute_item, row);
    }
  });
}

// Lines as run() takes them; of half types the gradient's floats become the result's.
void run_backward(const SoftmaxBackwardArgs& args, bool log) {
  const Lines& lines = args.lines;
  const auto choose =
      lines.inner == 1 ? softmax_loops().line_backward : softmax_loops().columns_backward;
  const SoftmaxBackwardFunction function = choose(args.dtype == DType::f64, log);
  const DType compute = compute_dtype(args.dtype);
  const int64_t item = item_size(args.dtype), compute_item = item_size(compute);
  const int64_t width = std::min(lines.inner, kSoftmaxColumns);
  const int64_t across = divide_up(lines.inner, width);
  const int64_t grain = std::max<int64_t>(kGrain / (width * lines.length), 1);
  parallel_for(0, lines.outer * across, grain, [&](int64_t begin, int64_t end) {
    Tensor buffers;
    if (compute != args.dtype) buffers = empty({2, lines.length, width}, {.dtype = compute});
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % across * width;
      const int64_t columns = std::min(width, lines.inner - first);
      const int64_t offset = (i / across * lines.length * lines.inner + first) * item;
      const char* const g = static_cast<const char*>(args.gradient) + offset;
      const char* const y = static_cast<const char*>(args.output) + offset;
      char* const out = static_cast<char*>(args.input) + offset;
      const int64_t stride = lines.inner * item;
      if (compute == args.dtype) {
        function(out, g, y, stride, lines.length, columns);
        continue;
      }
      char* const floats = static_cast<char*>(buffers.data());
      char* const output = floats + lines.length * width * compute_item;
      const int64_t rows = lines.inner == 1 ? 1 : lines.length;
      const int64_t row = lines.inner == 1 ? lines.length : columns;
      for (int64_t r = 0; r < rows; ++r) {
        converter(compute, args.dtype)(floats + r * row * compute_item, g + r * stride, row);
        converter(compute, args.dtype)(output + r * row * compute_item, y + r * stride, row);
      }
      function(floats, floats, output, row * compute_item, lines.length, columns);
      for (int64_t r = 0; r < rows; ++r)
        converter(args.dtype, compute)(out + r * stride, floats + r * row * compute_item, row);
    }
  });
}

}  // namespace

void register_softmax() {
  softmax_op.set_kernel(DeviceType::cpu, [](const SoftmaxArgs& args) { run(args, false); });
  log_softmax_op.set_kernel(DeviceType::cpu, [](const SoftmaxArgs& args) { run(args, true); });
  softmax_backward_op.set_kernel(
      DeviceType::cpu, [](const SoftmaxBackwardArgs& args) { run_backward(args, false); });
  log_softmax_backward_op.set_kernel(
      DeviceType::cpu, [](const SoftmaxBackwardArgs& args) { run_backward(args, true); });
}

}  // namespace aorta::cpu
