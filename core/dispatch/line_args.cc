#include <aorta/core/dispatch/line_args.h>
#include <aorta/core/empty.h>

namespace aorta::kernel {

Tensor dense(const Tensor& input) {
  const Strides strides = dense_strides(input.shape(), input.strides());
  bool is_dense = true;
  for (int d = 0; d < input.dim(); ++d)
    is_dense &= input.shape()[d] == 1 || strides[d] == input.strides()[d];
  return is_dense || input.numel() == 0 ? input.detach() : input.detach().contiguous();
}

Lines lines_of(const Tensor& input, int dim) {
  if (input.dim() == 0) return {};
  Lines lines;
  lines.length = input.shape()[dim];
  if (input.numel() == 0) return {0, lines.length, 1};
  if (lines.length > 1) lines.inner = input.strides()[dim];
  lines.outer = input.numel() / (lines.length * lines.inner);
  return lines;
}

Tensor empty_lines(const Tensor& like, int dim, int64_t length, DType dtype) {
  const TensorOptions options{.dtype = dtype, .device = like.device()};
  Shape shape = like.shape();
  if (like.dim() > 0) shape[dim] = length;
  if (shape.numel() == 0 || like.is_contiguous()) return empty(shape, options);
  // What lies outside of the lines moves together or apart with their length.
  const Lines lines = lines_of(like, dim);
  Strides strides = like.strides();
  for (int d = 0; d < like.dim(); ++d) {
    if (d == dim || shape[d] == 1)
      strides[d] = lines.inner;
    else if (strides[d] >= lines.inner * lines.length)
      strides[d] = strides[d] / lines.length * length;
  }
  return empty_strided(shape, strides, options);
}

}  // namespace aorta::kernel
