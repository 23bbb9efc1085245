#include <aorta/aorta.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/evaluate.h>
#include <aorta/apps/echo/measure/volume.h>

#include <algorithm>
#include <numeric>

namespace aorta::echo {
namespace {

// The masks of a video's frame or of the clip around it, on the CPU; they are computed where the
// network lies.
Tensor masks_of(const Segmenter& segmenter, const Tensor& frames) {
  return segmenter.masks(frames.to(device_of(segmenter))).cpu();
}

double ef_of(const Tensor& large, const Tensor& small) {
  return ejection_fraction(measure_disks(large, kTraceBorder).volume,
                           measure_disks(small, kTraceBorder).volume);
}

// What is measured of a batch, on the CPU: the network's masks and the traces, u8 (B, H, W), and
// the told ejection fractions (B).
struct Found {
  Tensor large, small, large_trace, small_trace, ef;
};

Found found_in(const data::Batch& batch, const Segmenter& segmenter) {
  const Tensor& input = batch["input"];
  const int64_t size = input.size(0) / 2;
  const Tensor large = segmenter.masks_of_input(input.narrow(0, 0, size)),
               small = segmenter.masks_of_input(input.narrow(0, size, size));
  return {.large = large.cpu(),
          .small = small.cpu(),
          .large_trace = batch["LargeTrace"].cpu(),
          .small_trace = batch["SmallTrace"].cpu(),
          .ef = batch["EF"].cpu()};
}

EvaluatedVideo measured(const Found& found, int64_t i) {
  const Tensor large = found.large[i], small = found.small[i];
  const Tensor large_trace = found.large_trace[i], small_trace = found.small_trace[i];
  EvaluatedVideo video;
  video.overlap = {.large = overlap(large, large_trace), .small = overlap(small, small_trace)};
  video.told_ef = found.ef[i].item<double>();
  video.large_volume = measure_disks(large, kTraceBorder).volume;
  video.small_volume = measure_disks(small, kTraceBorder).volume;
  video.found_ef = ejection_fraction(video.large_volume, video.small_volume);
  video.traced_ef = ef_of(large_trace, small_trace);
  return video;
}

}  // namespace

Evaluation evaluate(const Segmenter& segmenter, const std::string& data_dir, data::EchoSplit split,
                    const EvaluationSettings& settings) {
  data::EchoOptions options = frames_options(split, &segmenter);
  options.targets.push_back("EF");
  const auto dataset = data::make_dataset<data::Echo>(data_dir, options);
  const Device device = device_of(segmenter);
  data::DataLoader loader(dataset, {.batch_size = settings.batch_size,
                                    .num_workers = settings.num_workers,
                                    .pin_memory = settings.pin_memory && device.is_cuda(),
                                    .timeout = settings.num_workers > 0 ? settings.timeout : 0,
                                    .device = loader_device(device),
                                    .batch_transform = [&](const data::Batch& batch) {
                                      return with_input(batch, segmenter);
                                    }});
  Evaluation evaluation;
  evaluation.split = data::to_string(split);
  for (const data::Batch& batch : loader) {
    const Found found = found_in(batch, segmenter);
    for (int64_t i = 0; i < found.ef.size(0); ++i) {
      evaluation.videos.push_back(measured(found, i));
      evaluation.videos.back().file_name =
          dataset->file_name(static_cast<int64_t>(evaluation.videos.size()) - 1);
    }
    if (settings.progress)
      settings.progress(static_cast<int64_t>(evaluation.videos.size()), dataset->size());
  }
  std::vector<VideoOverlap> overlaps;
  for (const EvaluatedVideo& video : evaluation.videos) overlaps.push_back(video.overlap);
  evaluation.dice = dice_scores(overlaps, settings.bootstrap);
  std::vector<double> told, found, traced;
  for (const EvaluatedVideo& video : evaluation.videos) {
    told.push_back(video.told_ef);
    found.push_back(video.found_ef);
    traced.push_back(video.traced_ef);
  }
  evaluation.ef = agreement(told, found);
  evaluation.ef_errors = bootstrapped_errors(told, found, settings.bootstrap);
  evaluation.traced_ef = agreement(told, traced);
  return evaluation;
}

std::vector<EvaluatedFrames> best_median_worst(const Segmenter& segmenter,
                                               const std::string& data_dir, data::EchoSplit split,
                                               const Evaluation& evaluation) {
  std::vector<size_t> order(evaluation.videos.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return evaluation.videos[a].overlap.dice() > evaluation.videos[b].overlap.dice();
  });
  std::vector<size_t> chosen;
  if (!order.empty())
    for (const size_t place : {size_t{0}, order.size() / 2, order.size() - 1})
      if (chosen.empty() || chosen.back() != order[place]) chosen.push_back(order[place]);
  std::vector<EvaluatedFrames> result;
  if (chosen.empty()) return result;
  const data::Echo dataset(data_dir, frames_options(split, &segmenter));
  const auto specs = std::make_shared<const std::vector<data::TensorSpec>>(dataset.specs());
  Generator random;
  for (const size_t video : chosen) {
    data::Sample sample(specs);
    dataset.read(static_cast<int64_t>(video), sample, random);
    const Tensor &large = sample["LargeFrame"], &small = sample["SmallFrame"];
    const auto picture = [&](const Tensor& frame) {
      return segmenter.takes_clips() ? frame.select(1, segmenter.frames / 2) : frame;
    };
    result.push_back({.video = video,
                      .large_frame = picture(large),
                      .small_frame = picture(small),
                      .large_trace = sample["LargeTrace"],
                      .small_trace = sample["SmallTrace"],
                      .large_mask = masks_of(segmenter, large.unsqueeze(0))[0],
                      .small_mask = masks_of(segmenter, small.unsqueeze(0))[0]});
  }
  return result;
}

}  // namespace aorta::echo
