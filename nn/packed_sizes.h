#pragma once

#include <aorta/nn/packed_sequence.h>

namespace aorta::nn {

/// The batch_sizes of a packed sequence; throws unless its tensors belong together.
std::vector<int64_t> checked_sizes(const char* op, const PackedSequence& sequence);

}  // namespace aorta::nn
