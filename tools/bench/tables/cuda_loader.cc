// Epochs of the segmenter's training on the first GPU, fed by a loader: how much of one the GPU is
// busy, by the events of a profiler. What is left is the start of the epoch, the wait for batches,
// and the host between two steps.
#include <aorta/aorta.h>
#include <aorta/core/process/limits.h>
#include <aorta/tools/bench/gpu_sides.h>
#include <aorta/tools/bench/steps.h>
#include <aorta/tools/bench/tables.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace aorta::bench {
namespace {

// Two frames a video and their masks, as the main job reads them; from memory, for what reading
// takes is in the tables `loader`.
class Hearts : public data::Dataset {
 public:
  Hearts(int64_t count, int64_t edge)
      : count_(count),
        frames_(make_normal({kKept, 2, 3, edge, edge}, 128, 40, 1).clamp(0, 255).to(u8)),
        masks_((make({kKept, 2, 1, edge, edge}, 0, 1, 2) > 0.5).to(u8)) {}
  int64_t size() const override { return count_; }
  std::vector<data::TensorSpec> specs() const override {
    const int64_t edge = frames_.size(-1);
    return {{"frames", u8, {2, 3, edge, edge}}, {"masks", u8, {2, 1, edge, edge}}};
  }
  void read(int64_t index, data::Sample& sample, Generator&) const override {
    sample["frames"].copy_(frames_[index % kKept]);
    sample["masks"].copy_(masks_[index % kKept]);
  }

 private:
  static constexpr int64_t kKept = 16;
  int64_t count_;
  Tensor frames_, masks_;
};

data::Batch prepared(const data::Batch& batch) {
  const Tensor frames = batch["frames"].flatten(0, 1).to(f32);
  return NamedTensors{{"input", ((frames - 128) / 40).contiguous(MemoryFormat::channels_last)},
                      {"truth", batch["masks"].flatten(0, 1).to(f32)}};
}

// For how long a device did anything, seconds: its streams work side by side.
double busy_seconds(const std::vector<DeviceRange>& ranges) {
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (const DeviceRange& range : ranges)
    spans.emplace_back(range.start_ns, range.start_ns + range.duration_ns);
  std::sort(spans.begin(), spans.end());
  int64_t busy = 0, end = 0;
  for (const auto& [first, last] : spans) {
    busy += std::max<int64_t>(0, last - std::max(first, end));
    end = std::max(end, last);
  }
  return static_cast<double>(busy) * 1e-9;
}

Training segmenter(const Plan& plan) {
  Training training = deeplab_training(plan.size(40, 4), plan.size(112, 32), true);
  if (plan.tiny)
    training.module = nn::Conv2d(3, 1, 3, {.padding = 1});  // takes a device in software
  return training;
}

class Epochs {
 public:
  explicit Epochs(const Plan& plan)
      : training_(segmenter(plan)),
        loader_(data::make_dataset<Hearts>(plan.size(4000, 8), plan.size(112, 32)),
                {.batch_size = plan.size(20, 2),
                 .shuffle = true,
                 .num_workers = std::clamp(available_cpus() - 1, 1, 12),
                 .pin_memory = true,
                 .drop_last = true,
                 .persistent_workers = true,
                 .seed = 1,
                 .device = kGpu,
                 .batch_transform = prepared}) {
    training_.begin(true, kGpu);
  }

  // The loop of the main job: the next batch's copies are queued behind the step, whose loss is
  // read.
  void run() {
    const double start = seconds_now();
    Profiler profiler;
    for (auto batch = loader_.begin(); batch != loader_.end(); ++batch) {
      const Tensor loss = step_((*batch)["input"], (*batch)["truth"]);
      batch.prefetch();
      check(std::isfinite(loss.item<double>()), "bench", "the loss must be finite", "another");
    }
    seconds += seconds_now() - start;
    profiler.stop();
    busy = busy_seconds(profiler.device_ranges());
  }

  double seconds = 0;  // of all so far
  double busy = 0;     // in the last one

 private:
  Training training_;
  Captured<std::function<Tensor(const Tensor&, const Tensor&)>> step_{
      [this](const Tensor& x, const Tensor& y) { return training_.step(x, y); }};
  data::DataLoader loader_;
};

Case epoch_case(const Plan& plan) {
  const auto epochs = std::make_shared<Epochs>(plan);
  return {.ours = {.name = "Aorta",
                   .run =
                       [epochs](int64_t repetitions) {
                         const double before = epochs->seconds;
                         for (int64_t i = 0; i < repetitions; ++i) epochs->run();
                         return epochs->seconds - before;
                       }},
          .reference = {.name = "busy GPU", .run = [epochs](int64_t repetitions) {
                          return static_cast<double>(repetitions) * epochs->busy;
                        }}};
}

}  // namespace

Rows cuda_loader_rows(const Plan& plan) {
  return {{.name = "epoch of DeepLabV3-ResNet50, 200 x 2x20, bf16: busy",
           .target = at_least(0.95),
           .make = [plan] { return gpu_case([&] { return epoch_case(plan); }); },
           .rounds = 3}};
}

}  // namespace aorta::bench
