// The scale of losses, by PyTorch's torch.amp.GradScaler("cpu", ...) and by what f16 can hold.
#include <aorta/autograd/sparse_gradient.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/optim/clip.h>
#include <aorta/optim/grad_scaler.h>
#include <aorta/optim/nadam.h>
#include <aorta/optim/sgd.h>

#include <gtest/gtest.h>

#include <cmath>

#include <aorta/tests/error_text.h>
#include <aorta/tests/special_numbers.h>

namespace aorta::optim {
namespace {

// Two optimizers, of which now and then one gets an infinity or a NaN, or both do; every other time
// the first one's gradients are divided beforehand.
TEST(GradScaler, IsPyTorchs) {
  const Tensor p = tensor({1.0f, -2.0f}).requires_grad_(), q = tensor({0.5f}).requires_grad_();
  SGD first({p}, {.lr = 0.1}), second({q}, {.lr = 0.1});
  const GradScalerOptions options{
      .init_scale = 8, .growth_factor = 2, .backoff_factor = 0.25, .growth_interval = 2};
  GradScaler scaler(options);
  struct Row {
    double scale;
    int64_t tracker;
    float p0, p1, q;
  };
  const Row rows[] = {
      {8, 1, 0.9f, -1.8f, 0.4f},
      {16, 0, 0.81f, -1.62f, 0.3f},
      {4, 0, 0.81f, -1.62f, 0.2f},
      {4, 1, 0.729f, -1.458f, 0.1f},
      {8, 0, 0.6561f, -1.3122f, 0},
      {2, 0, 0.59049f, -1.18098f, 0},
      {0.5, 0, 0.59049f, -1.18098f, 0},
      {0.5, 1, 0.531441f, -1.0628819f, -0.1f},
      {1, 0, 0.4782969f, -0.9565938f, -0.2f},
  };
  for (int t = 0; t < 9; ++t) {
    first.zero_grad();
    second.zero_grad();
    scaler.scale(sum(p * p) * 0.5 + sum(q)).backward();
    const bool bad_p = t == 2 || t == 6, bad_q = t == 5 || t == 6;
    if (bad_p) p.grad()[0].fill_(kInf);
    if (bad_q) q.grad()[0].fill_(kNaN);
    if (t % 2) scaler.unscale_(first);
    EXPECT_EQ(scaler.step(first), !bad_p) << t;
    EXPECT_EQ(scaler.step(second), !bad_q) << t;
    scaler.update();
    const Row& row = rows[t];
    EXPECT_EQ(scaler.get_scale(), row.scale) << t;
    EXPECT_EQ(scaler.state().get<int64_t>("growth_tracker"), row.tracker) << t;
    EXPECT_NEAR(p[0].item<float>(), row.p0, 1e-6) << t;
    EXPECT_NEAR(p[1].item<float>(), row.p1, 1e-6) << t;
    EXPECT_NEAR(q.item<float>(), row.q, 1e-6) << t;
  }
}

// A gradient of 1e-8, which is 0 in f16, moves the weight once the loss is scaled.
TEST(GradScaler, KeepsWhatVanishesInF16) {
  for (const bool enabled : {false, true}) {
    const Tensor w = full({1, 1}, 1, {.dtype = f32}).requires_grad_();
    SGD optimizer({w}, {.lr = 1e6});
    GradScaler scaler({.enabled = enabled});
    Tensor loss;
    {
      const Autocast scope(DType::f16);
      loss = sum(matmul(full({1, 1}, 1e-4, {.dtype = f32}), w).to(f32) * 1e-4);
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    EXPECT_NEAR(w.item<float>(), enabled ? 1 - 1e-8 * 1e6 : 1, 1e-4);
    EXPECT_EQ(scaler.get_scale(), enabled ? 65536 : 1);
  }
}

// As if it had never been: neither state nor counts, in a rule that counts and at any time.
TEST(GradScaler, AStepThatIsLeftOutLeavesNothing) {
  const Tensor p = tensor({1.0f, -2.0f}).requires_grad_(), q = p.detach().clone().requires_grad_();
  NAdam left({p}, {.lr = 0.1}), without({q}, {.lr = 0.1});
  GradScaler scaler({.init_scale = 4});
  for (const double bad : {kInf, 1.0, kNaN, kInf, 2.0, 3.0}) {
    left.zero_grad();
    scaler.scale(sum(p * p)).backward();
    const bool finite = std::isfinite(bad);
    if (!finite) p.grad()[1].fill_(bad);
    EXPECT_EQ(scaler.step(left), finite);
    scaler.update();
    if (finite) {
      without.zero_grad();
      sum(q * q).backward();
      without.step();
    }
    EXPECT_EQ(p.detach().to_vector<float>(), q.detach().to_vector<float>());
    const State a = left.state(), b = without.state();
    EXPECT_EQ(a.values(), b.values());
    EXPECT_EQ(a.tensors().size(), b.tensors().size());
    for (const auto& [name, held] : b.tensors()) EXPECT_TRUE(equal(a.tensor(name), held)) << name;
  }
}

// The first steps overflow until the scale is small enough; none of them moves the weight.
TEST(GradScaler, FindsAScaleThatFits) {
  const Tensor w = full({1, 1}, 2, {.dtype = f32}).requires_grad_();
  SGD optimizer({w}, {.lr = 0.001});
  GradScaler scaler;
  int left_out = 0;
  for (int t = 0; t < 8; ++t) {
    optimizer.zero_grad();
    Tensor loss;
    {
      const Autocast scope(DType::f16);
      loss = sum(matmul(full({1, 1}, 4, {.dtype = f32}), w).to(f32));
    }
    scaler.scale(loss).backward();  // in f16: 4 times the scale, and at most 65504
    if (!scaler.step(optimizer)) {
      ++left_out;
      EXPECT_EQ(w.item<float>(), 2);
    }
    scaler.update();
  }
  EXPECT_EQ(scaler.get_scale(), 8192);
  EXPECT_EQ(left_out, 3);
  EXPECT_NEAR(w.item<float>(), 2 - 5 * 0.001 * 4, 1e-6);
}

TEST(GradScaler, ClipsWhatWasUnscaled) {
  const Tensor p = tensor({3.0f, 4.0f}).requires_grad_();
  SGD optimizer({p}, {.lr = 1});
  GradScaler scaler({.init_scale = 1024});
  scaler.scale(sum(p * p) * 0.5).backward();
  scaler.unscale_(optimizer);
  EXPECT_NEAR(clip_grad_norm_({p}, 1).item<double>(), 5, 1e-6);
  EXPECT_TRUE(scaler.step(optimizer));
  EXPECT_NEAR(p[0].item<float>(), 3 - 0.6, 1e-6);
}

TEST(GradScaler, TakesSparseGradients) {
  const Tensor w = ones({4, 2}).requires_grad_();
  SGD optimizer({w}, {.lr = 1});
  GradScaler scaler({.init_scale = 16});
  const Tensor rows = tensor({int64_t{1}, int64_t{3}, int64_t{1}});
  scaler.scale(sum(embedding(rows, w, {}, true))).backward();
  EXPECT_TRUE(scaler.step(optimizer));
  EXPECT_EQ(w.detach().to_vector<float>(), (std::vector<float>{1, 1, -1, -1, 1, 1, 0, 0}));
}

TEST(GradScaler, TakesEmptyParametersAndLossesOfHalfTypes) {
  const Tensor w = ones({1}).requires_grad_(), none = zeros({0}).requires_grad_();
  SGD optimizer({w, none}, {.lr = 1});
  GradScaler scaler;
  const Tensor loss = scaler.scale((sum(w) + sum(none)).to(f16));
  EXPECT_EQ(loss.dtype(), f32);
  EXPECT_EQ(loss.item<float>(), 65536);  // which f16 hasn't
  sum(none).backward();
  scaler.scale(sum(w)).backward();
  EXPECT_TRUE(scaler.step(optimizer));
  EXPECT_EQ(w.item<float>(), 0);
}

TEST(GradScaler, GoesOnFromItsState) {
  const Tensor p = ones({1}).requires_grad_();
  SGD optimizer({p}, {.lr = 0.1});
  GradScaler scaler({.init_scale = 8, .growth_interval = 3}), other;
  const auto step = [&](GradScaler& one) {
    optimizer.zero_grad();
    one.scale(sum(p)).backward();
    one.step(optimizer);
    one.update();
  };
  step(scaler);
  step(scaler);
  other.load_state_dict(scaler.state_dict());
  step(other);
  EXPECT_EQ(other.get_scale(), 16);
  other.update(4);
  EXPECT_EQ(other.get_scale(), 4);
  const State good = scaler.state();
  State bad;
  for (const auto& [name, value] : good.values())
    bad.set(name, name == "growth_tracker" ? State::Value(int64_t{3}) : value);
  EXPECT_EQ(error_of([&] { other.restore(bad); }),
            "grad_scaler: growth_tracker must be from 0 to below growth_interval, got 3");
  EXPECT_EQ(other.get_scale(), 4);
}

// An f32 has no 2^128.
TEST(GradScaler, GrowsToWhatALossCanBeMultipliedWith) {
  const Tensor p = ones({1}).requires_grad_();
  SGD optimizer({p}, {.lr = 0.1});
  GradScaler scaler({.init_scale = 0x1p126, .growth_interval = 1});
  for (const double wanted : {0x1p127, 0x1p127}) {
    optimizer.zero_grad();
    scaler.scale(sum(p) * 0x1p-20).backward();
    EXPECT_TRUE(scaler.step(optimizer));
    scaler.update();
    EXPECT_EQ(scaler.get_scale(), wanted);
    EXPECT_EQ(scaler.state().get<int64_t>("growth_tracker"), 0);
  }
}

TEST(GradScaler, RefusesWhatIsWrong) {
  const Tensor p = ones({1}).requires_grad_(), h = ones({1}, {.dtype = f16}).requires_grad_();
  SGD optimizer({p}, {.lr = 0.1}), halves({h}, {.lr = 0.1});
  GradScaler scaler;
  EXPECT_EQ(error_of([&] { scaler.update(); }),
            "grad_scaler: there must be a step or unscale_ before update, got none");
  EXPECT_EQ(error_of([&] { scaler.step(optimizer); }),
            "grad_scaler: there must be a gradient, got none");
  scaler.scale(sum(p)).backward();
  scaler.unscale_(optimizer);
  EXPECT_EQ(error_of([&] { scaler.unscale_(optimizer); }),
            "grad_scaler: unscale_ comes once between updates, and before step, got a second one");
  EXPECT_EQ(p.grad().item<float>(), 1);
  EXPECT_TRUE(scaler.step(optimizer));
  EXPECT_EQ(error_of([&] { scaler.step(optimizer); }),
            "grad_scaler: step comes once between updates, got a second one");
  EXPECT_EQ(
      error_of([&] { scaler.unscale_(optimizer); }),
      "grad_scaler: unscale_ comes once between updates, and before step, got one after step");
  sum(h).backward();
  EXPECT_EQ(error_of([&] { scaler.step(halves); }),
            "grad_scaler: parameters must not be f16 (autocast leaves them f32), got [1]");
  EXPECT_EQ(h.grad().item<float>(), 1);
  EXPECT_EQ(error_of([&] { scaler.update(0); }),
            "grad_scaler: the scale must be positive and finite, got 0");
  EXPECT_EQ(error_of([] { GradScaler({.init_scale = 1e39}); }),
            "grad_scaler: the scale must be positive and finite, got 1e+39");
  EXPECT_EQ(error_of([] { GradScaler({.growth_factor = 1}); }),
            "grad_scaler: growth_factor must be above 1, got 1");
  EXPECT_EQ(error_of([] { GradScaler({.backoff_factor = 1}); }),
            "grad_scaler: backoff_factor must be in (0, 1), got 1");
  EXPECT_EQ(error_of([] { GradScaler({.growth_interval = 0}); }),
            "grad_scaler: growth_interval must be positive, got 0");
}

}  // namespace
}  // namespace aorta::optim
