#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexed_plan.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/written.h>

#include <algorithm>
#include <limits>

namespace aorta::kernel {

constinit Op<FindBadIndexKernel, NoGradient> find_bad_index_op{"find_bad_index"};
constinit Op<GatherKernel, void (*)(Tensor&, const Tensor&, int, const Tensor&)> gather_op{
    "gather"};
constinit Op<ScatterKernel, ScatterGradient> scatter_op{"scatter_"};
constinit Op<ScatterKernel, ScatterGradient> scatter_add_op{"scatter_add_"};
constinit Op<ScatterKernel, void (*)(Tensor&, const Tensor&, int, const Tensor&, const Tensor&,
                                     ScatterReduce, bool)>
    scatter_reduce_op{"scatter_reduce"};

void set_indexing_kernels(DeviceType type, GatherKernel gather, ScatterKernel scatter,
                          FindBadIndexKernel find_bad_index, NonzeroKernel nonzero) {
  gather_op.set_kernel(type, gather);
  index_op.set_kernel(type, gather);
  scatter_op.set_kernel(type, scatter);
  scatter_add_op.set_kernel(type, scatter);
  scatter_reduce_op.set_kernel(type, scatter);
  index_put_op.set_kernel(type, scatter);
  find_bad_index_op.set_kernel(type, find_bad_index);
  nonzero_op.set_kernel(type, nonzero);
}

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

using body::ScatterMode;
using InPlaceOp = Op<ScatterKernel, void (*)(const Tensor&, int, const Tensor&, const Tensor&)>;

// A 0-d tensor counts as 1-d with one element.
Tensor lift(const Tensor& tensor) { return tensor.dim() == 0 ? tensor.reshape({1}) : tensor; }

// `index` may be larger than the tensor along `dim` alone.
void check_index_shape(const char* op, const Tensor& tensor, const Tensor& index, int dim) {
  check(index.dim() == tensor.dim(), op, "the index must have as many dimensions as the tensor",
        index.shape(), " for shape ", tensor.shape());
  for (int d = 0; d < tensor.dim(); ++d) {
    check(d == dim || index.shape()[d] <= tensor.shape()[d], op,
          "the index can't be larger than the tensor but in its dimension", index.shape(),
          " for shape ", tensor.shape(), " in dimension ", dim);
  }
}

body::IndexedArgs plan_along(const Tensor& values, const Tensor& table, int dim,
                             const Tensor& index, bool write) {
  Strides table_strides = table.strides();
  const PlannedIndex planned{index.data<int64_t>(), index.strides(), table_strides[dim]};
  table_strides[dim] = 0;
  return plan_indexed(index.shape(), {values, values.strides()}, {table, table_strides},
                      {&planned, 1}, write);
}

// Both have as many dimensions; `index` is what check_index has made of `wanted`.
Tensor read_checked(const Tensor& input, int dim, const Tensor& index, const Tensor& wanted) {
  if (input.is_complex()) [[unlikely]] {
    return by_parts(input, [&](const Tensor& parts) {
      return read_checked(parts, dim, index_of_parts(index), index_of_parts(wanted));
    });
  }
  Tensor output = empty_strided(index.shape(), dense_strides(index.shape(), input.strides()),
                                {.dtype = input.dtype(), .device = input.device()});
  if (output.numel() > 0)
    gather_op.kernel(input.device())(plan_along(output, input, dim, index, false));
  if (needs_gradient(input)) gather_op.gradient()(output, input, dim, index);
  tell_tracer(gather_op.name(), {&output}, {&input, &wanted}, dim);
  return output;
}

// Both have as many dimensions; `index` is i64 and fits but for its values.
Tensor read_along(const char* op, const Tensor& input, int dim, const Tensor& wanted,
                  bool negative) {
  const CalledOp called(op);
  const ProfilerRange range(op, {&input, &wanted});
  return read_checked(input, dim, check_index(op, wanted, dim, input.shape()[dim], negative),
                      wanted);
}

// `index` (n) or 0-d along `dim` of a tensor of `shape`, expanded to the other sizes.
Tensor expand_along(const Tensor& index, const Shape& shape, int dim) {
  Shape along = Dims::filled(shape.size(), 1), full = shape;
  along[dim] = full[dim] = index.numel();
  return index.reshape(along).expand(full);
}

void check_vector(const char* op, const Tensor& index) {
  check(index.dim() <= 1, op, "the index must be 0-d or 1-d", index.shape());
}

// table = combine(mode, table, source) at the indices, which are checked. Sums and products of half
// types are taken in f32 and rounded once.
void write_along(ScatterKernel kernel, ScatterMode mode, const Tensor& table, int dim,
                 const Tensor& index, const Tensor& source) {
  if (index.numel() == 0) return;
  if (!is_half(table.dtype()) || mode == ScatterMode::assign) {
    const Tensor values = source.shares_storage(table) ? source.clone() : source;
    return kernel(plan_along(values, table, dim, index, true), mode_for(table.dtype(), mode));
  }
  const Planner planner{index.shape(), [&](const Tensor& values, const Tensor& whole, bool write) {
                          return plan_along(values, whole, dim, index, write);
                        }};
  combine_half(kernel, gather_op.kernel(table.device()), mode, planner, table, source);
}

// The checked index of a write, in as many dimensions as the source (at least 1): an empty one may
// come in any.
Tensor prepare_write(const char* op, const Tensor& input, int dim, const Tensor& index,
                     const Tensor& source) {
  check_writable(op, input);
  check(source.dtype() == input.dtype(), op, "the source must have the tensor's dtype",
        source.dtype(), " for ", input.dtype());
  check(source.device() == input.device(), op, "tensors must be on one device", input.device(),
        " and ", source.device());
  const Tensor prepared = lift(prepare_index(op, index, input, &input));
  const Tensor values = lift(source);
  if (index.numel() == 0) return prepared.reshape(Dims::filled(values.dim(), 0));
  check_index_shape(op, lift(input), prepared, dim);
  check(values.dim() == prepared.dim(), op, "the index must have as many dimensions as the source",
        index.shape(), " for shape ", source.shape());
  for (int d = 0; d < values.dim(); ++d) {
    check(prepared.shape()[d] <= values.shape()[d], op, "the index can't be larger than the source",
          index.shape(), " for shape ", source.shape());
  }
  return check_index(op, prepared, dim, lift(input).shape()[dim], false);
}

const Tensor& write_in_place(const InPlaceOp& row, ScatterMode mode, const Tensor& input, int dim,
                             const Tensor& index, const Tensor& source) {
  if (input.is_complex()) [[unlikely]] {
    write_in_place(row, mode, view_as_real(lift(input)), dim, index_of_parts(index),
                   view_as_real(lift(source)));
    return input;
  }
  const CalledOp called(row.name());
  const ProfilerRange range(row.name(), {&input, &index, &source});
  const bool wanted = is_floating(input.dtype()) && needs_gradient(input, source);
  const bool record = records_write(row.name(), input, wanted);
  const Tensor target = lift(input), values = lift(source);
  const uint32_t version = input.version();
  write_along(row.kernel(input.device()), mode, target.detach(), dim, index, values.detach());
  // A copy back from f32 is a write already; a tracer has been told of it as one of its own.
  if (input.version() == version || is_traced()) bump_written(input);
  if (record) row.gradient()(target, dim, index, values);
  tell_tracer(row.name(), {&target}, {&target, &index, &values}, dim);
  return input;
}

// The shape of the slices at a vector of indices along `dim`.
Shape slices_shape(const Tensor& input, int dim, const Tensor& index) {
  Shape shape = lift(input).shape();
  shape[dim] = index.numel();
  return shape;
}

void check_slices(const char* op, const Tensor& input, int dim, const Tensor& index,
                  const Tensor& source) {
  check_vector(op, index);
  const Shape shape = slices_shape(input, dim, index);
  check(lift(source).shape() == shape, op, "the source must have the shape of the slices",
        source.shape(), " for ", shape);
}

// Writes the slices at `index`, whose shape `values` has, or adds to them.
const Tensor& write_slices(const char* op, ScatterMode mode, const Tensor& input, int dim,
                           const Tensor& index, const Tensor& values) {
  const InPlaceOp& row = mode == ScatterMode::sum ? scatter_add_op : scatter_op;
  const Tensor places = expand_along(prepare_index(op, index, input, &input), values.shape(), dim);
  const Tensor prepared = prepare_write(op, input, dim, places, values);
  return write_in_place(row, mode, input, dim, prepared, values);
}

ScatterMode mode_of(ScatterReduce reduce) {
  switch (reduce) {
    case ScatterReduce::prod:
      return ScatterMode::prod;
    case ScatterReduce::amax:
      return ScatterMode::amax;
    case ScatterReduce::amin:
      return ScatterMode::amin;
    case ScatterReduce::sum:
    case ScatterReduce::mean:
      break;
  }
  return ScatterMode::sum;
}

// What a reduction of nothing gives, before the first source comes.
Scalar identity_of(ScatterReduce reduce, DType dtype) {
  if (reduce == ScatterReduce::prod) return 1;
  if (reduce != ScatterReduce::amax && reduce != ScatterReduce::amin) return 0;
  const bool low = reduce == ScatterReduce::amax;
  if (is_floating(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return low ? -infinity : infinity;
  }
  if (dtype == DType::boolean) return !low;
  if (dtype == DType::u8) return low ? 0 : 255;
  if (dtype == DType::i32) return low ? INT32_MIN : INT32_MAX;
  return low ? INT64_MIN : INT64_MAX;
}

Tensor scalar_like(const Tensor& like, const Scalar& value, const Shape& shape) {
  return full({}, value, {.dtype = like.dtype(), .device = like.device()}).expand(shape);
}

}  // namespace

Tensor gather(const Tensor& input, int64_t dim, const Tensor& index) {
  const CalledOp called("gather");
  check_defined("gather", {{"input", input}, {"index", index}});
  const int d = wrap_dim("gather", dim, input.dim());
  const Tensor prepared = prepare_index("gather", index, input);
  if (index.numel() == 0) {
    Tensor output = empty(index.shape(), {.dtype = input.dtype(), .device = input.device()});
    if (needs_gradient(input)) gather_op.gradient()(output, input, d, prepared);
    return output;
  }
  check_index_shape("gather", lift(input), lift(index), d);
  return read_along("gather", lift(input), d, lift(prepared), false).reshape(index.shape());
}

Tensor kernel::read_rows(const Tensor& table, const Tensor& indices) {
  const Tensor places = expand_along(indices, table.shape(), 0);
  return read_checked(table.detach(), 0, places, places);
}

void kernel::add_along(const Tensor& table, int dim, const Tensor& index, const Tensor& values) {
  if (index.numel() == 0) return;
  write_in_place(scatter_add_op, ScatterMode::sum, table, dim, index, values);
}

void kernel::add_rows(const Tensor& table, const Tensor& indices, const Tensor& values) {
  add_along(table, 0, expand_along(indices, values.shape(), 0), values);
}

Tensor index_select(const Tensor& input, int64_t dim, const Tensor& index) {
  const CalledOp called("index_select");
  check_defined("index_select", {{"input", input}, {"index", index}});
  const int d = wrap_dim("index_select", dim, input.dim());
  check_vector("index_select", index);
  check(input.dim() > 0 || index.numel() == 1, "index_select", "a 0-d tensor has one slice",
        index.numel());
  const Tensor table = lift(input);
  const Tensor prepared = prepare_index("index_select", index, input);
  // Where nothing is read, the indices would go unchecked.
  if (table.numel() == 0) check_index("index_select", prepared, d, table.shape()[d], false);
  const Tensor output =
      read_along("index_select", table, d, expand_along(prepared, table.shape(), d), false);
  tell_tracer("index_select", {&output}, {&table, &prepared}, d);
  return input.dim() == 0 ? output.reshape({}) : output;
}

Tensor take(const Tensor& input, const Tensor& index) {
  const CalledOp called("take");
  check_defined("take", {{"input", input}, {"index", index}});
  const Tensor flat = prepare_index("take", index, input).reshape({-1});
  return read_along("take", input.reshape({-1}), 0, flat, true).reshape(index.shape());
}

std::vector<Tensor> unravel_index(const Tensor& indices, const Shape& shape) {
  const CalledOp called("unravel_index");
  check_defined("unravel_index", {{"indices", indices}});
  check(is_integral(indices.dtype()) && indices.dtype() != DType::boolean, "unravel_index",
        "indices must be integers", indices.dtype());
  std::vector<Tensor> places(static_cast<size_t>(shape.size()));
  Tensor rest = indices.to(DType::i64);
  for (int d = shape.size(); d-- > 0;) {
    check(shape[d] >= 0, "unravel_index", "sizes can't be negative", shape);
    const int64_t size = std::max<int64_t>(shape[d], 1);
    places[static_cast<size_t>(d)] = remainder(rest, size);
    rest = floor_divide(rest, size);
  }
  return places;
}

Tensor take_along_dim(const Tensor& input, const Tensor& index, std::optional<int64_t> dim) {
  const CalledOp called("take_along_dim");
  check_defined("take_along_dim", {{"input", input}, {"index", index}});
  const Tensor prepared = prepare_index("take_along_dim", index, input);
  if (!dim)
    return read_along("take_along_dim", input.reshape({-1}), 0, prepared.reshape({-1}), true);
  check(index.dim() == input.dim(), "take_along_dim",
        "the index must have as many dimensions as the tensor", index.shape(), " for shape ",
        input.shape());
  const int d = wrap_dim("take_along_dim", *dim, input.dim());
  const Tensor table = lift(input), places = lift(prepared);
  Shape one = table.shape(), other = places.shape();
  one[d] = other[d] = 1;
  Shape shape = broadcast_shapes("take_along_dim", one, other);
  Shape table_shape = shape;
  shape[d] = places.shape()[d];
  table_shape[d] = table.shape()[d];
  return read_along("take_along_dim", table.expand(table_shape), d, places.expand(shape), true)
      .reshape(input.dim() == 0 ? Shape{} : shape);
}

const Tensor& scatter_(const Tensor& input, int64_t dim, const Tensor& index,
                       const Tensor& source) {
  const CalledOp called("scatter_");
  check_defined("scatter_", {{"input", input}, {"index", index}, {"source", source}});
  const int d = wrap_dim("scatter_", dim, input.dim());
  const Tensor prepared = prepare_write("scatter_", input, d, index, source);
  return write_in_place(scatter_op, ScatterMode::assign, input, d, prepared, source);
}

const Tensor& scatter_(const Tensor& input, int64_t dim, const Tensor& index, const Scalar& value) {
  const CalledOp called("scatter_");
  check_defined("scatter_", {{"input", input}, {"index", index}});
  check_fits("scatter_", value, input.dtype());
  const Tensor number = full({}, value, {.dtype = input.dtype(), .device = input.device()});
  return scatter_(input, dim, index, number.expand(index.shape()));
}

const Tensor& scatter_add_(const Tensor& input, int64_t dim, const Tensor& index,
                           const Tensor& source) {
  const CalledOp called("scatter_add_");
  check_defined("scatter_add_", {{"input", input}, {"index", index}, {"source", source}});
  const int d = wrap_dim("scatter_add_", dim, input.dim());
  const Tensor prepared = prepare_write("scatter_add_", input, d, index, source);
  return write_in_place(scatter_add_op, ScatterMode::sum, input, d, prepared, source);
}

Tensor scatter(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source) {
  const CalledOp called("scatter");
  check_defined("scatter", {{"input", input}, {"index", index}, {"source", source}});
  return scatter_(input.clone(), dim, index, source);
}
Tensor scatter(const Tensor& input, int64_t dim, const Tensor& index, const Scalar& value) {
  const CalledOp called("scatter");
  check_defined("scatter", {{"input", input}, {"index", index}});
  return scatter_(input.clone(), dim, index, value);
}
Tensor scatter_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source) {
  const CalledOp called("scatter_add");
  check_defined("scatter_add", {{"input", input}, {"index", index}, {"source", source}});
  return scatter_add_(input.clone(), dim, index, source);
}

Tensor scatter_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                      ScatterReduce reduce, bool include_self) {
  const CalledOp called("scatter_reduce");
  check_defined("scatter_reduce", {{"input", input}, {"index", index}, {"source", source}});
  const char* const op = "scatter_reduce";
  const ProfilerRange range(op, {&input, &index, &source});
  const int d = wrap_dim(op, dim, input.dim());
  check(!input.is_complex(), op, "dtype must be real", input.dtype());
  check(reduce != ScatterReduce::mean || input.dtype() != DType::boolean, op,
        "the mean needs numbers", input.dtype());
  Tensor output = input.detach().clone();
  const Tensor prepared = prepare_write(op, output, d, index, source);
  const bool wide = is_half(input.dtype()) && prepared.numel() > 0;
  const ScatterKernel kernel = scatter_reduce_op.kernel(input.device());
  Tensor table = lift(wide ? output.to(f32) : output);
  const Tensor values = lift(source.detach()).to(table.dtype());
  if (!include_self) {
    write_along(kernel, ScatterMode::assign, table, d, prepared,
                scalar_like(table, identity_of(reduce, table.dtype()), prepared.shape()));
  }
  write_along(kernel, mode_of(reduce), table, d, prepared, values);
  if (reduce == ScatterReduce::mean && prepared.numel() > 0) {
    const Tensor count = full_like(table, include_self ? 1 : 0);
    write_along(kernel, ScatterMode::sum, count, d, prepared,
                scalar_like(count, 1, prepared.shape()));
    clamp_min_(count, 1);
    if (is_floating(table.dtype())) {
      div_(table, count);
    } else {
      floor_divide_(table, count);
    }
  }
  if (wide) output.copy_(table.reshape(output.shape()));
  if (needs_gradient(input, source) && is_floating(output.dtype()))
    scatter_reduce_op.gradient()(output, input, d, prepared, source, reduce, include_self);
  tell_tracer(op, {&output}, {&input, &prepared, &source}, d, reduce, include_self);
  return output;
}

const Tensor& scatter_reduce_(const Tensor& input, int64_t dim, const Tensor& index,
                              const Tensor& source, ScatterReduce reduce, bool include_self) {
  const CalledOp called("scatter_reduce_");
  check_defined("scatter_reduce_", {{"input", input}, {"index", index}, {"source", source}});
  // Its gradient reads the elements that are about to be overwritten.
  const Tensor before = needs_gradient(input, source) ? input.clone() : input;
  return input.copy_(scatter_reduce(before, dim, index, source, reduce, include_self));
}

const Tensor& index_add_(const Tensor& input, int64_t dim, const Tensor& index,
                         const Tensor& source, const Scalar& alpha) {
  const CalledOp called("index_add_");
  check_defined("index_add_", {{"input", input}, {"index", index}, {"source", source}});
  const char* const op = "index_add";
  const int d = wrap_dim(op, dim, input.dim());
  check_slices(op, input, d, index, source);
  check(!is_integral(source.dtype()) || !alpha.is_floating(), op,
        "alpha must be an integer for integers", alpha, " for ", source.dtype());
  check_fits(op, alpha, source.dtype());
  const Tensor values = lift(source);
  const Tensor scaled =
      alpha.real() == 1 && alpha.imag() == 0 ? values : mul(values, alpha).to(values.dtype());
  return write_slices(op, ScatterMode::sum, input, d, index, scaled);
}

const Tensor& index_copy_(const Tensor& input, int64_t dim, const Tensor& index,
                          const Tensor& source) {
  const CalledOp called("index_copy_");
  check_defined("index_copy_", {{"input", input}, {"index", index}, {"source", source}});
  const char* const op = "index_copy";
  const int d = wrap_dim(op, dim, input.dim());
  check_slices(op, input, d, index, source);
  return write_slices(op, ScatterMode::assign, input, d, index, lift(source));
}

const Tensor& index_fill_(const Tensor& input, int64_t dim, const Tensor& index,
                          const Scalar& value) {
  const CalledOp called("index_fill_");
  check_defined("index_fill_", {{"input", input}, {"index", index}});
  const char* const op = "index_fill";
  check_fits(op, value, input.dtype());
  const int d = wrap_dim(op, dim, input.dim());
  check_vector(op, index);
  const Shape shape = lift(input).shape();
  const Tensor checked =
      check_index(op, prepare_index(op, index, input, &input), d, shape[d], true);
  const Tensor values = scalar_like(input, value, slices_shape(input, d, index));
  return write_slices(op, ScatterMode::assign, input, d, checked, values);
}

Tensor index_add(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                 const Scalar& alpha) {
  const CalledOp called("index_add");
  check_defined("index_add", {{"input", input}, {"index", index}, {"source", source}});
  return index_add_(input.clone(), dim, index, source, alpha);
}
Tensor index_reduce(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source,
                    ScatterReduce reduce, bool include_self) {
  const CalledOp called("index_reduce");
  check_defined("index_reduce", {{"input", input}, {"index", index}, {"source", source}});
  const char* const op = "index_reduce";
  check(reduce != ScatterReduce::sum, op, "reduce must be prod, mean, amax or amin", "sum");
  check(input.dtype() != DType::boolean, op, "dtype can't be bool", input.dtype());
  const int d = wrap_dim(op, dim, input.dim());
  check_slices(op, input, d, index, source);
  const Tensor table = lift(input), values = lift(source);
  const Tensor places = expand_along(prepare_index(op, index, input, &input), values.shape(), d);
  return scatter_reduce(table, d, places, values, reduce, include_self).reshape(input.shape());
}
const Tensor& index_reduce_(const Tensor& input, int64_t dim, const Tensor& index,
                            const Tensor& source, ScatterReduce reduce, bool include_self) {
  const CalledOp called("index_reduce_");
  check_defined("index_reduce_", {{"input", input}, {"index", index}, {"source", source}});
  const Tensor before = needs_gradient(input, source) ? input.clone() : input;
  return input.copy_(index_reduce(before, dim, index, source, reduce, include_self));
}
Tensor index_copy(const Tensor& input, int64_t dim, const Tensor& index, const Tensor& source) {
  const CalledOp called("index_copy");
  check_defined("index_copy", {{"input", input}, {"index", index}, {"source", source}});
  return index_copy_(input.clone(), dim, index, source);
}
Tensor index_fill(const Tensor& input, int64_t dim, const Tensor& index, const Scalar& value) {
  const CalledOp called("index_fill");
  check_defined("index_fill", {{"input", input}, {"index", index}});
  return index_fill_(input.clone(), dim, index, value);
}

}  // namespace aorta
