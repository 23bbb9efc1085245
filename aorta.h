// Aorta, all of it: the one header that a program includes.
#pragma once

#include <aorta/core/version.h>  // IWYU pragma: export
