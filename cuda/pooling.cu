// Pooling through the window rules that the CPU shares (core/body/pooling.h).
#include <aorta/core/body/pooling.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/core/scalar/math.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>

#include <bit>

namespace aorta::cuda {
namespace {

using body::PoolArgs;
using body::PoolDim;
using body::WindowRange;

/// Where an element of (outer, depth, height, width, inner) lies.
struct PoolPlace {
  int64_t outer, inner, at[3];
};

__device__ __forceinline__ PoolPlace place_of(const PoolArgs& args, int64_t i,
                                              int64_t PoolDim::*size) {
  PoolPlace place;
  place.inner = i % args.inner;
  i /= args.inner;
  for (int d = 2; d >= 0; --d) {
    place.at[d] = i % (args.dims[d].*size);
    i /= args.dims[d].*size;
  }
  place.outer = i;
  return place;
}

/// f(x, y) for what a window reads: its place in a plane, and its offset in the tensor.
template <class F>
__device__ __forceinline__ void each_read(const PoolArgs& args, const PoolPlace& place,
                                          const F& f) {
  const PoolDim &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
  const WindowRange depth = pool_window(d, place.at[0]), height = pool_window(h, place.at[1]);
  const WindowRange width = pool_window(w, place.at[2]);
  const int64_t plane = place.outer * d.input * h.input * w.input;
  for (int64_t z = depth.first; z < depth.end; z += d.dilation) {
    for (int64_t y = height.first; y < height.end; y += h.dilation) {
      for (int64_t x = width.first; x < width.end; x += w.dilation) {
        const int64_t at = (z * h.input + y) * w.input + x;
        f(at, (plane + at) * args.inner + place.inner);
      }
    }
  }
}

/// Window i's largest and where it is; of NaNs the last one.
template <class T>
struct MaxPoolBody {
  PoolArgs args;

  __device__ __forceinline__ void operator()(int64_t i) const {
    using C = ComputeType<T>;
    C largest = -scalar::kInfinity<C>;
    int64_t where = -1;
    each_read(args, place_of(args, i, &PoolDim::output), [&](int64_t at, int64_t offset) {
      const C value = load<C, T>(static_cast<const T*>(args.input) + offset);
      if (where < 0) where = at;
      if (value > largest || value != value) {
        largest = value;
        where = at;
      }
    });
    store<T>(static_cast<T*>(args.output) + i, largest);
    if (args.indices) args.indices[i] = where;
  }
};

template <class C>
__device__ __forceinline__ C divisor_of(const PoolArgs& args, int64_t z, int64_t y, int64_t x) {
  if (args.divisor_override != 0) return static_cast<C>(args.divisor_override);
  return static_cast<C>(pool_count(args.dims[0], z, args.count_include_pad) *
                        pool_count(args.dims[1], y, args.count_include_pad) *
                        pool_count(args.dims[2], x, args.count_include_pad));
}

/// Window i's average.
template <class T>
struct AveragePoolBody {
  PoolArgs args;

  __device__ __forceinline__ void operator()(int64_t i) const {
    using C = ComputeType<T>;
    const PoolPlace place = place_of(args, i, &PoolDim::output);
    C sum = 0;
    each_read(args, place, [&](int64_t, int64_t offset) {
      sum += load<C, T>(static_cast<const T*>(args.input) + offset);
    });
    store<T>(static_cast<T*>(args.output) + i,
             sum / divisor_of<C>(args, place.at[0], place.at[1], place.at[2]));
  }
};

/// What position i gets from the windows that read it, in their order.
template <class T>
struct AveragePoolBackwardBody {
  PoolArgs args;

  __device__ __forceinline__ void operator()(int64_t i) const {
    using C = ComputeType<T>;
    const PoolPlace place = place_of(args, i, &PoolDim::input);
    const PoolDim &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
    const WindowRange depth = pool_readers(d, place.at[0]), height = pool_readers(h, place.at[1]);
    const WindowRange width = pool_readers(w, place.at[2]);
    C sum = 0;
    for (int64_t z = depth.first; z < depth.end; ++z) {
      for (int64_t y = height.first; y < height.end; ++y) {
        for (int64_t x = width.first; x < width.end; ++x) {
          const int64_t window = ((place.outer * d.output + z) * h.output + y) * w.output + x;
          const T* const from =
              static_cast<const T*>(args.input) + window * args.inner + place.inner;
          sum += load<C, T>(from) / divisor_of<C>(args, z, y, x);
        }
      }
    }
    store<T>(static_cast<T*>(args.output) + i, sum);
  }
};

int64_t count_of(const PoolArgs& args, int64_t PoolDim::*size) {
  int64_t count = args.outer * args.inner;
  for (const PoolDim& dim : args.dims) count *= dim.*size;
  return count;
}

// ---- The gradient of a maximum: windows add to the places that they name.

struct ScatterArgs {
  int64_t planes, inner, windows, positions;
  const void* input;
  const int64_t* indices;
  void* sums;  // 0 before
};

/// A block takes neighbouring channels of a plane (x) and goes through its windows, some at a time
/// (y). Of those that name one place the first adds them all, in their order: no atomics, and the
/// bits of one thread that goes through all windows.
template <class T>
__global__ void __launch_bounds__(kThreads)
    max_pool_backward_kernel(const __grid_constant__ ScatterArgs args) {
  using C = ComputeType<T>;
  AORTA_SHARED(int64_t, places, [kThreads]);
  AORTA_SHARED(C, values, [kThreads]);
  const int64_t across = divide_up(args.inner, blockDim.x);
  const unsigned mine = threadIdx.y * blockDim.x + threadIdx.x;
  for (int64_t block = blockIdx.x; block < args.planes * across; block += gridDim.x) {
    const int64_t plane = block / across, channel = block % across * blockDim.x + threadIdx.x;
    for (int64_t first = 0; first < args.windows; first += blockDim.y) {
      const int64_t window = first + threadIdx.y;
      int64_t place = -1;
      if (window < args.windows && channel < args.inner) {
        const int64_t from = (plane * args.windows + window) * args.inner + channel;
        place = args.indices[from];
        places[mine] = place;
        values[mine] = load<C, T>(static_cast<const T*>(args.input) + from);
      } else {
        places[mine] = -1;
      }
      __syncthreads();
      bool is_first = place >= 0 && place < args.positions;
      for (unsigned i = threadIdx.x; is_first && i < mine; i += blockDim.x)
        is_first = places[i] != place;
      if (is_first) {
        C* const to =
            static_cast<C*>(args.sums) + (plane * args.positions + place) * args.inner + channel;
        C sum = *to + values[mine];
        for (unsigned i = mine + blockDim.x; i < blockDim.x * blockDim.y; i += blockDim.x) {
          if (places[i] == place) sum += values[i];
        }
        *to = sum;
      }
      __syncthreads();
    }
  }
}

template <class T>
struct RoundBody {
  const float* from;
  T* to;
  __device__ __forceinline__ void operator()(int64_t i) const { store<T>(to + i, from[i]); }
};

void run_max_pool_backward(const PoolArgs& args) {
  const char* const op = "max_pool_backward";
  ScatterArgs scatter{args.outer, args.inner, 1, 1, args.input, args.indices, args.output};
  for (const PoolDim& dim : args.dims) {
    scatter.windows *= dim.output;
    scatter.positions *= dim.input;
  }
  const int64_t count = count_of(args, &PoolDim::input);
  const LaunchSite site(args.output);
  // Half types are summed in f32.
  const Workspace wide(is_half(args.dtype) ? count * 4 : 0, site.device());
  if (is_half(args.dtype)) scatter.sums = wide.data();
  const int64_t bytes = count * std::max<int64_t>(item_size(args.dtype), 4);
  check_cuda(cudaMemsetAsync(scatter.sums, 0, static_cast<size_t>(bytes), site.stream()), op);
  const unsigned channels = std::bit_ceil(static_cast<unsigned>(std::min<int64_t>(args.inner, 32)));
  const unsigned most = kThreads / channels;
  const dim3 block(channels,
                   std::bit_ceil(static_cast<unsigned>(std::min<int64_t>(scatter.windows, most))));
  const int64_t blocks = scatter.planes * divide_up(args.inner, channels);
  visit_floating(args.dtype, [&](auto type) {
    using T = decltype(type);
    launch(op, max_pool_backward_kernel<T>, grid_blocks(blocks), block, site.stream(), scatter);
    if constexpr (scalar::is_half_type<T>) {
      for_each(op, args.output, count,
               RoundBody<T>{wide.as<const float>(), static_cast<T*>(args.output)});
    }
  });
}

void run_max_pool(const PoolArgs& args) {
  visit_floating(args.dtype, [&](auto type) {
    for_each("max_pool", args.output, count_of(args, &PoolDim::output),
             MaxPoolBody<decltype(type)>{args});
  });
}

void run_avg_pool(const PoolArgs& args) {
  visit_floating(args.dtype, [&](auto type) {
    for_each("avg_pool", args.output, count_of(args, &PoolDim::output),
             AveragePoolBody<decltype(type)>{args});
  });
}

void run_avg_pool_backward(const PoolArgs& args) {
  visit_floating(args.dtype, [&](auto type) {
    for_each("avg_pool_backward", args.output, count_of(args, &PoolDim::input),
             AveragePoolBackwardBody<decltype(type)>{args});
  });
}

}  // namespace

void register_pooling() {
  set_kernel<max_pool_op, run_max_pool>();
  set_kernel<max_pool_backward_op, run_max_pool_backward>();
  set_kernel<avg_pool_op, run_avg_pool>();
  set_kernel<avg_pool_backward_op, run_avg_pool_backward>();
}

}  // namespace aorta::cuda
