#pragma once

#include <aorta/core/device_backend.h>
#include <aorta/cuda/convolution_shape.h>

namespace aorta::cuda {

/// Computes a convolution by cuDNN; false where cuDNN isn't there, or has no engine for it that
/// does nothing it may not. Errors name `op`.
bool convolution_by_cudnn(const char* op, const kernel::ConvolutionArgs& args, ConvResult result);

/// What `Backend::convolution_library` says.
DeviceLibrary cudnn_state();

}  // namespace aorta::cuda
