#pragma once

#include <aorta/core/list.h>
#include <aorta/core/tensor.h>

/// numpy's `.npy` format, versions 1.0, 2.0 and 3.0 (numpy.lib.format, NEP 1).
///
/// Reading. `f2 f4 f8 i4 i8 u1 b1 c8 c16` become f16 f32 f64 i32 i64 u8 bool c64 c128. Integers
/// that Aorta has no dtype for become the next wider one that holds them: `i1 i2 u2` become i32,
/// `u4` becomes i64. `u8` (uint64), long double, text, dates, structured dtypes and Python objects
/// (which would need a pickle) are refused by name. Big-endian and Fortran-ordered files are
/// converted to row-major little-endian; every other file is read through a mapping, without a
/// copy, and its tensor's memory is private: writing to the tensor never changes the file.
///
/// Writing. Little-endian and row-major, data aligned to 64 bytes, the same bytes as `numpy.save`.
/// numpy has no bf16: convert to f32 first.
namespace aorta::npy {

/// The array in the file at `path`; throws `path: rule, got values` for a malformed file.
Tensor load(const Text& path);

/// Writes `tensor` whole or not at all (see AtomicFile).
void save(const Tensor& tensor, const Text& path);

}  // namespace aorta::npy
