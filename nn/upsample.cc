#include <aorta/core/called_op.h>
#include <aorta/nn/sizes.h>
#include <aorta/nn/upsample.h>

#include <fmt/format.h>

namespace aorta::nn {
namespace {

// The dimensions in front of the last three, then `last`.
Shape with_last(const Tensor& input, std::initializer_list<int64_t> last) {
  Shape shape;
  for (int d = 0; d < input.dim() - 3; ++d) shape.push_back(input.size(d));
  for (const int64_t size : last) shape.push_back(size);
  return shape;
}

// Moves the five or more last dimensions into `order`, which counts from the first of them.
Tensor permute_last(const Tensor& input, std::initializer_list<int64_t> order) {
  const int64_t front = input.dim() - static_cast<int64_t>(order.size());
  Dims dims;
  for (int64_t d = 0; d < front; ++d) dims.push_back(d);
  for (const int64_t d : order) dims.push_back(front + d);
  return input.permute(dims);
}

}  // namespace

Upsample::Upsample(const InterpolateOptions& options) : options(options) {
  check(options.size.empty() != options.scale_factor.empty(), "Upsample",
        "either size or scale_factor must be given", options.size.empty() ? "none" : "both");
}

Upsample::Upsample(Module& owner, const char* name, const InterpolateOptions& options)
    : Upsample(options) {
  join(owner, name);
}

Tensor Upsample::forward(const Tensor& input) const { return interpolate(input, options); }

std::string Upsample::extra_repr() const {
  const std::string what =
      options.size.empty() ? fmt::format("scale_factor=({})", fmt::join(options.scale_factor, ", "))
                           : "size=" + repr(options.size);
  return fmt::format("{}, mode='{}'", what, to_string(options.mode));
}

static constexpr int64_t kMostFactor = 1 << 15;  // its square is a number that sizes divide by

Tensor pixel_shuffle(const Tensor& input, int64_t r) {
  const CalledOp called("pixel_shuffle");
  check_defined("pixel_shuffle", {{"input", input}});
  check(input.dim() >= 3, "pixel_shuffle", "input must be (*, C, H, W)", input.shape());
  check(r > 0 && r <= kMostFactor, "pixel_shuffle", "upscale_factor must be 1 to 32768", r);
  const int64_t channels = input.size(-3), height = input.size(-2), width = input.size(-1);
  check(channels % (r * r) == 0, "pixel_shuffle",
        "channels must be divisible by the square of upscale_factor", channels, " for ", r);
  const int64_t c = channels / (r * r);
  const Tensor parts = input.reshape(with_last(input, {c, r, r, height, width}));
  return permute_last(parts, {0, 3, 1, 4, 2}).reshape(with_last(input, {c, height * r, width * r}));
}

Tensor pixel_unshuffle(const Tensor& input, int64_t r) {
  const CalledOp called("pixel_unshuffle");
  check_defined("pixel_unshuffle", {{"input", input}});
  check(input.dim() >= 3, "pixel_unshuffle", "input must be (*, C, H, W)", input.shape());
  check(r > 0 && r <= kMostFactor, "pixel_unshuffle", "downscale_factor must be 1 to 32768", r);
  const int64_t c = input.size(-3), height = input.size(-2), width = input.size(-1);
  check(height % r == 0 && width % r == 0, "pixel_unshuffle",
        "height and width must be divisible by downscale_factor", input.shape(), " for ", r);
  const Tensor parts = input.reshape(with_last(input, {c, height / r, r, width / r, r}));
  return permute_last(parts, {0, 2, 4, 1, 3})
      .reshape(with_last(input, {c * r * r, height / r, width / r}));
}

Tensor channel_shuffle(const Tensor& input, int64_t groups) {
  const CalledOp called("channel_shuffle");
  check_defined("channel_shuffle", {{"input", input}});
  check(input.dim() >= 3, "channel_shuffle", "input must be (N, C, *)", input.shape());
  check(groups > 0 && input.size(1) % groups == 0, "channel_shuffle",
        "groups must be positive and divide the channels", groups, " for ", input.shape());
  Shape shape = input.shape();
  shape[1] /= groups;
  shape.insert(1, groups);
  return input.reshape(shape).transpose(1, 2).reshape(input.shape());
}

ChannelShuffle::ChannelShuffle(int64_t groups) : groups(groups) {}
ChannelShuffle::ChannelShuffle(Module& owner, const char* name, int64_t groups)
    : Module(owner, name), groups(groups) {}
Tensor ChannelShuffle::forward(const Tensor& input) const { return channel_shuffle(input, groups); }
std::string ChannelShuffle::extra_repr() const { return fmt::format("groups={}", groups); }

PixelShuffle::PixelShuffle(int64_t upscale_factor) : upscale_factor(upscale_factor) {}
PixelShuffle::PixelShuffle(Module& owner, const char* name, int64_t upscale_factor)
    : Module(owner, name), upscale_factor(upscale_factor) {}
Tensor PixelShuffle::forward(const Tensor& input) const {
  return pixel_shuffle(input, upscale_factor);
}
std::string PixelShuffle::extra_repr() const {
  return fmt::format("upscale_factor={}", upscale_factor);
}

PixelUnshuffle::PixelUnshuffle(int64_t downscale_factor) : downscale_factor(downscale_factor) {}
PixelUnshuffle::PixelUnshuffle(Module& owner, const char* name, int64_t downscale_factor)
    : Module(owner, name), downscale_factor(downscale_factor) {}
Tensor PixelUnshuffle::forward(const Tensor& input) const {
  return pixel_unshuffle(input, downscale_factor);
}
std::string PixelUnshuffle::extra_repr() const {
  return fmt::format("downscale_factor={}", downscale_factor);
}

}  // namespace aorta::nn
