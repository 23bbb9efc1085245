#pragma once

#include <aorta/core/random.h>

#include <memory>
#include <optional>
#include <vector>

namespace aorta::data {

/// Which samples an epoch visits, in which order. A sampler of one's own derives from it.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// How many indices an epoch has.
  virtual int64_t size() const = 0;
  /// The indices of one epoch; called once an epoch, in the process that trains. `random` is a
  /// function of the loader's seed and the epoch, so that the order is one, too.
  virtual std::vector<int64_t> indices(int64_t epoch, Generator& random) const = 0;
};

/// 0, 1, ... size - 1.
class SequentialSampler : public Sampler {
 public:
  explicit SequentialSampler(int64_t size);
  int64_t size() const override { return size_; }
  std::vector<int64_t> indices(int64_t epoch, Generator& random) const override;

 private:
  int64_t size_;
};

/// With replacement each draw is independent, else one random order of all follows another.
/// `num_samples` is how many an epoch has: `size` unless said.
struct RandomSamplerOptions {
  bool replacement = false;
  std::optional<int64_t> num_samples = {};
};

/// A random order of 0 ... size - 1 (Fisher and Yates's shuffle), another one each epoch.
class RandomSampler : public Sampler {
 public:
  explicit RandomSampler(int64_t size, const RandomSamplerOptions& options = {});
  int64_t size() const override { return num_samples_; }
  std::vector<int64_t> indices(int64_t epoch, Generator& random) const override;

 private:
  int64_t range_;
  int64_t num_samples_;
  bool replacement_;
};

/// The indices of a sampler in groups of `batch_size`; the last is smaller, or left out. For
/// batches of one's own kind (of samples of like length, say) derive from it and override both.
class BatchSampler {
 public:
  BatchSampler(std::shared_ptr<const Sampler> sampler, int64_t batch_size, bool drop_last);
  virtual ~BatchSampler() = default;
  /// How many batches an epoch has.
  virtual int64_t size() const;
  virtual std::vector<std::vector<int64_t>> batches(int64_t epoch, Generator& random) const;

 protected:
  BatchSampler() = default;

 private:
  std::shared_ptr<const Sampler> sampler_;
  int64_t batch_size_ = 1;
  bool drop_last_ = false;
};

}  // namespace aorta::data
