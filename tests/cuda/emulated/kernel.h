#pragma once

// The language of kernels, for g++: what nvcc knows by itself. A launch runs each block's threads
// one after another, and keeps a thread aside on a fiber of its own only when it waits for others.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <tuple>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

namespace aorta::emulated {

/// Where a thread stands in its launch.
struct ThreadPosition {
  uint3 thread, block, block_size, grid;
};
extern thread_local constinit ThreadPosition place __attribute__((tls_model("initial-exec")));

/// threadIdx and its kin: objects whose members read `place`.
template <uint3 ThreadPosition::*triple, unsigned uint3::*axis>
struct Coordinate {
  operator unsigned() const { return place.*triple.*axis; }
};
template <uint3 ThreadPosition::*triple>
struct Triple {
  [[no_unique_address]] Coordinate<triple, &uint3::x> x;
  [[no_unique_address]] Coordinate<triple, &uint3::y> y;
  [[no_unique_address]] Coordinate<triple, &uint3::z> z;
};

using Site = std::source_location;

/// A launch as the queue of a stream keeps it: the kernel with copies of its arguments.
struct KernelCall {
  virtual ~KernelCall() = default;
  virtual void run_thread() const = 0;
  const void* function = nullptr;
  size_t parameter_bytes = 0, object_bytes = 0;
};

template <class... Parameters>
struct KernelCallOf final : KernelCall {
  template <class... Arguments>
  explicit KernelCallOf(void (*kernel)(Parameters...), Arguments&&... given)
      : call(kernel), arguments(static_cast<Arguments&&>(given)...) {
    function = reinterpret_cast<const void*>(kernel);
    parameter_bytes = (sizeof(Parameters) + ... + 0);
    object_bytes = sizeof *this;
  }
  void run_thread() const override { std::apply(call, arguments); }
  void (*call)(Parameters...);
  std::tuple<Parameters...> arguments;
};

/// Checks a launch and queues it; takes `call` over.
cudaError_t launch(const cudaLaunchConfig_t& config, KernelCall* call);

/// Waits for the block's other threads.
void barrier(Site site);

/// What a shuffle asks for: the lane whose value the caller gets, or -1 for its own.
struct Exchange {
  unsigned mask;
  int source;  // a lane of the caller's warp
  Site site;
};
/// Waits for the lanes of `mask`; `value` becomes that of the source lane.
void exchange(const Exchange& wanted, void* value, size_t bytes);
/// This thread's lane in its warp.
int lane();

/// Memory that the block's threads share, one for each `site`; full of 0xff when the block begins.
void* shared_memory(const void* site, size_t bytes, size_t alignment);

/// The declaration behind AORTA_SHARED. `Tag` makes a type of its own of each place in the source.
template <class Array, class Tag>
Array& shared_array() {
  using Element = std::remove_all_extents_t<Array>;
  static_assert(std::is_trivially_default_constructible_v<Element>,
                "nvcc takes no shared memory that has to be constructed");
  static const char site = 0;
  return *static_cast<Array*>(shared_memory(&site, sizeof(Array), alignof(Array)));
}

void check_width(int width, Site site);

}  // namespace aorta::emulated

inline constexpr aorta::emulated::Triple<&aorta::emulated::ThreadPosition::thread> threadIdx;
inline constexpr aorta::emulated::Triple<&aorta::emulated::ThreadPosition::block> blockIdx;
inline constexpr aorta::emulated::Triple<&aorta::emulated::ThreadPosition::block_size> blockDim;
inline constexpr aorta::emulated::Triple<&aorta::emulated::ThreadPosition::grid> gridDim;

#define AORTA_SHARED(type, name, extents) \
  auto& name = ::aorta::emulated::shared_array<type extents, decltype([] {})>()

/// cuda_runtime_api.h: "The launch returns an error".
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...),
                "a kernel's parameters are copied byte for byte");
  return aorta::emulated::launch(*config, new aorta::emulated::KernelCallOf<Parameters...>(
                                              kernel, static_cast<Arguments&&>(arguments)...));
}

inline void __syncthreads(std::source_location site = std::source_location::current()) {
  aorta::emulated::barrier(site);
}

// Shuffles, CUDA C++ Programming Guide, "Warp Shuffle Functions": the caller is in `mask`, all
// lanes of `mask` make the same call, and the source is one of them.

inline void __syncwarp(unsigned mask = 0xffffffffu,
                       std::source_location site = std::source_location::current()) {
  char nothing = 0;
  aorta::emulated::exchange({mask, -1, site}, &nothing, 0);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32,
              std::source_location site = std::source_location::current()) {
  aorta::emulated::check_width(width, site);
  const int first = aorta::emulated::lane() & -width;
  aorta::emulated::exchange({mask, first + (source & (width - 1)), site}, &value, sizeof value);
  return value;
}

template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32,
                 std::source_location site = std::source_location::current()) {
  aorta::emulated::check_width(width, site);
  const int lane = aorta::emulated::lane(), source = lane - static_cast<int>(distance);
  aorta::emulated::exchange({mask, source < (lane & -width) ? -1 : source, site}, &value,
                            sizeof value);
  return value;
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32,
                   std::source_location site = std::source_location::current()) {
  aorta::emulated::check_width(width, site);
  const int lane = aorta::emulated::lane(), source = lane + static_cast<int>(distance);
  aorta::emulated::exchange({mask, source >= (lane & -width) + width ? -1 : source, site}, &value,
                            sizeof value);
  return value;
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32,
                  std::source_location site = std::source_location::current()) {
  aorta::emulated::check_width(width, site);
  const int lane = aorta::emulated::lane(), source = lane ^ bits;
  aorta::emulated::exchange({mask, source >= (lane & -width) + width ? -1 : source, site}, &value,
                            sizeof value);
  return value;
}

// One launch runs at a time, its threads one after another: no other operation comes in between.
unsigned long long atomicMin(unsigned long long* place, unsigned long long value);
unsigned atomicAdd(unsigned* place, unsigned value);

template <class T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}
