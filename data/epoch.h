#pragma once

#include <aorta/data/loader_settings.h>
#include <aorta/data/stager.h>

#include <exception>

namespace aorta::data {

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
  void prefetch();

  /// The iteration is given up: batches and workers are let go.
  virtual void close() {
    current_.reset();
    ahead_.reset();
  }

  int64_t epoch() const { return epoch_; }
  /// Whether the iteration has come to its end, as far as it was asked.
  bool ended() const { return ended_; }
  /// Batches that the program got or passed, those that the epoch began without included. One that
  /// couldn't be read counts when it is passed.
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
  void stage_ahead();
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
  bool prefetches_ = false;  // the program says when
};

/// Read by the thread that iterates.
std::shared_ptr<Epoch> start_local_epoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch,
                                         int64_t skip);
/// With worker processes.
std::shared_ptr<Epoch> start_worker_epoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch,
                                          int64_t skip);

}  // namespace aorta::data
