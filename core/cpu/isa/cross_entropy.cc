#include <aorta/core/body/cross_entropy.h>
#include <aorta/core/cpu/cross_entropy.h>
#include <aorta/core/cpu/isa/exponentials.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

// A panel with its types. Shares are numbers of T.
template <class T>
struct Panel {
  const T *x, *p, *w;
  int64_t stride, length, columns;
  T share, kept;
  T *largest, *log_sum, *mass;
  bool spreads;  // the target's weight isn't the class's alone

  AORTA_INLINE explicit Panel(const ClassPanel& panel)
      : x(static_cast<const T*>(panel.input)),
        p(static_cast<const T*>(panel.probabilities)),
        w(static_cast<const T*>(panel.weight)),
        stride(panel.stride),
        length(panel.length),
        columns(panel.columns),
        share(static_cast<T>(panel.share)),
        kept(static_cast<T>(panel.kept)),
        largest(static_cast<T*>(panel.largest)),
        log_sum(static_cast<T*>(panel.log_sum)),
        mass(static_cast<T*>(panel.mass)),
        spreads(panel.share != 0 || panel.probabilities) {}
};

// Element i of a target's weights, each of which may be missing.
template <class T>
AORTA_INLINE T target_weight(const Panel<T>& panel, const T* p, const T* w, int64_t i) {
  const T weight = p ? body::class_share(panel.share, panel.kept, p[i]) : panel.share;
  return w ? w[i] * weight : weight;
}

// The loss of a spread target along a line. has_p, has_w: what there is.
template <class T, bool has_p, bool has_w>
AORTA_INLINE double spread_line(const Panel<T>& panel) {
  const T shift = panel.largest[0], total = panel.log_sum[0];
  const T* const p = has_p ? panel.p : nullptr;
  const T* const w = has_w ? panel.w : nullptr;
  double lanes[kLanes] = {}, weights[kLanes] = {};
  const auto take = [&](int l, int64_t i) __attribute__((always_inline)) {
    const T weight = target_weight(panel, p, w, i);
    lanes[l] += static_cast<double>(weight * body::class_loss(panel.x[i], shift, total));
    if constexpr (has_p) weights[l] += static_cast<double>(weight);
  };
  int64_t i = 0;
  for (; i + kLanes <= panel.length; i += kLanes) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) take(l, i + l);
  }
  for (int l = 0; i < panel.length; ++i, ++l) take(l, i);
  if constexpr (has_p) panel.mass[0] = static_cast<T>(joined(weights));
  return joined(lanes);
}

template <class T>
void line(const ClassPanel& given, double* losses) {
  const Panel<T> panel(given);
  const char* const x = static_cast<const char*>(given.input);
  const T shift = largest_of<T>(x, panel.length);
  panel.largest[0] = shift;
  panel.log_sum[0] =
      static_cast<T>(scalar::log(sum_exponentials<T, false>(nullptr, x, panel.length, shift)));
  losses[0] = 0;
  if (!panel.spreads) return;
  losses[0] = panel.p
                  ? panel.w ? spread_line<T, true, true>(panel) : spread_line<T, true, false>(panel)
              : panel.w ? spread_line<T, false, true>(panel)
                        : spread_line<T, false, false>(panel);
}

template <class T>
void columns(const ClassPanel& given, double* losses) {
  const Panel<T> panel(given);
  const int64_t n = panel.columns;
  const ColumnLines lines{static_cast<const char*>(given.input),
                          panel.stride * static_cast<int64_t>(sizeof(T)), panel.length, n};
  T shift[kClassColumns], total[kClassColumns];
  double sum[kClassColumns];
  largest_of_each(shift, lines);
  sum_exponentials_of_each<T, false>(sum, nullptr, lines, shift);
#pragma GCC ivdep
  for (int64_t c = 0; c < n; ++c) total[c] = scalar::log(static_cast<T>(sum[c]));
  for (int64_t c = 0; c < n; ++c) {
    panel.largest[c] = shift[c];
    panel.log_sum[c] = total[c];
    losses[c] = 0;
  }
  if (!panel.spreads) return;
  double weights[kClassColumns] = {};
  for (int64_t r = 0; r < panel.length; ++r) {
    const T* const x = panel.x + r * panel.stride;
    const T* const p = panel.p + (panel.p ? r * panel.stride : 0);
    const T weight = panel.w ? panel.w[r] : T(1);
    if (panel.p) {
#pragma GCC ivdep
      for (int64_t c = 0; c < n; ++c) {
        const T q = weight * body::class_share(panel.share, panel.kept, p[c]);
        losses[c] += static_cast<double>(q * body::class_loss(x[c], shift[c], total[c]));
        weights[c] += static_cast<double>(q);
      }
    } else {
      const T q = weight * panel.share;
#pragma GCC ivdep
      for (int64_t c = 0; c < n; ++c)
        losses[c] += static_cast<double>(q * body::class_loss(x[c], shift[c], total[c]));
    }
  }
  if (panel.p) {
    for (int64_t c = 0; c < n; ++c) panel.mass[c] = static_cast<T>(weights[c]);
  }
}

template <class T, bool spreads, bool has_p, bool has_w>
AORTA_INLINE void line_gradient(const Panel<T>& panel, T scale, T gradient, T* output) {
  const T shift = panel.largest[0], total = panel.log_sum[0];
  const T* const p = has_p ? panel.p : nullptr;
  const T* const w = has_w ? panel.w : nullptr;
#pragma GCC ivdep
  for (int64_t i = 0; i < panel.length; ++i) {
    const T value = scale * body::class_probability(panel.x[i], shift, total);
    output[i] = spreads ? value - gradient * target_weight(panel, p, w, i) : value;
  }
}

template <class T>
void line_backward(const ClassPanel& given, const double* scales, const double* gradients,
                   void* output) {
  const Panel<T> panel(given);
  const T scale = static_cast<T>(scales[0]), gradient = static_cast<T>(gradients[0]);
  T* const out = static_cast<T*>(output);
  if (!panel.spreads) return line_gradient<T, false, false, false>(panel, scale, gradient, out);
  if (panel.p && panel.w) return line_gradient<T, true, true, true>(panel, scale, gradient, out);
  if (panel.p) return line_gradient<T, true, true, false>(panel, scale, gradient, out);
  if (panel.w) return line_gradient<T, true, false, true>(panel, scale, gradient, out);
  line_gradient<T, true, false, false>(panel, scale, gradient, out);
}

template <class T>
void columns_backward(const ClassPanel& given, const double* scales, const double* gradients,
                      void* output) {
  const Panel<T> panel(given);
  const int64_t n = panel.columns;
  T scale[kClassColumns], gradient[kClassColumns], shift[kClassColumns], total[kClassColumns];
  for (int64_t c = 0; c < n; ++c) {
    scale[c] = static_cast<T>(scales[c]);
    gradient[c] = static_cast<T>(gradients[c]);
    shift[c] = panel.largest[c];
    total[c] = panel.log_sum[c];
  }
  for (int64_t r = 0; r < panel.length; ++r) {
    const T* const x = panel.x + r * panel.stride;
    T* const out = static_cast<T*>(output) + r * panel.stride;
    const T weight = panel.w ? panel.w[r] : T(1);
    if (panel.p) {
      const T* const p = panel.p + r * panel.stride;
#pragma GCC ivdep
      for (int64_t c = 0; c < n; ++c) {
        const T q = weight * body::class_share(panel.share, panel.kept, p[c]);
        out[c] = scale[c] * body::class_probability(x[c], shift[c], total[c]) - gradient[c] * q;
      }
    } else if (panel.spreads) {
      const T q = weight * panel.share;
#pragma GCC ivdep
      for (int64_t c = 0; c < n; ++c)
        out[c] = scale[c] * body::class_probability(x[c], shift[c], total[c]) - gradient[c] * q;
    } else {
#pragma GCC ivdep
      for (int64_t c = 0; c < n; ++c)
        out[c] = scale[c] * body::class_probability(x[c], shift[c], total[c]);
    }
  }
}

}  // namespace

const ClassLossLoops class_loss_loops = {
    [](bool is_double) { return is_double ? line<double> : line<float>; },
    [](bool is_double) { return is_double ? columns<double> : columns<float>; },
    [](bool is_double) { return is_double ? line_backward<double> : line_backward<float>; },
    [](bool is_double) { return is_double ? columns_backward<double> : columns_backward<float>; }};

}  // namespace aorta::cpu::AORTA_ISA
