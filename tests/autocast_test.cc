#include <aorta/autograd/backward.h>
#include <aorta/autograd/checkpoint.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/op_catalog.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace aorta::catalog {
namespace {

// What comes out of a call whose varied inputs are floating of `dtype`; empty where it takes none.
std::optional<DType> result_of(const Row& row, DType dtype) {
  for (const Sample& sample : samples(row)) {
    Tensors inputs;
    bool varied = false;
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      const bool floating = sample.varied[i] && is_floating(sample.inputs[i].dtype());
      inputs.push_back(floating ? sample.inputs[i].to(dtype) : sample.inputs[i]);
      varied |= floating;
    }
    if (!varied) continue;
    const Tensors outputs = sample.call->run(inputs);
    if (is_floating(outputs[0].dtype())) return outputs[0].dtype();
  }
  return {};
}

// Every op of the catalogue does what its row says.
TEST(Autocast, RowsAreWhatOpsDo) {
  int half = 0, wide = 0;
  for (const Row& row : rows()) {
    if (row.calls.empty()) continue;
    SCOPED_TRACE(row.op);
    std::optional<DType> plain;
    try {
      plain = result_of(row, DType::bf16);
    } catch (const Error&) {  // without half types, as nextafter
      continue;
    }
    const auto plain_f32 = result_of(row, DType::f32);
    if (!plain || *plain != DType::bf16 || *plain_f32 != DType::f32)
      continue;  // a dtype of its own
    const Autocast autocast(DType::bf16);
    const DType from_half = *result_of(row, DType::bf16), from_f32 = *result_of(row, DType::f32);
    const bool becomes_half = from_f32 == DType::bf16, becomes_f32 = from_half == DType::f32;
    EXPECT_EQ(becomes_half, row.autocasts == Autocasts::half);
    EXPECT_EQ(becomes_f32, row.autocasts == Autocasts::f32);
    half += becomes_half;
    wide += becomes_f32;
    EXPECT_EQ(*result_of(row, DType::f64), DType::f64) << "f64 is left alone";
  }
  const auto rows_of = [](Autocasts kind) {
    return std::count_if(rows().begin(), rows().end(),
                         [&](const Row& row) { return row.autocasts == kind; });
  };
  EXPECT_EQ(half, rows_of(Autocasts::half)) << "a row that says so is left out above";
  EXPECT_EQ(wide, rows_of(Autocasts::f32)) << "a row that says so is left out above";
  EXPECT_GT(half, 15);
  EXPECT_GT(wide, 30);
}

TEST(Autocast, GradientsComeBackInTheLeafsDtype) {
  const Tensor x = ones({3, 4}), w = ones({4, 2}).requires_grad_();
  Tensor loss;
  {
    const Autocast autocast(DType::bf16);
    const Tensor h = matmul(x, w);
    EXPECT_EQ(h.dtype(), DType::bf16);
    loss = sum(exp(h * 0.25));
    EXPECT_EQ(loss.dtype(), DType::f32);
  }
  loss.backward();
  EXPECT_EQ(w.grad().dtype(), DType::f32);
  EXPECT_NEAR(w.grad().select(0, 0).select(0, 0).item<float>(), 3 * 0.25 * 2.718281828, 0.02);
}

TEST(Autocast, CastsALeafOnceAScopeAndSeesItsChanges) {
  const Tensor x = ones({2, 4}), w = ones({4, 2}).requires_grad_();
  const auto casts = [&] {
    const Autocast autocast(DType::bf16);
    const Tensor first = autocast_to_half(w), second = autocast_to_half(w);
    return first.is_same(second);
  };
  EXPECT_TRUE(casts());
  const Autocast autocast(DType::bf16);
  const Tensor before = matmul(x, w);
  {
    const NoGradGuard no_grad;
    mul_(w, 2);
  }
  EXPECT_EQ(matmul(x, w).select(0, 0).select(0, 0).item<float>(), 8);
  EXPECT_EQ(before.select(0, 0).select(0, 0).item<float>(), 4);
}

TEST(Autocast, NestsAndSwitchesOff) {
  const Tensor a = ones({2, 2});
  const Autocast bf16_scope(DType::bf16);
  {
    const Autocast f16_scope(DType::f16);
    EXPECT_EQ(matmul(a, a).dtype(), DType::f16);
    const Autocast none(DType::f32);
    EXPECT_EQ(matmul(a, a).dtype(), DType::f32);
  }
  EXPECT_EQ(matmul(a, a).dtype(), DType::bf16);
  EXPECT_EQ(exp(a.to(DType::bf16)).dtype(), DType::f32);
  const Tensor h = a.to(DType::bf16);
  exp_(h);
  EXPECT_EQ(h.dtype(), DType::bf16);
  EXPECT_THROW(Autocast(DType::i64), Error);
}

TEST(Autocast, CheckpointSeesTheSameScope) {
  Generator generator(3);
  const Tensor x = randn({3, 4}, {}, &generator),
               w = randn({4, 4}, {}, &generator).requires_grad_();
  const auto block = [&](const Tensor& t) { return tanh(matmul(t, w)); };
  Tensor plain, saved;
  {
    const Autocast autocast(DType::bf16);
    plain = block(block(x));
    saved = autograd::checkpoint(block, autograd::checkpoint(block, x));
  }
  const Tensor expected = autograd::grad({sum(plain)}, {w})[0];
  const Tensor actual = autograd::grad({sum(saved)}, {w})[0];
  EXPECT_EQ(actual.to_vector<float>(), expected.to_vector<float>());
}

}  // namespace
}  // namespace aorta::catalog
