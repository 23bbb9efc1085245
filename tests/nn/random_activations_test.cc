// Activations that draw numbers.
#include <aorta/autograd/backward.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/nn/activation.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::nn {
namespace {

TEST(GumbelSoftmax, ChoosesPlacesByTheirProbabilities) {
  manual_seed(3);
  const Tensor logits = tensor({0.5, -1.0, 2.0, 0.0});
  constexpr int64_t kDraws = 20000;
  const Tensor drawn = gumbel_softmax(logits.expand({kDraws, 4}), 0.5);
  EXPECT_TRUE(allclose(sum(drawn, 1), ones({kDraws})));
  // The largest of logits with Gumbel numbers added is each with softmax's probability; chi-square
  // of four classes stays below 16.3 but once in a thousand.
  const std::vector<double> expected = softmax(logits, 0).to_vector<double>();
  const Tensor places = argmax(drawn, 1);
  double total = 0;
  for (int i = 0; i < 4; ++i) {
    const double wanted = expected[static_cast<size_t>(i)] * static_cast<double>(kDraws);
    const double off = sum(eq(places, i)).item<double>() - wanted;
    total += off * off / wanted;
  }
  EXPECT_LT(total, 16.3);
}

TEST(GumbelSoftmax, IsHardWithTheGradientOfTheSoftOne) {
  const Tensor logits = randn({7, 5}, {.dtype = f64, .requires_grad = true});
  const Tensor weights = randn({7, 5}, {.dtype = f64});
  manual_seed(4);
  const Tensor soft = gumbel_softmax(logits, 2, false, 0);
  manual_seed(4);
  const Tensor hard = gumbel_softmax(logits, 2, true, 0);
  EXPECT_TRUE(equal(sum(hard, 0), ones({5}, {.dtype = f64})));
  EXPECT_TRUE(equal(hard, eq(soft, amax(soft, 0, true)).to(f64)));
  const Tensor a = autograd::grad({sum(soft * weights)}, {logits})[0];
  const Tensor b = autograd::grad({sum(hard * weights)}, {logits})[0];
  EXPECT_TRUE(allclose(a, b, 1e-12, 1e-15));
  EXPECT_GT(amax(abs(a)).item<double>(), 0);
}

TEST(GumbelSoftmax, KeepsItsDtypeAndRefusesWhatHasNone) {
  for (const DType dtype : {f32, f64, f16, bf16})
    EXPECT_EQ(gumbel_softmax(ones({3, 4}, {.dtype = dtype})).dtype(), dtype);
  EXPECT_EQ(error_of([] { gumbel_softmax(ones({3}), 0); }),
            "gumbel_softmax: tau must be positive, got 0");
  EXPECT_EQ(error_of([] { gumbel_softmax(ones({3}, {.dtype = i64})); }),
            "gumbel_softmax: dtype must be floating, got i64");
  EXPECT_EQ(error_of([] { gumbel_softmax(ones({3}), 1, false, 1); }),
            "gumbel_softmax: dimension out of range, got dim 1 of a 1-d tensor");
}

TEST(RReLUInPlace, WritesWhatRReLUGives) {
  for (const bool training : {false, true}) {
    const Tensor x = randn({50}, {.dtype = f64, .requires_grad = true});
    manual_seed(5);
    const Tensor y = rrelu(x, 0.1, 0.4, training);
    manual_seed(5);
    const Tensor written = x * 1;
    EXPECT_TRUE(rrelu_(written, 0.1, 0.4, training).is_same(written));
    EXPECT_TRUE(equal(y, written));
    EXPECT_TRUE(equal(autograd::grad({sum(y)}, {x})[0], autograd::grad({sum(written)}, {x})[0]));
  }
  // At 0 the slope counts, as in PyTorch.
  const Tensor zero = zeros({3}, {.dtype = f64, .requires_grad = true});
  for (const bool in_place : {false, true}) {
    const Tensor y = in_place ? rrelu_(zero * 1, 0.25, 0.25, true) : rrelu(zero, 0.25, 0.25, true);
    EXPECT_EQ(autograd::grad({sum(y)}, {zero})[0].to_vector<double>(),
              std::vector<double>(3, 0.25));
  }
  EXPECT_EQ(error_of([] { rrelu_(ones({2}), 1, 0); }),
            "rrelu_: lower must be at most upper, got 1 and 0");
}

}  // namespace
}  // namespace aorta::nn
