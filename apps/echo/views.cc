#include <aorta/aorta.h>
#include <aorta/apps/echo/measure/beats.h>
#include <aorta/apps/echo/measure/volume.h>
#include <aorta/apps/echo/views.h>

namespace aorta::echo {
namespace {

// Large and small frame and the picture's place.
data::Views view(const Tensor& large, const Tensor& small, const Tensor& picture, int64_t number) {
  static const data::Transforms transforms{
      data::RandomAffine{.degrees = {-10, 10}, .translate = {0.05, 0.05}, .scale = {0.9, 1.1}},
      data::RandomGamma{.gamma = {0.8, 1.25}}};
  const data::Views frames{.images = {large, small}, .masks = {picture}};
  if (number == 0) return frames;
  Generator random(0, static_cast<uint64_t>(number));
  return transforms(frames, random);
}

}  // namespace

std::vector<double> ef_of_views(const Segmenter& segmenter, const Tensor& large,
                                const Tensor& small, const Tensor& picture, int64_t views) {
  check(views >= 0, "ef_of_views", "views must not be negative", views);
  std::vector<Tensor> frames, pictures;
  for (int64_t number = 0; number <= views; ++number) {
    const data::Views seen = view(large, small, picture, number);
    frames.insert(frames.end(), seen.images.begin(), seen.images.end());
    pictures.push_back(seen.masks[0]);
  }
  const Tensor masks = segmenter.masks(stack(frames).to(device_of(segmenter))).cpu();
  std::vector<double> efs;
  for (int64_t number = 0; number <= views; ++number) {
    const auto volume = [&](int64_t phase) {
      return measure_disks(masks[2 * number + phase] * pictures[static_cast<size_t>(number)],
                           kTraceBorder)
          .volume;
    };
    efs.push_back(ejection_fraction(volume(0), volume(1)));
  }
  const double off = mean_of_beats(std::span(&efs, 1)).value - efs[0];
  for (double& ef : efs) ef -= off;
  return efs;
}

}  // namespace aorta::echo
