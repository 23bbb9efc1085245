#pragma once

#include <aorta/data/batch.h>
#include <aorta/data/dataset.h>
#include <aorta/data/sampler.h>

#include <functional>
#include <iterator>

namespace aorta::data {

/// Makes a batch of samples; runs in the thread that iterates.
using Collate = std::function<Batch(std::span<const Sample> samples)>;

/// Each tensor is the samples' stacked along a new first dimension: (B, ...). Throws where shapes
/// of one tensor differ between samples. A loader's default gives the same without the copy.
Batch default_collate(std::span<const Sample> samples);

/// PyTorch's names, meanings and defaults.
struct DataLoaderOptions {
  int64_t batch_size = 1;
  /// A new random order each epoch; else the order of the dataset.
  bool shuffle = false;
  /// The order, instead of `shuffle`.
  std::shared_ptr<const Sampler> sampler = nullptr;
  /// The batches, instead of batch_size, shuffle, sampler and drop_last.
  std::shared_ptr<const BatchSampler> batch_sampler = nullptr;
  /// Worker processes that read samples. There are none yet: above 0 a line on stderr says once
  /// that samples are read by the thread that iterates. Batches are the same for any number.
  int num_workers = 0;
  Collate collate = nullptr;
  /// Leaves out the last batch of an epoch when it is smaller than the others.
  bool drop_last = false;
  /// What orders and samples' random numbers are a function of, with the epoch. Taken from the
  /// default generator when left out, so that manual_seed() makes a program repeatable.
  std::optional<uint64_t> seed = {};
};

/// The batches of a dataset, an epoch each time that iteration begins.
///
///     data::DataLoader loader(dataset, {.batch_size = 64, .shuffle = true});
///     for (const auto& batch : loader) step(batch["image"], batch["label"]);
///
/// The batches of epoch e are a function of the dataset, the options, the seed and e. Several
/// iterations may run at once, each in its epoch.
class DataLoader {
  struct Settings;
  class Epoch;

 public:
  /// Reads a batch when it is first looked at. An error of a sample starts with "sample 17"; the
  /// iterator can then be asked again or be moved on to the next batch.
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    const Batch& operator*() const;
    const Batch* operator->() const { return &**this; }
    Iterator& operator++();
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const;

   private:
    friend class DataLoader;
    explicit Iterator(std::shared_ptr<Epoch> epoch) : epoch_(std::move(epoch)) {}
    std::shared_ptr<Epoch> epoch_;
  };

  /// Throws `data_loader: rule, got values` for options that contradict each other.
  explicit DataLoader(std::shared_ptr<const Dataset> dataset,
                      const DataLoaderOptions& options = {});

  /// Starts the next epoch.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }
  /// Batches an epoch.
  int64_t size() const;

  /// The number of the epoch that begin() starts next, from 0.
  int64_t epoch() const { return epoch_; }
  void set_epoch(int64_t epoch);
  uint64_t seed() const;
  const Dataset& dataset() const;

 private:
  std::shared_ptr<const Settings> settings_;
  int64_t epoch_ = 0;
};

}  // namespace aorta::data
