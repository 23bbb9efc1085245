#include <aorta/core/called_op.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/einsum.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/ops/sort.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <cmath>

// Functions that are made of others: errors are about the one that was called. The siege holds it
// for all functions, by chance (tests/siege/attack.cc).
namespace aorta {
namespace {

// What an error is about.
template <class F>
std::string named_by(const F& f) {
  const std::string text = error_of(f);
  return text.substr(0, text.find(':'));
}

TEST(CalledOp, IsWhatAnErrorNames) {
  const auto failing = [] { check(false, "inner", "it must be well", 3); };
  EXPECT_EQ(error_of(failing), "inner: it must be well, got 3");
  const CalledOp called("outer");
  EXPECT_EQ(error_of(failing), "outer: it must be well, got 3");
  {
    const CalledOp within("within");
    EXPECT_EQ(error_of(failing), "outer: it must be well, got 3");
  }
  EXPECT_EQ(error_of(failing), "outer: it must be well, got 3");
  EXPECT_EQ(error_of([] { check(false, "allocate", "there must be memory", 3); }),
            "outer: there must be memory, got 3");
}

TEST(CalledOp, EndsWithItsScope) {
  {
    const CalledOp called("outer");
    EXPECT_STREQ(called_op(), "outer");
  }
  EXPECT_EQ(called_op(), nullptr);
}

TEST(CalledOp, OfFunctionsThatFillAndMake) {
  EXPECT_EQ(named_by([] { full({2}, 300, {.dtype = u8}); }), "full");
  EXPECT_EQ(named_by([] { full_like(zeros({2}, {.dtype = u8}), 300); }), "full_like");
  EXPECT_EQ(named_by([] { zeros({int64_t{1} << 62, 4}); }), "zeros");
  EXPECT_EQ(named_by([] { ones({2}, {.dtype = i64, .requires_grad = true}); }), "ones");
  EXPECT_EQ(named_by([] { eye(int64_t{1} << 62); }), "eye");
  EXPECT_EQ(named_by([] { rand({int64_t{1} << 62, 4}); }), "rand");
  EXPECT_EQ(named_by([] { zeros_like(ones({3}), {.dtype = i64, .requires_grad = true}); }),
            "zeros_like");
  // What says which option doesn't fit stays.
  EXPECT_EQ(named_by([] { zeros_like(ones({3}), {.memory_format = MemoryFormat::channels_last}); }),
            "channels_last");
}

TEST(CalledOp, OfFunctionsThatWrite) {
  const Tensor x = zeros({2, 3}), mask = ones({2, 3}, {.dtype = boolean});
  const Tensor index = tensor({0, 1});
  EXPECT_EQ(named_by([&] { masked_fill_(x, ones({2, 3}), 1); }), "masked_fill_");
  EXPECT_EQ(named_by([&] { masked_fill(x, ones({2, 3}), 1); }), "masked_fill");
  EXPECT_EQ(named_by([&] { index_put_(x, {Slice{0, 1, -1}}, ones({1})); }), "index_put_");
  EXPECT_EQ(named_by([&] { masked_scatter_(x, mask, ones({6}, {.dtype = f64})); }),
            "masked_scatter_");
  EXPECT_EQ(named_by([&] { pow_(tensor({1, 2}), 0.5); }), "pow_");
  EXPECT_EQ(named_by([&] { add_(x, ones({5}), 2); }), "add_");
  EXPECT_EQ(named_by([&] { clamp_min(x, ones({5})); }), "clamp_min");
  EXPECT_EQ(named_by([&] { index_fill_(x, 0, tensor({7}), 1); }), "index_fill_");
  EXPECT_EQ(named_by([&] { mul_(x, ones({5})); }), "mul_");
  EXPECT_EQ(named_by([&] { neg_(mask); }), "neg_");
  EXPECT_EQ(named_by([&] { lerp_(x, ones({5}), 0.5); }), "lerp_");
  EXPECT_EQ(named_by([&] { fmod_(index, 0); }), "fmod_");
  EXPECT_EQ(named_by([&] { add_(index, 1, 0.5); }), "add_");
  EXPECT_EQ(named_by([&] { scatter_(x, 5, index, 1); }), "scatter_");
  EXPECT_EQ(named_by([&] { tril_(ones({3})); }), "tril_");
  EXPECT_EQ(named_by([&] { threshold_(index, 0.5, NAN); }), "threshold_");
  EXPECT_EQ(named_by([&] { index_add_(x, 1, index, ones({2, 2}, {.dtype = f64})); }), "index_add_");
}

// Tensors without elements have any sizes, of which a result may have too many.
TEST(CalledOp, OfSizesBeyondAllMemory) {
  constexpr int64_t kMany = int64_t{1} << 42;
  const Tensor row = empty({0, 1, kMany}), column = empty({0, kMany, 1});
  const Tensor matrix = empty({0, kMany}), half = empty({0, kMany, 1 << 19}, {.dtype = bf16});
  EXPECT_EQ(named_by([&] {
              adaptive_max_pool3d(ones({1, 1, 2, 2, 2}), kMany / 4096);
            }),
            "adaptive_max_pool3d");
  EXPECT_EQ(named_by([&] {
              adaptive_avg_pool3d(ones({1, 1, 2, 2, 2}), kMany / 4096);
            }),
            "adaptive_avg_pool3d");
  EXPECT_EQ(named_by([&] { tensordot(matrix, matrix, 0); }), "tensordot");
  EXPECT_EQ(named_by([&] { smooth_l1_loss(row, column); }), "smooth_l1_loss");
  EXPECT_EQ(named_by([&] { row + column; }), "add");
  EXPECT_EQ(named_by([&] { lt(row, column); }), "lt");
  EXPECT_EQ(named_by([&] { where(row > 0, row, column); }), "where");
  EXPECT_EQ(named_by([&] { isclose(row, column); }), "isclose");
  EXPECT_EQ(named_by([&] { matmul(matrix.t(), matrix); }), "matmul");
  EXPECT_EQ(named_by([&] { mm(matrix.t(), matrix); }), "mm");
  EXPECT_EQ(named_by([&] { linalg::pinv(half); }), "pinv");
  EXPECT_EQ(named_by([&] { softmax(half, 0, f64); }), "softmax");
  EXPECT_EQ(named_by([&] { cumsum(half.to(u8), 0); }), "cumsum");
}

TEST(CalledOp, OfFunctionsThatRead) {
  const Tensor x = zeros({2, 3});
  EXPECT_EQ(named_by([&] { stack({x, zeros({2, 3}, {.device = "cpu:1"})}); }), "stack");
  EXPECT_EQ(named_by([&] { argsort(x, 5); }), "argsort");
  EXPECT_EQ(named_by([&] { allclose(x, zeros({5})); }), "allclose");
  EXPECT_EQ(named_by([&] { outer(x, x); }), "outer");
  EXPECT_EQ(named_by([&] { index(x, {Slice{0, 1, 0}}); }), "index");
  EXPECT_EQ(named_by([&] { tile(x, {-1, 2}); }), "tile");
  EXPECT_EQ(named_by([&] { repeat_interleave(x, int64_t{1} << 62); }), "repeat_interleave");
  EXPECT_EQ(named_by([&] { masked_select(x, ones({2, 3})); }), "masked_select");
  EXPECT_EQ(named_by([&] { gelu(ones({2}, {.dtype = boolean}), GeluApproximation::tanh); }),
            "gelu");
  EXPECT_EQ(named_by([&] {
              max_pool2d_with_indices(ones({1, 4, 4}, {.dtype = i64}), 2);
            }),
            "max_pool2d_with_indices");
  EXPECT_EQ(named_by([&] { cosine_embedding_loss(x, x, zeros({0})); }), "cosine_embedding_loss");
  EXPECT_EQ(named_by([&] { einsum("ij,jk->ik", {x, zeros({3, 2}, {.dtype = f64})}); }), "einsum");
}

}  // namespace
}  // namespace aorta
