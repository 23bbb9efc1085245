#pragma once

#include <aorta/data/loader.h>
#include <aorta/data/stager.h>
#include <aorta/data/workers/worker_pool.h>

#include <algorithm>
#include <exception>

namespace aorta::data {

/// What a loader was made with.
struct LoaderSettings {
  std::shared_ptr<const Source> source;
  const Dataset* dataset = nullptr;  // the source, if it is one
  const IterableDataset* iterable = nullptr;
  DataLoaderOptions options;
  TensorSpecs specs;
  uint64_t seed = 0;
  bool unbatched = false;            // a sample by itself; batch_size is 1 then
  bool pinned = false;               // pin_memory, and there is a GPU
  std::shared_ptr<WorkerPool> idle;  // of an epoch that is over

  std::shared_ptr<const BatchSampler> batch_sampler() const;
  /// Streams that an iterable dataset is read as: one a worker, or the program's own.
  int64_t streams() const { return std::max(1, options.num_workers); }
  /// Host memory for a batch, page-locked where it is wanted.
  Tensor empty(const Shape& shape, DType dtype) const;
};

/// One pass over the batches.
class Epoch {
 public:
  /// The pass number `epoch` of a loader without its first `skip` batches.
  static std::shared_ptr<Epoch> start(std::shared_ptr<LoaderSettings> settings, int64_t epoch,
                                      int64_t skip);
  virtual ~Epoch() = default;

  bool done();
  const Batch& batch();
  void advance();

  /// The iteration is given up: batches and workers are let go.
  virtual void close() {
    current_.reset();
    ahead_.reset();
  }

  int64_t epoch() const { return epoch_; }
  /// Whether the iteration has come to its end, as far as it was asked.
  bool ended() const { return ended_; }
  /// Batches that were looked at or skipped, those that the epoch began without included.
  int64_t given() const { return given_; }
  StallAccount account() const;

 protected:
  Epoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch);

  /// The next batch, on the host; none at the end. Throws for one that can't be had, and goes on
  /// with the one after it; a TimeoutError, and goes on with the same one.
  virtual std::optional<Batch> load() = 0;
  /// Whether load() wouldn't wait.
  virtual bool ready() { return false; }
  /// Skips the next batch, whether it can be had or not. Throws a TimeoutError alone.
  virtual void skip_batch() = 0;
  /// Batches of the whole epoch, where that is known.
  virtual std::optional<int64_t> count() const = 0;
  virtual void add_reading(StallAccount& account) const = 0;

  LoaderSettings& settings() const { return *settings_; }
  /// A batch of the samples that lie in `whole`, one tensor a spec, each with these shapes.
  Batch batch_in_place(const std::vector<Tensor>& whole, const std::vector<Shape>& shapes) const;
  Batch collate(std::span<const Sample> samples);

 private:
  struct Loaded {
    std::optional<Batch> batch;  // none: the end
    std::exception_ptr error;
    Stager::Ticket ticket;
  };
  Loaded load_and_stage();
  void look();
  void say_when_there_are_too_many();

  std::shared_ptr<LoaderSettings> settings_;
  int64_t epoch_;
  int64_t given_ = 0;
  bool ended_ = false;
  std::optional<Loaded> current_, ahead_;
  std::optional<Stager> stager_;
  StallAccount account_;
  double started_, left_ = 0;
  bool said_size_ = false;
};

/// With worker processes.
std::shared_ptr<Epoch> start_worker_epoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch,
                                          int64_t skip);

}  // namespace aorta::data
