#include <aorta/core/dispatch/line_args.h>
#include <aorta/core/empty.h>

#include <cstdio>

namespace aorta::kernel {

Tensor dense(const Tensor& input) {
  const Strides strides = dense_strides(input.shape(), input.strides());
  bool is_dense = true;
  for (int d = 0; d < input.dim(); ++d)
    is_dense &= input.shape()[d] == 1 || strides[d] == input.strides()[d];
  return is_dense || input.numel() == 0 ? input.detach() : input.detach().contiguous();
}

Tensor flat_memory(const Tensor& input) {
  return Tensor(input.storage(), input.dtype(), {input.numel()}, {1}, input.storage_offset());
}

std::string layouts_text(std::span<const Tensor> tensors) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a's
  const auto add = [&hash](int64_t number) {
    hash = (hash ^ static_cast<uint64_t>(number)) * 1099511628211u;
  };
  for (const Tensor& tensor : tensors) {
    add(tensor.dim());
    for (int d = 0; d < tensor.dim(); ++d) {
      add(tensor.size(d));
      if (tensor.size(d) > 1) add(tensor.stride(d));
    }
  }
  std::string text;
  detail::append(text, static_cast<int64_t>(tensors.size()));
  char digits[24];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return text + (tensors.size() == 1 ? " tensor (" : " tensors (") + digits + ")";
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
