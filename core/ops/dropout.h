#pragma once

#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/random.h>

namespace aorta {

// Dropout (Srivastava et al. 2014). In training elements become 0 with probability `p`, and the
// others are divided by 1 - p; otherwise, and with p = 0, the result is the input itself. p = 1
// gives zeros. Floating dtypes. `generator` is the default one when null. Which elements stay
// depends on its state and their row-major places, not on device, dtype, strides or threads; no
// mask is kept, for the gradient asks the generator's state again.
// Errors: p outside [0, 1]; another number of dimensions.

/// Single elements, which become 0 whatever they were.
Tensor dropout(const Tensor& input, double p = 0.5, bool training = true,
               Generator* generator = nullptr);
/// In place; returns its tensor.
const Tensor& dropout_(const Tensor& input, double p = 0.5, bool training = true,
                       Generator* generator = nullptr);

// Whole channels, each of which is multiplied by 0 or 1 / (1 - p). Composed of dropout and mul.

/// Input (N, C, L), or (C, L).
Tensor dropout1d(const Tensor& input, double p = 0.5, bool training = true,
                 Generator* generator = nullptr);
/// Input (N, C, H, W), or, as PyTorch takes it, (N, C, L).
Tensor dropout2d(const Tensor& input, double p = 0.5, bool training = true,
                 Generator* generator = nullptr);
/// Input (N, C, D, H, W), or (C, D, H, W).
Tensor dropout3d(const Tensor& input, double p = 0.5, bool training = true,
                 Generator* generator = nullptr);

}  // namespace aorta

namespace aorta::kernel {

/// Which elements stay: element i when word i % 4 of the generator's block i / 4 is at least
/// `threshold`.
struct DropoutMask {
  GeneratorState random;
  uint64_t threshold = 0;                // p * 2^32
  double scale = 1;                      // of what stays
  const GeneratorState* live = nullptr;  // of a captured step: where `random` is, on the device
};
/// output = input under the mask; both contiguous, and perhaps one.
struct DropoutArgs {
  DropoutMask mask;
  DType dtype;
  int64_t count;
  const void* input;
  void* output;
};
using DropoutKernel = void (*)(const DropoutArgs& args);
extern Op<DropoutKernel, void (*)(Tensor& output, const Tensor& input, const DropoutMask& mask)>
    dropout_op;
/// The mask of `count` elements that a generator, the default one when null, gives next. On meta it
/// gives nothing.
DropoutMask take_dropout_mask(int64_t count, double p, Device device,
                              Generator* generator = nullptr);
/// `input` under a mask; also its own gradient.
Tensor masked_dropout(const Tensor& input, const DropoutMask& mask);

}  // namespace aorta::kernel
