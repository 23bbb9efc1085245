// The reducers of core/scalar/reduce_list.h on the GPU: every thread accumulates some elements,
// lanes are joined by a tree in shared memory, and chunks by a second pass. No atomics: the same
// input gives the same bits every time. Compiled once for each part of the list
// (AORTA_REDUCTION_PART).
#include <aorta/core/scalar/reduce_list.h>
#include <aorta/cuda/reduction.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/index_space.cuh>
#include <aorta/cuda/launch.cuh>

#include <utility>

namespace aorta::cuda {
namespace {

struct DeviceReduction {
  IndexSpace kept, reduced;
  const char* input;
  DType input_dtype, output_dtype[2];
  char* output[2];
  void* partial;  // states, [chunk][kept]; null: the results are written
  bool kept_fast;
  int kept_lanes, reduced_lanes;
  int64_t chunk, chunks;

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

template <class R, class T>
using StateOf = typename R::template State<T>;

/// Elements begin, begin + lanes, ... before end of one output; `kUnroll` loads are on their way at
/// once.
template <int kUnroll, class R, class T, class Load>
__device__ __forceinline__ void accumulate(const R& r, StateOf<R, T>& state,
                                           const DeviceReduction& args, const char* data,
                                           int64_t begin, int64_t end, const Load& load_element) {
  const int64_t step = args.reduced_lanes;
  int64_t i = begin;
  for (; i + (kUnroll - 1) * step < end; i += kUnroll * step) {
    T x[kUnroll];
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      x[j] = load_element(data + args.reduced.offset(i + j * step));
    }
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) r.template accumulate<T>(state, x[j], i + j * step);
  }
#pragma unroll 1
  for (; i < end; i += step) {
    r.template accumulate<T>(state, load_element(data + args.reduced.offset(i)), i);
  }
}

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

/// Joins the reduced lanes of each output; lane 0 then has the state of all.
template <class R, class T>
__device__ __forceinline__ void join_lanes(const R& r, const DeviceReduction& args,
                                           StateOf<R, T>* shared, StateOf<R, T>& state) {
  if (args.reduced_lanes == 1) return;
  shared[threadIdx.x] = state;
  __syncthreads();
  for (int step = args.reduced_lanes / 2; step > 0; step /= 2) {
    if (args.reduced_lane() < step) {
      r.template combine<T>(state, shared[args.neighbour(step)]);
      shared[threadIdx.x] = state;
    }
    __syncthreads();
  }
}

template <class R, class T>
__global__ void __launch_bounds__(kThreads)
    reduce_kernel(const R r, const __grid_constant__ DeviceReduction args) {
  using State = StateOf<R, T>;
  AORTA_SHARED(State, shared, [kThreads]);
  const int64_t groups = (args.kept.count + args.kept_lanes - 1) / args.kept_lanes;
  for (int64_t item = blockIdx.x; item < groups * args.chunks; item += gridDim.x) {
    const int64_t k = item % groups * args.kept_lanes + args.kept_lane();
    const int64_t chunk = item / groups;
    StateOf<R, T> state = r.template init<T>();
    if (k < args.kept.count) {
      const char* data = args.input + args.kept.offset(k);
      const int64_t begin = chunk * args.chunk + args.reduced_lane();
      const int64_t end = min((chunk + 1) * args.chunk, args.reduced.count);
      const auto as_is = [&]<class M>(M) {
        accumulate<4, R, T>(r, state, args, data, begin, end,
                            [](const char* p) { return load<T, M>(p); });
      };
      if (args.input_dtype == dtype_of<T>) {
        as_is(T{});
      } else if (std::is_same_v<T, float> && args.input_dtype == DType::f16) {
        if constexpr (std::is_same_v<T, float>) as_is(Half{});
      } else if (std::is_same_v<T, float> && args.input_dtype == DType::bf16) {
        if constexpr (std::is_same_v<T, float>) as_is(BFloat16{});
      } else {
        const DType dtype = args.input_dtype;
        accumulate<1, R, T>(r, state, args, data, begin, end,
                            [dtype](const char* p) { return load<T>(p, dtype); });
      }
    }
    join_lanes<R, T>(r, args, shared, state);
    if (args.reduced_lane() == 0 && k < args.kept.count) {
      if (args.partial) {
        static_cast<StateOf<R, T>*>(args.partial)[chunk * args.kept.count + k] = state;
      } else {
        write_result<R, T>(r, args, k, state);
      }
    }
    __syncthreads();
  }
}

/// The second pass: a block an output, its threads over the chunks.
template <class R, class T>
__global__ void __launch_bounds__(kThreads)
    join_chunks_kernel(const R r, const __grid_constant__ DeviceReduction args) {
  using State = StateOf<R, T>;
  AORTA_SHARED(State, shared, [kThreads]);
  const auto* partial = static_cast<const StateOf<R, T>*>(args.partial);
  for (int64_t k = blockIdx.x; k < args.kept.count; k += gridDim.x) {
    StateOf<R, T> state = r.template init<T>();
    for (int64_t chunk = threadIdx.x; chunk < args.chunks; chunk += blockDim.x) {
      r.template combine<T>(state, partial[chunk * args.kept.count + k]);
    }
    join_lanes<R, T>(r, args, shared, state);
    if (threadIdx.x == 0) write_result<R, T>(r, args, k, state);
    __syncthreads();
  }
}

template <class R, class T>
void reduce_as(const ReduceArgs& args) {
  const R& r = *static_cast<const R*>(args.parameters);
  const ReductionShape shape = ReductionShape::choose(args);
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
  device.kept_fast = shape.kept_fast;
  device.kept_lanes = shape.kept_lanes;
  device.reduced_lanes = shape.reduced_lanes;
  device.chunk = shape.chunk;
  device.chunks = shape.chunks;

  const LaunchSite site(args.output[0] ? args.output[0] : args.output[1]);
  const bool two_passes = shape.chunks > 1;
  const Workspace partial(
      two_passes ? shape.chunks * args.kept * static_cast<int64_t>(sizeof(StateOf<R, T>)) : 0,
      site.device());
  device.partial = partial.data();
  const int64_t groups = (args.kept + shape.kept_lanes - 1) / shape.kept_lanes;
  const unsigned threads = static_cast<unsigned>(shape.kept_lanes * shape.reduced_lanes);
  launch(args.op, reduce_kernel<R, T>, grid_blocks(groups * shape.chunks), threads, site.stream(),
         r, device);
  if (!two_passes) return;
  device.kept_fast = false;
  device.kept_lanes = 1;
  device.reduced_lanes = shape.chunks > 32 ? kThreads : 32;
  launch(args.op, join_chunks_kernel<R, T>, grid_blocks(args.kept),
         static_cast<unsigned>(device.reduced_lanes), site.stream(), r, device);
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
