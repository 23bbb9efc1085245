#include <aorta/core/called_op.h>
#include <aorta/nn/fold.h>
#include <aorta/nn/sizes.h>

#include <fmt/format.h>

namespace aorta::nn {
namespace {

std::string text_of(const Dims& kernel_size, const FoldOptions& options) {
  return fmt::format("kernel_size={}, dilation={}, padding={}, stride={}", repr(kernel_size),
                     repr(options.dilation), repr(options.padding), repr(options.stride));
}

}  // namespace

Tensor detail::unfold(const Tensor& input, const Dims& kernel_size, const FoldOptions& options) {
  const CalledOp called("unfold");
  return im2col(input, kernel_size, options.dilation, options.padding, options.stride);
}

Tensor detail::fold(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
                    const FoldOptions& options) {
  const CalledOp called("fold");
  return col2im(input, output_size, kernel_size, options.dilation, options.padding, options.stride);
}

Tensor unfold(const Tensor& input, const Dims& kernel_size, const Dims& dilation) {
  return detail::unfold(input, kernel_size, {.dilation = dilation});
}

Tensor fold(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
            const Dims& dilation) {
  return detail::fold(input, output_size, kernel_size, {.dilation = dilation});
}

Tensor Unfold::forward(const Tensor& input) const { return unfold(input, kernel_size, options); }
std::string Unfold::extra_repr() const { return text_of(kernel_size, options); }

Tensor Fold::forward(const Tensor& input) const {
  return fold(input, output_size, kernel_size, options);
}
std::string Fold::extra_repr() const {
  return "output_size=" + repr(output_size) + ", " + text_of(kernel_size, options);
}

}  // namespace aorta::nn
