#pragma once

#include <aorta/nn/call.h>

namespace aorta::nn {

/// What max pooling kept, back in its place: input and i64 `indices` of max_pool1d_with_indices,
/// (N, C, L) or (C, L), -> zeros but for input[p] at the position indices[p] of the output's
/// spatial dimensions, row by row. They have (in - 1) stride - 2 padding + kernel_size positions,
/// or `output_size`, which names the spatial sizes or all and is less than a stride away from that.
/// Any dtype; an empty stride is the kernel_size. Where two meet, the last one stays, and both get
/// the gradient. Composed of scatter. Errors: "max_unpool1d: index out of range, got 7 in dimension
/// 2 of size 4".
Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const Dims& kernel_size,
                    const Dims& stride = {}, const Dims& padding = 0, const Dims& output_size = {});
/// Does the same for (N, C, H, W) or (C, H, W).
Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const Dims& kernel_size,
                    const Dims& stride = {}, const Dims& padding = 0, const Dims& output_size = {});
/// Does the same for (N, C, D, H, W) or (C, D, H, W).
Tensor max_unpool3d(const Tensor& input, const Tensor& indices, const Dims& kernel_size,
                    const Dims& stride = {}, const Dims& padding = 0, const Dims& output_size = {});

/// The options of MaxUnpool, with PyTorch's names and defaults.
struct MaxUnpoolOptions {
  Dims stride = {};  // the window's size where it is empty
  Dims padding = 0;
};
/// See max_unpool2d.
class MaxUnpool : public ModuleOf<MaxUnpool> {
 public:
  Tensor forward(const Tensor& input, const Tensor& indices, const Dims& output_size = {}) const;
  std::string type_name() const override;
  std::string extra_repr() const override;

  int spatial;  // dimensions
  Dims kernel_size;
  MaxUnpoolOptions options;

 protected:
  MaxUnpool(int spatial, const Dims& kernel_size, const MaxUnpoolOptions& options);
};

/// A MaxUnpool over N dimensions. Two numbers in braces are a stride, as in PyTorch; other options
/// are named.
template <int N>
class MaxUnpoolOf : public MaxUnpool {
 public:
  explicit MaxUnpoolOf(const Dims& kernel_size) : MaxUnpoolOf(kernel_size, MaxUnpoolOptions()) {}
  template <std::same_as<MaxUnpoolOptions> Options = MaxUnpoolOptions>
  MaxUnpoolOf(const Dims& kernel_size, const Options& options)
      : MaxUnpool(N, kernel_size, options) {}
  MaxUnpoolOf(const Dims& kernel_size, const Dims& stride, const Dims& padding = 0)
      : MaxUnpoolOf(kernel_size, MaxUnpoolOptions{.stride = stride, .padding = padding}) {}
  MaxUnpoolOf(Module& owner, const char* name, const Dims& kernel_size) : MaxUnpoolOf(kernel_size) {
    join(owner, name);
  }
  template <std::same_as<MaxUnpoolOptions> Options = MaxUnpoolOptions>
  MaxUnpoolOf(Module& owner, const char* name, const Dims& kernel_size, const Options& options)
      : MaxUnpoolOf(kernel_size, options) {
    join(owner, name);
  }
  MaxUnpoolOf(Module& owner, const char* name, const Dims& kernel_size, const Dims& stride,
              const Dims& padding = 0)
      : MaxUnpoolOf(kernel_size, MaxUnpoolOptions{.stride = stride, .padding = padding}) {
    join(owner, name);
  }
};
/// The way back of MaxPool1d, MaxPool2d and MaxPool3d.
using MaxUnpool1d = MaxUnpoolOf<1>;
using MaxUnpool2d = MaxUnpoolOf<2>;
using MaxUnpool3d = MaxUnpoolOf<3>;

}  // namespace aorta::nn
