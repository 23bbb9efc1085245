#pragma once

#include <aorta/tests/op_catalog.h>

namespace aorta::catalog {

/// Calls the row's in-place forms on views of a tensor that takes part in a graph, however the view
/// came to be: the gradient is that of the op out of place, or the write is refused.
void check_view_writes(const Row& row);

}  // namespace aorta::catalog
