// Products on the first GPU: against PyTorch on the same one, and against the most that the GPU can
// do. Every run is waited for.
#include <aorta/aorta.h>
#include <aorta/tools/bench/gpu_sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

struct Product {
  int64_t n;
  DType dtype;
  bool tf32 = false;

  double work() const { return 2.0 * static_cast<double>(n * n * n); }
  std::string text() const {
    return fmt::format("matmul {0}x{0}, {1}", n, tf32 ? "TF32" : name(dtype));
  }
};

Side our_side(const Product& product) {
  const auto operand = [&](int64_t seed) {
    return make_normal({product.n, product.n}, 0, 1, seed, product.dtype).to(kGpu);
  };
  return gpu_side([a = operand(1), b = operand(2), tf32 = product.tf32] {
    backends::cuda::matmul::set_allow_tf32(tf32);
    return matmul(a, b);
  });
}

Side torch_product(const Product& product) {
  return torch_gpu_side(
      fmt::format("with torch.device('cuda'): "
                  "a, b = (make_normal(({0}, {0}), 0, 1, i, torch.{1}) for i in (1, 2))",
                  product.n, product.dtype == bf16 ? "bfloat16" : "float32"),
      "a @ b");
}

Row torch_row(const Product& product) {
  return {.name = product.text(),
          .unit = Unit::flops,
          .work = product.work(),
          .target = at_least(0.97),
          .tolerance = product.dtype == bf16 ? 2e-2 : 1e-5,
          .make = [product] {
            return gpu_case([&] {
              return Case{.ours = our_side(product), .reference = torch_product(product)};
            });
          }};
}

Row peak_row(const Product& product, double peak) {
  return {.name = product.text() + ": of the peak",
          .unit = Unit::flops,
          .work = product.work(),
          .target = share_of_peak(0.85, peak),
          .make = [product, peak] {
            return gpu_case([&] {
              return Case{.ours = our_side(product), .reference = peak_side(product.work(), peak)};
            });
          }};
}

}  // namespace

Rows cuda_matmul_rows(const Plan& plan) {
  Rows rows;
  for (const DType dtype : {f32, bf16}) {
    for (const int64_t n : {1024, 8192}) rows.push_back(torch_row({plan.size(n, 32), dtype}));
  }
  const int64_t n = plan.size(8192, 32);
  const GpuPeak& peak = gpu_peak();
  rows.push_back(peak_row({n, f32}, peak.f32));
  rows.push_back(peak_row({n, f32, true}, peak.tf32));
  rows.push_back(peak_row({n, bf16}, peak.bf16));
  return rows;
}

}  // namespace aorta::bench
