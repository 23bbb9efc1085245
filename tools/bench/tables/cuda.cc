// Ops on the first GPU: memory-bound ones against a copy on the device of the same bytes (read +
// written), products against PyTorch on the same GPU. Every run is waited for, on either side.
#include <aorta/aorta.h>
#include <aorta/core/device_backend.h>
#include <aorta/tools/bench/sides.h>
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

// One run of `f`, waited for.
template <class F>
Side gpu_side(F f) {
  return aorta_side([f] {
    Tensor result = f();
    synchronize(kGpu);
    return result;
  });
}

Side copy_side(double bytes) {
  const int64_t count = static_cast<int64_t>(bytes / 2) / 4;
  const Tensor from =
      randn({count}, {.device = kGpu});  // zeros take less power, and a higher clock
  const Tensor to = empty({count}, {.device = kGpu});
  Side side = gpu_side([=] { return to.copy_(from); });
  side.name = "copy";
  side.values = {};
  return side;
}

Side torch_gpu_side(const std::string& setup, const std::string& expression) {
  return torch_side(setup, fmt::format("({}, torch.cuda.synchronize())[0]", expression));
}

// A row's sides where there is a GPU.
template <class Make>
Case gpu_case(const Make& make_case) {
  if (cuda::is_available()) return make_case();
  return {.ours = {.name = "Aorta", .missing = "no GPU: " + cuda::unavailable_reason()}};
}

Case memory_case(const GpuOp& op, int64_t rows, double bytes) {
  const Tensor a = make({rows, 8192}, -2, 3, 1).to(kGpu);
  const Tensor b = make({rows, 8192}, -2, 3, 2).to(kGpu);
  const auto run = op.run;
  const std::string setup = fmt::format(
      "with torch.device('cuda'): a, b = make(({0}, 8192), -2, 3, 1), make(({0}, 8192), -2, 3, 2)",
      rows);
  return {.ours = gpu_side([=] { return run(a, b); }),
          .reference = copy_side(bytes),
          .peer = torch_gpu_side(setup, op.torch)};
}

Case matmul_case(int64_t n, DType dtype) {
  const Tensor a = make({n, n}, -1, 1, 1, dtype).to(kGpu),
               b = make({n, n}, -1, 1, 2, dtype).to(kGpu);
  const char* torch_dtype = dtype == bf16 ? "torch.bfloat16" : "torch.float32";
  const std::string setup = fmt::format(
      "with torch.device('cuda'): a, b = (make(({0}, {0}), -1, 1, i).to({1}) for i in (1, 2))", n,
      torch_dtype);
  return {.ours = gpu_side([=] { return matmul(a, b); }),
          .reference = torch_gpu_side(setup, "a @ b")};
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
  for (const DType dtype : {f32, bf16}) {
    for (const int64_t n : {1024, 8192}) {
      const int64_t size = plan.size(n, 32);
      rows.push_back(
          {.name = fmt::format("matmul {0}x{0}, {1}", size, name(dtype)),
           .unit = Unit::flops,
           .work = 2.0 * static_cast<double>(size * size * size),
           .target = at_least(0.97),
           .tolerance = dtype == bf16 ? 2e-2 : 1e-5,
           .make = [size, dtype] { return gpu_case([&] { return matmul_case(size, dtype); }); }});
    }
  }
  return rows;
}

}  // namespace aorta::bench
