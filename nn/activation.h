#pragma once

#include <aorta/core/ops/pointwise.h>
#include <aorta/nn/module.h>

// Activations as modules; the formulas stand in core/ops/pointwise.h and softmax.h.

namespace aorta::nn {

/// An activation without parameters: `op`, or where `inplace` is asked for, `op_in_place`.
template <auto op, auto op_in_place>
class InPlaceActivation : public Module {
 public:
  explicit InPlaceActivation(bool inplace = false) : inplace(inplace) {}
  InPlaceActivation(Module& owner, const char* name, bool inplace = false)
      : Module(owner, name), inplace(inplace) {}
  Tensor forward(const Tensor& input) const override {
    if (!inplace) return op(input);
    op_in_place(input);
    return input;
  }
  std::string extra_repr() const override { return inplace ? "inplace=True" : ""; }

  bool inplace;
};

/// Activations that can write into their input; each is aorta's function of the same name in small
/// letters.
struct ReLU : InPlaceActivation<&relu, &relu_> {
  using InPlaceActivation::InPlaceActivation;
};
struct ReLU6 : InPlaceActivation<&relu6, &relu6_> {
  using InPlaceActivation::InPlaceActivation;
};
struct SELU : InPlaceActivation<&selu, &selu_> {
  using InPlaceActivation::InPlaceActivation;
};
struct SiLU : InPlaceActivation<&silu, &silu_> {
  using InPlaceActivation::InPlaceActivation;
};
struct Mish : InPlaceActivation<&mish, &mish_> {
  using InPlaceActivation::InPlaceActivation;
};
struct Hardsigmoid : InPlaceActivation<&hardsigmoid, &hardsigmoid_> {
  using InPlaceActivation::InPlaceActivation;
};
struct Hardswish : InPlaceActivation<&hardswish, &hardswish_> {
  using InPlaceActivation::InPlaceActivation;
};

/// An activation without parameters.
template <auto op>
class Activation : public Module {
 public:
  using Module::Module;
  Tensor forward(const Tensor& input) const override { return op(input); }
};

/// Activations as modules; each is aorta's function of the same name in small letters.
struct Sigmoid : Activation<&sigmoid> {
  using Activation::Activation;
};
struct Tanh : Activation<&tanh> {
  using Activation::Activation;
};
struct LogSigmoid : Activation<&logsigmoid> {
  using Activation::Activation;
};
struct Softsign : Activation<&softsign> {
  using Activation::Activation;
};
struct Tanhshrink : Activation<&tanhshrink> {
  using Activation::Activation;
};

/// x where it is positive, else negative_slope x.
struct LeakyReLU : Module {
  explicit LeakyReLU(double negative_slope = 0.01, bool inplace = false);
  LeakyReLU(Module& owner, const char* name, double negative_slope = 0.01, bool inplace = false);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  double negative_slope;
  bool inplace;
};

/// x where it is positive, else alpha (e^x - 1).
struct ELU : Module {
  explicit ELU(double alpha = 1, bool inplace = false);
  ELU(Module& owner, const char* name, double alpha = 1, bool inplace = false);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  double alpha;
  bool inplace;
};

/// max(0, x) + min(0, alpha (e^(x / alpha) - 1)).
struct CELU : Module {
  explicit CELU(double alpha = 1, bool inplace = false);
  CELU(Module& owner, const char* name, double alpha = 1, bool inplace = false);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  double alpha;
  bool inplace;
};

/// x times the standard normal distribution function of x, or its approximation by tanh.
struct GELU : Module {
  explicit GELU(GeluApproximation approximate = GeluApproximation::none);
  GELU(Module& owner, const char* name, GeluApproximation approximate = GeluApproximation::none);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  GeluApproximation approximate;
};

/// x, clamped to [min_val, max_val].
struct Hardtanh : Module {
  explicit Hardtanh(double min_val = -1, double max_val = 1, bool inplace = false);
  Hardtanh(Module& owner, const char* name, double min_val = -1, double max_val = 1,
           bool inplace = false);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  double min_val, max_val;
  bool inplace;
};

/// x, or 0 within [-lambda, lambda].
struct Hardshrink : Module {
  explicit Hardshrink(double lambda = 0.5);
  Hardshrink(Module& owner, const char* name, double lambda = 0.5);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  double lambda;
};

/// x moved towards 0 by lambda, or 0 within [-lambda, lambda].
struct Softshrink : Module {
  explicit Softshrink(double lambda = 0.5);
  Softshrink(Module& owner, const char* name, double lambda = 0.5);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  double lambda;
};

/// log(1 + e^(beta x)) / beta; x itself where beta x is above the threshold.
struct Softplus : Module {
  explicit Softplus(double beta = 1, double threshold = 20);
  Softplus(Module& owner, const char* name, double beta = 1, double threshold = 20);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  double beta, threshold;
};

/// x where it is above the threshold, else `value`.
struct Threshold : Module {
  Threshold(double threshold, double value, bool inplace = false);
  Threshold(Module& owner, const char* name, double threshold, double value, bool inplace = false);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  double threshold, value;
  bool inplace;
};

/// The options of PReLU, with PyTorch's names and defaults.
struct PReLUOptions {
  int64_t num_parameters = 1;  // or the channels
  double init = 0.25;
};
/// max(x, 0) + weight min(x, 0), with one weight or one a channel of (N, C, *).
struct PReLU : Module {
  explicit PReLU(const PReLUOptions& options = {});
  PReLU(Module& owner, const char* name, const PReLUOptions& options = {});
  Tensor forward(const Tensor& input) const override;
  void reset_parameters() override;
  std::string extra_repr() const override;

  double init;
  Parameter weight;
};

/// x where it is not negative, elsewhere x times a slope: in training a random one from [lower,
/// upper) for each element, else their mean (Xu et al. 2015).
Tensor rrelu(const Tensor& input, double lower = 1.0 / 8, double upper = 1.0 / 3,
             bool training = false);
Tensor rrelu_(const Tensor& input, double lower = 1.0 / 8, double upper = 1.0 / 3,
              bool training = false);
/// See rrelu.
struct RReLU : Module {
  explicit RReLU(double lower = 1.0 / 8, double upper = 1.0 / 3);
  RReLU(Module& owner, const char* name, double lower = 1.0 / 8, double upper = 1.0 / 3);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  double lower, upper;
};

/// softmax((logits + g) / tau) along a dimension, g random with the Gumbel distribution: nearly one
/// place of the categorical distribution (Jang et al. 2017). `hard`: exactly that place, 1 in
/// zeros, with the gradient of what is nearly it. tau > 0.
Tensor gumbel_softmax(const Tensor& logits, double tau = 1, bool hard = false, int64_t dim = -1);

/// a sigmoid(b) for the halves a and b of a dimension.
Tensor glu(const Tensor& input, int64_t dim = -1);
/// See glu.
struct GLU : Module {
  explicit GLU(int64_t dim = -1);
  GLU(Module& owner, const char* name, int64_t dim = -1);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  int64_t dim;
};

/// softmax along a dimension.
struct Softmax : Module {
  explicit Softmax(int64_t dim);
  Softmax(Module& owner, const char* name, int64_t dim);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  int64_t dim;
};

/// softmax(-x).
struct Softmin : Module {
  explicit Softmin(int64_t dim);
  Softmin(Module& owner, const char* name, int64_t dim);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  int64_t dim;
};

/// log_softmax along a dimension.
struct LogSoftmax : Module {
  explicit LogSoftmax(int64_t dim);
  LogSoftmax(Module& owner, const char* name, int64_t dim);
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  int64_t dim;
};

/// Over the channels of (N, C, H, W) or (C, H, W).
struct Softmax2d : Module {
  using Module::Module;
  Tensor forward(const Tensor& input) const override;
};

}  // namespace aorta::nn
