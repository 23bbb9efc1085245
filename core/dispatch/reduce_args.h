#pragma once

#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/reduce_dims.h>
#include <aorta/core/tensor.h>

namespace aorta::kernel {

/// What a reduction kernel gets. The input's dimensions are either kept or reduced; those of size 1
/// are dropped, and neighbours merged where strides allow. Kept dimensions are ordered so that the
/// input's smallest stride comes first, and outputs are dense in that order: kept element k (its
/// dimension 0 running fastest) is output element k. Reduced dimensions are ordered so too, unless
/// the reducer gives positions: then they are in row-major order, and element i of the reduced
/// ones (dimension 0 running fastest) has position i.
struct ReduceArgs {
  const char* op = nullptr;          // the name of the op, for errors
  int reducer = 0;                   // its place in scalar::ReduceOps
  const void* parameters = nullptr;  // the reducer itself
  DType input_dtype{};               // in memory
  DType compute{};                   // T of the reducer, to which elements are converted first
  DType output_dtype[2] = {};        // in memory; results are converted to it
  const char* input = nullptr;
  char* output[2] = {};           // finish() and second(); null when it isn't wanted
  int64_t kept = 1, reduced = 1;  // numbers of elements; kept > 0, and reduced may be 0
  int kept_ndim = 0, reduced_ndim = 0;
  int64_t kept_shape[kMaxDims], reduced_shape[kMaxDims];      // innermost first
  int64_t kept_strides[kMaxDims], reduced_strides[kMaxDims];  // of the input, in bytes
};

/// Writes every element of the outputs that aren't null. Any order of accumulation will do, but it
/// must not depend on the number of threads.
using ReduceKernel = void (*)(const ReduceArgs& args);

/// The shape of `input` without the dimensions `dims` (as resolved), or with size 1 there.
Shape reduced_shape(const Tensor& input, const Dims& dims, bool keepdim);

/// How a reduction is run, besides its input and dimensions.
struct ReducePlan {
  const char* op;          // its name
  int reducer;             // scalar::reducer_id<R>
  const void* parameters;  // the reducer
  DType compute;           // T of the reducer
  DType output_dtype[2];   // of the results
  bool wanted[2] = {true, false};
  bool positions = false;  // the reducer gives positions
};

/// Allocates the results, undefined where not wanted, and runs the kernel. Doesn't record.
struct ReduceResult {
  Tensor output[2];
};
ReduceResult run_reduce(ReduceKernel kernel, const Tensor& input, const Dims& dims, bool keepdim,
                        const ReducePlan& plan);

}  // namespace aorta::kernel
