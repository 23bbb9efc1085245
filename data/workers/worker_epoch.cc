#include <aorta/core/clock.h>
#include <aorta/data/epoch.h>
#include <aorta/data/sample_random.h>

#include <algorithm>
#include <deque>

namespace aorta::data {
namespace {

// Batches that the program may keep before they are copied out of the ring: one that it works on
// and one that is on its way to a device.
constexpr int kLeased = 2;

std::unique_ptr<WorkerPool> make_pool(const LoaderSettings& settings, int64_t capacity) {
  const DataLoaderOptions& options = settings.options;
  WorkerPlan plan;
  plan.source = settings.source;
  plan.specs = settings.specs;
  plan.workers = options.num_workers;
  plan.seed = settings.seed;
  plan.init = options.worker_init;
  const bool iterable = settings.iterable != nullptr;
  plan.layout = {options.prefetch_factor.value_or(2) * plan.workers + kLeased,
                 plan.workers * (iterable ? 1 : options.reads_in_flight), capacity, iterable};
  return std::make_unique<WorkerPool>(
      std::move(plan),
      WorkerPoolOptions{options.timeout, options.start_method, settings.pins_ring()});
}

// Holds the loader's workers for as long as it reads.
class WorkerEpoch : public Epoch {
 public:
  ~WorkerEpoch() override { finish(); }
  void close() override {
    Epoch::close();
    finish();
  }
  WorkerEpoch(const WorkerEpoch&) = delete;
  WorkerEpoch& operator=(const WorkerEpoch&) = delete;

 protected:
  WorkerEpoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch, int64_t capacity)
      : Epoch(std::move(settings), epoch) {
    auto& idle = this->settings().idle;
    if (idle && idle->plan().layout.capacity >= capacity) pool_ = std::move(idle);
    idle = nullptr;
    if (!pool_) pool_ = make_pool(this->settings(), capacity);
    for (int i = 0; i < readers(); ++i) before_.push_back(times(i));
    pool_->start();
  }

  // Opens the next batches where there is room for them.
  virtual void fill() = 0;

  bool has_room() const {
    const DataLoaderOptions& options = settings().options;
    return sequences_.size() <
           static_cast<size_t>(options.num_workers * options.prefetch_factor.value_or(2));
  }
  bool open(std::span<const int64_t> indices, int worker = -1) {
    const uint64_t sequence = pool_->open(epoch(), indices, worker);
    if (sequence != 0) sequences_.push_back(sequence);
    return sequence != 0;
  }

  // The slot of the next batch, leased; -1 when there is none.
  int take() {
    fill();
    for (const double start = seconds_now(); sequences_.empty() && !at_end(); fill())
      pool_->wait_for_events(start);  // every slot is busy with what an earlier epoch had begun
    if (sequences_.empty()) return -1;
    const int slot = pool_->wait(sequences_.front());
    sequences_.pop_front();
    return slot;
  }
  virtual bool at_end() const = 0;

  bool ready() override {
    if (sequences_.empty()) return false;
    pool_->handle_events(false);
    return pool_->is_ready(sequences_.front());
  }

  // The batch in a leased slot. Throws what a sample's reader threw.
  Batch assemble(int slot) {
    Ring& ring = pool_->ring();
    if (auto fault = pool_->fault(slot)) {
      pool_->release(slot);
      fill();
      throw SampleError(std::move(*fault));
    }
    const int64_t count = ring.slot(slot).count;
    const Ref<Storage> storage = pool_->lease(slot);
    const bool crowded = pool_->leased() > kLeased;
    Batch batch;
    const auto shapes = ring.common_shapes(slot, count);
    if (shapes && !settings().options.collate) {
      batch = batch_in_place(ring.places(storage, slot, -1, count), *shapes);
    } else {
      std::vector<Sample> samples;
      for (int64_t i = 0; i < count; ++i) {
        // A collate may keep its samples, too.
        std::vector<Tensor> places = ring.places(storage, slot, i);
        if (crowded)
          for (Tensor& place : places) place = copied(place);
        samples.emplace_back(settings().specs, std::move(places));
        ring.get_shapes(slot, i, samples.back());
      }
      batch = collate(samples);
    }
    // The program keeps its batches: the ring can't. Nor does it know of copies to a GPU that the
    // program has queued, as page-locked memory of its own does when it is let go of.
    if (crowded || (settings().pinned && !settings().pins_ring())) {
      NamedTensors copies;
      for (const auto& [name, tensor] : batch.tensors())
        copies.emplace_back(name,
                            tensor.storage().get() == storage.get() ? copied(tensor) : tensor);
      batch = Batch(std::move(copies));
    }
    return batch;
  }

  Tensor copied(const Tensor& tensor) const {
    const Tensor copy = settings().empty(tensor.shape(), tensor.dtype());
    copy.copy_(tensor);
    return copy;
  }

  // The epoch is over: the workers are, too, or wait for the next one.
  void finish() {
    if (!pool_) return;
    if (after_.empty())
      for (int i = 0; i < readers(); ++i) after_.push_back(times(i));
    sequences_.clear();
    if (pool_->broken()) return pool_.reset();
    if (settings().options.persistent_workers)
      pool_->drop_all();
    else
      pool_->stop();
    settings().idle = std::move(pool_);
  }

  void add_reading(StallAccount& account) const override {
    double busy = 0;
    for (int i = 0; i < readers(); ++i) {
      const auto n = static_cast<size_t>(i);
      const Times now = after_.empty() ? times(i) : after_[n];
      const auto spent = [&](int stage) {
        return 1e-9 * static_cast<double>(now.stages[stage] - before_[n].stages[stage]);
      };
      account.open += spent(0);
      account.read += spent(1);
      account.decode += spent(2);
      account.transform += spent(3);
      busy += 1e-9 * static_cast<double>(now.busy - before_[n].busy);
    }
    account.other =
        std::max(0., busy - account.open - account.read - account.decode - account.transform);
  }

  WorkerPool& pool() { return *pool_; }
  std::deque<uint64_t>& sequences() { return sequences_; }

 private:
  struct Times {
    int64_t stages[kStages];
    int64_t busy;
  };
  Times times(int reader) const {
    Ring::Reader& state = pool_->ring().reader(reader);
    Times times{};
    for (int i = 0; i < kStages; ++i) times.stages[i] = state.stages[i];
    times.busy = state.busy;
    return times;
  }
  int readers() const {
    return static_cast<int>(pool_ ? pool_->plan().layout.readers : before_.size());
  }

  std::shared_ptr<WorkerPool> pool_;
  std::deque<uint64_t> sequences_;  // open, in order
  std::vector<Times> before_, after_;
};

class WorkerMapEpoch final : public WorkerEpoch {
 public:
  using Batches = std::vector<std::vector<int64_t>>;

  WorkerMapEpoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch, int64_t skip,
                 Batches batches, int64_t capacity)
      : WorkerEpoch(std::move(settings), epoch, capacity),
        batches_(std::move(batches)),
        next_(static_cast<size_t>(skip)) {
    fill();
  }

 protected:
  std::optional<Batch> load() override {
    const int slot = take();
    if (slot < 0) return {};
    Batch batch = assemble(slot);
    fill();
    if (at_end() && sequences().empty()) finish();
    return batch;
  }
  void skip_batch() override {
    const int slot = take();
    pool().fault(slot);
    pool().release(slot);
  }
  void fill() override {
    while (next_ < batches_.size() && has_room() && open(batches_[next_])) ++next_;
  }
  bool at_end() const override { return next_ == batches_.size(); }
  std::optional<int64_t> count() const override { return static_cast<int64_t>(batches_.size()); }

 private:
  Batches batches_;
  size_t next_;
};

class WorkerStreamEpoch final : public WorkerEpoch {
 public:
  WorkerStreamEpoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch)
      : WorkerEpoch(settings, epoch, settings->options.batch_size),
        positions_(static_cast<size_t>(this->settings().options.batch_size)),
        active_(static_cast<size_t>(this->settings().options.num_workers), true) {
    fill();
  }

 protected:
  std::optional<Batch> load() override {
    const int slot = take_batch();
    if (slot >= 0) return assemble(slot);
    finish();
    return {};
  }
  void skip_batch() override {
    const int slot = take_batch();
    if (slot < 0) return;
    pool().fault(slot);
    pool().release(slot);
  }
  void fill() override {
    while (!at_end() && has_room()) {
      while (!active_[turn_ % active_.size()]) ++turn_;
      if (!open(positions_, static_cast<int>(turn_ % active_.size()))) return;
      ++turn_;
    }
  }
  bool at_end() const override {
    return std::none_of(active_.begin(), active_.end(), [](bool active) { return active; });
  }
  std::optional<int64_t> count() const override { return {}; }

 private:
  // The slot of the next one that has samples or has failed; -1 at the end.
  int take_batch() {
    for (;;) {
      const int slot = take();
      if (slot < 0) return slot;
      const Ring::Slot& state = pool().ring().slot(slot);
      if (state.ended) active_[static_cast<size_t>(state.worker)] = false;
      const bool failed = (pool().ring().owners(slot)[0] & 0xffff) == Ring::kFailed;
      const bool whole = state.count == static_cast<int64_t>(positions_.size());
      if (failed || whole || (state.count > 0 && !settings().options.drop_last)) return slot;
      pool().release(slot);
    }
  }

  std::vector<int64_t> positions_;
  std::vector<bool> active_;  // workers whose streams have more
  size_t turn_ = 0;
};

}  // namespace

std::shared_ptr<Epoch> start_worker_epoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch,
                                          int64_t skip) {
  if (settings->iterable) return std::make_shared<WorkerStreamEpoch>(settings, epoch);
  Generator random = order_generator(settings->seed, epoch);
  auto batches = settings->batch_sampler()->batches(epoch, random);
  int64_t capacity = 1;
  for (const auto& batch : batches) {
    check(!batch.empty(), "data_loader", "a batch must have samples", "none in batch ",
          &batch - batches.data());
    capacity = std::max(capacity, static_cast<int64_t>(batch.size()));
  }
  return std::make_shared<WorkerMapEpoch>(settings, epoch, skip, std::move(batches), capacity);
}

}  // namespace aorta::data
