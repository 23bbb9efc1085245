// Jacobians, Hessians and their products with vectors, against closed forms.
#include <aorta/autograd/backward.h>
#include <aorta/autograd/functional.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/tensor_methods.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

namespace aorta::autograd::functional {
namespace {

using Tensors = std::vector<Tensor>;
constexpr TensorOptions kDouble{.dtype = f64};

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance = 1e-12) {
  ASSERT_EQ(got.shape(), wanted.shape());
  EXPECT_LE(amax(abs(got.detach() - wanted.detach())).item<double>(), tolerance) << got << wanted;
}

Tensor some(const Shape& shape, double by) {
  return sin(arange(shape.numel(), kDouble) * by + 0.4).view(shape);
}

// Rosenbrock's function of two numbers and its second derivatives.
Tensor valley(const Tensor& x) {
  const Tensor a = x[0], b = x[1];
  return square(1 - a) + 100 * square(b - square(a));
}
Tensor hessian_of_valley(double a, double b) {
  return tensor({{2 - 400 * b + 1200 * a * a, -400 * a}, {-400 * a, 200.}}, kDouble);
}

TEST(Functional, JacobianOfAProductIsTheMatrix) {
  const Tensor a = some({3, 4}, 1.1), x = some({4}, 0.7);
  const Tensor j = jacobian([&](const Tensor& y) { return mv(a, y); }, x);
  expect_near(j, a, 0);
  EXPECT_FALSE(j.requires_grad());
  EXPECT_FALSE(x.grad().defined());
  // (2, 3) of (3, 4): d (B X)_ik / d X_jl = B_ij [k = l].
  const Tensor b = some({2, 3}, 0.9), m = some({3, 4}, 0.3);
  const Tensor wanted = b.view({2, 1, 3, 1}) * eye(4, 4, kDouble).view({1, 4, 1, 4});
  expect_near(jacobian([&](const Tensor& y) { return mm(b, y); }, m), wanted, 0);
  EXPECT_EQ(jacobian([](const Tensor& y) { return y.narrow(0, 0, 0); }, x).shape(), (Shape{0, 4}));
  expect_near(jacobian([](const Tensor& y) { return y; }, x), eye(4, 4, kDouble), 0);
}

TEST(Functional, JacobianOfSeveral) {
  const Tensor x = some({2}, 1.3), y = some({3}, 0.8), z = some({2}, 2.1);
  const auto f = [](const Tensors& in) {
    return Tensors{outer(in[0], in[1]), exp(in[0]), tensor(3., kDouble)};
  };
  const auto j = jacobian(f, {x, y, z});
  ASSERT_EQ(j.size(), 3u);
  expect_near(j[0][0], eye(2, 2, kDouble).view({2, 1, 2}) * y.view({1, 3, 1}));
  expect_near(j[0][1], x.view({2, 1, 1}) * eye(3, 3, kDouble).view({1, 3, 3}));
  expect_near(j[1][0], diag(exp(x)));
  expect_near(j[1][1], zeros({2, 3}, kDouble), 0);  // exp(x) doesn't depend on y
  expect_near(j[0][2], zeros({2, 3, 2}, kDouble), 0);
  expect_near(j[2][0], zeros({2}, kDouble), 0);
}

TEST(Functional, HessianOfAValley) {
  const Tensor x = tensor({-1.2, 1.}, kDouble), v = tensor({0.3, -0.7}, kDouble);
  const Tensor h = hessian_of_valley(-1.2, 1.);
  expect_near(hessian(valley, x), h, 1e-10);
  const auto [value, left] = vhp(valley, x, v);
  EXPECT_NEAR(value.item<double>(), 24.2, 1e-12);
  expect_near(left, mv(h, v), 1e-10);
  const auto [again, right] = hvp(valley, x, v);
  EXPECT_NEAR(again.item<double>(), 24.2, 1e-12);
  expect_near(right, mv(h, v), 1e-10);
  EXPECT_FALSE(value.requires_grad() || left.requires_grad() || right.requires_grad());
}

// sum(x_i y_j A_ij): the mixed second derivatives are A, the others 0.
TEST(Functional, HessianOfSeveral) {
  const Tensor a = some({2, 3}, 1.7), x = some({2}, 0.2), y = some({3}, 0.6);
  const auto f = [&](const Tensors& in) { return Tensors{dot(in[0], mv(a, in[1]))}; };
  const auto h = hessian(f, {x, y});
  expect_near(h[0][1], a, 0);
  expect_near(h[1][0], a.t(), 0);
  expect_near(h[0][0], zeros({2, 2}, kDouble), 0);
  expect_near(h[1][1], zeros({3, 3}, kDouble), 0);
  const Tensor v = some({2}, 3.1), w = some({3}, 2.9);
  const auto [value, product] = hvp(f, {x, y}, {v, w});
  expect_near(product[0], mv(a, w));
  expect_near(product[1], mv(a.t(), v));
  const auto left = vhp(f, {x, y}, {v, w}).second;
  expect_near(left[0], mv(a, w));
  expect_near(left[1], mv(a.t(), v));
  expect_near(value, dot(x, mv(a, y)));
}

TEST(Functional, ProductsAreThoseOfTheJacobian) {
  const Tensor x = some({3, 2}, 0.9);
  const auto f = [](const Tensor& t) { return softmax(t, 0).matmul(tanh(t).t()); };
  const Tensor j = jacobian(f, x).view({9, 6});
  const Tensor v = some({3, 3}, 1.9), w = some({3, 2}, 0.4);
  const auto [output, left] = vjp(f, x, v);
  expect_near(output, f(x), 0);
  expect_near(left, mv(j.t(), v.flatten()).view({3, 2}));
  const auto [same, right] = jvp(f, x, w);
  expect_near(same, f(x), 0);
  expect_near(right, mv(j, w.flatten()).view({3, 3}));
  // There are several tensors, one of which the outputs don't depend on.
  const auto g = [](const Tensors& in) { return Tensors{in[0] * sum(in[0]), ones({2}, kDouble)}; };
  const Tensor u = some({2}, 5.), d = some({2}, 7.);
  const auto [outputs, product] = jvp(g, {u, x}, {d, w});
  expect_near(product[0], d * sum(u) + u * sum(d));
  expect_near(product[1], zeros({2}, kDouble), 0);
  const Tensors back = vjp(g, {u, x}, {d, ones({2}, kDouble)}).second;
  expect_near(back[0], d * sum(u) + dot(d, u));
  expect_near(back[1], zeros({3, 2}, kDouble), 0);
}

TEST(Functional, AGraphGoesOn) {
  const Tensor x = tensor({0.5, -1.5}, kDouble).requires_grad_();
  const auto cube = [](const Tensor& y) { return y * y * y; };
  const Tensor j = jacobian(cube, x, {.create_graph = true});
  expect_near(grad({sum(j)}, {x})[0], 6 * x);
  const Tensor h =
      hessian([&](const Tensor& y) { return sum(cube(y)); }, x, {.create_graph = true});
  expect_near(grad({sum(h)}, {x})[0], full({2}, 6., kDouble));
  const Tensor v = tensor({2., 3.}, kDouble);
  expect_near(grad({sum(jvp(cube, x, v, {.create_graph = true}).second)}, {x})[0], 6 * x * v);
  expect_near(grad({sum(vjp(cube, x, v, {.create_graph = true}).second)}, {x})[0], 6 * x * v);
  EXPECT_FALSE(x.grad().defined());
  const NoGradGuard no_grad;  // around the call it changes nothing
  expect_near(jacobian(cube, x), diag(3 * square(x)));
}

TEST(Functional, AStepIsTheSame) {
  const Tensor one = tensor({0.3}, kDouble);
  const auto f = [](const Tensor& y) { return exp(2 * y); };
  const Tensor slope = 2 * exp(2 * one);
  expect_near(vjp(f, one).second, slope);
  expect_near(jvp(f, one).second, slope);
  expect_near(hvp(f, one).second, 2 * slope);
  EXPECT_EQ(jacobian(f, one.to(bf16)).dtype(), bf16);
}

TEST(Functional, RefusesWhatItCannotDo) {
  const Tensor x = ones({2}, kDouble);
  const auto same = [](const Tensor& y) { return y * 1; };
  EXPECT_EQ(error_of([&] { hessian(same, x); }),
            "hessian: the function must give one tensor of one element, got 1 of [2]");
  EXPECT_EQ(error_of([&] { jacobian(same, x.to(i64)); }),
            "jacobian: inputs must be of a floating dtype, got i64");
  EXPECT_EQ(error_of([&] { jvp(same, x); }),
            "jvp: v may be left out for one tensor of one element, got 1 tensors");
  EXPECT_EQ(error_of([&] { vjp(same, x, ones({3}, kDouble)); }),
            "vjp: v must have the shape of what it stands for, got [3] for [2]");
  EXPECT_EQ(error_of([&] { jacobian(same, Tensor()); }),
            "jacobian: input must be defined, got an undefined tensor");
  EXPECT_EQ(error_of([&] { jacobian(OneTensorFunction(), x); }),
            "jacobian: there must be a function, got an empty one");
  EXPECT_EQ(error_of([&] { jacobian([](const Tensors& in) { return in; }, List<Tensor>{}); }),
            "jacobian: there must be inputs, got none");
  EXPECT_EQ(error_of([&] {
              jvp([](const Tensors& in) { return in; }, {x, x}, {x});
            }),
            "jvp: v must have as many tensors as it stands for, got 1 for 2");
}

}  // namespace
}  // namespace aorta::autograd::functional
