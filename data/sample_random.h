#pragma once

#include <aorta/core/random.h>

namespace aorta::data {

/// The random numbers of a batch order and of a sample, as a function of seed, epoch and index.
Generator order_generator(uint64_t seed, int64_t epoch);
Generator sample_generator(uint64_t seed, int64_t epoch, int64_t index);
/// These two are for sample `index` of a worker's stream, and for opening the stream.
Generator stream_generator(uint64_t seed, int64_t epoch, int worker, int64_t index);
Generator opening_generator(uint64_t seed, int64_t epoch, int worker);

}  // namespace aorta::data
