#pragma once

// The two loops of every elementwise kernel: over blocks of neighbours, 16 bytes a thread, and over
// any strides and dtypes.

#include <aorta/core/dispatch/pointwise_args.h>
#include <aorta/cuda/fast_division.h>
#include <aorta/cuda/limits.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

namespace aorta::cuda {

template <class T, int V>
struct Registers {
  T value[V];
};

/// An input of `blocks_kernel`: an array of M, or one value for a whole row.
template <class M>
struct ArrayInput {
  using Value = ComputeType<M>;
  const MemoryType<M>* data;  // null for a number
  bool constant;
  Value value;  // of a number

  /// Elements first .. first + V of the row that starts at `row`; beyond `count` of them 0.
  /// `whole`: all are there, and aligned.
  template <int V>
  __device__ __forceinline__ Registers<Value, V> read(int64_t row, int64_t first, int count,
                                                      bool whole) const {
    Registers<Value, V> result;
    if (constant) {
      const Value same = data ? load<Value, M>(data + row) : value;
#pragma unroll
      for (int j = 0; j < V; ++j) result.value[j] = same;
    } else if (whole) {
      const auto block = *reinterpret_cast<const Vector<MemoryType<M>, V>*>(data + row + first);
#pragma unroll
      for (int j = 0; j < V; ++j) result.value[j] = load<Value, M>(&block.element[j]);
    } else {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        result.value[j] = j < count ? load<Value, M>(data + row + first + j) : Value(0);
      }
    }
    return result;
  }
};

/// Dimensions of rows, besides their own, that `BlockSpace` has room for.
inline constexpr int kMaxRowDims = 4;

/// Rows cut into blocks of up to V neighbours: an array is one row; more of them start anywhere in
/// each of K operands, of which the output is the first.
template <int V, int K>
struct BlockSpace {
  int64_t size;        // elements of a row
  int64_t blocks;      // of all rows
  bool aligned;        // blocks that are whole are Vectors
  int outer;           // dimensions besides that of a row; 0: there is one row
  FastDivisor across;  // blocks of a row
  FastDivisor sizes[kMaxRowDims];
  int64_t strides[K][kMaxRowDims];  // elements

  static BlockSpace one_row(int64_t count) {
    BlockSpace space{};
    space.size = count;
    space.blocks = (count + V - 1) / V;
    space.aligned = true;
    return space;
  }
  /// The rows along the innermost dimension of `args`; none where an operand is neither an array
  /// nor constant along it, or they are short, or many.
  static std::optional<BlockSpace> rows(const PointwiseArgs& args);

  /// The first element of block i in its row, which starts at row[k] in operand k.
  __device__ __forceinline__ int64_t find(int64_t i, int64_t (&row)[K]) const {
#pragma unroll
    for (int k = 0; k < K; ++k) row[k] = 0;
    if (outer == 0) return i * V;
    uint32_t rest = static_cast<uint32_t>(i);
    const int64_t block = across.split(rest);
#pragma unroll 1
    for (int d = 0; d < outer; ++d) {
      const int64_t place = sizes[d].split(rest);
#pragma unroll
      for (int k = 0; k < K; ++k) row[k] += place * strides[k][d];
    }
    return block * V;
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

template <int V, class F, class Out, int... k, class... In>
__device__ __forceinline__ void run_block(const F& f, const BlockSpace<V, sizeof...(In) + 1>& space,
                                          int64_t i, MemoryType<Out>* out,
                                          std::integer_sequence<int, k...>,
                                          const ArrayInput<In>&... in) {
  int64_t row[sizeof...(In) + 1];
  const int64_t first = space.find(i, row);
  const int there = static_cast<int>(min(static_cast<int64_t>(V), space.size - first));
  const bool whole = space.aligned && there == V;
  compute_and_write<Out, V>(f, out + row[0] + first, there, whole,
                            in.template read<V>(row[k + 1], first, there, whole)...);
}

/// out[i] = f(in[i]...). A thread takes V neighbours at a time; f is inlined once for the whole and
/// for the last, partial block. `out` may be one of the inputs.
template <int V, class F, class Out, class... In>
__global__ void __launch_bounds__(kThreads)
    blocks_kernel(const F f, const __grid_constant__ BlockSpace<V, sizeof...(In) + 1> space,
                  MemoryType<Out>* out, ArrayInput<In>... in) {
  for (int64_t i = first_item(); i < space.blocks; i += item_step()) {
    run_block<V, F, Out>(f, space, i, out, std::make_integer_sequence<int, sizeof...(In)>{}, in...);
  }
}

/// Elements a thread takes at a time: 16 bytes of the largest type.
template <class... Ts>
inline constexpr int kVectorLength = 16 / static_cast<int>(std::max({sizeof(MemoryType<Ts>)...}));

template <class... Ts>
using BlockSpaceOf = BlockSpace<kVectorLength<Ts...>, sizeof...(Ts)>;

template <class Out, class F, int V, int K, class... In>
void launch_blocks(const char* op, const F& f, BlockSpace<V, K> space, void* out,
                   const ArrayInput<In>&... in) {
  space.aligned = space.aligned && is_vector_aligned<MemoryType<Out>, V>(out) &&
                  ((in.constant || is_vector_aligned<MemoryType<In>, V>(in.data)) && ...);
  const LaunchSite site(out);
  launch(op, blocks_kernel<V, F, Out, In...>, site.blocks(space.blocks), kThreads, site.stream(), f,
         space, static_cast<MemoryType<Out>*>(out), in...);
}

template <class Out, class... In, class F>
void launch_contiguous(const char* op, const F& f, int64_t count, void* out,
                       const ArrayInput<In>&... in) {
  launch_blocks<Out>(op, f, BlockSpaceOf<Out, In...>::one_row(count), out, in...);
}

/// True when operand k of a merged iteration space is an array without gaps along each row.
inline bool is_array(const PointwiseArgs& args, int k) {
  return args.ndim == 0 || args.strides[k][0] == item_size(args.dtype[k]);
}

/// True when it has one value along each row.
inline bool is_constant(const PointwiseArgs& args, int k) {
  return args.is_number[k] || (args.ndim > 0 && args.strides[k][0] == 0);
}

template <int V, int K>
std::optional<BlockSpace<V, K>> BlockSpace<V, K>::rows(const PointwiseArgs& args) {
  if (args.ndim <= 1) return one_row(args.numel);
  const int64_t across = (args.shape[0] + V - 1) / V;
  if (args.ndim > kMaxRowDims + 1 || across < 2 || args.numel >= limits().elements) return {};
  BlockSpace space = one_row(args.shape[0]);
  space.across = FastDivisor(static_cast<uint32_t>(across));
  space.blocks = across * (args.numel / args.shape[0]);
  space.outer = args.ndim - 1;
  for (int d = 0; d < space.outer; ++d) {
    space.sizes[d] = FastDivisor(static_cast<uint32_t>(args.shape[d + 1]));
    for (int k = 0; k < K; ++k) {
      if (args.is_number[k]) continue;
      space.strides[k][d] = args.strides[k][d + 1] / item_size(args.dtype[k]);
      if (is_array(args, k)) space.aligned = space.aligned && space.strides[k][d] % V == 0;
    }
  }
  return space;
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
