#pragma once

#include <aorta/core/io/state.h>
#include <aorta/core/process/zygote.h>
#include <aorta/data/batch.h>
#include <aorta/data/dataset.h>
#include <aorta/data/sample_error.h>
#include <aorta/data/sampler.h>
#include <aorta/data/stall_account.h>

#include <functional>
#include <iterator>

namespace aorta::data {

/// Makes a batch of samples; runs in the thread that iterates.
using Collate = std::function<Batch(std::span<const Sample> samples)>;
/// As many workers as there is CPU time for beside the program: the CPUs (within the quota) less
/// one, at least 1.
inline constexpr int kAutoWorkers = -1;

/// PyTorch's batch_size = None.
inline constexpr int64_t kUnbatched = -1;

/// PyTorch's names, meanings and defaults.
struct DataLoaderOptions {
  /// Samples a batch; kUnbatched gives samples by themselves, their tensors without that dimension.
  int64_t batch_size = 1;
  /// A new random order each epoch; else the order of the dataset.
  bool shuffle = false;
  /// The order, instead of `shuffle`.
  std::shared_ptr<const Sampler> sampler = nullptr;
  /// The batches, instead of batch_size, shuffle, sampler and drop_last.
  std::shared_ptr<const BatchSampler> batch_sampler = nullptr;
  /// Processes that read samples; 0: the thread that iterates does. Batches are the same bits for
  /// any number.
  int num_workers = 0;
  Collate collate = nullptr;
  /// Batches lie in page-locked memory, from which a GPU copies faster and on the side. Where they
  /// can't, as without a GPU, a line on stderr says so.
  bool pin_memory = false;
  /// Leaves out the last batch of an epoch when it is smaller than the others (of an iterable
  /// dataset: each worker's last).
  bool drop_last = false;
  /// Seconds to wait for a batch of the workers before a TimeoutError; 0: for ever.
  double timeout = 0;
  /// Batches that are read ahead, a worker; 2 when left out.
  std::optional<int> prefetch_factor = {};
  /// Samples that a worker reads at once, each in a thread of its own: for storage that answers
  /// late. The dataset's read() must then be safe to call from several threads.
  int reads_in_flight = 1;
  /// Keeps the workers from one epoch to the next.
  bool persistent_workers = false;
  /// Runs in each worker before it reads.
  WorkerInit worker_init = nullptr;
  /// What orders and samples' random numbers are a function of, with the epoch. When left out it is
  /// drawn from `generator`, and that is the default one when left out: so manual_seed() makes a
  /// program repeatable.
  std::optional<uint64_t> seed = {};
  Generator* generator = nullptr;
  /// Batches are given on this device: copied, and `batch_transform`ed, while the program works on
  /// the batch before.
  std::optional<Device> device = {};
  /// Done to each batch where it lies at last: conversion and normalisation, say.
  std::function<Batch(const Batch&)> batch_transform = nullptr;
  StartMethod start_method = StartMethod::automatic;
};

class Epoch;
struct LoaderSettings;

/// The batches of a dataset, an epoch each time that iteration begins.
///
///     data::DataLoader loader(dataset, {.batch_size = 64, .shuffle = true, .num_workers = 4});
///     for (const auto& batch : loader) step(batch["image"], batch["label"]);
///
/// The batches of epoch e are a function of the dataset, the options, the seed and e: the same bits
/// for any number of workers. Several iterations may run at once, each in its epoch. A batch that
/// is kept keeps its memory; the workers have room enough for the usual one or two.
class DataLoader {
 public:
  /// Waits for a batch when it is first looked at. An error of a sample is a SampleError; the
  /// iterator gives it again when asked again, and can be moved on to the next batch.
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    const Batch& operator*() const;
    const Batch* operator->() const { return &**this; }
    Iterator& operator++();
    void operator++(int) { ++*this; }
    /// Begins the copy of the next batch to the loader's device now, if it has been read, so that
    /// the program's work that is queued already comes first. Otherwise that happens when this
    /// batch is first looked at, and a program that waits for its device in each step has it idle
    /// for as long. From the first call on the program alone says when.
    void prefetch();
    /// Asks whether the epoch has ended; for an iterable dataset this waits for the batch, too.
    bool operator==(std::default_sentinel_t) const;

   private:
    friend class DataLoader;
    explicit Iterator(std::shared_ptr<Epoch> epoch) : epoch_(std::move(epoch)) {}
    std::shared_ptr<Epoch> epoch_;
  };

  /// Throws `data_loader: rule, got values` for options that contradict each other.
  explicit DataLoader(std::shared_ptr<const Dataset> dataset,
                      const DataLoaderOptions& options = {});
  /// Sampler options don't go with an iterable dataset. With workers the batches are of one
  /// worker's stream each, in turn.
  explicit DataLoader(std::shared_ptr<const IterableDataset> dataset,
                      const DataLoaderOptions& options = {});

  template <std::derived_from<Source> D>
  explicit DataLoader(const D&, const DataLoaderOptions& = {}) {
    static_assert(sizeof(D) == 0, "a loader shares its dataset: data::make_dataset<D>(...)");
  }

  /// Starts the next epoch.
  Iterator begin();
  std::default_sentinel_t end() const { return {}; }
  /// Batches an epoch; throws for an iterable dataset without a size.
  int64_t size() const;

  /// The number of the epoch that begin() starts next, from 0.
  int64_t epoch() const { return epoch_; }
  void set_epoch(int64_t epoch);
  uint64_t seed() const;
  /// What is read from; throws for an iterable dataset.
  const Dataset& dataset() const;

  /// Where the time of the latest epoch went, up to now.
  StallAccount stall_account() const;

  /// Where the loader stands: seed, epoch, and how many batches of it have been given. A loader of
  /// the same dataset and options that restores it goes on with the next batch, with any number of
  /// workers, and every batch has the same bits. (An iterable dataset is read up to there again, by
  /// as many workers.) After set_epoch() it stands before that epoch. restore() throws for a state
  /// of another batch size or another size of the dataset.
  State state() const;
  void restore(const State& state);

 private:
  std::shared_ptr<LoaderSettings> settings_;
  int64_t epoch_ = 0;
  int64_t skip_ = 0;    // batches that begin() leaves out
  bool moved_ = false;  // by set_epoch(), out of the latest epoch
  std::shared_ptr<Epoch> latest_;
};

}  // namespace aorta::data
