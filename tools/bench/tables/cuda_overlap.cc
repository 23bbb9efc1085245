// A copy to the first GPU beside a product: against the longer of the two alone.
#include <aorta/aorta.h>
#include <aorta/tools/bench/gpu_sides.h>
#include <aorta/tools/bench/tables.h>

#include <memory>

namespace aorta::bench {
namespace {

// A stream of its own for the length of a row.
struct SideStream {
  Stream stream = backend(DeviceType::cuda).create_stream(kGpu.index);
  SideStream() = default;
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  ~SideStream() { backend(DeviceType::cuda).destroy_stream(stream); }
};

// A copy of page-locked memory to the GPU on a stream of its own, while a product is computed:
// against the longer of the two alone.
Case overlap_case(int64_t bytes, int64_t n) {
  const Tensor host = make_normal({bytes / 4}, 0, 1, 1).pin_memory(), there = host.to(kGpu);
  const Tensor a = make_normal({n, n}, 0, 1, 1, bf16).to(kGpu),
               b = make_normal({n, n}, 0, 1, 2, bf16).to(kGpu);
  const auto side = std::make_shared<SideStream>();
  const auto copy = [=] {
    DeviceBackend& gpu = backend(DeviceType::cuda);
    const Stream before = gpu.current_stream(kGpu.index);
    gpu.set_current_stream(side->stream);
    there.copy_(host, true);
    gpu.set_current_stream(before);
  };
  const auto product = [=] { return matmul(a, b); };
  Side alone = gpu_side(product), copying = gpu_side([=] { return copy(), there; });
  const auto seconds = [](const Side& s) { return s.run(3), s.run(10); };
  Side longer = seconds(copying) > seconds(alone) ? copying : alone;
  longer.name = "the longer alone";
  longer.values = {};
  return {.ours = gpu_side([=] {
            copy();
            return product();
          }),
          .reference = longer};
}

}  // namespace

Rows cuda_overlap_rows(const Plan& plan) {
  const int64_t bytes = plan.size(256 << 20, 4096), n = plan.size(8192, 32);
  return {{.name = "256 MB to the GPU beside a product of 8192x8192, bf16",
           .target = at_most(1.1),
           .tolerance = 2e-2,
           .make = [=] { return gpu_case([&] { return overlap_case(bytes, n); }); }}};
}

}  // namespace aorta::bench
