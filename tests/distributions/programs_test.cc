// Two programs: a policy that learns which arm pays, and an encoder that learns a posterior.
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/optim/adam.h>
#include <aorta/tests/distributions/cases.h>

namespace aorta::distributions {
namespace {

// The mean of reward * grad log_prob is the gradient of the expected reward (Williams 1992).
TEST(Programs, ReinforceFindsTheGradientOfTheExpectedReward) {
  const Tensor rewards = tensor({1.0, 3.0, -1.0}, {.dtype = f64});
  const Tensor logits = tensor({0.2, -0.4, 0.1}, {.dtype = f64, .requires_grad = true});
  const Categorical policy({.logits = logits});
  Generator generator(31);
  const Tensor actions = policy.sample({40000}, &generator);
  mean(policy.log_prob(actions) * index_select(rewards, 0, actions)).backward();
  const Tensor p = softmax(logits.detach(), -1);
  const Tensor exact = p * (rewards - sum(p * rewards));
  EXPECT_TRUE(near(logits.grad(), exact, 0.02));  // the noise of a mean over 40,000: about 0.006
}

TEST(Programs, ReinforceLearnsTheBestArm) {
  const Tensor logits = zeros({4}, {.requires_grad = true});
  const Tensor rewards = tensor({0.1, 0.2, 1.0, 0.4});
  optim::Adam optimizer({logits}, {.lr = 0.05});
  Generator generator(37);
  for (int step = 0; step < 150; ++step) {
    optimizer.zero_grad();
    const Categorical policy({.logits = logits});
    const Tensor actions = policy.sample({16}, &generator);
    const Tensor reward = index_select(rewards, 0, actions);
    mean(-policy.log_prob(actions) * (reward - mean(reward))).backward();
    optimizer.step();
  }
  EXPECT_GT(softmax(logits, -1).at<float>({2}), 0.9f);
}

// x = z + noise of variance 0.25, z normal: the posterior of z is normal with mean 0.8 x and
// variance 0.2, which is what the evidence's lower bound is largest for (Kingma, Welling 2014).
TEST(Programs, AnEncoderLearnsThePosterior) {
  const Tensor x = tensor({-1.5, 0.5, 2.0});
  const Tensor loc = zeros({3}, {.requires_grad = true}),
               log_scale = zeros({3}, {.requires_grad = true});
  optim::Adam optimizer({loc, log_scale}, {.lr = 0.05});
  const Independent prior(Normal(zeros({3}), 1), 1);
  Generator generator(41);
  for (int step = 0; step < 400; ++step) {
    if (step == 300) optimizer.set_lr(0.005);
    optimizer.zero_grad();
    const Independent posterior(Normal(loc, exp(log_scale)), 1);
    const Tensor z = posterior.rsample({64}, &generator);
    const Tensor likelihood = mean(Independent(Normal(z, 0.5), 1).log_prob(x));
    (kl_divergence(posterior, prior) - likelihood).backward();
    optimizer.step();
  }
  EXPECT_TRUE(near(loc, 0.8 * x, 0.02));
  EXPECT_TRUE(near(exp(log_scale), full({3}, std::sqrt(0.2)), 0.02));
}

}  // namespace
}  // namespace aorta::distributions
