// Plans of matrix products, carried out by plain loops on the host as cuBLASLt would read them, and
// compared with the products that were asked for. Small integers, so that sums are exact.
#include <aorta/cuda/gemm_plan.h>

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace aorta;
using namespace aorta::kernel;
using cuda::GemmInput;
using cuda::GemmOperand;
using cuda::GemmPlan;

namespace {

// The definition in core/ops/matmul.h for one index of the batch.
double element(const MatmulArgs& args, const double* a, const double* b, const double* input,
               int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t l = 0; l < args.k; ++l) {
    sum += a[i * args.a_row + l * args.a_column] * b[l * args.b_row + j * args.b_column];
  }
  sum *= args.alpha.to_double();
  if (input) sum += args.beta.to_double() * input[i * args.input_row + j * args.input_column];
  return sum;
}

void next_index(Dims& index, const Shape& shape) {
  for (int d = shape.size() - 1; d >= 0; --d) {
    if (++index[d] < shape[d]) return;
    index[d] = 0;
  }
}

int64_t offset(const Dims& index, const Strides& strides) {
  int64_t sum = 0;
  for (int d = 0; d < index.size(); ++d) sum += index[d] * strides[d];
  return sum;
}

std::vector<double> reference(const MatmulArgs& args) {
  std::vector<double> c;
  Dims index = Dims::filled(args.batch_shape.size(), 0);
  for (int64_t p = 0; p < args.batch_shape.numel(); ++p, next_index(index, args.batch_shape)) {
    const double* a = static_cast<const double*>(args.a) + offset(index, args.a_batch);
    const double* b = static_cast<const double*>(args.b) + offset(index, args.b_batch);
    const double* input =
        args.input ? static_cast<const double*>(args.input) + offset(index, args.input_batch)
                   : nullptr;
    for (int64_t i = 0; i < args.m; ++i) {
      for (int64_t j = 0; j < args.n; ++j) c.push_back(element(args, a, b, input, i, j));
    }
  }
  return c;
}

// Row-major copy of a batch of matrices with any strides.
std::vector<double> dense(const double* data, const Shape& batch, const Strides& strides,
                          int64_t rows, int64_t columns, int64_t row, int64_t column) {
  std::vector<double> copy;
  Dims index = Dims::filled(batch.size(), 0);
  for (int64_t p = 0; p < batch.numel(); ++p, next_index(index, batch)) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        copy.push_back(data[offset(index, strides) + i * row + j * column]);
      }
    }
  }
  return copy;
}

// Element (row, column) of op(matrix), column-major.
double at(const double* data, const GemmOperand& operand, int64_t row, int64_t column) {
  return operand.transposed ? data[row * operand.leading + column]
                            : data[column * operand.leading + row];
}

// What the CUDA code does with a plan, cuBLASLt replaced by loops.
std::vector<double> carry_out(const GemmPlan& plan, const MatmulArgs& args) {
  const double* a = static_cast<const double*>(args.a);
  const double* b = static_cast<const double*>(args.b);
  const double* input = static_cast<const double*>(args.input);
  std::vector<double> a_copy, b_copy, input_copy;
  if (plan.right.needs_copy) {
    a_copy = dense(a, args.batch_shape, args.a_batch, args.m, args.k, args.a_row, args.a_column);
    a = a_copy.data();
  }
  if (plan.left.needs_copy) {
    b_copy = dense(b, args.batch_shape, args.b_batch, args.k, args.n, args.b_row, args.b_column);
    b = b_copy.data();
  }
  if (plan.input == GemmInput::copied) {
    input_copy = dense(input, args.batch_shape, args.input_batch, args.m, args.n, args.input_row,
                       args.input_column);
    input = input_copy.data();
  }
  std::vector<double> c(static_cast<size_t>(args.batch_shape.numel() * args.m * args.n), -1e30);
  double* out = c.data();
  Dims index = Dims::filled(plan.outer.size(), 0);
  for (int64_t p = 0; p < plan.outer.numel(); ++p, next_index(index, plan.outer)) {
    for (int64_t q = 0; q < plan.batch; ++q, out += args.m * args.n) {
      const double* left = b + offset(index, plan.outer_b) + q * plan.left.batch_stride;
      const double* right = a + offset(index, plan.outer_a) + q * plan.right.batch_stride;
      const double* added =
          input ? input + offset(index, plan.outer_input) + q * plan.added.batch_stride : nullptr;
      for (int64_t row = 0; row < plan.n; ++row) {
        for (int64_t column = 0; column < plan.m; ++column) {
          double sum = 0;
          for (int64_t l = 0; l < plan.k; ++l) {
            sum += at(left, plan.left, row, l) * at(right, plan.right, l, column);
          }
          sum *= args.alpha.to_double();
          if (plan.input == GemmInput::bias) sum += input[row];
          if (plan.input == GemmInput::matrix || plan.input == GemmInput::copied) {
            sum += args.beta.to_double() * added[column * plan.added.leading + row];
          }
          out[column * plan.n + row] = sum;
        }
      }
    }
  }
  return c;
}

struct Case {
  MatmulArgs args;
  std::vector<double> a, b, input;
};

std::vector<double> numbers(std::mt19937& random) {
  std::vector<double> values(2000);
  for (double& value : values) value = static_cast<double>(static_cast<int>(random() % 9) - 4);
  return values;
}

// Random strides of a matrix: dense, dense transposed, padded, expanded, or with gaps everywhere.
void matrix_strides(std::mt19937& random, int64_t rows, int64_t columns, int64_t& row,
                    int64_t& column) {
  switch (random() % 7) {
    case 0:
      row = 1;
      column = rows;
      return;
    case 1:
      row = columns + 3;
      column = 1;
      return;
    case 2:
      row = 1;
      column = rows + 2;
      return;
    case 3:
      row = 0;
      column = 1;
      return;
    case 4:
      row = 1;
      column = 0;
      return;
    case 5:
      row = 2 * columns + 1;
      column = 2;
      return;
    default:
      row = columns;
      column = 1;
  }
}

Strides batch_strides(std::mt19937& random, const Shape& shape, int64_t matrix) {
  Strides strides = contiguous_strides(shape);
  for (int64_t& stride : strides) stride *= matrix;
  if (random() % 3 == 0 && !strides.empty()) {
    strides[static_cast<int>(random()) & 1 && strides.size() > 1 ? 1 : 0] = 0;
  }
  if (random() % 4 == 0 && strides.size() > 1) std::swap(strides[0], strides[1]);
  return strides;
}

}  // namespace

TEST(GemmPlan, CarriesOutEveryLayout) {
  std::mt19937 random(3);
  int copies = 0, biases = 0, matrices = 0, merged = 0, outer = 0, transposed = 0;
  for (int round = 0; round < 2000; ++round) {
    Case c;
    c.a = numbers(random);
    c.b = numbers(random);
    c.input = numbers(random);
    MatmulArgs& args = c.args;
    args.dtype = random() % 4 == 0 ? DType::f64 : DType::f32;
    args.m = 1 + random() % 4;
    args.n = 1 + random() % 4;
    args.k = 1 + random() % 4;
    for (uint32_t d = random() % 4; d > 0; --d) args.batch_shape.push_back(1 + random() % 3);
    matrix_strides(random, args.m, args.k, args.a_row, args.a_column);
    matrix_strides(random, args.k, args.n, args.b_row, args.b_column);
    matrix_strides(random, args.m, args.n, args.input_row, args.input_column);
    args.a_batch = batch_strides(random, args.batch_shape, 60);
    args.b_batch = batch_strides(random, args.batch_shape, 60);
    args.input_batch = random() % 2 ? Strides::filled(args.batch_shape.size(), 0)
                                    : batch_strides(random, args.batch_shape, 60);
    args.alpha = random() % 2 ? 1.0 : 2.0;
    args.beta = random() % 2 ? 1.0 : 3.0;
    args.a = c.a.data();
    args.b = c.b.data();
    args.input = random() % 3 ? c.input.data() : nullptr;
    if (!args.input) args.beta = 0;
    const GemmPlan plan = GemmPlan::make(args);
    // cuBLASLt's own rules.
    ASSERT_GE(plan.left.leading, plan.left.transposed ? plan.k : plan.n);
    ASSERT_GE(plan.right.leading, plan.right.transposed ? plan.m : plan.k);
    if (plan.input == GemmInput::matrix) {
      ASSERT_GE(plan.added.leading, plan.n);
    }
    ASSERT_EQ(carry_out(plan, args), reference(args)) << "round " << round;
    copies += plan.left.needs_copy;
    transposed += plan.left.transposed;
    biases += plan.input == GemmInput::bias;
    matrices += plan.input == GemmInput::matrix;
    merged += plan.batch > 3;
    outer += !plan.outer.empty();
  }
  for (int seen : {copies, transposed, biases, matrices, merged, outer}) EXPECT_GT(seen, 50);
}

TEST(GemmPlan, PlainProductsAreNotCopied) {
  MatmulArgs args;
  args.m = 5, args.n = 7, args.k = 3;
  args.a_row = 3, args.a_column = 1, args.b_row = 7, args.b_column = 1;
  const GemmPlan plain = GemmPlan::make(args);
  EXPECT_FALSE(plain.left.needs_copy || plain.right.needs_copy);
  EXPECT_FALSE(plain.left.transposed || plain.right.transposed);
  args.b_row = 1, args.b_column = 3;  // linear's weight
  const GemmPlan linear = GemmPlan::make(args);
  EXPECT_FALSE(linear.left.needs_copy);
  EXPECT_TRUE(linear.left.transposed);
  EXPECT_EQ(linear.left.leading, 3);
}

// A vector on either side is a matrix with a dimension of size 1, whatever stride that has.
TEST(GemmPlan, VectorsAreNotCopied) {
  for (int64_t odd : {0, 1, 2, 99}) {
    MatmulArgs args;
    args.m = 1, args.n = 7, args.k = 3;
    args.a_row = odd, args.a_column = 1, args.b_row = 7, args.b_column = 1;
    EXPECT_FALSE(GemmPlan::make(args).right.needs_copy) << odd;
    args.m = 5, args.n = 1;
    args.a_row = 3, args.a_column = 1, args.b_row = 1, args.b_column = odd;
    EXPECT_FALSE(GemmPlan::make(args).left.needs_copy) << odd;
  }
}

TEST(GemmPlan, KeysDifferWhereAlgorithmsMay) {
  MatmulArgs args;
  args.m = 5, args.n = 7, args.k = 3;
  args.a_row = 3, args.a_column = 1, args.b_row = 7, args.b_column = 1;
  const std::array<int, 4> aligned{256, 256, 256, 256};
  const GemmPlan plan = GemmPlan::make(args);
  const GemmPlan::Key key = plan.key(0, aligned, false);
  EXPECT_EQ(key, GemmPlan::make(args).key(0, aligned, false));
  EXPECT_NE(key, plan.key(1, aligned, false));
  EXPECT_NE(key, plan.key(0, {256, 4, 256, 256}, false));
  EXPECT_NE(key, plan.key(0, aligned, true));
  GemmPlan rounded = plan;
  rounded.tf32 = true;
  EXPECT_NE(key, rounded.key(0, aligned, false));
  MatmulArgs other = args;
  other.dtype = DType::bf16;
  EXPECT_NE(key, GemmPlan::make(other).key(0, aligned, false));
  other = args;
  other.m = 6;
  EXPECT_NE(key, GemmPlan::make(other).key(0, aligned, false));
  other = args;
  other.b_row = 1, other.b_column = 3;
  EXPECT_NE(key, GemmPlan::make(other).key(0, aligned, false));
}

TEST(GemmPlan, Alignment) {
  EXPECT_EQ(cuda::alignment_of(reinterpret_cast<void*>(0x1000)), 256);
  EXPECT_EQ(cuda::alignment_of(reinterpret_cast<void*>(0x1010)), 16);
  EXPECT_EQ(cuda::alignment_of(reinterpret_cast<void*>(0x1006)), 2);
}
