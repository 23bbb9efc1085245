#pragma once

#include <aorta/core/ops/view.h>

// Complex tensors (docs/complex.md). An element of c64 or c128 is two numbers of f32 or f64; ops on
// complex tensors are composed of real ops on those, so that gradients of every order, and on every
// device, are those of the real ops: of a real loss L the gradient is dL/dRe + i dL/dIm.
namespace aorta {

/// The parts of a complex tensor (*): a real view (*, 2) of its memory.
Tensor view_as_real(const Tensor& input);
/// A real tensor (*, 2) of f32 or f64 as a complex view (*) of its memory. Errors: parts that don't
/// lie side by side, or strides or an offset that aren't even.
Tensor view_as_complex(const Tensor& input);
/// The real parts, as a view; a real tensor itself.
Tensor real(const Tensor& input);
/// The imaginary parts, as a view. Errors: a real tensor.
Tensor imag(const Tensor& input);
/// real + i imag, of f32 or f64 both; they broadcast.
Tensor complex(const Tensor& real, const Tensor& imag);
/// abs (cos(angle) + i sin(angle)).
Tensor polar(const Tensor& abs, const Tensor& angle);
/// The conjugate, a new tensor; a real tensor itself. PyTorch's is a view that remembers that it is
/// to be conjugated.
Tensor conj(const Tensor& input);
Tensor conj_physical(const Tensor& input);
/// atan2(imag, real), in (-pi, pi]; of real numbers 0 or pi, and NaN of NaN.
Tensor angle(const Tensor& input);
/// input / abs(input), 0 of 0; of real numbers sign(input).
Tensor sgn(const Tensor& input);
/// The sum of conj(input) * other of two vectors.
Tensor vdot(const Tensor& input, const Tensor& other);
/// Where the imaginary part is 0.
Tensor isreal(const Tensor& input);
inline bool is_complex(const Tensor& input) { return input.is_complex(); }

}  // namespace aorta

namespace aorta::kernel {

extern Op<NoKernel, ViewGradient> view_as_real_op, view_as_complex_op;

/// view_as_real that nothing records, and that isn't known for a view: for kernels.
Tensor parts_of(const Tensor& input);

/// Parts (*, 2) that a real op has made, as a complex tensor.
Tensor of_parts(const Tensor& parts);
/// What a real op `f` makes of the parts (*, 2), as a complex tensor: for ops that leave the last
/// dimension alone.
template <class F>
Tensor by_parts(const Tensor& input, const F& f) {
  return of_parts(f(view_as_real(input)));
}
/// An index tensor (*) for what it indexes by the parts: (*, 2).
Tensor index_of_parts(const Tensor& index);

}  // namespace aorta::kernel
