#pragma once

#include <aorta/core/ops/interpolate.h>
#include <aorta/nn/module.h>

namespace aorta::nn {

/// Resamples the positions of (N, C, *) to a size or by a factor; see aorta::interpolate. Modes:
/// nearest (the default), linear, bilinear, bicubic, trilinear, area.
class Upsample : public Module {
 public:
  explicit Upsample(const InterpolateOptions& options);
  Upsample(Module& owner, const char* name, const InterpolateOptions& options);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  InterpolateOptions options;
};

/// (*, C r^2, H, W) -> (*, C, H r, W r): channel c r^2 + i r + j goes to rows i and columns j of
/// every r x r block (Shi et al. 2016).
Tensor pixel_shuffle(const Tensor& input, int64_t upscale_factor);
/// The inverse: (*, C, H r, W r) -> (*, C r^2, H, W).
Tensor pixel_unshuffle(const Tensor& input, int64_t downscale_factor);

/// Channels of `groups` groups in turn, one of each: (N, G K, *) as (N, K, G, *) flat, so that a
/// convolution of groups sees all of those before. Zhang et al. 2017.
Tensor channel_shuffle(const Tensor& input, int64_t groups);

/// See channel_shuffle.
class ChannelShuffle : public Module {
 public:
  explicit ChannelShuffle(int64_t groups);
  ChannelShuffle(Module& owner, const char* name, int64_t groups);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  int64_t groups;
};

/// See pixel_shuffle.
class PixelShuffle : public Module {
 public:
  explicit PixelShuffle(int64_t upscale_factor);
  PixelShuffle(Module& owner, const char* name, int64_t upscale_factor);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  int64_t upscale_factor;
};

/// See pixel_unshuffle.
class PixelUnshuffle : public Module {
 public:
  explicit PixelUnshuffle(int64_t downscale_factor);
  PixelUnshuffle(Module& owner, const char* name, int64_t downscale_factor);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  int64_t downscale_factor;
};

}  // namespace aorta::nn
