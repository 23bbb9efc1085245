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

Tensor unfold(const Tensor& input, const Dims& kernel_size, const FoldOptions& options) {
  const CalledOp called("unfold");
  return im2col(input, kernel_size, options.dilation, options.padding, options.stride);
}

Tensor fold(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
            const FoldOptions& options) {
  const CalledOp called("fold");
  return col2im(input, output_size, kernel_size, options.dilation, options.padding, options.stride);
}

Unfold::Unfold(const Dims& kernel_size, const FoldOptions& options)
    : kernel_size(kernel_size), options(options) {}
Unfold::Unfold(Module& owner, const char* name, const Dims& kernel_size, const FoldOptions& options)
    : Unfold(kernel_size, options) {
  join(owner, name);
}
Tensor Unfold::forward(const Tensor& input) const { return unfold(input, kernel_size, options); }
std::string Unfold::extra_repr() const { return text_of(kernel_size, options); }

Fold::Fold(const Dims& output_size, const Dims& kernel_size, const FoldOptions& options)
    : output_size(output_size), kernel_size(kernel_size), options(options) {}
Fold::Fold(Module& owner, const char* name, const Dims& output_size, const Dims& kernel_size,
           const FoldOptions& options)
    : Fold(output_size, kernel_size, options) {
  join(owner, name);
}
Tensor Fold::forward(const Tensor& input) const {
  return fold(input, output_size, kernel_size, options);
}
std::string Fold::extra_repr() const {
  return "output_size=" + repr(output_size) + ", " + text_of(kernel_size, options);
}

}  // namespace aorta::nn
