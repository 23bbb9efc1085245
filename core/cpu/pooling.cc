#include <aorta/core/cpu/pooling.h>

#include <aorta/core/cpu/compute.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>

namespace aorta::cpu {
namespace {

using body::PoolArgs;
using body::PoolDim;

// Elements that a row of the output is made from, about.
int64_t work_of_row(const PoolArgs& args, bool backward) {
  int64_t work = args.inner * std::max(args.dims[2].output, args.dims[2].input);
  for (const PoolDim& dim : args.dims) {
    const int64_t window = dim.adaptive ? dim.input / dim.output + 1 : dim.kernel;
    work *= std::max<int64_t>(backward ? window / dim.stride : std::min(window, dim.input), 1);
    if (work > kThreadGrain) break;
  }
  return std::max<int64_t>(work, 1);
}

void run(const PoolArgs& args, PoolRowsFunction rows, bool backward) {
  const PoolDim* const d = args.dims;
  const int64_t depth = backward ? d[0].input : d[0].output;
  const int64_t height = backward ? d[1].input : d[1].output;
  const int64_t grain = std::max<int64_t>(kThreadGrain / work_of_row(args, backward), 1);
  parallel_for(0, args.outer * depth * height, grain, [&](int64_t begin, int64_t end) {
    Tensor scratch;
    if (backward && is_half(args.dtype)) scratch = empty({d[2].input * args.inner});
    rows(args, begin, end, scratch.defined() ? scratch.data() : nullptr);
  });
}

// Channels beside each other that a thread takes: whole cache lines.
constexpr int64_t kChannels = 64;

// Gradients of windows, (windows, inner), and the places of their maxima.
template <class T>
struct Windows {
  const T* gradient;
  const int64_t* places;
  int64_t windows, inner;
};

// Sums (positions, step).
template <class C>
struct Positions {
  C* sums;
  int64_t positions, step;
};

// Adds `n` channels of a plane to sums, which are 0.
template <class T>
void scatter_plane(const Windows<T>& from_windows, int64_t n, const Positions<Compute<T>>& to) {
  const int64_t windows = from_windows.windows, inner = from_windows.inner;
  const auto add = [&](int64_t from, int64_t channel) {
    const int64_t place = from_windows.places[from];
    check(place >= 0 && place < to.positions, "max_pool_backward", "index out of range", place,
          " of ", to.positions);
    to.sums[place * to.step + channel] += static_cast<Compute<T>>(from_windows.gradient[from]);
  };
  if (inner == 1) {
    for (int64_t w = 0; w < windows; ++w) add(w, 0);
    return;
  }
  for (int64_t w = 0; w < windows; ++w) {
    for (int64_t k = 0; k < n; ++k) add(w * inner + k, k);
  }
}

template <class T>
void scatter_planes(const PoolArgs& args) {
  using C = Compute<T>;
  int64_t windows = 1, positions = 1;
  for (const PoolDim& dim : args.dims) {
    windows *= dim.output;
    positions *= dim.input;
  }
  const int64_t width = std::min(args.inner, kChannels);
  const int64_t across = divide_up(args.inner, width);
  const int64_t grain = std::max<int64_t>(kThreadGrain / ((windows + positions) * width), 1);
  parallel_for(0, args.outer * across, grain, [&](int64_t begin, int64_t end) {
    // Half types are summed in f32.
    const Tensor scratch = is_half(args.dtype) ? empty({positions * width}) : Tensor();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t channel = i % across * width, n = std::min(width, args.inner - channel);
      const int64_t from = i / across * windows * args.inner + channel;
      T* const output =
          static_cast<T*>(args.output) + i / across * positions * args.inner + channel;
      C* const sums = static_cast<C*>(scratch.defined() ? scratch.data() : output);
      const int64_t step = scratch.defined() ? n : args.inner;
      const int64_t rows = step == n ? 1 : positions;
      for (int64_t p = 0; p < rows; ++p) std::fill_n(sums + p * step, positions * n / rows, C(0));
      scatter_plane<T>(
          {static_cast<const T*>(args.input) + from, args.indices + from, windows, args.inner}, n,
          {sums, positions, step});
      if (!scratch.defined()) continue;
      const ConvertFunction narrow = converter(args.dtype, compute_dtype(args.dtype));
      const int64_t run = n == args.inner ? positions * n : n;  // numbers that lie side by side
      for (int64_t at = 0; at < positions * n; at += run)
        narrow(reinterpret_cast<char*>(output + at / n * args.inner),
               reinterpret_cast<const char*>(sums + at), run);
    }
  });
}

void scatter_kernel(const PoolArgs& args) {
  switch (args.dtype) {
    case DType::f64:
      return scatter_planes<double>(args);
    case DType::f16:
      return scatter_planes<Half>(args);
    case DType::bf16:
      return scatter_planes<BFloat16>(args);
    default:
      return scatter_planes<float>(args);
  }
}

}  // namespace

void register_pooling() {
  max_pool_op.set_kernel(DeviceType::cpu, [](const PoolArgs& args) {
    run(args, pool_loops().max(args.dtype, args.indices), false);
  });
  max_pool_backward_op.set_kernel(DeviceType::cpu, scatter_kernel);
  avg_pool_op.set_kernel(DeviceType::cpu, [](const PoolArgs& args) {
    run(args, pool_loops().average(args.dtype), false);
  });
  avg_pool_backward_op.set_kernel(DeviceType::cpu, [](const PoolArgs& args) {
    run(args, pool_loops().average_backward(args.dtype), true);
  });
}

}  // namespace aorta::cpu
