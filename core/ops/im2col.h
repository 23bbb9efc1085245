#pragma once

#include <aorta/core/dispatch/op_table.h>

namespace aorta {

// Blocks of images as columns of a matrix, and back: what nn::unfold and nn::fold are. kernel_size,
// dilation, padding and stride are a number for each spatial dimension or one for all. Along a
// dimension there are floor((size + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1
// blocks; L is their product. Floating dtypes. Each is the other's gradient.
// Errors: other shapes; a size of 0 (but N); numbers out of range; no block.

/// (N, C, H, W) -> (N, C kh kw, L): row (c, i, j) and column (a, b) is the input at channel c and
/// position (a stride - padding + i dilation, b stride - padding + j dilation), 0 in the padding.
/// Without N too.
Tensor im2col(const Tensor& input, const Dims& kernel_size, const Dims& dilation = 1,
              const Dims& padding = 0, const Dims& stride = 1);
/// (N, C kh kw, L) -> (N, C, H, W), (H, W) = output_size: each position is the sum of the elements
/// that im2col reads from it, in the order of the taps; half types are summed in f32.
Tensor col2im(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
              const Dims& dilation = 1, const Dims& padding = 0, const Dims& stride = 1);

}  // namespace aorta

namespace aorta::body {
struct BlockPlan;
struct Im2colArgs;
}  // namespace aorta::body

namespace aorta::kernel {

using body::BlockPlan;  // in core/body/im2col.h
Tensor im2col(const Tensor& input, const BlockPlan& plan);
Tensor col2im(const Tensor& input, const BlockPlan& plan);

using Im2colKernel = void (*)(const body::Im2colArgs& args);
using Im2colGradient = void (*)(Tensor& output, const Tensor& input, const BlockPlan& plan);
extern Op<Im2colKernel, Im2colGradient> im2col_op, col2im_op;

}  // namespace aorta::kernel
