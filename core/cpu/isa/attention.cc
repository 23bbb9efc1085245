#include <aorta/core/cpu/attention.h>
#include <aorta/core/cpu/compute.h>
#include <aorta/core/cpu/isa/row.h>
#include <aorta/core/scalar/math.h>
#include <aorta/core/scalar/philox.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

/// Neighbours that are computed at once: whole blocks of a panel.
constexpr int kLanes = 32;
static_assert(kLanes % (2 * kGemmSteps) == 0);

/// Keys whose dropout is asked for at once.
constexpr int64_t kDropped = 512;

template <class C, class M>
AORTA_INLINE void add_mask(C* scores, const char* mask, int64_t step, int64_t count) {
  const auto masked = [&](int64_t j, const char* at) __attribute__((always_inline)) {
    if constexpr (std::is_same_v<M, bool>) {
      return load<bool>(at, 0) ? scores[j] : -scalar::kInfinity<C>;
    } else {
      // What is hidden stays so, whatever its product is.
      const C added = static_cast<C>(load<M>(at, 0));
      return added == -scalar::kInfinity<C> ? added : scores[j] + added;
    }
  };
  if (step == sizeof(M)) {
#pragma GCC ivdep
    for (int64_t j = 0; j < count; ++j) scores[j] = masked(j, mask + j * sizeof(M));
  } else {
    for (int64_t j = 0; j < count; ++j) scores[j] = masked(j, mask + j * step);
  }
}

template <class C>
void mask_row(const AttentionScores& part, int64_t r, int64_t seen) {
  if (!part.mask) return;
  C* const scores = static_cast<C*>(part.scores) + r * part.stride;
  const char* const mask = part.mask + r * part.mask_row;
  switch (part.mask_dtype) {
    case DType::boolean:
      return add_mask<C, bool>(scores, mask, part.mask_column, seen);
    case DType::f64:
      return add_mask<C, double>(scores, mask, part.mask_column, seen);
    case DType::f16:
      return add_mask<C, Half>(scores, mask, part.mask_column, seen);
    case DType::bf16:
      return add_mask<C, BFloat16>(scores, mask, part.mask_column, seen);
    default:
      return add_mask<C, float>(scores, mask, part.mask_column, seen);
  }
}

/// 0 or the scale of what stays, for weights number `first` on; `kept` has room for a block of the
/// generator before and after.
template <class C>
AORTA_INLINE const C* fill_kept(C* kept, const DropoutMask& mask, int64_t first, int64_t count) {
  const int64_t begin = first / 4, end = (first + count + 3) / 4;
  const C scale = static_cast<C>(mask.scale);
  const bool none = mask.threshold > UINT32_MAX;
  const uint32_t threshold = static_cast<uint32_t>(mask.threshold);
  const GeneratorState at = mask.random;
#pragma GCC ivdep
  for (int64_t i = 0; i < end - begin; ++i) {
    const scalar::PhiloxWords w =
        scalar::philox(at.seed, at.stream, at.position + static_cast<uint64_t>(begin + i));
    for (int j = 0; j < 4; ++j) kept[i * 4 + j] = (w.word[j] >= threshold) & !none ? scale : C(0);
  }
  return kept + (first - begin * 4);
}

/// A panel's weights: a block has kGemmSteps numbers, or pairs of bf16, of each row.
template <class W>
struct Panel {
  static constexpr int kSteps = sizeof(W) == 2 ? 2 * kGemmSteps : kGemmSteps;
  W* data;
  int64_t rows;
  AORTA_INLINE W* place(int64_t r, int64_t j) const {
    return data + j / kSteps * rows * kSteps + r * kSteps + j % kSteps;
  }
};

/// exp(x - shift) where `all` of the lanes are seen, or the first `seen`; 0 elsewhere.
template <bool all, class C>
AORTA_INLINE void exponentials(C* lanes, const C* x, C shift, int64_t seen) {
  for (int l = 0; l < kLanes; ++l) {
    const C e = scalar::exp(x[l] - shift);
    lanes[l] = all || l < seen ? e : C(0);
  }
}

template <class C, class W, bool drops>
void softmax_rows(const AttentionSoftmax& step) {
  const AttentionScores& part = step.part;
  const Panel<W> panel{static_cast<W*>(step.weights), part.rows};
  C* const largest = static_cast<C*>(step.largest);
  C* const total = static_cast<C*>(step.total);
  const int64_t width = part.width;
  [[maybe_unused]] alignas(64) C kept[kDropped + 8];
  for (int64_t r = 0; r < part.rows; ++r) {
    const int64_t seen = part.seen_by(r);
    mask_row<C>(part, r, seen);
    const C* const scores = static_cast<const C*>(part.scores) + r * part.stride;
    C most[kLanes];
    for (int l = 0; l < kLanes; ++l) most[l] = -scalar::kInfinity<C>;
    int64_t j = 0;
    for (; j + kLanes <= seen; j += kLanes) {
      for (int l = 0; l < kLanes; ++l) most[l] = scores[j + l] > most[l] ? scores[j + l] : most[l];
    }
    for (int l = 0; j < seen; ++j, ++l) most[l] = scores[j] > most[l] ? scores[j] : most[l];
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) most[l] = most[l + half] > most[l] ? most[l + half] : most[l];
    }
    const C before = step.first ? -scalar::kInfinity<C> : largest[r];
    const C now = most[0] > before ? most[0] : before;
    const C shift = now == -scalar::kInfinity<C> ? C(0) : now;
    C sums[kLanes] = {};
    const C* stays = nullptr;
    for (j = 0; j < width; j += kLanes) {
      C lanes[kLanes];
      if (j + kLanes <= seen)
        exponentials<true>(lanes, scores + j, shift, kLanes);
      else
        exponentials<false>(lanes, scores + j, shift, seen - j);
      for (int l = 0; l < kLanes; ++l) sums[l] += lanes[l];
      if constexpr (drops) {
        if (j % kDropped == 0) {
          stays = fill_kept(kept, part.dropout, part.number + r * part.number_step + j,
                            least(kDropped, width - j + kLanes));
        }
        for (int l = 0; l < kLanes; ++l) lanes[l] *= stays[j % kDropped + l];
      }
      for (int b = 0; b < kLanes; b += Panel<W>::kSteps) {
        W* const to = panel.place(r, j + b);
        for (int l = 0; l < Panel<W>::kSteps; ++l) to[l] = W(lanes[b + l]);
      }
    }
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) sums[l] += sums[l + half];
    }
    largest[r] = now;
    if (step.first) {
      total[r] = sums[0];
    } else if (now == before) {
      total[r] += sums[0];
    } else {
      const C factor = scalar::exp(before - now);
      total[r] = total[r] * factor + sums[0];
      C* const row = static_cast<C*>(step.sums) + r * step.values;
#pragma GCC ivdep
      for (int64_t i = 0; i < step.values; ++i) row[i] *= factor;
    }
  }
}

template <class C, class W, bool drops>
void slopes_rows(const AttentionSlopes& step) {
  const AttentionScores& part = step.part;
  const int64_t width = part.width;
  const C scale = static_cast<C>(step.scale);
  [[maybe_unused]] alignas(64) C kept[kDropped + 8];
  for (int64_t r = 0; r < part.rows; ++r) {
    const int64_t seen = part.seen_by(r);
    mask_row<C>(part, r, seen);
    const C* const scores = static_cast<const C*>(part.scores) + r * part.stride;
    const C* const products = static_cast<const C*>(step.products) + r * part.stride;
    W* const weights = static_cast<W*>(step.weights) + r * part.stride;
    W* const slopes = static_cast<W*>(step.slopes) + r * part.stride;
    const C log_sum = static_cast<const C*>(step.log_sum)[r];
    const C shift = log_sum == -scalar::kInfinity<C> ? C(0) : log_sum;
    const C inner = static_cast<const C*>(step.inner)[r];
    const C* stays = nullptr;
    for (int64_t j = 0; j < width; j += kLanes) {
      C lanes[kLanes], gradient[kLanes];
      if (j + kLanes <= seen)
        exponentials<true>(lanes, scores + j, shift, kLanes);
      else
        exponentials<false>(lanes, scores + j, shift, seen - j);
      for (int l = 0; l < kLanes; ++l) gradient[l] = j + l < seen ? products[j + l] : C(0);
      if constexpr (drops) {
        if (j % kDropped == 0) {
          stays = fill_kept(kept, part.dropout, part.number + r * part.number_step + j,
                            least(kDropped, width - j + kLanes));
        }
        for (int l = 0; l < kLanes; ++l) {
          const C stay = stays[j % kDropped + l];
          slopes[j + l] = W(lanes[l] * (gradient[l] * stay - inner) * scale);
          weights[j + l] = W(lanes[l] * stay);
        }
      } else {
        for (int l = 0; l < kLanes; ++l) {
          slopes[j + l] = W(lanes[l] * (gradient[l] - inner) * scale);
          weights[j + l] = W(lanes[l]);
        }
      }
    }
  }
}

void softmax(GemmKind kind, const AttentionSoftmax& step) {
  const bool drops = step.part.dropout.threshold > 0;
  switch (kind) {
    case GemmKind::f64:
      return drops ? softmax_rows<double, double, true>(step)
                   : softmax_rows<double, double, false>(step);
    case GemmKind::bf16:
      return drops ? softmax_rows<float, BFloat16, true>(step)
                   : softmax_rows<float, BFloat16, false>(step);
    default:
      return drops ? softmax_rows<float, float, true>(step)
                   : softmax_rows<float, float, false>(step);
  }
}

void slopes(GemmKind kind, const AttentionSlopes& step) {
  const bool drops = step.part.dropout.threshold > 0;
  switch (kind) {
    case GemmKind::f64:
      return drops ? slopes_rows<double, double, true>(step)
                   : slopes_rows<double, double, false>(step);
    case GemmKind::bf16:
      return drops ? slopes_rows<float, BFloat16, true>(step)
                   : slopes_rows<float, BFloat16, false>(step);
    default:
      return drops ? slopes_rows<float, float, true>(step) : slopes_rows<float, float, false>(step);
  }
}

template <class T>
void store_rows(const AttentionRows& to, const void* sums, const void* factors, int64_t rows,
                int64_t count) {
  using C = Compute<T>;
  for (int64_t r = 0; r < rows; ++r) {
    T* const out = reinterpret_cast<T*>(to.data + r * to.step);
    const C* const in = static_cast<const C*>(sums) + r * count;
    const C factor = factors ? static_cast<const C*>(factors)[r] : C(1);
    if (factor == C(0)) {
      for (int64_t i = 0; i < count; ++i) out[i] = T(C(0));
      continue;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[i] = T(in[i] * factor);
  }
}

void store(DType dtype, const AttentionRows& to, const void* sums, const void* factors,
           int64_t rows, int64_t count) {
  switch (dtype) {
    case DType::f64:
      return store_rows<double>(to, sums, factors, rows, count);
    case DType::f16:
      return store_rows<Half>(to, sums, factors, rows, count);
    case DType::bf16:
      return store_rows<BFloat16>(to, sums, factors, rows, count);
    default:
      return store_rows<float>(to, sums, factors, rows, count);
  }
}

template <class T>
void inner_rows(void* sums, const AttentionRows& a, const AttentionRows& b, int64_t rows,
                int64_t count) {
  using C = Compute<T>;
  for (int64_t r = 0; r < rows; ++r) {
    const T* const x = reinterpret_cast<const T*>(a.data + r * a.step);
    const T* const y = reinterpret_cast<const T*>(b.data + r * b.step);
    C lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      for (int l = 0; l < kLanes; ++l)
        lanes[l] += static_cast<C>(x[i + l]) * static_cast<C>(y[i + l]);
    }
    for (int l = 0; i < count; ++i, ++l) lanes[l] += static_cast<C>(x[i]) * static_cast<C>(y[i]);
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    }
    static_cast<C*>(sums)[r] = lanes[0];
  }
}

void inner(DType dtype, void* sums, const AttentionRows& a, const AttentionRows& b, int64_t rows,
           int64_t count) {
  switch (dtype) {
    case DType::f64:
      return inner_rows<double>(sums, a, b, rows, count);
    case DType::f16:
      return inner_rows<Half>(sums, a, b, rows, count);
    case DType::bf16:
      return inner_rows<BFloat16>(sums, a, b, rows, count);
    default:
      return inner_rows<float>(sums, a, b, rows, count);
  }
}

}  // namespace

const AttentionLoops attention_loops = {softmax, slopes, store, inner};

}  // namespace aorta::cpu::AORTA_ISA
