// Where the machine that builds has no header of cuDNN's.
#include <aorta/cuda/attention_cudnn.h>
#include <aorta/cuda/convolution_cudnn.h>

namespace aorta::cuda {

bool convolution_by_cudnn(const char*, const kernel::ConvolutionArgs&, ConvResult) { return false; }

bool attention_by_cudnn(const kernel::AttentionKernelArgs&) { return false; }
bool attention_backward_by_cudnn(const kernel::AttentionBackwardArgs&) { return false; }

DeviceLibrary cudnn_state() {
  return {.version = 0, .problem = "libaorta_cuda.so was built without cuDNN's headers"};
}

}  // namespace aorta::cuda
