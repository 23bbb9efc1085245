#pragma once

#include <aorta/data/sample_error.h>
#include <aorta/data/workers/worker.h>

#include <map>

namespace aorta::data {

/// A ring and which of its slots are in use: it lives as long as a batch that lies in it.
struct SlotBoard {
  enum class Use { free, open, draining, leased };

  SlotBoard(const Ring::Layout& layout, TensorSpecs specs, bool pinned);
  ~SlotBoard();
  SlotBoard(const SlotBoard&) = delete;
  SlotBoard& operator=(const SlotBoard&) = delete;

  Ring ring;
  std::vector<std::atomic<Use>> uses;
  bool pinned = false;  // page-locked
};

struct WorkerPoolOptions {
  double timeout = 0;  // seconds to wait for a batch; 0: no limit
  StartMethod start_method = StartMethod::automatic;
  bool pin_memory = false;
};

/// A loader's worker processes and the ring they fill. A worker that dies is started again and what
/// it had taken is read once more; a sample that ends two workers counts as failed. The stream of
/// an iterable goes on where its batches ended; a batch that ends two workers fails, and ends it.
class WorkerPool {
 public:
  WorkerPool(WorkerPlan plan, const WorkerPoolOptions& options);
  /// Ends the processes, within about a second.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  const WorkerPlan& plan() const { return plan_; }
  Ring& ring() { return board_->ring; }
  const std::shared_ptr<SlotBoard>& board() { return board_; }

  /// Begins a pass over the data: sees to it that there are workers.
  void start();
  /// Whether it can't go on.
  bool broken() const { return !broken_.empty(); }
  /// Ends the workers. The process that made the dataset stays where another one would be the same.
  void stop();

  /// Opens a batch for `worker` (-1: for all) and returns its sequence; 0 when no slot is free.
  uint64_t open(int64_t epoch, std::span<const int64_t> indices, int worker = -1);
  /// Waits until the batch is read and returns its slot, which is then leased: release() it, or let
  /// a storage do so. Throws TimeoutError, after which the batch can be waited for again, and when
  /// workers can't be kept alive.
  int wait(uint64_t sequence);
  /// Handles what has happened, and waits for something when `wait` says so.
  void handle_events(bool wait);
  /// Waits for something, since `start`: throws TimeoutError as wait() does. For when no slot is
  /// free.
  void wait_for_events(double start);
  /// Whether wait() would return at once.
  bool is_ready(uint64_t sequence) { return is_complete(slots_.at(sequence)); }
  /// Drops all open batches.
  void drop_all();
  void release(int slot) { board_->uses[static_cast<size_t>(slot)] = SlotBoard::Use::free; }
  /// A storage on the whole ring that releases the slot when the last tensor in it is gone.
  Ref<Storage> lease(int slot);
  int leased() const;

  /// The first fault of a batch that was read; none when all of it is there.
  std::optional<SampleFault> fault(int slot);

 private:
  struct Worker {
    pid_t pid = 0;
    bool expected = false;  // told to start and not yet known to have ended
  };
  /// How far a worker's stream has come in this pass.
  struct Progress {
    int64_t calls = 0;
    bool over = false;
  };

  void start_nursery_process();
  void start_worker(int worker);
  /// How many owner words of a slot count: an iterable's batch is one unit, whatever it holds.
  int64_t units(int slot);
  bool is_complete(int slot);
  /// Notes how far the stream has come that a complete batch is of.
  void note_progress(int slot);
  /// Tells the next process of a worker where the stream stood.
  void hand_over_stream(int worker);
  void collect_drained();
  void handle(const Channel::Message& message);
  void handle_worker_end(int worker, pid_t pid, int status);
  void handle_nursery_end(const std::string& how);
  std::string how_nursery_ended();
  /// Which samples a worker reads: "sample 3 (a.avi), sample 5 (b.avi)"; empty for none.
  std::string reads_of(int worker);
  /// Gives back what a worker had taken. A sample that has ended it is `guilty` of that.
  void take_back(int worker, pid_t pid, const std::string& how, bool guilty);
  void wait_for_end(pid_t pid);
  void end_nursery(int limit_ms);
  [[noreturn]] void fail_on_timeout(double seconds);
  [[noreturn]] void break_down(const std::string& why);

  WorkerPlan plan_;
  WorkerPoolOptions options_;
  std::shared_ptr<SlotBoard> board_;
  Descriptor wake_loader_, program_;
  StartedProcess nursery_;
  std::vector<Worker> workers_;
  std::vector<Progress> progress_;  // of an iterable's workers
  bool running_ = false;
  std::string broken_;  // why it can't go on
  int64_t pass_ = 0;
  uint64_t sequence_ = 0;
  std::map<uint64_t, int> slots_;                               // of the open batches
  std::map<std::pair<uint64_t, int64_t>, SampleFault> deaths_;  // first and last of a sample
  int restarts_ = 0;                                            // since a batch was read
  int64_t out_of_memory_kills_ = 0;
};

}  // namespace aorta::data
