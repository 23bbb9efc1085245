// Copies to, from and on the first GPU: against PyTorch, and on the device against the most that
// its memory can do. Every run is waited for.
#include <aorta/aorta.h>
#include <aorta/tools/bench/gpu_sides.h>
#include <aorta/tools/bench/tables.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

Case host_copy_case(int64_t bytes, bool to_gpu, bool page_locked) {
  const Tensor numbers = make_normal({bytes / 4}, 0, 1, 1);
  const Tensor host = page_locked ? numbers.pin_memory() : numbers, device = numbers.to(kGpu);
  const Tensor from = to_gpu ? host : device, to = to_gpu ? device : host;
  const std::string setup =
      fmt::format("h = make_normal(({},), 0, 1, 1); d = h.cuda(); h = {}; f, t = {}", bytes / 4,
                  page_locked ? "h.pin_memory()" : "h", to_gpu ? "h, d" : "d, h");
  return {.ours = gpu_side([=] { return to.copy_(from, true); }),
          .reference = torch_gpu_side(setup, "t.copy_(f, non_blocking=True)")};
}

Case device_copy_case(int64_t bytes) {
  const Tensor from = make_normal({bytes / 4}, 0, 1, 1).to(kGpu);
  const Tensor to = empty({bytes / 4}, {.device = kGpu});
  const std::string setup = fmt::format(
      "with torch.device('cuda'): f = make_normal(({},), 0, 1, 1); t = torch.empty_like(f)",
      bytes / 4);
  return {.ours = gpu_side([=] { return to.copy_(from); }),
          .reference = peak_side(2.0 * static_cast<double>(bytes), gpu_peak().bandwidth),
          .peer = torch_gpu_side(setup, "t.copy_(f)")};
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
                      .make = [=] {
                        return gpu_case([&] { return host_copy_case(bytes, to_gpu, page_locked); });
                      }});
    }
  }
  rows.push_back({.name = "256 MB on the GPU: of the peak",
                  .unit = Unit::bytes,
                  .work = 2.0 * static_cast<double>(bytes),  // read and written
                  .target = share_of_peak(0.86, gpu_peak().bandwidth),
                  .make = [=] { return gpu_case([&] { return device_copy_case(bytes); }); }});
  return rows;
}

}  // namespace aorta::bench
