#include <aorta/aorta.h>
#include <aorta/apps/echo/data_facts.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/ranks.h>
#include <aorta/apps/echo/recipe.h>
#include <aorta/apps/echo/trainer.h>
#include <aorta/core/io/bytes.h>
#include <fmt/format.h>

namespace aorta::echo {
namespace {

Segmenter new_segmenter(const TrainOptions& options, const data::ChannelStatistics& pixels) {
  return with_code(ExitCode::usage, [&] {
    return make_segmenter(options.model_name, pixels.mean, pixels.std,
                          options.frames.value_or(kClipFrames),
                          options.period.value_or(kClipPeriod));
  });
}

Segmenter initial_segmenter(const TrainOptions& options, const State* checkpoint) {
  if (checkpoint) return segmenter_of(*checkpoint, "checkpoint");
  manual_seed(options.seed);
  Segmenter segmenter = new_segmenter(options, pixel_statistics(options.data_dir, options.seed));
  if (!options.weights.empty()) {
    load_initial_weights(segmenter, options.weights);
  } else if (options.pretrained) {
    load_initial_weights(segmenter, pretrained_weights(options.model_name));
  }
  return segmenter;
}

std::shared_ptr<const data::Dataset> augmented(std::shared_ptr<const data::Dataset> set) {
  return data::make_dataset<data::TransformedDataset>(
      std::move(set), augmentation(),
      data::Roles{.images = {"LargeFrame", "SmallFrame"}, .masks = {"LargeTrace", "SmallTrace"}});
}

constexpr double kMasked = 0.6;  // of the frames in pre-training

// "cuda" is a GPU of its own for each process of a machine.
Device device_of_rank(Device device) {
  if (rank_count() == 1 || !device.is_cuda() || device.index != 0) return device;
  const int count = device_count(DeviceType::cuda);
  return Device("cuda:" + std::to_string(distributed::get_local_rank() % count));
}

Tensor loss_of(const Tensor& logits, const data::Batch& batch) {
  return binary_cross_entropy_with_logits(logits, batch["truth"], {.reduction = Reduction::sum}) /
         2;
}

// Pixels that are found and told of either phase, that are in one of both, and how many there are.
Tensor sums_of(const Tensor& logits, const data::Batch& batch) {
  const Tensor found = logits > 0, there = batch["truth"] > 0;
  const int64_t size = found.size(0) / 2;
  std::vector<Tensor> sums;
  for (const int64_t first : {int64_t{0}, size}) {
    const Tensor a = found.narrow(0, first, size), b = there.narrow(0, first, size);
    sums.push_back(sum(logical_and(a, b)));
    sums.push_back(sum(logical_or(a, b)));
  }
  sums.push_back(sum(found));
  sums.push_back(sum(there));
  return stack(sums).to(f64);
}

Tensor masked(const Tensor& input) {
  const Tensor drawn = rand({input.size(0), 1, input.size(2), 1, 1}, {.device = input.device()});
  return input * (drawn >= kMasked).to(f32);
}

Tensor loss_of_pretraining(const Tensor& output, const Tensor& input) {
  return mse_loss(output, mean(input.select(2, input.size(2) / 2), 1), Reduction::sum) / 2;
}

std::vector<Device> devices_of(const TrainOptions& options) {
  if (rank_count() > 1 && !options.devices.empty())
    throw Failure(ExitCode::usage, "--devices: each process has one device, got --devices " +
                                       io::quote(options.devices) + " in " +
                                       std::to_string(rank_count()) + " processes");
  if (options.devices.empty())
    return {device_of_rank(
        choose_device(options.device, [&](Device device) { try_step(options, device); }))};
  if (options.device != "auto")
    throw Failure(ExitCode::usage,
                  "--devices: goes without --device, got --device " + io::quote(options.device));
  return choose_devices(options.devices);
}

// Ends of diastole and then of systole (2 B, *): part by part both phases of B / parts videos.
Tensor split_phases(const Tensor& input, int64_t parts) {
  const int64_t videos = input.size(0) / 2, step = videos / parts;
  std::vector<Tensor> pieces;
  for (int64_t part = 0; part < parts; ++part)
    for (const int64_t phase : {0, 1})
      pieces.push_back(input.narrow(0, phase * videos + part * step, step));
  return cat(pieces);
}

// Undoes split_phases.
Tensor join_phases(const Tensor& output, int64_t parts) {
  const int64_t step = output.size(0) / 2 / parts;
  std::vector<Tensor> pieces;
  for (const int64_t phase : {0, 1})
    for (int64_t part = 0; part < parts; ++part)
      pieces.push_back(output.narrow(0, (2 * part + phase) * step, step));
  return cat(pieces);
}

}  // namespace

void try_step(const TrainOptions& options, Device device) {
  const Segmenter segmenter = new_segmenter(options, {.mean = {0, 0, 0}, .std = {1, 1, 1}});
  segmenter.net->to(ToOptions{.device = device, .memory_format = MemoryFormat::channels_last});
  const bool clips = segmenter.takes_clips();
  nn::set_statistic_groups(*segmenter.net, clips ? 1 : 2);
  Shape shape{2, 3, kTriedSide, kTriedSide};
  if (clips) shape.insert(2, segmenter.frames);
  const Tensor frames = zeros(shape, {.dtype = u8, .device = device});
  const Tensor traces = zeros({2, kTriedSide, kTriedSide}, {.device = device});
  const data::Batch batch = with_inputs(NamedTensors{{"LargeFrame", frames},
                                                     {"SmallFrame", frames},
                                                     {"LargeTrace", traces},
                                                     {"SmallTrace", traces}},
                                        segmenter);
  const Autocast autocast(options.amp ? bf16 : f32);
  const Tensor &input = batch["input"], logits = segmenter.logits(input);
  loss_of(logits, batch).backward();
  if (options.pretrain_epochs)
    loss_of_pretraining(segmenter.logits(masked(input)), input).backward();
  make_optimizer(options, segmenter.net->parameters())->step();
  sums_of(logits.detach(), batch);
}

int64_t batch_parts_of(const TrainOptions& options) {
  check_positive("--batch_size", options.batch_size);
  const int64_t ranks = rank_count();
  const int64_t count = ranks > 1 ? ranks : static_cast<int64_t>(devices_of(options).size());
  const std::string sharers = ranks > 1 ? "the number of processes" : "the number of --devices";
  const int64_t parts = options.batch_parts.value_or(count);
  check_positive("--batch_parts", parts);
  const auto multiple = [](const std::string& flag, int64_t value, const std::string& of,
                           int64_t factor) {
    if (value % factor != 0)
      throw Failure(ExitCode::usage, flag + ": must be a multiple of " + of + ", got " +
                                         std::to_string(value) + " for " + std::to_string(factor));
  };
  multiple("--batch_parts", parts, sharers, count);
  if (!options.batch_parts)
    multiple("--batch_size", options.batch_size, sharers, parts);
  else if (options.batch_size % parts != 0)
    throw Failure(ExitCode::usage, "--batch_parts: must divide --batch_size, got " +
                                       std::to_string(parts) + " for " +
                                       std::to_string(options.batch_size));
  return parts;
}

double FrameOverlaps::dice() const {
  return Overlap{large.intersection + small.intersection, large.either + small.either}.dice();
}

FrameOverlaps overlaps_of(const Totals& totals) {
  const auto number = [&](size_t i) {
    return i < totals.sums.size() ? static_cast<int64_t>(totals.sums[i]) : 0;
  };
  return {.large = {.intersection = number(0), .either = number(1)},
          .small = {.intersection = number(2), .either = number(3)}};
}

MarkedPixels marked_pixels(const Totals& totals) {
  if (totals.sums.size() < 6) return {};
  return {.found = totals.sums[4],
          .traced = totals.sums[5],
          .all = 2 * static_cast<double>(totals.count)};
}

std::shared_ptr<const data::Echo> echo_frames(const std::string& data_dir, data::EchoSplit split,
                                              const Segmenter* segmenter) {
  data::EchoOptions options = frames_options(split, segmenter);
  options.targets.insert(options.targets.begin(), "Filename");
  options.targets.push_back("EF");  // that evaluation needs at the end
  return with_code(ExitCode::data,
                   [&] { return data::make_dataset<data::Echo>(data_dir, options); });
}

int64_t Trainer::statistic_groups() const { return (segmenter_.takes_clips() ? 1 : 2) * parts_; }

Trainer::Trainer(const TrainOptions& options, const State* checkpoint)
    : TrainingLoop(options, devices_of(options)),
      parts_(batch_parts_of(options) / rank_count()),
      segmenter_(initial_segmenter(options, checkpoint)) {
  const auto count = static_cast<int64_t>(devices().size());
  nn::set_statistic_groups(*segmenter_.net, statistic_groups() / count);
  Data data{.train = echo_frames(options.data_dir, data::EchoSplit::train, &segmenter_),
            .validation = echo_frames(options.data_dir, data::EchoSplit::val, &segmenter_),
            .augment = nullptr,
            .prepare = [segmenter = segmenter_](
                           const data::Batch& batch) { return with_inputs(batch, segmenter); },
            .facts = [](const data::Echo& videos) { return data_facts(videos); },
            .fact = "tracings"};
  segmenter_.side = longer_edge(*data.train);
  if (options.augment) data.augment = augmented;
  begin(std::move(data), checkpoint);
  if (Communicator* group = rank_group()) {
    meet_ranks();  // each has looked at the data in its own time
    distributed_ = std::make_unique<nn::DistributedDataParallel<nn::AnyModule>>(
        segmenter_.net, *group,
        nn::DistributedDataParallelOptions{.bf16_gradients = options.bf16_gradients});
    ranked_.ranks = group->size();
    ranked_.speed = nn::measure_rank_speed(*group, device());
    for (const Tensor& parameter : segmenter_.net->parameters())
      ranked_.gradient_bytes +=
          static_cast<double>(parameter.nbytes()) / (options.bf16_gradients ? 2 : 1);
  }
  if (count > 1)
    parallel_ = std::make_unique<nn::DataParallel<nn::AnyModule>>(segmenter_.net, devices());
}

std::string Trainer::why_ranks_are_slow(double compute_seconds) const {
  nn::RankedStep step = ranked_;
  step.compute_seconds = compute_seconds;
  const double speedup = nn::predicted_speedup(step);
  if (speedup >= 1) return "";
  return fmt::format(
      "{} processes take {:.2g} times as long as one would with all of the batch: each computes a "
      "step in {:.3g} s and then waits {:.3g} s for the rest of {:.3g} MB of gradients, at {:.3g} "
      "GB/s and {:.3g} ms an exchange (docs/scaling.md)",
      step.ranks, 1 / speedup, compute_seconds, nn::exposed_seconds(step),
      step.gradient_bytes * 1e-6, step.speed.bandwidth * 1e-9, step.speed.latency * 1e3);
}

data::Batch with_inputs(const data::Batch& batch, const Segmenter& segmenter) {
  const Tensor &large = batch["LargeTrace"], &small = batch["SmallTrace"];
  const int64_t half = large.size(0);
  const Tensor truth =
      empty({2 * half, large.size(1), large.size(2)}, {.dtype = f32, .device = large.device()});
  truth.narrow(0, 0, half).copy_(large);
  truth.narrow(0, half, half).copy_(small);
  data::Batch both = with_input(batch, segmenter);
  both.add("truth", truth);
  return both;
}

const std::vector<Score>& Trainer::scores() const {
  static const std::vector<Score> scores = {
      {"overall_dice", "dice", "Dice",
       [](const Totals& totals) { return overlaps_of(totals).dice(); }},
      {"large_dice", "dice_large", "large",
       [](const Totals& totals) { return overlaps_of(totals).large.dice(); }},
      {"small_dice", "dice_small", "small",
       [](const Totals& totals) { return overlaps_of(totals).small.dice(); }}};
  return scores;
}

Tensor Trainer::output(const data::Batch& batch) const {
  Tensor input = batch["input"];
  const auto computed = [&](const Tensor& frames) {
    if (distributed_ && segmenter_.net->is_training())
      return segmenter_.logits_of((*distributed_)(frames));
    return parallel_ ? segmenter_.logits_of((*parallel_)(frames)) : segmenter_.logits(frames);
  };
  if (pretraining()) input = masked(input);
  // In eval mode each frame is by itself, and the last batch may be of any size.
  if (parts_ == 1 || !segmenter_.net->is_training()) return computed(input);
  return join_phases(computed(split_phases(input, parts_)), parts_);
}

Tensor Trainer::output_of_one_device(const data::Batch& batch) {
  auto parallel = std::move(parallel_);
  auto distributed = std::move(distributed_);
  nn::set_statistic_groups(*segmenter_.net, statistic_groups());
  const Tensor logits = output(batch);
  nn::set_statistic_groups(*segmenter_.net,
                           statistic_groups() / static_cast<int64_t>(devices().size()));
  parallel_ = std::move(parallel);
  distributed_ = std::move(distributed);
  return logits;
}

Tensor Trainer::loss(const Tensor& output, const data::Batch& batch) const {
  return pretraining() ? loss_of_pretraining(output, batch["input"]) : loss_of(output, batch);
}

Tensor Trainer::sums(const Tensor& output, const data::Batch& batch) const {
  if (pretraining()) return empty({0}, {.dtype = f64, .device = output.device()});
  return sums_of(output, batch);
}

void Trainer::count(const data::Batch& batch, double loss, Totals& totals) const {
  const Tensor& truth = batch["truth"];
  totals.loss += loss;
  totals.samples += truth.size(0) / 2;
  totals.count += truth.numel() / 2;
}

void Trainer::add_samples(const data::Batch& batch, State& replay) const {
  replay.set("replay.frames", cat({batch["LargeFrame"], batch["SmallFrame"]}));
  replay.set("replay.truth", batch["truth"]);
}

}  // namespace aorta::echo
