#include <aorta/autograd/backward.h>
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/random.h>

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace aorta;

Tensor numbers(const Shape& shape, double seed = 1) {
  return sin(arange(shape.numel(), {.dtype = f64}) * 12.9898 + seed).view(shape);
}

void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_LT(amax(abs(a.detach() - b.detach())).item<double>(), 1e-12);
}

// Several blocks of queries give what the definition gives, and so do their gradients.
TEST(Attention, BlocksAreTheWhole) {
  for (const bool causal : {false, true}) {
    Tensor operands[] = {numbers({2, 1500, 8}, 1), numbers({2, 1300, 8}, 2),
                         numbers({2, 1300, 5}, 3)};
    for (Tensor& x : operands) x.requires_grad_();
    const auto& [q, k, v] = operands;
    const Tensor result = scaled_dot_product_attention(q, k, v, {.is_causal = causal, .scale = 2});
    Tensor scores = matmul(q * 2, k.transpose(-2, -1));
    if (causal) {
      scores = where(ge(arange(1500).unsqueeze(1), arange(1300)), scores,
                     -std::numeric_limits<double>::infinity());
    }
    const Tensor wanted = matmul(softmax(scores, -1), v);
    expect_near(result, wanted);
    const Tensor weights = numbers(result.shape(), 4);
    const auto got = autograd::grad({result}, {q, k, v}, {weights});
    const auto expected = autograd::grad({wanted}, {q, k, v}, {weights});
    for (size_t i = 0; i < 3; ++i) expect_near(got[i], expected[i]);
  }
}

// Fewer, and more, queries than keys, some of whom see nothing.
TEST(Attention, GradientsOfMasks) {
  const Tensor q = numbers({2, 5, 3}).requires_grad_(), k = numbers({2, 4, 3}, 2).requires_grad_(),
               v = numbers({2, 4, 2}, 3).requires_grad_(), m = numbers({5, 4}, 4).requires_grad_();
  const Tensor seen = ne(remainder(arange(20), 3), 0).view({5, 4}).clone();
  seen.select(0, 2).fill_(false);
  EXPECT_GRADIENTS(([&](const Tensor& a, const Tensor& b, const Tensor& c) {
                     return scaled_dot_product_attention(a, b, c, {.attn_mask = seen});
                   }),
                   {q, k, v});
  EXPECT_SECOND_GRADIENTS(([&](const Tensor& a, const Tensor& b, const Tensor& c) {
                            return scaled_dot_product_attention(a, b, c, {.attn_mask = seen});
                          }),
                          {q, k, v});
  EXPECT_GRADIENTS(([&](const std::vector<Tensor>& x) {
                     return std::vector<Tensor>{
                         scaled_dot_product_attention(x[0], x[1], x[2], {.attn_mask = x[3]})};
                   }),
                   {q, k, v, m});
  EXPECT_SECOND_GRADIENTS(([&](const Tensor& a, const Tensor& b, const Tensor& c) {
                            return scaled_dot_product_attention(a, b, c, {.is_causal = true});
                          }),
                          {numbers({2, 3, 3}).requires_grad_(), k, v});
}

// The weights that stay are doubled, so that in the mean nothing changes.
TEST(Attention, Dropout) {
  default_generator().manual_seed(5);
  const Tensor q = numbers({40, 60, 8}).requires_grad_(), k = numbers({40, 70, 8}, 2);
  const Tensor v = ones({40, 70, 3}, {.dtype = f64});
  const Tensor y = scaled_dot_product_attention(q, k, v, {.dropout_p = 0.5});
  EXPECT_NEAR(mean(y.detach()).item<double>(), 1, 0.02);
  EXPECT_GT(amax(abs(y.detach() - 1)).item<double>(), 0.1);
  sum(y).backward();
  EXPECT_GT(amax(abs(q.grad())).item<double>(), 0);
  const Tensor none = scaled_dot_product_attention(q, k, v, {.dropout_p = 1});
  EXPECT_EQ(amax(abs(none.detach())).item<double>(), 0);
}

TEST(Attention, HalfTypesAreComputedInFullPrecision) {
  const Tensor q = numbers({1, 33, 64}).to(bf16), k = numbers({1, 300, 64}, 2).to(bf16),
               v = numbers({1, 300, 16}, 3).to(bf16);
  const Tensor wanted =
      scaled_dot_product_attention(q.to(f64), k.to(f64), v.to(f64)).to(bf16).to(f64);
  const Tensor got = scaled_dot_product_attention(q, k, v);
  EXPECT_EQ(got.dtype(), bf16);
  EXPECT_LE(amax(abs(got.to(f64) - wanted)).item<double>(),
            amax(abs(wanted)).item<double>() * 0x1p-7);
}

}  // namespace
