#include <aorta/core/cpu/compute.h>
#include <aorta/core/cpu/interpolate.h>
#include <aorta/core/half.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

using body::InterpolateArgs;
using body::InterpolateMap;

// Channels beside each other that are summed at a time.
constexpr int64_t kBlock = 256;

// line = w * x, or line += w * x.
template <class T, class C>
AORTA_INLINE void add_row(C* line, const T* x, C w, int64_t n, bool first) {
  if (first) {
    for (int64_t k = 0; k < n; ++k) line[k] = w * static_cast<C>(x[k]);
  } else {
#pragma GCC ivdep
    for (int64_t k = 0; k < n; ++k) line[k] += w * static_cast<C>(x[k]);
  }
}

template <class T, class C>
AORTA_INLINE void set_rows(C* line, const T* x, C w, const T* y, C v, int64_t n) {
  for (int64_t k = 0; k < n; ++k) line[k] = w * static_cast<C>(x[k]) + v * static_cast<C>(y[k]);
}

// Along the width, from a row of `L` (the input's own, or sums).
template <class T, class L>
struct Width {
  using C = Compute<T>;

  template <int taps>
  static void run_taps(const InterpolateMap& map, const C* weight, const L* line, T* output) {
    const int32_t* const index = map.index;
    for (int64_t o = 0; o < map.output; ++o) {
      asm("");  // keeps the loop scalar: gathered vectors take half as long again
      C sum = weight[o * taps] * static_cast<C>(line[index[o * taps]]);
      for (int k = 1; k < taps; ++k)
        sum += weight[o * taps + k] * static_cast<C>(line[index[o * taps + k]]);
      output[o] = T(sum);
    }
  }

  static void run_any(const InterpolateMap& map, const C* weight, const L* line, T* output) {
    for (int64_t o = 0; o < map.output; ++o) {
      C sum = 0;
      for (int32_t k = map.first[o]; k < map.first[o + 1]; ++k)
        sum += weight[k] * static_cast<C>(line[map.index[k]]);
      output[o] = T(sum);
    }
  }

  static void copy(const InterpolateMap& map, const L* line, T* output) {
    const int32_t* const index = map.index;
#pragma GCC ivdep
    for (int64_t o = 0; o < map.output; ++o) output[o] = T(static_cast<C>(line[index[o]]));
  }

  // Channels side by side.
  static void run_channels(const InterpolateMap& map, const C* weight, const L* line, int64_t inner,
                           T* output) {
    C sums[kBlock];
    for (int64_t o = 0; o < map.output; ++o) {
      const int32_t first = map.first[o], end = map.first[o + 1];
      for (int64_t c = 0; c < inner; c += kBlock) {
        const int64_t n = inner - c < kBlock ? inner - c : kBlock;
        const auto at = [&](int32_t k) __attribute__((always_inline)) {
          return line + map.index[k] * inner + c;
        };
        T* const out = output + o * inner + c;
        if (end - first == 1 && weight[first] == 1) {
          const L* const x = at(first);
          for (int64_t k = 0; k < n; ++k) out[k] = T(static_cast<C>(x[k]));
          continue;
        }
        if (end - first == 2) {
          const L *const x = at(first), *const y = at(first + 1);
          const C w = weight[first], v = weight[first + 1];
#pragma GCC ivdep
          for (int64_t k = 0; k < n; ++k)
            out[k] = T(w * static_cast<C>(x[k]) + v * static_cast<C>(y[k]));
          continue;
        }
        if (first == end) {
          for (int64_t k = 0; k < n; ++k) sums[k] = 0;
        }
        for (int32_t k = first; k < end; ++k) add_row(sums, at(k), weight[k], n, k == first);
        for (int64_t k = 0; k < n; ++k) out[k] = T(sums[k]);
      }
    }
  }

  static void run(const InterpolateMap& map, const C* weight, const L* line, int64_t inner,
                  T* output) {
    if (inner > 1) return run_channels(map, weight, line, inner, output);
    if (map.copies) return copy(map, line, output);
    switch (map.taps) {
      case 2:
        return run_taps<2>(map, weight, line, output);
      case 4:
        return run_taps<4>(map, weight, line, output);
      default:
        return run_any(map, weight, line, output);
    }
  }
};

template <class T>
struct InterpolateRows {
  using C = Compute<T>;

  // The weighted sum of the rows of the input that depth `z` and height `y` of the output read.
  static void sum_rows(const InterpolateArgs& args, const C* depth_weight, const C* height_weight,
                       const T* plane, int64_t z, int64_t y, C* line) {
    const InterpolateMap &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
    const int64_t n = w.input * args.inner;
    bool first = true;
    for (int32_t i = d.first[z]; i < d.first[z + 1]; ++i) {
      for (int32_t j = h.first[y]; j < h.first[y + 1]; ++j) {
        const T* const slice = plane + d.index[i] * h.input * n;
        const T* const x = slice + h.index[j] * n;
        const C weight = depth_weight[i] * height_weight[j];
        if (first && j + 1 < h.first[y + 1]) {
          const C next = depth_weight[i] * height_weight[j + 1];
          ++j;
          set_rows(line, x, weight, slice + h.index[j] * n, next, n);
        } else {
          add_row(line, x, weight, n, first);
        }
        first = false;
      }
    }
    if (first) {
      for (int64_t k = 0; k < n; ++k) line[k] = 0;
    }
  }

  static void run(const InterpolateArgs& args, const void* const* weights, int64_t first,
                  int64_t end, void* scratch) {
    const InterpolateMap &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
    const C* const depth = static_cast<const C*>(weights[0]);
    const C* const height = static_cast<const C*>(weights[1]);
    const C* const width = static_cast<const C*>(weights[2]);
    const int64_t n = w.input * args.inner;
    C* const line = static_cast<C*>(scratch);
    for (int64_t i = first; i < end; ++i) {
      const int64_t y = i % h.output, z = i / h.output % d.output;
      const T* const plane =
          static_cast<const T*>(args.input) + i / h.output / d.output * d.input * h.input * n;
      T* const output = static_cast<T*>(args.output) + i * w.output * args.inner;
      if (d.copies && h.copies) {
        const T* const row = plane + (d.index[z] * h.input + h.index[y]) * n;
        Width<T, T>::run(w, width, row, args.inner, output);
      } else {
        sum_rows(args, depth, height, plane, z, y, line);
        Width<T, C>::run(w, width, line, args.inner, output);
      }
    }
  }
};

}  // namespace

InterpolateFunction interpolate_rows(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return InterpolateRows<double>::run;
    case DType::f16:
      return InterpolateRows<Half>::run;
    case DType::bf16:
      return InterpolateRows<BFloat16>::run;
    default:
      return InterpolateRows<float>::run;
  }
}

}  // namespace aorta::cpu::AORTA_ISA
