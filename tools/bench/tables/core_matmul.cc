// Products of matrices: against oneDNN in this process, and PyTorch.
#include <aorta/aorta.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

std::string operands(int64_t m, int64_t k, int64_t n, const char* dtype) {
  return fmt::format("a = make(({}, {}), -1, 1, 1, {}); b = make(({}, {}), -1, 1, 2, {})", m, k,
                     dtype, k, n, dtype);
}

Side ours(int64_t m, int64_t k, int64_t n, DType dtype) {
  const Tensor a = make({m, k}, -1, 1, 1, dtype), b = make({k, n}, -1, 1, 2, dtype);
  return aorta_side([=] { return matmul(a, b); });
}

double flops(int64_t m, int64_t k, int64_t n) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n);
}

}  // namespace

void add_matmul_rows(Rows& rows, const Plan& plan) {
  for (const int64_t full : {256, 512, 1024, 2048}) {
    const int64_t n = plan.size(full, full / 16);
    for (const int threads : plan.threads) {
      rows.push_back({.name = fmt::format("matmul f32, {}", n),
                      .threads = threads,
                      .unit = Unit::flops,
                      .work = flops(n, n, n),
                      .target = at_least(0.97),
                      .tolerance = 1e-4,
                      .make = [n] {
                        return Case{
                            .ours = ours(n, n, n, DType::f32),
                            .reference = onednn_sgemm_side(n),
                            .peer = torch_side(operands(n, n, n, "torch.float32"), "a @ b")};
                      }});
    }
  }
  const int64_t n = plan.size(1024, 64);
  for (const int threads : plan.threads) {
    rows.push_back({.name = fmt::format("matmul bf16, {}", n),
                    .threads = threads,
                    .unit = Unit::flops,
                    .work = flops(n, n, n),
                    .target = at_least(0.97),
                    .tolerance = 0.01,  // two roundings to 8 bits
                    .make = [n] {
                      return Case{.ours = ours(n, n, n, DType::bf16),
                                  .reference = onednn_bf16_side(n),
                                  .peer = torch_side(operands(n, n, n, "torch.bfloat16"), "a @ b")};
                    }});
  }
  // Too small to be worth a second thread: oneDNN runs it on one in either row.
  for (const int threads : plan.threads) {
    rows.push_back({.name = "matmul 10x784 by 784x30",
                    .threads = threads,
                    .unit = Unit::flops,
                    .work = flops(10, 784, 30),
                    .target = at_most(1.3),
                    .tolerance = 1e-4,
                    .make = [] {
                      return Case{
                          .ours = ours(10, 784, 30, DType::f32),
                          .reference = onednn_packed_side(10, 784, 30),
                          .peer = torch_side(operands(10, 784, 30, "torch.float32"), "a @ b")};
                    }});
  }
}

}  // namespace aorta::bench
