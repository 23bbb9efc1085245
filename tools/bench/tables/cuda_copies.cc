// Copies between the host and the first GPU, alone and beside a product; and the products from
// which a GPU pays, against this machine's CPU. Every run is waited for.
#include <aorta/aorta.h>
#include <aorta/core/device_backend.h>
#include <aorta/tools/bench/sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace aorta::bench {
namespace {

Case missing_gpu() {
  return {.ours = {.name = "Aorta", .missing = "no GPU: " + cuda::unavailable_reason()}};
}

Case copy_case(int64_t bytes, bool to_gpu, bool page_locked) {
  if (!cuda::is_available()) return missing_gpu();
  const Tensor numbers = make({bytes / 4}, -1, 1, 1);
  const Tensor host = page_locked ? numbers.pin_memory() : numbers, device = numbers.to(kGpu);
  const Tensor from = to_gpu ? host : device, to = to_gpu ? device : host;
  const std::string setup =
      fmt::format("h = make(({},), -1, 1, 1); d = h.cuda(); h = {}; f, t = {}", bytes / 4,
                  page_locked ? "h.pin_memory()" : "h", to_gpu ? "h, d" : "d, h");
  return {.ours = aorta_side([=] {
            to.copy_(from, true);
            synchronize(kGpu);
            return to;
          }),
          .reference =
              torch_side(setup, "(t.copy_(f, non_blocking=True), torch.cuda.synchronize())[0]")};
}

// A stream of its own for the length of a row.
struct SideStream {
  Stream stream = backend(DeviceType::cuda).create_stream(kGpu.index);
  SideStream() = default;
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  ~SideStream() { backend(DeviceType::cuda).destroy_stream(stream); }
};

/// A copy of page-locked memory to the GPU on a stream of its own, while a product is computed:
/// against the longer of the two alone.
Case overlap_case(int64_t bytes, int64_t n) {
  if (!cuda::is_available()) return missing_gpu();
  const Tensor host = make({bytes / 4}, -1, 1, 1).pin_memory(), there = host.to(kGpu);
  const Tensor a = make({n, n}, -1, 1, 1, bf16).to(kGpu), b = make({n, n}, -1, 1, 2, bf16).to(kGpu);
  const auto side = std::make_shared<SideStream>();
  const auto copy = [=] {
    DeviceBackend& gpu = backend(DeviceType::cuda);
    const Stream before = gpu.current_stream(kGpu.index);
    gpu.set_current_stream(side->stream);
    there.copy_(host, true);
    gpu.set_current_stream(before);
  };
  const auto waited = [](auto work) {
    return aorta_side([=] {
      const Tensor result = work();
      synchronize(kGpu);
      return result;
    });
  };
  const auto product = [=] { return matmul(a, b); };
  Side alone = waited(product), copying = waited([=] { return copy(), there; });
  const auto seconds = [](const Side& s) { return s.run(3), s.run(10); };
  Side longer = seconds(copying) > seconds(alone) ? copying : alone;
  longer.name = "the longer alone";
  longer.values = {};
  return {.ours = waited([=] {
            copy();
            return product();
          }),
          .reference = longer};
}

/// A product of n x n matrices whose operands are there, on the GPU and on the CPU.
Case pays_case(int64_t n) {
  if (!cuda::is_available()) return missing_gpu();
  const Tensor a = make({n, n}, -1, 1, 1), b = make({n, n}, -1, 1, 2);
  const Tensor x = a.to(kGpu), y = b.to(kGpu);
  Side cpu = aorta_side([=] { return matmul(a, b); });
  cpu.name = "Aorta's CPU";
  return {.ours = aorta_side([=] {
            const Tensor result = matmul(x, y);
            synchronize(kGpu);
            return result;
          }),
          .reference = cpu};
}

}  // namespace

Rows cuda_copies_rows(const Plan& plan) {
  Rows rows;
  const int64_t bytes = plan.size(256 << 20, 4096);
  for (const bool to_gpu : {true, false}) {
    for (const bool page_locked : {true, false}) {
      rows.push_back({.name = fmt::format("256 MB {} the GPU, {}", to_gpu ? "to" : "from",
                                          page_locked ? "page-locked" : "pageable"),
                      .unit = Unit::bytes,
                      .work = static_cast<double>(bytes),
                      .target = at_least(0.97),
                      .make = [=] { return copy_case(bytes, to_gpu, page_locked); }});
    }
  }
  const int64_t n = plan.size(8192, 32);
  rows.push_back({.name = "256 MB to the GPU beside a product of 8192x8192, bf16",
                  .target = at_most(1.1),
                  .tolerance = 2e-2,
                  .make = [=] { return overlap_case(bytes, n); }});
  for (const int64_t size : {32, 128, 512, 2048}) {
    for (const int threads : plan.threads) {
      rows.push_back({.name = fmt::format("matmul {0}x{0}, f32: GPU against CPU", size),
                      .threads = threads,
                      .tolerance = 1e-4,
                      .make = [n = plan.size(size, 16)] { return pays_case(n); }});
    }
  }
  return rows;
}

}  // namespace aorta::bench
