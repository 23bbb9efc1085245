// The products from which a GPU pays: on the first GPU against this machine's CPU.
#include <aorta/aorta.h>
#include <aorta/tools/bench/gpu_sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

// The operands are where they are needed.
Case product_case(int64_t n) {
  const Tensor a = make_normal({n, n}, 0, 1, 1), b = make_normal({n, n}, 0, 1, 2);
  const Tensor x = a.to(kGpu), y = b.to(kGpu);
  Side cpu = aorta_side([=] { return matmul(a, b); });
  cpu.name = "Aorta's CPU";
  return {.ours = gpu_side([=] { return matmul(x, y); }), .reference = cpu};
}

}  // namespace

Rows cuda_cpu_rows(const Plan& plan) {
  Rows rows;
  for (const int64_t size : {32, 128, 512, 2048}) {
    for (const int threads : plan.threads) {
      rows.push_back({.name = fmt::format("matmul {0}x{0}, f32: GPU against CPU", size),
                      .threads = threads,
                      .tolerance = 1e-4,
                      .make = [n = plan.size(size, 16)] {
                        return gpu_case([&] { return product_case(n); });
                      }});
    }
  }
  return rows;
}

}  // namespace aorta::bench
