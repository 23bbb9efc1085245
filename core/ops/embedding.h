#pragma once

#include <aorta/core/dispatch/op_table.h>

#include <optional>

namespace aorta {

/// Rows of `weight` (V, D), any dtype: input (*) of i64 or i32 -> (*, D). The row `padding_idx`
/// (counted from the end when negative) gets a gradient of 0. The weight's gradient adds up rows in
/// the order of the input, the same bits for any number of threads, and half types in f32. With
/// `sparse` it has the rows that were read alone (autograd/sparse_gradient.h): memory and time of
/// theirs, for SparseAdam, SGD and Adagrad. The weight is a leaf then.
/// Errors: "embedding: index must be in [0, V), got 7 at [1,2], V 5".
Tensor embedding(const Tensor& input, const Tensor& weight, std::optional<int64_t> padding_idx = {},
                 bool sparse = false);

}  // namespace aorta

namespace aorta::kernel {

/// `padding` is -1 for none.
extern Op<NoKernel, void (*)(Tensor& output, const Tensor& weight, const Tensor& input,
                             int64_t padding, bool sparse)>
    embedding_op;

}  // namespace aorta::kernel
