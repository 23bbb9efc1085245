#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/nn/grid_sample.h>

#include <algorithm>

namespace aorta::nn {
namespace {

constexpr const char* kGridOp = "grid_sample";

// Where points lie along a dimension of `size` positions, counted in positions.
Tensor in_positions(const Tensor& point, int64_t size, bool align) {
  return align ? (point + 1) * (0.5 * static_cast<double>(size - 1))
               : ((point + 1) * static_cast<double>(size) - 1) * 0.5;
}

// Into [0, size - 1]. At the ends the gradient is 0, as beyond them.
Tensor clipped(const Tensor& at, int64_t size) {
  const double last = static_cast<double>(size - 1);
  const Tensor inside = logical_and(gt(at, 0), lt(at, last));
  return where(inside, at, clamp(where(isnan(at), 0, at).detach(), 0, last));
}

// Mirrored at the outermost positions, or at their outer edges.
Tensor reflected(const Tensor& at, int64_t size, bool align) {
  const double low = align ? 0 : -0.5, span = static_cast<double>(align ? size - 1 : size);
  if (span == 0) return at * 0;
  const Tensor distance = abs(at - low);
  const Tensor flips = floor(distance / span).detach();
  const Tensor rest = distance - flips * span;
  return where(eq(remainder(flips, 2), 0), rest + low, (span + low) - rest);
}

Tensor padded(const Tensor& at, int64_t size, const GridSampleOptions& options) {
  switch (options.padding_mode) {
    case GridSamplePadding::zeros:
      return at;
    case GridSamplePadding::border:
      return clipped(at, size);
    case GridSamplePadding::reflection:
      return clipped(reflected(at, size, options.align_corners), size);
  }
  return at;
}

// What is read along one dimension: positions and their weights.
struct Taps {
  std::vector<Tensor> places, weights;  // i64; of the compute dtype
  std::vector<Tensor> inside;           // whether the position is one
};

// Far outside in place of what no integer is.
Tensor as_place(const Tensor& whole) {
  constexpr double kFar = 1 << 30;
  return where(lt(abs(whole), kFar), whole, -kFar).to(DType::i64);
}

void add_tap(Taps& taps, const Tensor& place, const Tensor& weight, int64_t size) {
  taps.inside.push_back(logical_and(ge(place, 0), lt(place, size)));
  taps.places.push_back(clamp(place, 0, size - 1));
  taps.weights.push_back(where(taps.inside.back(), weight, 0));
}

// Keys' kernel with a = -0.75 at distances t + 1, t, 1 - t and 2 - t.
std::vector<Tensor> cubic_weights(const Tensor& t) {
  constexpr double a = -0.75;
  const auto near = [](const Tensor& x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](const Tensor& x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

Taps taps_of(const Tensor& point, int64_t size, const GridSampleOptions& options) {
  Taps taps;
  const Tensor at = in_positions(point, size, options.align_corners);
  if (options.mode == GridSampleMode::bicubic) {
    const Tensor known = where(isfinite(at), at, 0);  // weights of others, which are outside, are 0
    const Tensor first = floor(at).detach();
    const std::vector<Tensor> weights = cubic_weights(known - floor(known).detach());
    for (int k = 0; k < 4; ++k) {
      const Tensor place = as_place(padded(first + (k - 1), size, options));
      add_tap(taps, place, weights[static_cast<size_t>(k)], size);
    }
    return taps;
  }
  const Tensor there = padded(at, size, options);
  if (options.mode == GridSampleMode::nearest) {
    const Tensor whole = round(there), fixed = whole.detach();
    // A weight of 1, by way of which points get their gradient, of 0.
    add_tap(taps, as_place(fixed), 1 + (whole - fixed), size);
    return taps;
  }
  const Tensor first = floor(there).detach(), place = as_place(first), rest = there - first;
  add_tap(taps, place, 1 - rest, size);
  add_tap(taps, place + 1, rest, size);
  return taps;
}

void check_grid(const Tensor& input, const Tensor& grid) {
  check(input.dim() == 4 || input.dim() == 5, kGridOp,
        "input must be (N, C, H, W) or (N, C, D, H, W)", input.shape());
  check(is_floating(input.dtype()), kGridOp, "dtype must be floating", input.dtype());
  check(grid.dtype() == input.dtype(), kGridOp, "input and grid must have one dtype", input.dtype(),
        " and ", grid.dtype());
  check(grid.device() == input.device(), kGridOp, "tensors must be on one device", input.device(),
        " and ", grid.device());
  const int spatial = input.dim() - 2;
  check(grid.dim() == input.dim() && grid.size(0) == input.size(0) && grid.size(-1) == spatial,
        kGridOp, "grid must be (N, H', W', 2) or (N, D', H', W', 3), with the input's N",
        grid.shape(), " for ", input.shape());
  for (int d = 2; d < input.dim(); ++d)
    check(input.size(d) > 0, kGridOp, "sizes must be positive, but those of N and C",
          input.shape());
}

}  // namespace

Tensor grid_sample(const Tensor& given, const Tensor& given_grid,
                   const GridSampleOptions& options) {
  const CalledOp called(kGridOp);
  check_defined(kGridOp, {{"input", given}, {"grid", given_grid}});
  const Tensor input = autocast_to_f32(given), grid = autocast_to_f32(given_grid);
  check_grid(input, grid);
  const int spatial = input.dim() - 2;
  const DType compute = input.dtype() == DType::f64 ? DType::f64 : DType::f32;
  Shape shape{input.size(0), input.size(1)};
  int64_t count = 1;  // of a sample's points
  for (int d = 1; d <= spatial; ++d) {
    shape.push_back(grid.size(d));
    count *= grid.size(d);
  }
  const Tensor table = input.to(compute).flatten(2);  // (N, C, positions)
  const Tensor points = grid.to(compute).reshape({input.size(0), count, spatial});
  std::vector<Taps> taps;  // of the spatial dimensions; x is the last
  for (int d = 0; d < spatial; ++d)
    taps.push_back(taps_of(points.select(2, spatial - 1 - d), input.size(2 + d), options));
  const int64_t per_dimension = static_cast<int64_t>(taps[0].places.size());
  int64_t corners = 1;
  for (int d = 0; d < spatial; ++d) corners *= per_dimension;
  Tensor sum;
  for (int64_t corner = 0; corner < corners; ++corner) {
    Tensor place, weight, inside;  // (N, points)
    int64_t rest = corner;
    for (int d = 0; d < spatial; ++d, rest /= per_dimension) {
      const size_t k = static_cast<size_t>(rest % per_dimension);
      const Taps& along = taps[static_cast<size_t>(d)];
      place = place.defined() ? place * input.size(2 + d) + along.places[k] : along.places[k];
      inside = inside.defined() ? logical_and(inside, along.inside[k]) : along.inside[k];
      weight = weight.defined() ? weight * along.weights[k] : along.weights[k];
    }
    const Tensor index = place.unsqueeze(1).expand({table.size(0), table.size(1), place.size(1)});
    const Tensor term =
        where(inside.unsqueeze(1), gather(table, 2, index), 0) * weight.unsqueeze(1);
    sum = sum.defined() ? sum + term : term;
  }
  return sum.reshape(shape).to(input.dtype());
}

Tensor affine_grid(const Tensor& theta, const Shape& size, bool align_corners) {
  const char* const op = "affine_grid";
  const CalledOp called(op);
  check_defined(op, {{"theta", theta}});
  check(size.size() == 4 || size.size() == 5, op, "size must be (N, C, H, W) or (N, C, D, H, W)",
        size);
  check(is_floating(theta.dtype()), op, "dtype must be floating", theta.dtype());
  const int spatial = size.size() - 2;
  const Shape wanted{size[0], spatial, spatial + 1};
  check(theta.shape() == wanted, op, "theta must be (N, 2, 3) or (N, 3, 4), with the N of size",
        theta.shape(), " for ", size);
  Shape positions;
  for (int d = 0; d < spatial; ++d) {
    check(size[2 + d] > 0, op, "sizes must be positive", size);
    positions.push_back(size[2 + d]);
  }
  const TensorOptions options{.dtype = theta.dtype(), .device = theta.device()};
  std::vector<Tensor> parts;  // x, y, (z,) 1: each of `positions`
  for (int d = spatial - 1; d >= 0; --d) {
    const int64_t n = positions[d];
    const double end = n == 1          ? 0
                       : align_corners ? 1
                                       : static_cast<double>(n - 1) / static_cast<double>(n);
    Shape along = Dims::filled(spatial, 1);
    along[d] = n;
    parts.push_back(linspace(-end, end, n, options).view(along).expand(positions));
  }
  parts.push_back(ones(positions, options));
  const Tensor base = stack(parts, -1).reshape({-1, spatial + 1});  // (points, n + 1)
  Shape shape{size[0]};
  for (const int64_t n : positions) shape.push_back(n);
  shape.push_back(spatial);
  return matmul(base, theta.transpose(1, 2)).reshape(shape);
}

}  // namespace aorta::nn
