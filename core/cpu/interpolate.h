#pragma once

#include <aorta/core/body/interpolate.h>
#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

/// Rows [first, end) of the output, a row being (outer, depth, height). `weights` are those of
/// depth, height and width in the dtype that is computed in; `scratch` holds a row of the input in
/// it.
using InterpolateFunction = void (*)(const body::InterpolateArgs& args, const void* const* weights,
                                     int64_t first, int64_t end, void* scratch);

AORTA_EACH_ISA(InterpolateFunction interpolate_rows(DType dtype);)

}  // namespace aorta::cpu
