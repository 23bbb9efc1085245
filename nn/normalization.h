#pragma once

#include <aorta/nn/module.h>

#include <iterator>
#include <optional>

// Normalisation layers; the formulas stand in core/ops/normalization.h. Weights start at 1, biases
// at 0.

namespace aorta::nn {

/// The options of BatchNorm, with PyTorch's names and defaults.
struct BatchNormOptions {
  double eps = 1e-5;
  /// The share of a new batch in the running statistics; without one they are the average of all
  /// batches so far.
  std::optional<double> momentum = 0.1;
  bool affine = true;               // with weight and bias (C)
  bool track_running_stats = true;  // without, the batch's statistics serve in eval mode too
  bool bias = true;                 // without, weight alone
  /// max(y, 0) is the output: faster than a ReLU behind it, and the graph keeps half as much.
  bool relu = false;
};
/// Over the batch and all positions of (N, C, *), for each channel. In training the statistics are
/// the batch's, and the running ones move towards them; in eval mode they are the running ones.
class BatchNorm : public Module {
 public:
  Tensor forward(const Tensor& input) const override;
  /// max(y + residual, 0), residual of the input's shape: how a residual block ends. A call, with
  /// hooks and all, whether `options.relu` or not.
  Tensor add_relu(const Tensor& input, const Tensor& residual) const;
  /// Sets the running statistics to mean 0, variance 1 and no batch.
  void reset_running_stats();
  std::string type_name() const override;
  void reset_parameters() override;
  std::string extra_repr() const override;

  int spatial;  // 1: input (N, C) or (N, C, L); 2: (N, C, H, W); 3: (N, C, D, H, W)
  int64_t num_features;
  BatchNormOptions options;
  /// In training, N / statistic_groups samples after one another share statistics: two batches in
  /// one, with the numbers of two.
  int64_t statistic_groups = 1;
  /// In training, the statistics are those of all ranks of the thread's group, of the replicas of a
  /// DataParallel, say (current_communicator; nn/parallel/sync_batch_norm.h). Without one, the
  /// input's.
  bool synchronized = false;
  Parameter weight, bias;
  Buffer running_mean, running_var, num_batches_tracked;

 protected:
  BatchNorm(int spatial, int64_t num_features, const BatchNormOptions& options);

 private:
  Tensor compute(const Tensor& input, bool relu, const Tensor& residual = {}) const;
};

/// Sets the statistic_groups of every BatchNorm inside.
void set_statistic_groups(Module& module, int64_t groups);

/// Makes every BatchNorm inside `synchronized`, as PyTorch's SyncBatchNorm is.
void convert_sync_batchnorm(Module& module);

/// Makes the running statistics of every BatchNorm inside the plain averages over the calls that
/// `calls` makes, in training and without a graph: those of averaged weights, which no training
/// step has seen (optim::AveragedModel). Nothing runs when there is no BatchNorm with statistics.
void update_bn(Module& module, const std::function<void()>& calls);

/// Calls the module for each of a range of input tensors, or of a loader's batches, whose first
/// tensor is the input; inputs go to the statistics' device: `nn::update_bn(net, loader)`.
template <class Range>
requires requires(Range& range) { std::begin(range); }
void update_bn(Module& module, Range&& range) {
  update_bn(module, [&] {
    const Device device = module.buffers().at(0).device();
    for (auto&& item : range) {
      if constexpr (requires { item.tensors(); })
        module(item.tensors().at(0).second.to(device));
      else
        module(item.to(device));
    }
  });
}

/// The options of InstanceNorm, with PyTorch's names and defaults.
struct InstanceNormOptions {
  double eps = 1e-5;
  double momentum = 0.1;
  bool affine = false;
  bool track_running_stats = false;
  bool bias = true;
};
/// Over the positions of (N, C, *) or (C, *), for each sample and channel.
class InstanceNorm : public Module {
 public:
  Tensor forward(const Tensor& input) const override;
  /// As BatchNorm::reset_running_stats.
  void reset_running_stats();
  std::string type_name() const override;
  void reset_parameters() override;
  std::string extra_repr() const override;

  int spatial;
  int64_t num_features;
  InstanceNormOptions options;
  Parameter weight, bias;
  Buffer running_mean, running_var, num_batches_tracked;

 protected:
  InstanceNorm(int spatial, int64_t num_features, const InstanceNormOptions& options);
};

/// A BatchNorm over N dimensions.
template <int N>
class BatchNormOf : public BatchNorm {
 public:
  explicit BatchNormOf(int64_t num_features, const BatchNormOptions& options = {})
      : BatchNorm(N, num_features, options) {}
  BatchNormOf(Module& owner, const char* name, int64_t num_features,
              const BatchNormOptions& options = {})
      : BatchNorm(N, num_features, options) {
    join(owner, name);
  }
};
/// Batch normalisation of (N, C) or (N, C, L), (N, C, H, W) and (N, C, D, H, W).
using BatchNorm1d = BatchNormOf<1>;
using BatchNorm2d = BatchNormOf<2>;
using BatchNorm3d = BatchNormOf<3>;

/// An InstanceNorm over N dimensions.
template <int N>
class InstanceNormOf : public InstanceNorm {
 public:
  explicit InstanceNormOf(int64_t num_features, const InstanceNormOptions& options = {})
      : InstanceNorm(N, num_features, options) {}
  InstanceNormOf(Module& owner, const char* name, int64_t num_features,
                 const InstanceNormOptions& options = {})
      : InstanceNorm(N, num_features, options) {
    join(owner, name);
  }
};
/// Instance normalisation of (N, C, L), (N, C, H, W) and (N, C, D, H, W).
using InstanceNorm1d = InstanceNormOf<1>;
using InstanceNorm2d = InstanceNormOf<2>;
using InstanceNorm3d = InstanceNormOf<3>;

/// The options of LayerNorm, with PyTorch's names and defaults.
struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
};
/// Over the last dimensions of (*, normalized_shape); weight and bias have normalized_shape.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(const Shape& normalized_shape, const LayerNormOptions& options = {});
  explicit LayerNorm(int64_t features, const LayerNormOptions& options = {})
      : LayerNorm(Shape{features}, options) {}
  LayerNorm(Module& owner, const char* name, const Shape& normalized_shape,
            const LayerNormOptions& options = {});
  LayerNorm(Module& owner, const char* name, int64_t features, const LayerNormOptions& options = {})
      : LayerNorm(owner, name, Shape{features}, options) {}
  Tensor forward(const Tensor& input) const override;
  void reset_parameters() override;
  std::string extra_repr() const override;

  Shape normalized_shape;
  LayerNormOptions options;
  Parameter weight, bias;
};

/// The options of GroupNorm, with PyTorch's names and defaults.
struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
  bool bias = true;
};
/// Over the positions of C / num_groups neighbouring channels of (N, C, *), for each sample.
class GroupNorm : public Module {
 public:
  GroupNorm(int64_t num_groups, int64_t num_channels, const GroupNormOptions& options = {});
  GroupNorm(Module& owner, const char* name, int64_t num_groups, int64_t num_channels,
            const GroupNormOptions& options = {});
  Tensor forward(const Tensor& input) const override;
  void reset_parameters() override;
  std::string extra_repr() const override;

  int64_t num_groups, num_channels;
  GroupNormOptions options;
  Parameter weight, bias;
};

/// The options of RMSNorm, with PyTorch's names and defaults.
struct RMSNormOptions {
  std::optional<double> eps = {};
  bool elementwise_affine = true;
};
/// x / sqrt(mean of x^2 + eps) * weight over the last dimensions of (*, normalized_shape).
class RMSNorm : public Module {
 public:
  explicit RMSNorm(const Shape& normalized_shape, const RMSNormOptions& options = {});
  explicit RMSNorm(int64_t features, const RMSNormOptions& options = {})
      : RMSNorm(Shape{features}, options) {}
  RMSNorm(Module& owner, const char* name, const Shape& normalized_shape,
          const RMSNormOptions& options = {});
  RMSNorm(Module& owner, const char* name, int64_t features, const RMSNormOptions& options = {})
      : RMSNorm(owner, name, Shape{features}, options) {}
  Tensor forward(const Tensor& input) const override;
  void reset_parameters() override;
  std::string extra_repr() const override;

  Shape normalized_shape;
  RMSNormOptions options;
  Parameter weight;
};

/// The options of LocalResponseNorm, with PyTorch's names and defaults.
struct LocalResponseNormOptions {
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;
};
/// x / (k + alpha m)^beta, where m is the mean of x^2 over `size` neighbouring channels, from
/// size / 2 before to (size - 1) / 2 behind, those beyond the ends as zeros. Input (N, C, *).
/// Krizhevsky et al. 2012.
Tensor local_response_norm(const Tensor& input, int64_t size,
                           const LocalResponseNormOptions& options = {});
/// See local_response_norm.
class LocalResponseNorm : public Module {
 public:
  explicit LocalResponseNorm(int64_t size, const LocalResponseNormOptions& options = {});
  LocalResponseNorm(Module& owner, const char* name, int64_t size,
                    const LocalResponseNormOptions& options = {});
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  int64_t size;
  LocalResponseNormOptions options;
};

}  // namespace aorta::nn
