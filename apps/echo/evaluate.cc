#include <aorta/aorta.h>
#include <aorta/apps/echo/evaluate.h>
#include <aorta/apps/echo/measure/volume.h>
#include <aorta/apps/echo/video_masks.h>

#include <algorithm>
#include <numeric>

namespace aorta::echo {
namespace {

data::EchoOptions dataset_options(data::EchoSplit split) {
  data::EchoOptions options = data::EchoOptions::segmentation(split);
  options.targets.push_back("EF");
  return options;
}

// The masks of the traced frames of videos `first`, `first` + 1, ..., end of diastole and of
// systole, on the CPU; they are computed where the network lies. A network of frames is given those
// of the batch, one of clips looks into the videos.
std::pair<Tensor, Tensor> traced_masks(const Segmenter& segmenter, const data::Echo& videos,
                                       int64_t first, const Tensor& large, const Tensor& small) {
  if (!segmenter.takes_clips()) {
    const auto masks = [&](const Tensor& frames) {
      return segmenter.masks(frames.to(device_of(segmenter))).cpu();
    };
    return {masks(large), masks(small)};
  }
  std::vector<Tensor> large_masks, small_masks;
  for (int64_t i = first; i < first + large.size(0); ++i) {
    const data::VideoReader video(videos.path(i));
    VideoMasks masks(segmenter, VideoFrames::of(video));
    large_masks.push_back(masks.mask(videos.large_trace(i).frame));
    small_masks.push_back(masks.mask(videos.small_trace(i).frame));
  }
  return {stack(large_masks), stack(small_masks)};
}

double ef_of(const Tensor& large, const Tensor& small) {
  return ejection_fraction(measure_disks(large, kTraceBorder).volume,
                           measure_disks(small, kTraceBorder).volume);
}

// What is found in video i of a batch.
EvaluatedVideo measured(const data::Batch& batch, const Tensor& large, const Tensor& small,
                        int64_t i) {
  EvaluatedVideo video;
  video.overlap = {.large = overlap(large[i], batch["LargeTrace"][i]),
                   .small = overlap(small[i], batch["SmallTrace"][i])};
  video.told_ef = batch["EF"][i].item<double>();
  video.large_volume = measure_disks(large[i], kTraceBorder).volume;
  video.small_volume = measure_disks(small[i], kTraceBorder).volume;
  video.found_ef = ejection_fraction(video.large_volume, video.small_volume);
  video.traced_ef = ef_of(batch["LargeTrace"][i], batch["SmallTrace"][i]);
  return video;
}

}  // namespace

Evaluation evaluate(const Segmenter& segmenter, const std::string& data_dir, data::EchoSplit split,
                    const EvaluationSettings& settings) {
  const auto dataset = data::make_dataset<data::Echo>(data_dir, dataset_options(split));
  data::DataLoader loader(dataset, {.batch_size = settings.batch_size,
                                    .num_workers = settings.num_workers,
                                    .timeout = settings.num_workers > 0 ? settings.timeout : 0});
  Evaluation evaluation;
  evaluation.split = data::to_string(split);
  for (const data::Batch& batch : loader) {
    const auto [large, small] =
        traced_masks(segmenter, *dataset, static_cast<int64_t>(evaluation.videos.size()),
                     batch["LargeFrame"], batch["SmallFrame"]);
    for (int64_t i = 0; i < large.size(0); ++i) {
      evaluation.videos.push_back(measured(batch, large, small, i));
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
  const data::Echo dataset(data_dir, dataset_options(split));
  const auto specs = std::make_shared<const std::vector<data::TensorSpec>>(dataset.specs());
  Generator random;
  for (const size_t video : chosen) {
    data::Sample sample(specs);
    dataset.read(static_cast<int64_t>(video), sample, random);
    const auto [large, small] =
        traced_masks(segmenter, dataset, static_cast<int64_t>(video),
                     sample["LargeFrame"].unsqueeze(0), sample["SmallFrame"].unsqueeze(0));
    result.push_back({.video = video,
                      .large_frame = sample["LargeFrame"],
                      .small_frame = sample["SmallFrame"],
                      .large_trace = sample["LargeTrace"],
                      .small_trace = sample["SmallTrace"],
                      .large_mask = large[0],
                      .small_mask = small[0]});
  }
  return result;
}

}  // namespace aorta::echo
