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

/// Where a block of V neighbouring channels of (outer, depth, height, width, inner) lies.
struct PoolPlace {
  int64_t outer, inner, at[3];
};

template <int V>
__device__ __forceinline__ PoolPlace place_of(const PoolArgs& args, int64_t i,
                                              int64_t PoolDim::*size) {
  PoolPlace place;
  place.inner = i % (args.inner / V) * V;
  i /= args.inner / V;
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

/// V elements of the input from `offset` on.
template <class T, int V>
__device__ __forceinline__ void read(const PoolArgs& args, int64_t offset,
                                     ComputeType<T> (&values)[V]) {
  read_block<T, V>(values, static_cast<const T*>(args.input) + offset, V, true);
}

/// The largest that window i reads of V channels, and where they are; of NaNs the last one.
template <class T, int V>
struct MaxPoolBody {
  PoolArgs args;

  __device__ __forceinline__ void operator()(int64_t i) const {
    using C = ComputeType<T>;
    C largest[V], value[V];
    int64_t where[V];
    for (int j = 0; j < V; ++j) {
      largest[j] = -scalar::kInfinity<C>;
      where[j] = -1;
    }
    each_read(args, place_of<V>(args, i, &PoolDim::output), [&](int64_t at, int64_t offset) {
      read<T, V>(args, offset, value);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        if (where[j] < 0) where[j] = at;
        if (value[j] > largest[j] || value[j] != value[j]) {
          largest[j] = value[j];
          where[j] = at;
        }
      }
    });
    write_block<T, V>(static_cast<T*>(args.output) + i * V, largest, V, true);
    if (!args.indices) return;
    for (int j = 0; j < V; ++j) args.indices[i * V + j] = where[j];
  }
};

/// How many rows of windows at depth z and height y count.
__device__ __forceinline__ int64_t rows_that_count(const PoolArgs& args, int64_t z, int64_t y) {
  return pool_count(args.dims[0], z, args.count_include_pad) *
         pool_count(args.dims[1], y, args.count_include_pad);
}
/// What the average of such a window divides by, at width x.
template <class C>
__device__ __forceinline__ C divisor_of(const PoolArgs& args, int64_t rows, int64_t x) {
  if (args.divisor_override != 0) return static_cast<C>(args.divisor_override);
  return static_cast<C>(rows * pool_count(args.dims[2], x, args.count_include_pad));
}

/// Window i's averages of V channels.
template <class T, int V>
struct AveragePoolBody {
  PoolArgs args;

  __device__ __forceinline__ void operator()(int64_t i) const {
    using C = ComputeType<T>;
    const PoolPlace place = place_of<V>(args, i, &PoolDim::output);
    C sum[V] = {}, value[V];
    each_read(args, place, [&](int64_t, int64_t offset) {
      read<T, V>(args, offset, value);
#pragma unroll
      for (int j = 0; j < V; ++j) sum[j] += value[j];
    });
    const C divisor =
        divisor_of<C>(args, rows_that_count(args, place.at[0], place.at[1]), place.at[2]);
    for (int j = 0; j < V; ++j) sum[j] /= divisor;
    write_block<T, V>(static_cast<T*>(args.output) + i * V, sum, V, true);
  }
};

/// What V channels of position i get from the windows that read it, in their order.
template <class T, int V>
struct AveragePoolBackwardBody {
  PoolArgs args;

  __device__ __forceinline__ void operator()(int64_t i) const {
    using C = ComputeType<T>;
    const PoolPlace place = place_of<V>(args, i, &PoolDim::input);
    const PoolDim &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
    const WindowRange depth = pool_readers(d, place.at[0]), height = pool_readers(h, place.at[1]);
    const WindowRange width = pool_readers(w, place.at[2]);
    C sum[V] = {}, value[V];
    for (int64_t z = depth.first; z < depth.end; ++z) {
      for (int64_t y = height.first; y < height.end; ++y) {
        const int64_t row = ((place.outer * d.output + z) * h.output + y) * w.output;
        const T* from =
            static_cast<const T*>(args.input) + (row + width.first) * args.inner + place.inner;
        const int64_t rows = rows_that_count(args, z, y);
        for (int64_t x = width.first; x < width.end; ++x, from += args.inner) {
          read_block<T, V>(value, from, V, true);
          const C divisor = divisor_of<C>(args, rows, x);
#pragma unroll
          for (int j = 0; j < V; ++j) sum[j] += value[j] / divisor;
        }
      }
    }
    write_block<T, V>(static_cast<T*>(args.output) + i * V, sum, V, true);
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
  {
    const DeviceWork work(op, DeviceType::cuda, site.stream());
    check_cuda(cudaMemsetAsync(scatter.sums, 0, static_cast<size_t>(bytes), site.stream()), op);
  }
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

/// Runs Body for blocks of neighbouring channels, 16 bytes each, or for each channel where those
/// aren't whole.
template <template <class T, int V> class Body>
void run_blocks(const char* op, const PoolArgs& args, int64_t count) {
  visit_floating(args.dtype, [&](auto type) {
    using T = decltype(type);
    constexpr int V = kBlock<T>;
    if (args.inner % V == 0 && is_vector_aligned<T, V>(args.input) &&
        is_vector_aligned<T, V>(args.output)) {
      for_each(op, args.output, count / V, Body<T, V>{args});
    } else {
      for_each(op, args.output, count, Body<T, 1>{args});
    }
  });
}

void run_max_pool(const PoolArgs& args) {
  run_blocks<MaxPoolBody>("max_pool", args, count_of(args, &PoolDim::output));
}

void run_avg_pool(const PoolArgs& args) {
  run_blocks<AveragePoolBody>("avg_pool", args, count_of(args, &PoolDim::output));
}

void run_avg_pool_backward(const PoolArgs& args) {
  run_blocks<AveragePoolBackwardBody>("avg_pool_backward", args, count_of(args, &PoolDim::input));
}

}  // namespace

void register_pooling() {
  set_kernel<max_pool_op, run_max_pool>();
  set_kernel<max_pool_backward_op, run_max_pool_backward>();
  set_kernel<avg_pool_op, run_avg_pool>();
  set_kernel<avg_pool_backward_op, run_avg_pool_backward>();
}

}  // namespace aorta::cuda
