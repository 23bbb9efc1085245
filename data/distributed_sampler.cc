#include <aorta/data/distributed_sampler.h>

namespace aorta::data {
namespace {

void check_rank(const char* op, int64_t replicas, int64_t rank) {
  check(replicas >= 1, op, "num_replicas must be at least 1", replicas);
  if (rank < 0 || rank >= replicas)
    fail(op, "rank should be in the interval [0, " + std::to_string(replicas - 1) + "]", rank);
}

}  // namespace

DistributedSampler::DistributedSampler(int64_t size, const DistributedSamplerOptions& options)
    : range_(size), options_(options) {
  const char* op = "distributed_sampler";
  const int64_t replicas = options.num_replicas;
  check(size >= 0, op, "size can't be negative", size);
  check_rank(op, replicas, options.rank);
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

DistributedBatchSampler::DistributedBatchSampler(std::shared_ptr<const BatchSampler> batches,
                                                 int64_t num_replicas, int64_t rank,
                                                 BatchShare share)
    : batches_(std::move(batches)), replicas_(num_replicas), rank_(rank), share_(share) {
  check(batches_ != nullptr, "distributed_batch_sampler", "there must be batches", "none");
  check_rank("distributed_batch_sampler", num_replicas, rank);
}

int64_t DistributedBatchSampler::size() const {
  const int64_t all = batches_->size();
  if (share_ == BatchShare::part_of_each) return all;
  return all / replicas_ + (rank_ < all % replicas_);
}

std::vector<std::vector<int64_t>> DistributedBatchSampler::batches(int64_t epoch,
                                                                   Generator& random) const {
  std::vector<std::vector<int64_t>> mine;
  const std::vector<std::vector<int64_t>> all = batches_->batches(epoch, random);
  const auto rank = static_cast<size_t>(rank_), replicas = static_cast<size_t>(replicas_);
  if (share_ == BatchShare::every_nth) {
    for (size_t i = rank; i < all.size(); i += replicas) mine.push_back(all[i]);
    return mine;
  }
  for (const std::vector<int64_t>& batch : all) {
    check(batch.size() % replicas == 0, "distributed_batch_sampler",
          "batches must divide into a part a rank", batch.size(), " for ", replicas, " ranks");
    const auto part = static_cast<std::ptrdiff_t>(batch.size() / replicas);
    const auto first = batch.begin() + static_cast<std::ptrdiff_t>(rank) * part;
    mine.emplace_back(first, first + part);
  }
  return mine;
}

}  // namespace aorta::data
