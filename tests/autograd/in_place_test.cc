#include <aorta/autograd/backward.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/allocator.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/autograd/leaves.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

namespace aorta {
namespace {

// Weights that tell the elements of a gradient apart.
const Tensor& weights() {
  static const Tensor w = constant({1, 10, 100, 1000});
  return w;
}

TEST(InPlace, ResultTakesPartInTheGraph) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * 1;
  mul_(y, 3);
  add_(y, x);
  sum(y * weights()).backward();  // y = 4 x
  EXPECT_EQ(grad_of(x), (Doubles{4, 40, 400, 4000}));
}

TEST(InPlace, OnATensorWithoutGradient) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = zeros({4}, {.dtype = DType::f64});
  add_(y, x);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_EQ(y.grad_fn(), "add");
  sum(y * weights()).backward();
  EXPECT_EQ(grad_of(x), (Doubles{1, 10, 100, 1000}));
}

// The gradient of mul_ needs what it overwrites: PyTorch keeps a copy too.
TEST(InPlace, KeepsOverwrittenValuesThatAGradientNeeds) {
  const Tensor x = leaf({1, 2, 3, 4}), y = leaf({5, 6, 7, 8});
  const Tensor z = x * 1;
  mul_(z, y);
  sum(z).backward();
  EXPECT_EQ(grad_of(x), (Doubles{5, 6, 7, 8}));
  EXPECT_EQ(grad_of(y), (Doubles{1, 2, 3, 4}));
}

TEST(InPlace, WithItselfAsOperand) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor z = x * 1;
  mul_(z, z);
  sum(z).backward();
  EXPECT_EQ(grad_of(x), (Doubles{2, 4, 6, 8}));
}

TEST(InPlace, WithAPartOfItselfAsOperand) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor z = x * 1;
  mul_(z, z.select(0, 1));  // 2 x, and the factor 2 depends on x[1]
  sum(z).backward();
  EXPECT_EQ(grad_of(x), (Doubles{2, 2 + 10, 2, 2}));
}

TEST(InPlace, ThroughAViewIntoTheBase) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * 1;
  mul_(y.slice(0, 1, 3), 5);
  sum(y * weights()).backward();
  EXPECT_EQ(grad_of(x), (Doubles{1, 50, 500, 1000}));
}

TEST(InPlace, IntoABaseWithoutGradient) {
  const Tensor x = leaf({1, 2});
  const Tensor y = zeros({4}, {.dtype = DType::f64});
  const Tensor front = y.slice(0, 0, 2);
  front.copy_(x * x);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_TRUE(front.requires_grad());
  sum(y * weights()).backward();
  EXPECT_EQ(grad_of(x), (Doubles{2, 40}));
}

TEST(InPlace, ViewsFollowTheirBase) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * 1;
  const Tensor view = y.slice(0, 2, 4), other = y.view({2, 2});
  mul_(y, 3);
  sum(view * constant({1, 10})).backward({}, true);
  EXPECT_EQ(grad_of(x), (Doubles{0, 0, 3, 30}));
  x.set_grad({});
  mul_(other.select(0, 0), 2);  // a view of a view: y[0], y[1]
  sum(other * weights().view({2, 2})).backward();
  EXPECT_EQ(grad_of(x), (Doubles{6, 60, 300, 3000}));
}

TEST(InPlace, ViewsOfABaseThatGotItsGradientLater) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = zeros({4}, {.dtype = DType::f64});
  const Tensor view = y.slice(0, 0, 2);
  EXPECT_FALSE(view.requires_grad());
  add_(y, x);
  EXPECT_TRUE(view.requires_grad());
  sum(view).backward();
  EXPECT_EQ(grad_of(x), (Doubles{1, 1, 0, 0}));
}

TEST(InPlace, TransposedViewOfAnExpandedShape) {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6});
  const Tensor y = (x * 1).view({2, 3});
  mul_(y.t().select(0, 1), constant({10, 100}));  // column 1
  sum(y).backward();
  EXPECT_EQ(grad_of(x), (Doubles{1, 10, 1, 1, 100, 1}));
}

TEST(InPlace, OperandsOfADivisionMayStayAndItsResultChange) {
  const Tensor a = tensor({6.0}, {.dtype = DType::f64, .requires_grad = true});
  const Tensor b = tensor({2.0}, {.dtype = DType::f64, .requires_grad = true});
  const Tensor y = a / b;
  add_(y, 1);
  sum(y).backward();
  EXPECT_EQ(a.grad().item<double>(), 0.5);
  EXPECT_EQ(b.grad().item<double>(), -1.5);
}

TEST(InPlace, OfViewsWithoutElements) {
  const Tensor base = zeros({0, 6}, {.requires_grad = true}) * 1;
  const Tensor part = base.narrow(1, 3, 2);
  const Tensor w = ones({2}, {.requires_grad = true});
  add_(part, w);
  sum(part).backward();
  EXPECT_EQ(w.grad().to_vector<double>(), (std::vector<double>{0, 0}));
}

TEST(InPlace, CopyFillAndZero) {
  const Tensor x = leaf({1, 2, 3, 4}), s = leaf({7});
  const Tensor y = x * 2;
  y.slice(0, 0, 1).fill_(9);
  y.select(0, 1).zero_();
  y.slice(0, 2, 3).copy_(s);
  EXPECT_EQ(list(y), (Doubles{9, 0, 7, 8}));
  sum(y * weights()).backward();
  EXPECT_EQ(grad_of(x), (Doubles{0, 0, 0, 2000}));
  EXPECT_EQ(grad_of(s), (Doubles{100}));
}

TEST(InPlace, RandomFillHasNoGradient) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * 2;
  uniform_(y.slice(0, 0, 2));
  sum(y).backward();
  EXPECT_EQ(grad_of(x), (Doubles{0, 0, 2, 2}));
}

TEST(InPlace, ByIndex) {
  const Tensor x = leaf({1, 2, 3, 4}), v = leaf({5, 6});
  const Tensor places = tensor({3, 0});
  const Tensor y = x * 1;
  index_put_(y, {places}, v);
  sum(y * weights()).backward();
  EXPECT_EQ(grad_of(x), (Doubles{0, 10, 100, 0}));
  EXPECT_EQ(grad_of(v), (Doubles{1000, 1}));
  x.set_grad({});
  v.set_grad({});
  const Tensor z = x * 1;
  index_add_(z.slice(0, 1, 4), 0, tensor({2, 2}), v);  // both at element 3
  sum(z * weights()).backward();
  EXPECT_EQ(grad_of(x), (Doubles{1, 10, 100, 1000}));
  EXPECT_EQ(grad_of(v), (Doubles{1000, 1000}));
}

TEST(InPlace, Triangle) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = (x * 1).view({2, 2});
  triu_(y);
  sum(y * weights().view({2, 2})).backward();
  EXPECT_EQ(grad_of(x), (Doubles{1, 10, 0, 1000}));
}

TEST(InPlace, SecondDerivativeThroughWrites) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * x;
  const Tensor part = y.slice(0, 1, 3);
  mul_(part, part);  // x^4 for two elements
  const Tensor first = autograd::grad({sum(y)}, {x}, {}, {.create_graph = true})[0];  // 2x or 4x^3
  EXPECT_EQ(list(first), (Doubles{2, 32, 108, 8}));
  sum(first).backward();
  EXPECT_EQ(grad_of(x), (Doubles{2, 48, 108, 2}));
}

TEST(InPlace, ChangedSavedTensorIsAnError) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * 2;
  const Tensor z = y * x;
  add_(y, 1);
  EXPECT_EQ(error_of([&] { sum(z).backward(); }),
            "mul: a tensor saved for the gradient must not be changed in place, got input 0 of "
            "shape [4] at version 1, saved at 0");
}

TEST(InPlace, ChangedSavedOutputIsAnError) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = exp(x);
  y.slice(0, 0, 1).zero_();
  EXPECT_EQ(error_of([&] { sum(y).backward(); }),
            "exp: a tensor saved for the gradient must not be changed in place, got output 0 of "
            "shape [4] at version 1, saved at 0");
}

TEST(InPlace, WhatIsNotSavedMayChange) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x + 1;
  const Tensor z = y + 2;
  mul_(y, 100);
  sum(z).backward();
  EXPECT_EQ(grad_of(x), (Doubles{1, 1, 1, 1}));
}

// A detached tensor shares the version counter: writes through it are seen.
TEST(InPlace, WriteThroughADetachedTensorIsSeen) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = exp(x);
  y.detach().zero_();
  EXPECT_THROW(sum(y).backward(), Error);
}

TEST(InPlace, GradientsOfAChunkAreSeparate) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * 1;
  const std::vector<Tensor> halves = chunk(y, 2);
  mul_(halves[0], 2);
  mul_(halves[1], 3);
  sum(cat(halves) * weights()).backward();
  EXPECT_EQ(grad_of(x), (Doubles{2, 20, 300, 3000}));
}

// What has no row in the op catalogue, with values that need no gradient.
const std::pair<const char*, void (*)(const Tensor& view)> kWrites[] = {
    {"mul_", [](const Tensor& v) { mul_(v, 3); }},
    {"fill_", [](const Tensor& v) { v.fill_(3); }},
    {"zero_", [](const Tensor& v) { v.zero_(); }},
    {"copy_",
     [](const Tensor& v) {
       v.copy_(constant({5, 6}));
     }},
    {"uniform_", [](const Tensor& v) { uniform_(v); }},
    {"normal_", [](const Tensor& v) { normal_(v); }},
    {"bernoulli_", [](const Tensor& v) { bernoulli_(v); }},
    {"dropout_", [](const Tensor& v) { dropout_(v); }},
    {"index_put_", [](const Tensor& v) { index_put_(v, {tensor({0})}, 3); }},
    {"index_put_ of a slice",
     [](const Tensor& v) {
       index_put_(v, {Slice{0, 1}}, 3);
     }},
    {"scatter_", [](const Tensor& v) { scatter_(v, 0, tensor({0}), 3); }},
    {"clamp_",
     [](const Tensor& v) {
       clamp_(v, constant({1, 1}), constant({2, 2}));
     }},
};

TEST(InPlace, ViewsMadeWithoutRecordingAreRefused) {
  for (const auto& [name, write] : kWrites) {
    SCOPED_TRACE(name);
    const Tensor x = leaf({1, 2, 3, 4}), y = x * 1;
    Tensor view;
    {
      const NoGradGuard no_grad;
      view = y.slice(0, 0, 2);
    }
    const std::string text = error_of([&] { write(view); });
    EXPECT_NE(text.find("a view made without gradients (under NoGradGuard, or for a module's "
                        "backward hook) can't be written where they are recorded"),
              std::string::npos)
        << text;
    EXPECT_EQ(list(y), (Doubles{1, 2, 3, 4}));
    {
      const NoGradGuard no_grad;
      write(view);
    }
    sum(y * weights()).backward();
    EXPECT_EQ(grad_of(x), (Doubles{1, 10, 100, 1000}));
  }
}

TEST(InPlace, ViewsMadeWithoutRecordingOfPlainTensors) {
  const Tensor y = zeros({4}, {.dtype = DType::f64});
  Tensor view;
  {
    const NoGradGuard no_grad;
    view = y.slice(0, 0, 2);
  }
  for (const auto& [name, write] : kWrites) EXPECT_NO_THROW(write(view)) << name;
  EXPECT_THROW(view.copy_(leaf({1, 2})), Error);
}

TEST(InPlace, ViewsThatAreOlderThanTheirLeaf) {
  const Tensor x = constant({1, 2, 3, 4});
  const Tensor view = x.slice(0, 0, 2);
  x.requires_grad_();
  EXPECT_TRUE(view.requires_grad());
  for (const auto& [name, write] : kWrites) EXPECT_THROW(write(view), Error) << name;
  EXPECT_EQ(list(x), (Doubles{1, 2, 3, 4}));
  sum(view * constant({5, 6})).backward();
  EXPECT_EQ(grad_of(x), (Doubles{5, 6, 0, 0}));
}

// A leaf that is itself a view, as what comes out of a factory may be, is the base of its views.
TEST(InPlace, ViewsOfALeafThatIsAView) {
  const Tensor whole = constant({1, 2, 3, 4}), x = whole.slice(0, 0, 3);
  x.requires_grad_();
  Tensor unrecorded;
  {
    const NoGradGuard no_grad;
    unrecorded = x.slice(0, 0, 2);
  }
  for (const auto& [name, write] : kWrites) {
    EXPECT_THROW(write(unrecorded), Error) << name;
    EXPECT_THROW(write(x.slice(0, 0, 2)), Error) << name;
  }
  EXPECT_EQ(list(whole), (Doubles{1, 2, 3, 4}));
}

TEST(InPlace, ComparisonsHaveZeroGradients) {
  const Tensor x = leaf({1, 2, 3, 4});
  const Tensor y = x * 1, z = x * 1;
  gt_(y, 2);
  isfinite_(z);
  EXPECT_EQ(list(y + z), (Doubles{1, 1, 2, 2}));
  sum(y + z).backward();
  EXPECT_EQ(grad_of(x), (Doubles{0, 0, 0, 0}));
}

// As in PyTorch, which takes an empty index of any rank.
TEST(InPlace, AnEmptyIndexOfAnotherRankWritesNothing) {
  const Tensor index = empty({0}, {.dtype = DType::i64});
  for (const auto write :
       {+[](const Tensor&x, const Tensor&i, const Tensor&y) { return scatter(x, 1, i, y); },
        +[](const Tensor&x, const Tensor&i, const Tensor&y) { return scatter_add(x, 1, i, y); },
        +[](const Tensor&x, const Tensor&i, const Tensor&y) {
          return scatter_reduce(x, 1, i, y, ScatterReduce::prod);
        }}) {
    const Tensor x = full({2, 2}, 3, {.dtype = DType::f64, .requires_grad = true});
    const Tensor y = full({2, 3}, 5, {.dtype = DType::f64, .requires_grad = true});
    const Tensor written = write(x, index, y);
    EXPECT_EQ(list(written), (Doubles{3, 3, 3, 3}));
    sum(written).backward();
    EXPECT_EQ(grad_of(x), (Doubles{1, 1, 1, 1}));
    EXPECT_EQ(grad_of(y), Doubles(6, 0.0));
  }
}

TEST(InPlace, GraphOfWritesFreesItself) {
  const Tensor x = leaf({1, 2, 3, 4});
  const auto step = [&] {
    const Tensor y = x * 1, view = y.slice(0, 0, 2);
    const Tensor product = view * view;  // saves the view
    add_(y, 1);                          // y's history now leads past the product's inputs
    add_(y.slice(0, 0, 2), product);     // and through it
    return sum(y);
  };
  step();
  const int64_t before = cpu::allocator_stats().bytes_in_use;
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(cpu::allocator_stats().bytes_in_use, before);
}

}  // namespace
TEST(InPlace, ValuesWithOnesInFrontHaveTheirGradient) {
  for (const bool accumulate : {false, true}) {
    const Tensor v = ones({1, 3}).requires_grad_(), y = zeros({5});
    index_put_(y, {tensor({0, 2, 4})}, v, accumulate);
    sum(y * arange(5)).backward();
    EXPECT_EQ(v.grad().shape(), (Shape{1, 3}));
    EXPECT_EQ(v.grad().to_vector<float>(), (std::vector<float>{0, 2, 4}));
  }
}

// The gradient of what where() chooses from reads the condition alone.
TEST(InPlace, MaskedFillKeepsNoCopy) {
  const Tensor x = ones({1 << 18}).requires_grad_(), z = x * 2;
  const Tensor mask = gt(arange(1 << 18), 5);
  const int64_t before = bytes_allocated_by_thread();
  masked_fill_(z, mask, 0);
  EXPECT_LT(bytes_allocated_by_thread() - before, z.nbytes() / 2);
  sum(z).backward();
  EXPECT_EQ(x.grad().narrow(0, 4, 4).to_vector<float>(), (std::vector<float>{2, 2, 0, 0}));
}

}  // namespace aorta
