#pragma once

#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/pointwise_args.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/scalar/op_list.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string_view>

// What a call of a pointwise op does on every device: operands checked and cast, what a gradient
// will read kept, the kernel run, the node recorded. core/ops/pointwise*.cc name the ops.
namespace aorta::pointwise {

using namespace kernel;

struct NamedNumberOrTensor {
  const char* name;
  const Operand& operand;
};
/// Refuses undefined tensors by name.
void check_operands(const char* op, std::initializer_list<NamedNumberOrTensor> operands);

/// What two operands are promoted to.
DType common_dtype(const char* op, const Operand& a, const Operand& b);

/// Refuses a negative number beside unsigned elements, among which it would stand for another one.
void check_sign(const char* op, const Scalar& value, DType dtype);

scalar::Number number_of(const Scalar& value);

/// A parameter of an op of tensors of `dtype`; refused where that doesn't hold it.
scalar::Number fitting(const char* op, const Scalar& value, DType dtype);

inline bool records(const Operand& operand) {
  return operand.tensor && needs_gradient(*operand.tensor);
}

/// Before a write into `out`, where it is recorded: inputs that lie in the memory to be
/// overwritten, and that a wanted gradient may read, are replaced by copies. `wanted` has bit i set
/// for an input i that needs a gradient.
void keep_overwritten(const PointwiseOp& row, const Tensor& out, std::span<Operand> inputs,
                      Tensor* copies, unsigned wanted);

/// Ops for which a number and what it is modulo 2^bits are the same.
template <class F>
constexpr bool is_modular() {
  using namespace scalar;
  return std::is_same_v<F, Add> || std::is_same_v<F, AddScaled> || std::is_same_v<F, Sub> ||
         std::is_same_v<F, SubScaled> || std::is_same_v<F, Mul> || std::is_same_v<F, BitwiseAnd> ||
         std::is_same_v<F, BitwiseOr> || std::is_same_v<F, BitwiseXor>;
}

/// The name of F's function that writes in place.
template <class F>
constexpr auto in_place_name = [] {
  constexpr std::string_view name = F::info.name;
  std::array<char, name.size() + 2> text{};
  std::copy(name.begin(), name.end(), text.begin());
  text[name.size()] = '_';
  return text;
}();

/// What errors are about where `out` is written; null where it isn't, for they name the op.
template <class F>
const char* called_by(const Tensor* out) {
  return out ? in_place_name<F>.data() : nullptr;
}

/// The call of an op one of whose operands is complex, composed of ops on their parts
/// (core/ops/complex.cc); ops that have no such form refuse the dtype. Where there is `out` the
/// result is written into it.
Tensor complex_form(const scalar::PointwiseInfo& info, std::span<const Operand> operands,
                    const Tensor* out);

template <class F>
Tensor unary(const Tensor& input, const Tensor* out = nullptr, const F& functor = {}) {
  const CalledOp called(called_by<F>(out));
  check_defined(F::info.name, {{"input", input}});
  if constexpr (F::info.autocast == scalar::AutocastTo::f32) {
    if (!out && is_half(input.dtype()) && autocast_dtype() != DType::f32)
      return unary<F>(autocast_to_f32(input), nullptr, functor);
  }
  Operand inputs[] = {input};
  if (is_complex(input.dtype())) [[unlikely]]
    return complex_form(F::info, inputs, out);
  Tensor copies[1];
  const bool record = needs_gradient(input);
  if (out) keep_overwritten(unary_op<F>, *out, inputs, copies, record ? 1 : 0);
  const Tensor output = run_pointwise(unary_op<F>, &functor, inputs, out);
  if (record && is_floating(output.dtype()))
    unary_op<F>.gradient()(output, *inputs[0].tensor, functor);
  tell_tracer(unary_op<F>.name(), output, {input}, functor);
  return output;
}

template <class F>
Tensor binary(const Operand& a, const Operand& b, const Tensor* out = nullptr,
              const F& functor = {}) {
  const CalledOp called(called_by<F>(out));
  check_operands(F::info.name, {{"input", a}, {"other", b}});
  Operand inputs[] = {a, b};
  if (is_complex(a.dtype()) || is_complex(b.dtype())) [[unlikely]]
    return complex_form(F::info, inputs, out);
  for (const Operand* operand : {&a, &b}) {
    if (!is_modular<F>() && F::info.compute == scalar::Compute::promote && !operand->tensor &&
        operand->number.to_double() < 0)
      check_sign(F::info.name, operand->number, common_dtype(F::info.name, a, b));
  }
  Tensor copies[2];
  const unsigned wanted = (records(a) ? 1u : 0u) | (records(b) ? 2u : 0u);
  if (out) keep_overwritten(binary_op<F>, *out, inputs, copies, wanted);
  const Tensor output = run_pointwise(binary_op<F>, &functor, inputs, out);
  if (wanted && is_floating(output.dtype()))
    binary_op<F>.gradient()(output, inputs[0], inputs[1], functor);
  tell_tracer(binary_op<F>.name(), output, {a, b}, functor);
  return output;
}

template <class F>
Tensor ternary(const Operand& a, const Operand& b, const Operand& c, const Tensor* out = nullptr,
               const F& functor = {}) {
  const CalledOp called(called_by<F>(out));
  Operand inputs[] = {a, b, c};
  if (is_complex(a.dtype()) || is_complex(b.dtype()) || is_complex(c.dtype())) [[unlikely]]
    return complex_form(F::info, inputs, out);
  Tensor copies[3];
  const unsigned wanted = (records(a) ? 1u : 0u) | (records(b) ? 2u : 0u) | (records(c) ? 4u : 0u);
  if (out) keep_overwritten(ternary_op<F>, *out, inputs, copies, wanted);
  const Tensor output = run_pointwise(ternary_op<F>, &functor, inputs, out, scalar::masks_of<F>());
  if (wanted && is_floating(output.dtype()))
    ternary_op<F>.gradient()(output, inputs[0], inputs[1], inputs[2], functor);
  tell_tracer(ternary_op<F>.name(), output, {a, b, c}, functor);
  return output;
}

}  // namespace aorta::pointwise
