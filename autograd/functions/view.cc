#include <aorta/autograd/functions/embed.h>
#include <aorta/autograd/record.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace aorta::autograd {
namespace {

void view_gradient(Tensor& view, const Tensor& input) {
  record_view("view", view, input,
              [](Gradients& g) { g.input() = g.output().reshape(g.input_shape()); });
}

void permute_gradient(Tensor& view, const Tensor& input, const Dims& dims) {
  Dims inverse = dims;
  for (int i = 0; i < dims.size(); ++i) inverse[static_cast<int>(dims[i])] = i;
  record_view("permute", view, input,
              [inverse](Gradients& g) { g.input() = g.output().permute(inverse); });
}

void expand_gradient(Tensor& view, const Tensor& input) {
  record_view("expand", view, input,
              [](Gradients& g) { g.input() = sum_to_size(g.output(), g.input_shape()); });
}

void slice_gradient(Tensor& view, const Tensor& input, int dim, int64_t start, int64_t step) {
  record_view("slice", view, input, [dim, start, step](Gradients& g) {
    const int64_t count = g.output().size(dim);
    // Beside its last element, for a whole step may lead beyond all numbers.
    const int64_t end = count == 0 ? start : start + (count - 1) * step + 1;
    g.input() = embed(g.output(), g.input_shape(),
                      [&](const Tensor& whole) { return whole.slice(dim, start, end, step); });
  });
}

void select_gradient(Tensor& view, const Tensor& input, int dim, int64_t index) {
  record_view("select", view, input, [dim, index](Gradients& g) {
    g.input() = embed(g.output(), g.input_shape(),
                      [&](const Tensor& whole) { return whole.select(dim, index); });
  });
}

void diagonal_gradient(Tensor& view, const Tensor& input, int64_t offset, int dim1, int dim2) {
  record_view("diagonal", view, input, [offset, dim1, dim2](Gradients& g) {
    g.input() = embed(g.output(), g.input_shape(),
                      [&](const Tensor& whole) { return diagonal(whole, offset, dim1, dim2); });
  });
}

// One past the last element that lies in a view, counted from its first.
int64_t extent(const Shape& shape, const Strides& strides) {
  int64_t last = 0;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return 0;
    last += (shape[d] - 1) * strides[d];
  }
  return last + 1;
}

// Every element of memory gets the sum of the gradients of the places that show it. `offset` is
// counted from the input's first element.
// Whether elements of a tensor may lie at one place of memory, as those of an expanded one do.
bool may_share_memory(const Shape& shape, const Strides& strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride and size
  for (int d = 0; d < shape.size(); ++d)
    if (shape[d] > 1) dims.emplace_back(strides[d], shape[d]);
  std::sort(dims.begin(), dims.end());
  int64_t reach = 1;
  for (const auto& [stride, size] : dims) {
    if (stride < reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

Tensor as_strided_backward(const Tensor& gradient, const Shape& shape, const Strides& strides,
                           int64_t offset, const Shape& input_shape, const Strides& input_strides) {
  const int64_t memory = extent(input_shape, input_strides);
  const TensorOptions options{.dtype = DType::i64, .device = gradient.device()};
  const Tensor places = as_strided(arange(memory, options), shape, strides, offset).reshape({-1});
  const TensorOptions as_given{.dtype = gradient.dtype(), .device = gradient.device()};
  Tensor flat = index_add(zeros({memory}, as_given), 0, places, gradient.reshape({-1}));
  if (may_share_memory(input_shape, input_strides)) {
    // Elements of the input that share a place share what it gets.
    const Tensor own =
        as_strided(arange(memory, options), input_shape, input_strides, 0).reshape({-1});
    const Tensor sharers =
        index_add(zeros({memory}, options), 0, own, ones({own.numel()}, options));
    flat = flat / clamp_min(sharers, 1);
  }
  return as_strided(flat, input_shape, input_strides, 0);
}

void record_strided(const char* op, Tensor& view, const Tensor& input) {
  const Shape shape = view.shape(), input_shape = input.shape();
  const Strides strides = view.strides(), input_strides = input.strides();
  const int64_t offset = view.storage_offset() - input.storage_offset();
  check(view.numel() == 0 ||
            (offset >= 0 && offset + extent(shape, strides) <= extent(input_shape, input_strides)),
        op, "where gradients are recorded, every element must lie in the input", "shape ", shape,
        ", strides ", strides, ", offset ", view.storage_offset());
  record_view(op, view, input, [shape, strides, offset, input_shape, input_strides](Gradients& g) {
    if (shape.numel() == 0) {
      g.input() = zeros(input_shape, {.dtype = g.output().dtype(), .device = g.output().device()});
      return;
    }
    g.input() = as_strided_backward(g.output(), shape, strides, offset, input_shape, input_strides);
  });
}

void as_strided_gradient(Tensor& view, const Tensor& input) {
  record_strided("as_strided", view, input);
}

void unfold_gradient(Tensor& view, const Tensor& input, int, int64_t, int64_t) {
  record_strided("unfold", view, input);
}

// As the views do, one leads to the other's gradient: to dL/dRe + i dL/dIm.
void view_as_real_gradient(Tensor& view, const Tensor& input) {
  record_view("view_as_real", view, input, [](Gradients& g) { g.input() = of_parts(g.output()); });
}

void view_as_complex_gradient(Tensor& view, const Tensor& input) {
  record_view("view_as_complex", view, input,
              [](Gradients& g) { g.input() = view_as_real(g.output()); });
}

}  // namespace

void register_view() {
  view_op.set_gradient(view_gradient);
  permute_op.set_gradient(permute_gradient);
  expand_op.set_gradient(expand_gradient);
  slice_op.set_gradient(slice_gradient);
  select_op.set_gradient(select_gradient);
  diagonal_op.set_gradient(diagonal_gradient);
  as_strided_op.set_gradient(as_strided_gradient);
  unfold_op.set_gradient(unfold_gradient);
  view_as_real_op.set_gradient(view_as_real_gradient);
  view_as_complex_op.set_gradient(view_as_complex_gradient);
}

}  // namespace aorta::autograd
