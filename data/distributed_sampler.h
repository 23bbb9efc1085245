#pragma once

#include <aorta/data/sampler.h>

namespace aorta::data {

/// `rank` is this process's place among `num_replicas`. Of `seed`, and of the epoch, the order of
/// all is a function, which must be the same in each process; the loader's seed plays no part.
struct DistributedSamplerOptions {
  int64_t num_replicas = 1;
  int64_t rank = 0;
  bool shuffle = true;
  uint64_t seed = 0;
  /// Leaves out the tail that doesn't divide evenly, instead of visiting the first samples of the
  /// order again.
  bool drop_last = false;
};

/// The part of 0 ... size - 1 that one of several training processes visits: the same number for
/// each, rank, rank + num_replicas, ... of one order. Unless `size` divides evenly, that order
/// starts again at its end, or loses its tail.
class DistributedSampler : public Sampler {
 public:
  /// Throws `distributed_sampler: rank should be in the interval [0, num_replicas - 1], got ...`.
  DistributedSampler(int64_t size, const DistributedSamplerOptions& options);
  int64_t size() const override { return num_samples_; }
  std::vector<int64_t> indices(int64_t epoch, Generator& random) const override;

 private:
  int64_t range_;
  DistributedSamplerOptions options_;
  int64_t num_samples_;
};

}  // namespace aorta::data
