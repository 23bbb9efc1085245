#pragma once

// Convolutions drawn at random, and what nested loops make of them.

#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace aorta::convolution_loops {

/// A convolution's operands, drawn at random.
struct Problem {
  kernel::ConvolutionPlan plan;
  Shape x, w, y;
};

/// Geometries of every kind, of up to `channels` channels a group.
inline Problem random_problem(std::mt19937& random, int spatial, int64_t channels) {
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Problem p;
  p.plan.spatial = spatial;
  p.plan.groups = between(0, 2) > 0 ? 1 : between(2, 3);
  const int64_t into = between(1, channels), out = between(1, channels);
  p.x = {between(1, 3), into * p.plan.groups};
  p.w = {out * p.plan.groups, into};
  p.y = {p.x[0], out * p.plan.groups};
  for (int d = 3 - spatial; d < 3; ++d) {
    kernel::ConvDim& dim = p.plan.dims[d];
    dim = {
        between(1, d == 2 ? 20 : 7), 0, between(1, 4), between(1, 3), between(0, 4), between(1, 3)};
    const auto room = [&] {
      return dim.input + 2 * dim.padding - (dim.kernel - 1) * dim.dilation - 1;
    };
    while (room() < 0) ++dim.padding;
    dim.output = room() / dim.stride + 1;
    p.x.push_back(dim.input);
    p.w.push_back(dim.kernel);
    p.y.push_back(dim.output);
  }
  return p;
}

/// Nested loops: calls f(x, w, y) with the places of every product, padding left out.
template <class F>
void each_product(const Problem& p, const F& f) {
  const kernel::ConvDim* const d = p.plan.dims;
  const int64_t into = p.w[1], out = p.w[0] / p.plan.groups;
  const auto inside = [](const kernel::ConvDim& dim, int64_t o, int64_t j) {
    const int64_t i = o * dim.stride - dim.padding + j * dim.dilation;
    return i >= 0 && i < dim.input ? i : -1;
  };
  const int64_t outputs = d[0].output * d[1].output * d[2].output;
  const int64_t kernel = d[0].kernel * d[1].kernel * d[2].kernel;
  for (int64_t a = 0; a < outputs; ++a) {
    const int64_t a0 = a / (d[1].output * d[2].output), a1 = a / d[2].output % d[1].output;
    for (int64_t k = 0; k < kernel; ++k) {
      const int64_t i0 = inside(d[0], a0, k / (d[1].kernel * d[2].kernel));
      const int64_t i1 = inside(d[1], a1, k / d[2].kernel % d[1].kernel);
      const int64_t i2 = inside(d[2], a % d[2].output, k % d[2].kernel);
      if (i0 < 0 || i1 < 0 || i2 < 0) continue;
      const int64_t image = d[0].input * d[1].input * d[2].input;
      const int64_t i = (i0 * d[1].input + i1) * d[2].input + i2;
      for (int64_t n = 0; n < p.x[0]; ++n) {
        for (int64_t o = 0; o < p.w[0]; ++o) {
          for (int64_t c = 0; c < into; ++c) {
            f((n * p.x[1] + o / out * into + c) * image + i, (o * into + c) * kernel + k,
              (n * p.y[1] + o) * outputs + a);
          }
        }
      }
    }
  }
}

/// Numbers from -3 to 3.
inline Tensor integers(const Shape& shape, DType dtype, std::mt19937& random) {
  Tensor t = empty(shape, {.dtype = f64});
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<double>()[i] = static_cast<double>(std::uniform_int_distribution(-3, 3)(random));
  return t.to(dtype);
}

/// All numbers, in order.
inline std::vector<double> values(const Tensor& t) { return t.to(f64).to_vector<double>(); }

/// Small integers: every dtype's sums are exact, so the results are too.
inline void expect_nested_loops(const Problem& p, DType dtype, std::mt19937& random,
                                Device device = {}) {
  const Tensor x = integers(p.x, dtype, random), w = integers(p.w, dtype, random);
  const Tensor y = integers(p.y, dtype, random), bias = integers({p.w[0]}, dtype, random);
  const std::vector<double> xs = values(x), ws = values(w), ys = values(y), bs = values(bias);
  std::vector<double> of_x(ys.size()), of_y(xs.size()), of_w(ws.size());
  const int64_t positions = y.numel() / (p.y[0] * p.y[1]);
  for (size_t j = 0; j < ys.size(); ++j)
    of_x[j] = bs[static_cast<size_t>(static_cast<int64_t>(j) / positions % p.y[1])];
  each_product(p, [&](int64_t a, int64_t b, int64_t c) {
    const size_t at = static_cast<size_t>(a), tap = static_cast<size_t>(b);
    const size_t to = static_cast<size_t>(c);
    of_x[to] += xs[at] * ws[tap];
    of_y[at] += ys[to] * ws[tap];
    of_w[tap] += xs[at] * ys[to];
  });
  SCOPED_TRACE(std::string(name(dtype)) + " x " + to_string(p.x) + " w " + to_string(p.w) + " y " +
               to_string(p.y) + " groups " + std::to_string(p.plan.groups));
  const auto expect = [&](const Tensor& result, const std::vector<double>& wanted) {
    const std::vector<double> got = values(result);
    const std::vector<double> rounded = values(tensor(wanted, {.dtype = f64}).to(dtype));
    for (size_t j = 0; j < wanted.size(); ++j) ASSERT_EQ(got[j], rounded[j]) << j;
  };
  for (const bool last : {false, true}) {
    const auto laid_out = [&](const Tensor& t) {
      const Tensor there = t.to(device);
      return last && t.dim() > 3 ? there.contiguous(MemoryFormat::channels_last) : there;
    };
    expect(kernel::convolution(laid_out(x), laid_out(w), bias.to(device), p.plan), of_x);
    expect(kernel::convolution_transpose(laid_out(y), laid_out(w), {}, p.plan), of_y);
    expect(kernel::convolution_weight(laid_out(x), laid_out(y), p.plan, last), of_w);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace aorta::convolution_loops
