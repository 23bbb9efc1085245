#pragma once

#include <aorta/core/dispatch/pointwise_args.h>

namespace aorta::kernel {

/// Copies operand 1 into operand 0 element by element, converting dtypes; the functor is unused.
/// Both are on the kernel's device.
using CopyKernel = PointwiseKernel;

/// Conversion as C++ does it, with floating to integer cut towards zero (out of range: unspecified,
/// but some value), to bool: != 0, and to half types rounded to nearest even.
/// Gradient: (output, input), where the output has another dtype, device or layout.
using CopyGradient = void (*)(Tensor& output, const Tensor& input);
extern Op<CopyKernel, CopyGradient> copy_op;

/// For ops that convert: refuses a complex tensor where a real one is to come of it.
void check_stays_complex(const char* op, DType from, DType to);

/// `destination.copy_(source)`: writes into a part of the graph's tensor.
using CopyIntoGradient = void (*)(const Tensor& destination, const Tensor& source);
extern Op<NoKernel, CopyIntoGradient> copy_into_op;

/// Fills operand 0 with the number in operand 1.
using FillGradient = void (*)(const Tensor& output);
extern Op<PointwiseKernel, FillGradient> fill_op;

}  // namespace aorta::kernel
