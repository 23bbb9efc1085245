#pragma once

// Elements between memory and registers: what a kernel loads, computes in, and stores.

#include <aorta/core/dtype.h>
#include <aorta/core/scalar/convert.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace aorta::cuda {

/// The type that arithmetic on T is done in.
template <class T>
using ComputeType = std::conditional_t<scalar::is_half_type<T>, float, T>;

/// What lies in memory for T: any byte but 0 is a true bool.
template <class T>
using MemoryType = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

/// Conversion with the GPU's own instructions for half types: the same values as
/// scalar::convert_value.
template <class To, class From>
__device__ __forceinline__ To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, Half>) {
    return convert<To>(__half2float(__ushort_as_half(x.bits)));
  } else if constexpr (std::is_same_v<To, Half>) {
    To result;
    result.bits = __half_as_ushort(__float2half_rn(static_cast<float>(x)));
    return result;
  } else if constexpr (std::is_same_v<To, BFloat16> && !std::is_same_v<From, BFloat16>) {
    To result;
    result.bits = __bfloat16_as_ushort(__float2bfloat16_rn(scalar::convert_value<float>(x)));
    return result;
  } else {
    return scalar::convert_value<To>(x);
  }
}

/// The element of T at `data` as a C.
template <class C, class T>
__device__ __forceinline__ C load(const void* data) {
  if constexpr (std::is_same_v<T, bool>) {
    return convert<C>(*static_cast<const uint8_t*>(data) != 0);
  } else {
    return convert<C>(*static_cast<const T*>(data));
  }
}

template <class T, class C>
__device__ __forceinline__ void store(void* data, C value) {
  if constexpr (std::is_same_v<T, bool>) {
    *static_cast<uint8_t*>(data) = convert<bool>(value) ? 1 : 0;
  } else {
    *static_cast<T*>(data) = convert<T>(value);
  }
}

/// The element as a C for a dtype that is known when the kernel runs; it is one for all threads.
template <class C>
__device__ __forceinline__ C load(const void* data, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return load<C, float>(data);
    case DType::f64:
      return load<C, double>(data);
    case DType::f16:
      return load<C, Half>(data);
    case DType::bf16:
      return load<C, BFloat16>(data);
    case DType::i64:
      return load<C, int64_t>(data);
    case DType::i32:
      return load<C, int32_t>(data);
    case DType::u8:
      return load<C, uint8_t>(data);
    case DType::boolean:
    case DType::c64:  // complex ones are real ones in kernels
    case DType::c128:
      break;
  }
  return load<C, bool>(data);
}

template <class C>
__device__ __forceinline__ void store(void* data, DType dtype, C value) {
  switch (dtype) {
    case DType::f32:
      return store<float>(data, value);
    case DType::f64:
      return store<double>(data, value);
    case DType::f16:
      return store<Half>(data, value);
    case DType::bf16:
      return store<BFloat16>(data, value);
    case DType::i64:
      return store<int64_t>(data, value);
    case DType::i32:
      return store<int32_t>(data, value);
    case DType::u8:
      return store<uint8_t>(data, value);
    case DType::boolean:
      return store<bool>(data, value);
    case DType::c64:
    case DType::c128:
      return;
  }
}

/// V neighbours in memory, loaded and stored at once; at most 16 bytes.
template <class T, int V>
struct alignas(sizeof(T) * V) Vector {
  T element[V];
};

template <class T, int V>
bool is_vector_aligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % (sizeof(T) * V) == 0;
}

/// Elements of M that a thread takes at a time: 16 bytes.
template <class M>
inline constexpr int kBlock = 16 / static_cast<int>(sizeof(M));

/// V neighbours from `data` on, of which `there` are in memory; the others become 0. `whole`: all
/// are there, and aligned.
template <class M, int V>
__device__ __forceinline__ void read_block(ComputeType<M> (&values)[V], const M* data, int there,
                                           bool whole) {
  if (whole) {
    const auto block = *reinterpret_cast<const Vector<M, V>*>(data);
#pragma unroll
    for (int j = 0; j < V; ++j) values[j] = convert<ComputeType<M>>(block.element[j]);
  } else {
#pragma unroll
    for (int j = 0; j < V; ++j)
      values[j] = j < there ? load<ComputeType<M>, M>(data + j) : ComputeType<M>(0);
  }
}
/// Writes such neighbours: elements that are not there are not written.
template <class M, int V>
__device__ __forceinline__ void write_block(M* data, const ComputeType<M> (&values)[V], int there,
                                            bool whole) {
  if (whole) {
    Vector<M, V> block;
#pragma unroll
    for (int j = 0; j < V; ++j) block.element[j] = convert<M>(values[j]);
    *reinterpret_cast<Vector<M, V>*>(data) = block;
  } else {
#pragma unroll
    for (int j = 0; j < V; ++j) {
      if (j < there) data[j] = convert<M>(values[j]);
    }
  }
}

}  // namespace aorta::cuda
