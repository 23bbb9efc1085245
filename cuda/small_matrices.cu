#include <aorta/cuda/small_matrices.h>

#include <algorithm>
#include <aorta/cuda/launch.cuh>
#include <cmath>

namespace aorta::cuda {
namespace {

constexpr int kSize = static_cast<int>(kSmallMatrix);
constexpr int kBlock = 128;
// Columns of right-hand sides that are worked at together.
constexpr int kColumns = 16;

template <class T>
struct Tile {
  T a[kSize][kSize + 1];
  T b[kSize][kColumns + 1];
  int order[kSize];  // which row of the matrix has come to which place
  int place;         // of the pivot
  unsigned bad;      // numbers that aren't finite
};

/// Calls f(i, j) for all rows and columns from a first one on, shared out over the block.
template <class F>
__device__ void each_place(int first_row, int rows, int first_column, int columns, const F& f) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  for (int i = first_row + warp; i < rows; i += kBlock / 32)
    for (int j = first_column + lane; j < columns; j += 32) f(i, j);
}

/// Reads a matrix, of which `read(i, j)` says what counts, and sees whether it is finite.
template <class T, class Read>
__device__ bool load(Tile<T>& tile, int m, int n, const Read& read) {
  if (threadIdx.x == 0) tile.bad = 0;
  __syncthreads();
  bool finite = true;
  each_place(0, m, 0, n, [&](int i, int j) {
    const T value = read(i, j);
    tile.a[i][j] = value;
    finite = finite && std::isfinite(value);
  });
  if (!finite) atomicAdd(&tile.bad, 1u);
  __syncthreads();
  return tile.bad == 0;
}

template <class T>
__device__ bool factor_cholesky(Tile<T>& tile, int n) {
  for (int j = 0; j < n; ++j) {
    const T pivot = tile.a[j][j];
    __syncthreads();
    if (!(pivot > T(0))) return false;
    const T root = std::sqrt(pivot);
    for (int i = j + static_cast<int>(threadIdx.x); i < n; i += kBlock)
      tile.a[i][j] = i == j ? root : tile.a[i][j] / root;
    __syncthreads();
    each_place(j + 1, n, j + 1, n, [&](int i, int k) {
      if (k <= i) tile.a[i][k] -= tile.a[i][j] * tile.a[k][j];
    });
    __syncthreads();
  }
  return true;
}

/// The row from j on whose number in column j is the largest, the first of them.
template <class T>
__device__ void find_pivot(Tile<T>& tile, int m, int j) {
  if (threadIdx.x >= 32) return;
  T largest = T(-1);
  int place = j;
  for (int i = j + static_cast<int>(threadIdx.x); i < m; i += 32) {
    const T size = std::abs(tile.a[i][j]);
    if (size > largest) {
      largest = size;
      place = i;
    }
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, largest, distance);
    const int other_place = __shfl_xor_sync(0xffffffffu, place, distance);
    if (other > largest || (other == largest && other_place < place)) {
      largest = other;
      place = other_place;
    }
  }
  if (threadIdx.x == 0) tile.place = place;
}

/// L and U in the matrix's place, by swapping rows; `swapped(j, place)` is told of each swap. False
/// where a pivot is zero.
template <class T, class Swapped>
__device__ bool factor(Tile<T>& tile, int m, int n, const Swapped& swapped) {
  bool regular = true;
  for (int i = static_cast<int>(threadIdx.x); i < m; i += kBlock) tile.order[i] = i;
  __syncthreads();
  for (int j = 0; j < std::min(m, n); ++j) {
    find_pivot(tile, m, j);
    __syncthreads();
    const int place = tile.place;
    if (threadIdx.x == 0) {
      swapped(j, place);
      const int row = tile.order[j];
      tile.order[j] = tile.order[place];
      tile.order[place] = row;
    }
    if (place != j) {
      for (int k = static_cast<int>(threadIdx.x); k < n; k += kBlock) {
        const T number = tile.a[j][k];
        tile.a[j][k] = tile.a[place][k];
        tile.a[place][k] = number;
      }
    }
    __syncthreads();
    const T pivot = tile.a[j][j];
    if (pivot == T(0)) {
      regular = false;
      continue;
    }
    for (int i = j + 1 + static_cast<int>(threadIdx.x); i < m; i += kBlock) tile.a[i][j] /= pivot;
    __syncthreads();
    each_place(j + 1, m, j + 1, n,
               [&](int i, int k) { tile.a[i][k] -= tile.a[i][j] * tile.a[j][k]; });
    __syncthreads();
  }
  return regular;
}

/// Right-hand sides become solutions of a triangle, from its first row on or from its last.
template <class T>
__device__ void substitute(Tile<T>& tile, int n, int columns, bool upper, bool unit) {
  const int column = static_cast<int>(threadIdx.x) % kColumns;
  const int line = static_cast<int>(threadIdx.x) / kColumns;
  for (int step = 0; step < n; ++step) {
    const int k = upper ? n - 1 - step : step;
    if (!unit) {
      if (line == 0 && column < columns) tile.b[k][column] /= tile.a[k][k];
      __syncthreads();
    }
    const int first = upper ? 0 : k + 1, end = upper ? k : n;
    for (int i = first + line; i < end; i += kBlock / kColumns)
      if (column < columns) tile.b[i][column] -= tile.a[i][k] * tile.b[k][column];
    __syncthreads();
  }
}

/// A batch of matrices (count, m, n), and what is found of each: kFine or why not.
template <class T>
struct Matrices {
  const T* all;
  int32_t* found;
  int64_t count;
  int m, n;
  __device__ __forceinline__ const T* at(int64_t matrix) const { return all + matrix * m * n; }
};
/// Right sides (count, n, columns) of a batch, and its solutions.
template <class T>
struct Sides {
  const T* given;
  T* solutions;
  int64_t columns;
};

/// The solutions x (n, c) of a matrix, of its b (n, c), some columns at a time; `solve(columns)`
/// for what is in the tile.
template <class T, class Row, class Solve>
__device__ void each_side(Tile<T>& tile, const Sides<T>& sides, int64_t matrix, int n,
                          const Row& row, const Solve& solve) {
  const int64_t c = sides.columns;
  const T* const b = sides.given + matrix * n * c;
  T* const x = sides.solutions + matrix * n * c;
  const int column = static_cast<int>(threadIdx.x) % kColumns;
  const int line = static_cast<int>(threadIdx.x) / kColumns;
  for (int64_t first = 0; first < c; first += kColumns) {
    const int columns = static_cast<int>(std::min(int64_t{kColumns}, c - first));
    for (int i = line; i < n; i += kBlock / kColumns)
      if (column < columns) tile.b[i][column] = b[row(i) * c + first + column];
    __syncthreads();
    solve(columns);
    for (int i = line; i < n; i += kBlock / kColumns)
      if (column < columns) x[i * c + first + column] = tile.b[i][column];
    __syncthreads();
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    cholesky_kernel(const __grid_constant__ Matrices<T> matrices, T* results) {
  const int n = matrices.n;
  AORTA_SHARED(Tile<T>, shared, [1]);
  Tile<T>& tile = shared[0];
  for (int64_t matrix = blockIdx.x; matrix < matrices.count; matrix += gridDim.x) {
    const T* const a = matrices.at(matrix);
    T* const result = results + matrix * n * n;
    // The lower triangle is read, and of the upper one whether it is finite.
    const bool finite = load(tile, n, n, [&](int i, int j) { return a[i * n + j]; });
    const bool fine = finite && factor_cholesky(tile, n);
    each_place(0, n, 0, n,
               [&](int i, int j) { result[i * n + j] = fine && j <= i ? tile.a[i][j] : T(0); });
    if (threadIdx.x == 0) matrices.found[matrix] = !finite ? kNotFinite : fine ? kFine : kFailed;
    __syncthreads();
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    lu_factor_kernel(const __grid_constant__ Matrices<T> matrices, T* results,
                     int32_t* all_pivots) {
  const int m = matrices.m, n = matrices.n;
  AORTA_SHARED(Tile<T>, shared, [1]);
  Tile<T>& tile = shared[0];
  for (int64_t matrix = blockIdx.x; matrix < matrices.count; matrix += gridDim.x) {
    const T* const a = matrices.at(matrix);
    T* const result = results + matrix * m * n;
    int32_t* const pivots = all_pivots + matrix * std::min(m, n);
    const bool finite = load(tile, m, n, [&](int i, int j) { return a[i * n + j]; });
    if (finite) {
      factor(tile, m, n, [&](int j, int place) { pivots[j] = place + 1; });
    } else {
      for (int j = static_cast<int>(threadIdx.x); j < std::min(m, n); j += kBlock)
        pivots[j] = j + 1;
    }
    each_place(0, m, 0, n, [&](int i, int j) { result[i * n + j] = tile.a[i][j]; });
    if (threadIdx.x == 0) matrices.found[matrix] = finite ? kFine : kNotFinite;
    __syncthreads();
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    solve_kernel(const __grid_constant__ Matrices<T> matrices,
                 const __grid_constant__ Sides<T> sides) {
  const int n = matrices.n;
  AORTA_SHARED(Tile<T>, shared, [1]);
  Tile<T>& tile = shared[0];
  for (int64_t matrix = blockIdx.x; matrix < matrices.count; matrix += gridDim.x) {
    const T* const a = matrices.at(matrix);
    const bool finite = load(tile, n, n, [&](int i, int j) { return a[i * n + j]; });
    const bool fine = finite && factor(tile, n, n, [](int, int) {});
    each_side(
        tile, sides, matrix, n, [&](int i) { return fine ? tile.order[i] : i; },
        [&](int columns) {
          if (!fine) return;
          substitute(tile, n, columns, false, true);
          substitute(tile, n, columns, true, false);
        });
    if (threadIdx.x == 0) matrices.found[matrix] = !finite ? kNotFinite : fine ? kFine : kFailed;
    __syncthreads();
  }
}

struct Triangle {
  bool upper, unit;
  __device__ bool has(int i, int j) const { return i == j ? !unit : upper ? j > i : j < i; }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    solve_triangular_kernel(const __grid_constant__ Matrices<T> matrices,
                            const __grid_constant__ Sides<T> sides, Triangle triangle) {
  const int n = matrices.n;
  AORTA_SHARED(Tile<T>, shared, [1]);
  Tile<T>& tile = shared[0];
  for (int64_t matrix = blockIdx.x; matrix < matrices.count; matrix += gridDim.x) {
    const T* const a = matrices.at(matrix);
    const bool finite = load(tile, n, n, [&](int i, int j) {
      return triangle.has(i, j) ? a[i * n + j] : i == j ? T(1) : T(0);
    });
    bool fine = finite;
    for (int i = 0; i < n; ++i) fine = fine && tile.a[i][i] != T(0);
    each_side(
        tile, sides, matrix, n, [](int i) { return i; },
        [&](int columns) {
          if (fine) substitute(tile, n, columns, triangle.upper, triangle.unit);
        });
    if (threadIdx.x == 0) matrices.found[matrix] = !finite ? kNotFinite : fine ? kFine : kFailed;
    __syncthreads();
  }
}

/// run(site, T{}, blocks) in the matrices' dtype.
template <class Run>
void in_dtype(const DecompositionArgs& args, const Run& run) {
  const LaunchSite site(args.a);
  const unsigned blocks = grid_blocks(args.count);
  args.dtype == DType::f64 ? run(site, double{}, blocks) : run(site, float{}, blocks);
}

template <class T, class Args>
Matrices<T> matrices_of(const Args& args, int32_t* found) {
  return {static_cast<const T*>(args.a), found, args.count, static_cast<int>(args.m),
          static_cast<int>(args.n)};
}
template <class T>
Sides<T> sides_of(const SolveArgs& args) {
  return {static_cast<const T*>(args.b), static_cast<T*>(args.x), args.c};
}

}  // namespace

void small_cholesky(const TwoFactorsArgs& args, int32_t* found) {
  in_dtype(args, [&]<class T>(const LaunchSite& site, T, unsigned blocks) {
    launch("cholesky", cholesky_kernel<T>, blocks, kBlock, site.stream(),
           matrices_of<T>(args, found), static_cast<T*>(args.first));
  });
}

void small_lu_factor(const TwoFactorsArgs& args, int32_t* found) {
  in_dtype(args, [&]<class T>(const LaunchSite& site, T, unsigned blocks) {
    launch("lu_factor", lu_factor_kernel<T>, blocks, kBlock, site.stream(),
           matrices_of<T>(args, found), static_cast<T*>(args.first),
           static_cast<int32_t*>(args.second));
  });
}

void small_solve(const SolveArgs& args, int32_t* found) {
  in_dtype(args, [&]<class T>(const LaunchSite& site, T, unsigned blocks) {
    launch("solve", solve_kernel<T>, blocks, kBlock, site.stream(), matrices_of<T>(args, found),
           sides_of<T>(args));
  });
}

void small_solve_triangular(const SolveArgs& args, int32_t* found) {
  in_dtype(args, [&]<class T>(const LaunchSite& site, T, unsigned blocks) {
    launch("solve_triangular", solve_triangular_kernel<T>, blocks, kBlock, site.stream(),
           matrices_of<T>(args, found), sides_of<T>(args),
           Triangle{args.upper, args.unitriangular});
  });
}

}  // namespace aorta::cuda
