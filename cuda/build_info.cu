#include <aorta/cuda/build_info.h>

namespace aorta::cuda {

int toolkit_version() { return CUDART_VERSION; }

}  // namespace aorta::cuda
