#pragma once

namespace aorta::cuda {

/// The CUDA toolkit's version that the plugin was compiled with, as 1000 major + 10 minor (13000
/// for 13.0).
int toolkit_version();

}  // namespace aorta::cuda
