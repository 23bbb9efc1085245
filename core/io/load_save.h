#pragma once

#include <aorta/core/io/tensors.h>

namespace aorta {

/// Writes tensors to `path`, whole or not at all; the extension says how: `.safetensors`, `.npz`,
/// or
/// `.npy` for one tensor alone. Throws for another extension.
void save(const NamedTensors& tensors, const Text& path);

/// Writes one tensor to an `.npy` file.
void save(const Tensor& tensor, const Text& path);

/// Reads every tensor of a `.safetensors`, `.npz` or `.npy` file; the one of an `.npy` file has an
/// empty name. Their memory is the mapped file; writing to them never changes it.
NamedTensors load(const Text& path);

}  // namespace aorta
