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

/// What a rank takes of a sequence of batches: its part of each, the batch divided evenly and in
/// order, or every num_replicas-th batch, from its own number on.
enum class BatchShare { part_of_each, every_nth };

/// The share that one of several training processes takes of the batches that a single process
/// would visit: together they compute on the same batches in the same order, for any number of
/// processes. The order is the BatchSampler's, a function of the loader's seed and the epoch; so
/// the seeds must be the same.
class DistributedBatchSampler : public BatchSampler {
 public:
  /// `part_of_each` throws `distributed_batch_sampler: batches must divide ...` at a batch that
  /// doesn't. Throws for a rank that isn't one of 0 to num_replicas - 1.
  DistributedBatchSampler(std::shared_ptr<const BatchSampler> batches, int64_t num_replicas,
                          int64_t rank, BatchShare share);
  int64_t size() const override;
  std::vector<std::vector<int64_t>> batches(int64_t epoch, Generator& random) const override;

 private:
  std::shared_ptr<const BatchSampler> batches_;
  int64_t replicas_, rank_;
  BatchShare share_;
};

}  // namespace aorta::data
