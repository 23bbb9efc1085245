#include <aorta/aorta.h>
#include <aorta/apps/echo/data_facts.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/recipe.h>
#include <aorta/apps/echo/trainer.h>

namespace aorta::echo {
namespace {

Segmenter initial_segmenter(const TrainOptions& options, const State* checkpoint) {
  if (checkpoint) return segmenter_of(*checkpoint, "checkpoint");
  manual_seed(options.seed);
  const data::ChannelStatistics statistics = pixel_statistics(options.data_dir, options.seed);
  Segmenter segmenter = with_code(ExitCode::usage, [&] {
    return make_segmenter(options.model_name, statistics.mean, statistics.std);
  });
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

}  // namespace

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

std::shared_ptr<const data::Echo> echo_frames(const std::string& data_dir, data::EchoSplit split) {
  data::EchoOptions options = data::EchoOptions::segmentation(split);
  options.targets.insert(options.targets.begin(), "Filename");
  options.targets.push_back("EF");  // that evaluation needs at the end
  return with_code(ExitCode::data,
                   [&] { return data::make_dataset<data::Echo>(data_dir, options); });
}

Trainer::Trainer(const TrainOptions& options, const State* checkpoint)
    : TrainingLoop(options), segmenter_(initial_segmenter(options, checkpoint)) {
  nn::set_statistic_groups(*segmenter_.net, 2);
  Data data{.train = echo_frames(options.data_dir, data::EchoSplit::train),
            .validation = echo_frames(options.data_dir, data::EchoSplit::val),
            .augment = nullptr,
            .prepare = [segmenter = segmenter_](
                           const data::Batch& batch) { return with_inputs(batch, segmenter); },
            .facts = [](const data::Echo& videos) { return data_facts(videos); },
            .fact = "tracings"};
  if (options.augment) data.augment = augmented;
  begin(std::move(data), checkpoint);
}

data::Batch with_inputs(const data::Batch& batch, const Segmenter& segmenter) {
  const Tensor &large = batch["LargeTrace"], &small = batch["SmallTrace"];
  const int64_t half = large.size(0);
  const Tensor truth =
      empty({2 * half, large.size(1), large.size(2)}, {.dtype = f32, .device = large.device()});
  truth.narrow(0, 0, half).copy_(large);
  truth.narrow(0, half, half).copy_(small);
  data::Batch both = batch;
  both.add("input", segmenter.normalised({batch["LargeFrame"], batch["SmallFrame"]}));
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

Tensor Trainer::output(const data::Batch& batch) const { return segmenter_.logits(batch["input"]); }

Tensor Trainer::loss(const Tensor& output, const data::Batch& batch) const {
  return binary_cross_entropy_with_logits(output, batch["truth"], {.reduction = Reduction::sum}) /
         2;
}

void Trainer::count(const Tensor& output, const data::Batch& batch, double loss,
                    Totals& totals) const {
  const Tensor& truth = batch["truth"];
  totals.loss += loss;
  totals.samples += batch["LargeFrame"].size(0);
  totals.count += truth.numel() / 2;
  totals.sums.resize(6);
  const Tensor found = output > 0, there = truth > 0;
  totals.sums[4] += sum(found).item<double>();
  totals.sums[5] += sum(there).item<double>();
  const int64_t size = found.size(0) / 2;
  for (size_t half = 0; half < 2; ++half) {
    const auto first = static_cast<int64_t>(half) * size;
    const Tensor a = found.narrow(0, first, size), b = there.narrow(0, first, size);
    totals.sums[2 * half] += sum(logical_and(a, b)).item<double>();
    totals.sums[2 * half + 1] += sum(logical_or(a, b)).item<double>();
  }
}

void Trainer::add_samples(const data::Batch& batch, State& replay) const {
  replay.set("replay.frames", cat({batch["LargeFrame"], batch["SmallFrame"]}));
  replay.set("replay.truth", batch["truth"]);
}

}  // namespace aorta::echo
