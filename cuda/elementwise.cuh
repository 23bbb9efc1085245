#pragma once

// The two loops of every elementwise kernel: over arrays that lie one after another, 16 bytes a
// thread, and over any strides and dtypes.

#include <aorta/core/dispatch/pointwise_args.h>
#include <aorta/cuda/fast_division.h>
#include <aorta/cuda/limits.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>

#include <algorithm>
#include <cstring>

namespace aorta::cuda {

template <class T, int V>
struct Registers {
  T value[V];
};

/// An input of `contiguous_kernel`: an array of M, or one value for all.
template <class M>
struct ArrayInput {
  using Value = ComputeType<M>;
  const MemoryType<M>* data;  // null for a number
  bool constant;
  Value value;  // where `constant`; read from `data` when the kernel starts if that isn't null

  __device__ __forceinline__ void begin() {
    if (constant && data) value = load<Value, M>(data);
  }

  /// Elements first .. first + V; beyond `count` of them 0. `whole`: all are there, and aligned.
  template <int V>
  __device__ __forceinline__ Registers<Value, V> read(int64_t first, int count, bool whole) const {
    Registers<Value, V> result;
    if (constant) {
#pragma unroll
      for (int j = 0; j < V; ++j) result.value[j] = value;
    } else if (whole) {
      const auto block = *reinterpret_cast<const Vector<MemoryType<M>, V>*>(data + first);
#pragma unroll
      for (int j = 0; j < V; ++j) result.value[j] = load<Value, M>(&block.element[j]);
    } else {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        result.value[j] = j < count ? load<Value, M>(data + first + j) : Value(0);
      }
    }
    return result;
  }
};

template <class Out, int V, class F, class... Values>
__device__ __forceinline__ void compute_and_write(const F& f, MemoryType<Out>* out, int count,
                                                  bool whole, const Registers<Values, V>&... in) {
  Vector<MemoryType<Out>, V> block;
#pragma unroll
  for (int j = 0; j < V; ++j) store<Out>(&block.element[j], f(in.value[j]...));
  if (whole) {
    *reinterpret_cast<Vector<MemoryType<Out>, V>*>(out) = block;
  } else {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      if (j < count) out[j] = block.element[j];
    }
  }
}

/// out[i] = f(in[i]...). A thread takes V neighbours at a time; f is inlined once for the whole and
/// for the last, partial block. `out` may be one of the inputs.
template <int V, class F, class Out, class... In>
__global__ void __launch_bounds__(kThreads)
    contiguous_kernel(const F f, int64_t count, bool aligned, MemoryType<Out>* out,
                      ArrayInput<In>... in) {
  (in.begin(), ...);
  const int64_t blocks = (count + V - 1) / V;
  for (int64_t i = first_item(); i < blocks; i += item_step()) {
    const int64_t first = i * V;
    const int there = static_cast<int>(min(static_cast<int64_t>(V), count - first));
    const bool whole = aligned && there == V;
    compute_and_write<Out, V>(f, out + first, there, whole,
                              in.template read<V>(first, there, whole)...);
  }
}

/// Elements a thread takes at a time: 16 bytes of the largest type.
template <class... Ts>
inline constexpr int kVectorLength = 16 / static_cast<int>(std::max({sizeof(MemoryType<Ts>)...}));

template <class Out, class... In, class F>
void launch_contiguous(const char* op, const F& f, int64_t count, void* out,
                       const ArrayInput<In>&... in) {
  constexpr int V = kVectorLength<Out, In...>;
  const bool aligned = is_vector_aligned<MemoryType<Out>, V>(out) &&
                       ((in.constant || is_vector_aligned<MemoryType<In>, V>(in.data)) && ...);
  const LaunchSite site(out);
  launch(op, contiguous_kernel<V, F, Out, In...>, site.blocks((count + V - 1) / V), kThreads,
         site.stream(), f, count, aligned, static_cast<MemoryType<Out>*>(out), in...);
}

/// True when operand k of a merged iteration space is an array without gaps.
inline bool is_array(const PointwiseArgs& args, int k) {
  return args.ndim == 0 || (args.ndim == 1 && args.strides[k][0] == item_size(args.dtype[k]));
}

/// One operand of a strided kernel, strides in bytes.
struct StridedOperand {
  char* data;  // null for a number
  DType dtype;
  alignas(8) char number[8];  // its value in the compute dtype
  int64_t strides[kMaxDims];

  template <class C>
  __device__ __forceinline__ C fetch(int64_t offset) const {
    if (!data) return *reinterpret_cast<const C*>(number);
    return aorta::cuda::load<C>(data + offset, dtype);
  }
};

/// An iteration space of few elements (`Limits`), innermost dimension first.
struct StridedArgs {
  uint32_t count;
  int ndim;
  FastDivisor sizes[kMaxDims];
  StridedOperand operand[kMaxOperands];

  /// The byte offsets of operands 0 .. K at element i.
  template <int K>
  __device__ __forceinline__ void offsets(uint32_t i, int64_t (&result)[K]) const {
#pragma unroll
    for (int k = 0; k < K; ++k) result[k] = 0;
    for (int d = 0; d < ndim; ++d) {
      const int64_t place = sizes[d].split(i);
#pragma unroll
      for (int k = 0; k < K; ++k) result[k] += place * operand[k].strides[d];
    }
  }
};

inline StridedArgs strided_args(const PointwiseArgs& args) {
  StridedArgs result{};
  result.count = static_cast<uint32_t>(args.numel);
  result.ndim = args.ndim;
  for (int d = 0; d < args.ndim; ++d) {
    result.sizes[d] = FastDivisor(static_cast<uint32_t>(args.shape[d]));
  }
  for (int k = 0; k < args.operands; ++k) {
    StridedOperand& operand = result.operand[k];
    operand.data = args.is_number[k] ? nullptr : args.data[k];
    operand.dtype = args.dtype[k];
    std::memcpy(operand.number, args.number[k], sizeof operand.number);
    std::copy_n(args.strides[k], args.ndim, operand.strides);
  }
  return result;
}

/// Calls run(part) for parts of the iteration space with few elements each (`Limits`).
template <class Run>
void for_each_part(const PointwiseArgs& args, const Run& run) {
  if (args.numel < limits().elements) return run(args);
  int d = args.ndim - 1;
  while (args.shape[d] == 1) --d;
  PointwiseArgs half = args;
  half.shape[d] = args.shape[d] / 2;
  half.numel = args.numel / args.shape[d] * half.shape[d];
  for_each_part(half, run);
  for (int k = 0; k < args.operands; ++k) {
    if (!args.is_number[k]) half.data[k] += half.shape[d] * args.strides[k][d];
  }
  half.shape[d] = args.shape[d] - half.shape[d];
  half.numel = args.numel - half.numel;
  for_each_part(half, run);
}

}  // namespace aorta::cuda
