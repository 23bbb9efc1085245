// Decompositions and Fourier transforms on the first GPU, against PyTorch on the same one; what is
// compared of factors that have signs is what they are made of. Every run is waited for.
#include <aorta/aorta.h>
#include <aorta/tools/bench/gpu_sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

struct GpuRow {
  const char* name;
  int64_t count, size;
  Tensor (*run)(const Tensor& a);
  const char* torch;
};

// a (count, size, size) is symmetric and positive definite.
constexpr GpuRow kRows[] = {
    {"cholesky", 1, 2048, [](const Tensor& a) { return linalg::cholesky(a); },
     "torch.linalg.cholesky(a)"},
    {"cholesky", 512, 32, [](const Tensor& a) { return linalg::cholesky(a); },
     "torch.linalg.cholesky(a)"},
    {"inv", 1, 2048, [](const Tensor& a) { return linalg::inv(a); }, "torch.linalg.inv(a)"},
    {"inv", 512, 32, [](const Tensor& a) { return linalg::inv(a); }, "torch.linalg.inv(a)"},
    {"qr, R", 1, 1024, [](const Tensor& a) { return abs(linalg::qr(a).R); },
     "torch.linalg.qr(a).R.abs()"},
    {"eigh, values", 1, 1024, [](const Tensor& a) { return linalg::eigh(a).eigenvalues; },
     "torch.linalg.eigh(a).eigenvalues"},
    {"eigh, values", 512, 32, [](const Tensor& a) { return linalg::eigh(a).eigenvalues; },
     "torch.linalg.eigh(a).eigenvalues"},
    {"svd, values", 1, 512, [](const Tensor& a) { return linalg::svd(a).S; },
     "torch.linalg.svd(a).S"},
    {"svd, values", 64, 32, [](const Tensor& a) { return linalg::svd(a).S; },
     "torch.linalg.svd(a).S"},
    {"matrix_exp", 1, 512, [](const Tensor& a) { return linalg::matrix_exp(a * 0.1); },
     "torch.linalg.matrix_exp(a * 0.1)"},
    {"fft", 1, 4096, [](const Tensor& a) { return view_as_real(fft::fft(a)); },
     "torch.view_as_real(torch.fft.fft(a))"},
    {"rfft2", 64, 512, [](const Tensor& a) { return view_as_real(fft::rfft2(a)); },
     "torch.view_as_real(torch.fft.rfft2(a))"},
    {"fft of columns", 64, 512, [](const Tensor& a) { return view_as_real(fft::fft(a, {}, 1)); },
     "torch.view_as_real(torch.fft.fft(a, dim=1))"},
};

Case case_of(const GpuRow& row, int64_t count, int64_t n) {
  const Tensor x = make_normal({count, n, n}, 0, 0.5, 1).to(kGpu);
  const double size = static_cast<double>(n);
  const Tensor a = matmul(x, transpose(x, 1, 2)) / size + eye(n, {.device = kGpu});
  const std::string setup = fmt::format(
      "x = make_normal(({0}, {1}, {1}), 0, 0.5, 1).cuda(); "
      "a = x @ x.transpose(1, 2) / {1} + torch.eye({1}, device='cuda')",
      count, n);
  return {.ours = gpu_side([a, run = row.run] { return run(a); }),
          .reference = torch_gpu_side(setup, row.torch)};
}

}  // namespace

Rows cuda_linalg_rows(const Plan& plan) {
  Rows rows;
  for (const GpuRow& row : kRows) {
    const int64_t count = plan.size(row.count, 2), n = plan.size(row.size, 8);
    rows.push_back(
        {.name = fmt::format("{}, {} of {}x{}, f32", row.name, count, n, n),
         .target = at_most(1),
         .tolerance = 1e-3,
         .make = [&row, count, n] { return gpu_case([&] { return case_of(row, count, n); }); }});
  }
  return rows;
}

}  // namespace aorta::bench
