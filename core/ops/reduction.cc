#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/scalar/reduce_list.h>

#include <cmath>

namespace aorta::kernel {

constinit Op<ReduceKernel, ReduceGradient> sum_op{"sum"};
constinit Op<ReduceKernel, ReduceGradient> mean_op{"mean"};
constinit Op<ReduceKernel, ReduceGradient> prod_op{"prod"};
constinit Op<ReduceKernel, ReduceGradient> amax_op{"amax"};
constinit Op<ReduceKernel, ReduceGradient> amin_op{"amin"};
constinit Op<ReduceKernel, ReduceGradient> logsumexp_op{"logsumexp"};
constinit Op<ReduceKernel, VarGradient> var_op{"var"};
constinit Op<ReduceKernel, VarGradient> std_op{"std"};
constinit Op<ReduceKernel, VarMeanGradient> var_mean_op{"var_mean"};
constinit Op<ReduceKernel, NormGradient> norm_op{"norm"};
constinit Op<ReduceKernel, PickGradient> max_op{"max"};
constinit Op<ReduceKernel, PickGradient> min_op{"min"};
constinit Op<ReduceKernel, NoGradient> argmax_op{"argmax"};
constinit Op<ReduceKernel, NoGradient> argmin_op{"argmin"};
constinit Op<ReduceKernel, NoGradient> any_op{"any"};
constinit Op<ReduceKernel, NoGradient> all_op{"all"};
constinit Op<ReduceKernel, NoGradient> count_nonzero_op{"count_nonzero"};

void set_reduce_kernel(DeviceType type, ReduceKernel kernel) {
  const auto set = [&](auto&... ops) { (ops.set_kernel(type, kernel), ...); };
  set(sum_op, mean_op, prod_op, amax_op, amin_op, logsumexp_op, var_op, std_op, var_mean_op,
      norm_op, max_op, min_op, argmax_op, argmin_op, any_op, all_op, count_nonzero_op);
}

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

// Half types are computed in f32.
void check_has_elements(const char* op, const Tensor& input, const Dims& dims) {
  for (int64_t dim : dims) {
    check(input.shape()[static_cast<int>(dim)] > 0, op, "a reduced dimension must have elements",
          input.shape(), " reduced over ", dims);
  }
}

struct ReduceDTypes {
  DType compute, result;
};

// One result of a reducer that has no second.
template <class Row, class Reducer>
Tensor reduce_one(const Row& row, const Tensor& input, const Dims& dims, bool keepdim,
                  const Reducer& reducer, ReduceDTypes dtypes) {
  const ReducePlan plan{.op = row.name(),
                        .reducer = scalar::reducer_id<Reducer>,
                        .parameters = &reducer,
                        .compute = dtypes.compute,
                        .output_dtype = {dtypes.result, dtypes.result}};
  const CalledOp called(row.name());
  const ProfilerRange range(row.name(), {&input});
  return run_reduce(row.kernel(input.device()), input, dims, keepdim, plan).output[0];
}

// sum and prod: integers and bool become i64 unless a dtype is asked for. Integers of any width are
// read as they are, for their sum is kept in i64 anyway.
template <class Reducer, class Row>
Tensor accumulate(const Row& row, const Tensor& given, const ReduceDims& over, bool keepdim,
                  std::optional<DType> dtype) {
  const Tensor input = autocast_to_f32(given);
  const Dims dims = over.resolve(row.name(), input);
  const DType from = input.dtype();
  check_stays_complex(row.name(), from, dtype.value_or(from));
  const DType result = dtype.value_or(is_floating(from) ? from : DType::i64);
  // Half types are summed in f32, which would keep what the conversion rounds.
  if (result != from && is_half(result)) {
    return accumulate<Reducer>(row, input.to(result), over, keepdim, dtype);
  }
  const DType compute = result == DType::i64 && !is_floating(from) ? from : compute_dtype(result);
  Tensor output = reduce_one(row, input, dims, keepdim, Reducer{}, {compute, result});
  if (is_floating(result) && needs_gradient(input)) row.gradient()(output, input, dims, keepdim);
  tell_tracer(row.name(), {&output}, {&input}, dims, keepdim);
  return output;
}

// What a sum or mean `f(parts, dims)` of the parts is for a complex tensor.
template <class F>
Tensor reduce_parts(const Tensor& input, const Dims& dims, const F& f) {
  // No dimensions would be all of them.
  return dims.empty() ? input.clone()
                      : by_parts(input, [&](const Tensor& parts) { return f(parts, dims); });
}
// Whether elements are 0 is asked of bools where they are complex.
Tensor truth_of(const Tensor& input) { return input.is_complex() ? ne(input, 0) : input; }

template <class Reducer, class Row>
Tensor extremum(const Row& row, const Tensor& input, const ReduceDims& over, bool keepdim) {
  const Dims dims = over.resolve(row.name(), input);
  check_has_elements(row.name(), input, dims);
  Tensor output = reduce_one(row, input, dims, keepdim, Reducer{},
                             {compute_dtype(input.dtype()), input.dtype()});
  if (needs_gradient(input)) row.gradient()(output, input, dims, keepdim);
  tell_tracer(row.name(), {&output}, {&input}, dims, keepdim);
  return output;
}

template <class Reducer, class Row>
ReduceResult run_places(const Row& row, const Tensor& input, const Dims& dims, bool keepdim,
                        bool values) {
  check_has_elements(row.name(), input, dims);
  const Reducer reducer;
  const ReducePlan plan{.op = row.name(),
                        .reducer = scalar::reducer_id<Reducer>,
                        .parameters = &reducer,
                        .compute = compute_dtype(input.dtype()),
                        .output_dtype = {input.dtype(), DType::i64},
                        .wanted = {values, true},
                        .positions = true};
  const CalledOp called(row.name());
  const ProfilerRange range(row.name(), {&input});
  return run_reduce(row.kernel(input.device()), input, dims, keepdim, plan);
}

template <class Reducer, class Row>
ValuesIndices extremum_along(const Row& row, const Tensor& input, int64_t dim, bool keepdim) {
  const Dims dims = ReduceDims(dim).resolve(row.name(), input);
  ReduceResult result = run_places<Reducer>(row, input, dims, keepdim, true);
  if (needs_gradient(input)) {
    row.gradient()(result.output[0], input, result.output[1],
                   wrap_dim(row.name(), dim, input.dim()), keepdim);
  }
  tell_tracer(row.name(), {&result.output[0], &result.output[1]}, {&input}, dims, keepdim);
  return {result.output[0], result.output[1]};
}

template <class Reducer, class Row>
Tensor place(const Row& row, const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  const ReduceDims over = dim ? ReduceDims(*dim) : ReduceDims();
  const Dims dims = over.resolve(row.name(), input);
  const Tensor places = run_places<Reducer>(row, input, dims, keepdim, false).output[1];
  tell_tracer(row.name(), {&places}, {&input}, dims, keepdim);
  return places;
}

template <class Row>
ReduceResult run_moments(const Row& row, const Tensor& input, const Dims& dims,
                         const scalar::Moments& reducer, bool keepdim, bool mean) {
  check_floating(row.name(), input.dtype());
  const ReducePlan plan{.op = row.name(),
                        .reducer = scalar::reducer_id<scalar::Moments>,
                        .parameters = &reducer,
                        .compute = compute_dtype(input.dtype()),
                        .output_dtype = {input.dtype(), input.dtype()},
                        .wanted = {true, mean}};
  return run_reduce(row.kernel(input.device()), input, dims, keepdim, plan);
}

template <class Row>
Tensor spread(const Row& row, const Tensor& input, const ReduceDims& over, double correction,
              bool keepdim, bool root) {
  const Dims dims = over.resolve(row.name(), input);
  const CalledOp called(row.name());
  const ProfilerRange range(row.name(), {&input});
  scalar::Moments reducer;
  reducer.correction = correction;
  reducer.root = root;
  Tensor output = run_moments(row, input, dims, reducer, keepdim, false).output[0];
  if (needs_gradient(input)) row.gradient()(output, input, dims, correction, keepdim);
  tell_tracer(row.name(), {&output}, {&input}, dims, correction, keepdim);
  return output;
}

Tensor run_norm(const Tensor& input, double p, const Dims& dims, bool keepdim, DType dtype) {
  return scalar::with_norm(p, [&](const auto& reducer) {
    return reduce_one(norm_op, input, dims, keepdim, reducer, {compute_dtype(dtype), dtype});
  });
}

}  // namespace

Tensor sum(const Tensor& input, const ReduceDims& dims, bool keepdim, std::optional<DType> dtype) {
  check_defined("sum", {{"input", input}});
  if (is_complex(dtype.value_or(input.dtype()))) [[unlikely]] {
    const CalledOp called("sum");
    return reduce_parts(input.to(dtype.value_or(input.dtype())), dims.resolve("sum", input),
                        [&](const Tensor& parts, const Dims& d) { return sum(parts, d, keepdim); });
  }
  return accumulate<scalar::Sum>(sum_op, input, dims, keepdim, dtype);
}

Tensor prod(const Tensor& input, const ReduceDims& dims, bool keepdim, std::optional<DType> dtype) {
  return accumulate<scalar::Prod>(prod_op, input, dims, keepdim, dtype);
}

Tensor sum_to_size(const Tensor& input, const Shape& shape) {
  check_defined("sum_to_size", {{"input", input}});
  if (input.shape() == shape) return input;
  const int lead = input.dim() - shape.size();
  bool fits = lead >= 0;
  Dims dims;
  for (int d = 0; d < input.dim() && fits; ++d) {
    const int64_t size = d < lead ? 1 : shape[d - lead], given = input.shape()[d];
    fits = size == 1 || size == given;
    if (d < lead || size != given) dims.push_back(d);
  }
  check(fits, "sum_to_size", "the shape must broadcast to the input's", shape, " for ",
        input.shape());
  if (dims.empty()) return input.view(shape);
  // A result that is no view may become a gradient without a copy.
  if (lead == 0 || dims.size() == lead) return sum(input, dims, lead == 0);
  return sum(input, dims, true).view(shape);
}

Tensor mean(const Tensor& input, const ReduceDims& over, bool keepdim, std::optional<DType> dtype) {
  const CalledOp called("mean");
  const Dims dims = over.resolve("mean", input);
  const DType result = dtype.value_or(input.dtype());
  if (is_complex(result)) [[unlikely]] {
    return reduce_parts(input.to(result), dims, [&](const Tensor& parts, const Dims& d) {
      return mean(parts, d, keepdim);
    });
  }
  check_stays_complex("mean", input.dtype(), result);
  check_floating("mean", result);
  if (result != input.dtype() && is_half(result)) return mean(input.to(result), over, keepdim);
  Tensor output =
      reduce_one(mean_op, input, dims, keepdim, scalar::Mean{}, {compute_dtype(result), result});
  if (needs_gradient(input)) mean_op.gradient()(output, input, dims, keepdim);
  tell_tracer(mean_op.name(), {&output}, {&input}, dims, keepdim);
  return output;
}

Tensor var(const Tensor& input, const ReduceDims& dims, double correction, bool keepdim) {
  return spread(var_op, input, dims, correction, keepdim, false);
}

Tensor std(const Tensor& input, const ReduceDims& dims, double correction, bool keepdim) {
  return spread(std_op, input, dims, correction, keepdim, true);
}

VarMean var_mean(const Tensor& input, const ReduceDims& over, double correction, bool keepdim) {
  const CalledOp called("var_mean");
  const Dims dims = over.resolve("var_mean", input);
  const ProfilerRange range("var_mean", {&input});
  scalar::Moments reducer;
  reducer.correction = correction;
  ReduceResult result = run_moments(var_mean_op, input, dims, reducer, keepdim, true);
  VarMean both{result.output[0], result.output[1]};
  if (needs_gradient(input))
    var_mean_op.gradient()(both.var, both.mean, input, dims, correction, keepdim);
  tell_tracer(var_mean_op.name(), {&both.var, &both.mean}, {&input}, dims, correction, keepdim);
  return both;
}

StdMean std_mean(const Tensor& input, const ReduceDims& dims, double correction, bool keepdim) {
  const CalledOp called("std_mean");
  check_defined("std_mean", {{"input", input}});
  return {std(input, dims, correction, keepdim), mean(input, dims, keepdim)};
}

Tensor amax(const Tensor& input, const ReduceDims& dims, bool keepdim) {
  return extremum<scalar::Max>(amax_op, input, dims, keepdim);
}
Tensor amin(const Tensor& input, const ReduceDims& dims, bool keepdim) {
  return extremum<scalar::Min>(amin_op, input, dims, keepdim);
}
MinMax aminmax(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  const CalledOp called("aminmax");
  check_defined("aminmax", {{"input", input}});
  const ReduceDims dims = dim ? ReduceDims(*dim) : ReduceDims();
  return {amin(input, dims, keepdim), amax(input, dims, keepdim)};
}
Tensor max(const Tensor& input) {
  const CalledOp called("max");
  check_has_elements("max", input, ReduceDims().resolve("max", input));
  return amax(input);
}
Tensor min(const Tensor& input) {
  const CalledOp called("min");
  check_has_elements("min", input, ReduceDims().resolve("min", input));
  return amin(input);
}
ValuesIndices max(const Tensor& input, int64_t dim, bool keepdim) {
  return extremum_along<scalar::ArgMax>(max_op, input, dim, keepdim);
}
ValuesIndices min(const Tensor& input, int64_t dim, bool keepdim) {
  return extremum_along<scalar::ArgMin>(min_op, input, dim, keepdim);
}
Tensor argmax(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  return place<scalar::ArgMax>(argmax_op, input, dim, keepdim);
}
Tensor argmin(const Tensor& input, std::optional<int64_t> dim, bool keepdim) {
  return place<scalar::ArgMin>(argmin_op, input, dim, keepdim);
}

// As PyTorch: u8 was its bool once, and stays itself.
static DType truth_dtype(const Tensor& input) {
  return input.dtype() == DType::u8 ? DType::u8 : DType::boolean;
}
template <class Reducer, class Row>
static Tensor truth(const Row& row, const Tensor& input, const ReduceDims& over, bool keepdim) {
  const Dims dims = over.resolve(row.name(), input);
  const Tensor output = reduce_one(row, input, dims, keepdim, Reducer{},
                                   {compute_dtype(input.dtype()), truth_dtype(input)});
  tell_tracer(row.name(), {&output}, {&input}, dims, keepdim);
  return output;
}
Tensor any(const Tensor& input, const ReduceDims& dims, bool keepdim) {
  check_defined("any", {{"input", input}});
  return truth<scalar::Any>(any_op, truth_of(input), dims, keepdim);
}
Tensor all(const Tensor& input, const ReduceDims& dims, bool keepdim) {
  check_defined("all", {{"input", input}});
  return truth<scalar::All>(all_op, truth_of(input), dims, keepdim);
}
Tensor count_nonzero(const Tensor& given, const ReduceDims& over) {
  const CalledOp called("count_nonzero");
  check_defined("count_nonzero", {{"input", given}});
  const Tensor input = truth_of(given);
  const Dims dims = over.resolve("count_nonzero", input);
  const Tensor output = reduce_one(count_nonzero_op, input, dims, false, scalar::CountNonzero{},
                                   {compute_dtype(input.dtype()), DType::i64});
  tell_tracer(count_nonzero_op.name(), {&output}, {&input}, dims, false);
  return output;
}

Tensor norm(const Tensor& given, double p, const ReduceDims& over, bool keepdim,
            std::optional<DType> dtype) {
  const CalledOp called("norm");
  check_defined("norm", {{"input", given}});
  const Tensor input = given.is_complex() ? abs(given) : autocast_to_f32(given);
  const Dims dims = over.resolve("norm", input);
  const DType result = dtype.value_or(input.dtype());
  check_floating("norm", input.dtype());
  check_floating("norm", result);
  check(!std::isnan(p), "norm", "p must be a number", p);
  if (p < 0 || std::isinf(p)) check_has_elements("norm", input, dims);
  Tensor output = run_norm(input, p, dims, keepdim, result);
  if (needs_gradient(input)) norm_op.gradient()(output, input, p, dims, keepdim);
  tell_tracer(norm_op.name(), {&output}, {&input}, p, dims, keepdim);
  return output;
}

Tensor logsumexp(const Tensor& given, const ReduceDims& over, bool keepdim) {
  const CalledOp called("logsumexp");
  const Tensor input = autocast_to_f32(given);
  const Dims dims = over.resolve("logsumexp", input);
  const DType result = is_floating(input.dtype()) ? input.dtype() : DType::f32;
  Tensor output = reduce_one(logsumexp_op, input, dims, keepdim, scalar::LogSumExp{},
                             {compute_dtype(result), result});
  if (needs_gradient(input)) logsumexp_op.gradient()(output, input, dims, keepdim);
  tell_tracer(logsumexp_op.name(), {&output}, {&input}, dims, keepdim);
  return output;
}

}  // namespace aorta
