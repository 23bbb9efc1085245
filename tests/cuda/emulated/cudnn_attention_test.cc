// Attention by the double of cuDNN, in one program with it: what may compute it, whoever does is
// right, and what happens when a call fails.
#include <aorta/autograd/backward.h>
#include <aorta/core/backends.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/capture.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

extern "C" const char* aorta_register_cuda();

namespace aorta {
namespace {

namespace cudnn = backends::cudnn;
using Results = std::array<Tensor, 4>;  // the output, and the gradients of query, key and value

class CudaCudnnAttention : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(aorta_register_cuda(), nullptr); }
  void SetUp() override { emulated::Streams::get().set_mode(emulated::Mode::lazy); }
  void TearDown() override {
    emulated::inject_nothing();
    cudnn::set_enabled(true);
    cudnn::set_deterministic(false);
    synchronize("cuda:0");
  }
};

struct Case {
  int64_t queries = 19, keys = 24, features = 16, values = 8;
  DType dtype = bf16;
  AttentionOptions options = {.is_causal = true};
};

Results gradients_of(const std::array<Tensor, 3>& operands, const Tensor& gradient,
                     const AttentionOptions& options) {
  std::vector<Tensor> leaves;
  for (const Tensor& x : operands) leaves.push_back(x.detach().requires_grad_());
  const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], options);
  const std::vector<Tensor> g = autograd::grad(std::vector{y}, leaves, std::vector{gradient});
  return {y.detach(), g[0], g[1], g[2]};
}

/// In `dtype`, of numbers that the case's dtype has.
Results results_as(DType dtype, const Case& c, Device device = "cuda:0") {
  Generator generator(3);
  const auto values = [&](int64_t rows, int64_t columns) {
    return randn({2, 3, rows, columns}, {}, &generator).to(c.dtype).to(dtype).to(device);
  };
  const std::array<Tensor, 3> operands{values(c.queries, c.features), values(c.keys, c.features),
                                       values(c.keys, c.values)};
  return gradients_of(operands, values(c.queries, c.values), c.options);
}
Results results(const Case& c, Device device = "cuda:0") { return results_as(c.dtype, c, device); }

/// How far a half type's results are from f64's on the CPU, in units of the type's rounding of the
/// largest number.
double error(const Results& got, const Case& c) {
  const Results wanted = results_as(f64, c, "cpu");
  double most = 0;
  for (size_t i = 0; i < 4; ++i) {
    const Tensor difference = abs(got[i].cpu().to(f64) - wanted[i]);
    most = std::max(most, (max(difference) / max(abs(wanted[i]))).item<double>());
  }
  return most / (c.dtype == f16 ? 0x1p-11 : 0x1p-8);
}

constexpr double kMostError = 8;

/// What cuDNN's engines computed of `work`.
template <class Work>
size_t engines_of_cudnn(const Work& work) {
  Profiler profiler;
  work();
  profiler.stop();
  const auto& ranges = profiler.ranges();
  return static_cast<size_t>(std::count_if(
      ranges.begin(), ranges.end(),
      [](const ProfiledRange& range) { return range.name.starts_with("cuDNN engine "); }));
}

bool same_bits(const Results& a, const Results& b) {
  for (size_t i = 0; i < 4; ++i) {
    const Tensor x = a[i].cpu().contiguous(), y = b[i].cpu().contiguous();
    if (std::memcmp(x.data(), y.data(), static_cast<size_t>(x.nbytes())) != 0) return false;
  }
  return true;
}

}  // namespace

// The switches and the rule choose.
TEST_F(CudaCudnnAttention, ComputesWhatSuitsIt) {
  const auto count = [](const Case& c) { return engines_of_cudnn([&] { results(c); }); };
  EXPECT_EQ(count({}), 2u) << "the output and its gradients";
  EXPECT_EQ(count({.dtype = f16, .options = {}}), 2u);
  EXPECT_EQ(count({.dtype = f32}), 0u);
  EXPECT_EQ(count({.features = 12}), 0u);
  EXPECT_EQ(count({.options = {.dropout_p = 0.5}}), 0u);
  EXPECT_EQ(count({.options = {.attn_mask = zeros({19, 24}, {.dtype = bf16}).cuda()}}), 0u);
  cudnn::set_deterministic(true);
  EXPECT_EQ(count({}), 1u) << "the output alone";
  cudnn::set_enabled(false);
  EXPECT_EQ(count({}), 0u);
}

// Now and then the double has no engine for a problem, and an engine that it advised makes no plan,
// or is coarser than it may be: each result is right, whoever computes it. The logarithms of the
// sums that one writes the other reads.
TEST_F(CudaCudnnAttention, WhatItRefusesIsComputedAllTheSame) {
  size_t theirs = 0;
  for (int64_t queries = 2; queries < 26; ++queries) {
    for (const bool is_causal : {false, true}) {
      const Case c{.queries = queries,
                   .dtype = queries % 2 == 0 ? f16 : bf16,
                   .options = {.is_causal = is_causal, .scale = 0.7}};
      Results got;
      theirs += engines_of_cudnn([&] { got = results(c); });
      EXPECT_LT(error(got, c), kMostError) << queries << " " << is_causal;
    }
  }
  EXPECT_GT(theirs, 70u);
  EXPECT_LT(theirs, 96u);
}

TEST_F(CudaCudnnAttention, EitherReadsTheOthersLogarithms) {
  const Case c;
  for (const bool forward : {false, true}) {
    const Results wanted = results(c);
    Generator generator(3);
    const auto values = [&](int64_t rows, int64_t columns) {
      return randn({2, 3, rows, columns}, {}, &generator).to(c.dtype).cuda();
    };
    std::vector<Tensor> leaves{values(c.queries, c.features), values(c.keys, c.features),
                               values(c.keys, c.values)};
    for (Tensor& leaf : leaves) leaf = leaf.requires_grad_();
    const Tensor gradient = values(c.queries, c.values);
    cudnn::set_enabled(forward);
    const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], c.options);
    cudnn::set_enabled(!forward);
    std::vector<Tensor> g;
    EXPECT_EQ(engines_of_cudnn(
                  [&] { g = autograd::grad(std::vector{y}, leaves, std::vector{gradient}); }),
              forward ? 0u : 1u);
    EXPECT_LT(error({y.detach(), g[0], g[1], g[2]}, c), kMostError);
    cudnn::set_enabled(true);
  }
}

// Engines that add up in any order don't say so: none computes gradients in deterministic mode.
TEST_F(CudaCudnnAttention, BitsAreTheSameWhereTheyMustBe) {
  const auto differ = [] {
    for (int64_t keys = 64; keys < 72; ++keys) {
      const Case c{.queries = 40, .keys = keys, .dtype = f16};
      const Results first = results(c);
      for (int i = 0; i < 10; ++i) {
        if (!same_bits(first, results(c))) return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(differ());
  cudnn::set_deterministic(true);
  EXPECT_FALSE(differ());
}

// Packed projections, whose rows lie apart, on another device too.
TEST_F(CudaCudnnAttention, TensorsOfAnyPlaceAndLayout) {
  const auto parts = [](const Tensor& x) {
    return std::array<Tensor, 3>{x.select(2, 0).transpose(1, 2), x.select(2, 1).transpose(1, 2),
                                 x.select(2, 2).transpose(1, 2)};
  };
  size_t theirs = 0;
  for (int64_t rows = 18; rows < 24; ++rows) {
    for (const char* device : {"cuda:0", "cuda:1"}) {
      const Tensor packed = randn({2, rows, 3, 2, 16}).to(bf16),
                   gradient = randn({2, 2, rows, 16}).to(bf16);
      const Results wanted =
          gradients_of(parts(packed.to(f64)), gradient.to(f64), {.is_causal = true});
      Results got;
      theirs += engines_of_cudnn([&] {
        got = gradients_of(parts(packed.to(device)), gradient.to(device), {.is_causal = true});
      });
      for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(got[i].strides(), wanted[i].strides());
        EXPECT_LT(max(abs(got[i].cpu().to(f64) - wanted[i])).item<double>(), 0.05) << i;
      }
    }
  }
  EXPECT_GT(theirs, 12u);
}

TEST_F(CudaCudnnAttention, StepsAreCaptured) {
  const Case c;
  const Tensor first = rand({2, 3, 20, 16}).to(c.dtype).cuda();
  const auto step = [&](const Tensor& x) -> Tensor {
    const Results got = gradients_of({x, first, first}, first, c.options);
    return cat({got[0], got[1], got[2], got[3]}, -1);
  };
  Captured captured(step);
  EXPECT_EQ(engines_of_cudnn([&] { step(first); }), 2u);
  for (int i = 0; i < 6; ++i) {
    const Tensor x = first * (1.0 + i);
    const Tensor wanted = step(x);
    EXPECT_LT(max(abs(captured(x) - wanted)).to(f64).item<double>(),
              0.02 * max(abs(wanted)).to(f64).item<double>())
        << i;
  }
}

// Each call fails in turn: one line that names the op, and the next attention is right.
TEST_F(CudaCudnnAttention, CallsThatFailNameTheOp) {
  int64_t keys = 40;
  int failed = 0;
  for (const char* call :
       {"cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute", "cudnnBackendFinalize",
        "cudnnBackendGetAttribute", "cudnnSetStream", "cudnnBackendExecute"}) {
    emulated::inject(call, -1, cudaErrorLaunchFailure);
    results({.keys = ++keys});  // an engine that isn't known yet
    const int calls = emulated::calls_of(call);
    ASSERT_GT(calls, 0) << call;
    for (const int nth : {1, 2, calls / 2, calls}) {
      SCOPED_TRACE(std::string(call) + " " + std::to_string(nth));
      const Case c{.keys = ++keys};
      emulated::inject(call, nth, cudaErrorLaunchFailure);
      const std::string text = error_of([&] { results(c); });
      const bool made = nth == 0 || emulated::calls_of(call) >= nth;
      emulated::inject_nothing();
      if (made) {
        ++failed;
        EXPECT_TRUE(text.starts_with("scaled_dot_product_attention")) << text;
        EXPECT_NE(text.find(": cuDNN must succeed, got CUDNN_STATUS_"), std::string::npos) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      }
      EXPECT_LT(error(results(c), c), kMostError);
    }
  }
  EXPECT_GT(failed, 12);
}

}  // namespace aorta
