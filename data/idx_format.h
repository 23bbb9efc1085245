#pragma once

#include <aorta/core/io/bytes.h>

/// The bytes of an IDX file, without tensors. What is accepted stands in idx.h.
///
///     0  two bytes of 0
///     2  element: 8 unsigned byte, 9 signed byte, 11 short, 12 int, 13 float, 14 double
///     3  the number of dimensions, n
///     4  n sizes, 4 bytes each
///        the elements, row-major; sizes and elements are big-endian
namespace aorta::data {

/// The array in `file`, which may be gzipped.
io::Array parse_idx(std::shared_ptr<const io::FileBytes> file);

}  // namespace aorta::data
