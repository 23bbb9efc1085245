#pragma once

#include <aorta/core/dispatch/line_args.h>
#include <aorta/core/dispatch/op_table.h>

namespace aorta {

/// Sum of x_0 .. x_i along `dim`. Integers and bool give i64, wrapping around, unless `dtype`, to
/// which elements are converted first, says otherwise. Half types are summed in higher precision.
Tensor cumsum(const Tensor& input, int64_t dim, std::optional<DType> dtype = {});
/// Product of x_0 .. x_i along `dim`; otherwise as cumsum.
Tensor cumprod(const Tensor& input, int64_t dim, std::optional<DType> dtype = {});

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
extern Op<ScanKernel, ScanGradient> cumsum_op, cumprod_op;

}  // namespace aorta::kernel
