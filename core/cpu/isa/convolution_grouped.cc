// Rows of convolutions in groups of few channels, a register's width of results at a time.

#include <aorta/core/cpu/convolution_grouped.h>
#include <aorta/core/cpu/isa/gemm_vector.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

// Positions, and words of the kernel, whose sums stay in registers together.
constexpr int kPositions = 8, kWords = 6;

// `count` of a register's lanes; a whole one where `whole`.
template <class F, bool whole>
struct Lanes {
  using T = F::Element;
  using Vector = F::Vector;
  int count;

  AORTA_INLINE Vector load(const T* p) const { return whole ? F::load(p) : F::load(p, count); }
  AORTA_INLINE void store(T* p, Vector x) const { whole ? F::store(p, x) : F::store(p, x, count); }
};

// Calls body(lanes, first result) for each register's width of the results.
template <class F, class Body>
AORTA_INLINE void by_lanes(int64_t results, const Body& body) {
  int64_t at = 0;
  for (; at + F::kLanes <= results; at += F::kLanes) body(Lanes<F, true>{F::kLanes}, at);
  if (at < results) body(Lanes<F, false>{static_cast<int>(results - at)}, at);
}

// Calls body with `count`, which is 1 to `most`, as a constant.
template <int most, class Body>
AORTA_INLINE void with_count(int64_t count, const Body& body) {
  if constexpr (most > 1) {
    if (count < most) return with_count<most - 1>(count, body);
  }
  body(std::integral_constant<int, most>());
}

template <class F, int n, class L>
AORTA_INLINE void convolve_positions(const GroupedRow& row, int64_t position, L lanes, int64_t at) {
  using T = F::Element;
  const int64_t step = row.position_step;
  // The inner loop is the channels', or the taps' where there is one channel.
  const bool one = row.channels == 1;
  const int64_t outer = one ? 1 : row.taps, inner = one ? row.taps : row.channels;
  const int64_t inner_step = one ? row.tap_step : row.channel_step;
  typename F::Vector sums[n];
  const auto bias = row.bias ? lanes.load(static_cast<const T*>(row.bias) + at) : F::zero();
  for (int p = 0; p < n; ++p) sums[p] = bias;
  for (int64_t i = 0; i < row.rows; ++i) {
    const T* w = static_cast<const T*>(row.weights[i]) + at;
    const T* const source = static_cast<const T*>(row.sources[i]) + position * step + at;
    for (int64_t k = 0; k < outer; ++k) {
      const T* x = source + k * row.tap_step;
      for (int64_t l = 0; l < inner; ++l, x += inner_step, w += row.results) {
        const auto weight = lanes.load(w);
        for (int p = 0; p < n; ++p)
          sums[p] = F::multiply_add(lanes.load(x + p * step), weight, sums[p]);
      }
    }
  }
  T* const y = static_cast<T*>(row.target) + position * row.target_step + at;
  for (int p = 0; p < n; ++p) lanes.store(y + p * row.target_step, sums[p]);
}

template <class F>
void convolve_as(const GroupedRow& row) {
  const int64_t blocks = divide_up(row.positions, kPositions);
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t first = row.positions * b / blocks, end = row.positions * (b + 1) / blocks;
    with_count<kPositions>(
        end - first, [&](auto count) __attribute__((always_inline)) {
          by_lanes<F>(
              row.results, [&](auto lanes, int64_t at) __attribute__((always_inline)) {
                convolve_positions<F, count()>(row, first, lanes, at);
              });
        });
  }
}

void convolve(const GroupedRow& row) {
  row.dtype == DType::f64 ? convolve_as<F64>(row) : convolve_as<F32>(row);
}

// Adds to n words, which lie `results` apart from each other as their sources do.
template <class F, int n, class L>
AORTA_INLINE void add_words(const GroupedRow& row, const typename F::Element* const* sources,
                            typename F::Element* words, L lanes, int64_t at) {
  using T = F::Element;
  const T* x[n];
  typename F::Vector sums[n];
  for (int i = 0; i < n; ++i) {
    x[i] = sources[i] + at;
    sums[i] = lanes.load(words + i * row.results + at);
  }
  const T* y = static_cast<const T*>(row.target) + at;
  int64_t offset = 0;
  for (int64_t p = 0; p < row.positions; ++p) {
    const auto factor = lanes.load(y);
    for (int i = 0; i < n; ++i)
      sums[i] = F::multiply_add(lanes.load(x[i] + offset), factor, sums[i]);
    offset += row.position_step;
    y += row.target_step;
  }
  for (int i = 0; i < n; ++i) lanes.store(words + i * row.results + at, sums[i]);
}

template <class F>
void add_gradient_as(const GroupedRow& row) {
  using T = F::Element;
  const int64_t count = row.taps * row.channels, tiles = divide_up(count, kWords);
  for (int64_t i = 0; i < row.rows; ++i) {
    for (int64_t t = 0; t < tiles; ++t) {
      const int64_t first = count * t / tiles, end = count * (t + 1) / tiles;
      const T* sources[kWords];
      for (int64_t word = first; word < end; ++word) {
        sources[word - first] = static_cast<const T*>(row.sources[i]) +
                                word / row.channels * row.tap_step +
                                word % row.channels * row.channel_step;
      }
      T* const words = static_cast<T*>(row.weights[i]) + first * row.results;
      with_count<kWords>(
          end - first, [&](auto n) __attribute__((always_inline)) {
            by_lanes<F>(
                row.results, [&](auto lanes, int64_t at) __attribute__((always_inline)) {
                  add_words<F, n()>(row, sources, words, lanes, at);
                });
          });
    }
  }
}

void add_gradient(const GroupedRow& row) {
  row.dtype == DType::f64 ? add_gradient_as<F64>(row) : add_gradient_as<F32>(row);
}

// Groups of as many results as channels, of which a register holds some.
template <class F>
void spread_square(const GroupedSpread& s) {
  using T = F::Element;
  using Int = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  using Places [[gnu::vector_size(sizeof(typename F::Vector))]] = Int;
  Places first;  // of a lane's group
  for (int i = 0; i < F::kLanes; ++i) first[i] = static_cast<Int>(i - i % s.results);
  for (int64_t p = 0; p < s.positions; ++p) {
    const T* const from = static_cast<const T*>(s.from) + p * s.from_step;
    T* const to = static_cast<T*>(s.to) + p * s.to_step;
    by_lanes<F>(
        s.groups * s.results, [&](auto lanes, int64_t at) __attribute__((always_inline)) {
          const auto x = lanes.load(from + at);
          for (int64_t c = 0; c < s.channels; ++c) {
            lanes.store(to + c * s.channel_step + at,
                        __builtin_shuffle(x, first + static_cast<Int>(c)));
          }
        });
  }
}

template <class T>
void spread_any(const GroupedSpread& s) {
  const T* from = static_cast<const T*>(s.from);
  for (int64_t p = 0; p < s.positions; ++p, from += s.from_step) {
    T* const position = static_cast<T*>(s.to) + p * s.to_step;
    for (int64_t c = 0; c < s.channels; ++c) {
      T* to = position + c * s.channel_step;
      for (int64_t g = 0; g < s.groups; ++g) {
        for (int64_t r = 0; r < s.results; ++r) *to++ = from[g * s.channels + c];
      }
    }
  }
}

template <class F>
void copy_positions(const GroupedSpread& s) {
  using T = F::Element;
  for (int64_t p = 0; p < s.positions; ++p) {
    const T* const from = static_cast<const T*>(s.from) + p * s.from_step;
    T* const to = static_cast<T*>(s.to) + p * s.to_step;
    by_lanes<F>(
        s.groups, [&](auto lanes, int64_t at) __attribute__((always_inline)) {
          lanes.store(to + at, lanes.load(from + at));
        });
  }
}

template <class F>
void spread_as(const GroupedSpread& s) {
  using T = F::Element;
  if (s.channels == 1 && s.results == 1) return copy_positions<F>(s);
  if (s.channels == s.results && F::kLanes % s.results == 0) return spread_square<F>(s);
  spread_any<T>(s);
}

void spread(const GroupedSpread& s) {
  s.dtype == DType::f64 ? spread_as<F64>(s) : spread_as<F32>(s);
}

}  // namespace

const GroupedLoops grouped_loops = {convolve, add_gradient, spread};

}  // namespace aorta::cpu::AORTA_ISA
