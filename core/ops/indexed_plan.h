#pragma once

#include <aorta/core/body/indexing.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/tensor.h>

#include <functional>
#include <span>

// What the indexing ops share between their files; not for users.

namespace aorta::kernel {

/// `index` as an i64 tensor that doesn't share memory with `written` (if any): i64 or i32, on the
/// device of `table`.
Tensor prepare_index(const char* op, const Tensor& index, const Tensor& table,
                     const Tensor* written = nullptr);

/// What a check of indices gives: those to use, in range, and the place of a bad one, or -1.
struct CheckedIndex {
  Tensor inside;
  int64_t bad;
};
/// Checks the contiguous i64 `index` against [0, size), or [-size, size) where `negative` ones are
/// allowed. A device answers later, with an error at a wait.
CheckedIndex check_values(const Tensor& index, int64_t size, bool negative);

/// Checks every index against a dimension of `size`, which the error calls `dim`, and gives those
/// to use.
Tensor check_index(const char* op, const Tensor& index, int dim, int64_t size, bool negative);

/// Rows of `table` (V, ...) at `indices` (n), which check_index has given: (n, ...). No gradient.
Tensor read_rows(const Tensor& table, const Tensor& indices);
/// Adds `values` to what a gather along `dim` has read of `table` at `index`, which it has checked.
void add_along(const Tensor& table, int dim, const Tensor& index, const Tensor& values);
/// Adds rows of `values` (n, ...) to those of `table` at such indices.
void add_rows(const Tensor& table, const Tensor& indices, const Tensor& values);

/// `mode`, or its equal for bool: amax for sum (or), amin for prod (and).
body::ScatterMode mode_for(DType dtype, body::ScatterMode mode);

/// An index tensor over the iteration space: strides (0 where it is broadcast), and the stride in
/// the table of the dimension that it indexes.
struct PlannedIndex {
  const int64_t* data;
  Strides strides;
  int64_t step;
};

/// A tensor, and its strides over the iteration space.
struct PlannedTensor {
  const Tensor& tensor;
  const Strides& strides;
};

/// Orders and merges dimensions as IndexedArgs says. The table's strides are 0 along indexed
/// dimensions. A write keeps the order of the dimensions that aren't free.
body::IndexedArgs plan_indexed(const Shape& shape, PlannedTensor values, PlannedTensor table,
                               std::span<const PlannedIndex> indices, bool write);

/// What a plan for values (of `shape`) and a table of any strides is made by.
struct Planner {
  Shape shape;
  std::function<body::IndexedArgs(const Tensor& values, const Tensor& table, bool write)> plan;
};
/// table = combine(mode, table, values) of half types, in f32 and rounded once.
void combine_half(ScatterKernel scatter, GatherKernel gather, body::ScatterMode mode,
                  const Planner& planner, const Tensor& table, const Tensor& values);

}  // namespace aorta::kernel
