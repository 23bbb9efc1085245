#include <aorta/core/ops/quantile.h>

#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/view.h>

#include <limits>
#include <string>
#include <string_view>

namespace aorta {

namespace {

// The elements of `input` at `place`, of size 1 along `dim`, and the place.
ValuesIndices pick(const Tensor& input, int dim, const Tensor& place, bool keepdim) {
  const Tensor values = gather(input, dim, place);
  return keepdim ? ValuesIndices{values, place}
                 : ValuesIndices{values.squeeze(dim), place.squeeze(dim)};
}

ValuesIndices median_along(const char* op, const Tensor& input, int64_t given_dim, bool keepdim,
                           bool skip_nan) {
  check_defined(op, {{"input", input}});
  const CalledOp called(op);
  const int dim = wrap_dim(op, given_dim, input.dim());
  if (input.dim() == 0) return {input, zeros({}, {.dtype = DType::i64, .device = input.device()})};
  const int64_t length = input.shape()[dim];
  check(length > 0, op, "dim must not be of size 0", dim, " of ", input.shape());
  const Tensor x = input.detach();
  if (!is_floating(x.dtype()) || !skip_nan) {
    Tensor place = kthvalue(x, (length - 1) / 2 + 1, dim, true).indices;
    if (is_floating(x.dtype())) {
      // NaN counts as beyond all, so that this is where the first one stands.
      const Tensor largest = argmax(x, dim, true);
      place = where(isnan(gather(x, dim, largest)), largest, place);
    }
    return pick(input, dim, place, keepdim);
  }
  const Tensor numbers = sum(logical_not(isnan(x)), dim, true);
  const Tensor middle = floor_divide(clamp_min(numbers - 1, 0), 2);
  return pick(input, dim, gather(argsort(x, dim), dim, middle), keepdim);
}

Tensor median_of_all(const char* op, const Tensor& input, bool skip_nan) {
  const CalledOp called(op);
  const bool floating = is_floating(input.dtype());
  const Tensor flat = input.reshape({input.numel()}), x = flat.detach();
  int64_t count = x.numel();
  if (floating && skip_nan && count > 0) count -= sum(isnan(x)).item<int64_t>();
  if (count == 0) {
    check(floating, op, "an integer tensor must have elements", input.shape());
    return full({}, std::numeric_limits<double>::quiet_NaN(),
                {.dtype = input.dtype(), .device = input.device()});
  }
  Tensor value = kthvalue(x, (count - 1) / 2 + 1, 0).values;  // NaN comes last
  if (floating && !skip_nan) {
    const Tensor largest = amax(x);  // NaN where there is one
    value = where(isnan(largest), largest, value);
  }
  if (!floating || !needs_gradient(input)) return value;
  // All that is equal to it, or NaN as it is, shares its gradient.
  const Tensor equals = logical_or(eq(x, value), logical_and(isnan(x), isnan(value)));
  const Tensor share = reciprocal(sum(equals).to(compute_dtype(input.dtype()))).to(input.dtype());
  const Tensor mean = sum(where(equals, flat * share, 0));
  return value + where(isfinite(value), mean - mean.detach(), mean);  // which adds nothing
}

// Checks q, and gives it as a tensor of the dtype that ranks are computed in.
Tensor fractions(const char* op, const Tensor& input, const Operand& q) {
  const DType dtype = compute_dtype(input.dtype());
  if (q.tensor) {
    check_defined(op, {{"q", *q.tensor}});
    check(q.tensor->dim() <= 1, op, "q must be a number, 0-d or 1-d", q.tensor->shape());
    check(q.tensor->dtype() == input.dtype(), op, "q must have the input's dtype",
          q.tensor->dtype(), " for ", input.dtype());
  }
  const Tensor fraction = q.tensor ? q.tensor->to(dtype)
                                   : full({}, q.number, {.dtype = dtype, .device = input.device()});
  if (fraction.is_meta()) return fraction;
  const Tensor given = fraction.detach();
  const Tensor outside = masked_select(given, logical_not(logical_and(ge(given, 0), le(given, 1))));
  check(outside.numel() == 0, op, "q must be in [0, 1]",
        outside.numel() ? outside[0].item() : Scalar(0));
  return fraction;
}

// `lines` (..., n) in order and `ranks` (..., Q), between 0 and n - 1.
Tensor at_ranks(const char* op, const Tensor& lines, const Tensor& ranks,
                std::string_view interpolation) {
  const auto at = [&](const Tensor& rank) { return gather(lines, -1, rank.to(DType::i64)); };
  if (interpolation == "lower") return at(floor(ranks));
  if (interpolation == "higher") return at(ceil(ranks));
  if (interpolation == "nearest") return at(round(ranks));
  if (interpolation == "midpoint") return lerp(at(floor(ranks)), at(ceil(ranks)), 0.5);
  check(interpolation == "linear", op,
        "interpolation must be linear, lower, higher, midpoint or nearest",
        std::string(interpolation));
  const Tensor weight = (ranks - floor(ranks)).to(lines.dtype());
  return lerp(at(floor(ranks)), at(ceil(ranks)), weight);
}

struct QuantileRule {
  const char *op, *interpolation;
  bool skip_nan;
};

Tensor quantile_of(const Tensor& input, const Operand& q, std::optional<int64_t> dim, bool keepdim,
                   const QuantileRule& rule) {
  const char* const op = rule.op;
  check_defined(op, {{"input", input}});
  const CalledOp called(op);
  check(is_floating(input.dtype()), op, "dtype must be floating", input.dtype());
  const Tensor fraction = fractions(op, input, q);
  const int d = wrap_dim(op, dim.value_or(0), input.dim());
  const Tensor unsorted =
      dim && input.dim() > 0 ? movedim(input, d, -1) : input.reshape({input.numel()});
  const int64_t length = unsorted.size(-1);
  check(length > 0, op, "there must be elements", input.shape(),
        dim ? " and dim " + std::to_string(d) : "");
  const Tensor lines = sort(unsorted, -1).values.to(fraction.dtype());

  // NaN is sorted to the end: there a rank finds it, or goes no further than the last number.
  const Tensor nan = isnan(unsorted.detach());
  // In the dtype of the numbers, as PyTorch's, where that holds all ranks.
  const DType counted = length > 1 << 24 ? DType::f64 : lines.dtype();
  const Tensor wanted = fraction.reshape({fraction.numel()}).to(counted);
  const Tensor ranks = rule.skip_nan
                           ? wanted * clamp_min(length - 1 - sum(nan, -1, true), 0).to(counted)
                           : where(any(nan, -1, true), static_cast<double>(length - 1),
                                   wanted * static_cast<double>(length - 1));
  Tensor result =  // (*the other dimensions, Q)
      at_ranks(op, lines, ranks, rule.interpolation).to(input.dtype());

  result = fraction.dim() == 0 ? result.squeeze(-1) : movedim(result, -1, 0);
  if (!keepdim) return result;
  const int first = fraction.dim();
  if (dim) return input.dim() > 0 ? result.unsqueeze(d + first) : result;
  Shape shape = Dims::filled(first + input.dim(), 1);
  if (first) shape[0] = fraction.numel();
  return result.reshape(shape);
}

}  // namespace

Tensor median(const Tensor& input) {
  check_defined("median", {{"input", input}});
  return median_of_all("median", input, false);
}
ValuesIndices median(const Tensor& input, int64_t dim, bool keepdim) {
  return median_along("median", input, dim, keepdim, false);
}
Tensor nanmedian(const Tensor& input) {
  check_defined("nanmedian", {{"input", input}});
  return median_of_all("nanmedian", input, true);
}
ValuesIndices nanmedian(const Tensor& input, int64_t dim, bool keepdim) {
  return median_along("nanmedian", input, dim, keepdim, true);
}

ValuesIndices mode(const Tensor& input, int64_t given_dim, bool keepdim) {
  check_defined("mode", {{"input", input}});
  const CalledOp called("mode");
  const int dim = wrap_dim("mode", given_dim, input.dim());
  if (input.dim() == 0) return {input, zeros({}, {.dtype = DType::i64, .device = input.device()})};
  const int64_t length = input.shape()[dim];
  check(length > 0, "mode", "dim must not be of size 0", dim, " of ", input.shape());
  // In order, the first place where the longest run of equals so far becomes longer is the last of
  // its run.
  const auto [values, places] = sort(movedim(input.detach(), dim, -1), -1);
  const Tensor order = arange(1, length, {.device = input.device()});
  const Tensor before = values.narrow(-1, 0, length - 1), after = values.narrow(-1, 1, length - 1);
  const Tensor since = order - cummax(where(ne(before, after), order, 0), -1).values;
  const Tensor longest = argmax(pad(since, {1, 0}), -1, true);
  return pick(input, dim, movedim(gather(places, -1, longest), -1, dim), keepdim);
}

Tensor quantile(const Tensor& input, const Operand& q, std::optional<int64_t> dim, bool keepdim,
                const char* interpolation) {
  return quantile_of(input, q, dim, keepdim, {"quantile", interpolation, false});
}
Tensor nanquantile(const Tensor& input, const Operand& q, std::optional<int64_t> dim, bool keepdim,
                   const char* interpolation) {
  return quantile_of(input, q, dim, keepdim, {"nanquantile", interpolation, true});
}

}  // namespace aorta
