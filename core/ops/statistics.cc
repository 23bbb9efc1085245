#include <aorta/core/ops/statistics.h>

#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/pointwise_args.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/searchsorted.h>
#include <aorta/core/ops/view.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace aorta {

namespace {

// counts[place] += 1 for every place, i64.
Tensor count_places(const Tensor& places, int64_t size) {
  const TensorOptions options = {.dtype = DType::i64, .device = places.device()};
  return scatter_add(zeros({size}, options), 0, places, ones(places.shape(), options));
}

void check_weights(const char* name, const Tensor& weights, int64_t observations, bool floating) {
  const std::string what(name);
  check(weights.dim() <= 1 && weights.numel() == observations, "cov",
        what + " must be one number an observation", weights.shape(), " for ", observations);
  check(is_floating(weights.dtype()) == floating && weights.dtype() != DType::boolean, "cov",
        what + (floating ? " must be floating" : " must be integers"), weights.dtype());
  if (weights.is_meta()) return;
  const Tensor negative = masked_select(weights.detach(), lt(weights.detach(), 0));
  check(negative.numel() == 0, "cov", what + " can't be negative",
        negative.numel() ? negative[0].item() : Scalar(0));
}

}  // namespace

Tensor histc(const Tensor& input, int64_t bins, const Scalar& min, const Scalar& max) {
  check_defined("histc", {{"input", input}});
  const CalledOp called("histc");
  check(is_floating(input.dtype()), "histc", "dtype must be floating", input.dtype());
  check(bins > 0, "histc", "bins must be positive", bins);
  double first = min.to_double(), last = max.to_double();
  const Tensor x =
      input.detach().flatten().to(input.dtype() == DType::f64 ? DType::f64 : DType::f32);
  if (first == last && x.numel() > 0) {
    first = amin(x).item<double>();
    last = amax(x).item<double>();
  }
  if (first == last) {
    first -= 1;
    last += 1;
  }
  check(std::isfinite(first) && std::isfinite(last), "histc", "the range must be finite", "min ",
        first, " and max ", last);
  check(first < last, "histc", "max must not be below min", "min ", first, " and max ", last);
  const Tensor counted = masked_select(x, logical_and(ge(x, first), le(x, last)));
  const Tensor places =
      ((counted - first) * static_cast<double>(bins) / (last - first)).to(DType::i64);
  return count_places(clamp_max(places, bins - 1), bins).to(input.dtype());
}

Tensor histc(const Tensor& input, const HistcOptions& o) {
  return histc(input, o.bins, o.min, o.max);
}

// The histogram of an input that is checked, between edges of what it is computed in.
static Histogram histogram_between(const Tensor& edges, const Tensor& input,
                                   const HistogramOptions& options) {
  const Tensor x = input.detach().flatten().to(edges.dtype());
  const int64_t bins = edges.numel() - 1;
  const Tensor inside = logical_and(ge(x, edges.select(0, 0)), le(x, edges.select(0, bins)));
  // What isn't counted goes behind the last part.
  const Tensor parts = clamp_max(searchsorted(edges, x, true) - 1, bins - 1);
  const Tensor places = where(inside, parts, bins);
  const TensorOptions like{.dtype = x.dtype(), .device = x.device()};
  const Tensor weight = options.weight.defined() ? options.weight.detach().flatten().to(x.dtype())
                                                 : ones(x.shape(), like);
  Tensor hist = index_add(zeros({bins + 1}, like), 0, places, weight).narrow(0, 0, bins);
  if (options.density)
    hist = hist / sum(hist) / (edges.narrow(0, 1, bins) - edges.narrow(0, 0, bins));
  return {hist.to(input.dtype()), edges.to(input.dtype())};
}

static void check_histogram(const Tensor& input, const HistogramOptions& options) {
  const char* const op = "histogram";
  check_defined(op, {{"input", input}});
  check(is_floating(input.dtype()), op, "dtype must be floating", input.dtype());
  const Tensor& weight = options.weight;
  if (!weight.defined()) return;
  check(weight.shape() == input.shape(), op, "weight must have the input's shape", weight.shape(),
        " for ", input.shape());
  check(weight.dtype() == input.dtype() && weight.device() == input.device(), op,
        "weight must have the input's dtype and device", weight.dtype(), " on ", weight.device());
}

Histogram histogram(const Tensor& input, int64_t bins, const HistogramOptions& options) {
  const CalledOp called("histogram");
  check_histogram(input, options);
  check(bins > 0, "histogram", "bins must be positive", bins);
  double first = 0, last = 1;
  if (options.range) {
    first = (*options.range)[0];
    last = (*options.range)[1];
  } else if (input.numel() > 0) {
    first = amin(input.detach()).item<double>();
    last = amax(input.detach()).item<double>();
  }
  check(std::isfinite(first) && std::isfinite(last), "histogram", "the range must be finite", first,
        " to ", last);
  check(first <= last, "histogram", "the range can't fall", first, " to ", last);
  if (first == last) {
    first -= 0.5;
    last += 0.5;
  }
  const Tensor edges = linspace(first, last, bins + 1,
                                {.dtype = compute_dtype(input.dtype()), .device = input.device()});
  return histogram_between(edges, input, options);
}

Histogram histogram(const Tensor& input, const Tensor& bins, const HistogramOptions& options) {
  const CalledOp called("histogram");
  check_histogram(input, options);
  check_defined("histogram", {{"bins", bins}});
  check(!options.range, "histogram", "there is no range beside edges", "one");
  check(bins.dim() == 1 && bins.numel() > 1, "histogram", "edges must be two or more, (bins + 1)",
        bins.shape());
  check(bins.dtype() == input.dtype() && bins.device() == input.device(), "histogram",
        "edges must have the input's dtype and device", bins.dtype(), " on ", bins.device());
  return histogram_between(bins.detach().to(compute_dtype(bins.dtype())), input, options);
}

Tensor bincount(const Tensor& input, const Tensor& weights, int64_t minlength) {
  check_defined("bincount", {{"input", input}});
  const CalledOp called("bincount");
  check(input.dim() == 1 && is_integral(input.dtype()) && input.dtype() != DType::boolean,
        "bincount", "input must be 1-d integers", input.dtype(), " of shape ", input.shape());
  check(minlength >= 0, "bincount", "minlength can't be negative", minlength);
  check(!weights.defined() || weights.shape() == input.shape(), "bincount",
        "weights must have the input's shape", weights.defined() ? weights.shape() : Shape(),
        " for ", input.shape());
  const Tensor places = input.to(DType::i64);
  int64_t size = minlength;
  if (places.numel() > 0) {
    const int64_t least = amin(places).item<int64_t>();
    check(least >= 0, "bincount", "integers can't be negative", least);
    const int64_t most = amax(places).item<int64_t>();
    check(most < std::numeric_limits<int64_t>::max(), "bincount",
          "the number of counts must fit in 63 bits", most, " as the largest");
    size = std::max(size, most + 1);
  }
  if (!weights.defined()) return count_places(places, size);
  const DType dtype = weights.dtype() == DType::f32 ? DType::f32 : DType::f64;
  return scatter_add(zeros({size}, {.dtype = dtype, .device = input.device()}), 0, places,
                     weights.detach().to(dtype));
}

Tensor cov(const Tensor& input, int64_t correction, const Tensor& fweights,
           const Tensor& aweights) {
  check_defined("cov", {{"input", input}});
  const CalledOp called("cov");
  check(input.dim() <= 2, "cov", "input must have at most 2 dimensions", input.shape());
  check(input.dtype() != DType::boolean, "cov", "dtype can't be bool", input.dtype());
  const Tensor floating = is_floating(input.dtype()) ? input : input.to(DType::f32);
  const Tensor rows = input.dim() < 2 ? floating.reshape({1, input.numel()}) : floating;
  const Operand operands[] = {rows, aweights.defined() ? aweights : rows};
  const DType dtype = result_type(operands);
  const Tensor x = rows.to(dtype == DType::f64 ? DType::f64 : DType::f32);
  const Autocast no_products_of_halves(DType::f32);
  const int64_t observations = x.size(1);
  Tensor weights = ones({1}, {.dtype = x.dtype(), .device = x.device()}).expand({observations});
  if (fweights.defined()) {
    check_weights("fweights", fweights, observations, false);
    weights = weights * fweights;
  }
  const Tensor counts = weights;
  if (aweights.defined()) {
    check_weights("aweights", aweights, observations, true);
    weights = weights * aweights;
  }
  const bool weighted = fweights.defined() || aweights.defined();
  const Tensor total =
      weighted ? sum(weights) : full({}, observations, {.dtype = x.dtype(), .device = x.device()});
  Tensor divisor = total - correction;
  if (aweights.defined() && correction != 0)
    divisor = total - static_cast<double>(correction) * sum(weights * aweights) / total;
  const Tensor centred = x - sum(x * weights, 1, true) / total;
  return (matmul(centred, (centred * weights).t()) / clamp_min(divisor, 0)).squeeze().to(dtype);
}

Tensor corrcoef(const Tensor& input) {
  check_defined("corrcoef", {{"input", input}});
  const CalledOp called("corrcoef");
  check(input.dim() <= 2, "corrcoef", "input must have at most 2 dimensions", input.shape());
  const Tensor c = cov(is_half(input.dtype()) ? input.to(DType::f32) : input);
  const DType dtype = is_floating(input.dtype()) ? input.dtype() : DType::f32;
  if (c.dim() == 0) return (c / c).to(dtype);
  const Tensor deviations = sqrt(diagonal(c));
  return clamp(c / deviations.unsqueeze(1) / deviations, -1, 1).to(dtype);
}

Tensor diff(const Tensor& input, int64_t n, int64_t dim, const Tensor& prepend,
            const Tensor& append) {
  check_defined("diff", {{"input", input}});
  const CalledOp called("diff");
  check(input.dim() > 0, "diff", "input must have a dimension", input.shape());
  check(n >= 0, "diff", "n can't be negative", n);
  const int d = wrap_dim("diff", dim, input.dim());
  std::vector<Tensor> parts;
  for (const Tensor& part : {prepend, input, append}) {
    if (part.defined()) parts.push_back(part);
  }
  if (n == 0) return input.clone();
  Tensor x = parts.size() > 1 ? cat(parts, d) : input;
  // Without elements the length alone is left to find.
  if (x.numel() == 0) return x.narrow(d, 0, x.size(d) - std::min(n, x.size(d))).clone();
  for (int64_t i = 0; i < n && x.size(d) > 0; ++i) {
    const int64_t length = x.size(d) - 1;
    const Tensor before = x.narrow(d, 0, length), after = x.narrow(d, 1, length);
    x = x.dtype() == DType::boolean ? logical_xor(after, before) : after - before;
  }
  return x;
}

namespace {

// What both rules add up: twice the areas between neighbours along `dim`, which counts from the
// end, of unit width where there is no x.
struct Trapezoids {
  Tensor twice;
  int dim;
  DType dtype;  // of the integral
};

// f(a_i+1, a_i) along `dim`.
template <class F>
Tensor of_neighbours(const Tensor& a, int dim, const F& f) {
  const int64_t size = a.size(dim), length = std::max<int64_t>(size - 1, 0);
  return f(a.narrow(dim, size - length, length), a.narrow(dim, 0, length));
}

Trapezoids trapezoids(const char* op, const Tensor& given, const Tensor& x, int64_t given_dim) {
  check(given.dim() > 0, op, "y must have a dimension", given.shape());
  const int dim = wrap_dim(op, given_dim, given.dim()) - given.dim();
  const Tensor y = autocast_to_f32(given);
  const DType dtype = x.defined() ? promote(y.dtype(), x.dtype()) : y.dtype();
  for (const Tensor& t : {y, x})
    check(!t.defined() || t.dtype() != DType::boolean, op, "dtype must be a number, not bool",
          DType::boolean);
  const auto wide = [&](const Tensor& t) { return is_half(dtype) ? t.to(DType::f32) : t; };
  Tensor twice = of_neighbours(wide(y), dim, [](const auto& b, const auto& a) { return b + a; });
  if (x.defined()) {
    Shape column = Dims::filled(-dim, 1);
    column[0] = x.numel();
    const Tensor places = x.dim() == 1 ? x.reshape(column) : x;
    check(places.dim() >= -dim && places.size(dim) == y.size(dim), op,
          "x must have a number for each sample", x.shape(), " for ", y.shape());
    twice = twice *
            of_neighbours(wide(places), dim, [](const auto& b, const auto& a) { return b - a; });
  }
  return {twice, dim, is_differentiable(dtype) ? dtype : DType::f32};
}

Tensor whole_integral(const Trapezoids& parts, double dx) {
  return (sum(parts.twice, parts.dim) * (dx / 2)).to(parts.dtype);
}

Tensor running_integral(const Trapezoids& parts, double dx) {
  return (cumsum(parts.twice, parts.dim) * (dx / 2)).to(parts.dtype);
}

}  // namespace

Tensor trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  const CalledOp called("trapezoid");
  check_defined("trapezoid", {{"y", y}});
  return whole_integral(trapezoids("trapezoid", y, {}, dim), dx.to_double());
}
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const CalledOp called("trapezoid");
  check_defined("trapezoid", {{"y", y}, {"x", x}});
  return whole_integral(trapezoids("trapezoid", y, x, dim), 1);
}
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  const CalledOp called("cumulative_trapezoid");
  check_defined("cumulative_trapezoid", {{"y", y}});
  return running_integral(trapezoids("cumulative_trapezoid", y, {}, dim), dx.to_double());
}
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const CalledOp called("cumulative_trapezoid");
  check_defined("cumulative_trapezoid", {{"y", y}, {"x", x}});
  return running_integral(trapezoids("cumulative_trapezoid", y, x, dim), 1);
}

}  // namespace aorta
