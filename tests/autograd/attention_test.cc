#include <aorta/autograd/backward.h>
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/random.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

using namespace aorta;
using Tensors = std::vector<Tensor>;

Tensor numbers(const Shape& shape, double seed = 1) {
  return sin(arange(shape.numel(), {.dtype = f64}) * 12.9898 + seed).view(shape);
}

void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  EXPECT_LT(amax(abs(a.detach() - b.detach())).item<double>(), 1e-12);
}

struct Sizes {
  int64_t batch, heads, queries, keys, features, values;
};

Tensors operands_of(const Sizes& s, DType dtype = f64) {
  Tensors result = {numbers({s.batch, s.heads, s.queries, s.features}, 1),
                    numbers({s.batch, s.heads, s.keys, s.features}, 2),
                    numbers({s.batch, s.heads, s.keys, s.values}, 3)};
  for (Tensor& x : result) x = x.to(dtype).requires_grad_();
  return result;
}

// The definition, with the whole of the weights.
Tensor composed(const Tensors& x, const AttentionOptions& options) {
  Tensor scores =
      matmul(x[0] * options.scale.value_or(1 / std::sqrt(x[0].size(-1))), x[1].transpose(-2, -1));
  const Tensor& mask = options.attn_mask;
  const double hidden = -std::numeric_limits<double>::infinity();
  if (options.is_causal) {
    scores =
        where(ge(arange(scores.size(-2)).unsqueeze(1), arange(scores.size(-1))), scores, hidden);
  }
  if (mask.defined())
    scores = mask.dtype() == boolean ? where(mask, scores, hidden) : scores + mask;
  return matmul(dropout(softmax(scores, -1), options.dropout_p), x[2]);
}

void expect_composed(const Sizes& sizes, const AttentionOptions& options) {
  const Tensors x = operands_of(sizes);
  const GeneratorState state = default_generator().state();
  const Tensor result = scaled_dot_product_attention(x[0], x[1], x[2], options);
  default_generator().restore(state);
  const Tensor wanted = composed(x, options);
  expect_near(result, wanted);
  const Tensor weights = numbers(result.shape(), 4);
  const auto got = autograd::grad(Tensors{result}, x, Tensors{weights});
  const auto expected = autograd::grad(Tensors{wanted}, x, Tensors{weights});
  for (size_t i = 0; i < 3; ++i) expect_near(got[i], expected[i]);
}

// More than one block and task of queries and keys, and what divides by no tile.
TEST(Attention, BlocksAreTheWhole) {
  for (const bool causal : {false, true}) {
    expect_composed({2, 1, 1500, 1300, 8, 5}, {.is_causal = causal, .scale = 2});
    expect_composed({1, 2, 70, 300, 33, 20}, {.is_causal = causal});
    expect_composed({1, 20, 100, 7, 16, 16}, {.is_causal = causal});
    expect_composed({1, 3, 1, 65, 1, 1}, {.is_causal = causal});
  }
  expect_composed({1, 2, 130, 600, 9, 8}, {.attn_mask = numbers({2, 130, 600}, 7)});
  const Tensor keys = ne(remainder(arange(600), 3), 0);
  expect_composed({1, 2, 130, 600, 9, 8}, {.attn_mask = keys});
  // Masks that lie otherwise.
  expect_composed({1, 2, 130, 90, 9, 8}, {.attn_mask = numbers({90, 130}, 7).t()});
  expect_composed({2, 3, 20, 30, 9, 8}, {.attn_mask = ne(numbers({2, 1, 20, 1}), 9)});
}

// The weights that dropout would drop from all of them are dropped, whichever block they are in.
TEST(Attention, DropoutIsThatOfTheWholeWeights) {
  default_generator().manual_seed(7);
  expect_composed({2, 3, 130, 601, 9, 8}, {.dropout_p = 0.3});
  expect_composed({1, 2, 97, 51, 9, 8}, {.dropout_p = 0.5, .is_causal = true});
  expect_composed({1, 2, 20, 33, 4, 3}, {.attn_mask = numbers({20, 33}, 7), .dropout_p = 0.9});
  expect_composed({1, 1, 5, 6, 4, 3}, {.dropout_p = 1});
}

// Strides are read where they are: halves of a packed projection, and operands that are one for
// several heads. Results have the order of their operands.
TEST(Attention, LayoutsGiveTheSameBits) {
  const Tensor packed = numbers({2, 40, 3, 4, 16}).to(f32);
  Tensors parts, copies;
  for (int i = 0; i < 3; ++i) {
    parts.push_back(packed.select(2, i).transpose(1, 2).detach().requires_grad_());
    copies.push_back(parts.back().detach().contiguous().requires_grad_());
  }
  const auto run = [](const Tensors& x) {
    const Tensor y = scaled_dot_product_attention(x[0], x[1], x[2], {.is_causal = true});
    Tensors all = autograd::grad(Tensors{y}, x, Tensors{numbers(y.shape(), 9).to(f32)});
    all.push_back(y.detach());
    return all;
  };
  const auto strided = run(parts), dense = run(copies);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(all(eq(strided[i], dense[i])).item<bool>());
    EXPECT_TRUE(dense[i].is_contiguous());
    EXPECT_TRUE(strided[i].transpose(1, 2).is_contiguous());
  }
  const Tensor q = numbers({2, 3, 20, 8}), k = numbers({1, 1, 30, 8}, 2),
               v = numbers({3, 30, 5}, 3);
  expect_near(scaled_dot_product_attention(q, k, v),
              scaled_dot_product_attention(q, k.expand({2, 3, 30, 8}).contiguous(),
                                           v.expand({2, 3, 30, 5}).contiguous()));
  // Five dimensions are four.
  expect_near(scaled_dot_product_attention(q.view({2, 3, 1, 20, 8}), k, v.view({3, 1, 30, 5})),
              scaled_dot_product_attention(q, k, v).view({2, 3, 1, 20, 5}));
}

// Also where a head is cut into parts.
TEST(Attention, AnyNumberOfThreadsGivesTheSameBits) {
  const int threads = get_num_threads();
  for (const DType dtype : {f32, bf16}) {
    for (const Sizes& sizes : {Sizes{1, 1, 700, 900, 16, 24}, Sizes{3, 8, 130, 140, 16, 16}}) {
      const Tensors x = operands_of(sizes, dtype);
      Tensors first;
      for (const int count : {1, 2, 5}) {
        set_num_threads(count);
        default_generator().manual_seed(3);
        const Tensor y = scaled_dot_product_attention(x[0], x[1], x[2], {.dropout_p = 0.25});
        Tensors all = autograd::grad(Tensors{y}, x, Tensors{numbers(y.shape(), 9).to(dtype)});
        all.push_back(y.detach());
        if (first.empty()) first = all;
        for (size_t i = 0; i < all.size(); ++i)
          EXPECT_TRUE(aorta::all(eq(all[i], first[i])).item<bool>()) << i;
      }
    }
  }
  set_num_threads(threads);
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
  EXPECT_GRADIENTS(
      ([&](const Tensors& x) {
        return Tensors{scaled_dot_product_attention(x[0], x[1], x[2], {.attn_mask = x[3]})};
      }),
      {q, k, v, m});
  EXPECT_SECOND_GRADIENTS(([&](const Tensor& a, const Tensor& b, const Tensor& c) {
                            return scaled_dot_product_attention(a, b, c, {.is_causal = true});
                          }),
                          {numbers({2, 3, 3}).requires_grad_(), k, v});
  EXPECT_SECOND_GRADIENTS(([&](const Tensor& a, const Tensor& b, const Tensor& c) {
                            default_generator().manual_seed(11);
                            return scaled_dot_product_attention(a, b, c, {.dropout_p = 0.4});
                          }),
                          {q, k, v});
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

// Results lie as near to f64's as one rounding of them, and of the weights, brings them.
TEST(Attention, Dtypes) {
  const Sizes sizes{1, 2, 130, 300, 64, 48};
  for (const DType dtype : {f32, f16, bf16}) {
    const double unit = dtype == f32 ? 0x1p-24 : dtype == f16 ? 0x1p-11 : 0x1p-8;
    const Tensors x = operands_of(sizes, dtype);
    Tensors exact;
    for (const Tensor& t : x) exact.push_back(t.detach().to(f64).requires_grad_());
    const auto run = [&](const Tensors& inputs) {
      const Tensor y =
          scaled_dot_product_attention(inputs[0], inputs[1], inputs[2], {.is_causal = true});
      const Tensor weights = numbers(y.shape(), 4).to(dtype).to(inputs[0].dtype());
      Tensors results = autograd::grad(Tensors{y}, inputs, Tensors{weights});
      results.push_back(y.detach());
      return results;
    };
    const auto got = run(x), wanted = run(exact);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].dtype(), dtype);
      const double error = amax(abs(got[i].to(f64) - wanted[i])).item<double>();
      EXPECT_LE(error, (dtype == f32 ? 16 : 4) * unit * amax(abs(wanted[i])).item<double>())
          << dtype << " " << i;
    }
  }
}

// No keys, no queries, no features, no values.
TEST(Attention, ZeroSizes) {
  const Sizes all[] = {{2, 3, 4, 0, 5, 6}, {2, 3, 0, 4, 5, 6}, {2, 3, 4, 5, 0, 6},
                       {2, 3, 4, 5, 6, 0}, {0, 3, 4, 5, 6, 7}, {2, 3, 4, 0, 0, 6}};
  for (const Sizes& sizes : all) {
    const Tensors x = operands_of(sizes);
    Tensor y;
    for (const bool graph : {false, true}) {
      y = scaled_dot_product_attention(x[0], x[1], x[2]);
      ASSERT_EQ(y.shape(), (Shape{sizes.batch, sizes.heads, sizes.queries, sizes.values}));
      const auto g = autograd::grad(Tensors{sum(y)}, x, {}, {.create_graph = graph});
      for (size_t i = 0; i < 3; ++i) EXPECT_EQ(g[i].shape(), x[i].shape());
    }
    if (sizes.keys == 0 && y.numel() > 0) {
      EXPECT_EQ(amax(abs(y.detach())).item<double>(), 0);
    }
    if (sizes.features == 0 && sizes.keys > 0)
      expect_near(y, mean(x[2], -2, true).expand(y.shape()));
  }
}

// Each head of the keys serves as many of the query's that follow one another: the attention of
// keys and values that are repeated.
TEST(AttentionGradients, GroupedQueriesAreRepeatedKeys) {
  const Tensor row = ge(numbers({1, 7, 5}, 9), -0.5), head = ge(numbers({6, 7, 5}, 4), -0.5);
  const Tensor bias = numbers({2, 6, 7, 5}, 5);
  const auto with = [](const Tensor& mask) {
    return AttentionOptions{.attn_mask = mask, .enable_gqa = true};
  };
  for (AttentionOptions options :
       {with({}), with(row), with(head), with(bias), with(row.squeeze(0)),
        AttentionOptions{.is_causal = true, .scale = 0.3, .enable_gqa = true}}) {
    Tensors x = {numbers({2, 6, 7, 4}, 1), numbers({2, 3, 5, 4}, 2), numbers({2, 3, 5, 2}, 3)};
    for (Tensor& operand : x) operand.requires_grad_();
    const Tensor g = numbers({2, 6, 7, 2}, 6);
    const Tensor found = scaled_dot_product_attention(x[0], x[1], x[2], options);
    options.enable_gqa = false;
    const auto repeated = [](const Tensor& t) {
      return t.unsqueeze(2).expand({2, 3, 2, 5, t.size(-1)}).reshape({2, 6, 5, t.size(-1)});
    };
    const Tensor wanted =
        scaled_dot_product_attention(x[0], repeated(x[1]), repeated(x[2]), options);
    expect_near(found, wanted);
    const Tensors a = autograd::grad(Tensors{found}, x, Tensors{g});
    const Tensors b = autograd::grad(Tensors{wanted}, x, Tensors{g});
    for (size_t i = 0; i < 3; ++i) expect_near(a[i], b[i]);
  }
}

}  // namespace
