#pragma once

#include <aorta/core/ops/im2col.h>
#include <aorta/nn/module.h>

#include <concepts>

namespace aorta::nn {

/// The options of unfold and fold, with PyTorch's names and defaults: a number for each of the two
/// spatial dimensions or one for both.
struct FoldOptions {
  Dims dilation = 1;
  Dims padding = 0;
  Dims stride = 1;
};
namespace detail {
Tensor unfold(const Tensor& input, const Dims& kernel_size, const FoldOptions& options);
Tensor fold(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
            const FoldOptions& options);
}  // namespace detail

/// The blocks of images as columns: (N, C, H, W) -> (N, C kh kw, L), without N too; see im2col.
/// Two numbers in braces are a dilation, as in PyTorch; other options are named.
Tensor unfold(const Tensor& input, const Dims& kernel_size, const Dims& dilation = 1);
/// Sums columns into the places of their blocks: (N, C kh kw, L) -> (N, C, H, W), (H, W) =
/// output_size, without N too; see col2im.
Tensor fold(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
            const Dims& dilation = 1);
template <std::same_as<FoldOptions> Options = FoldOptions>
Tensor unfold(const Tensor& input, const Dims& kernel_size, const Options& options) {
  return detail::unfold(input, kernel_size, options);
}
template <std::same_as<FoldOptions> Options = FoldOptions>
Tensor fold(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
            const Options& options) {
  return detail::fold(input, output_size, kernel_size, options);
}

/// See unfold. Two numbers in braces are a dilation, as in PyTorch; other options are named.
class Unfold : public Module {
 public:
  explicit Unfold(const Dims& kernel_size) : Unfold(kernel_size, FoldOptions()) {}
  template <std::same_as<FoldOptions> Options = FoldOptions>
  Unfold(const Dims& kernel_size, const Options& options)
      : kernel_size(kernel_size), options(options) {}
  Unfold(const Dims& kernel_size, const Dims& dilation)
      : Unfold(kernel_size, FoldOptions{.dilation = dilation}) {}
  Unfold(Module& owner, const char* name, const Dims& kernel_size) : Unfold(kernel_size) {
    join(owner, name);
  }
  template <std::same_as<FoldOptions> Options = FoldOptions>
  Unfold(Module& owner, const char* name, const Dims& kernel_size, const Options& options)
      : Unfold(kernel_size, options) {
    join(owner, name);
  }
  Unfold(Module& owner, const char* name, const Dims& kernel_size, const Dims& dilation)
      : Unfold(kernel_size, dilation) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  Dims kernel_size;
  FoldOptions options;
};

/// See fold. Two numbers in braces are a dilation, as in PyTorch; other options are named.
class Fold : public Module {
 public:
  Fold(const Dims& output_size, const Dims& kernel_size)
      : Fold(output_size, kernel_size, FoldOptions()) {}
  template <std::same_as<FoldOptions> Options = FoldOptions>
  Fold(const Dims& output_size, const Dims& kernel_size, const Options& options)
      : output_size(output_size), kernel_size(kernel_size), options(options) {}
  Fold(const Dims& output_size, const Dims& kernel_size, const Dims& dilation)
      : Fold(output_size, kernel_size, FoldOptions{.dilation = dilation}) {}
  Fold(Module& owner, const char* name, const Dims& output_size, const Dims& kernel_size)
      : Fold(output_size, kernel_size) {
    join(owner, name);
  }
  template <std::same_as<FoldOptions> Options = FoldOptions>
  Fold(Module& owner, const char* name, const Dims& output_size, const Dims& kernel_size,
       const Options& options)
      : Fold(output_size, kernel_size, options) {
    join(owner, name);
  }
  Fold(Module& owner, const char* name, const Dims& output_size, const Dims& kernel_size,
       const Dims& dilation)
      : Fold(output_size, kernel_size, dilation) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  Dims output_size, kernel_size;
  FoldOptions options;
};

}  // namespace aorta::nn
