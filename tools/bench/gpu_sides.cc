#include <aorta/aorta.h>
#include <aorta/tools/bench/gpu_sides.h>
#include <dlfcn.h>
#include <fmt/format.h>

namespace aorta::bench {
namespace {

// Products of dense matrices, as NVIDIA's data sheets have them ("NVIDIA H100 Tensor Core GPU"
// and "NVIDIA H200 Tensor Core GPU", the columns of SXM): half of the tensor cores' numbers there,
// which are those with sparsity.
constexpr struct {
  const char* name;
  double f32, tf32, bf16;
} kPublished[] = {{"NVIDIA H100 80GB HBM3", 67e12, 494.7e12, 989.4e12},
                  {"NVIDIA H200", 67e12, 494.7e12, 989.4e12}};

// What the driver says of the first GPU. The program has no headers of CUDA's: these are names and
// numbers of the driver's interface, which stay as they are.
GpuPeak ask_driver() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) return {};
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto get_name =
      reinterpret_cast<int (*)(char*, int, int)>(dlsym(driver, "cuDeviceGetName"));
  const auto get_attribute =
      reinterpret_cast<int (*)(int*, int, int)>(dlsym(driver, "cuDeviceGetAttribute"));
  char name[256] = {};
  if (!init || !get_name || !get_attribute || init(0) != 0 ||
      get_name(name, sizeof name - 1, 0) != 0)
    return {};
  constexpr int kMemoryClockRate = 36, kMemoryBusWidth = 37;  // kHz, bits
  int kilohertz = 0, bits = 0;
  if (get_attribute(&kilohertz, kMemoryClockRate, 0) != 0) kilohertz = 0;
  if (get_attribute(&bits, kMemoryBusWidth, 0) != 0) bits = 0;
  return gpu_peak(name, kilohertz, bits);
}

}  // namespace

Side torch_gpu_side(const std::string& setup, const std::string& expression) {
  return torch_side(setup, fmt::format("({}, torch.cuda.synchronize())[0]", expression));
}

Case no_gpu() {
  return {.ours = {.name = "Aorta", .missing = "no GPU: " + cuda::unavailable_reason()}};
}

GpuPeak gpu_peak(const std::string& name, int memory_kilohertz, int bus_bits) {
  // A transfer at each edge of the clock.
  GpuPeak peak{.name = name, .bandwidth = 2.0 * 1e3 * memory_kilohertz * bus_bits / 8};
  for (const auto& known : kPublished) {
    if (name != known.name) continue;
    peak.f32 = known.f32;
    peak.tf32 = known.tf32;
    peak.bf16 = known.bf16;
  }
  return peak;
}

const GpuPeak& gpu_peak() {
  static const GpuPeak peak = ask_driver();
  return peak;
}

Side peak_side(double work, double peak) {
  if (peak <= 0)
    return {.name = "peak",
            .missing = fmt::format("peak not known of the GPU '{}'", gpu_peak().name)};
  return {.name = "peak", .run = [=](int64_t repetitions) {
            return static_cast<double>(repetitions) * work / peak;
          }};
}

Target share_of_peak(double share, double peak) {
  return peak > 0 || !cuda::is_available() ? at_least(share) : Target{};
}

}  // namespace aorta::bench
