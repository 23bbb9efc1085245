#include <aorta/core/ops/view_scatter.h>

#include <aorta/core/called_op.h>
#include <aorta/core/ops/view.h>

namespace aorta {

static Tensor scattered(const char* op, const Tensor& copy, const Tensor& view, const Tensor& src) {
  check(src.shape() == view.shape(), op, "src must have the view's shape", src.shape(), " for ",
        view.shape());
  view.copy_(src);
  return copy;
}

Tensor slice_scatter(const Tensor& input, const Tensor& src, int64_t dim,
                     std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  check_defined("slice_scatter", {{"input", input}, {"src", src}});
  const CalledOp called("slice_scatter");
  const Tensor copy = input.clone();
  return scattered("slice_scatter", copy, copy.slice(dim, start, end, step), src);
}

Tensor select_scatter(const Tensor& input, const Tensor& src, int64_t dim, int64_t index) {
  check_defined("select_scatter", {{"input", input}, {"src", src}});
  const CalledOp called("select_scatter");
  const Tensor copy = input.clone();
  return scattered("select_scatter", copy, copy.select(dim, index), src);
}

Tensor diagonal_scatter(const Tensor& input, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  check_defined("diagonal_scatter", {{"input", input}, {"src", src}});
  const CalledOp called("diagonal_scatter");
  const Tensor copy = input.clone();
  return scattered("diagonal_scatter", copy, diagonal(copy, offset, dim1, dim2), src);
}

Tensor as_strided_scatter(const Tensor& input, const Tensor& src, const Shape& shape,
                          const Strides& strides, int64_t offset) {
  check_defined("as_strided_scatter", {{"input", input}, {"src", src}});
  const CalledOp called("as_strided_scatter");
  const Tensor copy = input.contiguous().clone();
  return scattered("as_strided_scatter", copy, as_strided(copy, shape, strides, offset), src);
}

}  // namespace aorta
