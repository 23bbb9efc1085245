#include <aorta/aorta.h>
#include <aorta/apps/echo/data_facts.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/recipe.h>
#include <aorta/apps/echo/video/clip_evaluation.h>
#include <aorta/apps/echo/video/clip_trainer.h>
#include <aorta/core/io/bytes.h>

#include <cmath>
#include <limits>

namespace aorta::echo {
namespace {

constexpr int64_t kPad = 12;  // pixels, EchoNet's

/// Throws Failure(usage) for a target that isn't a column of numbers.
void check_task(const std::string& task) {
  for (const char* other : {"Filename", "LargeIndex", "SmallIndex", "LargeFrame", "SmallFrame",
                            "LargeTrace", "SmallTrace"})
    if (task == other)
      throw Failure(ExitCode::usage,
                    "--task: must be a column of numbers of FileList.csv, got " + io::quote(task));
}

Regressor initial_regressor(const VideoOptions& options, const State* checkpoint) {
  if (checkpoint)
    return with_code(ExitCode::data, [&] { return regressor_of(*checkpoint, "checkpoint"); });
  check_task(options.task);
  manual_seed(options.seed);
  const data::ChannelStatistics pixels = pixel_statistics(options.data_dir, options.seed);
  Regressor regressor = with_code(ExitCode::usage, [&] {
    return make_regressor(options.model_name, pixels, options.task, options.frames, options.period);
  });
  if (!options.weights.empty()) {
    load_initial_weights(regressor, options.weights);
  } else if (options.pretrained) {
    load_initial_weights(regressor, pretrained_weights(options.model_name));
  }
  return regressor;
}

}  // namespace

std::shared_ptr<const data::Echo> echo_clips(const std::string& data_dir, data::EchoSplit split,
                                             const Regressor& regressor, int64_t pad) {
  data::EchoOptions options = clip_options(data_dir, split);
  options.targets = {"Filename", regressor.task};
  options.length = regressor.frames;
  options.period = regressor.period;
  options.pad = pad;
  options.mean = regressor.mean;  // what fills up
  options.std = regressor.std;
  return with_code(ExitCode::data,
                   [&] { return data::make_dataset<data::Echo>(data_dir, options); });
}

std::vector<float> told_values(const std::string& data_dir, data::EchoSplit split,
                               const std::string& task) {
  return with_code(ExitCode::data, [&] {
    data::EchoOptions options = clip_options(data_dir, split);
    options.targets = {task};
    options.video = false;
    const data::Echo videos(data_dir, options);
    data::Sample sample(std::make_shared<const std::vector<data::TensorSpec>>(videos.specs()));
    Generator random;
    std::vector<float> values;
    for (int64_t i = 0; i < videos.size(); ++i) {
      videos.read(i, sample, random);
      values.push_back(sample[task].item<float>());
    }
    return values;
  });
}

ClipErrors errors_of(const Totals& totals) {
  if (totals.sums.size() < 4 || totals.count == 0) return {};
  const auto count = static_cast<double>(totals.count);
  const double spread = totals.sums[3] - totals.sums[2] * totals.sums[2] / count;
  return {.mae = totals.sums[0] / count,
          .r2 = spread > 1e-9 * totals.sums[3] ? 1 - totals.sums[1] / spread
                                               : std::numeric_limits<double>::quiet_NaN()};
}

namespace {

Tensor sums_of(const Tensor& output, const Tensor& values) {
  const Tensor told = values.to(f64), off = output.to(f64) - told;
  return stack({sum(abs(off)), sum(off * off), sum(told), sum(told * told)});
}

}  // namespace

void try_step(const VideoOptions& options, Device device) {
  const Regressor regressor = with_code(ExitCode::usage, [&] {
    return make_regressor(options.model_name, {.mean = {0, 0, 0}, .std = {1, 1, 1}}, options.task,
                          options.frames, options.period);
  });
  regressor.net->to(ToOptions{.device = device, .memory_format = MemoryFormat::channels_last});
  const Tensor clips =
      zeros({2, 3, options.frames, kTriedSide, kTriedSide}, {.dtype = u8, .device = device});
  const Tensor told = zeros({2}, {.device = device});
  const Autocast autocast(options.amp ? bf16 : f32);
  const Tensor output = regressor.values(regressor.normalised(clips));
  mse_loss(output, told).backward();
  make_optimizer(options, regressor.net->parameters())->step();
  sums_of(output.detach(), told);
}

ClipTrainer::ClipTrainer(const VideoOptions& options, const State* checkpoint)
    : TrainingLoop(options, {choose_device(options.device,
                                           [&](Device device) { try_step(options, device); })}),
      regressor_(initial_regressor(options, checkpoint)) {
  auto train = echo_clips(options.data_dir, data::EchoSplit::train, regressor_, kPad);
  regressor_.side = longer_edge(*train);
  begin({.train = std::move(train),
         .validation = echo_clips(options.data_dir, data::EchoSplit::val, regressor_, 0),
         .augment = nullptr,
         .prepare =
             [regressor = regressor_](const data::Batch& batch) {
               data::Batch both = batch;
               both.add("input", regressor.normalised(batch["video"]));
               return both;
             },
         .facts =
             [data_dir = options.data_dir, task = regressor_.task](const data::Echo& videos) {
               return data_facts(videos, told_values(data_dir, videos.options().split, task));
             },
         .fact = regressor_.task},
        checkpoint);
}

const std::vector<Score>& ClipTrainer::scores() const {
  static const std::vector<Score> scores = {
      {"r2", "r2", "R2", [](const Totals& totals) { return errors_of(totals).r2; }},
      {"mae", "mae", "MAE", [](const Totals& totals) { return errors_of(totals).mae; }}};
  return scores;
}

Tensor ClipTrainer::output(const data::Batch& batch) const {
  return regressor_.values(batch["input"]);
}

Tensor ClipTrainer::loss(const Tensor& output, const data::Batch& batch) const {
  return mse_loss(output, batch[regressor_.task]);
}

Tensor ClipTrainer::sums(const Tensor& output, const data::Batch& batch) const {
  return sums_of(output, batch[regressor_.task]);
}

void ClipTrainer::count(const data::Batch& batch, double loss, Totals& totals) const {
  const int64_t size = batch[regressor_.task].size(0);
  totals.loss += loss * static_cast<double>(size);
  totals.samples += size;
  totals.count += size;
}

void ClipTrainer::add_samples(const data::Batch& batch, State& replay) const {
  replay.set("replay.clips", batch["video"]);
  replay.set("replay.told", batch[regressor_.task]);
}

}  // namespace aorta::echo
