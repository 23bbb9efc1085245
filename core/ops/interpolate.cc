#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/interpolate.h>

#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/creation.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace aorta::kernel {

constinit Op<InterpolateKernel, void (*)(Tensor&, const Tensor&, const InterpolatePlanRef&)>
    interpolate_op{"interpolate"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

bool is_nearest(InterpolateMode mode) {
  return mode == InterpolateMode::nearest || mode == InterpolateMode::nearest_exact;
}

// The terms of one output, in ascending order of position. At the border several are of one
// position: each output of a mode has the same number of terms, which its loops count on.
struct Terms {
  int count = 0;
  int64_t index[4];
  double weight[4];

  void add(int64_t at, int64_t size, double value) {
    index[count] = std::clamp<int64_t>(at, 0, size - 1);
    weight[count++] = value;
  }
};

// Keys' cubic convolution kernel of a at a distance, which lies below 2.
double cubic(double x, double a) {
  return x < 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

// `ratio` is the distance of neighbouring outputs in the input.
Terms terms_of(InterpolateMode mode, int64_t o, int64_t in, int64_t out, double ratio, bool align) {
  Terms terms;
  if (is_nearest(mode)) {
    // In f32, as everywhere else: sizes' ratios that f32 rounds decide which neighbour it is.
    const float scale = static_cast<float>(ratio);
    const float at = mode == InterpolateMode::nearest
                         ? static_cast<float>(o) * scale
                         : static_cast<float>((static_cast<double>(o) + 0.5) * scale);
    terms.add(static_cast<int64_t>(std::floor(at)), in, 1);
    return terms;
  }
  const double place = static_cast<double>(o);
  double at = align ? place * ratio : (place + 0.5) * ratio - 0.5;
  if (mode == InterpolateMode::bicubic) {
    const int64_t whole = std::min(static_cast<int64_t>(std::floor(at)), in - 1);
    const double t = std::clamp(at - static_cast<double>(whole), 0.0, 1.0);
    for (int k = 0; k < 4; ++k) terms.add(whole - 1 + k, in, cubic(std::abs(t + 1 - k), -0.75));
    return terms;
  }
  at = in == out ? place : std::max(at, 0.0);
  const int64_t whole = std::min(static_cast<int64_t>(at), in - 1);
  const double rest = std::clamp(at - static_cast<double>(whole), 0.0, 1.0);
  terms.add(whole, in, 1 - rest);
  if (in != out) terms.add(whole + 1, in, rest);
  return terms;
}

void add_term(InterpolateTable& table, int64_t index, double weight) {
  table.index.push_back(static_cast<int32_t>(index));
  table.weight.push_back(weight);
}

// The terms of output o whose kernel is as wide as the distance of neighbouring outputs, so that no
// detail of the input falls between them.
void add_smoothed(InterpolateTable& table, InterpolateMode mode, int64_t o, double ratio) {
  const bool is_cubic = mode == InterpolateMode::bicubic;
  const double width = std::max(ratio, 1.0), support = is_cubic ? 2 * width : width;
  const double centre = ratio * (static_cast<double>(o) + 0.5);
  const int64_t first = std::max<int64_t>(static_cast<int64_t>(centre - support + 0.5), 0);
  const int64_t end = std::min(static_cast<int64_t>(centre + support + 0.5), table.input);
  std::vector<double> weights;
  double sum = 0;
  for (int64_t i = first; i < end; ++i) {
    const double x = std::abs(static_cast<double>(i) - centre + 0.5) / width;
    weights.push_back(is_cubic ? (x < 2 ? cubic(x, -0.5) : 0) : std::max(1 - x, 0.0));
    sum += weights.back();
  }
  for (int64_t i = first; i < end; ++i)
    add_term(table, i, weights[static_cast<size_t>(i - first)] / sum);
}

// The mean of the input that output o overlaps.
void add_area(InterpolateTable& table, int64_t o) {
  const int64_t first = o * table.input / table.output;
  const int64_t end = divide_up((o + 1) * table.input, table.output);
  for (int64_t i = first; i < end; ++i) add_term(table, i, 1 / static_cast<double>(end - first));
}

InterpolateTable make_table(const InterpolateOptions& options, int64_t in, int64_t out,
                            double scale_factor, int spatial) {
  const InterpolateMode mode = options.mode;
  const bool align = options.align_corners.value_or(false);
  double ratio =
      scale_factor > 0 ? 1 / scale_factor : static_cast<double>(in) / static_cast<double>(out);
  if (align) ratio = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  // PyTorch rounds the ratio of f32 sizes too.
  if (is_nearest(mode) && scale_factor <= 0)
    ratio = static_cast<float>(in) / static_cast<float>(out);
  // PyTorch's maps of as many or twice as many pixels don't look at the factor, and smooth ones of
  // as many leave them as they are.
  if ((mode == InterpolateMode::nearest && spatial == 2 && (out == in || out == 2 * in)) ||
      (options.antialias && out == in))
    ratio = static_cast<double>(in) / static_cast<double>(out);
  InterpolateTable table{in, out, {0}, {}, {}};
  for (int64_t o = 0; o < out; ++o) {
    if (mode == InterpolateMode::area) {
      add_area(table, o);
    } else if (options.antialias) {
      add_smoothed(table, mode, o, ratio);
    } else {
      const Terms terms = terms_of(mode, o, in, out, ratio, align);
      for (int k = 0; k < terms.count; ++k) add_term(table, terms.index[k], terms.weight[k]);
    }
    table.first.push_back(static_cast<int32_t>(table.index.size()));
  }
  return table;
}

InterpolateTable transpose(const InterpolateTable& table) {
  InterpolateTable result{table.output, table.input, {}, {}, {}};
  result.first.assign(static_cast<size_t>(table.input) + 1, 0);
  for (int32_t i : table.index) ++result.first[static_cast<size_t>(i) + 1];
  for (size_t i = 1; i < result.first.size(); ++i) result.first[i] += result.first[i - 1];
  std::vector<int32_t> next = result.first;
  result.index.resize(table.index.size());
  result.weight.resize(table.index.size());
  for (size_t o = 0; o + 1 < table.first.size(); ++o) {
    for (int32_t k = table.first[o]; k < table.first[o + 1]; ++k) {
      const size_t from = static_cast<size_t>(k);
      const size_t to = static_cast<size_t>(next[static_cast<size_t>(table.index[from])]++);
      result.index[to] = static_cast<int32_t>(o);
      result.weight[to] = table.weight[from];
    }
  }
  return result;
}

body::InterpolateMap map_of(const InterpolateTable& table) {
  body::InterpolateMap map{
      table.input,    table.output, table.first.data(), table.index.data(), table.weight.data(),
      table.first[1], true};
  for (size_t o = 1; o + 1 < table.first.size(); ++o) {
    if (table.first[o + 1] - table.first[o] != map.taps) map.taps = 0;
  }
  map.copies = map.taps == 1;
  for (double weight : table.weight) map.copies &= weight == 1;
  return map;
}

void check_mode(const Tensor& input, const InterpolateOptions& options) {
  const char* const op = "interpolate";
  const int n = input.dim();
  check(is_floating(input.dtype()), op, "dtype must be floating", input.dtype());
  switch (options.mode) {
    case InterpolateMode::nearest:
    case InterpolateMode::nearest_exact:
    case InterpolateMode::area:
      check(n >= 3 && n <= 5, op, "input must be (N, C, L), (N, C, H, W) or (N, C, D, H, W)",
            input.shape());
      check(!options.align_corners, op, "align_corners isn't for the nearest modes and area",
            options.align_corners.value_or(false));
      break;
    case InterpolateMode::linear:
      check(n == 3, op, "linear takes (N, C, L)", input.shape());
      break;
    case InterpolateMode::bilinear:
      check(n == 4, op, "bilinear takes (N, C, H, W)", input.shape());
      break;
    case InterpolateMode::bicubic:
      check(n == 4, op, "bicubic takes (N, C, H, W)", input.shape());
      break;
    case InterpolateMode::trilinear:
      check(n == 5, op, "trilinear takes (N, C, D, H, W)", input.shape());
      break;
  }
  check(!options.antialias || options.mode == InterpolateMode::bilinear ||
            options.mode == InterpolateMode::bicubic,
        op, "antialias is for bilinear and bicubic", to_string(options.mode));
  for (int d = 1; d < n; ++d)
    check(input.shape()[d] > 0 && input.shape()[d] <= kLargest / 4, op,
          "sizes must be positive and below 2^29, but that of the batch", input.shape());
}

// The factor along a spatial dimension; 0 without one.
double factor_of(const InterpolateOptions& options, int d) {
  const std::vector<double>& all = options.scale_factor;
  if (all.empty()) return 0;
  return all[all.size() == 1 ? 0 : static_cast<size_t>(d)];
}

Dims sizes_of(const Tensor& input, const InterpolateOptions& options) {
  const char* const op = "interpolate";
  const int spatial = input.dim() - 2;
  const size_t factors = options.scale_factor.size();
  check(options.size.empty() != (factors == 0), op, "either size or scale_factor must be given",
        options.size.empty() ? "none" : "both");
  Dims sizes = options.size.size() == 1 ? Dims::filled(spatial, options.size[0]) : options.size;
  if (factors > 0) {
    check(factors == 1 || factors == static_cast<size_t>(spatial), op,
          "a scale_factor for each spatial dimension or one for all", factors, " for ",
          input.shape());
    for (int d = 0; d < spatial; ++d) {
      const double size =
          std::floor(static_cast<double>(input.shape()[d + 2]) * factor_of(options, d));
      const bool ok = size >= 1 && size <= static_cast<double>(kLargest / 4);
      check(ok, op, "scale_factor must give sizes that are positive and below 2^29",
            factor_of(options, d), " for ", input.shape());
      sizes.push_back(static_cast<int64_t>(size));
    }
  }
  check(sizes.size() == spatial, op, "a size for each spatial dimension or one for all",
        options.size, " for ", input.shape());
  for (int64_t size : sizes)
    check(size > 0 && size <= kLargest / 4, op, "sizes must be positive and below 2^29", sizes);
  return sizes;
}

}  // namespace

const char* to_string(InterpolateMode mode) {
  constexpr const char* kNames[] = {"nearest", "nearest-exact", "linear", "bilinear",
                                    "bicubic", "trilinear",     "area"};
  return kNames[static_cast<size_t>(mode)];
}

InterpolatePlanRef kernel::transposed_plan(const InterpolatePlan& plan) {
  InterpolatePlan result{plan.spatial, {}};
  for (int d = 0; d < 3; ++d) result.tables[d] = transpose(plan.tables[d]);
  return std::make_shared<const InterpolatePlan>(std::move(result));
}

InterpolatePlanRef kernel::interpolate_plan(const Shape& from, const Shape& to,
                                            const InterpolateOptions& options) {
  InterpolatePlan plan{from.size() - 2, {}};
  for (int d = 0; d < plan.spatial; ++d) {
    plan.tables[3 - plan.spatial + d] =
        make_table(options, from[2 + d], to[2 + d],
                   options.recompute_scale_factor ? 0 : factor_of(options, d), plan.spatial);
  }
  return std::make_shared<const InterpolatePlan>(std::move(plan));
}

Tensor kernel::resample(const Tensor& input, const InterpolatePlanRef& plan) {
  const CalledOp called(interpolate_op.name());
  const ProfilerRange range(interpolate_op.name(), {&input});
  const bool last = is_channels_last(input);
  const Tensor x = input.contiguous(last ? MemoryFormat::channels_last : MemoryFormat::contiguous);
  Shape shape = input.shape();
  body::InterpolateArgs args;
  for (int d = 0; d < 3; ++d) args.dims[d] = map_of(plan->tables[d]);
  for (int d = 0; d < plan->spatial; ++d) shape[2 + d] = args.dims[3 - plan->spatial + d].output;
  checked_numel("interpolate", shape, item_size(x.dtype()));
  Tensor output =
      empty_strided(shape, last ? channels_last_strides(shape) : contiguous_strides(shape),
                    {.dtype = x.dtype(), .device = x.device()});
  args.outer = last ? shape[0] : shape[0] * shape[1];
  args.inner = last ? shape[1] : 1;
  args.input = x.data();
  args.output = output.data();
  args.dtype = x.dtype();
  if (output.numel() > 0) interpolate_op.kernel(x.device())(args);
  if (needs_gradient(input)) interpolate_op.gradient()(output, input, plan);
  tell_tracer("resample", {&output}, {&input}, plan);
  return output;
}

Tensor interpolate(const Tensor& input, const InterpolateOptions& options) {
  const CalledOp called("interpolate");
  check_defined("interpolate", {{"input", input}});
  check_mode(input, options);
  const Dims sizes = sizes_of(input, options);
  Shape shape = input.shape();
  for (int d = 0; d < sizes.size(); ++d) shape[2 + d] = sizes[d];
  // For no elements no tables are made, which may be long.
  if (checked_numel("interpolate", shape, item_size(input.dtype())) == 0)
    return input.reshape(shape);
  const Tensor output = resample(input, interpolate_plan(input.shape(), shape, options));
  tell_tracer(interpolate_op.name(), {&output}, {&input}, options);
  return output;
}

}  // namespace aorta
