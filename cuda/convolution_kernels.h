#pragma once

#include <aorta/cuda/backend.h>
#include <aorta/cuda/convolution_shape.h>

namespace aorta::cuda {

/// Computes a convolution by kernels of our own (convolution.cu), which take any.
void convolution_by_kernels(const char* op, const kernel::ConvolutionArgs& args, ConvResult result);

// What it calls.

/// A weight gradient in tiles.
void convolution_weight_tiles(const kernel::ConvolutionArgs& args);

// For what tiles don't suit: a thread computes a number of the result.

/// y, or x when `transposed`.
void convolution_side_simple(const char* op, const kernel::ConvolutionArgs& args, bool transposed);
void convolution_weight_simple(const kernel::ConvolutionArgs& args);

/// Copies w to (groups, *kernel, channels of the source, columns) contiguous, the source being y
/// when `transposed` and x otherwise. Columns past the result's channels are 0.
void pack_weights(const char* op, const kernel::ConvolutionArgs& args, bool transposed,
                  int64_t columns, void* packed);

/// The sums of the slices of a weight gradient, and their sum.
class SliceSums {
 public:
  SliceSums(int64_t slices, int64_t size, DType dtype, int device);
  /// (slices, size) of f32, or f64 where the dtype is; null for one slice.
  void* data() const { return sums_.data(); }
  /// Adds the slices up in their order, into w of the dtype; does nothing for one slice.
  void join(void* w) const;

 private:
  int64_t slices_, size_;
  DType dtype_;
  Workspace sums_;
};

}  // namespace aorta::cuda
