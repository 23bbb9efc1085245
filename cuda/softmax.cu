#include <aorta/core/ops/softmax.h>
#include <aorta/core/scalar/math.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/group.cuh>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {
namespace {

struct SoftmaxLines {
  const char* input;
  char* output;
  DType dtype;
  int64_t length, inner, lines;
  bool log;

  template <class T>
  __device__ __forceinline__ T read(int64_t i) const {
    return load<T>(input + i * item_size(dtype), dtype);
  }
  /// Writes element i, x, given the line's largest and the sum of exp(x - largest).
  template <class T>
  __device__ __forceinline__ void write(int64_t i, T x, T largest, double sum) const {
    const T shifted = x - largest;
    const T value = log ? shifted - static_cast<T>(scalar::log(sum))
                        : static_cast<T>(static_cast<double>(scalar::exp(shifted)) / sum);
    store(output + i * item_size(dtype), dtype, value);
  }
};

/// Lines whose elements are neighbours: blockDim.x threads a line, blockDim.y lines a block.
template <class T>
__global__ void __launch_bounds__(kThreads)
    softmax_rows_kernel(const __grid_constant__ SoftmaxLines args) {
  AORTA_SHARED(T, shared_largest, [kThreads / 32]);
  AORTA_SHARED(double, shared_sum, [kThreads / 32]);
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  // With several lines a block each is a warp's own, and warps needn't meet.
  for (int64_t line = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
       line < args.lines; line += step) {
    const int64_t start = line * args.length;
    T largest = -scalar::kInfinity<T>;
    for (int64_t i = threadIdx.x; i < args.length; i += blockDim.x) {
      largest = scalar::maximum(largest, args.read<T>(start + i));
    }
    largest = join_group(largest, shared_largest, [](T a, T b) { return scalar::maximum(a, b); });
    double sum = 0;
    for (int64_t i = threadIdx.x; i < args.length; i += blockDim.x) {
      sum += static_cast<double>(scalar::exp(args.read<T>(start + i) - largest));
    }
    sum = add_group(sum, shared_sum);
    for (int64_t i = threadIdx.x; i < args.length; i += blockDim.x) {
      args.write<T>(start + i, args.read<T>(start + i), largest, sum);
    }
  }
}

/// Lines whose elements are `inner` apart: a thread a line, neighbours take neighbouring lines.
template <class T>
__global__ void __launch_bounds__(kThreads)
    softmax_columns_kernel(const __grid_constant__ SoftmaxLines args) {
  for (int64_t line = first_item(); line < args.lines; line += item_step()) {
    const int64_t start = line / args.inner * args.length * args.inner + line % args.inner;
    T largest = -scalar::kInfinity<T>;
    for (int64_t i = 0; i < args.length; ++i) {
      largest = scalar::maximum(largest, args.read<T>(start + i * args.inner));
    }
    double sum = 0;
    for (int64_t i = 0; i < args.length; ++i) {
      sum += static_cast<double>(scalar::exp(args.read<T>(start + i * args.inner) - largest));
    }
    for (int64_t i = 0; i < args.length; ++i) {
      const int64_t place = start + i * args.inner;
      args.write<T>(place, args.read<T>(place), largest, sum);
    }
  }
}

template <class T>
void run_as(const SoftmaxLines& args) {
  const LaunchSite site(args.output);
  const char* op = args.log ? "log_softmax" : "softmax";
  if (args.inner == 1) {
    const unsigned threads = args.length > 1024 ? kThreads : 32;
    const dim3 block(threads, kThreads / threads);
    const int64_t blocks = (args.lines + block.y - 1) / block.y;
    launch(op, softmax_rows_kernel<T>, grid_blocks(blocks), block, site.stream(), args);
  } else {
    launch(op, softmax_columns_kernel<T>, site.blocks(args.lines), kThreads, site.stream(), args);
  }
}

template <bool log>
void run(const SoftmaxArgs& args) {
  const SoftmaxLines lines{static_cast<const char*>(args.input),
                           static_cast<char*>(args.output),
                           args.dtype,
                           args.lines.length,
                           args.lines.inner,
                           args.lines.count(),
                           log};
  if (lines.lines == 0 || lines.length == 0) return;
  if (args.dtype == DType::f64) {
    run_as<double>(lines);
  } else {
    run_as<float>(lines);
  }
}

}  // namespace

void register_softmax() {
  set_kernel<softmax_op, run<false>>();
  set_kernel<log_softmax_op, run<true>>();
}

}  // namespace aorta::cuda
