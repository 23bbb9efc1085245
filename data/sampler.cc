#include <aorta/data/sampler.h>

#include <algorithm>
#include <numeric>

namespace aorta::data {
namespace {

void append_permutation(std::vector<int64_t>& indices, int64_t range, Generator& random) {
  const auto start = static_cast<std::ptrdiff_t>(indices.size());
  indices.resize(indices.size() + static_cast<size_t>(range));
  const auto part = indices.begin() + start;
  std::iota(part, indices.end(), 0);
  for (int64_t i = range - 1; i > 0; --i) std::swap(part[i], part[random.next_below(i + 1)]);
}

}  // namespace

SequentialSampler::SequentialSampler(int64_t size) : size_(size) {
  check(size >= 0, "sampler", "size can't be negative", size);
}

std::vector<int64_t> SequentialSampler::indices(int64_t, Generator&) const {
  std::vector<int64_t> indices(static_cast<size_t>(size_));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

RandomSampler::RandomSampler(int64_t size, const RandomSamplerOptions& options)
    : range_(size),
      num_samples_(options.num_samples.value_or(size)),
      replacement_(options.replacement) {
  check(size >= 0, "sampler", "size can't be negative", size);
  check(num_samples_ >= 0, "sampler", "num_samples can't be negative", num_samples_);
  check(size > 0 || num_samples_ == 0, "sampler", "there must be samples to draw from",
        num_samples_, " draws from none");
}

std::vector<int64_t> RandomSampler::indices(int64_t, Generator& random) const {
  std::vector<int64_t> indices;
  const auto count = static_cast<size_t>(num_samples_);
  if (replacement_) {
    indices.reserve(count);
    while (indices.size() < count) indices.push_back(random.next_below(range_));
  } else {
    while (indices.size() < count) append_permutation(indices, range_, random);
    indices.resize(count);
  }
  return indices;
}

BatchSampler::BatchSampler(std::shared_ptr<const Sampler> sampler, int64_t batch_size,
                           bool drop_last)
    : sampler_(std::move(sampler)), batch_size_(batch_size), drop_last_(drop_last) {
  check(sampler_ != nullptr, "batch_sampler", "there must be a sampler", "none");
  check(batch_size >= 1, "batch_sampler", "batch_size must be at least 1", batch_size);
}

int64_t BatchSampler::size() const {
  const int64_t samples = sampler_->size();
  return samples / batch_size_ + (!drop_last_ && samples % batch_size_ != 0);
}

std::vector<std::vector<int64_t>> BatchSampler::batches(int64_t epoch, Generator& random) const {
  const std::vector<int64_t> indices = sampler_->indices(epoch, random);
  const auto size = static_cast<size_t>(batch_size_);
  std::vector<std::vector<int64_t>> batches;
  for (size_t at = 0; at < indices.size(); at += size) {
    const size_t end = std::min(at + size, indices.size());
    if (drop_last_ && end - at < size) break;
    batches.emplace_back(indices.begin() + static_cast<std::ptrdiff_t>(at),
                         indices.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return batches;
}

}  // namespace aorta::data
