#pragma once

#include <aorta/nn/module.h>

namespace aorta::nn {

/// The options of Dropout, with PyTorch's names and defaults.
struct DropoutOptions {
  double p = 0.5;
  bool inplace = false;
};
/// In training, elements become 0 with probability p and the others are divided by 1 - p.
class Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5) : Dropout(DropoutOptions{.p = p}) {}
  explicit Dropout(const DropoutOptions& options);
  Dropout(Module& owner, const char* name, double p = 0.5)
      : Dropout(owner, name, DropoutOptions{.p = p}) {}
  Dropout(Module& owner, const char* name, const DropoutOptions& options);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  DropoutOptions options;
};

/// Drops whole channels of (N, C, *), or of (C, L) in 1 dimension and (C, D, H, W) in 3. Dropout2d
/// takes 3 dimensions as (N, C, L), as PyTorch does.
class ChannelDropout : public Module {
 public:
  Tensor forward(const Tensor& input) const override;
  std::string type_name() const override;
  std::string extra_repr() const override;

  int spatial;  // dimensions
  double p;

 protected:
  ChannelDropout(int spatial, double p);
};

/// A ChannelDropout over N dimensions.
template <int N>
class ChannelDropoutOf : public ChannelDropout {
 public:
  explicit ChannelDropoutOf(double p = 0.5) : ChannelDropout(N, p) {}
  ChannelDropoutOf(Module& owner, const char* name, double p = 0.5) : ChannelDropout(N, p) {
    join(owner, name);
  }
};
/// Dropout of the channels of (N, C, L), (N, C, H, W) and (N, C, D, H, W).
using Dropout1d = ChannelDropoutOf<1>;
using Dropout2d = ChannelDropoutOf<2>;
using Dropout3d = ChannelDropoutOf<3>;

/// Dropout that keeps mean 0 and variance 1, for networks of SELU: in training an element becomes
/// SELU's lower end, -1.758, with probability p, and all are scaled and shifted. `p = 1` gives
/// zeros. Klambauer et al. 2017.
Tensor alpha_dropout(const Tensor& input, double p = 0.5, bool training = false);
/// alpha_dropout of whole channels of (N, C, *).
Tensor feature_alpha_dropout(const Tensor& input, double p = 0.5, bool training = false);

/// See alpha_dropout.
class AlphaDropout : public Module {
 public:
  explicit AlphaDropout(double p = 0.5);
  AlphaDropout(Module& owner, const char* name, double p = 0.5);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  double p;
};

/// See feature_alpha_dropout.
class FeatureAlphaDropout : public Module {
 public:
  explicit FeatureAlphaDropout(double p = 0.5);
  FeatureAlphaDropout(Module& owner, const char* name, double p = 0.5);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  double p;
};

}  // namespace aorta::nn
