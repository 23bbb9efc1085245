#pragma once

// Every pointwise op as a functor: `info` describes it, operator() computes one element in compute
// type T (float, double, int64_t, int32_t, uint8_t or bool, as far as `info` admits them), members
// are parameters.

#include <aorta/core/scalar/activation.h>
#include <aorta/core/scalar/arithmetic.h>
#include <aorta/core/scalar/comparison.h>
#include <aorta/core/scalar/division.h>
#include <aorta/core/scalar/special.h>
#include <aorta/core/scalar/transcendental.h>
