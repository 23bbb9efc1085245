// Every pointwise op of the lists on every dtype, against the same op on the CPU.
#include <aorta/core/dispatch/pointwise_args.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/scalar/op_list.h>
#include <aorta/tests/cuda/gpu.h>

using namespace aorta;
using namespace aorta::kernel;
using gpu_test::random_values;

namespace {

using CudaPointwise = gpu_test::Gpu;

constexpr DType kPointwiseDTypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean};

/// A functor with its default parameters, or plain ones where it has none.
template <class F>
F make() {
  if constexpr (std::is_same_v<F, scalar::Clamp>)
    return {-1.5, 2};
  else if constexpr (std::is_same_v<F, scalar::ClampMin>)
    return {-1};
  else if constexpr (std::is_same_v<F, scalar::ClampMax>)
    return {1};
  else
    return {};
}

// The CPU accepts the dtype: then both devices must.
bool accepts(const scalar::PointwiseInfo& info, DType dtype) {
  switch (info.accept) {
    case scalar::Accept::any:
      return true;
    case scalar::Accept::numeric:
      return dtype != boolean;
    case scalar::Accept::floating:
      return is_floating(dtype);
    case scalar::Accept::integral:
      return !is_floating(dtype);
  }
  return false;
}

void compare(const PointwiseOp& op, const void* functor, const std::vector<Tensor>& inputs,
             int masks) {
  std::vector<Tensor> on_gpu;
  std::vector<Operand> cpu_operands, gpu_operands;
  for (const Tensor& input : inputs) {
    // to() would lay views out anew: the storage travels, the view is made again.
    const Tensor whole(input.storage(), input.dtype(),
                       {input.storage()->size_bytes() / item_size(input.dtype())}, {1});
    on_gpu.emplace_back(whole.cuda().storage(), input.dtype(), input.shape(), input.strides(),
                        input.storage_offset());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    cpu_operands.emplace_back(inputs[i]);
    gpu_operands.emplace_back(on_gpu[i]);
  }
  const Tensor wanted = run_pointwise(op, functor, cpu_operands, nullptr, masks);
  gpu_test::poison(wanted.nbytes());
  const Tensor result = run_pointwise(op, functor, gpu_operands, nullptr, masks);
  const double relative = gpu_test::tolerance(wanted.dtype());
  EXPECT_EQ(gpu_test::difference(result, wanted, relative, relative / 2), "")
      << op.name() << " of " << name(inputs.back().dtype());
}

template <class F>
void check_op(const PointwiseOp& op, int inputs) {
  const F functor = make<F>();
  constexpr int masks = scalar::masks_of<F>();
  uint32_t seed = 1;
  for (DType dtype : kPointwiseDTypes) {
    if (!accepts(F::info, dtype)) continue;
    // The sizes leave a partial vector; the second round is strided, the third broadcasts.
    for (int layout = 0; layout < 3; ++layout) {
      std::vector<Tensor> operands;
      for (int k = 0; k < inputs; ++k) {
        const DType own = k < masks ? boolean : dtype;
        Tensor x = random_values({67, 131}, own, ++seed);
        if (layout == 1) x = k == 0 ? x.transpose(0, 1) : random_values({131, 67}, own, ++seed);
        if (layout == 2) x = k == 0 ? x.slice(1, 1, 130, 2) : x.select(1, 3).narrow(0, 0, 1);
        operands.push_back(x);
      }
      compare(op, &functor, operands, masks);
    }
  }
}

template <class... Fs>
void check_unary(scalar::TypeList<Fs...>) {
  (check_op<Fs>(unary_op<Fs>, 1), ...);
}
template <class... Fs>
void check_binary(scalar::TypeList<Fs...>) {
  (check_op<Fs>(binary_op<Fs>, 2), ...);
}
template <class... Fs>
void check_ternary(scalar::TypeList<Fs...>) {
  (check_op<Fs>(ternary_op<Fs>, 3), ...);
}

}  // namespace

TEST_F(CudaPointwise, EveryUnaryOp) { check_unary(scalar::UnaryOps{}); }
TEST_F(CudaPointwise, EveryBinaryOp) { check_binary(scalar::BinaryOps{}); }
TEST_F(CudaPointwise, EveryTernaryOp) { check_ternary(scalar::TernaryOps{}); }

TEST_F(CudaPointwise, MixedDtypes) {
  const scalar::Mul mul;
  for (DType a : kPointwiseDTypes) {
    for (DType b : kPointwiseDTypes) {
      compare(binary_op<scalar::Mul>, &mul,
              {random_values({3000}, a, 1, false), random_values({3000}, b, 2, false)}, 0);
    }
  }
}

// Rows, columns, channels and parts of rows: sizes that blocks divide and sizes that they don't.
TEST_F(CudaPointwise, RowsOfEveryKind) {
  const scalar::Add add;
  const scalar::Where where;
  const scalar::Lt lt;
  for (DType dtype : {f32, f64, f16, bf16, u8, boolean}) {
    for (int64_t width : {48, 33, 19}) {
      const Tensor x = random_values({4, 10, 2 * width}, dtype, 1, false).slice(2, 0, width);
      const Tensor planes = random_values({4, 10, width}, dtype, 2, false);
      const Tensor row = random_values({width}, dtype, 3, false);
      const Tensor column = random_values({10, 1}, dtype, 4, false);
      const Tensor one = random_values({4, 1, 1}, dtype, 5, false);
      for (const Tensor* a : {&x, &planes}) {
        for (const Tensor* b : {&row, &column, &one, &x, &planes}) {
          SCOPED_TRACE(testing::Message() << width << (a == &x ? " with gaps" : ""));
          compare(binary_op<scalar::Add>, &add, {*a, *b}, 0);
          compare(binary_op<scalar::Lt>, &lt, {*b, *a}, 0);
          const Tensor mask = random_values(b->shape(), boolean, 6, false);
          compare(ternary_op<scalar::Where>, &where, {mask, *a, row}, 1);
        }
      }
    }
  }
}

TEST_F(CudaPointwise, RowsWrittenInPlaceAndCopied) {
  for (DType dtype : {f32, f16, u8}) {
    for (int64_t start : {0, 1, 8}) {
      const Tensor x = random_values({6, 100}, dtype, 7, false), y = x.cuda();
      const Tensor bias = random_values({64}, dtype, 8, false);
      add_(x.narrow(1, start, 64), bias);
      add_(y.narrow(1, start, 64), bias.cuda());
      EXPECT_EQ(gpu_test::difference(y, x, 0, 0), "") << name(dtype) << " from " << start;
      const Tensor part = y.narrow(1, start, 64).contiguous();
      EXPECT_EQ(gpu_test::difference(part, x.narrow(1, start, 64).contiguous(), 0, 0), "");
      y.narrow(1, start, 64).copy_(bias.cuda());
      x.narrow(1, start, 64).copy_(bias);
      y.narrow(1, start, 64).copy_(part.narrow(1, 0, 1));
      x.narrow(1, start, 64).copy_(part.narrow(1, 0, 1).cpu());
      EXPECT_EQ(gpu_test::difference(y, x, 0, 0), "") << name(dtype) << " from " << start;
    }
  }
}

TEST_F(CudaPointwise, NumbersAndSingleElements) {
  for (DType dtype : {f32, f64, f16, bf16, i64, i32, u8}) {
    const Tensor x = random_values({1003}, dtype, 4, false), y = x.cuda();
    const double tolerance = gpu_test::tolerance(dtype);
    EXPECT_EQ(gpu_test::difference(y + 3, x + 3, tolerance, 0), "") << name(dtype);
    EXPECT_EQ(gpu_test::difference(2 - y, 2 - x, tolerance, 0), "") << name(dtype);
    const Tensor one = tensor({5}).to(dtype);
    EXPECT_EQ(gpu_test::difference(y * one.cuda(), x * one, tolerance, 0), "") << name(dtype);
    EXPECT_EQ(gpu_test::difference(one.select(0, 0).cuda() * y, one.select(0, 0) * x, tolerance, 0),
              "");
    EXPECT_EQ(gpu_test::difference(y * one.select(0, 0), x * one.select(0, 0), tolerance, 0), "")
        << "a 0-d CPU tensor beside a GPU's";
  }
}

TEST_F(CudaPointwise, OddOffsetsAndInPlace) {
  for (int64_t offset : {0, 1, 2, 3, 5}) {
    const Tensor x = random_values({2000}, f32, 6, false), y = x.cuda();
    const Tensor part = x.narrow(0, offset, 1500), same = y.narrow(0, offset, 1500);
    mul_(part, 3.0);
    mul_(same, 3.0);
    add_(part, part);
    add_(same, same);
    EXPECT_EQ(gpu_test::difference(y, x, 0, 0), "") << "from " << offset;
  }
}

// Indices that don't fit 32 bits, contiguous and strided.
TEST_F(CudaPointwise, TensorsPastTheLimit) {
  const int64_t limit = gpu_test::element_limit(), n = limit + 1000;
  const Tensor x = zeros({n}, {.dtype = u8, .device = "cuda"});
  x.narrow(0, n - 3, 3).fill_(7);
  const Tensor y = x + 1;
  EXPECT_EQ(y.narrow(0, n - 4, 4).to_vector<int>(), (std::vector<int>{1, 8, 8, 8}));
  EXPECT_EQ(y.narrow(0, 0, 2).to_vector<int>(), (std::vector<int>{1, 1}));
  int64_t columns = 1;
  while (4 * columns * columns <= limit) columns *= 2;
  const int64_t rows = limit / columns;  // 2^16 times 2^15
  const Tensor grid = y.narrow(0, 0, rows * columns).view({rows, columns});
  const Tensor bias = arange(columns, {.dtype = i32, .device = "cuda"}).to(u8);
  const Tensor sum = grid.t() + bias.unsqueeze(1);
  EXPECT_EQ(sum[7].narrow(0, rows - 2, 2).to_vector<int>(), (std::vector<int>{8, 8}));
  EXPECT_EQ(sum[columns - 1].narrow(0, 0, 1).to_vector<int>(),
            (std::vector<int>{static_cast<int>(columns % 256)}));
}

TEST_F(CudaPointwise, ErrorsAreThoseOfTheCpu) {
  const Tensor x = ones({2, 3}, {.device = "cuda"});
  EXPECT_THROW(x + ones({2, 3}), Error);
  EXPECT_THROW(x + ones({4}, {.device = "cuda"}), Error);
}
