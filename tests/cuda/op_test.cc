// Reductions, matrix products, indexing and random numbers on a GPU against the CPU, whose own
// tests have references that aren't Aorta.
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/tests/cuda/gpu.h>

#include <algorithm>

using namespace aorta;
using gpu_test::difference;
using gpu_test::random_values;
using gpu_test::tolerance;

namespace {

using CudaOps = gpu_test::Gpu;

constexpr DType kDTypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean};

/// `op` on the CPU and on the GPU, whose output starts as NaN.
template <class F>
void compare(const char* what, const Tensor& x, const F& op, double relative, double absolute) {
  const Tensor wanted = op(x), y = x.cuda();
  gpu_test::poison(std::max<int64_t>(wanted.nbytes(), 1));
  EXPECT_EQ(difference(op(y), wanted, relative, absolute), "") << what << " of " << name(x.dtype());
}

std::vector<Tensor> reduction_inputs(DType dtype) {
  return {random_values({100003}, dtype, 1, false),    random_values({70, 257}, dtype, 2, false),
          random_values({3, 40, 50}, dtype, 3, false), random_values({5, 1}, dtype, 4, false),
          random_values({64, 64}, dtype, 5, true),     random_values({}, dtype, 6, false)};
}

}  // namespace

TEST_F(CudaOps, ReductionsOverEverythingAndOverDims) {
  for (DType dtype : kDTypes) {
    for (const Tensor& x : reduction_inputs(dtype)) {
      SCOPED_TRACE(to_string(x.shape()));
      // Sums lose what cancels: the scale is that of the magnitudes.
      const double unit = is_floating(dtype) ? tolerance(dtype) : 0;
      const double scale = unit * static_cast<double>(x.numel()) / 100;
      std::vector<ReduceDims> choices = {{}};
      if (x.dim() > 1) choices = {{}, 0, -1};
      if (x.dim() > 2) choices = {{}, 0, 1, 2, {0, 2}, {0, 1}};
      for (const ReduceDims& dims : choices) {
        compare(
            "sum", x, [&](const Tensor& t) { return sum(t, dims); }, unit, scale);
        compare(
            "amax", x, [&](const Tensor& t) { return amax(t, dims); }, 0, 0);
        compare(
            "amin", x, [&](const Tensor& t) { return amin(t, dims, true); }, 0, 0);
        compare(
            "any", x, [&](const Tensor& t) { return any(t, dims); }, 0, 0);
        compare(
            "all", x, [&](const Tensor& t) { return all(t, dims); }, 0, 0);
        compare(
            "count_nonzero", x, [&](const Tensor& t) { return count_nonzero(t, dims); }, 0, 0);
        if (!is_floating(dtype)) continue;
        compare(
            "mean", x, [&](const Tensor& t) { return mean(t, dims); }, unit, scale);
        compare(
            "norm", x, [&](const Tensor& t) { return norm(t, 2, dims); }, 4 * unit, unit);
        compare(
            "logsumexp", x, [&](const Tensor& t) { return logsumexp(t, dims); }, 4 * unit, unit);
        if (x.numel() > 5) {
          compare(
              "var", x, [&](const Tensor& t) { return var(t, dims); }, 4 * unit, unit);
        }
      }
      compare(
          "argmax", x, [](const Tensor& t) { return argmax(t); }, 0, 0);
      compare(
          "argmin", x, [](const Tensor& t) { return argmin(t); }, 0, 0);
      if (x.dim() < 2) continue;
      for (int64_t dim : {0, -1}) {
        compare(
            "max", x, [&](const Tensor& t) { return max(t, dim).values; }, 0, 0);
        compare(
            "max", x, [&](const Tensor& t) { return max(t, dim).indices; }, 0, 0);
        compare(
            "min", x, [&](const Tensor& t) { return min(t.transpose(0, 1), dim).indices; }, 0, 0);
      }
    }
  }
}

// Rows and columns of parts of a tensor, which start at any place, in several chunks.
TEST_F(CudaOps, ReductionsOfParts) {
  const std::vector<Shape> shapes = {{5, 30, 48}, {2, 1, 9000}, {2, 700, 16}, {9, 6, 35}};
  for (DType dtype : {f32, f16, u8}) {
    const double unit = is_floating(dtype) ? tolerance(dtype) : 0;
    for (const Shape& shape : shapes) {
      for (int64_t start : {0, 1}) {
        const Tensor x = random_values(shape, dtype, 7, false), y = x.cuda();
        const Tensor part = x.narrow(2, start, shape[2] - start);
        const Tensor same = y.narrow(2, start, shape[2] - start);
        SCOPED_TRACE(testing::Message() << name(dtype) << to_string(shape) << " from " << start);
        for (const ReduceDims& dims :
             std::vector<ReduceDims>{{}, 0, 1, 2, {0, 1}, {0, 2}, {1, 2}}) {
          const auto check = [&](const Tensor& got, const Tensor& wanted, double absolute) {
            EXPECT_EQ(difference(got, wanted, unit, absolute), "");
          };
          check(sum(same, dims), sum(part, dims), unit * 200);
          check(amax(same, dims), amax(part, dims), 0);
          check(all(same, dims), all(part, dims), 0);
          if (is_floating(dtype)) check(var(same, dims), var(part, dims), unit * 4);
        }
        for (int64_t dim : {0, 1, 2}) {
          EXPECT_EQ(difference(argmax(same, dim), argmax(part, dim), 0, 0), "") << dim;
        }
      }
    }
  }
}

TEST_F(CudaOps, ReductionsOverNothing) {
  const Tensor x = empty({3, 0}, {.device = "cuda"});
  EXPECT_EQ(sum(x, 1).to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(prod(x).item<float>(), 1.0f);
  EXPECT_TRUE(std::isnan(mean(x).item<float>()));
  EXPECT_THROW(amax(x, 1), Error);
}

TEST_F(CudaOps, LongSumsAreExactAndRepeatable) {
  const int64_t n = 20'000'000;  // f32 counts to 2^24 by ones
  EXPECT_EQ(sum(ones({n}, {.device = "cuda"})).item<float>(), 2e7f);
  const Tensor x = rand({n}, {.device = "cuda"});
  const float once = sum(x).item<float>();
  EXPECT_NEAR(once, sum(x.cpu()).item<float>(), 1e-6 * 1e7);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(sum(x).item<float>(), once);
}

TEST_F(CudaOps, SumsPastTheLimit) {
  const int64_t n = gpu_test::element_limit() + 12345;
  const Tensor x = ones({n}, {.dtype = u8, .device = "cuda"});
  EXPECT_EQ(sum(x).item<int64_t>(), n);
  x.narrow(0, n - 2, 1).fill_(9);
  EXPECT_EQ(argmax(x).item<int64_t>(), n - 2);
}

TEST_F(CudaOps, SoftmaxAndScansAlongEveryDim) {
  for (DType dtype : {f32, f64, f16, bf16}) {
    const double unit = tolerance(dtype);
    for (const Shape& shape : {Shape{3, 5000}, Shape{70, 3, 33}, Shape{4, 1}, Shape{2, 1025},
                               Shape{1, 20000}, Shape{700, 2}, Shape{9, 256}}) {
      SCOPED_TRACE(to_string(shape));
      const Tensor x = random_values(shape, dtype, 3, false);
      for (int64_t dim = 0; dim < x.dim(); ++dim) {
        compare(
            "softmax", x, [&](const Tensor& t) { return softmax(t, dim); }, 8 * unit, unit);
        compare(
            "log_softmax", x, [&](const Tensor& t) { return log_softmax(t, dim); }, 8 * unit,
            8 * unit);
        const double scale =
            unit * 10 * std::sqrt(static_cast<double>(shape[static_cast<int>(dim)]));
        compare(
            "cumsum", x, [&](const Tensor& t) { return cumsum(t, dim); }, unit, scale);
      }
      compare(
          "cumprod", x, [&](const Tensor& t) { return cumprod(t.slice(0, 0, 4), 0); }, 4 * unit, 0);
    }
  }
  const Tensor x = random_values({3, 3000}, i64, 4, false);
  for (int64_t dim : {0, 1}) {
    compare(
        "cumsum", x, [&](const Tensor& t) { return cumsum(t, dim); }, 0, 0);
    compare(
        "cumprod", x, [&](const Tensor& t) { return cumprod(t, dim); }, 0, 0);
  }
}

// Whatever reads a line: a warp, a block, a thread, or several blocks, some of which see -inf
// alone.
TEST_F(CudaOps, SoftmaxOfInfinities) {
  for (const int64_t length : {2, 100, 5000, 20000}) {
    SCOPED_TRACE(length);
    Tensor x = full({4, length}, -INFINITY);
    x.select(0, 0).narrow(0, length - 1, 1).fill_(1);
    x.select(0, 1).narrow(0, length / 2, 1).fill_(INFINITY);
    x.select(0, 2).narrow(0, length / 2, 1).fill_(NAN);
    for (const bool log : {false, true}) {
      const auto run = [&](const Tensor& t, int dim) {
        return log ? log_softmax(t, dim) : softmax(t, dim);
      };
      compare(
          "of rows", x, [&](const Tensor& t) { return run(t, 1); }, 0, 0);
      compare(
          "of columns", x.t().contiguous(), [&](const Tensor& t) { return run(t, 0); }, 0, 0);
    }
  }
}

TEST_F(CudaOps, MatmulOfEveryDtypeAndLayout) {
  for (DType dtype : {f32, f64, f16, bf16, i64, i32, u8}) {
    const double unit = is_floating(dtype) ? tolerance(dtype) : 0;
    const struct {
      Shape a, b;
    } shapes[] = {{{5, 7}, {7, 3}},
                  {{64, 128}, {128, 96}},
                  {{1, 33}, {33, 65}},
                  {{257, 129}, {129, 1}},
                  {{2, 3, 17, 31}, {31, 9}},
                  {{3, 17, 31}, {3, 31, 8}},
                  {{2, 1, 8, 16}, {3, 16, 8}},
                  {{31}, {31, 4}},
                  {{4, 31}, {31}},
                  {{9, 0}, {0, 4}}};
    for (const auto& [a_shape, b_shape] : shapes) {
      SCOPED_TRACE(to_string(a_shape) + " " + to_string(b_shape) + " " + name(dtype));
      const Tensor a = random_values(a_shape, dtype, 1, false);
      const Tensor b = random_values(b_shape, dtype, 2, false);
      const double scale = unit * 10 * static_cast<double>(a_shape.back() + 1);
      const Tensor wanted = matmul(a, b);
      gpu_test::poison(std::max<int64_t>(wanted.nbytes(), 1));
      EXPECT_EQ(difference(matmul(a.cuda(), b.cuda()), wanted, 2 * unit, scale), "");
      if (a.dim() < 2 || b.dim() < 2) continue;
      // The products are the same for operands that lie transposed, and with gaps.
      const Tensor at = a.transpose(-2, -1).contiguous().cuda().transpose(-2, -1);
      const Tensor bt = b.transpose(-2, -1).contiguous().cuda().transpose(-2, -1);
      EXPECT_EQ(difference(matmul(at, bt), wanted, 2 * unit, scale), "") << "transposed";
      if (a.numel() == 0) continue;
      Shape wide = b_shape;
      wide.back() *= 2;
      const Tensor padded = zeros(wide, {.dtype = dtype, .device = "cuda"});
      const Tensor gaps = padded.slice(-1, 0, wide.back(), 2);
      gaps.copy_(b.cuda());
      EXPECT_EQ(difference(matmul(a.cuda(), gaps), wanted, 2 * unit, scale), "") << "gaps";
    }
  }
}

TEST_F(CudaOps, AddmmAndLinear) {
  for (DType dtype : {f32, f64, f16, bf16, i32}) {
    const double unit = is_floating(dtype) ? tolerance(dtype) : 0, scale = unit * 600;
    const Tensor a = random_values({33, 64}, dtype, 1, false);
    const Tensor b = random_values({64, 40}, dtype, 2, false);
    const Tensor full_input = random_values({33, 40}, dtype, 3, false);
    const Tensor row = random_values({40}, dtype, 4, false);
    const Tensor column = random_values({33, 1}, dtype, 5, false);
    for (const Tensor& input : {full_input, row, column, full_input.t().contiguous().t()}) {
      for (const AddmmOptions& options :
           {AddmmOptions{}, AddmmOptions{.beta = 2, .alpha = 3},
            AddmmOptions{.beta = 0, .alpha = 1}, AddmmOptions{.beta = 1, .alpha = 0}}) {
        const Tensor wanted = addmm(input, a, b, options);
        EXPECT_EQ(
            difference(addmm(input.cuda(), a.cuda(), b.cuda(), options), wanted, 2 * unit, scale),
            "")
            << name(dtype) << " " << to_string(input.shape());
      }
    }
    if (!is_floating(dtype)) continue;
    const Tensor weight = random_values({40, 64}, dtype, 6, false);
    EXPECT_EQ(difference(linear(a.cuda(), weight.cuda(), row.cuda()), linear(a, weight, row),
                         2 * unit, scale),
              "");
    EXPECT_EQ(difference(linear(a.cuda(), weight.cuda()), linear(a, weight), 2 * unit, scale), "");
  }
}

// f32 is full f32: with TF32 the error would be near 1e-3.
TEST_F(CudaOps, MatmulIsFullPrecision) {
  const Tensor a = random_values({512, 512}, f32, 1, false);
  const Tensor b = random_values({512, 512}, f32, 2, false);
  const Tensor exact = matmul(a.to(f64), b.to(f64));
  const Tensor error = matmul(a.cuda(), b.cuda()).cpu().to(f64) - exact;
  EXPECT_LT(norm(error).item<double>() / norm(exact).item<double>(), 1e-6);
}

TEST_F(CudaOps, Indexing) {
  for (DType dtype : kDTypes) {
    const Tensor x = random_values({20, 30}, dtype, 1, false);
    const Tensor rows = tensor({3, 0, 19, 3, 7}), grid = randint(0, 20, {6, 30});
    const auto same = [&](const Tensor& result, const Tensor& wanted) {
      EXPECT_EQ(difference(result, wanted, 0, 0), "") << name(dtype);
    };
    same(index_select(x.cuda(), 0, rows.cuda()), index_select(x, 0, rows));
    // Rows of whole blocks of 16 bytes: at their place, one number further, and with gaps.
    const Tensor wide = random_values({20, 2, 48}, dtype, 2, false), on_gpu = wide.cuda();
    same(index_select(on_gpu, 0, rows.cuda()), index_select(wide, 0, rows));
    same(index_select(on_gpu.narrow(2, 1, 32), 0, rows.cuda()),
         index_select(wide.narrow(2, 1, 32), 0, rows));
    same(index_select(on_gpu.narrow(2, 16, 32), 0, rows.cuda()),
         index_select(wide.narrow(2, 16, 32), 0, rows));
    same(index_select(on_gpu.transpose(0, 1), 1, rows.cuda()),
         index_select(wide.transpose(0, 1), 1, rows));
    same(index_select(x.cuda().t(), 1, rows.cuda()), index_select(x.t(), 1, rows));
    same(gather(x.cuda(), 0, grid.cuda()), gather(x, 0, grid));
    same(index(x.cuda(), {rows.cuda(), Slice{1, 20, 3}}), index(x, {rows, Slice{1, 20, 3}}));
    same(nonzero(x.cuda()), nonzero(x));
    const Tensor mask = random_values({20, 30}, boolean, 2);
    same(masked_select(x.cuda(), mask.cuda()), masked_select(x, mask));
    same(flip(x.cuda(), {0, 1}), flip(x, {0, 1}));
    same(roll(x.cuda(), 3, 1), roll(x, 3, 1));
    same(pad(x.cuda(), {2, 1, 0, 3}), pad(x, {2, 1, 0, 3}));
    same(pad(x.cuda(), {2, 1}, PadMode::reflect), pad(x, {2, 1}, PadMode::reflect));
    same(tril(x.cuda(), -1), tril(x, -1));
    same(triu(x.cuda(), 2), triu(x, 2));
  }
}

// Sums over duplicates are taken in one order: the same bits as on the CPU, every time.
TEST_F(CudaOps, ScattersAreDeterministic) {
  for (DType dtype : {f32, f64, f16, bf16, i64, i32, u8}) {
    const Tensor x = random_values({20, 30}, dtype, 1, false);
    const Tensor grid = randint(0, 20, {50, 30});
    const Tensor values = random_values({50, 30}, dtype, 2, false);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(difference(scatter_add(x.cuda(), 0, grid.cuda(), values.cuda()),
                           scatter_add(x, 0, grid, values), 0, 0),
                "")
          << name(dtype);
      EXPECT_EQ(difference(scatter(x.cuda(), 0, grid.cuda(), values.cuda()),
                           scatter(x, 0, grid, values), 0, 0),
                "");
    }
  }
}

TEST_F(CudaOps, NonzeroOfManyChunks) {
  const Tensor x = randint(0, 3, {1000, 1013}, {.dtype = i32});
  EXPECT_EQ(difference(nonzero(x.cuda()), nonzero(x), 0, 0), "");
}

TEST_F(CudaOps, OneSeedGivesTheSameNumbersOnBothDevices) {
  for (DType dtype : {f32, f64, f16, bf16}) {
    Generator a(7, 3), b(7, 3);
    EXPECT_EQ(difference(rand({1003}, {.dtype = dtype, .device = "cuda"}, &a),
                         rand({1003}, {.dtype = dtype}, &b), 0, 0),
              "");
    EXPECT_EQ(difference(randn({1003}, {.dtype = dtype, .device = "cuda"}, &a),
                         randn({1003}, {.dtype = dtype}, &b), 4 * tolerance(dtype), 1e-6),
              "");
    EXPECT_EQ(a.state(), b.state());
  }
  for (DType dtype : {i64, i32, u8, f32}) {
    Generator a(9), b(9);
    EXPECT_EQ(difference(randint(3, 200, {1003}, {.dtype = dtype, .device = "cuda"}, &a),
                         randint(3, 200, {1003}, {.dtype = dtype}, &b), 0, 0),
              "");
    const Tensor x = zeros({1003}, {.dtype = dtype}),
                 y = zeros({1003}, {.dtype = dtype, .device = "cuda"});
    bernoulli_(x, 0.3, &b);
    bernoulli_(y, 0.3, &a);
    EXPECT_EQ(difference(y, x, 0, 0), "");
  }
}
