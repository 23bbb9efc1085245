#include <aorta/core/backends.h>
#include <aorta/cuda/attention_cudnn.h>
#include <aorta/cuda/attention_kernels.h>
#include <aorta/cuda/attention_shape.h>
#include <aorta/cuda/rows.h>

namespace aorta::cuda {
namespace {

void run_attention(const kernel::AttentionKernelArgs& args) {
  if (backends::cudnn::enabled() && suits_cudnn(args) && attention_by_cudnn(args)) return;
  attention_by_kernels(args);
}

void run_attention_backward(const kernel::AttentionBackwardArgs& args) {
  if (backends::cudnn::enabled() && suits_cudnn(args) && attention_backward_by_cudnn(args)) return;
  attention_backward_by_kernels(args);
}

}  // namespace

void register_attention() {
  set_kernel<kernel::attention_op, run_attention>();
  set_kernel<kernel::attention_backward_op, run_attention_backward>();
}

}  // namespace aorta::cuda
