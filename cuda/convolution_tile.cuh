#pragma once

// The product of a convolution's tile: 128 x 64 sums by a block of 256 threads, which goes through
// the terms in chunks of 64 bytes a row. While one chunk is multiplied from shared memory, the next
// is on its way from memory to registers.
//
//                        b: chunk x 64
//                       +------------+
//                       | row k      |    What a and b are, and where the sums go, a loader knows
//                       +------------+    (convolution.cu). In shared memory a lies by rows, as it
//      a: 128 x chunk   +------------+    was read where a position's channels are neighbours, or
//     +---+             |            |    by columns, where the channels are a's rows.
//     |   |             |            |
//     |   |             |    sums    |    f32 and f64: 16 x 16 threads of 8 x 4 sums each.
//     |   |             |            |    Halves:      4 x 2 warps of 2 x 2 tiles of 16 x 16 on
//     |   |             |            |                 tensor cores, summed in f32.
//     +---+             +------------+

#include <aorta/core/scalar/math.h>
#include <aorta/cuda/convolution_shape.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>
#include <aorta/cuda/tensor_core.cuh>

namespace aorta::cuda {

/// A chunk of terms; M is an element's type. Rows are padded, so that threads that read down a
/// column take different banks.
template <class M, bool by_row>
struct ConvTile {
  static constexpr int kVector = 16 / static_cast<int>(sizeof(M));  // loaded at once
  static constexpr int kDepth = 4 * kVector;                        // terms of a chunk
  static constexpr bool kByRow = by_row;
  static constexpr int kAStep = (by_row ? kDepth : kConvRows) + kVector;
  static constexpr int kBStep = kConvColumns + kVector;
  using Value = M;
  using Run = Vector<M, kVector>;

  alignas(32) M a[(by_row ? kConvRows : kDepth) * kAStep];
  alignas(32) M b[kDepth * kBStep];

  static __device__ __forceinline__ Run& run_at(M* place) { return *reinterpret_cast<Run*>(place); }
  static __device__ __forceinline__ const Run& run_at(const M* place) {
    return *reinterpret_cast<const Run*>(place);
  }
};

/// What a thread brings of a chunk: two runs of a and one of b.
template <class Tile>
struct ConvStage {
  using Run = typename Tile::Run;
  static constexpr int kRunsOfRow = kConvRows / Tile::kVector;  // of a row of a by columns
  static constexpr int kRunsOfB = kConvColumns / Tile::kVector;

  Run a[2], b;

  static __device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x); }
  static __device__ __forceinline__ int a_row(int i) {
    return Tile::kByRow ? thread() / 4 + i * kConvRows / 2 : thread() % kRunsOfRow * Tile::kVector;
  }
  static __device__ __forceinline__ int a_term(int i) {
    return Tile::kByRow ? thread() % 4 * Tile::kVector
                        : thread() / kRunsOfRow + i * Tile::kDepth / 2;
  }
  static __device__ __forceinline__ int b_term() { return thread() / kRunsOfB; }
  static __device__ __forceinline__ int b_column() { return thread() % kRunsOfB * Tile::kVector; }

  __device__ __forceinline__ void put(Tile& tile) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int place =
          Tile::kByRow ? a_row(i) * Tile::kAStep + a_term(i) : a_term(i) * Tile::kAStep + a_row(i);
      Tile::run_at(tile.a + place) = a[i];
    }
    Tile::run_at(tile.b + b_term() * Tile::kBStep + b_column()) = b;
  }
};

/// 8 x 4 sums of a thread, by fused multiply-adds.
template <class Tile>
class ThreadProduct {
 public:
  using Sum = typename Tile::Value;
  static constexpr int kRun = 4;  // sums side by side
  struct Scratch {};

  __device__ __forceinline__ void add(const Tile& tile) {
    // Kept a loop: its step's loads and products are enough to fill both pipes.
#pragma unroll 1
    for (int k = 0; k < Tile::kDepth; k += Tile::kVector) {
      if constexpr (Tile::kByRow) {
        add_rows(tile, k);
      } else {
        add_columns(tile, k);
      }
    }
  }

  /// write(row, column, sums) for every run of sums.
  template <class Write>
  __device__ __forceinline__ void finish(Scratch&, const Write& write) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) write(row() + r, column(), sums_[r]);
  }

 private:
  static constexpr int kRows = 8;

  static __device__ __forceinline__ int row() { return static_cast<int>(threadIdx.x) / 16 * kRows; }
  static __device__ __forceinline__ int column() {
    return static_cast<int>(threadIdx.x) % 16 * kRun;
  }

  static __device__ __forceinline__ void read_b(const Tile& tile, int term, Sum (&b)[kRun]) {
#pragma unroll
    for (int c = 0; c < kRun; c += Tile::kVector) {
      const auto run = Tile::run_at(tile.b + term * Tile::kBStep + column() + c);
#pragma unroll
      for (int j = 0; j < Tile::kVector; ++j) b[c + j] = run.element[j];
    }
  }

  // A run of a is one row's next terms.
  __device__ __forceinline__ void add_rows(const Tile& tile, int k) {
    Sum b[Tile::kVector][kRun];
#pragma unroll
    for (int i = 0; i < Tile::kVector; ++i) read_b(tile, k + i, b[i]);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const auto a = Tile::run_at(tile.a + (row() + r) * Tile::kAStep + k);
#pragma unroll
      for (int i = 0; i < Tile::kVector; ++i) {
#pragma unroll
        for (int c = 0; c < kRun; ++c)
          sums_[r][c] = scalar::fma(a.element[i], b[i][c], sums_[r][c]);
      }
    }
  }
  // A run of a is one term of neighbouring rows.
  __device__ __forceinline__ void add_columns(const Tile& tile, int k) {
#pragma unroll
    for (int i = 0; i < Tile::kVector; ++i) {
      Sum b[kRun];
      read_b(tile, k + i, b);
#pragma unroll
      for (int r = 0; r < kRows; r += Tile::kVector) {
        const auto a = Tile::run_at(tile.a + (k + i) * Tile::kAStep + row() + r);
#pragma unroll
        for (int j = 0; j < Tile::kVector; ++j) {
#pragma unroll
          for (int c = 0; c < kRun; ++c)
            sums_[r + j][c] = scalar::fma(a.element[j], b[c], sums_[r + j][c]);
        }
      }
    }
  }

  Sum sums_[kRows][kRun] = {};
};

/// 32 x 32 sums of a warp, by tensor cores.
template <class Tile>
class WarpProduct {
 public:
  using Sum = float;
  static constexpr int kRun = 8;
  /// A tile of each warp's sums at a time, for only memory has an order of elements.
  struct alignas(32) Scratch {
    float sums[kThreads / 32][16 * 20];
  };

  __device__ __forceinline__ void add(const Tile& tile) {
#pragma unroll
    for (int k = 0; k < Tile::kDepth; k += 16) {
      const int a = Tile::kByRow ? row() * Tile::kAStep + k : k * Tile::kAStep + row();
      sums_.add(tile.a + a, Tile::kAStep, tile.b + k * Tile::kBStep + column(), Tile::kBStep);
    }
  }

  template <class Write>
  __device__ __forceinline__ void finish(Scratch& scratch, const Write& write) const {
    float* const patch = scratch.sums[threadIdx.x / 32];
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        sums_.store(r, c, patch, 20);
        __syncwarp();
        float run[kRun];
#pragma unroll
        for (int i = 0; i < kRun; ++i) run[i] = patch[lane / 2 * 20 + lane % 2 * kRun + i];
        write(row() + r * 16 + lane / 2, column() + c * 16 + lane % 2 * kRun, run);
        __syncwarp();
      }
    }
  }

 private:
  static __device__ __forceinline__ int row() { return static_cast<int>(threadIdx.x) / 64 * 32; }
  static __device__ __forceinline__ int column() {
    return static_cast<int>(threadIdx.x) / 32 % 2 * 32;
  }

  WarpSums<typename Tile::Value, Tile::kByRow, 2, 2> sums_;
};

template <class Tile>
using ConvProduct = std::conditional_t<std::is_floating_point_v<typename Tile::Value>,
                                       ThreadProduct<Tile>, WarpProduct<Tile>>;

/// Sums the loader's chunks; the block's threads meet twice a chunk.
template <class Tile, class Loader>
__device__ __forceinline__ void multiply_chunks(Tile& tile, Loader& loader,
                                                ConvProduct<Tile>& product) {
  const int64_t chunks = loader.chunks();
  ConvStage<Tile> stage;
  if (chunks > 0) loader.load(stage);
#pragma unroll 1
  for (int64_t i = 0; i < chunks; ++i) {
    stage.put(tile);
    __syncthreads();
    if (i + 1 < chunks) loader.load(stage);
    product.add(tile);
    __syncthreads();
  }
}

/// Whether channels are loaded and stored 16 bytes at a time.
inline bool is_run_aligned(const void* data, int64_t channels, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && channels * item_size(dtype) % 16 == 0;
}

/// Blocks for loops over tiles: some rounds of what a device runs at once.
inline unsigned tile_blocks(int64_t tiles, int device) {
  return grid_blocks(std::min<int64_t>(tiles, int64_t{multiprocessor_count(device)} * 8));
}

}  // namespace aorta::cuda
