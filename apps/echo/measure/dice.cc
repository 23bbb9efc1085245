#include <aorta/apps/echo/measure/dice.h>
#include <aorta/core/check.h>

namespace aorta::echo {

double Overlap::dice() const {
  return 2. * static_cast<double>(intersection) / static_cast<double>(either + intersection);
}

Overlap& Overlap::operator+=(const Overlap& other) {
  intersection += other.intersection;
  either += other.either;
  return *this;
}

Overlap overlap(const Tensor& mask, const Tensor& trace) {
  check(mask.dtype() == u8 && trace.dtype() == u8 && mask.shape() == trace.shape(), "overlap",
        "masks must be u8 of one shape", mask.dtype(), " ", mask.shape(), " and ", trace.dtype(),
        " ", trace.shape());
  const Tensor a = mask.cpu().contiguous(), b = trace.cpu().contiguous();
  Overlap result;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const bool inside_a = a.data<uint8_t>()[i] != 0, inside_b = b.data<uint8_t>()[i] != 0;
    result.intersection += inside_a && inside_b;
    result.either += inside_a || inside_b;
  }
  return result;
}

double VideoOverlap::dice() const {
  Overlap sum = large;
  sum += small;
  return sum.dice();
}

DiceScores dice_scores(std::span<const VideoOverlap> videos, const BootstrapOptions& options) {
  const auto interval = [&](bool with_large, bool with_small) {
    return bootstrap(
        static_cast<int64_t>(videos.size()),
        [&](std::span<const int32_t> chosen) {
          Overlap sum;
          for (const int32_t i : chosen) {
            const VideoOverlap& video = videos[static_cast<size_t>(i)];
            if (with_large) sum += video.large;
            if (with_small) sum += video.small;
          }
          return sum.dice();
        },
        options);
  };
  return {.overall = interval(true, true),
          .large = interval(true, false),
          .small = interval(false, true)};
}

}  // namespace aorta::echo
