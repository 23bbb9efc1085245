// The transforms of Winograd's F(4x4, 3x3), a register's width of channels at a time.

#include <aorta/core/cpu/isa/gemm_halves.h>
#include <aorta/core/cpu/winograd.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

using Vector = F32::Vector;
constexpr int kLanes = F32::kLanes;
constexpr int64_t kBlock = kGemmSteps;  // channels that lie beside each other in a blocked panel

AORTA_INLINE Vector times(float factor, Vector x) { return F32::multiply(F32::fill(factor), x); }
// factor * x + y
AORTA_INLINE Vector add_times(float factor, Vector x, Vector y) {
  return F32::multiply_add(F32::fill(factor), x, y);
}

// The points 0, a, -a, b, -b and infinity, with which f32 loses the least, and the divisors of the
// interpolation at a and b.
constexpr float kA = 0.625f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB;
constexpr float kAtA = 1 / (2 * kA2 * (kA2 - kB2)), kAtB = 1 / (2 * kB2 * (kB2 - kA2));

// The window's transform along one dimension, in place.
AORTA_INLINE void transform_window(Vector* d) {
  const Vector even_a = add_times(-kB2, d[2], d[4]), odd_a = add_times(-kB2, d[1], d[3]);
  const Vector even_b = add_times(-kA2, d[2], d[4]), odd_b = add_times(-kA2, d[1], d[3]);
  d[0] = add_times(kA2 * kB2, d[0], add_times(-(kA2 + kB2), d[2], d[4]));
  d[5] = add_times(kA2 * kB2, d[1], add_times(-(kA2 + kB2), d[3], d[5]));
  d[1] = add_times(kA, odd_a, even_a);
  d[2] = add_times(-kA, odd_a, even_a);
  d[3] = add_times(kB, odd_b, even_b);
  d[4] = add_times(-kB, odd_b, even_b);
}

// The kernel's transform takes 3 numbers to 6.
AORTA_INLINE void transform_kernel(const Vector* g, Vector* u) {
  const Vector even_a = times(kAtA, add_times(kA2, g[2], g[0]));
  const Vector even_b = times(kAtB, add_times(kB2, g[2], g[0]));
  u[0] = times(1 / (kA2 * kB2), g[0]);
  u[1] = add_times(kA * kAtA, g[1], even_a);
  u[2] = add_times(-kA * kAtA, g[1], even_a);
  u[3] = add_times(kB * kAtB, g[1], even_b);
  u[4] = add_times(-kB * kAtB, g[1], even_b);
  u[5] = g[2];
}

// The result's transform takes 6 numbers to 4.
AORTA_INLINE void transform_result(const Vector* m, Vector* y) {
  const Vector sum_a = m[1] + m[2], sum_b = m[3] + m[4];
  const Vector odd_a = times(kA, m[1] - m[2]), odd_b = times(kB, m[3] - m[4]);
  y[0] = m[0] + sum_a + sum_b;
  y[1] = odd_a + odd_b;
  y[2] = add_times(kA2, sum_a, times(kB2, sum_b));
  y[3] = add_times(kA2, odd_a, add_times(kB2, odd_b, m[5]));
}

// The gradient of the kernels is F(3x3, 4x4): this transform takes 4 numbers to 6, and the next 6
// to 3.
AORTA_INLINE void transform_gradient(const Vector* e, Vector* u) {
  const Vector even_a = times(kAtA, add_times(kA2, e[2], e[0]));
  const Vector odd_a = times(kA * kAtA, add_times(kA2, e[3], e[1]));
  const Vector even_b = times(kAtB, add_times(kB2, e[2], e[0]));
  const Vector odd_b = times(kB * kAtB, add_times(kB2, e[3], e[1]));
  u[0] = times(1 / (kA2 * kB2), e[0]);
  u[1] = even_a + odd_a;
  u[2] = even_a - odd_a;
  u[3] = even_b + odd_b;
  u[4] = even_b - odd_b;
  u[5] = e[3];
}
AORTA_INLINE void transform_sums(const Vector* m, Vector* y) {
  const Vector sum_a = m[1] + m[2], sum_b = m[3] + m[4];
  y[0] = m[0] + sum_a + sum_b;
  y[1] = add_times(kA, m[1] - m[2], times(kB, m[3] - m[4]));
  y[2] = add_times(kA2, sum_a, add_times(kB2, sum_b, m[5]));
}

// What the transforms read and write are vectors V of numbers of one dtype.

template <class V>
void transform_input(const WinogradInput& in, const WinogradPart& part) {
  using Element = typename V::Element;
  static const Element zeros[kLanes] = {};
  const auto* const source = static_cast<const Element*>(in.source);
  for (int64_t row = part.first_tile; row < part.end_tile; ++row) {
    const WinogradTile& tile = in.tiles[row];
    const Element* windows[6][6];
    int64_t masks[6][6];  // outside, every channel is the zero
    for (int i = 0; i < 6; ++i) {
      for (int j = 0; j < 6; ++j) {
        const bool inside =
            i >= tile.first[0] && i < tile.end[0] && j >= tile.first[1] && j < tile.end[1];
        windows[i][j] = inside ? source + tile.source + i * in.steps[0] + j * in.steps[1] : zeros;
        masks[i][j] = inside ? -1 : 0;
      }
    }
    const int64_t panel = row / in.panel * in.panel;
    const int64_t lines = in.rows - panel < in.panel ? in.rows - panel : in.panel;
    for (int64_t c = part.first_channel; c < part.end_channel; c += kLanes) {
      Vector t[6][6];
      for (int j = 0; j < 6; ++j) {
        Vector d[6];
#pragma GCC unroll 6
        for (int i = 0; i < 6; ++i) {
          d[i] = V::load(windows[i][j] + (c & masks[i][j]));
        }
        transform_window(d);
#pragma GCC unroll 6
        for (int i = 0; i < 6; ++i) t[i][j] = d[i];
      }
      float* to = in.output;
      if (in.as_columns) {
        const int64_t column = c / in.panel * in.panel;
        const int64_t width = in.channels - column < in.panel ? in.channels - column : in.panel;
        to += column * in.rows + row * width + (c - column);
      } else {
        const int64_t strip = c / in.strip * in.strip, at = c - strip;
        const int64_t depth = in.channels - strip < in.strip ? in.channels - strip : in.strip;
        to += strip * in.rows + panel * depth + at / kBlock * lines * kBlock +
              (row - panel) * kBlock + at % kBlock;
      }
      for (int i = 0; i < 6; ++i) {
        transform_window(t[i]);
#pragma GCC unroll 6
        for (int j = 0; j < 6; ++j) F32::store(to + (6 * i + j) * in.point_stride, t[i][j]);
      }
    }
  }
}

template <class V>
void transform_gradients(const WinogradGradient& g, const WinogradPart& part) {
  const auto* const source = static_cast<const typename V::Element*>(g.source);
  for (int64_t row = part.first_tile; row < part.end_tile; ++row) {
    const WinogradTile& tile = g.tiles[row];
    for (int64_t c = part.first_channel; c < part.end_channel; c += kLanes) {
      Vector t[6][4];
      for (int j = 0; j < 4; ++j) {
        Vector e[4], u[6];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          const bool inside = i < tile.count[0] && j < tile.count[1];
          e[i] = inside ? V::load(source + tile.target + i * g.steps[0] + j * g.steps[1] + c)
                        : F32::zero();
        }
        transform_gradient(e, u);
#pragma GCC unroll 6
        for (int i = 0; i < 6; ++i) t[i][j] = u[i];
      }
      float* const to = g.output + row * g.channels + c;
      for (int i = 0; i < 6; ++i) {
        Vector u[6];
        transform_gradient(t[i], u);
#pragma GCC unroll 6
        for (int j = 0; j < 6; ++j) F32::store(to + (6 * i + j) * g.point_stride, u[j]);
      }
    }
  }
}

void winograd_weights(const WinogradWeights& weights) {
  const WinogradWeights& w = weights;
  // A block of kernels with columns side by side: [step][tap][column].
  constexpr int kSteps = 4;
  alignas(64) float taps[kSteps][9][16];
  for (int64_t column = 0; column < w.columns; column += kLanes) {
    for (int64_t step = 0; step < w.depth; step += kSteps) {
      for (int tap = 0; tap < 9; ++tap) {
        const int i = w.flipped ? 2 - tap / 3 : tap / 3, j = w.flipped ? 2 - tap % 3 : tap % 3;
        const float* const from = w.w + column * w.column_stride + step * w.step_stride +
                                  i * w.tap_strides[0] + j * w.tap_strides[1];
        if (w.column_stride == 1) {
          for (int s = 0; s < kSteps; ++s)
            F32::store(taps[s][tap], F32::load(from + s * w.step_stride));
        } else if (w.step_stride == 1) {
          for (int l = 0; l < kLanes; l += 4) {
            const float* const line = from + l * w.column_stride;
            __m128 a = _mm_loadu_ps(line), b = _mm_loadu_ps(line + w.column_stride);
            __m128 c = _mm_loadu_ps(line + 2 * w.column_stride);
            __m128 d = _mm_loadu_ps(line + 3 * w.column_stride);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(taps[0][tap] + l, a);
            _mm_storeu_ps(taps[1][tap] + l, b);
            _mm_storeu_ps(taps[2][tap] + l, c);
            _mm_storeu_ps(taps[3][tap] + l, d);
          }
        } else {
          for (int l = 0; l < kLanes; ++l) {
            for (int s = 0; s < kSteps; ++s)
              taps[s][tap][l] = from[l * w.column_stride + s * w.step_stride];
          }
        }
      }
      for (int s = 0; s < kSteps; ++s) {
        Vector t[6][3];
        for (int j = 0; j < 3; ++j) {
          const Vector g[3] = {F32::load(taps[s][j]), F32::load(taps[s][3 + j]),
                               F32::load(taps[s][6 + j])};
          Vector u[6];
          transform_kernel(g, u);
#pragma GCC unroll 6
          for (int i = 0; i < 6; ++i) t[i][j] = u[i];
        }
        float* const to = w.output + (step + s) * w.padded + column;
        for (int i = 0; i < 6; ++i) {
          Vector u[6];
          transform_kernel(t[i], u);
#pragma GCC unroll 6
          for (int j = 0; j < 6; ++j) F32::store(to + (6 * i + j) * w.point_stride, u[j]);
        }
      }
    }
  }
}

template <class V>
void transform_output(const WinogradOutput& out, const WinogradPart& part) {
  auto* const target = static_cast<typename V::Element*>(out.target);
  for (int64_t row = part.first_tile; row < part.end_tile; ++row) {
    const WinogradTile& tile = out.tiles[row];
    for (int64_t c = part.first_channel; c < part.end_channel; c += kLanes) {
      const float* const from = out.products + row * out.channels + c;
      Vector t[4][6];
      for (int j = 0; j < 6; ++j) {
        Vector m[6], y[4];
#pragma GCC unroll 6
        for (int i = 0; i < 6; ++i) m[i] = F32::load(from + (6 * i + j) * out.point_stride);
        transform_result(m, y);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) t[i][j] = y[i];
      }
      const Vector bias = out.bias ? F32::load(out.bias + c) : F32::zero();
      auto* const to = target + tile.target + c;
      for (int i = 0; i < tile.count[0]; ++i) {
        Vector y[4];
        transform_result(t[i], y);
        for (int j = 0; j < tile.count[1]; ++j)
          V::store(to + i * out.steps[0] + j * out.steps[1], y[j] + bias);
      }
    }
  }
}

template <class V>
void transform_kernel_sums(const WinogradKernelSums& k) {
  auto* const output = static_cast<typename V::Element*>(k.output);
  for (int64_t c = 0; c < k.channels; c += kLanes) {
    Vector t[3][6];
    for (int j = 0; j < 6; ++j) {
      Vector m[6], y[3];
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) m[i] = F32::load(k.sums + (6 * i + j) * k.point_stride + c);
      transform_sums(m, y);
#pragma GCC unroll 3
      for (int i = 0; i < 3; ++i) t[i][j] = y[i];
    }
    for (int i = 0; i < 3; ++i) {
      Vector y[3];
      transform_sums(t[i], y);
#pragma GCC unroll 3
      for (int j = 0; j < 3; ++j) V::store(output + (3 * i + j) * k.channels + c, y[j]);
    }
  }
}

template <class V>
void widen_numbers(const void* numbers, int64_t count, float* output) {
  const auto* const from = static_cast<const typename V::Element*>(numbers);
  for (int64_t i = 0; i < count; ++i) output[i] = from[i];
}

// Calls function(V()) with the vectors of a dtype.
template <class Function>
AORTA_INLINE void with_vectors(DType dtype, const Function& function) {
  if (dtype == DType::bf16) return function(Widened<BFloat16>());
  if (dtype == DType::f16) return function(Widened<Half>());
  function(F32());
}

void winograd_input(const WinogradInput& in, const WinogradPart& part) {
  with_vectors(in.dtype, [&](auto v) { transform_input<decltype(v)>(in, part); });
}
void winograd_gradient(const WinogradGradient& g, const WinogradPart& part) {
  with_vectors(g.dtype, [&](auto v) { transform_gradients<decltype(v)>(g, part); });
}
void winograd_output(const WinogradOutput& out, const WinogradPart& part) {
  with_vectors(out.dtype, [&](auto v) { transform_output<decltype(v)>(out, part); });
}
void winograd_kernel_sums(const WinogradKernelSums& k) {
  with_vectors(k.dtype, [&](auto v) { transform_kernel_sums<decltype(v)>(k); });
}
void winograd_widen(DType dtype, const void* numbers, int64_t count, float* output) {
  with_vectors(dtype, [&](auto v) { widen_numbers<decltype(v)>(numbers, count, output); });
}

}  // namespace

const WinogradLoops winograd_loops = {winograd_input,  winograd_gradient,    winograd_weights,
                                      winograd_output, winograd_kernel_sums, winograd_widen};

}  // namespace aorta::cpu::AORTA_ISA
