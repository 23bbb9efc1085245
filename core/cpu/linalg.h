#pragma once

// Batches of matrices for Eigen, a matrix a piece of work. Each decomposition has a file of its
// own, for Eigen's templates take long to compile.

#include <aorta/core/ops/linalg.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/resource_error.h>

// Eigen's own threads would make results depend on their number.
#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <algorithm>
#include <new>

namespace aorta::cpu {

template <class T>
using Columns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using In = Eigen::Map<const Rows<T>>;
template <class T>
using Out = Eigen::Map<Rows<T>>;

// Matrix `i` of a batch of (rows, columns).
template <class T>
In<T> matrix_of(const void* data, int64_t i, int64_t rows, int64_t columns) {
  return {static_cast<const T*>(data) + i * rows * columns, rows, columns};
}
template <class T>
Out<T> matrix_of(void* data, int64_t i, int64_t rows, int64_t columns) {
  return {static_cast<T*>(data) + i * rows * columns, rows, columns};
}

// body(a, i), true where it succeeds, for the finite matrices of the batch.
template <class T, class Body>
void each(const DecompositionArgs& args, const Body& body) {
  const int64_t work = std::max<int64_t>(args.m * args.n * std::min(args.m, args.n), 1);
  const int64_t grain = std::max<int64_t>(16384 / work, 1);
  parallel_for(0, args.count, grain, [&](int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      const In<T> a = matrix_of<T>(args.a, i, args.m, args.n);
      args.states[i] = !a.allFinite() ? MatrixState::not_finite
                       : body(a, i)   ? MatrixState::fine
                                      : MatrixState::failed;
    }
  });
}

// run(T{}); Eigen takes memory of its own, and says std::bad_alloc where there is none.
template <class Args, class F>
void in_dtype(const Args& args, const F& run) {
  try {
    if (args.dtype == DType::f64)
      run(double{});
    else
      run(float{});
  } catch (const std::bad_alloc&) {
    fail_for_resources("linalg", "there must be memory for the matrices on the way", "a batch of ",
                       args.count, ", ", name(args.dtype));
  }
}

}  // namespace aorta::cpu
