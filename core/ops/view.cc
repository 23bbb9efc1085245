#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>

#include <algorithm>
#include <cstdlib>

namespace aorta::kernel {

constinit Op<NoKernel, ViewGradient> view_op{"view"};
constinit Op<NoKernel, void (*)(Tensor&, const Tensor&, const Dims&)> permute_op{"permute"};
constinit Op<NoKernel, ViewGradient> expand_op{"expand"};
constinit Op<NoKernel, void (*)(Tensor&, const Tensor&, int, int64_t, int64_t)> slice_op{"slice"};
constinit Op<NoKernel, void (*)(Tensor&, const Tensor&, int, int64_t)> select_op{"select"};
constinit Op<NoKernel, void (*)(Tensor&, const Tensor&, int64_t, int, int)> diagonal_op{"diagonal"};
constinit Op<NoKernel, ViewGradient> as_strided_op{"as_strided"};
constinit Op<NoKernel, void (*)(Tensor&, const Tensor&, int, int64_t, int64_t)> unfold_op{"unfold"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

Tensor kernel::as_view_of(const Tensor& input, Tensor view) {
  const TensorImpl& from = input.impl();
  if (is_differentiable(from.dtype)) {
    TensorImpl& impl = view.impl();
    impl.base = from.base ? from.base : input.impl_ref();
    impl.view_without_grad = from.view_without_grad || !grad_enabled();
    impl.inference = from.inference;
  }
  return view;
}

namespace {

Tensor make_view(const Tensor& input, const Shape& shape, const Strides& strides, int64_t offset) {
  return as_view_of(input, Tensor(input.storage(), input.dtype(), shape, strides, offset));
}

template <class Row, class... Parameters>
Tensor record(const Row& row, Tensor view, const Tensor& input, const Parameters&... parameters) {
  if (needs_gradient(input)) row.gradient()(view, input, parameters...);
  tell_tracer(row.name(), {&view}, {&input}, parameters...);
  return view;
}

// Resolves one -1 and checks the number of elements.
Shape resolve_shape(const char* op, const Tensor& input, const Shape& wanted) {
  Shape shape = wanted;
  int unknown = -1;
  int64_t known = 1;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      check(unknown < 0, op, "only one size can be -1", wanted);
      unknown = i;
      continue;
    }
    check(shape[i] >= 0, op, "sizes can't be negative", wanted);
    check(!__builtin_mul_overflow(known, shape[i], &known), op, "the number of elements must stay",
          wanted, " for a tensor of shape ", input.shape());
  }
  if (unknown >= 0) {
    check(known > 0 && input.numel() % known == 0, op, "the number of elements must stay", wanted,
          " for a tensor of shape ", input.shape());
    shape[unknown] = input.numel() / known;
    known *= shape[unknown];
  }
  check(known == input.numel(), op, "the number of elements must stay", wanted,
        " for a tensor of shape ", input.shape());
  if (known == 0) checked_numel(op, shape, item_size(input.dtype()));
  return shape;
}

// The strides under which `input`'s memory has `shape`; false when there are none. Runs of input
// dimensions that lie one inside the next are cut anew; a cut can't cross from run to run.
bool view_strides(const Tensor& input, const Shape& shape, Strides& strides) {
  strides = Dims::filled(shape.size(), 1);
  if (input.numel() == 0) {
    strides = contiguous_strides(shape);
    return true;
  }
  int out = shape.size() - 1;
  int in = input.dim() - 1;
  while (in >= 0) {
    const int64_t run_stride = input.strides()[in];
    int64_t run = input.shape()[in];
    while (in > 0 && (input.shape()[in - 1] == 1 || input.strides()[in - 1] == run * run_stride)) {
      run *= input.shape()[--in];
    }
    if (run == 1) {
      --in;
      continue;
    }
    int64_t filled = 1;
    while (out >= 0 && filled < run) {
      strides[out] = filled * run_stride;
      filled *= shape[out--];
    }
    if (filled != run) return false;
    --in;
  }
  // What is left has size 1: any stride will do.
  for (; out >= 0; --out)
    strides[out] = out + 1 < shape.size() ? strides[out + 1] * shape[out + 1] : 1;
  return true;
}

}  // namespace

Tensor Tensor::view(const Shape& wanted) const {
  check_defined("view", {{"input", *this}});
  const Shape shape = resolve_shape("view", *this, wanted);
  Strides strides;
  check(view_strides(*this, shape, strides), "view",
        "shape must be compatible with the strides; use reshape", wanted, " for a tensor of shape ",
        this->shape(), " with strides ", this->strides());
  return record(view_op, make_view(*this, shape, strides, storage_offset()), *this);
}

Tensor Tensor::reshape(const Shape& wanted) const {
  check_defined("reshape", {{"input", *this}});
  const Shape shape = resolve_shape("reshape", *this, wanted);
  Strides strides = this->strides();
  if (shape != this->shape() && !view_strides(*this, shape, strides))
    return contiguous().view(shape);
  return record(view_op, make_view(*this, shape, strides, storage_offset()), *this);
}

Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim) const {
  check_defined("flatten", {{"input", *this}});
  const int first = wrap_dim("flatten", start_dim, dim());
  const int last = wrap_dim("flatten", end_dim, dim());
  check(first <= last, "flatten", "start_dim can't come after end_dim", start_dim, " and ",
        end_dim);
  if (dim() == 0) return view({1});
  if (first == last) return *this;  // as PyTorch's
  Shape shape;
  int64_t merged = 1;
  for (int i = 0; i < dim(); ++i) {
    if (i < first || i > last) {
      shape.push_back(this->shape()[i]);
      continue;
    }
    merged *= this->shape()[i];
    if (i == last) shape.push_back(merged);
  }
  return reshape(shape);
}

Tensor Tensor::unflatten(int64_t dim, const Shape& sizes) const {
  const char* const op = "unflatten";
  check_defined(op, {{"input", *this}});
  const int at = wrap_dim(op, dim, this->dim());
  check(this->dim() > 0, op, "input must have a dimension", shape());
  const int64_t all = size(at);
  Shape parts = sizes;  // a -1 is resolved here, where it stands for a part of one dimension
  int unknown = -1;
  for (int d = 0; d < parts.size(); ++d)
    if (parts[d] == -1 && unknown < 0) unknown = d;
  if (unknown >= 0) parts[unknown] = 1;
  const int64_t known = checked_numel(op, parts);
  if (unknown >= 0 && known > 0 && all % known == 0) parts[unknown] = all / known;
  check(parts.size() > 0 && parts.numel() == all, op, "sizes must multiply to the dimension's",
        sizes, " for ", all);
  Shape whole;
  for (int d = 0; d < at; ++d) whole.push_back(size(d));
  for (const int64_t part : parts) whole.push_back(part);
  for (int d = at + 1; d < this->dim(); ++d) whole.push_back(size(d));
  return view(whole);
}

Tensor Tensor::permute(const Dims& dims) const {
  check_defined("permute", {{"input", *this}});
  check(dims.size() == dim(), "permute", "one entry a dimension", dims, " for shape ", shape());
  Dims order = dims;
  bool seen[kMaxDims] = {};
  Shape new_shape = shape();
  Strides new_strides = strides();
  for (int i = 0; i < dims.size(); ++i) {
    const int d = wrap_dim("permute", dims[i], dim());
    check(!seen[d], "permute", "each dimension once", dims);
    seen[d] = true;
    order[i] = d;
    new_shape[i] = shape()[d];
    new_strides[i] = strides()[d];
  }
  return record(permute_op, make_view(*this, new_shape, new_strides, storage_offset()), *this,
                order);
}

Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const {
  check_defined("transpose", {{"input", *this}});
  const int a = wrap_dim("transpose", dim0, dim());
  const int b = wrap_dim("transpose", dim1, dim());
  Dims order;
  for (int i = 0; i < dim(); ++i) order.push_back(i);
  if (a != b) std::swap(order[a], order[b]);
  return permute(order);
}

Tensor Tensor::t() const {
  check_defined("t", {{"input", *this}});
  check(dim() <= 2, "t", "at most 2 dimensions", shape());
  return transpose(0, dim() < 2 ? 0 : 1);
}

Tensor Tensor::squeeze() const {
  check_defined("squeeze", {{"input", *this}});
  Shape new_shape;
  Strides new_strides;
  for (int i = 0; i < dim(); ++i) {
    if (shape()[i] == 1) continue;
    new_shape.push_back(shape()[i]);
    new_strides.push_back(strides()[i]);
  }
  return record(view_op, make_view(*this, new_shape, new_strides, storage_offset()), *this);
}

Tensor Tensor::squeeze(int64_t dim) const {
  check_defined("squeeze", {{"input", *this}});
  const int d = wrap_dim("squeeze", dim, this->dim());
  Shape new_shape = shape();
  Strides new_strides = strides();
  if (this->dim() > 0 && shape()[d] == 1) {
    new_shape.erase(d);
    new_strides.erase(d);
  }
  return record(view_op, make_view(*this, new_shape, new_strides, storage_offset()), *this);
}

Tensor Tensor::squeeze(const Dims& dims) const {
  check_defined("squeeze", {{"input", *this}});
  Dims rising = wrap_dims("squeeze", dims, dim());
  std::sort(rising.begin(), rising.end());
  Tensor result = rising.empty() ? reshape(shape()) : *this;
  for (int i = rising.size(); i-- > 0;) result = result.squeeze(rising[i]);
  return result;
}

Tensor Tensor::unsqueeze(int64_t dim) const {
  check_defined("unsqueeze", {{"input", *this}});
  const int d = wrap_dim("unsqueeze", dim, this->dim() + 1);
  Shape new_shape = shape();
  Strides new_strides = strides();
  const int64_t stride = d < this->dim() ? shape()[d] * strides()[d] : 1;
  new_shape.insert(d, 1);
  new_strides.insert(d, stride);
  return record(view_op, make_view(*this, new_shape, new_strides, storage_offset()), *this);
}

Tensor Tensor::expand(const Shape& wanted) const {
  check_defined("expand", {{"input", *this}});
  const int lead = wanted.size() - dim();
  check(lead >= 0, "expand", "as many dimensions or more", wanted, " for shape ", shape());
  Shape new_shape = wanted;
  Strides new_strides = Dims::filled(wanted.size(), 0);
  for (int i = 0; i < wanted.size(); ++i) {
    const int d = i - lead;
    if (wanted[i] == -1 && d >= 0) new_shape[i] = shape()[d];
    const int64_t size = d < 0 ? 1 : shape()[d];
    check(new_shape[i] >= 0 && (size == 1 || size == new_shape[i]), "expand",
          "sizes must match or be 1", wanted, " for shape ", shape());
    new_strides[i] = d < 0 || size != new_shape[i] ? 0 : strides()[d];
  }
  checked_numel("expand", new_shape, item_size(dtype()));
  return record(expand_op, make_view(*this, new_shape, new_strides, storage_offset()), *this);
}

Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                     int64_t step) const {
  check_defined("slice", {{"input", *this}});
  check(this->dim() > 0, "slice", "a 0-d tensor can't be sliced", shape());
  check(step > 0, "slice", "step must be positive", step);
  const int d = wrap_dim("slice", dim, this->dim());
  const int64_t size = shape()[d];
  const auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  const int64_t first = clamp(start.value_or(0));
  const int64_t last = std::max(clamp(end.value_or(size)), first);
  Shape new_shape = shape();
  Strides new_strides = strides();
  new_shape[d] = (last - first) / step + ((last - first) % step != 0);
  new_strides[d] *= new_shape[d] > 1 ? step : 1;
  return record(slice_op,
                make_view(*this, new_shape, new_strides, storage_offset() + first * strides()[d]),
                *this, d, first, step);
}

Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const {
  check_defined("narrow", {{"input", *this}});
  check(this->dim() > 0, "narrow", "a 0-d tensor can't be narrowed", shape());
  const int d = wrap_dim("narrow", dim, this->dim());
  const int64_t size = shape()[d];
  const int64_t first = start < 0 ? start + size : start;
  check(first >= 0 && first <= size && length >= 0 && length <= size - first, "narrow",
        "start and length must lie in the dimension", "start ", start, ", length ", length,
        " in a dimension of size ", size);
  return slice(d, first, first + length);
}

Tensor Tensor::select(int64_t dim, int64_t index) const {
  check_defined("select", {{"input", *this}});
  check(this->dim() > 0, "select", "a 0-d tensor has no index", shape());
  const int d = wrap_dim("select", dim, this->dim());
  const int64_t size = shape()[d];
  check(index >= -size && index < size, "select", "index out of range", index,
        " in a dimension of size ", size);
  const int64_t i = index < 0 ? index + size : index;
  Shape new_shape = shape();
  Strides new_strides = strides();
  new_shape.erase(d);
  new_strides.erase(d);
  return record(select_op,
                make_view(*this, new_shape, new_strides, storage_offset() + i * strides()[d]),
                *this, d, i);
}

Tensor as_strided(const Tensor& input, const Shape& shape, const Strides& strides, int64_t offset) {
  check_defined("as_strided", {{"input", input}});
  check(shape.size() == strides.size(), "as_strided", "one stride a dimension", strides,
        " for shape ", shape);
  const int64_t item = item_size(input.dtype());
  int64_t last = offset;
  bool bad = offset < 0;
  for (int i = 0; i < shape.size(); ++i) {
    int64_t reach = 0;
    bad |= shape[i] < 0 || strides[i] < 0 ||
           __builtin_mul_overflow(std::max<int64_t>(shape[i] - 1, 0), strides[i], &reach) ||
           __builtin_add_overflow(last, reach, &last);
  }
  const int64_t held = input.storage()->size_bytes() / item;
  check(!bad && (last < held || checked_numel("as_strided", shape, item) == 0), "as_strided",
        "every element must lie inside the storage", "shape ", shape, ", strides ", strides,
        ", offset ", offset, " in a storage of ", held, " elements");
  return record(as_strided_op, make_view(input, shape, strides, offset), input);
}

Tensor diagonal(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2) {
  check_defined("diagonal", {{"input", input}});
  const int a = wrap_dim("diagonal", dim1, input.dim());
  const int b = wrap_dim("diagonal", dim2, input.dim());
  check(input.dim() >= 2 && a != b, "diagonal", "two different dimensions", dim1, " and ", dim2,
        " of shape ", input.shape());
  const int64_t rows = input.shape()[a], columns = input.shape()[b];
  const int64_t shift = std::clamp<int64_t>(offset, -rows, columns);
  const int64_t skip_rows = std::max<int64_t>(-shift, 0),
                skip_columns = std::max<int64_t>(shift, 0);
  const int64_t length = std::max<int64_t>(std::min(rows - skip_rows, columns - skip_columns), 0);
  Shape shape = input.shape();
  Strides strides = input.strides();
  const int64_t start = length == 0 ? 0 : skip_rows * strides[a] + skip_columns * strides[b];
  const int64_t step =
      length > 1 ? strides[a] + strides[b] : 1;  // beside huge sizes there may be none
  shape.erase(std::max(a, b));
  shape.erase(std::min(a, b));
  strides.erase(std::max(a, b));
  strides.erase(std::min(a, b));
  shape.push_back(length);
  strides.push_back(step);
  return record(diagonal_op, make_view(input, shape, strides, input.storage_offset() + start),
                input, offset, a, b);
}

Tensor reshape(const Tensor& input, const Shape& shape) { return input.reshape(shape); }
Tensor flatten(const Tensor& input, int64_t start_dim, int64_t end_dim) {
  return input.flatten(start_dim, end_dim);
}
Tensor unflatten(const Tensor& input, int64_t dim, const Shape& sizes) {
  return input.unflatten(dim, sizes);
}
Tensor permute(const Tensor& input, const Dims& dims) { return input.permute(dims); }
Tensor transpose(const Tensor& input, int64_t dim0, int64_t dim1) {
  return input.transpose(dim0, dim1);
}
Tensor atleast_1d(const Tensor& input) {
  check_defined("atleast_1d", {{"input", input}});
  return input.dim() > 0 ? input : input.unsqueeze(0);
}
Tensor atleast_2d(const Tensor& input) {
  check_defined("atleast_2d", {{"input", input}});
  return input.dim() > 1 ? input : atleast_1d(input).unsqueeze(0);
}
Tensor atleast_3d(const Tensor& input) {
  check_defined("atleast_3d", {{"input", input}});
  return input.dim() > 2 ? input : atleast_2d(input).unsqueeze(-1);
}
Tensor squeeze(const Tensor& input) { return input.squeeze(); }
Tensor squeeze(const Tensor& input, int64_t dim) { return input.squeeze(dim); }
Tensor squeeze(const Tensor& input, const Dims& dims) { return input.squeeze(dims); }
Tensor unsqueeze(const Tensor& input, int64_t dim) { return input.unsqueeze(dim); }
Tensor expand(const Tensor& input, const Shape& shape) { return input.expand(shape); }
Tensor select(const Tensor& input, int64_t dim, int64_t index) { return input.select(dim, index); }
Tensor narrow(const Tensor& input, int64_t dim, int64_t start, int64_t length) {
  return input.narrow(dim, start, length);
}
Tensor narrow_copy(const Tensor& input, int64_t dim, int64_t start, int64_t length) {
  const CalledOp called("narrow_copy");
  check_defined("narrow_copy", {{"input", input}});
  return input.narrow(dim, start, length).clone(MemoryFormat::contiguous);
}

Tensor movedim(const Tensor& input, int64_t source, int64_t destination) {
  check_defined("movedim", {{"input", input}});
  const int from = wrap_dim("movedim", source, input.dim());
  const int to = wrap_dim("movedim", destination, input.dim());
  Dims order;
  for (int i = 0; i < input.dim(); ++i) {
    if (i != from) order.push_back(i);
  }
  if (input.dim() > 0) order.insert(to, from);
  return input.permute(order);
}

Tensor movedim(const Tensor& input, const Dims& source, const Dims& destination) {
  check_defined("movedim", {{"input", input}});
  check(source.size() == destination.size(), "movedim",
        "source and destination must be as many dimensions", source, " and ", destination);
  const Dims from = wrap_dims("movedim", source, input.dim());
  const Dims to = wrap_dims("movedim", destination, input.dim());
  Dims order = Dims::filled(input.dim(), -1);
  for (int i = 0; i < from.size(); ++i) order[static_cast<int>(to[i])] = from[i];
  int place = 0;
  for (int i = 0; i < input.dim(); ++i) {
    if (std::find(from.begin(), from.end(), i) != from.end()) continue;
    while (order[place] >= 0) ++place;
    order[place++] = i;
  }
  return input.permute(order);
}

void kernel::link_view_ops() {
  view_op.link();
  permute_op.link();
  expand_op.link();
  slice_op.link();
  select_op.link();
  diagonal_op.link();
  as_strided_op.link();
  unfold_op.link();
  view_as_real_op.link();
  view_as_complex_op.link();
  copy_into_op.link();
}

Tensor diag(const Tensor& input, int64_t offset) {
  check_defined("diag", {{"input", input}});
  const CalledOp called("diag");
  check(input.dim() == 1 || input.dim() == 2, "diag", "input must be a vector or a matrix",
        input.shape());
  if (input.dim() == 2) return diagonal(input, offset).clone();
  int64_t size = 0;
  check(offset > INT64_MIN && !__builtin_add_overflow(input.numel(), std::abs(offset), &size),
        "diag", "diagonal must give a matrix of some size", offset);
  const Tensor matrix = zeros({size, size}, {.dtype = input.dtype(), .device = input.device()});
  diagonal(matrix, offset).copy_(input);
  return matrix;
}

Tensor diag_embed(const Tensor& input, int64_t offset, int64_t dim1, int64_t dim2) {
  check_defined("diag_embed", {{"input", input}});
  const CalledOp called("diag_embed");
  check(input.dim() > 0 && input.dim() < kMaxDims, "diag_embed",
        "input must have 1 to 11 dimensions", input.shape());
  const int a = wrap_dim("diag_embed", dim1, input.dim() + 1);
  const int b = wrap_dim("diag_embed", dim2, input.dim() + 1);
  check(a != b, "diag_embed", "two different dimensions", dim1, " and ", dim2);
  int64_t size = 0;
  check(offset > INT64_MIN && !__builtin_add_overflow(input.size(-1), std::abs(offset), &size),
        "diag_embed", "offset must give matrices of some size", offset);
  Shape shape = input.shape();
  shape.erase(input.dim() - 1);
  for (const int dim : {std::min(a, b), std::max(a, b)}) shape.insert(dim, size);
  const Tensor matrices = zeros(shape, {.dtype = input.dtype(), .device = input.device()});
  diagonal(matrices, offset, a, b).copy_(input);
  return matrices;
}

Tensor diagflat(const Tensor& input, int64_t offset) {
  check_defined("diagflat", {{"input", input}});
  const CalledOp called("diagflat");
  return diag(input.reshape({input.numel()}), offset);
}

Tensor fill_diagonal_(const Tensor& input, const Scalar& value, bool wrap) {
  check_defined("fill_diagonal_", {{"input", input}});
  const CalledOp called("fill_diagonal_");
  check(input.dim() >= 2, "fill_diagonal_", "input must have 2 dimensions at least", input.shape());
  const int64_t rows = input.size(0), columns = input.size(1);
  check(input.dim() == 2 ||
            std::count(input.shape().begin(), input.shape().end(), rows) == input.dim(),
        "fill_diagonal_", "more than 2 dimensions must be of one size", input.shape());
  check_writable("fill_diagonal_", input);
  if (wrap && input.dim() == 2 && rows > columns) {
    const TensorOptions there{.device = input.device()};
    const Tensor places = remainder(arange(rows, there), columns + 1);
    masked_fill_(input, eq(places.unsqueeze(1), arange(columns, there)), value);
    return input;
  }
  Tensor line = input;
  while (line.dim() > 1) line = diagonal(line, 0, 0, -1);
  line.fill_(value);
  return input;
}

Tensor unfold(const Tensor& input, int64_t dimension, int64_t size, int64_t step) {
  check_defined("unfold", {{"input", input}});
  const CalledOp called("unfold");
  const int dim = wrap_dim("unfold", dimension, input.dim());
  const int64_t length = input.dim() ? input.shape()[dim] : 1;
  check(size >= 0 && size <= length, "unfold", "size must be in the range of the dimension", size,
        " for dim ", dim, " of ", input.shape());
  check(step > 0, "unfold", "step must be positive", step);
  check(input.dim() < kMaxDims, "unfold", "the result can have 12 dimensions at most",
        input.shape());
  // An element that stands in several places of memory's would get their gradients several times.
  const bool expanded = input.numel() > 1 && !input.is_contiguous() &&
                        std::count(input.strides().begin(), input.strides().end(), 0) > 0;
  const Tensor x = expanded ? input.contiguous() : input;
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.push_back(size);
  strides.push_back(x.dim() ? x.strides()[dim] : 1);
  if (x.dim()) {
    shape[dim] = (length - size) / step + 1;
    strides[dim] *= shape[dim] > 1 ? step : 1;  // which is less than the length
  }
  return record(unfold_op, make_view(x, shape, strides, x.storage_offset()), x, dim, size, step);
}

}  // namespace aorta
