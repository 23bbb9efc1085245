#pragma once

#include <aorta/core/tensor.h>

#include <span>
#include <string_view>

namespace aorta {

/// Sums products of the operands' elements by Einstein's convention: `einsum("ij,jk->ik", {a, b})`.
/// A letter (a-z, A-Z) names a dimension; operands are separated by commas, and spaces don't count.
/// - A letter that the output (after "->") leaves out is summed over.
/// - A letter repeated within one operand takes its diagonal; "ii" is the trace.
/// - "..." stands for the dimensions that no letter names; they broadcast.
/// - Sizes under one letter are equal or 1, which broadcasts.
/// - Without "->", the output is "..." and then the letters that occur once, capitals first, each
///   group in alphabetical order.
/// Operands have one dtype. Products are taken from left to right. Composed of views, sum and
/// matmul_op.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

}  // namespace aorta
