#pragma once

#include <aorta/core/tensor.h>

namespace aorta::kernel {

/// Bumps the version of a tensor that an op has written in place: now, and of a captured step
/// (core/recording.h) at each launch again.
void bump_written(const Tensor& tensor);
/// Says that a storage goes: there is nothing to bump of a captured step's temporaries.
void forget_written(Storage& storage);

}  // namespace aorta::kernel
