// Attention on a GPU, by cuDNN and by kernels of our own, against the CPU's kernels, which other
// tests hold against the definition: more than one tile of queries, keys, features and values, and
// what divides by none.
#include <aorta/autograd/backward.h>
#include <aorta/core/backends.h>
#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/random.h>
#include <aorta/tests/cuda/gpu.h>

#include <cstring>

using namespace aorta;

namespace {

using CudaAttention = gpu_test::OwnKernels;

/// By cuDNN, where it takes them.
using CudnnAttention = gpu_test::Gpu;

using Tensors = std::vector<Tensor>;

struct Sizes {
  int64_t batch, heads, queries, keys, features, values;
};

Tensors operands_of(const Sizes& s, DType dtype) {
  return {gpu_test::random_values({s.batch, s.heads, s.queries, s.features}, dtype, 1, false),
          gpu_test::random_values({s.batch, s.heads, s.keys, s.features}, dtype, 2, false),
          gpu_test::random_values({s.batch, s.heads, s.keys, s.values}, dtype, 3, false)};
}

// The output and the three gradients, on the operands' device.
Tensors results_of(const Tensors& operands, const AttentionOptions& options) {
  Tensors leaves;
  for (const Tensor& x : operands) leaves.push_back(x.detach().requires_grad_());
  manual_seed(5);
  const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], options);
  const Tensor weights = gpu_test::random_values(y.shape(), y.dtype(), 4, false);
  Tensors results = autograd::grad(Tensors{y}, leaves, Tensors{weights.to(y.device())});
  results.push_back(y.detach());
  return results;
}

void expect_equal(const Tensors& operands, AttentionOptions options) {
  const Tensors wanted = results_of(operands, options);
  Tensors there;
  for (const Tensor& x : operands) there.push_back(x.cuda());
  if (options.attn_mask.defined()) options.attn_mask = options.attn_mask.cuda();
  const Tensors got = results_of(there, options);
  const double unit = gpu_test::tolerance(operands[0].dtype());
  for (size_t i = 0; i < got.size(); ++i) {
    const double most = wanted[i].numel() == 0 ? 0 : amax(abs(wanted[i].to(f64))).item<double>();
    EXPECT_EQ(gpu_test::difference(got[i].cpu(), wanted[i], 0, 8 * unit * most), "")
        << "result " << i << ", " << operands[0].dtype();
  }
}

}  // namespace

TEST_F(CudaAttention, TilesEqualTheCpus) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    expect_equal(operands_of({1, 1, 70, 90, 20, 72}, dtype), {.scale = 0.1});
    expect_equal(operands_of({2, 1, 65, 33, 40, 8}, dtype), {.is_causal = true, .scale = 0.02});
    expect_equal(operands_of({1, 1, 40, 70, 5, 6}, dtype), {.is_causal = true, .scale = 0.1});
    expect_equal(operands_of({1, 2, 130, 130, 32, 32}, dtype), {.is_causal = true, .scale = 0.1});
    expect_equal(operands_of({1, 1, 33, 70, 104, 24}, dtype), {.scale = 0.02});
    if (HasFatalFailure()) return;
  }
}

TEST_F(CudaAttention, MasksEqualTheCpus) {
  const Tensors x = operands_of({2, 2, 40, 70, 5, 6}, f32);
  const Tensor seen = gpu_test::random_values({2, 1, 40, 70}, boolean, 6);
  seen.select(2, 3).fill_(false);
  expect_equal(x, {.attn_mask = seen, .scale = 0.1});
  expect_equal(x, {.attn_mask = gpu_test::random_values({70}, f32, 7, false), .scale = 0.1});
  const Tensors half = operands_of({1, 2, 40, 70, 5, 6}, bf16);
  expect_equal(half, {.attn_mask = gpu_test::random_values({40, 1}, bf16, 7, false), .scale = 0.1});
  expect_equal(half, {.attn_mask = seen.select(0, 1), .scale = 0.1});
  expect_equal(operands_of({2, 2, 40, 70, 48, 40}, f16), {.attn_mask = seen, .scale = 0.02});
}

// Both devices drop the same weights.
TEST_F(CudaAttention, DropoutEqualsTheCpus) {
  for (const DType dtype : {f32, f16}) {
    expect_equal(operands_of({2, 1, 70, 67, 9, 6}, dtype), {.dropout_p = 0.4, .scale = 0.1});
    expect_equal(operands_of({1, 1, 40, 67, 9, 40}, dtype), {.dropout_p = 0.4, .scale = 0.1});
  }
}

// A packed projection, whose rows lie apart and aren't aligned.
TEST_F(CudaAttention, StridesEqualTheCpus) {
  for (const DType dtype : {f32, bf16}) {
    const Tensor packed = gpu_test::random_values({2, 37, 3, 2, 7}, dtype, 8, false);
    const Tensor there = packed.cuda();
    const auto parts = [](const Tensor& x) {
      Tensors result;
      for (int i = 0; i < 3; ++i) result.push_back(x.select(2, i).transpose(1, 2));
      return result;
    };
    const Tensors wanted = results_of(parts(packed), {}), got = results_of(parts(there), {});
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(got[i].strides(), wanted[i].strides());
      const double most = amax(abs(wanted[i].to(f64))).item<double>();
      EXPECT_EQ(gpu_test::difference(got[i].transpose(1, 2).cpu().transpose(1, 2), wanted[i], 0,
                                     8 * gpu_test::tolerance(dtype) * most),
                "");
    }
  }
}

TEST_F(CudnnAttention, EqualsTheCpus) {
  for (const DType dtype : {f16, bf16}) {
    for (const bool is_causal : {false, true}) {
      expect_equal(operands_of({2, 3, 65, 33, 40, 8}, dtype),
                   {.is_causal = is_causal, .scale = 0.02});
      expect_equal(operands_of({1, 2, 40, 70, 24, 72}, dtype),
                   {.is_causal = is_causal, .scale = 0.1});
      if (HasFatalFailure()) return;
    }
  }
}

// A packed projection, whose rows lie apart.
TEST_F(CudnnAttention, StridesEqualTheCpus) {
  for (const DType dtype : {f16, bf16}) {
    const Tensor packed = gpu_test::random_values({2, 37, 3, 2, 16}, dtype, 8, false);
    const auto parts = [](const Tensor& x) {
      return Tensors{x.select(2, 0).transpose(1, 2), x.select(2, 1).transpose(1, 2),
                     x.select(2, 2).transpose(1, 2)};
    };
    const AttentionOptions options{.is_causal = true, .scale = 0.1};
    const Tensors wanted = results_of(parts(packed), options),
                  got = results_of(parts(packed.cuda()), options);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(got[i].strides(), wanted[i].strides());
      const double most = amax(abs(wanted[i].to(f64))).item<double>();
      EXPECT_EQ(gpu_test::difference(got[i].transpose(1, 2).cpu().transpose(1, 2), wanted[i], 0,
                                     8 * gpu_test::tolerance(dtype) * most),
                "");
    }
  }
}

TEST_F(CudaAttention, ZeroSizes) {
  for (const Sizes& sizes :
       {Sizes{1, 2, 3, 0, 4, 5}, Sizes{1, 2, 0, 3, 4, 5}, Sizes{1, 2, 3, 4, 0, 5},
        Sizes{1, 2, 3, 4, 5, 0}, Sizes{0, 2, 3, 4, 5, 6}})
    expect_equal(operands_of(sizes, f32), {});
}

TEST_F(CudaAttention, BitsAreTheSameEveryTime) {
  Tensors x = operands_of({1, 1, 70, 130, 16, 16}, f32);
  for (Tensor& t : x) t = t.cuda();
  const Tensors first = results_of(x, {.dropout_p = 0.2}),
                second = results_of(x, {.dropout_p = 0.2});
  for (size_t i = 0; i < 4; ++i) {
    const Tensor a = first[i].cpu(), b = second[i].cpu();
    EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.nbytes())), 0);
  }
}
