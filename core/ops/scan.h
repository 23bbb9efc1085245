#pragma once

#include <aorta/core/dispatch/line_args.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/ops/reduction.h>

namespace aorta {

/// Sum of x_0 .. x_i along `dim`. Integers and bool give i64, wrapping around, unless `dtype`, to
/// which elements are converted first, says otherwise. Half types are summed in higher precision.
Tensor cumsum(const Tensor& input, int64_t dim, std::optional<DType> dtype = {});
/// Product of x_0 .. x_i along `dim`; otherwise as cumsum.
Tensor cumprod(const Tensor& input, int64_t dim, std::optional<DType> dtype = {});
/// The largest (smallest) of x_0 .. x_i along `dim`, and where it is (i64): of equals the last. NaN
/// is larger (smaller) than all. The gradient goes to that place.
ValuesIndices cummax(const Tensor& input, int64_t dim);
ValuesIndices cummin(const Tensor& input, int64_t dim);
/// Powers x^(N-1) .. x^0 of a vector x (n) -> (n, N), or x^0 .. x^(N-1) where `increasing`; N is n
/// where it isn't given. Integers and bool give i64. Composed of cumprod.
Tensor vander(const Tensor& x, std::optional<int64_t> N = {}, bool increasing = false);
/// log(exp(x_0) + .. + exp(x_i)) along `dim`, exact for numbers of any size. Floating dtypes.
Tensor logcumsumexp(const Tensor& input, int64_t dim);

}  // namespace aorta

namespace aorta::kernel {

struct ScanArgs {
  const void* input;  // dense, the same order in memory as the output
  void* output;
  DType dtype;  // of both
  Lines lines;
};
using ScanKernel = void (*)(const ScanArgs& args);
using ScanGradient = void (*)(Tensor& output, const Tensor& input, int dim);
extern Op<ScanKernel, ScanGradient> cumsum_op, cumprod_op, logcumsumexp_op;
/// The largest and smallest so far, and their places in the line, in the same order in memory.
struct ScanPickArgs : ScanArgs {
  int64_t* places;
};
using ScanPickKernel = void (*)(const ScanPickArgs& args);
using ScanPickGradient = void (*)(Tensor& values, const Tensor& input, const Tensor& indices,
                                  int dim);
extern Op<ScanPickKernel, ScanPickGradient> cummax_op, cummin_op;

}  // namespace aorta::kernel
