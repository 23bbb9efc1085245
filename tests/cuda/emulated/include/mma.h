#pragma once

// Tensor cores as cuda/tensor_core.cuh uses them: tiles of 16 x 16, halves in and f32 sums. CUDA
// leaves open which lane holds what; here lane l has elements 8 (l % 2) ... of row l / 2.
// CUDA C++ Programming Guide, "Warp Matrix Functions".

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <source_location>
#include <type_traits>

namespace aorta::emulated {

/// Waits for all lanes of the warp; `all` becomes their 16 bytes at `value`, by lane.
void exchange_all(const void* value, void* all, Site site);
/// Waits for all lanes, which load or store a matrix whose rows are `step` bytes apart.
void meet_for_matrix(const void* matrix, size_t step, Site site);

}  // namespace aorta::emulated

namespace nvcuda::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int m, int n, int k, class T, class Order = void>
struct fragment;
template <class Use, class T, class Order>
struct fragment<Use, 16, 16, 16, T, Order> {
  T element[8];
};

namespace emulated {

inline float value_of(__half x) { return __half2float(x); }
inline float value_of(__nv_bfloat16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

/// Where this lane's element i lies in a matrix.
template <bool by_row>
size_t place_of(int i, unsigned step) {
  const unsigned row = static_cast<unsigned>(aorta::emulated::lane()) / 2;
  const unsigned column = static_cast<unsigned>(aorta::emulated::lane()) % 2 * 8 + unsigned(i);
  return by_row ? size_t{row} * step + column : size_t{column} * step + row;
}

}  // namespace emulated

template <class T>
void fill_fragment(fragment<accumulator, 16, 16, 16, T>& to, T value) {
  for (T& element : to.element) element = value;
}

template <class Use, class T, class Order>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, Order>& to, const T* from, unsigned step,
                      std::source_location site = std::source_location::current()) {
  aorta::emulated::meet_for_matrix(from, step * sizeof(T), site);
  constexpr bool by_row = std::is_same_v<Order, row_major>;
  for (int i = 0; i < 8; ++i) to.element[i] = from[emulated::place_of<by_row>(i, step)];
}

template <class T>
void store_matrix_sync(T* to, const fragment<accumulator, 16, 16, 16, T>& from, unsigned step,
                       layout_t layout,
                       std::source_location site = std::source_location::current()) {
  aorta::emulated::meet_for_matrix(to, step * sizeof(T), site);
  for (int i = 0; i < 8; ++i) {
    to[layout == mem_row_major ? emulated::place_of<true>(i, step)
                               : emulated::place_of<false>(i, step)] = from.element[i];
  }
}

template <class T, class AOrder, class BOrder>
void mma_sync(fragment<accumulator, 16, 16, 16, float>& to,
              const fragment<matrix_a, 16, 16, 16, T, AOrder>& a,
              const fragment<matrix_b, 16, 16, 16, T, BOrder>& b,
              const fragment<accumulator, 16, 16, 16, float>& added,
              std::source_location site = std::source_location::current()) {
  T left[32][8], right[32][8];
  aorta::emulated::exchange_all(a.element, left, site);
  aorta::emulated::exchange_all(b.element, right, site);
  const int lane = aorta::emulated::lane();
  for (int i = 0; i < 8; ++i) {
    float sum = added.element[i];
    for (int k = 0; k < 16; ++k) {
      sum += emulated::value_of(left[lane / 2 * 2 + k / 8][k % 8]) *
             emulated::value_of(right[k * 2 + lane % 2][i]);
    }
    to.element[i] = sum;
  }
}

}  // namespace nvcuda::wmma

// Instructions that CUDA C++ has no names for; cuda/tensor_core.cuh says what a lane has.
#define AORTA_PTX(call, ...) ::aorta::emulated::call

namespace aorta::emulated {

template <bool transposed, class M>
void load_blocks(uint32_t (&to)[4], const M* row,
                 std::source_location site = std::source_location::current()) {
  struct alignas(16) Row {
    M element[8];
  };
  const Row own = *reinterpret_cast<const Row*>(row);
  Row all[32];
  exchange_all(&own, all, site);
  for (int block = 0; block < 4; ++block) {
    M pair[2];
    for (int i = 0; i < 2; ++i) {
      const int line = lane() / 4, place = lane() % 4 * 2 + i;
      pair[i] =
          transposed ? all[block * 8 + place].element[line] : all[block * 8 + line].element[place];
    }
    std::memcpy(&to[block], pair, sizeof pair);
  }
}

template <class M>
void multiply_blocks(float& x, float& y, float& z, float& w, const uint32_t (&a)[4], uint32_t b_low,
                     uint32_t b_high, std::source_location site = std::source_location::current()) {
  M left[32][4][2], right[32][4][2];  // by lane and block
  const uint32_t b[4] = {b_low, b_high, 0, 0};
  exchange_all(a, left, site);
  exchange_all(b, right, site);
  const auto add = [&](float& sum, int row, int column) {
    for (int k = 0; k < 16; ++k) {
      sum += nvcuda::wmma::emulated::value_of(
                 left[row % 8 * 4 + k % 8 / 2][row / 8 + k / 8 * 2][k % 2]) *
             nvcuda::wmma::emulated::value_of(right[column * 4 + k % 8 / 2][k / 8][k % 2]);
    }
  };
  const int row = lane() / 4, column = lane() % 4 * 2;
  add(x, row, column);
  add(y, row, column + 1);
  add(z, row + 8, column);
  add(w, row + 8, column + 1);
}

inline void power_of_two(float& result, float x) { result = ::exp2f(x); }

}  // namespace aorta::emulated
