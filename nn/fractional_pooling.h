#pragma once

#include <aorta/core/ops/reduction.h>
#include <aorta/nn/module.h>

namespace aorta::nn {

/// The options of fractional max pooling, with PyTorch's names: either output_size or output_ratio,
/// a number for each spatial dimension or one for all.
struct FractionalMaxPoolOptions {
  Dims output_size = {};
  List<double> output_ratio = {};  // in (0, 1): sizes are floor(size * ratio)
  /// (N, C, n) of the input's dtype, for n spatial dimensions (in PyTorch `_random_samples`): u
  /// below, limited to [0, 1). Drawn from the default generator where none is given.
  Tensor random_samples = {};
};
/// Max pooling of (N, C, H, W), without N too, whose windows of kernel_size begin at
/// floor((i + u) a) - floor(u a) along a dimension, a = (size - kernel_size) / (output_size - 1),
/// the last one at size - kernel_size; u is drawn for each sample, channel and dimension. Floating
/// dtypes. Among equal values the first one counts; NaN wins. Composed of gather. Graham 2014.
Tensor fractional_max_pool2d(const Tensor& input, const Dims& kernel_size,
                             const FractionalMaxPoolOptions& options);
/// Does the same for (N, C, D, H, W), without N too.
Tensor fractional_max_pool3d(const Tensor& input, const Dims& kernel_size,
                             const FractionalMaxPoolOptions& options);
/// Values, and where they stand (i64): the row-major position in the input's spatial dimensions.
ValuesIndices fractional_max_pool2d_with_indices(const Tensor& input, const Dims& kernel_size,
                                                 const FractionalMaxPoolOptions& options);
ValuesIndices fractional_max_pool3d_with_indices(const Tensor& input, const Dims& kernel_size,
                                                 const FractionalMaxPoolOptions& options);

/// See fractional_max_pool2d.
class FractionalMaxPool : public Module {
 public:
  Tensor forward(const Tensor& input) const override;
  /// See MaxPool::forward_with_indices.
  ValuesIndices forward_with_indices(const Tensor& input) const;
  std::string type_name() const override;
  std::string extra_repr() const override;

  int spatial;  // dimensions
  Dims kernel_size;
  FractionalMaxPoolOptions options;

 protected:
  FractionalMaxPool(int spatial, const Dims& kernel_size, const FractionalMaxPoolOptions& options);
};

/// A FractionalMaxPool over N dimensions.
template <int N>
class FractionalMaxPoolOf : public FractionalMaxPool {
 public:
  FractionalMaxPoolOf(const Dims& kernel_size, const FractionalMaxPoolOptions& options)
      : FractionalMaxPool(N, kernel_size, options) {}
  FractionalMaxPoolOf(Module& owner, const char* name, const Dims& kernel_size,
                      const FractionalMaxPoolOptions& options)
      : FractionalMaxPool(N, kernel_size, options) {
    join(owner, name);
  }
};
/// Fractional max pooling of (N, C, H, W) and (N, C, D, H, W).
using FractionalMaxPool2d = FractionalMaxPoolOf<2>;
using FractionalMaxPool3d = FractionalMaxPoolOf<3>;

}  // namespace aorta::nn
