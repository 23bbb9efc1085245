#include <aorta/autograd/backward.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <complex>

namespace aorta {
namespace {

using std::complex_literals::operator""i;

Tensor complexes(const std::vector<std::complex<double>>& values) { return tensor(values); }

// The gradient of a real loss L is dL/dRe + i dL/dIm: of |z|^2 it is 2 z.
TEST(ComplexGradient, HasPyTorchsConvention) {
  const Tensor z = complexes({{1, 2}, {-3, 0.5}}).requires_grad_();
  sum(square(abs(z))).backward();
  EXPECT_TRUE(allclose(z.grad(), z.detach() * 2));
  sum(real(z * conj(z))).backward();  // and accumulates
  EXPECT_TRUE(allclose(z.grad(), z.detach() * 4));
  EXPECT_EQ(z.grad().dtype(), c128);
}

TEST(ComplexGradient, OfARealInputIsReal) {
  const Tensor x = tensor({1.0, 2.0}, {.dtype = f64}).requires_grad_();
  sum(imag(x * (2.0 + 3i) * x.to(c128))).backward();
  EXPECT_EQ(x.grad().dtype(), f64);
  EXPECT_TRUE(allclose(x.grad(), x.detach() * 6));
}

TEST(ComplexGradient, NeedsAGradientOfAComplexResult) {
  const Tensor z = complexes({{1, 2}}).requires_grad_();
  EXPECT_EQ(error_of([&] { (z * z).backward(); }),
            "backward: a gradient must be given for a complex output, got c128");
  (z * z).backward(complexes({{1, 0}}));
  EXPECT_TRUE(allclose(z.grad(), conj(z.detach()) * 2));
  const Tensor x = ones({1}).requires_grad_();
  EXPECT_EQ(error_of([&] { (x * x).backward(ones({1}, {.dtype = c64})); }),
            "backward: the gradient must be floating, got c64");
}

// Writes through views of the other kind of dtype reach what the base's graph says.
TEST(ComplexGradient, OfWritesThroughViews) {
  const Tensor x = complexes({{1, 2}, {3, 4}}).requires_grad_(), y = x * 1;
  imag(y).mul_(3);
  const Tensor loss = sum(square(real(y)) + square(imag(y)));
  loss.backward();
  EXPECT_TRUE(allclose(x.grad(), complexes({{2, 36}, {6, 72}})));
  const Tensor p = ones({2, 2}, {.dtype = f64}).requires_grad_(), q = p * 1;
  view_as_complex(q).mul_(2i);  // (1, 1) becomes (-2, 2)
  sum(q * tensor({{1.0, 10.0}, {100.0, 1000.0}}, {.dtype = f64})).backward();
  EXPECT_EQ(p.grad().to_vector<double>(), (std::vector<double>{20, -2, 2000, -200}));
  const Tensor z = complexes({{1, 2}}).requires_grad_();
  EXPECT_EQ(error_of([&] { real(z).mul_(2); }),
            "mul_: a view of a leaf that requires a gradient can't be written in place; use "
            "NoGradGuard to change its values, got [1]");
  const Tensor w = z * 2;
  const Tensor kept = w * w;
  view_as_real(w).mul_(2);
  EXPECT_EQ(error_of([&] { sum(real(kept)).backward(); }),
            "mul: a tensor saved for the gradient must not be changed in place, got input 1 of "
            "shape [1] at version 1, saved at 0");
}

// A phase of a vector isn't of the matrix.
TEST(ComplexGradient, OfEigenvectorsHasNoPhase) {
  const Tensor A = tensor({{0.0, -1.0}, {1.0, 0.0}}, {.dtype = f64}).requires_grad_();
  EXPECT_EQ(error_of([&] { sum(imag(linalg::eig(A).eigenvectors)).backward(); }),
            "eig: the loss must not depend on the eigenvectors' phases, got a loss that "
            "does");
}

}  // namespace
}  // namespace aorta
