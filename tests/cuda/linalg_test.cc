// Decompositions and Fourier transforms by cuSOLVER and cuFFT: beside the CPU's, put together
// again, and what they say of matrices that have none.
#include <aorta/core/dispatch/capture.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/fft.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/cuda/gpu.h>
#include <aorta/tests/error_text.h>

#include <algorithm>
#include <functional>
#include <thread>

namespace aorta {
namespace {

using CudaLinalg = gpu_test::Gpu;
using CudaFft = gpu_test::Gpu;

Tensor values(const Shape& shape, DType dtype, uint32_t seed) {
  return gpu_test::random_values(shape, dtype, seed, false);
}

/// The error of sums of numbers about 3 in size.
double error_of_sums(DType dtype) { return dtype == DType::f64 ? 1e-11 : 2e-3; }

std::string far(const Tensor& result, const Tensor& wanted) {
  const double most = error_of_sums(wanted.dtype());
  return gpu_test::difference(result.cpu(), wanted, most, most);
}

Tensor diagonal_matrix(const Tensor& values) {
  return unsqueeze(values, -1) *
         eye(values.size(-1), {.dtype = values.dtype(), .device = values.device()});
}

}  // namespace

TEST_F(CudaFft, EqualsTheCpus) {
  uint32_t seed = 0;
  for (const DType dtype : {f32, f64}) {
    for (const int64_t n : {1, 2, 5, 8, 12, 97}) {
      for (int dim = 0; dim < 3; ++dim) {
        SCOPED_TRACE(std::to_string(n) + " along " + std::to_string(dim));
        Shape shape{3, 4, 3};
        shape[dim] = n;
        const Tensor x = values(shape, dtype, ++seed), y = values(shape, dtype, ++seed);
        const Tensor there = x.cuda(), z = complex(x, y), z_there = complex(there, y.cuda());
        for (const char* norm : {"backward", "ortho"}) {
          EXPECT_EQ(far(view_as_real(fft::fft(z_there, {}, dim, norm)),
                        view_as_real(fft::fft(z, {}, dim, norm))),
                    "");
          EXPECT_EQ(far(view_as_real(fft::ifft(z_there, {}, dim, norm)),
                        view_as_real(fft::ifft(z, {}, dim, norm))),
                    "");
          EXPECT_EQ(far(view_as_real(fft::rfft(there, {}, dim, norm)),
                        view_as_real(fft::rfft(x, {}, dim, norm))),
                    "");
          for (const int64_t length : {2 * n, 2 * n - 1}) {
            // Imaginary parts that no spectrum of real numbers has are ignored.
            EXPECT_EQ(far(fft::irfft(z_there, length, dim, norm), fft::irfft(z, length, dim, norm)),
                      "");
          }
        }
        EXPECT_EQ(far(view_as_real(z_there), view_as_real(z)), "") << "its input stays";
      }
    }
  }
}

// Real numbers that begin where no complex one could, and tensors that have gaps.
TEST_F(CudaFft, WhereverNumbersLie) {
  const Tensor x = values({9, 7}, f32, 1), there = x.cuda();
  for (const int64_t first : {0, 1, 2, 3}) {
    EXPECT_EQ(far(view_as_real(fft::rfft(there.view({63}).narrow(0, first, 31))),
                  view_as_real(fft::rfft(x.view({63}).narrow(0, first, 31)))),
              "");
  }
  EXPECT_EQ(far(view_as_real(fft::fft(there.narrow(1, 1, 5), {}, 0)),
                view_as_real(fft::fft(x.narrow(1, 1, 5), {}, 0))),
            "");
  EXPECT_EQ(far(view_as_real(fft::fft2(there.t())), view_as_real(fft::fft2(x.t()))), "");
}

TEST_F(CudaLinalg, FactorsMakeTheMatrix) {
  uint32_t seed = 10;
  for (const DType dtype : {f32, f64}) {
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 3}, {3, 5}, {33, 33}}) {
      SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n));
      const Tensor a = values({2, 3, m, n}, dtype, ++seed).cuda();
      for (const char* mode : {"reduced", "complete"}) {
        const auto [Q, R] = linalg::qr(a, mode);
        EXPECT_EQ(far(matmul(Q, R), a.cpu()), "") << mode;
        EXPECT_EQ(far(matmul(transpose(Q, -2, -1), Q),
                      eye(Q.size(-1), {.dtype = dtype}).expand({2, 3, Q.size(-1), Q.size(-1)})),
                  "");
        EXPECT_EQ(far(tril(R, -1), zeros(R.shape(), {.dtype = dtype})), "");
      }
      for (const bool full : {false, true}) {
        const auto [U, S, Vh] = linalg::svd(a, full);
        const int64_t k = std::min(m, n);
        EXPECT_EQ(
            far(matmul(narrow(U, -1, 0, k) * unsqueeze(S, -2), narrow(Vh, -2, 0, k)), a.cpu()), "");
        EXPECT_EQ(U.size(-1), full ? m : k);
        EXPECT_EQ(far(matmul(Vh, transpose(Vh, -2, -1)),
                      eye(Vh.size(-2), {.dtype = dtype}).expand({2, 3, Vh.size(-2), Vh.size(-2)})),
                  "");
        EXPECT_EQ(far(S, linalg::svdvals(a.cpu())), "");
      }
      EXPECT_EQ(far(linalg::svdvals(a), linalg::svdvals(a.cpu())), "");
      const auto [P, L, U] = linalg::lu(a);
      EXPECT_EQ(far(matmul(P, matmul(L, U)), a.cpu()), "");
      if (m != n) continue;
      const Tensor symmetric = a + transpose(a, -2, -1);
      const auto [eigenvalues, vectors] = linalg::eigh(symmetric);
      EXPECT_EQ(
          far(matmul(vectors, matmul(diagonal_matrix(eigenvalues), transpose(vectors, -2, -1))),
              symmetric.cpu()),
          "");
      const Tensor definite =
          matmul(a, transpose(a, -2, -1)) + eye(n, {.dtype = dtype, .device = a.device()});
      const Tensor triangle = linalg::cholesky(definite);
      EXPECT_EQ(far(matmul(triangle, transpose(triangle, -2, -1)), definite.cpu()), "");
      EXPECT_EQ(
          far(matmul(definite, linalg::inv(definite)), eye(n, {.dtype = dtype}).expand(a.shape())),
          "");
      const auto [values, general] = linalg::eig(a);
      const Tensor left = matmul(a, real(general)), right = general * unsqueeze(values, -2);
      EXPECT_EQ(far(left, real(right).cpu()), "");
      EXPECT_EQ(far(matmul(a, imag(general)), imag(right).cpu()), "");
      const Tensor small = a * 0.01;
      EXPECT_EQ(far(linalg::matrix_exp(small), linalg::matrix_exp(small.cpu())), "");
      EXPECT_EQ(far(linalg::det(small), linalg::det(small.cpu())), "");
    }
  }
}

// Exponentials of large matrices are squared often, and each as often as it needs.
TEST_F(CudaLinalg, ExponentialsOfAnySize) {
  Tensor a = values({4, 3, 3}, f64, 5) * 0.3;
  a = a * tensor({0.0, 1e-6, 1.0, 20.0}).to(f64).view({4, 1, 1});
  const Tensor wanted = linalg::matrix_exp(a), got = linalg::matrix_exp(a.cuda()).cpu();
  for (int64_t i = 0; i < 4; ++i) {
    const double scale = amax(abs(wanted[i])).item<double>();
    EXPECT_EQ(gpu_test::difference(got[i] / scale, wanted[i] / scale, 1e-12, 1e-12), "") << i;
  }
}

TEST_F(CudaLinalg, BadMatricesAreSaidAsOnTheCpu) {
  const Tensor good = eye(3).expand({4, 3, 3}).clone();
  Tensor singular = good.clone(), infinite = good.clone();
  singular[2].zero_();
  infinite[1][0][0].fill_(INFINITY);
  const std::function<void(const Tensor&)> ops[] = {
      [](const Tensor& a) { linalg::cholesky(a); },
      [](const Tensor& a) { linalg::solve(a, a); },
      [](const Tensor& a) { linalg::inv(a); },
      [](const Tensor& a) { linalg::solve_triangular(a, a, {.upper = true}); },
      [](const Tensor& a) { linalg::solve_triangular(a, a, {.upper = false}); },
      [](const Tensor& a) { linalg::qr(a); },
      [](const Tensor& a) { linalg::svd(a); },
      [](const Tensor& a) { linalg::eigh(a); },
      [](const Tensor& a) { linalg::eig(a); },
      [](const Tensor& a) { linalg::lu_factor(a); },
      [](const Tensor& a) { linalg::matrix_exp(a); }};
  int said = 0;
  for (const auto& op : ops) {
    for (const Tensor& a : {good, singular, infinite}) {
      const std::string text = error_of([&] { op(a); });
      said += text != kNoError;
      EXPECT_EQ(error_of([&] { op(a.cuda()); }), text);
    }
  }
  EXPECT_EQ(said, 11 + 5);
}

TEST_F(CudaLinalg, ACapturedStepMayTransformAndNotDecompose) {
  const Tensor x = values({6, 6}, f32, 3).cuda();
  const auto spectrum = [](const Tensor& a) { return view_as_real(fft::fft(a)); };
  auto transform = capture(spectrum);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(far(transform(x), spectrum(x.cpu())), "") << i;
  EXPECT_EQ(transform.graphs(), 1);
  auto decompose = capture([](const Tensor& a) { return linalg::inv(a); });
  decompose(x);
  decompose(x);
  EXPECT_EQ(error_of([&] { decompose(x); }),
            "inv: a captured step must not wait for its device, got a decomposition, which may "
            "find that a matrix has none");
}

// Each thread has a stream of its own.
TEST_F(CudaLinalg, OfSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<std::string> errors(4);
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&errors, t] {
      const Stream stream = device().create_stream(0);
      device().set_current_stream(stream);
      const Tensor a = values({3, 7, 7}, f64, 20 + t), b = values({3, 7, 2}, f64, 30 + t);
      for (int i = 0; i < 3 && errors[t].empty(); ++i)
        errors[t] = far(matmul(a.cuda(), linalg::solve(a.cuda(), b.cuda())), b);
      device().synchronize_stream(stream);
      device().set_current_stream({Device("cuda:0"), nullptr});
      device().destroy_stream(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(errors, std::vector<std::string>(4));
}

}  // namespace aorta
