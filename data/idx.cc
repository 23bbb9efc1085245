#include <aorta/core/io/tensors.h>
#include <aorta/data/idx.h>
#include <aorta/data/idx_format.h>

namespace aorta::data {

Tensor load_idx(const Text& path) { return io::to_tensor(parse_idx(io::FileBytes::map(path))); }

}  // namespace aorta::data
