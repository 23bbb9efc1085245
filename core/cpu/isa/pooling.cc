#include <aorta/core/cpu/compute.h>
#include <aorta/core/cpu/pooling.h>
#include <aorta/core/half.h>
#include <aorta/core/scalar/math.h>

#include <type_traits>

namespace aorta::cpu::AORTA_ISA {
namespace {

using body::PoolArgs;
using body::PoolDim;
using body::WindowRange;

// Outputs of a row (or channels beside each other) that are reduced at a time.
constexpr int64_t kBlock = 256;
// Partial sums of a run of elements, the same for every instruction set.
constexpr int kLanes = 16;

// Elements side by side that are looked at together.
constexpr int64_t kRun = 128;
// Rows of fewer windows are reduced window by window.
constexpr int64_t kFewWindows = 8;

// The positions along depth and height that a row of windows reads.
struct Windows2d {
  WindowRange depth, height;
};

// A row of the output (or, backward, of the gradient of the input).
struct Row {
  int64_t outer, depth, height;
};

AORTA_INLINE Row row_at(int64_t index, int64_t depth, int64_t height) {
  return {index / height / depth, index / height % depth, index % height};
}

AORTA_INLINE void go_to_next(Row& row, int64_t depth, int64_t height) {
  if (++row.height < height) return;
  row.height = 0;
  if (++row.depth < depth) return;
  row.depth = 0;
  ++row.outer;
}

// The windows along the width. Adaptive ones take two divisions each, as many as some have
// elements: the first of these are known.
class WidthWindows {
 public:
  explicit AORTA_INLINE WidthWindows(const PoolDim& dim)
      : dim_(dim), count_(dim.adaptive ? least(dim.output, kBlock) : 0) {
    for (int64_t o = 0; o < count_; ++o) known_[o] = pool_window(dim, o);
  }
  AORTA_INLINE WindowRange operator[](int64_t o) const {
    return o < count_ ? known_[o] : pool_window(dim_, o);
  }
  // pool_count()
  AORTA_INLINE int64_t count(int64_t o, bool padding) const {
    return o < count_ ? known_[o].end - known_[o].first : pool_count(dim_, o, padding);
  }

 private:
  const PoolDim& dim_;
  const int64_t count_;
  WindowRange known_[kBlock];
};

// The kernel positions along the width at which any of windows [from, to) reads.
AORTA_INLINE WindowRange taps_of(const PoolDim& dim, int64_t from, int64_t to) {
  return body::taps_reading(dim, from, to - 1);
}

// Returns those of the windows [from, to) whose tap lies inside the input.
AORTA_INLINE WindowRange windows_of(const PoolDim& dim, int64_t tap, int64_t from, int64_t to) {
  const WindowRange all = body::positions_reading(dim, tap);
  return {most(all.first, from), least(all.end, to)};
}

// Calls `f` with the step as a constant where it is 1 or 2, which vectorises.
template <class F>
AORTA_INLINE void with_step(int64_t step, const F& f) {
  if (step == 1) return f(std::integral_constant<int64_t, 1>());
  if (step == 2) return f(std::integral_constant<int64_t, 2>());
  f(step);
}

// The largest so far of each lane, and where it was.
template <class T, class I, bool indices>
struct Largest {
  using C = Compute<T>;
  C values[kBlock];
  I places[indices ? kBlock : 1];

  AORTA_INLINE void start(int64_t n, int64_t place, int64_t place_step) {
    for (int64_t i = 0; i < n; ++i) values[i] = -scalar::kInfinity<C>;
    if constexpr (indices) {
      for (int64_t i = 0; i < n; ++i) places[i] = static_cast<I>(place + i * place_step);
    }
  }
  // Lane i meets x[i * step], whose place is `place` + i * place_step. Of NaNs the last stays, as
  // in PyTorch.
  template <class Step, class PlaceStep>
  AORTA_INLINE void meet(const T* x, Step step, int64_t first, int64_t n, int64_t place,
                         PlaceStep place_step) {
    C* const best = values + first;
    [[maybe_unused]] I* const where = places + (indices ? first : 0);
    const I begin = static_cast<I>(place), stride = static_cast<I>(place_step);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const C value = static_cast<C>(x[i * step]);
      const bool take = value > best[i] || value != value;
      best[i] = take ? value : best[i];
      if constexpr (indices)
        where[i] = take ? static_cast<I>(begin + static_cast<I>(i) * stride) : where[i];
    }
  }
  AORTA_INLINE void finish(int64_t n, T* output, int64_t* output_places) const {
    for (int64_t i = 0; i < n; ++i) output[i] = T(values[i]);
    if constexpr (indices) {
      for (int64_t i = 0; i < n; ++i) output_places[i] = static_cast<int64_t>(places[i]);
    }
  }
};

// Whether one of n elements side by side is larger than `best`, or NaN.
template <class T>
AORTA_INLINE bool has_larger(const T* x, int64_t n, Compute<T> best) {
  int found = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<Compute<T>>(x[i]);
    found |= !(value <= best);
  }
  return found != 0;
}

template <class T, class I, bool indices>
struct MaxRows {
  using C = Compute<T>;

  // The largest so far meets the element in a place. Of NaNs the last stays, as in PyTorch.
  static AORTA_INLINE void meet(const T* plane, int64_t at, C& best, int64_t& place) {
    const C value = static_cast<C>(plane[at]);
    const bool take = value > best || value != value;
    best = take ? value : best;
    place = take ? at : place;
  }
  // It meets many elements side by side, of which most blocks have none that is larger.
  static void meet_run(const T* plane, int64_t first, int64_t end, C& best, int64_t& place) {
    for (int64_t from = first; from < end; from += kRun) {
      const int64_t n = least(end - from, kRun);
      if (best == best && !has_larger(plane + from, n, best)) continue;
      for (int64_t at = from; at < from + n; ++at) meet(plane, at, best, place);
    }
  }

  // One row of windows over (depth, height) positions, window by window, without lanes.
  static void one_by_one(const PoolArgs& args, const WidthWindows& windows, const T* plane,
                         const Windows2d& rows, T* output, int64_t* places) {
    const PoolDim &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
    const WindowRange depth = rows.depth, height = rows.height;
    for (int64_t o = 0; o < w.output; ++o) {
      const WindowRange width = windows[o];
      C best = -scalar::kInfinity<C>;
      int64_t place = (depth.first * h.input + height.first) * w.input + width.first;
      for (int64_t z = depth.first; z < depth.end; z += d.dilation) {
        for (int64_t y = height.first; y < height.end; y += h.dilation) {
          const int64_t line = (z * h.input + y) * w.input;
          if (w.dilation == 1 && width.end - width.first >= 2 * kRun) {
            meet_run(plane, line + width.first, line + width.end, best, place);
            continue;
          }
          for (int64_t x = width.first; x < width.end; x += w.dilation)
            meet(plane, line + x, best, place);
        }
      }
      output[o] = T(best);
      if constexpr (indices) places[o] = place;
    }
  }

  // Such a row with lanes along `inner`.
  static void by_window(const PoolArgs& args, const WidthWindows& windows, const T* plane,
                        const Windows2d& rows, T* output, int64_t* places) {
    const PoolDim &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
    const WindowRange depth = rows.depth, height = rows.height;
    Largest<T, I, indices> largest;
    for (int64_t o = 0; o < w.output; ++o) {
      const WindowRange width = windows[o];
      for (int64_t c = 0; c < args.inner; c += kBlock) {
        const int64_t n = least(args.inner - c, kBlock);
        largest.start(n, (depth.first * h.input + height.first) * w.input + width.first, 0);
        for (int64_t z = depth.first; z < depth.end; z += d.dilation) {
          for (int64_t y = height.first; y < height.end; y += h.dilation) {
            const int64_t line = (z * h.input + y) * w.input;
            for (int64_t x = width.first; x < width.end; x += w.dilation) {
              largest.meet(plane + (line + x) * args.inner + c,
                           std::integral_constant<int64_t, 1>(), 0, n, line + x,
                           std::integral_constant<int64_t, 0>());
            }
          }
        }
        const int64_t at = o * args.inner + c;
        largest.finish(n, output + at, indices ? places + at : nullptr);
      }
    }
  }

  // Tap by tap, lanes along the row.
  static void by_tap(const PoolArgs& args, const WidthWindows& windows, const T* plane,
                     const Windows2d& rows, T* output, int64_t* places) {
    const PoolDim &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
    const WindowRange depth = rows.depth, height = rows.height;
    Largest<T, I, indices> largest;
    for (int64_t from = 0; from < w.output; from += kBlock) {
      const int64_t to = least(from + kBlock, w.output);
      const WindowRange taps = taps_of(w, from, to);
      const int64_t corner = (depth.first * h.input + height.first) * w.input;
      largest.start(to - from, corner + from * w.stride - w.padding, w.stride);
      if constexpr (indices) {
        // Windows that begin in the padding: their first position inside.
        for (int64_t o = from; o < to && o * w.stride < w.padding; ++o)
          largest.places[o - from] = static_cast<I>(corner + windows[o].first);
      }
      for (int64_t z = depth.first; z < depth.end; z += d.dilation) {
        for (int64_t y = height.first; y < height.end; y += h.dilation) {
          const int64_t line = (z * h.input + y) * w.input;
          for (int64_t tap = taps.first; tap < taps.end; ++tap) {
            const WindowRange run = windows_of(w, tap, from, to);
            const int64_t x = run.first * w.stride - w.padding + tap * w.dilation;
            with_step(
                w.stride, [&](auto step) __attribute__((always_inline)) {
                  largest.meet(plane + line + x, step, run.first - from, run.end - run.first,
                               line + x, step);
                });
          }
        }
      }
      largest.finish(to - from, output + from, indices ? places + from : nullptr);
    }
  }

  static void run(const PoolArgs& args, int64_t first, int64_t end, void*) {
    const PoolDim &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
    const int64_t plane_size = d.input * h.input * w.input * args.inner;
    const WidthWindows windows(w);
    const auto rows = args.inner > 1                         ? by_window
                      : w.adaptive || w.output < kFewWindows ? one_by_one
                                                             : by_tap;
    Row row = row_at(first, d.output, h.output);
    for (int64_t i = first; i < end; ++i) {
      const T* const plane = static_cast<const T*>(args.input) + row.outer * plane_size;
      const int64_t at = i * w.output * args.inner;
      rows(args, windows, plane, {pool_window(d, row.depth), pool_window(h, row.height)},
           static_cast<T*>(args.output) + at, indices ? args.indices + at : nullptr);
      go_to_next(row, d.output, h.output);
    }
  }
};

// The sum of n elements side by side: lanes, joined as a tree.
template <class T>
AORTA_INLINE Compute<T> sum_of(const T* x, int64_t n) {
  using C = Compute<T>;
  if (n < kLanes) {
    C sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<C>(x[i]);
    return sum;
  }
  C lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += static_cast<C>(x[i + l]);
  }
  for (int l = 0; i < n; ++i, ++l) lanes[l] += static_cast<C>(x[i]);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

template <class C>
AORTA_INLINE C divisor_of(const PoolArgs& args, const WidthWindows& windows, int64_t outer_count,
                          int64_t o) {
  if (args.divisor_override != 0) return static_cast<C>(args.divisor_override);
  return static_cast<C>(outer_count * windows.count(o, args.count_include_pad));
}

// The divisor's part of depth and height.
AORTA_INLINE int64_t count_of_rows(const PoolArgs& args, int64_t depth, int64_t height) {
  return pool_count(args.dims[0], depth, args.count_include_pad) *
         pool_count(args.dims[1], height, args.count_include_pad);
}

template <class T>
struct AverageRows {
  using C = Compute<T>;

  static void by_window(const PoolArgs& args, const WidthWindows& windows, const T* plane,
                        const Windows2d& rows, int64_t count, T* output) {
    const PoolDim &h = args.dims[1], &w = args.dims[2];
    const WindowRange depth = rows.depth, height = rows.height;
    C sums[kBlock];
    for (int64_t o = 0; o < w.output; ++o) {
      const WindowRange width = windows[o];
      const C divisor = divisor_of<C>(args, windows, count, o);
      for (int64_t c = 0; c < args.inner; c += kBlock) {
        const int64_t n = least(args.inner - c, kBlock);
        for (int64_t k = 0; k < n; ++k) sums[k] = 0;
        for (int64_t z = depth.first; z < depth.end; ++z) {
          if (args.inner == 1 && width.end - width.first == w.input) {
            // Whole rows are one run.
            const T* const run = plane + (z * h.input + height.first) * w.input;
            sums[0] += sum_of(run, (height.end - height.first) * w.input);
            continue;
          }
          for (int64_t y = height.first; y < height.end; ++y) {
            const T* const line = plane + (z * h.input + y) * w.input * args.inner + c;
            if (args.inner == 1) {
              sums[0] += sum_of(line + width.first, width.end - width.first);
              continue;
            }
            for (int64_t x = width.first; x < width.end; ++x) {
#pragma GCC ivdep
              for (int64_t k = 0; k < n; ++k) sums[k] += static_cast<C>(line[x * args.inner + k]);
            }
          }
        }
        for (int64_t k = 0; k < n; ++k) output[o * args.inner + c + k] = T(sums[k] / divisor);
      }
    }
  }

  static void by_tap(const PoolArgs& args, const WidthWindows& windows, const T* plane,
                     const Windows2d& rows, int64_t count, T* output) {
    const PoolDim &h = args.dims[1], &w = args.dims[2];
    const WindowRange depth = rows.depth, height = rows.height;
    C sums[kBlock];
    for (int64_t from = 0; from < w.output; from += kBlock) {
      const int64_t to = least(from + kBlock, w.output);
      const WindowRange taps = taps_of(w, from, to);
      for (int64_t k = 0; k < to - from; ++k) sums[k] = 0;
      for (int64_t z = depth.first; z < depth.end; ++z) {
        for (int64_t y = height.first; y < height.end; ++y) {
          const T* const line = plane + (z * h.input + y) * w.input;
          for (int64_t tap = taps.first; tap < taps.end; ++tap) {
            const WindowRange run = windows_of(w, tap, from, to);
            const T* const x = line + run.first * w.stride - w.padding + tap;
            C* const sum = sums + run.first - from;
            const int64_t n = run.end - run.first;
            with_step(
                w.stride, [&](auto step) __attribute__((always_inline)) {
#pragma GCC ivdep
                  for (int64_t k = 0; k < n; ++k) sum[k] += static_cast<C>(x[k * step]);
                });
          }
        }
      }
      for (int64_t o = from; o < to; ++o)
        output[o] = T(sums[o - from] / divisor_of<C>(args, windows, count, o));
    }
  }

  static void run(const PoolArgs& args, int64_t first, int64_t end, void*) {
    const PoolDim &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
    const int64_t plane_size = d.input * h.input * w.input * args.inner;
    // Few windows are long ones.
    const bool lanes_in_window = args.inner > 1 || w.adaptive || w.output < 4;
    const WidthWindows windows(w);
    const auto rows = lanes_in_window ? by_window : by_tap;
    Row row = row_at(first, d.output, h.output);
    for (int64_t i = first; i < end; ++i) {
      rows(args, windows, static_cast<const T*>(args.input) + row.outer * plane_size,
           {pool_window(d, row.depth), pool_window(h, row.height)},
           count_of_rows(args, row.depth, row.height),
           static_cast<T*>(args.output) + i * w.output * args.inner);
      go_to_next(row, d.output, h.output);
    }
  }
};

AORTA_INLINE bool is_same(WindowRange a, WindowRange b) {
  return a.first == b.first && a.end == b.end;
}

// A row of the input's gradient, which may be the one before again: what the windows over it share
// out, window by window.
template <class T>
struct AverageBackwardRows {
  using C = Compute<T>;

  // Adds a row of windows.
  static void add_by_window(const PoolArgs& args, const WidthWindows& windows, const T* gradient,
                            int64_t count, C* sums) {
    const PoolDim& w = args.dims[2];
    C shares[kBlock];
    for (int64_t o = 0; o < w.output; ++o) {
      const WindowRange width = windows[o];
      const C divisor = divisor_of<C>(args, windows, count, o);
      if (args.inner == 1) {
        const C share = static_cast<C>(gradient[o]) / divisor;
        for (int64_t x = width.first; x < width.end; ++x) sums[x] += share;
        continue;
      }
      for (int64_t c = 0; c < args.inner; c += kBlock) {
        const int64_t n = least(args.inner - c, kBlock);
        const T* const window = gradient + o * args.inner + c;
        for (int64_t k = 0; k < n; ++k) shares[k] = static_cast<C>(window[k]) / divisor;
        for (int64_t x = width.first; x < width.end; ++x) {
          C* const sum = sums + x * args.inner + c;
#pragma GCC ivdep
          for (int64_t k = 0; k < n; ++k) sum[k] += shares[k];
        }
      }
    }
  }

  static void add_by_tap(const PoolArgs& args, const WidthWindows& windows, const T* gradient,
                         int64_t count, C* sums) {
    const PoolDim& w = args.dims[2];
    C shares[kBlock];
    for (int64_t from = 0; from < w.output; from += kBlock) {
      const int64_t to = least(from + kBlock, w.output);
      const WindowRange taps = taps_of(w, from, to);
      for (int64_t o = from; o < to; ++o)
        shares[o - from] = static_cast<C>(gradient[o]) / divisor_of<C>(args, windows, count, o);
      for (int64_t tap = taps.first; tap < taps.end; ++tap) {
        const WindowRange run = windows_of(w, tap, from, to);
        C* const sum = sums + run.first * w.stride - w.padding + tap;
        const C* const share = shares + run.first - from;
        const int64_t n = run.end - run.first;
        with_step(
            w.stride, [&](auto step) __attribute__((always_inline)) {
#pragma GCC ivdep
              for (int64_t k = 0; k < n; ++k) sum[k * step] += share[k];
            });
      }
    }
  }

  static void run(const PoolArgs& args, int64_t first, int64_t end, void* scratch) {
    const PoolDim &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
    const int64_t n = w.input * args.inner, window_row = w.output * args.inner;
    const WidthWindows windows(w);
    const auto add = args.inner > 1 || w.adaptive ? add_by_window : add_by_tap;
    WindowRange depth_before{}, height_before{};
    Row row = row_at(first, d.input, h.input);
    for (int64_t i = first; i < end; ++i, go_to_next(row, d.input, h.input)) {
      T* const output = static_cast<T*>(args.output) + i * n;
      const WindowRange depth = pool_readers(d, row.depth), height = pool_readers(h, row.height);
      const bool as_before = i > first && row.depth + row.height > 0 &&
                             is_same(depth, depth_before) && is_same(height, height_before);
      if (as_before) {
        for (int64_t k = 0; k < n; ++k) output[k] = output[k - n];
        continue;
      }
      depth_before = depth;
      height_before = height;
      C* sums = static_cast<C*>(scratch);
      if constexpr (std::is_same_v<T, C>) sums = output;
      for (int64_t k = 0; k < n; ++k) sums[k] = 0;
      const T* const plane =
          static_cast<const T*>(args.input) + row.outer * d.output * h.output * window_row;
      for (int64_t z = depth.first; z < depth.end; ++z) {
        for (int64_t y = height.first; y < height.end; ++y)
          add(args, windows, plane + (z * h.output + y) * window_row, count_of_rows(args, z, y),
              sums);
      }
      if constexpr (!std::is_same_v<T, C>) {
        for (int64_t k = 0; k < n; ++k) output[k] = T(sums[k]);
      }
    }
  }
};

// Places fit 32 bits but in planes of 2^31 elements and more.
template <class T, bool indices>
void max_rows(const PoolArgs& args, int64_t first, int64_t end, void* scratch) {
  const PoolDim* const d = args.dims;
  const bool is_small = d[0].input * d[1].input * d[2].input < int64_t{1} << 31;
  if (is_small && !std::is_same_v<T, double>)
    return MaxRows<T, int32_t, indices>::run(args, first, end, scratch);
  MaxRows<T, int64_t, indices>::run(args, first, end, scratch);
}

template <template <class> class Rows>
PoolRowsFunction rows_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return Rows<double>::run;
    case DType::f16:
      return Rows<Half>::run;
    case DType::bf16:
      return Rows<BFloat16>::run;
    default:
      return Rows<float>::run;
  }
}

template <class T>
struct MaxValues {
  static constexpr PoolRowsFunction run = max_rows<T, false>;
};
template <class T>
struct MaxIndices {
  static constexpr PoolRowsFunction run = max_rows<T, true>;
};

}  // namespace

const PoolLoops pool_loops = {[](DType dtype, bool indices) {
                                return indices ? rows_of<MaxIndices>(dtype)
                                               : rows_of<MaxValues>(dtype);
                              },
                              rows_of<AverageRows>, rows_of<AverageBackwardRows>};

}  // namespace aorta::cpu::AORTA_ISA
