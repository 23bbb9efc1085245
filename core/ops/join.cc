#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/pointwise_args.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/resource_error.h>

#include <algorithm>
#include <new>
#include <stdexcept>
#include <type_traits>

namespace aorta::kernel {

constinit Op<NoKernel, void (*)(Tensor&, std::span<const Tensor>, int)> cat_op{"cat"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

// PyTorch's legacy: a 1-d tensor of size 0 joins anything.
bool is_legacy_empty(const Tensor& tensor) { return tensor.dim() == 1 && tensor.shape()[0] == 0; }

// Whether most elements lie so, of those whose shape tells the orders apart.
bool mostly_channels_last(std::span<const Tensor> tensors) {
  int64_t more = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.dim() < 4 || tensor.dim() > 5) return false;
    const bool last = tensor.is_contiguous(MemoryFormat::channels_last);
    if (last != tensor.is_contiguous()) more += last ? tensor.numel() : -tensor.numel();
  }
  return more > 0;
}

// The common shape with the sizes along `dim` added up.
Shape joined_shape(std::span<const Tensor> tensors, int dim) {
  Shape shape = tensors[0].shape();
  for (const Tensor& tensor : tensors.subspan(1)) {
    const Shape& other = tensor.shape();
    check(other.size() == shape.size(), "cat", "tensors must have one number of dimensions",
          tensors[0].shape(), " and ", other);
    for (int d = 0; d < shape.size(); ++d) {
      check(d == dim || other[d] == shape[d], "cat", "sizes must match but in the joined dimension",
            tensors[0].shape(), " and ", other, " in dimension ", dim);
    }
    check(!__builtin_add_overflow(shape[dim], other[dim], &shape[dim]), "cat",
          "the number of elements must fit in 63 bits", tensors[0].shape(), " and ", other);
  }
  return shape;
}

Tensor join(std::span<const Tensor> tensors, int dim, DType dtype) {
  const CalledOp called("cat");
  const ProfilerRange range("cat");
  const Shape shape = joined_shape(tensors, dim);
  checked_numel("cat", shape, item_size(dtype));
  const Strides strides =
      mostly_channels_last(tensors) ? channels_last_strides(shape) : contiguous_strides(shape);
  Tensor output = empty_strided(shape, strides, {.dtype = dtype, .device = tensors[0].device()});
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    const int64_t size = tensor.shape()[dim];
    if (tensor.numel() > 0) output.narrow(dim, start, size).copy_(tensor.detach());
    start += size;
  }
  const bool record = std::any_of(tensors.begin(), tensors.end(),
                                  [](const Tensor& tensor) { return needs_gradient(tensor); });
  if (record && is_differentiable(dtype)) cat_op.gradient()(output, tensors, dim);
  tell_tracer(cat_op.name(), {&output}, tensors, dim);
  return output;
}

}  // namespace

Tensor cat(const List<Tensor>& tensors, int64_t dim) {
  const CalledOp called("cat");
  check(!tensors.empty(), "cat", "there must be a tensor", "none");
  check_defined("cat", "tensors", tensors);
  DType dtype = tensors[0].dtype();
  bool some_empty = false;
  for (const Tensor& tensor : tensors) {
    check(tensor.device() == tensors[0].device(), "cat", "tensors must be on one device",
          tensors[0].device(), " and ", tensor.device());
    check(tensor.dim() > 0, "cat", "0-d tensors can't be joined; use stack", tensor.shape());
    dtype = promote(dtype, tensor.dtype());
    some_empty |= is_legacy_empty(tensor);
  }
  if (!some_empty) return join(tensors, wrap_dim("cat", dim, tensors[0].dim()), dtype);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    if (!is_legacy_empty(tensor)) parts.push_back(tensor);
  }
  if (parts.empty()) parts.push_back(tensors[0]);
  return join(parts, wrap_dim("cat", dim, parts[0].dim()), dtype);
}

Tensor stack(const List<Tensor>& tensors, int64_t dim) {
  const CalledOp called("stack");
  check(!tensors.empty(), "stack", "there must be a tensor", "none");
  check_defined("stack", "tensors", tensors);
  const Shape& shape = tensors[0].shape();
  const int d = wrap_dim("stack", dim, shape.size() + 1);
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (const Tensor& tensor : tensors) {
    check(tensor.shape() == shape, "stack", "shapes must be equal", shape, " and ", tensor.shape());
    parts.push_back(tensor.unsqueeze(d));
  }
  return cat(parts, d);
}

namespace {

// The tensors, each as `widened` makes it.
template <class Widened>
std::vector<Tensor> all_widened(const char* op, const List<Tensor>& tensors,
                                const Widened& widened) {
  check(!tensors.empty(), op, "there must be a tensor", "none");
  check_defined(op, "tensors", tensors);
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (const Tensor& tensor : tensors) parts.push_back(widened(tensor));
  return parts;
}

}  // namespace

Tensor hstack(const List<Tensor>& tensors) {
  const CalledOp called("hstack");
  const std::vector<Tensor> parts = all_widened("hstack", tensors, atleast_1d);
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}

Tensor vstack(const List<Tensor>& tensors) {
  const CalledOp called("vstack");
  return cat(all_widened("vstack", tensors, atleast_2d), 0);
}

Tensor dstack(const List<Tensor>& tensors) {
  const CalledOp called("dstack");
  return cat(all_widened("dstack", tensors, atleast_3d), 2);
}

Tensor column_stack(const List<Tensor>& tensors) {
  const CalledOp called("column_stack");
  return hstack(all_widened("column_stack", tensors, [](const Tensor& x) {
    return x.dim() > 1 ? x : x.reshape({x.numel(), 1});
  }));
}

Tensor block_diag(const List<Tensor>& tensors) {
  const CalledOp called("block_diag");
  check(!tensors.empty(), "block_diag", "there must be a tensor", "none");
  check_defined("block_diag", "tensors", tensors);
  const DType dtype = result_type(std::vector<Operand>(tensors.begin(), tensors.end()));
  std::vector<Tensor> parts;
  int64_t before = 0, columns = 0;
  for (const Tensor& tensor : tensors) {
    check(tensor.dim() <= 2, "block_diag", "tensors must have at most 2 dimensions",
          tensor.shape());
    const Tensor part = tensor.to(dtype);
    parts.push_back(part.dim() == 2 ? part : part.reshape({1, part.numel()}));
    columns += parts.back().size(1);
  }
  for (Tensor& part : parts) {
    const int64_t end = before + part.size(1);
    part = pad(part, {before, columns - end, 0, 0});
    before = end;
  }
  return cat(parts, 0);
}

namespace {

int64_t size_along(const char* op, const Tensor& input, int64_t dim) {
  check(input.dim() > 0, op, "a 0-d tensor can't be split", input.shape());
  return input.shape()[wrap_dim(op, dim, input.dim())];
}

// A list of `count` parts, each made by `part(i)`: sizes of an empty tensor may be any, and memory
// can end.
template <class Part>
std::vector<Tensor> list_of(const char* op, int64_t count, const Part& part) {
  try {
    std::vector<Tensor> parts;
    parts.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) parts.push_back(part(i));
    return parts;
  } catch (const ResourceError&) {  // of memory for a part
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {  // more than a vector can count
  }
  fail_for_resources(op, "there must be memory for the list of parts", count, " parts");
}

// Parts [0, step), [step, 2 step), ...; one part where the dimension is empty.
std::vector<Tensor> cut_evenly(const char* op, const Tensor& input, int64_t size, int64_t step,
                               int64_t dim) {
  return list_of(op, size == 0 ? 1 : (size - 1) / step + 1, [&](int64_t i) {
    return input.narrow(dim, i * step, std::min(step, size - i * step));
  });
}

}  // namespace

std::vector<Tensor> split(const Tensor& input, int64_t split_size, int64_t dim) {
  check_defined("split", {{"input", input}});
  const int64_t size = size_along("split", input, dim);
  check(split_size > 0 || (split_size == 0 && size == 0), "split", "split_size must be positive",
        split_size);
  return cut_evenly("split", input, size, split_size, dim);
}

std::vector<Tensor> split(const Tensor& input, const List<int64_t>& sizes, int64_t dim) {
  check_defined("split", {{"input", input}});
  const int64_t size = size_along("split", input, dim);
  int64_t left = size;
  for (int64_t part : sizes) {
    check(part >= 0, "split", "sizes can't be negative", part);
    check(part <= left, "split", "sizes must add up to the dimension's", "more than ", size);
    left -= part;
  }
  check(left == 0, "split", "sizes must add up to the dimension's", size - left, " for ", size);
  int64_t end = 0;
  return list_of("split", std::ssize(sizes), [&](int64_t i) {
    const int64_t length = sizes[static_cast<size_t>(i)];
    end += length;
    return input.narrow(dim, end - length, length);
  });
}

std::vector<Tensor> chunk(const Tensor& input, int64_t chunks, int64_t dim) {
  check_defined("chunk", {{"input", input}});
  const int64_t size = size_along("chunk", input, dim);
  check(chunks > 0, "chunk", "the number of chunks must be positive", chunks);
  if (size == 0) return list_of("chunk", chunks, [&](int64_t) { return input.narrow(dim, 0, 0); });
  return cut_evenly("chunk", input, size, (size - 1) / chunks + 1, dim);
}

std::vector<Tensor> tensor_split(const Tensor& input, int64_t sections, int64_t dim) {
  check_defined("tensor_split", {{"input", input}});
  const int64_t size = size_along("tensor_split", input, dim);
  check(sections > 0, "tensor_split", "the number of sections must be positive", sections);
  const int64_t length = size / sections, longer = size % sections;
  return list_of("tensor_split", sections, [&](int64_t i) {
    return input.narrow(dim, i * length + std::min(i, longer), length + (i < longer));
  });
}

std::vector<Tensor> tensor_split(const Tensor& input, const List<int64_t>& indices, int64_t dim) {
  check_defined("tensor_split", {{"input", input}});
  size_along("tensor_split", input, dim);
  int64_t end = 0;
  return list_of("tensor_split", std::ssize(indices) + 1, [&](int64_t i) {
    const int64_t start = end;
    if (i == std::ssize(indices)) return input.slice(dim, start);
    end = indices[static_cast<size_t>(i)];
    return input.slice(dim, start, end);
  });
}

namespace {

// tensor_split along `dim`, or the last dimension before it, of a tensor that has `least`.
template <class Where>
std::vector<Tensor> split_along(const char* op, const Tensor& input, int least, int64_t dim,
                                const Where& where) {
  const CalledOp called(op);
  check_defined(op, {{"input", input}});
  check(input.dim() >= least, op, "input must have more dimensions", input.shape(), " for ", least);
  const int64_t along = std::min<int64_t>(dim, input.dim() - 1);
  if constexpr (std::is_same_v<Where, int64_t>) {
    check(where > 0 && input.size(along) % where == 0, op, "sections must divide the size", where,
          " for ", input.size(along));
  }
  return tensor_split(input, where, along);
}

}  // namespace

std::vector<Tensor> hsplit(const Tensor& input, int64_t sections) {
  return split_along("hsplit", input, 1, 1, sections);
}
std::vector<Tensor> hsplit(const Tensor& input, const List<int64_t>& indices) {
  return split_along("hsplit", input, 1, 1, indices);
}
std::vector<Tensor> vsplit(const Tensor& input, int64_t sections) {
  return split_along("vsplit", input, 2, 0, sections);
}
std::vector<Tensor> vsplit(const Tensor& input, const List<int64_t>& indices) {
  return split_along("vsplit", input, 2, 0, indices);
}
std::vector<Tensor> dsplit(const Tensor& input, int64_t sections) {
  return split_along("dsplit", input, 3, 2, sections);
}
std::vector<Tensor> dsplit(const Tensor& input, const List<int64_t>& indices) {
  return split_along("dsplit", input, 3, 2, indices);
}

std::vector<Tensor> unbind(const Tensor& input, int64_t dim) {
  check_defined("unbind", {{"input", input}});
  check(input.dim() > 0, "unbind", "a 0-d tensor has no parts", input.shape());
  const int d = wrap_dim("unbind", dim, input.dim());
  return list_of("unbind", input.shape()[d], [&](int64_t i) { return input.select(d, i); });
}

}  // namespace aorta
