#pragma once

#include <aorta/tests/op_catalog.h>

namespace aorta::catalog {

/// Inputs of which one, or all of one size, have no elements along a dimension: what a call says or
/// gives on the device, and the gradients of what it gives, are those of the CPU; on meta shapes
/// and dtypes are. Returns how many such calls there were that throw nothing.
int check_empty_on(const Row& row, Device device);

}  // namespace aorta::catalog
