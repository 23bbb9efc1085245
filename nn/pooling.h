#pragma once

#include <aorta/core/ops/pooling.h>
#include <aorta/nn/module.h>
#include <aorta/nn/sizes.h>

#include <concepts>
#include <optional>

// Pooling over the last 1, 2 or 3 dimensions of (N, C, *) or (C, *); see core/ops/pooling.h.

namespace aorta::nn {

using aorta::AvgPoolOptions;
using aorta::MaxPoolOptions;

/// The largest element of each window.
class MaxPool : public Module {
 public:
  Tensor forward(const Tensor& input) const override;
  /// And where each lies among its plane's elements, i64 (PyTorch's return_indices), for MaxUnpool.
  ValuesIndices forward_with_indices(const Tensor& input) const;
  std::string type_name() const override;
  std::string extra_repr() const override;

  int spatial;  // dimensions
  Dims kernel_size;
  MaxPoolOptions options;

 protected:
  MaxPool(int spatial, const Dims& kernel_size, const MaxPoolOptions& options);
};

/// The mean of each window.
class AvgPool : public Module {
 public:
  Tensor forward(const Tensor& input) const override;
  std::string type_name() const override;
  std::string extra_repr() const override;

  int spatial;
  Dims kernel_size;
  AvgPoolOptions options;

 protected:
  AvgPool(int spatial, const Dims& kernel_size, const AvgPoolOptions& options);
};

/// The options of LPPool, with PyTorch's names and defaults.
struct LPPoolOptions {
  Dims stride = {};  // the window's size where it is empty
  bool ceil_mode = false;
};
/// The p-norm of each window without the absolute values, (sum of x^p)^(1/p), p = norm_type: NaN
/// for a sum below 0, and where the sum is 0 the gradient is 0. Input (N, C, *) or (C, *).
Tensor lp_pool1d(const Tensor& input, double norm_type, const Dims& kernel_size,
                 const Dims& stride = {}, bool ceil_mode = false);
Tensor lp_pool2d(const Tensor& input, double norm_type, const Dims& kernel_size,
                 const Dims& stride = {}, bool ceil_mode = false);
Tensor lp_pool3d(const Tensor& input, double norm_type, const Dims& kernel_size,
                 const Dims& stride = {}, bool ceil_mode = false);
template <std::same_as<LPPoolOptions> Options = LPPoolOptions>
Tensor lp_pool1d(const Tensor& input, double norm_type, const Dims& kernel_size, const Options& o) {
  return lp_pool1d(input, norm_type, kernel_size, o.stride, o.ceil_mode);
}
template <std::same_as<LPPoolOptions> Options = LPPoolOptions>
Tensor lp_pool2d(const Tensor& input, double norm_type, const Dims& kernel_size, const Options& o) {
  return lp_pool2d(input, norm_type, kernel_size, o.stride, o.ceil_mode);
}
template <std::same_as<LPPoolOptions> Options = LPPoolOptions>
Tensor lp_pool3d(const Tensor& input, double norm_type, const Dims& kernel_size, const Options& o) {
  return lp_pool3d(input, norm_type, kernel_size, o.stride, o.ceil_mode);
}
/// See lp_pool1d.
class LPPool : public Module {
 public:
  Tensor forward(const Tensor& input) const override;
  std::string type_name() const override;
  std::string extra_repr() const override;

  int spatial;
  double norm_type;
  Dims kernel_size;
  LPPoolOptions options;

 protected:
  LPPool(int spatial, double norm_type, const Dims& kernel_size, const LPPoolOptions& options);
};

/// As many windows as output_size says; -1 keeps a size.
class AdaptivePool : public Module {
 public:
  enum class Kind : uint8_t { max, avg };
  Tensor forward(const Tensor& input) const override;
  /// See MaxPool::forward_with_indices. Of the largest elements alone.
  ValuesIndices forward_with_indices(const Tensor& input) const;
  std::string type_name() const override;
  std::string extra_repr() const override;

  Kind kind;
  int spatial;
  Dims output_size;

 protected:
  AdaptivePool(Kind kind, int spatial, const Dims& output_size);
};

/// A MaxPool over N dimensions. Two numbers in braces are a stride, as in PyTorch; other
/// options are named.
template <int N>
class MaxPoolOf : public MaxPool {
 public:
  explicit MaxPoolOf(const Dims& kernel_size) : MaxPoolOf(kernel_size, MaxPoolOptions()) {}
  template <std::same_as<MaxPoolOptions> Options = MaxPoolOptions>
  MaxPoolOf(const Dims& kernel_size, const Options& options) : MaxPool(N, kernel_size, options) {}
  MaxPoolOf(const Dims& kernel_size, const Dims& stride, const Dims& padding = 0)
      : MaxPoolOf(kernel_size, MaxPoolOptions{.stride = stride, .padding = padding}) {}
  MaxPoolOf(Module& owner, const char* name, const Dims& kernel_size) : MaxPoolOf(kernel_size) {
    join(owner, name);
  }
  template <std::same_as<MaxPoolOptions> Options = MaxPoolOptions>
  MaxPoolOf(Module& owner, const char* name, const Dims& kernel_size, const Options& options)
      : MaxPoolOf(kernel_size, options) {
    join(owner, name);
  }
  MaxPoolOf(Module& owner, const char* name, const Dims& kernel_size, const Dims& stride,
            const Dims& padding = 0)
      : MaxPoolOf(kernel_size, MaxPoolOptions{.stride = stride, .padding = padding}) {
    join(owner, name);
  }
};
/// Max pooling of (N, C, L), (N, C, H, W) and (N, C, D, H, W).
using MaxPool1d = MaxPoolOf<1>;
using MaxPool2d = MaxPoolOf<2>;
using MaxPool3d = MaxPoolOf<3>;

/// An AvgPool over N dimensions. Two numbers in braces are a stride, as in PyTorch; other
/// options are named.
template <int N>
class AvgPoolOf : public AvgPool {
 public:
  explicit AvgPoolOf(const Dims& kernel_size) : AvgPoolOf(kernel_size, AvgPoolOptions()) {}
  template <std::same_as<AvgPoolOptions> Options = AvgPoolOptions>
  AvgPoolOf(const Dims& kernel_size, const Options& options) : AvgPool(N, kernel_size, options) {}
  AvgPoolOf(const Dims& kernel_size, const Dims& stride, const Dims& padding = 0)
      : AvgPoolOf(kernel_size, AvgPoolOptions{.stride = stride, .padding = padding}) {}
  AvgPoolOf(Module& owner, const char* name, const Dims& kernel_size) : AvgPoolOf(kernel_size) {
    join(owner, name);
  }
  template <std::same_as<AvgPoolOptions> Options = AvgPoolOptions>
  AvgPoolOf(Module& owner, const char* name, const Dims& kernel_size, const Options& options)
      : AvgPoolOf(kernel_size, options) {
    join(owner, name);
  }
  AvgPoolOf(Module& owner, const char* name, const Dims& kernel_size, const Dims& stride,
            const Dims& padding = 0)
      : AvgPoolOf(kernel_size, AvgPoolOptions{.stride = stride, .padding = padding}) {
    join(owner, name);
  }
};
/// Average pooling of (N, C, L), (N, C, H, W) and (N, C, D, H, W).
using AvgPool1d = AvgPoolOf<1>;
using AvgPool2d = AvgPoolOf<2>;
using AvgPool3d = AvgPoolOf<3>;

/// An LPPool over N dimensions. Two numbers in braces are a stride, as in PyTorch; other
/// options are named.
template <int N>
class LPPoolOf : public LPPool {
 public:
  LPPoolOf(double norm_type, const Dims& kernel_size)
      : LPPoolOf(norm_type, kernel_size, LPPoolOptions()) {}
  template <std::same_as<LPPoolOptions> Options = LPPoolOptions>
  LPPoolOf(double norm_type, const Dims& kernel_size, const Options& options)
      : LPPool(N, norm_type, kernel_size, options) {}
  LPPoolOf(double norm_type, const Dims& kernel_size, const Dims& stride)
      : LPPoolOf(norm_type, kernel_size, LPPoolOptions{.stride = stride}) {}
  LPPoolOf(Module& owner, const char* name, double norm_type, const Dims& kernel_size)
      : LPPoolOf(norm_type, kernel_size) {
    join(owner, name);
  }
  template <std::same_as<LPPoolOptions> Options = LPPoolOptions>
  LPPoolOf(Module& owner, const char* name, double norm_type, const Dims& kernel_size,
           const Options& options)
      : LPPoolOf(norm_type, kernel_size, options) {
    join(owner, name);
  }
  LPPoolOf(Module& owner, const char* name, double norm_type, const Dims& kernel_size,
           const Dims& stride)
      : LPPoolOf(norm_type, kernel_size, LPPoolOptions{.stride = stride}) {
    join(owner, name);
  }
};
/// Power-average pooling of (N, C, L), (N, C, H, W) and (N, C, D, H, W).
using LPPool1d = LPPoolOf<1>;
using LPPool2d = LPPoolOf<2>;
using LPPool3d = LPPoolOf<3>;

/// An AdaptivePool over N dimensions.
template <AdaptivePool::Kind K, int N>
class AdaptivePoolOf : public AdaptivePool {
 public:
  explicit AdaptivePoolOf(const Dims& output_size) : AdaptivePool(K, N, output_size) {}
  AdaptivePoolOf(Module& owner, const char* name, const Dims& output_size)
      : AdaptivePool(K, N, output_size) {
    join(owner, name);
  }
};
/// The largest element, or the mean, of each of so many windows as are asked for.
using AdaptiveMaxPool1d = AdaptivePoolOf<AdaptivePool::Kind::max, 1>;
using AdaptiveMaxPool2d = AdaptivePoolOf<AdaptivePool::Kind::max, 2>;
using AdaptiveMaxPool3d = AdaptivePoolOf<AdaptivePool::Kind::max, 3>;
using AdaptiveAvgPool1d = AdaptivePoolOf<AdaptivePool::Kind::avg, 1>;
using AdaptiveAvgPool2d = AdaptivePoolOf<AdaptivePool::Kind::avg, 2>;
using AdaptiveAvgPool3d = AdaptivePoolOf<AdaptivePool::Kind::avg, 3>;

}  // namespace aorta::nn
