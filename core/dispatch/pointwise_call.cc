#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/pointwise_call.h>

namespace aorta::pointwise {

void check_operands(const char* op, std::initializer_list<NamedNumberOrTensor> operands) {
  for (const auto& [name, operand] : operands) {
    if (operand.tensor) check_defined(op, {{name, *operand.tensor}});
  }
}

DType common_dtype(const char* op, const Operand& a, const Operand& b) {
  check_operands(op, {{"input", a}, {"other", b}});
  const Operand operands[] = {a, b};
  return result_type(operands);
}

void check_sign(const char* op, const Scalar& value, DType dtype) {
  if (value.to_double() < 0 && is_integral(dtype)) check_fits(op, value.to_double(), dtype);
}

scalar::Number number_of(const Scalar& value) {
  if (value.is_floating()) return value.to_double();
  return value.to_int();
}

scalar::Number fitting(const char* op, const Scalar& value, DType dtype) {
  check_fits(op, value, dtype);
  return number_of(value);
}

void keep_overwritten(const PointwiseOp& row, const Tensor& out, std::span<Operand> inputs,
                      Tensor* copies, unsigned wanted) {
  if (!records_write(row.name(), out, wanted != 0)) return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* input = inputs[i].tensor;
    if (!input || !input->shares_storage(out)) continue;
    // No gradient reads anything of what where() chooses from.
    const bool is_read = &row == &ternary_op<scalar::Where>
                             ? i == 0
                             : i > 0 || (row.gradients_reading_first() & wanted);
    if (input->is_same(out) && !is_read) continue;
    copies[i] = keep_before_write(*input);
    inputs[i] = copies[i];
  }
}

}  // namespace aorta::pointwise
