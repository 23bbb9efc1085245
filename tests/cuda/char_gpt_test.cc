// A small transformer that is trained on a GPU, on the CPU, and as one captured graph, and killed.
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/dispatch/capture.h>
#include <aorta/core/io/state.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/nn/embedding.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/transformer.h>
#include <aorta/optim/adam.h>
#include <aorta/optim/clip.h>
#include <aorta/tests/child_program.h>
#include <aorta/tests/cuda/gpu.h>
#include <aorta/tests/test_folder.h>

#include <signal.h>

#include <bit>
#include <filesystem>
#include <functional>
#include <optional>

using namespace aorta;

namespace {

constexpr int64_t kCharacters = 19, kLength = 12, kWidth = 16, kBatch = 3;
constexpr size_t kSteps = 20;

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

/// A training from one start, on texts that differ from step to step.
class Training {
 public:
  Training(Device device, bool captured) : device_(device), captured_(captured) {
    manual_seed(1);
    net_.emplace();
    net_->to(device);
    optimizer_.emplace(net_->parameters(), optim::AdamWOptions{.lr = 0.01});
  }

  /// Queues a step, whose loss is known when somebody asks for it.
  Tensor step() {
    const Tensor text = randint(0, kCharacters, {kBatch, kLength + 1}, {}, &texts_).to(device_);
    const Tensor input = text.slice(1, 0, kLength).contiguous();
    const Tensor next = text.slice(1, 1, kLength + 1).contiguous().view({-1});
    return captured_ ? graph_(input, next) : learn(input, next);
  }
  void finish_step(const Tensor& loss) {
    losses_.push_back(loss.item<float>());
    optimizer_->set_lr(0.01 * (1 - static_cast<double>(losses_.size() - 1) / kSteps));
  }
  void finish() {
    while (losses_.size() < kSteps) finish_step(step());
    EXPECT_EQ(graph_.graphs(), captured_ ? 1 : 0);
  }

  State state() const {
    State state;
    state.add("model.", net_->state());
    state.add("optimizer.", optimizer_->state());
    state.set("losses", losses_);
    for (const auto& [name, generator] : generators()) {
      const GeneratorState now = generator->state();
      state.set(std::string(name) + ".seed", std::bit_cast<int64_t>(now.seed));
      state.set(std::string(name) + ".stream", std::bit_cast<int64_t>(now.stream));
      state.set(std::string(name) + ".position", std::bit_cast<int64_t>(now.position));
    }
    return state;
  }
  void restore(const State& state) {
    net_->restore(state.with_prefix("model."));
    optimizer_->restore(state.with_prefix("optimizer."));
    losses_ = state.get<std::vector<double>>("losses");
    for (const auto& [name, generator] : generators()) {
      const auto word = [&, prefix = std::string(name)](const char* of) {
        return std::bit_cast<uint64_t>(state.get<int64_t>(prefix + of));
      };
      generator->restore({word(".seed"), word(".stream"), word(".position")});
    }
  }
  const std::vector<double>& losses() const { return losses_; }

 private:
  using Step = std::function<Tensor(const Tensor&, const Tensor&)>;

  std::vector<std::pair<const char*, Generator*>> generators() const {
    return {{"dropout", &default_generator()}, {"texts", const_cast<Generator*>(&texts_)}};
  }
  Tensor learn(const Tensor& text, const Tensor& next) {
    optimizer_->zero_grad();
    const Tensor scores = (*net_)(text);
    const Tensor loss = cross_entropy(scores.view({-1, kCharacters}), next);
    loss.backward();
    optim::clip_grad_norm_(net_->parameters(), 1.0);
    optimizer_->step();
    return loss.detach();
  }

  const Device device_;
  const bool captured_;
  std::optional<CharGpt> net_;
  std::optional<optim::AdamW> optimizer_;
  Generator texts_{2};
  std::vector<double> losses_;
  Captured<Step> graph_{
      [this](const Tensor& text, const Tensor& next) { return learn(text, next); }};
};

std::vector<double> losses_of(Device device, bool captured) {
  Training training(device, captured);
  training.finish();
  return training.losses();
}

/// Trains on from what the file holds, if anything, and writes to it what every step has come to.
/// It kills this process in the eighth step, when that is begun.
void train_until_killed(const std::string& file) {
  Training training("cuda:0", true);
  if (std::filesystem::exists(file)) training.restore(State::load(file));
  for (int step = 1; training.losses().size() < kSteps; ++step) {
    const Tensor loss = training.step();
    if (step == 8) raise(SIGKILL);
    training.finish_step(loss);
    training.state().save(file);
  }
}

using CudaCharGpt = gpu_test::Gpu;

}  // namespace

TEST_F(CudaCharGpt, LearnsAsOnTheCpu) {
  const std::vector<double> cpu = losses_of(Device(), false);
  const std::vector<double> gpu = losses_of("cuda:0", false);
  for (size_t i = 0; i < kSteps; ++i) EXPECT_NEAR(gpu[i], cpu[i], 1e-4) << "step " << i;
  EXPECT_LT(cpu.back(), cpu.front());
  EXPECT_EQ(losses_of("cuda:0", true), gpu) << "the same kernels on the same numbers";
}

// This program is its own child, which runs this case alone and has the variable.
TEST_F(CudaCharGpt, IsKilledAndGoesOnAsOnTheCpu) {
  const char* const variable = "AORTA_CHAR_GPT";
  if (const char* file = std::getenv(variable)) return train_until_killed(file);
  const TestFolder folder;
  const std::string file = folder.file("state.safetensors");
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  for (const size_t steps : {size_t{7}, size_t{14}, kSteps}) {
    ChildProgram child({self, "--gtest_filter=CudaCharGpt.IsKilledAndGoesOnAsOnTheCpu"},
                       {variable + ("=" + file)});
    const int status = child.wait();
    if (steps < kSteps)
      ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    else
      ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    ASSERT_EQ(State::load(file).get<std::vector<double>>("losses").size(), steps);
  }
  const auto losses = State::load(file).get<std::vector<double>>("losses");
  const std::vector<double> cpu = losses_of(Device(), false);
  for (size_t i = 0; i < kSteps; ++i) EXPECT_NEAR(losses[i], cpu[i], 1e-4) << "step " << i;
  EXPECT_EQ(losses, losses_of("cuda:0", true)) << "as without an interruption";
}
