// A small transformer that is trained on a GPU, on the CPU, and as one captured graph.
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/dispatch/capture.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/nn/embedding.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/transformer.h>
#include <aorta/optim/adam.h>
#include <aorta/optim/clip.h>
#include <aorta/tests/cuda/gpu.h>

using namespace aorta;

namespace {

constexpr int64_t kCharacters = 19, kLength = 12, kWidth = 16, kBatch = 3;
constexpr int kSteps = 20;

struct CharGpt : nn::Module {
  CharGpt()
      : token(*this, "token", kCharacters, kWidth),
        position(*this, "position", kLength, kWidth),
        blocks(*this, "blocks",
               nn::TransformerEncoderLayer(kWidth, 2,
                                           {.dim_feedforward = 4 * kWidth,
                                            .dropout = 0.1,
                                            .activation = nn::TransformerActivation::gelu,
                                            .batch_first = true,
                                            .norm_first = true}),
               2, nn::LayerNorm(kWidth)),
        head(*this, "head", kWidth, kCharacters) {}
  Tensor forward(const Tensor& text) const override {
    const Tensor places = arange(text.size(1), {.device = text.device()});
    return head(blocks(token(text) + position(places), {.is_causal = true}));
  }
  nn::Embedding token, position;
  nn::TransformerEncoder blocks;
  nn::Linear head;
};

/// The losses of a training from one start, on texts that differ from step to step.
std::vector<float> losses_of(Device device, bool captured) {
  manual_seed(1);
  CharGpt net;
  net.to(device);
  optim::AdamW optimizer(net.parameters(), {.lr = 0.01});
  const auto step = [&](const Tensor& text, const Tensor& next) {
    optimizer.zero_grad();
    const Tensor scores = net(text);
    const Tensor loss = cross_entropy(scores.view({-1, kCharacters}), next);
    loss.backward();
    optim::clip_grad_norm_(net.parameters(), 1.0);
    optimizer.step();
    return loss.detach();
  };
  auto graph = capture(step);
  Generator texts(2);
  std::vector<float> losses;
  for (int i = 0; i < kSteps; ++i) {
    const Tensor text = randint(0, kCharacters, {kBatch, kLength + 1}, {}, &texts).to(device);
    const Tensor input = text.slice(1, 0, kLength).contiguous();
    const Tensor next = text.slice(1, 1, kLength + 1).contiguous().view({-1});
    losses.push_back((captured ? graph(input, next) : step(input, next)).item<float>());
    optimizer.set_lr(0.01 * (1 - static_cast<double>(i) / kSteps));
  }
  EXPECT_EQ(graph.graphs(), captured ? 1 : 0);
  return losses;
}

using CudaCharGpt = gpu_test::Gpu;

}  // namespace

TEST_F(CudaCharGpt, LearnsAsOnTheCpu) {
  const std::vector<float> cpu = losses_of(Device(), false);
  const std::vector<float> gpu = losses_of("cuda:0", false);
  for (int i = 0; i < kSteps; ++i)
    EXPECT_NEAR(gpu[static_cast<size_t>(i)], cpu[static_cast<size_t>(i)], 1e-4) << "step " << i;
  EXPECT_LT(cpu.back(), cpu.front());
  EXPECT_EQ(losses_of("cuda:0", true), gpu) << "the same kernels on the same numbers";
}
