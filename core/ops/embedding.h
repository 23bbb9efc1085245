#pragma once

#include <aorta/core/dispatch/op_table.h>

#include <optional>

namespace aorta {

/// Rows of `weight` (V, D), any dtype: input (*) of i64 or i32 -> (*, D). The row `padding_idx`
/// (counted from the end when negative) gets a gradient of 0. The weight's gradient adds up rows in
/// the order of the input, the same bits for any number of threads, and half types in f32.
/// Errors: "embedding: index must be in [0, V), got 7 at [1,2], V 5".
Tensor embedding(const Tensor& input, const Tensor& weight,
                 std::optional<int64_t> padding_idx = {});

}  // namespace aorta

namespace aorta::kernel {

/// `padding` is -1 for none.
extern Op<NoKernel,
          void (*)(Tensor& output, const Tensor& weight, const Tensor& input, int64_t padding)>
    embedding_op;

}  // namespace aorta::kernel
