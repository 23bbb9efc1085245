#pragma once

#include <aorta/data/dataset.h>

// Reading by whoever reads: a worker, or the thread that iterates.
namespace aorta::data {

/// Reads a sample, opens a stream, reads its next sample. All throw SampleError.
void read_sample(const Dataset& dataset, int64_t index, uint64_t seed, int64_t epoch,
                 Sample& sample);
std::unique_ptr<SampleStream> open_stream(const IterableDataset& dataset, uint64_t seed,
                                          int64_t epoch, int worker);
bool read_next(SampleStream& stream, Sample& sample, Generator random);

}  // namespace aorta::data
