#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/interpolate.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators.h>

#include <algorithm>
#include <cmath>
#include <limits>

// Resize: each output place reads a few places of the input, whose weights are found here, a
// dimension at a time, as the specification of ONNX words them.
namespace aorta::onnx {
namespace {

enum class Coordinates : uint8_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_crop_and_resize,
  tf_half_pixel_for_nn
};
enum class ResizeMode : uint8_t { nearest, linear, cubic };
enum class Rounding : uint8_t { prefer_floor, prefer_ceil, floor, ceil, by_scale };
enum class Policy : uint8_t { stretch, not_larger, not_smaller };

struct Resizing {
  Coordinates coordinates = Coordinates::half_pixel;
  ResizeMode mode = ResizeMode::nearest;
  Rounding rounding = Rounding::prefer_floor;
  Policy policy = Policy::stretch;
  bool antialias = false, exclude_outside = false;
  double cubic_a = -0.75, extrapolation = 0;
  std::vector<int64_t> axes;
};

/// One dimension: its sizes, and where the output's positions lie.
struct Line {
  int64_t input, output;
  double scale, length;       // of the output, before it is rounded down
  double begin = 0, end = 1;  // the region of tf_crop_and_resize
};

double place_of(const Resizing& r, const Line& line, int64_t position) {
  const auto o = static_cast<double>(position), size = static_cast<double>(line.input);
  const double length = line.length;
  switch (r.coordinates) {
    case Coordinates::align_corners:
      return length == 1 ? 0 : o * (size - 1) / (length - 1);
    case Coordinates::asymmetric:
      return o / line.scale;
    case Coordinates::tf_half_pixel_for_nn:
      return (o + 0.5) / line.scale;
    case Coordinates::tf_crop_and_resize:
      return length == 1 ? 0.5 * (line.begin + line.end) * (size - 1)
                         : line.begin * (size - 1) +
                               o * (line.end - line.begin) * (size - 1) / (length - 1);
    case Coordinates::pytorch_half_pixel:
      return length > 1 ? (o + 0.5) / line.scale - 0.5 : 0;
    case Coordinates::half_pixel_symmetric:
      return size / 2 * (1 - static_cast<double>(line.output) / (line.scale * size)) +
             (o + 0.5) / line.scale - 0.5;
    default:
      return (o + 0.5) / line.scale - 0.5;
  }
}

double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? a * (((x - 5) * x + 8) * x - 4) : 0;
}

/// The weights of neighbouring places, the first of which is `begin`.
struct Neighbours {
  int64_t begin;
  std::vector<double> weights;
};

Neighbours neighbours_of(const Resizing& r, const Line& line, double place) {
  // Before operator set 11 an image that shrinks reads what comes next, by places of f32.
  if (r.rounding == Rounding::by_scale && r.mode == ResizeMode::nearest) {
    const auto at = static_cast<float>(place);
    return {static_cast<int64_t>(line.scale < 1 ? std::ceil(at) : std::floor(at)), {1}};
  }
  // In (0, 1]: of a whole place, the one on its left comes first.
  const double left = std::ceil(place) - 1, ratio = place - left;
  const auto base = static_cast<int64_t>(left);
  if (r.mode == ResizeMode::nearest) {
    const bool down = ratio < 1 && (r.rounding == Rounding::floor ||
                                    (r.rounding == Rounding::prefer_floor && ratio <= 0.5) ||
                                    (r.rounding == Rounding::prefer_ceil && ratio < 0.5));
    return {down ? base : base + 1, {1}};
  }
  // Where an image shrinks, antialiasing makes the kernel as much wider.
  const double scale = r.antialias ? std::min(line.scale, 1.0) : 1;
  const double half = r.mode == ResizeMode::linear ? 1 : 2;
  const auto first = static_cast<int64_t>(std::floor(-half / scale)) + 1;
  Neighbours result{base + first, {}};
  double sum = 0;
  for (int64_t i = first; i < 2 - first; ++i) {
    const double x = (static_cast<double>(i) - ratio) * scale;
    const double weight =
        r.mode == ResizeMode::linear ? std::max(1 - std::abs(x), 0.0) : cubic(x, r.cubic_a);
    result.weights.push_back(weight);
    sum += weight;
  }
  if (r.antialias)
    for (double& weight : result.weights) weight /= sum;
  return result;
}

/// The table, and which positions lie outside the input (tf_crop_and_resize).
struct Table {
  kernel::InterpolateTable table;
  std::vector<bool> outside;
};

Table table_of(const Resizing& r, const Line& line) {
  Table result;
  kernel::InterpolateTable& table = result.table;
  table = {line.input, line.output, {0}, {}, {}};
  for (int64_t o = 0; o < line.output; ++o) {
    const double place = place_of(r, line, o);
    check(std::abs(place) < 0x1p30, "Resize", "places must lie within 2^30 of the input", place);
    const auto last = static_cast<double>(line.input - 1);
    result.outside.push_back(r.coordinates == Coordinates::tf_crop_and_resize &&
                             (place < 0 || place > last));
    Neighbours around = neighbours_of(r, line, place);
    const auto is_inside = [&](size_t i) {
      const int64_t index = around.begin + static_cast<int64_t>(i);
      return index >= 0 && index < line.input;
    };
    if (r.exclude_outside) {
      double sum = 0;
      for (size_t i = 0; i < around.weights.size(); ++i) {
        if (!is_inside(i)) around.weights[i] = 0;
        sum += around.weights[i];
      }
      for (double& weight : around.weights) weight /= sum == 0 ? 1 : sum;
    }
    for (size_t i = 0; i < around.weights.size(); ++i) {
      const int64_t index = around.begin + static_cast<int64_t>(i);
      table.index.push_back(static_cast<int32_t>(std::clamp<int64_t>(index, 0, line.input - 1)));
      table.weight.push_back(around.weights[i]);
    }
    table.first.push_back(static_cast<int32_t>(table.index.size()));
  }
  return result;
}

// Sizes and scales of all dimensions, of the wanted scales or else sizes of some.
std::vector<Line> lines_of(const Resizing& r, const Tensor& x, const std::vector<double>& scales,
                           const std::vector<int64_t>& sizes, const std::vector<double>& region) {
  std::vector<Line> lines;
  for (const int64_t size : x.shape()) lines.push_back({size, size, 1, static_cast<double>(size)});
  std::vector<int64_t> axes = r.axes;
  for (int d = 0; r.axes.empty() && d < x.dim(); ++d) axes.push_back(d);
  const size_t given = scales.empty() ? sizes.size() : scales.size();
  check(given == axes.size() && (region.empty() || region.size() == 2 * given), "Resize",
        "scales or sizes must be one for each axis", given, " for ", axes.size());
  const bool smallest = r.policy == Policy::not_larger;
  double common = smallest ? std::numeric_limits<double>::infinity() : 0;
  for (size_t i = 0; i < given; ++i) {
    Line& line = lines[static_cast<size_t>(wrap_dim("Resize", axes[i], x.dim()))];
    const auto size = static_cast<double>(line.input);
    check(line.input > 0, "Resize", "input must have elements", x.shape());
    line.scale = scales.empty() ? static_cast<double>(sizes[i]) / size : scales[i];
    check(line.scale > 0 && line.scale < 0x1p20, "Resize", "scales must be above 0 and below 2^20",
          line.scale, " of ", line.input);
    // Scales are f32, and so is the product that is rounded down: 0.7 of 10 is 7.
    const float length = static_cast<float>(line.scale) * static_cast<float>(line.input);
    line.output = scales.empty() ? sizes[i] : static_cast<int64_t>(length);
    check(length < 0x1p62f && line.output >= 0, "Resize", "sizes must be 0 to 2^62", line.output);
    // A quotient of sizes times one of them isn't the other.
    line.length = scales.empty() ? static_cast<double>(line.output) : line.scale * size;
    common = smallest ? std::min(common, line.scale) : std::max(common, line.scale);
    if (!region.empty()) {
      line.begin = region[i];
      line.end = region[i + given];
    }
  }
  for (size_t i = 0; r.policy != Policy::stretch && scales.empty() && i < given; ++i) {
    Line& line = lines[static_cast<size_t>(wrap_dim("Resize", axes[i], x.dim()))];
    line.scale = common;
    line.length = std::floor(common * static_cast<double>(line.input) + 0.5);
    line.output = static_cast<int64_t>(line.length);
  }
  return lines;
}

kernel::InterpolateTable same(int64_t size) {
  kernel::InterpolateTable table{size, size, {0}, {}, {}};
  for (int64_t i = 0; i < size; ++i) {
    table.index.push_back(static_cast<int32_t>(i));
    table.weight.push_back(1);
    table.first.push_back(static_cast<int32_t>(i + 1));
  }
  return table;
}

bool changes(const Resizing& r, const Line& line) {
  return line.input != line.output || line.scale != 1 ||
         r.coordinates == Coordinates::tf_crop_and_resize ||
         r.coordinates == Coordinates::tf_half_pixel_for_nn;
}

// x with dimension d resampled: those behind it stay as they are.
Tensor resample_along(const Tensor& x, int d, const kernel::InterpolateTable& table) {
  int64_t before = 1, behind = 1;
  for (int i = 0; i < x.dim(); ++i) (i < d ? before : behind) *= i == d ? 1 : x.size(i);
  const auto plan = std::make_shared<kernel::InterpolatePlan>();
  plan->tables[1] = table;
  plan->tables[2] = same(behind);
  Shape shape = x.shape();
  shape[d] = table.output;
  return kernel::resample(x.reshape({before, 1, table.input, behind}), plan).reshape(shape);
}

// Numbers of f64 as integers: cubic weights overshoot, and beyond a dtype's end a cast wraps
// around.
Tensor as_integers(const Tensor& x, DType dtype) {
  if (dtype == u8) return round(x).clamp(0, 255).to(dtype);
  using Ends = std::numeric_limits<int32_t>;
  return (dtype == i32 ? round(x).clamp(Ends::min(), Ends::max()) : round(x)).to(dtype);
}

Tensor resized(const Resizing& r, const Tensor& input, const std::vector<double>& scales,
               const std::vector<int64_t>& sizes, const std::vector<double>& region) {
  Tensor x = input;
  const std::vector<Line> lines = lines_of(r, x, scales, sizes, region);
  Shape shape;
  for (const Line& line : lines) shape.push_back(line.output);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return zeros(shape, {.dtype = input.dtype(), .device = x.device()});
  std::vector<Table> tables;
  for (const Line& line : lines)
    tables.push_back(changes(r, line) ? table_of(r, line) : Table{same(line.input), {}});
  // Integers that are picked stay what they are, also those that f64 hasn't.
  if (!is_floating(x.dtype()) && r.mode == ResizeMode::nearest && !r.exclude_outside &&
      r.coordinates != Coordinates::tf_crop_and_resize) {
    for (int d = 0; d < x.dim(); ++d) {
      const kernel::InterpolateTable& table = tables[static_cast<size_t>(d)].table;
      if (changes(r, lines[static_cast<size_t>(d)]))
        x = index_select(x, d, tensor(table.index, {table.output}, {.device = x.device()}));
    }
    return x;
  }
  if (!is_floating(x.dtype())) x = x.to(f64);
  const bool is_map =
      x.dim() >= 3 && x.dim() <= 5 && !changes(r, lines[0]) && !changes(r, lines[1]);
  if (is_map) {
    const auto plan = std::make_shared<kernel::InterpolatePlan>();
    plan->spatial = x.dim() - 2;
    for (int d = 2; d < x.dim(); ++d)
      plan->tables[5 - x.dim() + d - 2] = tables[static_cast<size_t>(d)].table;
    x = kernel::resample(x, plan);
  }
  for (int d = 0; d < x.dim(); ++d) {
    const auto& [table, outside] = tables[static_cast<size_t>(d)];
    if (!is_map && changes(r, lines[static_cast<size_t>(d)])) x = resample_along(x, d, table);
    if (std::find(outside.begin(), outside.end(), true) == outside.end()) continue;
    Shape along = Dims::filled(x.dim(), 1);
    along[d] = table.output;
    const std::vector<uint8_t> bytes(outside.begin(), outside.end());
    x = masked_fill(x, ne(tensor(bytes, along, {.device = x.device()}), 0), r.extrapolation);
  }
  return is_floating(input.dtype()) ? x : as_integers(x, input.dtype());
}

Resizing resizing_of(const Node& node) {
  Resizing r;
  r.mode = static_cast<ResizeMode>(node.choice("mode", {"nearest", "linear", "cubic"}));
  if (node.opset() < 11) {
    r.coordinates = Coordinates::asymmetric;
    r.rounding = Rounding::by_scale;
    return r;
  }
  r.coordinates = static_cast<Coordinates>(
      node.choice("coordinate_transformation_mode",
                  {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                   "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"}));
  r.rounding = static_cast<Rounding>(
      node.choice("nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  r.policy = static_cast<Policy>(
      node.choice("keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"}));
  r.antialias = node.flag("antialias", false);
  r.exclude_outside = node.flag("exclude_outside", false);
  r.cubic_a = node.number("cubic_coeff_a", -0.75);
  r.extrapolation = node.number("extrapolation_value", 0);
  r.axes = node.integers("axes");
  return r;
}

// Up to operator set 10 the inputs are X and scales; then X, the region, scales and sizes.
Run resize(const Node& node) {
  const Resizing r = resizing_of(node);
  const size_t place = node.opset() < 11 ? 1 : 2;
  return [=](const Inputs& x) -> Tensors {
    std::vector<double> scales, region;
    std::vector<int64_t> sizes;
    if (x.has(place)) scales = x[place].to_vector<double>();
    if (place == 2 && x.has(3)) sizes = x.integers(3);
    check(scales.empty() != sizes.empty(), "Resize", "either scales or sizes must be given",
          scales.size(), " and ", sizes.size());
    if (r.coordinates == Coordinates::tf_crop_and_resize) region = x[1].to_vector<double>();
    return {resized(r, x[0], scales, sizes, region)};
  };
}

Run upsample(const Node& node) {
  Resizing r;
  r.mode = static_cast<ResizeMode>(node.choice("mode", {"nearest", "linear"}));
  r.coordinates = Coordinates::asymmetric;
  r.rounding = Rounding::by_scale;
  const std::vector<float> given = node.numbers("scales");
  return [=](const Inputs& x) -> Tensors {
    const std::vector<double> scales =
        x.has(1) ? x[1].to_vector<double>() : std::vector<double>(given.begin(), given.end());
    return {resized(r, x[0], scales, {}, {})};
  };
}

}  // namespace

void add_resizing(Operators& table) {
  table["Resize"] = {resize, 1, 4, 1, {1, 2}};
  table["Upsample"] = {upsample, 1, 2, 1, {1}};
}

}  // namespace aorta::onnx
