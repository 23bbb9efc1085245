#include <aorta/core/integers.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/scalar/scan.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {
namespace {

// Longer lines of neighbours are a warp's and not a thread's, a block's and not a warp's.
constexpr int64_t kLongestOfAThread = 8, kLongestOfAWarp = 512;

/// What running values of M are kept in: double or int64.
template <class M>
using Running = scalar::Accumulator<ComputeType<M>>;

/// Lines of neighbours, walked in tiles of one element a thread: blockDim.x threads a line,
/// blockDim.y lines a block. Where there are several each is a warp's own, and warps needn't meet.
template <class M, class Join>
__global__ void __launch_bounds__(kThreads)
    scan_rows_kernel(const MemoryType<M>* input, MemoryType<M>* output, int64_t lines,
                     int64_t length, Join join) {
  using A = Running<M>;
  AORTA_SHARED(A, warp_totals, [kThreads / 32]);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  for (int64_t line = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; line < lines;
       line += step) {
    A before = Join::template identity<A>();  // of the line up to this tile
    for (int64_t tile = 0; tile < length; tile += blockDim.x) {
      const int64_t i = tile + threadIdx.x;
      A value = i < length ? load<A, M>(input + line * length + i) : Join::template identity<A>();
#pragma unroll
      for (unsigned distance = 1; distance < 32; distance *= 2) {
        const A other = __shfl_up_sync(0xffffffffu, value, distance);
        if (lane >= distance) value = join(other, value);
      }
      if (warps == 1) {
        value = join(before, value);
        before = __shfl_sync(0xffffffffu, value, 31);
      } else {
        if (lane == 31) warp_totals[warp] = value;
        __syncthreads();
        A total = before;
        for (unsigned w = 0; w < warps; ++w) {
          if (w == warp) value = join(total, value);
          total = join(total, warp_totals[w]);
        }
        before = total;
        __syncthreads();
      }
      if (i < length) store<M>(output + line * length + i, value);
    }
  }
}

/// Lines of elements `inner` apart, and short ones: a thread a line.
template <class M, class Join>
__global__ void __launch_bounds__(kThreads)
    scan_columns_kernel(const MemoryType<M>* input, MemoryType<M>* output, Lines lines,
                        int64_t count, Join join) {
  using A = Running<M>;
  for (int64_t line = first_item(); line < count; line += item_step()) {
    int64_t place = line / lines.inner * lines.length * lines.inner + line % lines.inner;
    A value = Join::template identity<A>();
    for (int64_t i = 0; i < lines.length; ++i, place += lines.inner) {
      value = join(value, load<A, M>(input + place));
      store<M>(output + place, value);
    }
  }
}

template <class Join>
void run(const char* op, const ScanArgs& args, Join join) {
  const int64_t count = args.lines.count();
  if (count == 0 || args.lines.length == 0) return;
  const LaunchSite site(args.output);
  visit_dtype(args.dtype, [&](auto type) {
    using M = decltype(type);
    const auto* input = static_cast<const MemoryType<M>*>(args.input);
    auto* output = static_cast<MemoryType<M>*>(args.output);
    if (args.lines.inner == 1 && args.lines.length > kLongestOfAThread) {
      const unsigned lines = args.lines.length > kLongestOfAWarp ? 1 : kThreads / 32;
      launch(op, scan_rows_kernel<M, Join>, grid_blocks(divide_up(count, lines)),
             dim3(kThreads / lines, lines), site.stream(), input, output, count, args.lines.length,
             join);
    } else {
      launch(op, scan_columns_kernel<M, Join>, site.blocks(count), kThreads, site.stream(), input,
             output, args.lines, count, join);
    }
  });
}

template <class Join, auto& op>
void run_scan(const ScanArgs& args) {
  run(op.name(), args, Join{});
}

/// The place in its line of an element that is the extremum of those before it and itself, or NaN;
/// of others 0.
template <class M>
struct PlaceBody {
  const MemoryType<M>* input;
  const MemoryType<M>* values;
  int64_t* places;
  Lines lines;

  __device__ void operator()(int64_t i) const {
    using A = Running<M>;
    const A x = load<A, M>(input + i);
    const bool counts = x == load<A, M>(values + i) || x != x;
    places[i] = counts ? i / lines.inner % lines.length : 0;
  }
};

/// The last such place is the largest so far.
template <class Join, auto& op>
void run_pick(const ScanPickArgs& args) {
  run(op.name(), args, Join{});
  visit_dtype(args.dtype, [&](auto type) {
    using M = decltype(type);
    for_each(op.name(), args.output, args.lines.count() * args.lines.length,
             PlaceBody<M>{static_cast<const MemoryType<M>*>(args.input),
                          static_cast<const MemoryType<M>*>(args.output), args.places, args.lines});
  });
  run(op.name(), ScanArgs{args.places, args.places, DType::i64, args.lines},
      scalar::RunningExtremum<true>{});
}

}  // namespace

void register_scan() {
  set_kernel<cumsum_op, run_scan<scalar::RunningSum, cumsum_op>>();
  set_kernel<cumprod_op, run_scan<scalar::RunningProduct, cumprod_op>>();
  set_kernel<cummax_op, run_pick<scalar::RunningExtremum<true>, cummax_op>>();
  set_kernel<cummin_op, run_pick<scalar::RunningExtremum<false>, cummin_op>>();
  set_kernel<logcumsumexp_op, run_scan<scalar::RunningLogSumExp, logcumsumexp_op>>();
}

}  // namespace aorta::cuda
