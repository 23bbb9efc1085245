// MultiheadAttention: masks, and what is generated a step at a time.
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>

namespace aorta::nn {
namespace {

TEST(MultiheadAttention, MasksHideKeys) {
  const MultiheadAttention attention(4, 2, {.batch_first = true});
  const Tensor q = randn({2, 3, 4}), k = randn({2, 5, 4});
  const Tensor padding =
      tensor({{false, false, false, true, true}, {false, false, false, false, true}});
  for (const bool need_weights : {true, false}) {
    const AttentionOutput out = attention(q, k, k, {.key_padding_mask = padding}, need_weights);
    const Tensor first = attention(q[0], k[0].narrow(0, 0, 3), k[0].narrow(0, 0, 3)).output;
    const Tensor second = attention(q[1], k[1].narrow(0, 0, 4), k[1].narrow(0, 0, 4)).output;
    EXPECT_TRUE(near(out.output, stack({first, second}), 1e-5));
    EXPECT_EQ(out.weights.defined(), need_weights);
  }
  const Tensor x = randn({2, 4, 4});
  const Tensor later = triu(ones({4, 4}, {.dtype = DType::boolean}), 1);
  const Tensor masked = attention(x, x, x, {.attn_mask = later}).output;
  EXPECT_TRUE(near(attention(x, x, x, {.is_causal = true}).output, masked, 1e-5));
  EXPECT_TRUE(near(attention(x, x, x, {.is_causal = true}, false).output, masked, 1e-5));
  EXPECT_EQ(error_of([&] {
              attention(x, x, x, {.attn_mask = zeros({3, 4})});
            }),
            "MultiheadAttention: attn_mask must be (L, S) or (N heads, L, S), got [3,4]");
}

TEST(MultiheadAttention, StepsSeeTheKeysOfItsOwn) {
  const MultiheadAttention attention(
      4, 2, {.add_bias_kv = true, .add_zero_attn = true, .batch_first = true});
  const Tensor x = randn({2, 3, 4});
  const Tensor whole = attention(x, x, x, {.is_causal = true}, false).output;
  AttentionCache cache, memory;
  std::vector<Tensor> steps;
  for (int64_t i = 0; i < 3; ++i) steps.push_back(attention.step(x.narrow(1, i, 1), cache));
  EXPECT_TRUE(near(cat(steps, 1), whole, 1e-5));
  EXPECT_EQ(cache.length(), 3);
  const Tensor q = randn({2, 2, 4});
  EXPECT_TRUE(near(attention.look(q, x, memory), attention(q, x, x).output, 1e-5));
  EXPECT_EQ(memory.length(), 3);
}

}  // namespace
}  // namespace aorta::nn
