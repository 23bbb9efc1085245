#include <aorta/data/reading.h>
#include <aorta/data/sample_error.h>
#include <aorta/data/sample_random.h>

#include <exception>

namespace aorta::data {

void read_sample(const Dataset& dataset, int64_t index, uint64_t seed, int64_t epoch,
                 Sample& sample) {
  Generator random = sample_generator(seed, epoch, index);
  const DefaultGeneratorScope scope(random);
  try {
    const int64_t size = dataset.size();
    check(index >= 0 && index < size, "data_loader", "a sampler's indices must be in [0, size)",
          index, " of ", size);
    dataset.read(index, sample, random);
  } catch (...) {
    const auto [type, text] = describe_exception();
    std::throw_with_nested(SampleError({index, type, text, sample.file()}));
  }
}

std::unique_ptr<SampleStream> open_stream(const IterableDataset& dataset, uint64_t seed,
                                          int64_t epoch, int worker) {
  Generator random = opening_generator(seed, epoch, worker);
  const DefaultGeneratorScope scope(random);
  try {
    auto stream = dataset.stream(epoch);
    check(stream != nullptr, "dataset", "there must be a stream", "none");
    return stream;
  } catch (...) {
    const auto [type, text] = describe_exception();
    std::throw_with_nested(SampleError({-1, type, text, ""}));
  }
}

bool read_next(SampleStream& stream, Sample& sample, Generator random) {
  const DefaultGeneratorScope scope(random);
  try {
    return stream.next(sample, random);
  } catch (...) {
    const auto [type, text] = describe_exception();
    std::throw_with_nested(SampleError({-1, type, text, sample.file()}));
  }
}

}  // namespace aorta::data
