#include <aorta/cuda/gemm_plan.h>

#include <algorithm>

namespace aorta::cuda {
namespace {

// A row-major (rows, columns) matrix with these strides, as its transpose in column-major order.
GemmOperand describe(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  GemmOperand operand;
  // The stride of a dimension of size 1 is never used: what suits is taken.
  if (columns == 1 && (row >= 1 || rows == 1)) column = 1;
  if (column == 1 && rows == 1) row = columns;
  if (column == 1 && row >= columns) {
    operand.leading = row;
  } else if (row == 1 && (columns == 1 || column >= rows)) {
    operand.transposed = true;
    operand.leading = columns == 1 ? rows : column;
  } else {
    operand.needs_copy = true;
    operand.leading = columns;
  }
  return operand;
}

// A bias is one row for all rows and all products.
bool is_bias(const MatmulArgs& args) {
  if (args.input_column != 1 && args.n > 1) return false;
  if (args.input_row != 0 && args.m > 1) return false;
  for (int d = 0; d < args.batch_shape.size(); ++d) {
    if (args.batch_shape[d] > 1 && args.input_batch[d] != 0) return false;
  }
  return args.beta.to_double() == 1 && args.dtype != DType::f64;
}

Strides contiguous_batch(const Shape& shape, int64_t matrix) {
  Strides strides = contiguous_strides(shape);
  for (int64_t& stride : strides) stride *= matrix;
  return strides;
}

}  // namespace

GemmPlan GemmPlan::make(const MatmulArgs& args) {
  GemmPlan plan;
  plan.dtype = args.dtype;
  plan.m = args.m;
  plan.n = args.n;
  plan.k = args.k;
  plan.left = describe(args.k, args.n, args.b_row, args.b_column);
  plan.right = describe(args.m, args.k, args.a_row, args.a_column);
  Strides a =
      plan.right.needs_copy ? contiguous_batch(args.batch_shape, args.m * args.k) : args.a_batch;
  Strides b =
      plan.left.needs_copy ? contiguous_batch(args.batch_shape, args.k * args.n) : args.b_batch;
  Strides input = args.input_batch;
  if (args.input) {
    plan.added = describe(args.m, args.n, args.input_row, args.input_column);
    const bool matrix = !plan.added.needs_copy && !plan.added.transposed;
    plan.input = is_bias(args) ? GemmInput::bias : matrix ? GemmInput::matrix : GemmInput::copied;
    if (plan.input == GemmInput::copied) {
      plan.added = {.transposed = false, .leading = args.n, .batch_stride = 0, .needs_copy = true};
      input = contiguous_batch(args.batch_shape, args.m * args.n);
    }
  }
  if (!args.input) input = Strides::filled(args.batch_shape.size(), 0);
  // From the innermost dimension outwards, as long as every operand goes on evenly.
  int d = args.batch_shape.size() - 1;
  while (d >= 0 && args.batch_shape[d] == 1) --d;
  if (d >= 0) {
    plan.batch = args.batch_shape[d];
    plan.right.batch_stride = a[d];
    plan.left.batch_stride = b[d];
    plan.added.batch_stride = input[d];
    for (--d; d >= 0; --d) {
      const auto even = [&](const Strides& strides, int64_t step) {
        return strides[d] == step * plan.batch;
      };
      if (args.batch_shape[d] == 1) continue;
      if (!even(a, plan.right.batch_stride) || !even(b, plan.left.batch_stride) ||
          !even(input, plan.added.batch_stride)) {
        break;
      }
      plan.batch *= args.batch_shape[d];
    }
  }
  for (int i = 0; i <= d; ++i) {
    plan.outer.push_back(args.batch_shape[i]);
    plan.outer_a.push_back(a[i]);
    plan.outer_b.push_back(b[i]);
    plan.outer_input.push_back(input[i]);
  }
  return plan;
}

GemmPlan::Key GemmPlan::key(int device, const std::array<int, 4>& alignment, bool beta) const {
  return {static_cast<int64_t>(dtype),
          device,
          m,
          n,
          k,
          batch,
          left.transposed,
          left.leading,
          left.batch_stride,
          right.transposed,
          right.leading,
          right.batch_stride,
          static_cast<int64_t>(input),
          input == GemmInput::matrix ? added.leading : 0,
          input == GemmInput::matrix ? added.batch_stride : 0,
          alignment[0],
          alignment[1],
          alignment[2],
          alignment[3],
          beta,
          tf32};
}

int alignment_of(const void* data) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(data);
  return static_cast<int>(std::min<uintptr_t>(address & -address, 256));
}

}  // namespace aorta::cuda
