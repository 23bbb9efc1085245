#include <aorta/data/sample_random.h>

namespace aorta::data {
namespace {

// Streams of the seed: each epoch has 2^40, the first for its order, the others for its samples.
constexpr uint64_t kStreams = uint64_t{1} << 40;

}  // namespace

Generator order_generator(uint64_t seed, int64_t epoch) {
  return Generator(seed, static_cast<uint64_t>(epoch) * kStreams);
}

Generator sample_generator(uint64_t seed, int64_t epoch, int64_t index) {
  return Generator(seed,
                   static_cast<uint64_t>(epoch) * kStreams + static_cast<uint64_t>(index) + 1);
}

Generator stream_generator(uint64_t seed, int64_t epoch, int worker, int64_t index) {
  return sample_generator(seed, epoch, int64_t{worker + 1} << 32 | index);
}

Generator opening_generator(uint64_t seed, int64_t epoch, int worker) {
  return stream_generator(seed, epoch, worker, 0xffffffff);
}

}  // namespace aorta::data
