// Aorta, all of it: the one header that a program includes.
#pragma once

#include <aorta/autograd/checkpoint.h>     // IWYU pragma: export
#include <aorta/autograd/dot.h>            // IWYU pragma: export
#include <aorta/autograd/engine.h>         // IWYU pragma: export
#include <aorta/autograd/function.h>       // IWYU pragma: export
#include <aorta/autograd/grad_mode.h>      // IWYU pragma: export
#include <aorta/autograd/gradcheck.h>      // IWYU pragma: export
#include <aorta/autograd/hooks.h>          // IWYU pragma: export
#include <aorta/autograd/saved.h>          // IWYU pragma: export
#include <aorta/core/autocast.h>           // IWYU pragma: export
#include <aorta/core/check.h>              // IWYU pragma: export
#include <aorta/core/device.h>             // IWYU pragma: export
#include <aorta/core/dlpack.h>             // IWYU pragma: export
#include <aorta/core/io/load_save.h>       // IWYU pragma: export
#include <aorta/core/ops/convolution.h>    // IWYU pragma: export
#include <aorta/core/ops/creation.h>       // IWYU pragma: export
#include <aorta/core/ops/einsum.h>         // IWYU pragma: export
#include <aorta/core/ops/indexing.h>       // IWYU pragma: export
#include <aorta/core/ops/interpolate.h>    // IWYU pragma: export
#include <aorta/core/ops/join.h>           // IWYU pragma: export
#include <aorta/core/ops/matmul.h>         // IWYU pragma: export
#include <aorta/core/ops/normalization.h>  // IWYU pragma: export
#include <aorta/core/ops/pointwise.h>      // IWYU pragma: export
#include <aorta/core/ops/pooling.h>        // IWYU pragma: export
#include <aorta/core/ops/random.h>         // IWYU pragma: export
#include <aorta/core/ops/rearrange.h>      // IWYU pragma: export
#include <aorta/core/ops/reduction.h>      // IWYU pragma: export
#include <aorta/core/ops/scan.h>           // IWYU pragma: export
#include <aorta/core/ops/softmax.h>        // IWYU pragma: export
#include <aorta/core/ops/sort.h>           // IWYU pragma: export
#include <aorta/core/ops/view.h>           // IWYU pragma: export
#include <aorta/core/parallel_for.h>       // IWYU pragma: export
#include <aorta/core/profiler.h>           // IWYU pragma: export
#include <aorta/core/state.h>              // IWYU pragma: export
#include <aorta/core/tensor.h>             // IWYU pragma: export
#include <aorta/core/version.h>            // IWYU pragma: export
