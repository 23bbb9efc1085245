#pragma once

#include <aorta/core/ops/im2col.h>
#include <aorta/nn/module.h>

namespace aorta::nn {

/// The options of unfold and fold, with PyTorch's names and defaults: a number for each of the two
/// spatial dimensions or one for both.
struct FoldOptions {
  Dims dilation = 1;
  Dims padding = 0;
  Dims stride = 1;
};
/// The blocks of images as columns: (N, C, H, W) -> (N, C kh kw, L), without N too; see im2col.
Tensor unfold(const Tensor& input, const Dims& kernel_size, const FoldOptions& options = {});
/// Sums columns into the places of their blocks: (N, C kh kw, L) -> (N, C, H, W), (H, W) =
/// output_size, without N too; see col2im.
Tensor fold(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
            const FoldOptions& options = {});

/// See unfold.
class Unfold : public Module {
 public:
  explicit Unfold(const Dims& kernel_size, const FoldOptions& options = {});
  Unfold(Module& owner, const char* name, const Dims& kernel_size, const FoldOptions& options = {});
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  Dims kernel_size;
  FoldOptions options;
};

/// See fold.
class Fold : public Module {
 public:
  Fold(const Dims& output_size, const Dims& kernel_size, const FoldOptions& options = {});
  Fold(Module& owner, const char* name, const Dims& output_size, const Dims& kernel_size,
       const FoldOptions& options = {});
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  Dims output_size, kernel_size;
  FoldOptions options;
};

}  // namespace aorta::nn
