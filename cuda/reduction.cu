// The reducers of core/scalar/reduce_list.h on the GPU: every thread accumulates some elements, 16
// bytes at a time where neighbours lie one after another, lanes are joined by a tree, and chunks by
// a second pass. No atomics: the same input gives the same bits every time. Compiled once for each
// part of the list (AORTA_REDUCTION_PART).
#include <aorta/core/integers.h>
#include <aorta/core/scalar/reduce_list.h>
#include <aorta/cuda/reduction.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/group.cuh>
#include <aorta/cuda/index_space.cuh>

#include <utility>

namespace aorta::cuda {
namespace {

/// Loads of a thread that are on their way at once.
constexpr int kUnroll = 4;

template <class R, class T>
using StateOf = typename R::template State<T>;

struct DeviceReduction {
  IndexSpace kept, reduced;
  BlockedSpace blocks;  // of the reduced elements in rows, of the kept ones in columns
  const char* input;
  DType input_dtype, output_dtype[2];
  char* output[2];
  void* partial;  // states, [chunk][kept]; null: the results are written
  bool kept_fast;
  int kept_lanes, reduced_lanes;
  int64_t groups, units, chunk, chunks;

  __device__ __forceinline__ int kept_lane() const {
    return kept_fast ? static_cast<int>(threadIdx.x) % kept_lanes
                     : static_cast<int>(threadIdx.x) / reduced_lanes;
  }
  __device__ __forceinline__ int reduced_lane() const {
    return kept_fast ? static_cast<int>(threadIdx.x) / kept_lanes
                     : static_cast<int>(threadIdx.x) % reduced_lanes;
  }
  /// The thread of the same output whose reduced lane is `step` further.
  __device__ __forceinline__ int neighbour(int step) const {
    return static_cast<int>(threadIdx.x) + (kept_fast ? step * kept_lanes : step);
  }
};

/// What a thread does for one block of work: units begin, begin + lanes, ... before end.
struct Work {
  int64_t output, chunk, begin, end;

  __device__ __forceinline__ Work(const DeviceReduction& args, int64_t item) {
    output = item % args.groups * args.kept_lanes + args.kept_lane();
    chunk = item / args.groups;
    begin = chunk * args.chunk + args.reduced_lane();
    end = min((chunk + 1) * args.chunk, args.units);
  }
};

template <class M, int V>
using BlockOf = Vector<MemoryType<M>, V>;

/// V neighbours, of which `there` are in memory, the others 0. `whole`: all are, and aligned.
template <class M, int V, class T>
__device__ __forceinline__ void read_neighbours(T (&x)[V], const char* data, int there,
                                                bool whole) {
  if (whole) {
    const auto block = *reinterpret_cast<const BlockOf<M, V>*>(data);
#pragma unroll
    for (int j = 0; j < V; ++j) x[j] = load<T, M>(&block.element[j]);
  } else {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      x[j] = j < there ? load<T, M>(data + j * static_cast<int>(sizeof(M))) : T(0);
    }
  }
}

/// Takes in blocks of neighbours of one output.
template <class M, class R, class T>
__device__ __forceinline__ void take_rows(const R& r, StateOf<R, T>& state,
                                          const DeviceReduction& args, const char* data,
                                          const Work& work) {
  constexpr int V = row_block(sizeof(M));
  const int64_t step = args.reduced_lanes;
  const int64_t even = min(work.end, args.blocks.even);
  int64_t i = work.begin;
  for (; i + (kUnroll - 1) * step < even; i += kUnroll * step) {
    BlockOf<M, V> block[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const auto at = args.blocks.find_even<V>(i + u * step, sizeof(M));
      block[u] = *reinterpret_cast<const BlockOf<M, V>*>(data + at.offset);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const int64_t element = args.blocks.find_even<V>(i + u * step, sizeof(M)).element;
#pragma unroll
      for (int j = 0; j < V; ++j) {
        r.template accumulate<T>(state, load<T, M>(&block[u].element[j]), element + j);
      }
    }
  }
#pragma unroll 1
  for (; i < work.end; i += step) {
    const auto at = args.blocks.find<V>(i, sizeof(M));
    T x[V];
    read_neighbours<M>(x, data + at.offset, at.there, i < even);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      if (j < at.there) r.template accumulate<T>(state, x[j], at.element + j);
    }
  }
}

/// Takes in elements of V outputs that are neighbours, of which `there` are in memory.
template <class M, class R, class T, int V>
__device__ __forceinline__ void take_columns(const R& r, StateOf<R, T> (&state)[V],
                                             const DeviceReduction& args, const char* data,
                                             int there, bool whole, const Work& work) {
  const int64_t step = args.reduced_lanes;
  int64_t i = work.begin;
  if (whole && args.reduced.ndim == 1) {
    for (; i + (kUnroll - 1) * step < work.end; i += kUnroll * step) {
      BlockOf<M, V> block[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const char* const place = data + (i + u * step) * args.reduced.strides[0];
        block[u] = *reinterpret_cast<const BlockOf<M, V>*>(place);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int j = 0; j < V; ++j) {
          r.template accumulate<T>(state[j], load<T, M>(&block[u].element[j]), i + u * step);
        }
      }
    }
  }
#pragma unroll 1
  for (; i < work.end; i += step) {
    T x[V];
    read_neighbours<M>(x, data + args.reduced.offset(i), there, whole);
#pragma unroll
    for (int j = 0; j < V; ++j) r.template accumulate<T>(state[j], x[j], i);
  }
}

/// Joins the reduced lanes of V outputs of each thread; lane 0 then has the states of all, and
/// `shared` has them at j * kThreads + the thread.
template <int V, class R, class T>
__device__ __forceinline__ void join_lanes(const R& r, const DeviceReduction& args,
                                           StateOf<R, T>* shared, StateOf<R, T> (&state)[V]) {
  const int me = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int j = 0; j < V; ++j) shared[j * kThreads + me] = state[j];
  __syncthreads();
  for (int step = args.reduced_lanes / 2; step > 0; step /= 2) {
    if (args.reduced_lane() < step) {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        r.template combine<T>(state[j], shared[j * kThreads + args.neighbour(step)]);
        shared[j * kThreads + me] = state[j];
      }
    }
    __syncthreads();
  }
}

/// Does the same where the lanes of an output are neighbours: within warps first.
template <class R, class T>
__device__ __forceinline__ void join_row(const R& r, const DeviceReduction& args,
                                         StateOf<R, T>* shared, StateOf<R, T>& state) {
  for (int step = min(args.reduced_lanes, 32) / 2; step > 0; step /= 2) {
    r.template combine<T>(state, from_lane_xor(state, step));
  }
  if (args.reduced_lanes <= 32) return;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (threadIdx.x % 32 == 0) shared[warp] = state;
  __syncthreads();
  if (args.reduced_lane() == 0) {
    for (int i = 1; i < args.reduced_lanes / 32; ++i) {
      r.template combine<T>(state, shared[warp + i]);
    }
  }
  __syncthreads();
}

/// Writes the results of output k.
template <class R, class T>
__device__ __forceinline__ void write_result(const R& r, const DeviceReduction& args, int64_t k,
                                             const StateOf<R, T>& state) {
  const int64_t count = args.reduced.count;
  if (args.output[0]) {
    store(args.output[0] + k * item_size(args.output_dtype[0]), args.output_dtype[0],
          r.template finish<T>(state, count));
  }
  if constexpr (R::has_second) {
    if (args.output[1]) {
      store(args.output[1] + k * item_size(args.output_dtype[1]), args.output_dtype[1],
            r.template second<T>(state, count));
    }
  }
}

/// Writes them, or the state of a chunk.
template <class R, class T>
__device__ __forceinline__ void write_state(const R& r, const DeviceReduction& args, int64_t chunk,
                                            int64_t k, const StateOf<R, T>& state) {
  if (args.partial) {
    static_cast<StateOf<R, T>*>(args.partial)[chunk * args.kept.count + k] = state;
  } else {
    write_result<R, T>(r, args, k, state);
  }
}

/// Elements of M in rows.
template <class R, class T, class M>
__global__ void __launch_bounds__(kThreads)
    reduce_rows_kernel(const R r, const __grid_constant__ DeviceReduction args) {
  using State = StateOf<R, T>;
  AORTA_SHARED(State, shared, [kThreads / 32]);
  for (int64_t item = blockIdx.x; item < args.groups * args.chunks; item += gridDim.x) {
    const Work work(args, item);
    const bool is_output = work.output < args.kept.count;
    State state = r.template init<T>();
    if (is_output) {
      take_rows<M, R, T>(r, state, args, args.input + args.kept.offset(work.output), work);
    }
    join_row<R, T>(r, args, shared, state);
    if (is_output && args.reduced_lane() == 0) {
      write_state<R, T>(r, args, work.chunk, work.output, state);
    }
  }
}

/// Elements of M in columns.
template <class R, class T, class M>
__global__ void __launch_bounds__(kThreads)
    reduce_columns_kernel(const R r, const __grid_constant__ DeviceReduction args) {
  using State = StateOf<R, T>;
  constexpr int V = column_block(sizeof(M), sizeof(State));
  AORTA_SHARED(State, shared, [kThreads * V]);
  for (int64_t item = blockIdx.x; item < args.groups * args.chunks; item += gridDim.x) {
    const Work work(args, item);
    const bool is_output = work.output < args.blocks.count;
    const auto at = args.blocks.find<V>(is_output ? work.output : 0, sizeof(M));
    State state[V];
#pragma unroll
    for (int j = 0; j < V; ++j) state[j] = r.template init<T>();
    if (is_output) {
      const bool whole = work.output < args.blocks.even;
      take_columns<M, R, T>(r, state, args, args.input + at.offset, at.there, whole, work);
    }
    join_lanes<V, R, T>(r, args, shared, state);
    if (is_output && args.reduced_lane() == 0) {
#pragma unroll 1
      for (int j = 0; j < at.there; ++j) {
        const State& joined = shared[j * kThreads + static_cast<int>(threadIdx.x)];
        write_state<R, T>(r, args, work.chunk, at.element + j, joined);
      }
    }
    __syncthreads();
  }
}

/// Any strides and dtypes.
template <class R, class T>
__global__ void __launch_bounds__(kThreads)
    reduce_any_kernel(const R r, const __grid_constant__ DeviceReduction args) {
  using State = StateOf<R, T>;
  AORTA_SHARED(State, shared, [kThreads]);
  for (int64_t item = blockIdx.x; item < args.groups * args.chunks; item += gridDim.x) {
    const Work work(args, item);
    const bool is_output = work.output < args.kept.count;
    State state[1] = {r.template init<T>()};
    if (is_output) {
      const char* const data = args.input + args.kept.offset(work.output);
      for (int64_t i = work.begin; i < work.end; i += args.reduced_lanes) {
        const T x = load<T>(data + args.reduced.offset(i), args.input_dtype);
        r.template accumulate<T>(state[0], x, i);
      }
    }
    join_lanes<1, R, T>(r, args, shared, state);
    if (is_output && args.reduced_lane() == 0) {
      write_state<R, T>(r, args, work.chunk, work.output, state[0]);
    }
    __syncthreads();
  }
}

/// The second pass: units are the chunks of an output.
template <class R, class T>
__global__ void __launch_bounds__(kThreads)
    join_chunks_kernel(const R r, const __grid_constant__ DeviceReduction args) {
  using State = StateOf<R, T>;
  AORTA_SHARED(State, shared, [kThreads]);
  const auto* const partial = static_cast<const State*>(args.partial);
  for (int64_t group = blockIdx.x; group < args.groups; group += gridDim.x) {
    const int64_t k = group * args.kept_lanes + args.kept_lane();
    State state[1] = {r.template init<T>()};
    if (k < args.kept.count) {
#pragma unroll 4
      for (int64_t chunk = args.reduced_lane(); chunk < args.units; chunk += args.reduced_lanes) {
        r.template combine<T>(state[0], partial[chunk * args.kept.count + k]);
      }
    }
    join_lanes<1, R, T>(r, args, shared, state);
    if (k < args.kept.count && args.reduced_lane() == 0) write_result<R, T>(r, args, k, state[0]);
    __syncthreads();
  }
}

/// Whether the strides of dimensions `first` on leave blocks of `bytes` aligned.
bool keep_aligned(int ndim, const int64_t* strides, int first, int64_t bytes) {
  for (int d = first; d < ndim; ++d) {
    if (strides[d] % bytes != 0) return false;
  }
  return true;
}

BlockedSpace blocks_of(const ReduceArgs& args, ReductionWay way, size_t state_bytes) {
  const bool rows = way == ReductionWay::rows;
  const int64_t item = item_size(args.input_dtype);
  const int block = rows ? row_block(item) : column_block(item, state_bytes);
  const int64_t bytes = block * item;
  const bool aligned = reinterpret_cast<uintptr_t>(args.input) % static_cast<size_t>(bytes) == 0 &&
                       keep_aligned(args.kept_ndim, args.kept_strides, rows ? 0 : 1, bytes) &&
                       keep_aligned(args.reduced_ndim, args.reduced_strides, rows ? 1 : 0, bytes);
  if (rows) {
    return {args.reduced, args.reduced_ndim, args.reduced_shape, args.reduced_strides, block,
            aligned};
  }
  return {args.kept, args.kept_ndim, args.kept_shape, args.kept_strides, block, aligned};
}

void divide(DeviceReduction& device, const ReductionShape& shape) {
  device.kept_fast = shape.kept_fast;
  device.kept_lanes = shape.kept_lanes;
  device.reduced_lanes = shape.reduced_lanes;
  device.groups = shape.groups();
  device.chunk = shape.chunk;
  device.chunks = shape.chunks;
}

DeviceReduction device_reduction(const ReduceArgs& args, const ReductionShape& shape,
                                 size_t state_bytes) {
  DeviceReduction device{};
  device.kept = IndexSpace(args.kept, args.kept_ndim, args.kept_shape, args.kept_strides);
  device.reduced =
      IndexSpace(args.reduced, args.reduced_ndim, args.reduced_shape, args.reduced_strides);
  device.input = args.input;
  device.input_dtype = args.input_dtype;
  for (int i = 0; i < 2; ++i) {
    device.output[i] = args.output[i];
    device.output_dtype[i] = args.output_dtype[i];
  }
  divide(device, shape);
  device.units = args.reduced;
  if (shape.way == ReductionWay::any) return device;
  device.blocks = blocks_of(args, shape.way, state_bytes);
  if (shape.way == ReductionWay::rows) device.units = device.blocks.count;
  return device;
}

template <class R>
using DeviceKernel = void (*)(R, DeviceReduction);

template <class R, class T, class M>
DeviceKernel<R> kernel_of(ReductionWay way) {
  return way == ReductionWay::rows ? reduce_rows_kernel<R, T, M> : reduce_columns_kernel<R, T, M>;
}

template <class R, class T>
DeviceKernel<R> find_kernel(ReductionWay way, DType dtype) {
  if (way == ReductionWay::any) return reduce_any_kernel<R, T>;
  if constexpr (std::is_same_v<T, float>) {
    if (dtype == DType::f16) return kernel_of<R, T, Half>(way);
    if (dtype == DType::bf16) return kernel_of<R, T, BFloat16>(way);
  }
  return kernel_of<R, T, T>(way);
}

template <class R, class T>
void reduce_as(const ReduceArgs& args) {
  using State = StateOf<R, T>;
  const R& r = *static_cast<const R*>(args.parameters);
  const bool typed =
      args.input_dtype == dtype_of<T> || (std::is_same_v<T, float> && is_half(args.input_dtype));
  const ReductionShape shape = ReductionShape::choose(args, typed, sizeof(State));
  DeviceReduction device = device_reduction(args, shape, sizeof(State));

  const LaunchSite site(args.output[0] ? args.output[0] : args.output[1]);
  const bool two_passes = shape.chunks > 1;
  const Workspace partial(
      two_passes ? shape.chunks * args.kept * static_cast<int64_t>(sizeof(State)) : 0,
      site.device());
  device.partial = partial.data();
  launch(args.op, find_kernel<R, T>(shape.way, args.input_dtype),
         grid_blocks(shape.groups() * shape.chunks), shape.threads(), site.stream(), r, device);
  if (!two_passes) return;
  const ReductionShape join = ReductionShape::join(args.kept, shape.chunks);
  divide(device, join);
  device.units = shape.chunks;
  launch(args.op, join_chunks_kernel<R, T>, grid_blocks(join.groups()), join.threads(),
         site.stream(), r, device);
}

template <class R>
void reduce(const ReduceArgs& args) {
  visit_dtype(args.compute, [&](auto type) {
    using T = decltype(type);
    if constexpr (!scalar::is_half_type<T>) {
      if constexpr (scalar::reduces<R, T>()) return reduce_as<R, T>(args);
    }
    fail(args.op, "the reducer doesn't take the dtype", args.compute);
  });
}

template <class... Rs, int... index>
void list_part(ReduceKernel* kernels, scalar::TypeList<Rs...>,
               std::integer_sequence<int, index...>) {
  const auto add = [&]<class R, int i>(std::type_identity<R>, std::integral_constant<int, i>) {
    if constexpr (i % kReductionParts == AORTA_REDUCTION_PART) kernels[i] = reduce<R>;
  };
  (add(std::type_identity<Rs>{}, std::integral_constant<int, index>{}), ...);
}

}  // namespace

template <>
void list_reduction_part<AORTA_REDUCTION_PART>(ReduceKernel* kernels) {
  list_part(kernels, scalar::ReduceOps{},
            std::make_integer_sequence<int, scalar::ReduceOps::size>{});
}

}  // namespace aorta::cuda
