#pragma once

#include <aorta/core/tensor.h>

#include <string>

namespace aorta::data {

/// The array of an IDX file, the format of the MNIST digits (LeCun, Cortes and Burges, "The MNIST
/// database of handwritten digits"), plain or gzipped: whatever the file is called, its first bytes
/// say which. Unsigned bytes become u8, signed bytes, shorts and ints i32, floats f32 and doubles
/// f64. A file that isn't sound is refused with `path: rule, got values`; no more memory is taken
/// than the file's length allows for.
Tensor load_idx(const Text& path);

}  // namespace aorta::data
