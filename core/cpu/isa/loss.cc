#include <aorta/core/cpu/compute.h>
#include <aorta/core/cpu/isa/half_row.h>
#include <aorta/core/cpu/loss.h>
#include <aorta/core/scalar/loss.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

using namespace scalar;

// Elements are taken a block at a time, each block's sums in lanes of their own, the same for every
// instruction set. Lanes of float are added to those of double every so many blocks.
constexpr int kBlock = kHalfBlock;
constexpr int64_t kFlush = 16;

AORTA_INLINE void widen(double* block, const double* x) {
  for (int j = 0; j < kBlock; ++j) block[j] = x[j];
}
AORTA_INLINE void narrow(double* out, const double* block) {
  for (int j = 0; j < kBlock; ++j) out[j] = block[j];
}

// n < kBlock elements, and zeros.
template <class T>
AORTA_INLINE void widen_part(Compute<T>* block, const T* x, int64_t n) {
  for (int j = 0; j < kBlock; ++j) block[j] = 0;
  for (int64_t j = 0; j < n; ++j) block[j] = static_cast<Compute<T>>(x[j]);
}

// An operand that may be one number for all, or none (1).
template <class T>
struct Factor {
  using C = Compute<T>;
  const T* data;
  bool each;
  C block[kBlock];

  AORTA_INLINE Factor(const void* given, int64_t step)
      : data(static_cast<const T*>(given)), each(data && step) {
    const C number = data ? static_cast<C>(data[0]) : C(1);
    for (int j = 0; j < kBlock; ++j) block[j] = number;
  }
  AORTA_INLINE void take(int64_t i, int64_t n) {
    if (!each) return;
    if (n == kBlock)
      widen(block, data + i);
    else
      widen_part(block, data + i, n);
  }
};

template <class F>
AORTA_INLINE F make(double parameter) {
  if constexpr (requires { F{parameter}; })
    return F{parameter};
  else
    return F{};
}

// Calls body(x, t, i, n) with blocks of n elements from i on, n < kBlock for the last alone.
template <class T, class Body>
AORTA_INLINE void for_each_block(const LossArgs& args, int64_t first, int64_t end,
                                 const Body& body) {
  const T* const x = static_cast<const T*>(args.input);
  const T* const t = static_cast<const T*>(args.target);
  Compute<T> input[kBlock], target[kBlock];
  int64_t i = first;
  for (; i + kBlock <= end; i += kBlock) {
    widen(input, x + i);
    widen(target, t + i);
    body(input, target, i, int64_t{kBlock});
  }
  if (i == end) return;
  widen_part(input, x + i, end - i);
  widen_part(target, t + i, end - i);
  body(input, target, i, end - i);
}

template <class T>
AORTA_INLINE void store_block(void* output, int64_t i, int64_t n, const Compute<T>* block) {
  T* const out = static_cast<T*>(output) + i;
  if (n == kBlock) return narrow(out, block);
  for (int64_t j = 0; j < n; ++j) out[j] = T(block[j]);
}

template <class F, class T>
double run(const LossArgs& args, int64_t first, int64_t end, bool& outside) {
  using C = Compute<T>;
  const F f = make<F>(args.parameter);
  Factor<T> weight(args.weight, args.weight_step), positive(args.pos_weight, args.pos_weight_step);
  const bool weighted = args.weight != nullptr;
  C part[kBlock] = {};
  double sums[kBlock] = {};
  int bad[kBlock] = {};
  int64_t until_flush = kFlush;
  const auto flush = [&]() __attribute__((always_inline)) {
    for (int j = 0; j < kBlock; ++j) {
      sums[j] += static_cast<double>(part[j]);
      part[j] = 0;
    }
    until_flush = kFlush;
  };
  for_each_block<T>(
      args, first,
      end, [&](const C* x, const C* t, int64_t i, int64_t n) __attribute__((always_inline)) {
        C values[kBlock];
        positive.take(i, n);
        for (int j = 0; j < kBlock; ++j) values[j] = f.value(x[j], t[j], positive.block[j]);
        if constexpr (std::is_same_v<F, BceLoss>) {
          for (int j = 0; j < kBlock; ++j) {
            const bool known = (x[j] >= C(0)) & (x[j] <= C(1));
            bad[j] |= known & (t[j] >= C(0)) & (t[j] <= C(1)) ? 0 : 1;
          }
        }
        if (weighted) {
          weight.take(i, n);
          for (int j = 0; j < kBlock; ++j) values[j] *= weight.block[j];
        }
        if (!args.reduced) return store_block<T>(args.output, i, n, values);
        if (n < kBlock) {
          for (int64_t j = n; j < kBlock; ++j) values[j] = 0;
        }
        for (int j = 0; j < kBlock; ++j) part[j] += values[j];
        if (--until_flush == 0) flush();
      });
  flush();
  for (int j = 0; j < kBlock; ++j) outside |= bad[j] != 0;
  for (int width = kBlock / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) sums[j] += sums[j + width];
  }
  return sums[0];
}

template <class F, class T>
void run_backward(const LossArgs& args, int64_t first, int64_t end) {
  using C = Compute<T>;
  const F f = make<F>(args.parameter);
  Factor<T> weight(args.weight, args.weight_step), positive(args.pos_weight, args.pos_weight_step);
  Factor<T> gradient(args.gradient, args.gradient_step);
  const bool weighted = args.weight != nullptr;
  const C scale = static_cast<C>(args.scale);
  for_each_block<T>(
      args, first,
      end, [&](const C* x, const C* t, int64_t i, int64_t n) __attribute__((always_inline)) {
        C values[kBlock];
        positive.take(i, n);
        gradient.take(i, n);
        for (int j = 0; j < kBlock; ++j)
          values[j] = scale * gradient.block[j] * f.slope(x[j], t[j], positive.block[j]);
        if (weighted) {
          weight.take(i, n);
          for (int j = 0; j < kBlock; ++j) values[j] *= weight.block[j];
        }
        store_block<T>(args.output, i, n, values);
      });
}

// Calls use(F*, T*) with the functor and the type in memory.
template <class F, class Use>
AORTA_INLINE auto with_type(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::f64:
      return use(static_cast<F*>(nullptr), static_cast<double*>(nullptr));
    case DType::f16:
      return use(static_cast<F*>(nullptr), static_cast<Half*>(nullptr));
    case DType::bf16:
      return use(static_cast<F*>(nullptr), static_cast<BFloat16*>(nullptr));
    default:
      return use(static_cast<F*>(nullptr), static_cast<float*>(nullptr));
  }
}
template <class Use>
AORTA_INLINE auto with_loss(LossKind kind, DType dtype, const Use& use) {
  switch (kind) {
    case LossKind::mse:
      return with_type<MseLoss>(dtype, use);
    case LossKind::l1:
      return with_type<L1Loss>(dtype, use);
    case LossKind::smooth_l1:
      return with_type<SmoothL1Loss>(dtype, use);
    case LossKind::huber:
      return with_type<HuberLoss>(dtype, use);
    case LossKind::bce_with_logits:
      return with_type<BceWithLogitsLoss>(dtype, use);
    case LossKind::bce:
      return with_type<BceLoss>(dtype, use);
    case LossKind::kl_div:
      return with_type<KlDivLoss>(dtype, use);
    case LossKind::kl_log:
      break;
  }
  return with_type<KlDivLogLoss>(dtype, use);
}

// ---- Products along lines. A line's sums, or those of lines side by side, are taken in lanes.

AORTA_INLINE double joined(double* lanes) {
  for (int width = kBlock / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

// Sums are f64, which holds the square of any f32.
template <class C>
AORTA_INLINE void add_products(double (*sums)[kBlock], const C* a, const C* b) {
  for (int j = 0; j < kBlock; ++j) {
    const double x = a[j], y = b[j];
    sums[0][j] += x * y;
    sums[1][j] += x * x;
    sums[2][j] += y * y;
  }
}

template <class T>
AORTA_INLINE void products_of_line(const T* x, const T* y, int64_t n, double* results) {
  if (n <= kBlock / 2) {  // joining lanes takes longer
    double xy = 0, xx = 0, yy = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double a = static_cast<Compute<T>>(x[i]), b = static_cast<Compute<T>>(y[i]);
      xy += a * b;
      xx += a * a;
      yy += b * b;
    }
    results[0] = xy;
    results[1] = xx;
    results[2] = yy;
    return;
  }
  double sums[3][kBlock] = {};
  Compute<T> a[kBlock], b[kBlock];
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    widen(a, x + i);
    widen(b, y + i);
    add_products(sums, a, b);
  }
  if (i < n) {
    widen_part(a, x + i, n - i);
    widen_part(b, y + i, n - i);
    add_products(sums, a, b);
  }
  for (int k = 0; k < 3; ++k) results[k] = joined(sums[k]);
}

template <class T>
AORTA_INLINE void products_of_columns(const T* x, const T* y, const Lines& lines, int64_t columns,
                                      double (*results)[kBlock]) {
  for (int k = 0; k < 3; ++k) {
    for (int j = 0; j < kBlock; ++j) results[k][j] = 0;
  }
  Compute<T> a[kBlock], b[kBlock];
  for (int64_t r = 0; r < lines.length; ++r, x += lines.inner, y += lines.inner) {
    if (columns == kBlock) {
      widen(a, x);
      widen(b, y);
    } else {
      widen_part(a, x, columns);
      widen_part(b, y, columns);
    }
    add_products(results, a, b);
  }
}

template <class T>
void line_products(const LineProductsArgs& args, int64_t first, int64_t end) {
  const Lines lines = args.lines;
  const int64_t count = lines.count();
  const T* const x = static_cast<const T*>(args.x);
  const T* const y = static_cast<const T*>(args.y);
  for (int64_t i = first; i < end;) {
    const int64_t column = i % lines.inner;
    const int64_t at = i / lines.inner * lines.length * lines.inner + column;
    if (lines.inner == 1) {
      double results[3];
      products_of_line(x + at, y + at, lines.length, results);
      for (int k = 0; k < 3; ++k) args.output[k * count + i] = results[k];
      ++i;
      continue;
    }
    int64_t columns = lines.inner - column;
    if (columns > end - i) columns = end - i;
    if (columns > kBlock) columns = kBlock;
    double results[3][kBlock];
    products_of_columns(x + at, y + at, lines, columns, results);
    for (int k = 0; k < 3; ++k) {
      for (int64_t j = 0; j < columns; ++j) args.output[k * count + i + j] = results[k][j];
    }
    i += columns;
  }
}

// The factors of y and x in a line's gradient of x: the gradient of the sum of products, and twice
// that of the squares.
struct LineFactors {
  double products[kBlock], x_squares[kBlock], y_squares[kBlock];

  AORTA_INLINE void take(const LineProductsArgs& args, int64_t line, int64_t lines) {
    const double* const g = args.gradient;
    const int64_t count = args.lines.count();
    for (int j = 0; j < kBlock; ++j) {
      const int64_t at = line + (j < lines ? j : lines - 1);
      products[j] = g[at];
      x_squares[j] = 2 * g[count + at];
      y_squares[j] = 2 * g[2 * count + at];
    }
  }
};

// The gradients of n elements from `at` on, one of each line that `f` has factors of.
template <class T>
AORTA_INLINE void line_gradients(const LineProductsArgs& args, const LineFactors& f, int64_t at,
                                 int64_t n) {
  using C = Compute<T>;
  const T* const x = static_cast<const T*>(args.x) + at;
  const T* const y = static_cast<const T*>(args.y) + at;
  C a[kBlock], b[kBlock], values[kBlock];
  if (n == kBlock) {
    widen(a, x);
    widen(b, y);
  } else {
    widen_part(a, x, n);
    widen_part(b, y, n);
  }
  if (args.x_gradient) {
    for (int j = 0; j < kBlock; ++j)
      values[j] = static_cast<C>(f.products[j] * b[j] + f.x_squares[j] * a[j]);
    store_block<T>(args.x_gradient, at, n, values);
  }
  if (args.y_gradient) {
    for (int j = 0; j < kBlock; ++j)
      values[j] = static_cast<C>(f.products[j] * a[j] + f.y_squares[j] * b[j]);
    store_block<T>(args.y_gradient, at, n, values);
  }
}

// The gradients of a line of at most half a block of neighbours, for which blocks take longer.
template <class T>
AORTA_INLINE void short_line_gradients(const LineProductsArgs& args, int64_t line, int64_t at) {
  using C = Compute<T>;
  const int64_t count = args.lines.count();
  const double g = args.gradient[line], x_squares = 2 * args.gradient[count + line],
               y_squares = 2 * args.gradient[2 * count + line];
  for (int64_t i = at; i < at + args.lines.length; ++i) {
    const double x = static_cast<C>(static_cast<const T*>(args.x)[i]);
    const double y = static_cast<C>(static_cast<const T*>(args.y)[i]);
    if (args.x_gradient)
      static_cast<T*>(args.x_gradient)[i] = T(static_cast<C>(g * y + x_squares * x));
    if (args.y_gradient)
      static_cast<T*>(args.y_gradient)[i] = T(static_cast<C>(g * x + y_squares * y));
  }
}

template <class T>
void line_products_backward(const LineProductsArgs& args, int64_t first, int64_t end) {
  const Lines lines = args.lines;
  LineFactors factors;
  for (int64_t i = first; i < end;) {
    const int64_t column = i % lines.inner;
    int64_t at = i / lines.inner * lines.length * lines.inner + column;
    if (lines.inner == 1 && lines.length <= kBlock / 2) {
      short_line_gradients<T>(args, i, at);
      ++i;
      continue;
    }
    if (lines.inner == 1) {
      factors.take(args, i, 1);
      for (int64_t r = 0; r < lines.length; r += kBlock, at += kBlock) {
        const int64_t left = lines.length - r;
        line_gradients<T>(args, factors, at, left < kBlock ? left : int64_t{kBlock});
      }
      ++i;
      continue;
    }
    int64_t columns = lines.inner - column;
    if (columns > end - i) columns = end - i;
    if (columns > kBlock) columns = kBlock;
    factors.take(args, i, columns);
    for (int64_t r = 0; r < lines.length; ++r, at += lines.inner)
      line_gradients<T>(args, factors, at, columns);
    i += columns;
  }
}

LossFunction loss_function(LossKind kind, DType dtype) {
  return with_loss(kind, dtype, []<class F, class T>(F*, T*) -> LossFunction { return run<F, T>; });
}
LossBackwardFunction loss_backward_function(LossKind kind, DType dtype) {
  return with_loss(kind, dtype, []<class F, class T>(F*, T*) -> LossBackwardFunction {
    return run_backward<F, T>;
  });
}
LineProductsFunction line_products_function(DType dtype) {
  return with_type<MseLoss>(
      dtype, []<class F, class T>(F*, T*) -> LineProductsFunction { return line_products<T>; });
}
LineProductsFunction line_products_backward_function(DType dtype) {
  return with_type<MseLoss>(dtype, []<class F, class T>(F*, T*) -> LineProductsFunction {
    return line_products_backward<T>;
  });
}

}  // namespace

const LossLoops loss_loops = {loss_function, loss_backward_function, line_products_function,
                              line_products_backward_function};

}  // namespace aorta::cpu::AORTA_ISA
