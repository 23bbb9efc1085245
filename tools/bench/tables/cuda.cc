// Memory-bound ops on the first GPU against a copy on the device of the same bytes (read +
// written), and PyTorch on the same GPU. Every run is waited for, on either side.
#include <aorta/aorta.h>
#include <aorta/tools/bench/gpu_sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

struct GpuOp {
  const char* name;
  Tensor (*run)(const Tensor& a, const Tensor& b);
  const char* torch;
  double traffic;  // tensors read and written
};

constexpr GpuOp kGpuOps[] = {
    {"add", [](const Tensor& a, const Tensor& b) { return a + b; }, "a + b", 3},
    {"add a row", [](const Tensor& a, const Tensor& b) { return a + b[0]; }, "a + b[0]", 2},
    {"exp", [](const Tensor& a, const Tensor&) { return exp(a); }, "torch.exp(a)", 2},
    {"gelu", [](const Tensor& a, const Tensor&) { return gelu(a); }, "F.gelu(a)", 2},
    {"to bf16", [](const Tensor& a, const Tensor&) { return a.to(bf16); }, "a.bfloat16()", 1.5},
    {"transposing copy", [](const Tensor& a, const Tensor&) { return a.t().contiguous(); },
     "a.t().contiguous()", 2},
    {"sum", [](const Tensor& a, const Tensor&) { return sum(a); }, "a.sum()", 1},
    {"sum of rows", [](const Tensor& a, const Tensor&) { return sum(a, 1); }, "a.sum(1)", 1},
    {"sum of columns", [](const Tensor& a, const Tensor&) { return sum(a, 0); }, "a.sum(0)", 1},
    {"softmax of rows", [](const Tensor& a, const Tensor&) { return softmax(a, 1); },
     "F.softmax(a, 1)", 2},
};

Side copy_side(double bytes) {
  const int64_t count = static_cast<int64_t>(bytes / 2) / 4;
  const Tensor from = randn({count}, {.device = kGpu}), to = empty({count}, {.device = kGpu});
  Side side = gpu_side([=] { return to.copy_(from); });
  side.name = "copy";
  side.values = {};
  return side;
}

Case memory_case(const GpuOp& op, int64_t rows, double bytes) {
  const Tensor a = make_normal({rows, 8192}, 0.5, 1.5, 1).to(kGpu);
  const Tensor b = make_normal({rows, 8192}, 0.5, 1.5, 2).to(kGpu);
  const auto run = op.run;
  const std::string setup = fmt::format(
      "with torch.device('cuda'): a, b = (make_normal(({}, 8192), 0.5, 1.5, i) for i in (1, 2))",
      rows);
  return {.ours = gpu_side([=] { return run(a, b); }),
          .reference = copy_side(bytes),
          .peer = torch_gpu_side(setup, op.torch)};
}

}  // namespace

Rows cuda_rows(const Plan& plan) {
  Rows rows;
  const int64_t lines = plan.size(8192, 8);
  for (const GpuOp& op : kGpuOps) {
    const double bytes = 4.0 * 8192 * static_cast<double>(lines) * op.traffic;
    rows.push_back({.name = fmt::format("{}, f32", op.name),
                    .unit = Unit::bytes,
                    .work = bytes,
                    .target = at_least(0.85),
                    .make = [&op, lines, bytes] {
                      return gpu_case([&] { return memory_case(op, lines, bytes); });
                    }});
  }
  return rows;
}

}  // namespace aorta::bench
