#include <aorta/aorta.h>
#include <aorta/apps/echo/measure/beats.h>
#include <aorta/apps/echo/measure/volume.h>
#include <aorta/apps/echo/views.h>

#include <cmath>
#include <limits>

namespace aorta::echo {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Frames, and the picture's place where it is given.
data::Views view(const data::Views& frames, int64_t number) {
  static const data::Transforms transforms{
      data::RandomAffine{.degrees = {-10, 10}, .translate = {0.05, 0.05}, .scale = {0.9, 1.1}},
      data::RandomGamma{.gamma = {0.8, 1.25}}};
  if (number == 0) return frames;
  Generator random(0, static_cast<uint64_t>(number));
  return transforms(frames, random);
}

// The masks of both frames in each view, (2 views + 2, H, W).
Tensor masks_of_views(const Segmenter& segmenter, const VideoFrames& video, int64_t large,
                      int64_t small, int64_t views) {
  std::vector<Tensor> all;
  if (segmenter.takes_clips()) {
    for (int64_t number = 0; number <= views; ++number) {
      VideoMasks seen(segmenter, {.count = video.count, .read = [&](int64_t frame) {
                                    return view({.images = {video.read(frame)}}, number).images[0];
                                  }});
      for (const int64_t frame : {large, small}) all.push_back(seen.mask(frame));
    }
    return stack(all);
  }
  const data::Views frames{.images = {video.read(large), video.read(small)}};
  for (int64_t number = 0; number <= views; ++number) {
    const data::Views seen = view(frames, number);
    all.insert(all.end(), seen.images.begin(), seen.images.end());
  }
  return segmenter.masks(stack(all).to(device_of(segmenter))).cpu();
}

}  // namespace

std::vector<double> ef_of_views(const Segmenter& segmenter, const VideoFrames& video, int64_t large,
                                int64_t small, const Tensor& picture, int64_t views) {
  check(views >= 0, "ef_of_views", "views must not be negative", views);
  const Tensor masks = masks_of_views(segmenter, video, large, small, views);
  std::vector<Tensor> pictures;
  for (int64_t number = 0; number <= views; ++number)
    pictures.push_back(view({.masks = {picture}}, number).masks[0]);
  std::vector<double> efs;
  for (int64_t number = 0; number <= views; ++number) {
    const auto volume = [&](int64_t phase) {
      return measure_disks(masks[2 * number + phase] * pictures[static_cast<size_t>(number)],
                           kTraceBorder)
          .volume;
    };
    // A view in which nothing is found in systole says nothing.
    const double small_volume = volume(1);
    efs.push_back(small_volume > 0 ? ejection_fraction(volume(0), small_volume) : kUnknown);
  }
  if (std::isnan(efs[0])) return efs;
  const double off = mean_of_beats(std::span(&efs, 1)).value - efs[0];
  for (double& ef : efs) ef -= off;
  return efs;
}

}  // namespace aorta::echo
