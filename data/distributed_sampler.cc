#include <aorta/data/distributed_sampler.h>

namespace aorta::data {

DistributedSampler::DistributedSampler(int64_t size, const DistributedSamplerOptions& options)
    : range_(size), options_(options) {
  const char* op = "distributed_sampler";
  const int64_t replicas = options.num_replicas;
  check(size >= 0, op, "size can't be negative", size);
  check(replicas >= 1, op, "num_replicas must be at least 1", replicas);
  if (options.rank < 0 || options.rank >= replicas)
    fail(op, "rank should be in the interval [0, " + std::to_string(replicas - 1) + "]",
         options.rank);
  num_samples_ = size / replicas + (!options.drop_last && size % replicas != 0);
}

std::vector<int64_t> DistributedSampler::indices(int64_t epoch, Generator&) const {
  std::vector<int64_t> order;
  Generator random(options_.seed, static_cast<uint64_t>(epoch));
  if (options_.shuffle)
    order = RandomSampler(range_).indices(epoch, random);
  else
    order = SequentialSampler(range_).indices(epoch, random);
  std::vector<int64_t> part;
  part.reserve(static_cast<size_t>(num_samples_));
  for (int64_t i = 0; i < num_samples_; ++i)
    part.push_back(
        order[static_cast<size_t>((options_.rank + i * options_.num_replicas) % range_)]);
  return part;
}

}  // namespace aorta::data
