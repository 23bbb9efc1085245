#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexed_plan.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/written.h>

#include <algorithm>

namespace aorta::kernel {

constinit Op<GatherKernel, void (*)(Tensor&, const Tensor&, std::span<const Tensor>)> index_op{
    "index"};
constinit Op<ScatterKernel, void (*)(const Tensor&, std::span<const Tensor>, const Tensor&, bool)>
    index_put_op{"index_put_"};
constinit Op<NonzeroKernel, NoGradient> nonzero_op{"nonzero"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

using body::ScatterMode;

bool is_mask(const Index& index) {
  return index.kind() == Index::Kind::tensor && index.tensor().dtype() == DType::boolean;
}

// The number of the input's dimensions that one entry takes.
int dims_of(const Index& index) {
  switch (index.kind()) {
    case Index::Kind::integer:
    case Index::Kind::slice:
      return 1;
    case Index::Kind::tensor:
      return is_mask(index) ? index.tensor().dim() : 1;
    case Index::Kind::none:
    case Index::Kind::ellipsis:
    case Index::Kind::boolean:
      break;
  }
  return 0;
}

// x[...] in two steps: a view by integers, slices, None and Ellipsis, and index tensors for some of
// its dimensions.
class Resolver {
 public:
  Resolver(const char* op, const Tensor& input, const Tensor* written)
      : view(input), op_(op), written_(written), input_(input) {}

  void resolve(const std::vector<Index>& indices) {
    int taken = 0, ellipses = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i].kind() != Index::Kind::tensor || indices[i].tensor().defined()) continue;
      const std::string name = "indices[" + std::to_string(i) + "]";
      check_defined(op_, {{name.c_str(), indices[i].tensor()}});
    }
    for (const Index& index : indices) {
      taken += dims_of(index);
      ellipses += index.kind() == Index::Kind::ellipsis;
    }
    check(taken <= input_.dim(), op_, "too many indices", taken, " for shape ", input_.shape());
    check(ellipses <= 1, op_, "at most one Ellipsis", ellipses);
    for (const Index& index : indices) apply(index, input_.dim() - taken);
    tensors.resize(static_cast<size_t>(view.dim()));
  }

  Tensor view;
  std::vector<Tensor> tensors;  // one a dimension of `view`; undefined where there is none
  bool has_tensors = false;

 private:
  void apply(const Index& index, int left) {
    switch (index.kind()) {
      case Index::Kind::integer:
        return select(index.integer());
      case Index::Kind::slice:
        view = view.slice(next_, index.slice().start, index.slice().stop, index.slice().step);
        return skip(1);
      case Index::Kind::none:
        view = view.unsqueeze(next_++);
        tensors.emplace_back();
        return;
      case Index::Kind::ellipsis:
        return skip(left);
      case Index::Kind::boolean:
        return apply_mask(full({}, index.integer() != 0, {.device = input_.device()}));
      case Index::Kind::tensor:
        return apply_tensor(index.tensor());
    }
  }

  void skip(int count) {
    next_ += count;
    axis_ += count;
    tensors.resize(static_cast<size_t>(next_));
  }

  void select(int64_t i) {
    const int64_t size = view.shape()[next_];
    check(i >= -size && i < size, op_, "index out of range", i, " in dimension ", axis_,
          " of size ", size);
    view = view.select(next_, i);
    ++axis_;
  }

  void apply_tensor(const Tensor& tensor) {
    if (tensor.dtype() == DType::boolean) return apply_mask(tensor);
    check(tensor.dtype() == DType::i64 || tensor.dtype() == DType::i32, op_,
          "an index tensor must be i64, i32 or bool", tensor.dtype());
    if (tensor.dim() == 0) return select(tensor.item<int64_t>());
    const Tensor prepared = prepare_index(op_, tensor, input_, written_);
    tensors.push_back(check_index(op_, prepared, axis_, view.shape()[next_], true));
    has_tensors = true;
    ++next_;
    ++axis_;
  }

  void apply_mask(const Tensor& mask) {
    check(mask.device() == input_.device(), op_, "tensors must be on one device", input_.device(),
          " and ", mask.device());
    has_tensors = true;
    if (mask.dim() == 0) {
      view = view.unsqueeze(next_++);
      tensors.push_back(nonzero(mask.reshape({1})).select(1, 0));
      return;
    }
    for (int d = 0; d < mask.dim(); ++d) {
      check(mask.shape()[d] == view.shape()[next_ + d], op_,
            "a mask must have the shape of what it indexes", mask.shape(), " at dimension ", axis_,
            " of ", input_.shape());
    }
    const Tensor positions = nonzero(mask);
    for (int d = 0; d < mask.dim(); ++d) tensors.push_back(positions.select(1, d));
    next_ += mask.dim();
    axis_ += mask.dim();
  }

  const char* op_;
  const Tensor* written_;
  const Tensor& input_;
  int next_ = 0;  // dimension of `view`
  int axis_ = 0;  // the same in `input`, for messages
};

// The iteration space of a view and its index tensors.
struct Layout {
  Shape shape;            // of the result
  Strides table_strides;  // along the result's dimensions
  std::vector<PlannedIndex> planned;
  bool keeps_dims = false;  // one index tensor in the place of one dimension
};

Layout lay_out(const char* op, const Tensor& view, std::span<const Tensor> tensors) {
  Shape common;
  int first = -1, last = -1, count = 0;
  for (int d = 0; d < view.dim(); ++d) {
    const Tensor& tensor = tensors[static_cast<size_t>(d)];
    if (!tensor.defined()) continue;
    common = count == 0 ? tensor.shape() : broadcast_shapes(op, common, tensor.shape());
    if (first < 0) first = d;
    last = d;
    ++count;
  }
  const int place = last - first + 1 == count ? first : 0;
  Layout layout;
  layout.keeps_dims = count == 1 && common.size() == 1;
  const auto add_common = [&] {
    for (int64_t size : common) {
      layout.shape.push_back(size);
      layout.table_strides.push_back(0);
    }
  };
  if (place == 0) add_common();
  for (int d = 0; d < view.dim(); ++d) {
    if (d == place && place > 0) add_common();
    if (tensors[static_cast<size_t>(d)].defined()) continue;
    layout.shape.push_back(view.shape()[d]);
    layout.table_strides.push_back(view.strides()[d]);
  }
  for (int d = 0; d < view.dim(); ++d) {
    const Tensor& tensor = tensors[static_cast<size_t>(d)];
    if (!tensor.defined()) continue;
    const Tensor whole = tensor.expand(common);
    Strides strides = Dims::filled(layout.shape.size(), 0);
    for (int i = 0; i < common.size(); ++i) strides[place + i] = whole.strides()[i];
    layout.planned.push_back({whole.data<int64_t>(), strides, view.strides()[d]});
  }
  checked_numel(op, layout.shape, item_size(view.dtype()));
  return layout;
}

body::IndexedArgs plan(const Layout& layout, const Tensor& values, const Tensor& table,
                       bool write) {
  return plan_indexed(layout.shape, {values, values.strides()}, {table, layout.table_strides},
                      layout.planned, write);
}

// `values` in the shape of what is written; 1s in front may be more than it has.
Tensor expand_values(const char* op, const Tensor& values, const Shape& shape) {
  Tensor result = values;
  while (result.dim() > shape.size() && result.shape()[0] == 1) result = result.select(0, 0);
  check(result.dim() <= shape.size() && broadcast_shapes(op, shape, result.shape()) == shape, op,
        "values must broadcast to the indexed shape", values.shape(), " for ", shape);
  return result.expand(shape);
}

// Index tensors for the parts of a complex view, whose last dimension is whole.
std::vector<Tensor> beside_parts(std::vector<Tensor> tensors) {
  tensors.emplace_back();
  return tensors;
}

// The tensors that an op takes, for a tracer: `first`, and then one a dimension.
std::vector<Tensor> with(const std::vector<Tensor>& indices, std::vector<Tensor> first) {
  first.insert(first.end(), indices.begin(), indices.end());
  return first;
}

// The elements of a view at index tensors, one a dimension.
Tensor read(const Tensor& view, const std::vector<Tensor>& tensors) {
  if (view.is_complex()) [[unlikely]] {
    return by_parts(view, [&](const Tensor& parts) { return read(parts, beside_parts(tensors)); });
  }
  const Layout layout = lay_out("index", view, tensors);
  const Strides strides = layout.keeps_dims ? dense_strides(layout.shape, view.strides())
                                            : contiguous_strides(layout.shape);
  Tensor output =
      empty_strided(layout.shape, strides, {.dtype = view.dtype(), .device = view.device()});
  if (output.numel() > 0) {
    index_op.kernel(view.device())(plan(layout, output, view, false));
  }
  if (needs_gradient(view)) index_op.gradient()(output, view, tensors);
  if (is_traced()) [[unlikely]]
    tell_tracer(index_op.name(), {&output}, std::span<const Tensor>(with(tensors, {view})));
  return output;
}

}  // namespace

Tensor index(const Tensor& input, const List<Index>& indices) {
  const CalledOp called("index");
  check_defined("index", {{"input", input}});
  const ProfilerRange range("index", {&input});
  Resolver resolver("index", input, nullptr);
  resolver.resolve(indices);
  return resolver.has_tensors ? read(resolver.view, resolver.tensors) : resolver.view;
}

Tensor Tensor::operator[](const Index& place) const { return aorta::index(*this, {place}); }
Gathered Tensor::operator[](const Tensor& places) const {
  return Gathered(aorta::index(*this, {places}));
}

namespace {

void put(const Tensor& table, const Layout& layout, std::span<const Tensor> tensors,
         const Tensor& values, bool accumulate) {
  if (layout.shape.numel() == 0) return;
  const ScatterKernel scatter = index_put_op.kernel(table.device());
  const ScatterMode mode = accumulate ? ScatterMode::sum : ScatterMode::assign;
  if (accumulate && is_half(table.dtype())) {
    const Planner planner{layout.shape, [&](const Tensor& part, const Tensor& whole, bool write) {
                            return plan(lay_out("index_put_", whole, tensors), part, whole, write);
                          }};
    return combine_half(scatter, index_op.kernel(table.device()), mode, planner, table, values);
  }
  const Tensor source = values.shares_storage(table) ? values.clone() : values;
  scatter(plan(layout, source, table, true), mode_for(table.dtype(), mode));
}

// Writes the elements of a view at index tensors, one a dimension.
void write(const Tensor& view, const std::vector<Tensor>& tensors, const Tensor& values,
           bool accumulate) {
  const char* const op = "index_put_";
  if (view.is_complex()) [[unlikely]]
    return write(view_as_real(view), beside_parts(tensors), view_as_real(values), accumulate);
  const bool wanted = is_floating(view.dtype()) && needs_gradient(view, values);
  const bool record = records_write(op, view, wanted);
  const uint32_t version = view.version();
  const Layout layout = lay_out(op, view, tensors);
  const Tensor fitted = expand_values(op, values, layout.shape);
  put(view.detach(), layout, tensors, fitted.detach(), accumulate);
  // A copy back from f32 is a write already; a tracer has been told of it as one of its own.
  if (view.version() == version || is_traced()) bump_written(view);
  if (record) index_put_op.gradient()(view, tensors, fitted, accumulate);
  if (is_traced()) [[unlikely]] {
    tell_tracer(index_put_op.name(), {&view},
                std::span<const Tensor>(with(tensors, {view, values})), accumulate);
  }
}

}  // namespace

const Tensor& index_put_(const Tensor& input, const List<Index>& indices, const Tensor& values,
                         bool accumulate) {
  const CalledOp called("index_put_");
  check_defined("index_put_", {{"input", input}, {"values", values}});
  const char* const op = "index_put_";
  check(values.dtype() == input.dtype(), op, "values must have the tensor's dtype", values.dtype(),
        " for ", input.dtype());
  check(values.device() == input.device(), op, "tensors must be on one device", input.device(),
        " and ", values.device());
  check_writable(op, input);
  const ProfilerRange range(op, {&input, &values});
  Resolver resolver(op, input, &input);
  resolver.resolve(indices);
  const Tensor& view = resolver.view;
  if (!resolver.has_tensors) {
    const Tensor source = expand_values(op, values, view.shape());
    if (accumulate) {
      add_(view, source);
    } else {
      view.copy_(source);
    }
    return input;
  }
  write(view, resolver.tensors, values, accumulate);
  return input;
}

const Tensor& index_put_(const Tensor& input, const List<Index>& indices, const Scalar& value,
                         bool accumulate) {
  const CalledOp called("index_put_");
  check_defined("index_put_", {{"input", input}});
  check_fits("index_put_", value, input.dtype());
  return index_put_(input, indices,
                    full({}, value, {.dtype = input.dtype(), .device = input.device()}),
                    accumulate);
}

Tensor index_put(const Tensor& input, const List<Index>& indices, const Tensor& values,
                 bool accumulate) {
  const CalledOp called("index_put");
  check_defined("index_put", {{"input", input}, {"values", values}});
  return index_put_(input.clone(), indices, values, accumulate);
}

Tensor nonzero(const Tensor& input) {
  check_defined("nonzero", {{"input", input}});
  const CalledOp called("nonzero");
  const ProfilerRange range("nonzero", {&input});
  const Tensor x = input.is_complex() ? ne(input.detach(), 0) : input.detach();
  const Tensor places = nonzero_op.kernel(input.device())(x.contiguous());
  tell_tracer(nonzero_op.name(), {&places}, {&input});
  return places;
}

std::vector<Tensor> where(const Tensor& condition) {
  check_defined("where", {{"condition", condition}});
  return unbind(nonzero(condition.dim() == 0 ? condition.reshape({1}) : condition), 1);
}

Tensor masked_select(const Tensor& input, const Tensor& mask) {
  const CalledOp called("masked_select");
  check_defined("masked_select", {{"input", input}, {"mask", mask}});
  check(mask.dtype() == DType::boolean, "masked_select", "the mask must be bool", mask.dtype());
  const Shape shape = broadcast_shapes("masked_select", input.shape(), mask.shape());
  const Tensor positions = nonzero(mask.expand(shape).reshape({-1})).select(1, 0);
  return index(input.expand(shape).reshape({-1}), {positions});
}

const Tensor& masked_scatter_(const Tensor& input, const Tensor& mask, const Tensor& source) {
  const CalledOp called("masked_scatter_");
  check_defined("masked_scatter_", {{"input", input}, {"mask", mask}, {"source", source}});
  const char* const op = "masked_scatter";
  check(mask.dtype() == DType::boolean, op, "the mask must be bool", mask.dtype());
  check(broadcast_shapes(op, input.shape(), mask.shape()) == input.shape(), op,
        "the mask must broadcast to the tensor", mask.shape(), " for shape ", input.shape());
  std::vector<Index> places;
  for (const Tensor& along : where(mask.expand(input.shape()))) places.emplace_back(along);
  const int64_t count = places[0].tensor().numel();
  check(source.numel() >= count, op, "the source must have an element for each place",
        source.numel(), " for ", count);
  const Tensor values = source.reshape({-1}).narrow(0, 0, count);
  index_put_(input.dim() == 0 ? input.reshape({1}) : input, places, values);
  return input;
}

Tensor masked_scatter(const Tensor& input, const Tensor& mask, const Tensor& source) {
  const CalledOp called("masked_scatter");
  check_defined("masked_scatter", {{"input", input}, {"mask", mask}, {"source", source}});
  const Shape shape = broadcast_shapes("masked_scatter", input.shape(), mask.shape());
  const Tensor output =
      shape == input.shape() ? input.clone() : input.expand(shape).clone(MemoryFormat::contiguous);
  return masked_scatter_(output, mask, source);
}

Tensor one_hot(const Tensor& input, int64_t num_classes) {
  const CalledOp called("one_hot");
  check_defined("one_hot", {{"input", input}});
  check(input.dtype() == DType::i64 || input.dtype() == DType::i32, "one_hot",
        "classes must be i64 or i32", input.dtype());
  check(num_classes >= -1 && num_classes != 0, "one_hot", "num_classes must be positive, or -1",
        num_classes);
  if (num_classes < 0) {
    check(input.numel() > 0, "one_hot", "num_classes can't be inferred from no classes",
          input.shape());
    const std::vector<int64_t> classes = input.to_vector<int64_t>();
    const auto [least, most] = std::minmax_element(classes.begin(), classes.end());
    check(*least >= 0, "one_hot", "classes can't be negative", *least);
    num_classes = *most;
    check(!__builtin_add_overflow(num_classes, int64_t{1}, &num_classes), "one_hot",
          "the number of classes must fit in 63 bits", *most, " as the largest");
  }
  Shape shape = input.shape();
  shape.push_back(num_classes);
  const Tensor classes = check_index("one_hot", input.to(i64), input.dim(), shape.back(), false);
  const Tensor output = zeros(shape, {.dtype = i64, .device = input.device()});
  return scatter_(output, -1, classes.unsqueeze(-1), 1);
}

}  // namespace aorta
