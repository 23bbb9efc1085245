#pragma once

#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/scalar/pointwise_info.h>

#include <span>

namespace aorta {

/// A tensor or a number as an operand.
struct Operand {
  Operand(const Tensor& t) : tensor(&t) {}  // NOLINT: implicit
  Operand(const Scalar& n) : number(n) {}   // NOLINT: implicit
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Operand(T n) : number(n) {}  // NOLINT: implicit
  template <detail::ComplexNumber T>
  Operand(const T& n) : number(n) {}  // NOLINT: implicit
  DType dtype() const { return tensor ? tensor->dtype() : number.dtype(); }
  const Tensor* tensor = nullptr;
  Scalar number = 0;
};

/// The dtype that PyTorch's promotion gives: tensors with dimensions first, then 0-d tensors, then
/// numbers; a later group counts only where its kind (bool, integer, floating, complex) is a higher
/// one, and a complex one then makes a floating dtype complex of its own width.
DType result_type(std::span<const Operand> operands);

}  // namespace aorta

namespace aorta::kernel {

/// The output and up to three inputs.
inline constexpr int kMaxOperands = 4;

/// What a pointwise kernel gets; operand 0 is the output. The iteration space is the output's, with
/// dimensions of size 1 dropped, ordered so that the output's smallest stride comes first, and
/// neighbours merged wherever every operand allows: contiguous operands have ndim 1. A broadcast
/// dimension has stride 0. A kernel writes every element of the output and reads each input only
/// at the element's own position, so that an input may be the output.
struct PointwiseArgs {
  int operands = 0;
  int ndim = 0;
  int64_t numel = 0;
  int64_t shape[kMaxDims];                  // innermost first
  int64_t strides[kMaxOperands][kMaxDims];  // in bytes, innermost first
  char* data[kMaxOperands];                 // device memory; on the host for a number
  DType dtype[kMaxOperands];                // in memory
  DType compute[kMaxOperands];              // what the functor takes and gives: never a half type
  bool is_number[kMaxOperands] = {};  // a host number with stride 0: `data` points to `number`
  alignas(8) char number[kMaxOperands][8];  // its value in the compute dtype
  const void* functor = nullptr;            // the op's functor, parameters inside
};

using PointwiseKernel = void (*)(const PointwiseArgs& args);

/// The row of a pointwise op, whatever its functor.
class PointwiseOp : public OpRow {
 public:
  constexpr explicit PointwiseOp(const scalar::PointwiseInfo& op_info)
      : OpRow(op_info.name), info(op_info) {}

  PointwiseKernel kernel(Device device) const { return kernel_on<PointwiseKernel>(device); }
  void set_kernel(DeviceType type, PointwiseKernel kernel) {
    set_kernel_function(type, reinterpret_cast<Function>(kernel));
  }

  /// Bit i: the gradient of input i reads the value of input 0, which a write in place overwrites.
  unsigned gradients_reading_first() const { return reading_first_; }

  const scalar::PointwiseInfo info;

 protected:
  unsigned reading_first_ = 0;
};

/// Gradient entries of pointwise ops: the output, the inputs, and the functor with its parameters.
template <class F>
using UnaryGradient = void (*)(const Tensor& output, const Tensor& input, const F& functor);
template <class F>
using BinaryGradient = void (*)(const Tensor& output, const Operand& a, const Operand& b,
                                const F& functor);
template <class F>
using TernaryGradient = void (*)(const Tensor& output, const Operand& a, const Operand& b,
                                 const Operand& c, const F& functor);

template <class F, class Gradient>
class PointwiseOpOf : public PointwiseOp {
 public:
  constexpr PointwiseOpOf() : PointwiseOp(F::info) {}
  Gradient gradient() const { return reinterpret_cast<Gradient>(find_gradient()); }
  void set_gradient(Gradient gradient, unsigned reading_first) {
    reading_first_ = reading_first;
    set_gradient_function(reinterpret_cast<Function>(gradient));
  }
};

/// The rows: `unary_op<scalar::Relu>`.
template <class F>
inline constinit PointwiseOpOf<F, UnaryGradient<F>> unary_op;
template <class F>
inline constinit PointwiseOpOf<F, BinaryGradient<F>> binary_op;
template <class F>
inline constinit PointwiseOpOf<F, TernaryGradient<F>> ternary_op;

/// Runs a pointwise op: promotes, broadcasts, allocates (or writes into `out`), calls the kernel.
/// Without `out` the result keeps the stride order of the inputs. An input that overlaps `out` in
/// any way but element on element is copied first. The first `masks` inputs are bool tensors that
/// take no part in promotion (where's condition). Doesn't record gradients.
Tensor run_pointwise(const PointwiseOp& op, const void* functor, std::span<const Operand> inputs,
                     const Tensor* out = nullptr, int masks = 0);

/// Fills `args` but for `compute` and the functor. Operand 0 is the output and gives the shape, to
/// which the others broadcast; a null tensor is a number, already in `args.number`.
void plan_iteration(PointwiseArgs& args, std::span<const Tensor* const> tensors);

/// Writes a number's bytes in `dtype` (any real one) to `place`.
void store_number(char* place, DType dtype, const Scalar& value);

/// Throws when elements of `out` share memory (an expanded tensor): it can't be written.
void check_writable(const char* op, const Tensor& out);

/// True when the two share memory in any way but element on element.
bool overlaps(const Tensor& input, const Tensor& out);

}  // namespace aorta::kernel
