// Whole training steps on the first GPU, each waited for, and the most memory that one holds; what
// is compared is the loss of their first step. PyTorch's switches for TF32 are set as ours.
#include <aorta/aorta.h>
#include <aorta/core/device_backend.h>
#include <aorta/tools/bench/gpu_sides.h>
#include <aorta/tools/bench/steps.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

enum class Numbers : uint8_t { f32, tf32, bf16 };
constexpr const char* kNames[] = {"f32", "TF32", "bf16"};

struct Network {
  std::string name;
  Training (*make)(const Plan& plan, bool bf16);
  TorchTraining (*make_torch)(const Plan& plan, bool bf16);
};

const Network kMlp = {"784-30-10 with sigmoids, batch 10",
                      [](const Plan&, bool) { return mlp_training(30); },
                      [](const Plan&, bool) { return torch_mlp(30); }};
const Network kResNet = {
    "ResNet-18, 32x32, batch 128",
    [](const Plan& plan, bool bf16) { return resnet_training(plan.size(128, 2), bf16); },
    [](const Plan& plan, bool bf16) { return torch_resnet(plan.size(128, 2), bf16); }};
const Network kDeepLab = {"DeepLabV3-ResNet50, 112x112, batch 40",
                          [](const Plan& plan, bool bf16) {
                            return deeplab_training(plan.size(40, 2), plan.size(112, 32), bf16);
                          },
                          [](const Plan& plan, bool bf16) {
                            return torch_deeplab(plan.size(40, 2), plan.size(112, 32), bf16);
                          }};
const Network kCharGpt = {
    "char-GPT, 2 layers of 128, 64 x 256",
    [](const Plan& plan, bool) {
      return char_gpt_training(plan.size(64, 2), plan.size(256, 8), plan.size(128, 16));
    },
    [](const Plan& plan, bool) {
      return torch_char_gpt(plan.size(64, 2), plan.size(256, 8), plan.size(128, 16));
    }};

struct Against {
  bool compiled = false, memory = false;
  bool timed = false;     // cuDNN's engines, on either side
  bool captured = false;  // ours is one graph
};

Side ours(Training training, Numbers numbers, const Against& against) {
  if (!cuda::is_available()) return no_gpu().ours;
  training.bf16 = numbers == Numbers::bf16;
  training.begin(training.input.dim() == 4, kGpu);
  const auto run = [training](const Tensor& x, const Tensor& y) { return training.step(x, y); };
  const auto captured = std::make_shared<Captured<decltype(run)>>(run);
  const auto step = [=, graph = against.captured, tf32 = numbers == Numbers::tf32,
                     timed = against.timed] {
    backends::cudnn::set_benchmark(timed);
    backends::cudnn::set_allow_tf32(tf32);
    backends::cuda::matmul::set_allow_tf32(tf32);
    const Tensor loss = graph ? (*captured)(training.input, training.target) : training.step();
    synchronize(kGpu);
    return loss;
  };
  Side side = aorta_side(step);
  if (against.memory) {
    side.run = [step](int64_t) {
      DeviceBackend& device = backend(DeviceType::cuda);
      step();
      device.reset_peak_memory(0);
      step();
      return static_cast<double>(device.memory_stats(0).peak_bytes);
    };
  }
  return side;
}

Side torch_gpu(TorchTraining training, Numbers numbers, const Against& against) {
  training.device = "cuda";
  training.bf16 = numbers == Numbers::bf16;
  const char* tf32 = numbers == Numbers::tf32 ? "True" : "False";
  const std::string setup = fmt::format(
      "torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = {}; "
      "torch.backends.cudnn.benchmark = {}; {}",
      tf32, against.timed ? "True" : "False", torch_setup(training));
  if (!against.memory) return torch_side(setup, "(step(), torch.cuda.synchronize())[0]");
  // A run's value is what it computes: the mean of one number.
  Side side = torch_side(
      setup,
      "(step(), torch.cuda.reset_peak_memory_stats(), step(), "
      "torch.tensor([float(torch.cuda.max_memory_allocated())], dtype=torch.float64))[-1]");
  if (side.run) side.run = [values = side.values](int64_t) { return values().at(1); };
  side.values = {};
  return side;
}

Row row(const Plan& plan, const Network& network, Numbers numbers, double target,
        Against against = {}) {
  const bool bf16 = numbers == Numbers::bf16;
  return {.name = fmt::format(
              "{}, {}{}{}{}{}", network.name, kNames[static_cast<int>(numbers)],
              against.memory ? ", memory" : "", against.timed ? ", timed engines" : "",
              against.captured ? ", captured" : "", against.compiled ? "; torch.compile" : ""),
          .unit = against.memory ? Unit::memory : Unit::seconds,
          .target = target > 0 ? at_most(target) : Target{},
          .tolerance = bf16 ? 2e-2 : 1e-3,
          .make =
              [=, &network] {
                TorchTraining torch = network.make_torch(plan, bf16);
                torch.compiled = against.compiled;
                return Case{.ours = ours(network.make(plan, bf16), numbers, against),
                            .reference = torch_gpu(torch, numbers, against)};
              },
          .rounds = against.memory ? 1 : 0};
}

// The floor that the project holds the segmenter's step against, seconds on an H200.
constexpr double kFloor = 2.9e-3;

// The share of that floor which the captured step reaches.
Row floor_row(const Plan& plan) {
  Row floor = row(plan, kDeepLab, Numbers::bf16, 0, {.captured = true});
  floor.name += "; floor of an H200";
  floor.target = at_least(0);
  floor.make = [plan] {
    Case sides{.ours = ours(kDeepLab.make(plan, true), Numbers::bf16, {.captured = true}),
               .reference = {.name = "floor"}};
    const std::string& gpu = gpu_peak().name;
    if (gpu == "NVIDIA H200")
      sides.reference.run = [](int64_t repetitions) {
        return static_cast<double>(repetitions) * kFloor;
      };
    else
      sides.reference.missing = fmt::format("floor known of an H200 alone, not of '{}'", gpu);
    return sides;
  };
  return floor;
}

}  // namespace

Rows cuda_training_rows(const Plan& plan) {
  return {row(plan, kMlp, Numbers::f32, 0),
          row(plan, kMlp, Numbers::f32, 0.1, {.captured = true}),
          row(plan, kResNet, Numbers::f32, 0),
          row(plan, kResNet, Numbers::bf16, 0.5),
          row(plan, kDeepLab, Numbers::f32, 0),
          row(plan, kDeepLab, Numbers::tf32, 1 / 1.8),
          row(plan, kDeepLab, Numbers::bf16, 0.5),
          row(plan, kDeepLab, Numbers::f32, 0, {.timed = true}),
          row(plan, kDeepLab, Numbers::tf32, 1 / 1.8, {.timed = true}),
          row(plan, kDeepLab, Numbers::bf16, 0.5, {.timed = true}),
          row(plan, kDeepLab, Numbers::f32, 0.8, {.memory = true}),
          row(plan, kDeepLab, Numbers::bf16, 0.8, {.memory = true}),
          row(plan, kCharGpt, Numbers::f32, 0),
          row(plan, kCharGpt, Numbers::bf16, 0),
          row(plan, kResNet, Numbers::bf16, 0.5, {.captured = true}),
          row(plan, kDeepLab, Numbers::bf16, 0.5, {.captured = true}),
          floor_row(plan),
          row(plan, kCharGpt, Numbers::bf16, 0, {.captured = true}),
          row(plan, kDeepLab, Numbers::bf16, 1 / 1.3, {.compiled = true})};
}

}  // namespace aorta::bench
