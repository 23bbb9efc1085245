#include <aorta/data/sampler.h>

#include <algorithm>
#include <new>
#include <numeric>
#include <string>

namespace aorta::data {
namespace {

void check_size(const char* what, int64_t size) {
  constexpr int64_t kMost = int64_t{1} << 59;  // of 8 bytes: what a vector can count
  check(size >= 0, "sampler", std::string(what) + " can't be negative", size);
  check(size <= kMost, "sampler", std::string(what) + " must be at most 2^59", size);
}

// Room for the order of an epoch.
void reserve(std::vector<int64_t>& indices, int64_t count) {
  try {
    indices.reserve(static_cast<size_t>(count));
  } catch (const std::bad_alloc&) {
    fail("sampler", "there must be memory for an epoch's order, 8 bytes a sample", count,
         " samples");
  }
}

void append_permutation(std::vector<int64_t>& indices, int64_t range, Generator& random) {
  const auto start = static_cast<std::ptrdiff_t>(indices.size());
  indices.resize(indices.size() + static_cast<size_t>(range));
  const auto part = indices.begin() + start;
  std::iota(part, indices.end(), 0);
  for (int64_t i = range - 1; i > 0; --i) std::swap(part[i], part[random.next_below(i + 1)]);
}

}  // namespace

SequentialSampler::SequentialSampler(int64_t size) : size_(size) { check_size("size", size); }

std::vector<int64_t> SequentialSampler::indices(int64_t, Generator&) const {
  std::vector<int64_t> indices;
  reserve(indices, size_);
  indices.resize(static_cast<size_t>(size_));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

RandomSampler::RandomSampler(int64_t size, const RandomSamplerOptions& options)
    : range_(size),
      num_samples_(options.num_samples.value_or(size)),
      replacement_(options.replacement) {
  check_size("size", replacement_ && size > 0 ? 1 : size);  // draws need no order of all
  check_size("num_samples", num_samples_);
  check(size > 0 || num_samples_ == 0, "sampler", "there must be samples to draw from",
        num_samples_, " draws from none");
}

std::vector<int64_t> RandomSampler::indices(int64_t, Generator& random) const {
  std::vector<int64_t> indices;
  const auto count = static_cast<size_t>(num_samples_);
  if (count > 0) reserve(indices, replacement_ ? num_samples_ : std::max(num_samples_, range_));
  if (replacement_) {
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
