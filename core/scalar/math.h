#pragma once

// The scalar mathematics of every kernel, for float and double. The float functions have no branch,
// table or call, so that compilers vectorise loops over them, but for those of gamma_function.h;
// the double functions are the C library's, or CUDA's on a device, where it has them.

#include <aorta/core/scalar/basic.h>
#include <aorta/core/scalar/bessel_function.h>
#include <aorta/core/scalar/error_function.h>
#include <aorta/core/scalar/exponential.h>
#include <aorta/core/scalar/gamma_function.h>
#include <aorta/core/scalar/hyperbolic.h>
#include <aorta/core/scalar/incomplete_gamma.h>
#include <aorta/core/scalar/inverse_error_function.h>
#include <aorta/core/scalar/log_normal.h>
#include <aorta/core/scalar/logarithm.h>
#include <aorta/core/scalar/power.h>
#include <aorta/core/scalar/trigonometric.h>
