#pragma once

#include <aorta/core/dispatch/reduce_args.h>

namespace aorta {

// Reductions. Over `dims` - one, several, or all when none are given; negative ones count from the
// end - which go away, or stay with size 1 under `keepdim`. Elements are first converted to `dtype`
// where one is given. Half types are summed in higher precision and rounded once. Over no elements,
// the result is that of the empty set (0, 1, NaN for mean, -inf for logsumexp), and an error where
// there is none (min, max, argmin, argmax). Results are the same bits for any number of threads.
// Errors: a dimension out of range or given twice, a dtype that the op doesn't take
// (docs/dtypes.md).

/// Sum of x. Integers and bool are summed as i64, wrapping around.
Tensor sum(const Tensor& input, const ReduceDims& dims = {}, bool keepdim = false,
           std::optional<DType> dtype = {});
/// The sum over what broadcasting `shape` to the input's shape repeats: the result has `shape`.
/// Composed of sum and view. Errors: `shape` doesn't broadcast to the input's.
Tensor sum_to_size(const Tensor& input, const Shape& shape);
/// Sum of x / n; floating dtypes.
Tensor mean(const Tensor& input, const ReduceDims& dims = {}, bool keepdim = false,
            std::optional<DType> dtype = {});
/// Product of x. Integers and bool are multiplied as i64, wrapping around.
Tensor prod(const Tensor& input, const ReduceDims& dims = {}, bool keepdim = false,
            std::optional<DType> dtype = {});

/// sum of (x - mean)^2 / (n - correction), by a stable method; NaN where n is not above correction
/// and the deviations are 0. correction 1 (or true): the unbiased estimate; 0 (false): the
/// population's. Floating dtypes.
Tensor var(const Tensor& input, const ReduceDims& dims = {}, double correction = 1,
           bool keepdim = false);
/// The root of `var`.
Tensor std(const Tensor& input, const ReduceDims& dims = {}, double correction = 1,
           bool keepdim = false);
/// `std` under a name that a file with `using namespace std` can call.
inline Tensor stddev(const Tensor& input, const ReduceDims& dims = {}, double correction = 1,
                     bool keepdim = false) {
  return std(input, dims, correction, keepdim);
}
/// What var_mean gives.
struct VarMean {
  Tensor var, mean;
};
/// Variance and mean, in one pass.
VarMean var_mean(const Tensor& input, const ReduceDims& dims = {}, double correction = 1,
                 bool keepdim = false);

/// What std_mean gives.
struct StdMean {
  Tensor std, mean;
};
/// `std` and `mean`, of which it is composed.
StdMean std_mean(const Tensor& input, const ReduceDims& dims = {}, double correction = 1,
                 bool keepdim = false);

/// The largest (smallest) x; NaN if any is. The gradient is shared evenly among equals.
Tensor amax(const Tensor& input, const ReduceDims& dims = {}, bool keepdim = false);
Tensor amin(const Tensor& input, const ReduceDims& dims = {}, bool keepdim = false);

/// What aminmax gives.
struct MinMax {
  Tensor min, max;
};
/// `amin` and `amax`, of which it is composed, along one dimension or over all.
MinMax aminmax(const Tensor& input, std::optional<int64_t> dim = {}, bool keepdim = false);

/// Values, and their positions along the dimension (i64).
struct ValuesIndices {
  Tensor values, indices;
};
/// The largest (smallest) of all elements; composed of amax (amin).
Tensor max(const Tensor& input);
Tensor min(const Tensor& input);
/// The largest (smallest) along `dim` and the first place where it is; NaN counts as beyond all.
ValuesIndices max(const Tensor& input, int64_t dim, bool keepdim = false);
ValuesIndices min(const Tensor& input, int64_t dim, bool keepdim = false);
/// The first place (i64) of the largest (smallest) along `dim`, or in row-major order when no dim
/// is given.
Tensor argmax(const Tensor& input, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor& input, std::optional<int64_t> dim = {}, bool keepdim = false);

/// Whether any (every) x is not zero, as bool (of u8 as u8); NaN is not zero.
Tensor any(const Tensor& input, const ReduceDims& dims = {}, bool keepdim = false);
Tensor all(const Tensor& input, const ReduceDims& dims = {}, bool keepdim = false);
/// How many x are not zero, as i64.
Tensor count_nonzero(const Tensor& input, const ReduceDims& dims = {});

/// The vector norm (sum of |x|^p)^(1/p) over `dims`, also of matrices and more; p = inf: the
/// largest |x|; -inf: the smallest; 0: how many are not zero. Floating dtypes. A negative p or inf
/// over no elements is an error.
Tensor norm(const Tensor& input, double p = 2, const ReduceDims& dims = {}, bool keepdim = false,
            std::optional<DType> dtype = {});

/// log(sum of exp(x)), without overflow. Integers become f32 first.
Tensor logsumexp(const Tensor& input, const ReduceDims& dims = {}, bool keepdim = false);

}  // namespace aorta

namespace aorta::kernel {

// The rows. `dims` of a gradient entry are resolved: not negative, ascending, never empty but for a
// 0-d input.
using ReduceGradient = void (*)(Tensor& output, const Tensor& input, const Dims& dims,
                                bool keepdim);
using VarGradient = void (*)(Tensor& output, const Tensor& input, const Dims& dims,
                             double correction, bool keepdim);
using VarMeanGradient = void (*)(Tensor& var, Tensor& mean, const Tensor& input, const Dims& dims,
                                 double correction, bool keepdim);
using NormGradient = void (*)(Tensor& output, const Tensor& input, double p, const Dims& dims,
                              bool keepdim);
/// The gradient entry of ops that pick elements: values = input gathered at indices along dim.
using PickGradient = void (*)(Tensor& values, const Tensor& input, const Tensor& indices, int dim,
                              bool keepdim);

extern Op<ReduceKernel, ReduceGradient> sum_op, mean_op, prod_op, amax_op, amin_op, logsumexp_op;
extern Op<ReduceKernel, VarGradient> var_op, std_op;
extern Op<ReduceKernel, VarMeanGradient> var_mean_op;
extern Op<ReduceKernel, NormGradient> norm_op;
extern Op<ReduceKernel, PickGradient> max_op, min_op;
extern Op<ReduceKernel, NoGradient> argmax_op, argmin_op, any_op, all_op, count_nonzero_op;

/// Sets the kernel of all of them for a device type.
void set_reduce_kernel(DeviceType type, ReduceKernel kernel);

}  // namespace aorta::kernel
