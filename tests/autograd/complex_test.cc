#include <aorta/autograd/backward.h>
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
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

// A gradient may come with strides and an offset that no complex view has.
TEST(ComplexGradient, OfPartsAmongOthers) {
  const Tensor w = tensor({{5.0}, {6.0}}, {.dtype = f64});
  const Tensor z = complexes({{1, 2}, {-3, 0.5}}).requires_grad_();
  sum(square(cat({view_as_real(z), w}, 1))).backward();
  EXPECT_TRUE(allclose(z.grad(), z.detach() * 2));
  const Tensor one = complexes({{1, 2}}).requires_grad_();
  sum(square(cat({w.narrow(0, 0, 1), view_as_real(one)}, 1))).backward();
  EXPECT_TRUE(allclose(one.grad(), one.detach() * 2));
}

TEST(ComplexGradient, OfSgnAtZeroIsZero) {
  const Tensor z = complexes({0, 1i}).requires_grad_();
  sum(real(sgn(z))).backward();
  EXPECT_EQ(z.grad().to_vector<std::complex<double>>(), (std::vector<std::complex<double>>{0, 1}));
}

// Where a part is 0 beside an infinite one, the other numbers' gradients stay what they are, and so
// do those at 0.
TEST(ComplexGradient, OfOpsOnTheAxesIsFinite) {
  const Tensor z = complexes({0, {0, 1}, {1, 0}, {-2, 3}}).requires_grad_();
  for (Tensor (*f)(const Tensor&) : {exp, sin, cos, sinh, cosh}) {
    z.set_grad({});
    real(f(z)).sum().backward();
    const Tensor h = full({}, 1e-6, {.dtype = c128}), x = z.detach();
    const Tensor slope = (f(x + h) - f(x - h)) / 2e-6;  // f' of a holomorphic function
    EXPECT_TRUE(allclose(z.grad(), conj(slope), 1e-7, 1e-7));
  }
  z.set_grad({});
  sum(real(pow(z, 0))).backward();
  EXPECT_TRUE(equal(z.grad(), zeros_like(z.detach())));
  const Tensor infinite = complexes({{INFINITY, 0}, {NAN, 1}}).requires_grad_();
  sum(real(pow(infinite, 0)) + real(pow(infinite, 0))).backward();
  EXPECT_TRUE(equal(infinite.grad(), zeros_like(infinite.detach())));
  const Tensor y = complexes({{INFINITY, 0}, {2, 0}}).requires_grad_();
  sum(real(reciprocal(y))).backward();
  EXPECT_TRUE(allclose(y.grad(), complexes({0, -0.25})));
}

// At the seams of the formulas: of parts of one length, and where one is 0.
TEST(ComplexGradient, OfLogarithmsAndRootsOfSecondOrder) {
  const auto f = [](const std::vector<Tensor>& x) -> std::vector<Tensor> {
    const Tensor z = view_as_complex(x[0]);
    return {view_as_real(log(z)), view_as_real(sqrt(z)), view_as_real(tanh(z)),
            view_as_real(z / (z * z + 3))};
  };
  const Tensor x = tensor({{1.0, 1.0}, {0.0, 2.0}, {2.0, 0.0}, {-0.5, 0.5}, {0.3, -0.7}},
                          {.dtype = f64, .requires_grad = true});
  EXPECT_GRADIENTS(f, {x});
  EXPECT_SECOND_GRADIENTS(f, {x});
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

// Zeros, and not nothing, as of real matrices and in PyTorch.
TEST(ComplexGradient, OfWhatAFactorHidesAreZero) {
  const Tensor hidden =
      full({2, 2}, std::complex<double>(NAN, 1), {.dtype = c128}).requires_grad_();
  const Tensor a = randn({2, 2}, {.dtype = c128}).requires_grad_();
  sum(abs(addmm(hidden, a, a, {.beta = 0}))).backward();
  EXPECT_TRUE(equal(hidden.grad(), zeros({2, 2}, {.dtype = c128})));
  EXPECT_TRUE(all(isfinite(abs(a.grad()))).item<bool>());
}

}  // namespace
}  // namespace aorta
