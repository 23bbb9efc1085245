#pragma once

#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/op_catalog.h>

// Short forms for the rows of the catalogue.
namespace aorta::catalog {

/// Exactly the reference, rounded to the dtype.
inline constexpr Tolerance kExact{};
/// Transcendentals: PyTorch's f64 reference has an error of its own.
inline constexpr Tolerance kUlps2{2, 4, 0};
/// Composite formulas.
inline constexpr Tolerance kUlps8{8, 16, 0};
/// Blocked sums.
inline constexpr Tolerance kSums{1, 1, 4};

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Operand&, const Operand&);
using BinaryInPlace = Tensor (*)(const Tensor&, const Operand&);

/// `row` with the calls of a function of one tensor and its in-place form.
template <Unary f, Unary f_>
Row unary(Row row) {
  row.calls = {{"default", [](const Tensors& x) -> Tensors { return {f(x[0])}; },
                [](const Tensors& x) { return f_(x[0]); }}};
  return row;
}
template <Unary f, Unary f_>
Row unary(const char* op, Tolerance tolerance = kUlps2, std::vector<BadCall> bad = {}) {
  return unary<f, f_>(Row{.op = op, .tolerance = tolerance, .bad = std::move(bad)});
}

/// With numbers 2.5 or 3 (for integers) on either side.
inline Scalar number_for(const Tensor& x) {
  return x.defined() && is_floating(x.dtype()) ? Scalar(2.5) : Scalar(3);
}

/// `row` with the calls of a function of two operands and its in-place form.
template <Binary f, BinaryInPlace f_>
Row binary(Row row) {
  row.calls = {
      {"default", [](const Tensors& x) -> Tensors { return {f(x[0], x[1])}; },
       [](const Tensors& x) { return f_(x[0], x[1]); }},
      {"number", [](const Tensors& x) -> Tensors { return {f(x[0], number_for(x[0]))}; },
       [](const Tensors& x) { return f_(x[0], number_for(x[0])); }},
      {"number_left", [](const Tensors& x) -> Tensors { return {f(number_for(x[0]), x[0])}; }}};
  return row;
}
template <Binary f, BinaryInPlace f_>
Row binary(const char* op, Tolerance tolerance = kExact, std::vector<BadCall> bad = {}) {
  return binary<f, f_>(Row{.op = op, .tolerance = tolerance, .bad = std::move(bad)});
}

/// Numbers in [-1, 1] that differ, by a formula.
inline Tensor numbers(const Shape& shape) {
  return sin(mul(arange(shape.numel(), {.dtype = f64}), 12.9898)).to(f32).view(shape);
}
/// Indices in [0, size), in no order.
inline Tensor places(const Shape& shape, int64_t size) {
  return remainder(mul(arange(shape.numel()), 7919), size).view(shape);
}

}  // namespace aorta::catalog
