#include <aorta/core/cpu/pooling.h>

#include <aorta/core/cpu/compute.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <type_traits>

namespace aorta::cpu {
namespace {

using body::PoolArgs;
using body::PoolDim;

// Positions along a dimension that one of the result is made from, about: a window's or, backward,
// the windows that read one.
int64_t work_along(const PoolDim& dim, bool backward) {
  const int64_t from = backward ? dim.output : dim.input, to = backward ? dim.input : dim.output;
  if (dim.adaptive) return from / to + 1;
  return backward ? dim.kernel / dim.stride : std::min(dim.kernel, dim.input);
}

// Elements that a row of the result is made from, about.
int64_t work_of_row(const PoolArgs& args, bool backward) {
  int64_t work = args.inner * std::max(args.dims[2].output, args.dims[2].input);
  for (const PoolDim& dim : args.dims) {
    work *= std::max<int64_t>(work_along(dim, backward), 1);
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
// Sums that lie in the cache.
constexpr int64_t kPlanes = 4 << 10;

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

void check_place(int64_t place, int64_t positions) {
  check(place >= 0 && place < positions, "max_pool_backward", "index out of range", place, " of ",
        positions);
}

// Adds `n` channels of a plane to sums, which are 0.
template <class T>
void scatter_plane(const Windows<T>& from_windows, int64_t n, const Positions<Compute<T>>& to) {
  const int64_t windows = from_windows.windows, inner = from_windows.inner;
  const auto add = [&](int64_t from, int64_t channel) {
    const int64_t place = from_windows.places[from];
    check_place(place, to.positions);
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

// Writes the sums of few windows into an output of zeros; no others of the sums are touched.
template <class T>
void scatter_few(const Windows<T>& windows, const Positions<Compute<T>>& to, T* output) {
  const int64_t count = windows.windows * windows.inner;
  for (int64_t i = 0; i < count; ++i) {
    check_place(windows.places[i], to.positions);
    to.sums[windows.places[i] * to.step + i % windows.inner] = 0;
  }
  scatter_plane(windows, windows.inner, to);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = windows.places[i] * to.step + i % windows.inner;
    output[at] = T(to.sums[at]);
  }
}

// Planes [begin, end) of a half type, which is summed in f32; small ones together.
template <class T>
void scatter_whole_planes(const PoolArgs& args, int64_t windows, int64_t positions, int64_t begin,
                          int64_t end) {
  const int64_t plane = positions * args.inner, of_windows = windows * args.inner;
  const int64_t most = std::max<int64_t>(kPlanes / plane, 1);
  const Tensor scratch = empty({std::min(most, end - begin) * plane});
  float* const sums = scratch.data<float>();
  const ConvertFunction narrow = converter(args.dtype, DType::f32);
  for (int64_t first = begin; first < end; first += most) {
    const int64_t count = std::min(most, end - first);
    T* const output = static_cast<T*>(args.output) + first * plane;
    const bool are_few = windows < positions / 32;
    if (are_few)
      std::fill_n(output, count * plane, T(0));
    else
      std::fill_n(sums, count * plane, 0.0f);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = (first + i) * of_windows;
      const Windows<T> of_plane{static_cast<const T*>(args.input) + at, args.indices + at, windows,
                                args.inner};
      const Positions<float> to{sums + i * plane, positions, args.inner};
      if (are_few)
        scatter_few<T>(of_plane, to, output + i * plane);
      else
        scatter_plane<T>(of_plane, args.inner, to);
    }
    if (!are_few)
      narrow(reinterpret_cast<char*>(output), reinterpret_cast<const char*>(sums), count * plane);
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
    if constexpr (!std::is_same_v<T, C>) {
      if (across == 1) return scatter_whole_planes<T>(args, windows, positions, begin, end);
    }
    // Half types are summed in f32.
    const Tensor scratch = is_half(args.dtype) ? empty({positions * width}) : Tensor();
    const ConvertFunction narrow = converter(args.dtype, compute_dtype(args.dtype));
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
      for (int64_t p = 0; p < positions; ++p)
        narrow(reinterpret_cast<char*>(output + p * args.inner),
               reinterpret_cast<const char*>(sums + p * n), n);
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
