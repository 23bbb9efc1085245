#pragma once

#include <aorta/core/dispatch/op_table.h>

namespace aorta::cuda {

using namespace kernel;  // the rows whose column this room fills, and what their kernels get

}  // namespace aorta::cuda
