#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/pointwise_call.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/written.h>

#include <algorithm>
#include <numeric>
#include <string_view>

namespace aorta::kernel {

constinit Op<RemapKernel, void (*)(Tensor&, const Tensor&, const Dims&)> flip_op{"flip"};
constinit Op<RemapKernel, void (*)(Tensor&, const Tensor&, const Dims&, const Dims&)> roll_op{
    "roll"};
constinit Op<RemapKernel, void (*)(Tensor&, const Tensor&, const Dims&, PadMode)> pad_op{"pad"};
constinit Op<TriangleKernel, TriangleGradient> tril_op{"tril"};
constinit Op<TriangleKernel, TriangleGradient> triu_op{"triu"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

using body::Edge;
using body::RemapArgs;
using body::RemapDim;

// A dimension that is read straight through joins the one around it, whose rule may be a shift.
bool merge(RemapDim& inner, const RemapDim& outer) {
  const bool shifts =
      outer.edge == Edge::none || outer.edge == Edge::constant || outer.edge == Edge::circular;
  if (inner.edge != Edge::none || !shifts || outer.stride != inner.stride * inner.size ||
      outer.source_stride != inner.source_stride * inner.size)
    return false;
  const int64_t n = inner.size;
  inner.edge = outer.edge;
  inner.size = n * outer.size;
  inner.source_size = n * outer.source_size;
  inner.shift = n * outer.shift;
  return true;
}

// The rules, one a dimension, with the strides filled in, ordered and merged.
RemapArgs plan_remap(const Tensor& output, const Tensor& input, const RemapDim* rules) {
  RemapArgs args;
  args.numel = output.numel();
  args.source = input.data();
  args.output = output.data();
  args.item_size = item_size(input.dtype());
  RemapDim dims[kMaxDims];
  int n = 0;
  for (int d = output.dim() - 1; d >= 0; --d) {
    if (output.shape()[d] == 1 && body::source_position(rules[d], 0) == 0) continue;
    dims[n] = rules[d];
    dims[n].stride = output.strides()[d];
    dims[n++].source_stride = input.strides()[d];
  }
  std::stable_sort(dims, dims + n,
                   [](const RemapDim& a, const RemapDim& b) { return a.stride < b.stride; });
  for (int d = 0; d < n; ++d) {
    if (args.ndim > 0 && merge(args.dims[args.ndim - 1], dims[d])) continue;
    args.dims[args.ndim++] = dims[d];
  }
  return args;
}

Tensor empty_in_order(const Tensor& like, const Shape& shape) {
  return empty_strided(shape, dense_strides(shape, like.strides()),
                       {.dtype = like.dtype(), .device = like.device()});
}

void straight_rules(const Tensor& input, RemapDim* rules) {
  for (int d = 0; d < input.dim(); ++d) {
    rules[d].size = rules[d].source_size = input.shape()[d];
  }
}

}  // namespace

Tensor flip(const Tensor& input, const Dims& dims) {
  const CalledOp called("flip");
  check_defined("flip", {{"input", input}});
  Dims wrapped;
  bool seen[kMaxDims] = {};
  for (int64_t dim : dims) {
    const int d = wrap_dim("flip", dim, input.dim());
    check(!seen[d], "flip", "each dimension once", dims);
    seen[d] = true;
    wrapped.push_back(d);
  }
  if (input.is_complex()) [[unlikely]]
    return by_parts(input, [&](const Tensor& parts) { return flip(parts, wrapped); });
  RemapDim rules[kMaxDims];
  straight_rules(input, rules);
  for (int64_t d : wrapped) rules[d].edge = Edge::flip;
  const ProfilerRange range("flip", {&input});
  Tensor output = empty_in_order(input, input.shape());
  if (output.numel() > 0) flip_op.kernel(input.device())(plan_remap(output, input, rules));
  if (needs_gradient(input)) flip_op.gradient()(output, input, wrapped);
  tell_tracer(flip_op.name(), {&output}, {&input}, wrapped);
  return output;
}

Tensor fliplr(const Tensor& input) {
  const CalledOp called("fliplr");
  check_defined("fliplr", {{"input", input}});
  check(input.dim() >= 2, "fliplr", "input must be (N, M, *)", input.shape());
  return flip(input, {1});
}

Tensor flipud(const Tensor& input) {
  const CalledOp called("flipud");
  check_defined("flipud", {{"input", input}});
  check(input.dim() >= 1, "flipud", "input must have a dimension", input.shape());
  return flip(input, {0});
}

Tensor rot90(const Tensor& input, int64_t k, const Dims& dims) {
  const CalledOp called("rot90");
  check_defined("rot90", {{"input", input}});
  check(input.dim() >= 2 && dims.size() == 2, "rot90", "two dimensions of two or more", dims,
        " for shape ", input.shape());
  const int from = wrap_dim("rot90", dims[0], input.dim());
  const int towards = wrap_dim("rot90", dims[1], input.dim());
  check(from != towards, "rot90", "each dimension once", dims);
  switch (k % 4) {
    case 0:
      return input.clone(MemoryFormat::contiguous);
    case 1:
    case -3:
      return flip(input, {towards}).transpose(from, towards);
    case 2:
    case -2:
      return flip(input, {from, towards});
    default:
      return flip(input, {from}).transpose(from, towards);
  }
}

Tensor roll(const Tensor& input, const Dims& shifts, const Dims& dims) {
  const CalledOp called("roll");
  check_defined("roll", {{"input", input}});
  check(shifts.size() == dims.size(), "roll", "one shift a dimension", shifts, " for dimensions ",
        dims);
  RemapDim rules[kMaxDims];
  straight_rules(input, rules);
  for (int k = 0; k < dims.size(); ++k) {
    RemapDim& rule = rules[wrap_dim("roll", dims[k], input.dim())];
    if (rule.size == 0 || input.dim() == 0) continue;
    const int64_t shift = shifts[k] % rule.size;
    rule.shift = (rule.shift + shift + rule.size) % rule.size;
    rule.edge = rule.shift == 0 ? Edge::none : Edge::circular;
  }
  Dims used, moves;
  for (int d = 0; d < input.dim(); ++d) {
    if (rules[d].edge == Edge::none) continue;
    used.push_back(d);
    moves.push_back(rules[d].shift);
  }
  if (input.is_complex()) [[unlikely]]
    return by_parts(input, [&](const Tensor& parts) { return roll(parts, moves, used); });
  const ProfilerRange range("roll", {&input});
  Tensor output = empty_in_order(input, input.shape());
  if (output.numel() > 0) roll_op.kernel(input.device())(plan_remap(output, input, rules));
  if (needs_gradient(input)) roll_op.gradient()(output, input, moves, used);
  tell_tracer(roll_op.name(), {&output}, {&input}, moves, used);
  return output;
}

Tensor roll(const Tensor& input, int64_t shift, std::optional<int64_t> dim) {
  const CalledOp called("roll");
  check_defined("roll", {{"input", input}});
  if (dim) return roll(input, Dims{shift}, Dims{*dim});
  return roll(input.reshape({-1}), Dims{shift}, Dims{0}).reshape(input.shape());
}

namespace {

// Crops where padding is negative, and sets it to 0 there.
Tensor crop(const Tensor& input, Dims& padding) {
  Tensor result = input;
  for (int k = 0; k < padding.size(); k += 2) {
    const int d = input.dim() - 1 - k / 2;
    const int64_t size = input.shape()[d];
    const bool fits =
        padding[k] >= -size && padding[k + 1] >= -size &&
        std::min<int64_t>(padding[k], 0) + std::min<int64_t>(padding[k + 1], 0) >= -size;
    check(fits, "pad", "a size can't become negative", padding, " for shape ", input.shape());
    const int64_t first = std::max<int64_t>(-padding[k], 0);
    const int64_t last = size - std::max<int64_t>(-padding[k + 1], 0);
    if (first > 0 || last < size) result = result.narrow(d, first, last - first);
    padding[k] = std::max<int64_t>(padding[k], 0);
    padding[k + 1] = std::max<int64_t>(padding[k + 1], 0);
  }
  return result;
}

Edge edge_of(PadMode mode) {
  switch (mode) {
    case PadMode::constant:
      return Edge::constant;
    case PadMode::reflect:
      return Edge::reflect;
    case PadMode::replicate:
      return Edge::replicate;
    case PadMode::circular:
      break;
  }
  return Edge::circular;
}

void check_padding(PadMode mode, int64_t before, int64_t after, const Tensor& input, int dim) {
  const int64_t size = input.shape()[dim], most = std::max(before, after);
  if (mode == PadMode::constant || most == 0) return;
  check(mode != PadMode::reflect || most < size, "pad",
        "reflect needs padding smaller than the size", most, " in dimension ", dim, " of size ",
        size);
  check(mode != PadMode::circular || most <= size, "pad",
        "circular needs padding no larger than the size", most, " in dimension ", dim, " of size ",
        size);
  check(size > 0, "pad", "there must be something to replicate", "dimension ", dim, " of size 0");
}

}  // namespace

Tensor pad(const Tensor& whole, const Dims& wanted, PadMode mode, const Scalar& value) {
  const CalledOp called("pad");
  check_defined("pad", {{"input", whole}});
  check(wanted.size() % 2 == 0 && wanted.size() <= 2 * whole.dim(), "pad",
        "two numbers a dimension, last dimension first", wanted, " for shape ", whole.shape());
  if (whole.is_complex()) [[unlikely]] {
    check_fits("pad", value, whole.dtype());
    if (mode == PadMode::constant && value.to_bool()) {
      return complex(pad(real(whole), wanted, mode, value.real()),
                     pad(imag(whole), wanted, mode, value.imag()));
    }
    Dims of_parts{0, 0};
    for (const int64_t n : wanted) of_parts.push_back(n);
    return by_parts(whole, [&](const Tensor& parts) { return pad(parts, of_parts, mode, 0); });
  }
  if (mode == PadMode::constant) {
    check_fits("pad", value, whole.dtype());
    pointwise::check_sign("pad", value, whole.dtype());
  }
  if (mode == PadMode::reflect || mode == PadMode::replicate) {
    Dims added = wanted, cut = wanted;
    for (int64_t& n : added) n = std::max<int64_t>(n, 0);
    for (int64_t& n : cut) n = std::min<int64_t>(n, 0);
    if (added != wanted) return pad(pad(whole, added, mode), cut);
  }
  Dims padding = wanted;
  const Tensor input = crop(whole, padding);
  RemapDim rules[kMaxDims];
  straight_rules(input, rules);
  Shape shape = input.shape();
  for (int k = 0; k < padding.size(); k += 2) {
    const int d = input.dim() - 1 - k / 2;
    if (padding[k] == 0 && padding[k + 1] == 0) continue;
    check_padding(mode, padding[k], padding[k + 1], input, d);
    check(!__builtin_add_overflow(shape[d], padding[k], &shape[d]) &&
              !__builtin_add_overflow(shape[d], padding[k + 1], &shape[d]),
          "pad", "the number of elements must fit in 63 bits", wanted);
    rules[d].edge = edge_of(mode);
    rules[d].size = shape[d];
    rules[d].shift = padding[k];
  }
  checked_numel("pad", shape, item_size(input.dtype()));
  const ProfilerRange range("pad", {&input});
  Tensor output = empty_in_order(input, shape);
  if (output.numel() > 0) {
    RemapArgs args = plan_remap(output, input, rules);
    store_number(args.fill, input.dtype(), value);
    pad_op.kernel(input.device())(args);
  }
  if (needs_gradient(input)) pad_op.gradient()(output, input, padding, mode);
  tell_tracer(pad_op.name(), {&output}, {&input}, padding, mode, value);
  return output;
}

namespace {

using TriangleOp = Op<TriangleKernel, void (*)(Tensor&, const Tensor&, int64_t)>;

Tensor triangle(const TriangleOp& op, Tensor output, const Tensor& input, int64_t diagonal) {
  const int n = input.dim();
  check(n >= 2, op.name(), "at least 2 dimensions", input.shape());
  const ProfilerRange range(op.name(), {&input});
  if (input.numel() > 0) {
    body::TriangleArgs args;
    args.numel = input.numel();
    args.rows = input.shape()[n - 2];
    args.columns = input.shape()[n - 1];
    args.row_stride = output.strides()[n - 2];
    args.column_stride = output.strides()[n - 1];
    args.source_row_stride = input.strides()[n - 2];
    args.source_column_stride = input.strides()[n - 1];
    for (int d = n - 3; d >= 0; --d) {
      args.batch_shape[args.batch_dims] = input.shape()[d];
      args.batch_strides[args.batch_dims] = output.strides()[d];
      args.source_batch_strides[args.batch_dims++] = input.strides()[d];
    }
    args.diagonal = std::clamp(diagonal, -args.rows, args.columns);
    args.upper = &op == &triu_op;
    args.item_size = item_size(input.dtype());
    args.source = input.data();
    args.output = output.data();
    op.kernel(input.device())(args);
  }
  return output;
}

Tensor triangle(const TriangleOp& op, const Tensor& input, int64_t diagonal) {
  const CalledOp called(op.name());
  check_defined(op.name(), {{"input", input}});
  if (input.is_complex()) [[unlikely]]
    return complex(triangle(op, real(input), diagonal), triangle(op, imag(input), diagonal));
  Tensor output =
      triangle(op, empty(input.shape(), {.dtype = input.dtype(), .device = input.device()}), input,
               diagonal);
  if (needs_gradient(input)) op.gradient()(output, input, diagonal);
  tell_tracer(op.name(), {&output}, {&input}, diagonal);
  return output;
}

Tensor triangle_(const TriangleOp& op, const Tensor& input, int64_t diagonal) {
  const CalledOp called(&op == &tril_op ? "tril_" : "triu_");
  check_defined(op.name(), {{"input", input}});
  if (input.is_complex()) [[unlikely]] {
    for (const Tensor& part : {real(input), imag(input)}) triangle_(op, part, diagonal);
    return input;
  }
  check_writable(op.name(), input);
  const bool record = records_write(op.name(), input, needs_gradient(input));
  Tensor output = triangle(op, input, input, diagonal);
  bump_written(input);
  if (record) op.gradient()(output, input, diagonal);
  tell_tracer(op.name(), {&input}, {&input}, diagonal);
  return input;
}

}  // namespace

Tensor tril(const Tensor& input, int64_t diagonal) { return triangle(tril_op, input, diagonal); }
Tensor tril_(const Tensor& input, int64_t diagonal) { return triangle_(tril_op, input, diagonal); }
Tensor triu(const Tensor& input, int64_t diagonal) { return triangle(triu_op, input, diagonal); }
Tensor triu_(const Tensor& input, int64_t diagonal) { return triangle_(triu_op, input, diagonal); }

namespace {

// For tensors of so many dimensions that each can't be cut in two.
Tensor repeat_by_index(const Tensor& input, const Dims& repeats) {
  Tensor result = input;
  for (int d = 0; d < input.dim(); ++d) {
    const int64_t size = input.shape()[d];
    if (repeats[d] == 1 || size == 0) continue;
    const Tensor places = arange(size * repeats[d], {.device = input.device()});
    result = index_select(result, d, remainder(places, size));
  }
  return result;
}

}  // namespace

Tensor repeat(const Tensor& input, const Dims& repeats) {
  const CalledOp called("repeat");
  check_defined("repeat", {{"input", input}});
  const int lead = repeats.size() - input.dim();
  check(lead >= 0, "repeat", "a number for each dimension", repeats, " for shape ", input.shape());
  Shape shape = Dims::filled(lead, 1);
  for (int64_t size : input.shape()) shape.push_back(size);
  // (size) becomes (1, size), expanded to (times, size).
  std::vector<int64_t> split_shape, expanded;
  Shape merged = shape;
  for (int d = 0; d < shape.size(); ++d) {
    const int64_t size = shape[d], times = repeats[d];
    check(times >= 0, "repeat", "numbers can't be negative", repeats);
    check(!__builtin_mul_overflow(size, times, &merged[d]), "repeat",
          "the number of elements must fit in 63 bits", repeats, " for shape ", input.shape());
    if (times != 1 && size != 1) {
      split_shape.push_back(1);
      expanded.push_back(times);
    }
    split_shape.push_back(size);
    expanded.push_back(size == 1 ? times : size);
  }
  checked_numel("repeat", merged, item_size(input.dtype()));
  if (split_shape.size() > kMaxDims) return repeat_by_index(input.reshape(shape), repeats);
  return input.reshape(Shape(split_shape))
      .expand(Shape(expanded))
      .clone(MemoryFormat::contiguous)
      .view(merged);
}

Tensor tile(const Tensor& input, const Dims& repeats) {
  const CalledOp called("tile");
  check_defined("tile", {{"input", input}});
  Dims all = Dims::filled(std::max(input.dim() - repeats.size(), 0), 1);
  for (int64_t times : repeats) all.push_back(times);
  return repeat(input, all);
}

Tensor repeat_interleave(const Tensor& input, int64_t repeats, std::optional<int64_t> dim) {
  const CalledOp called("repeat_interleave");
  check_defined("repeat_interleave", {{"input", input}});
  check(repeats >= 0, "repeat_interleave", "repeats can't be negative", repeats);
  if (!dim || input.dim() == 0) {
    if (dim) wrap_dim("repeat_interleave", *dim, 0);
    return repeat(input.reshape({input.numel(), 1}), {1, repeats}).view({-1});
  }
  const int d = wrap_dim("repeat_interleave", *dim, input.dim());
  Shape repeated = input.shape(), flat = input.shape();
  repeated.insert(d + 1, repeats);
  check(!__builtin_mul_overflow(flat[d], repeats, &flat[d]), "repeat_interleave",
        "the number of elements must fit in 63 bits", repeats);
  return input.unsqueeze(d + 1).expand(repeated).clone(MemoryFormat::contiguous).view(flat);
}

Tensor repeat_interleave(const Tensor& input, const Tensor& repeats, std::optional<int64_t> dim) {
  const CalledOp called("repeat_interleave");
  check_defined("repeat_interleave", {{"input", input}, {"repeats", repeats}});
  const int d = dim ? wrap_dim("repeat_interleave", *dim, input.dim()) : 0;
  const Tensor from = dim && input.dim() > 0 ? input : input.reshape({-1});
  const int64_t size = from.shape()[d];
  check(is_integral(repeats.dtype()) && repeats.dim() <= 1, "repeat_interleave",
        "repeats must be integers in one dimension", repeats.dtype(), " ", repeats.shape());
  check(repeats.numel() == size || repeats.numel() == 1, "repeat_interleave",
        "repeats must have the dimension's size, or 1", repeats.shape(), " for ", size);
  if (repeats.numel() == 1) return repeat_interleave(from, repeats.item<int64_t>(), d);
  const std::vector<int64_t> times = repeats.to_vector<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t n = times[static_cast<size_t>(i)];
    check(n >= 0, "repeat_interleave", "repeats can't be negative", n);
    check(!__builtin_add_overflow(total, n, &total), "repeat_interleave",
          "the number of elements must fit in 63 bits", n, " repeats of element ", i);
  }
  const Tensor index = empty({total}, {.dtype = i64});
  int64_t* out = index.data<int64_t>();
  for (int64_t i = 0; i < size; ++i) out = std::fill_n(out, times[static_cast<size_t>(i)], i);
  return index_select(from, d, index.to(input.device()));
}

std::vector<Tensor> meshgrid(const List<Tensor>& tensors, const char* indexing) {
  const std::string_view order = indexing;
  check(order == "ij" || order == "xy", "meshgrid", "indexing must be ij or xy", "\"", order, "\"");
  check_defined("meshgrid", "tensors", tensors);
  Shape shape;
  for (const Tensor& tensor : tensors) {
    check(tensor.dim() <= 1, "meshgrid", "tensors must be 0-d or 1-d", tensor.shape());
    shape.push_back(tensor.numel());
  }
  std::vector<Tensor> grids;
  for (int k = 0; k < shape.size(); ++k) {
    Shape along = Dims::filled(shape.size(), 1);
    along[k] = shape[k];
    const Tensor grid = tensors[static_cast<size_t>(k)].reshape(along).expand(shape);
    grids.push_back(order == "xy" && shape.size() > 1 ? grid.transpose(0, 1) : grid);
  }
  return grids;
}

Tensor cartesian_prod(const List<Tensor>& tensors) {
  const CalledOp called("cartesian_prod");
  check(!tensors.empty(), "cartesian_prod", "there must be a tensor", "none");
  check_defined("cartesian_prod", "tensors", tensors);
  for (const Tensor& tensor : tensors)
    check(tensor.dim() == 1, "cartesian_prod", "tensors must be 1-d", tensor.shape());
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns = meshgrid(tensors);
  for (Tensor& column : columns) column = column.reshape({column.numel()});
  return stack(columns, 1);
}

Tensor combinations(const Tensor& input, int64_t r, bool with_replacement) {
  check_defined("combinations", {{"input", input}});
  const CalledOp called("combinations");
  check(input.dim() == 1, "combinations", "input must be 1-d", input.shape());
  check(r >= 0, "combinations", "r can't be negative", r);
  if (r == 0) return input.narrow(0, 0, 0).clone();
  // One chooses r of `total`: a choice with replacement is one of n + r - 1 without.
  const int64_t n = input.numel();
  if (n == 0 || (!with_replacement && r > n)) return input.narrow(0, 0, 0).view({0, r}).clone();
  int64_t total = n, count = 1;
  bool is_counted = !with_replacement || !__builtin_add_overflow(n - 1, r, &total);
  for (int64_t i = 0; is_counted && i < std::min(r, total - r); ++i) {
    is_counted = !__builtin_mul_overflow(count, total - i, &count);
    count /= i + 1;
  }
  check(is_counted, "combinations", "their number must fit in 63 bits", r, " of ", n);
  const Tensor places = empty({count, r}, {.dtype = DType::i64});
  int64_t* at = places.data<int64_t>();
  for (int64_t i = 0; i < r; ++i) at[i] = with_replacement ? 0 : i;
  for (int64_t row = 1; row < count; ++row, at += r) {
    // The last place that can move on does, and those behind it follow as closely as they may.
    int64_t k = r - 1;
    while (at[k] == (with_replacement ? n - 1 : n - r + k)) --k;
    std::copy(at, at + k, at + r);
    for (int64_t i = k; i < r; ++i) at[r + i] = at[k] + 1 + (with_replacement ? 0 : i - k);
  }
  return index_select(input, 0, places.view({count * r}).to(input.device())).view({count, r});
}

}  // namespace aorta
