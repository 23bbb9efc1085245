#pragma once

#include <aorta/core/tensor.h>

#include <functional>
#include <memory>
#include <span>

// Collectives: what the ranks of a group (processes, or threads of one) do together. This is the
// interface; engines derive from Communicator, those between devices from DeviceCollectives
// (core/device_collectives.h).

namespace aorta {

class DeviceCollectives;
class Profiler;
struct CollectiveCall;

/// What ranks do together.
enum class Collective : uint8_t { all_reduce, broadcast, all_gather, reduce_scatter, barrier };
/// "all_reduce".
std::string to_string(Collective collective);

/// How the ranks' tensors become one, element by element. `mean` is the sum over the number of
/// ranks, for floating and complex dtypes, which have no min and max; of bool, `sum` and `max` are
/// "or" and `min` is "and".
enum class ReduceOp : uint8_t { sum, mean, min, max };
/// "sum".
std::string to_string(ReduceOp op);

/// Another rank has failed, or hasn't come in time: the text names it. The group is of no use any
/// more, and every further call throws this again.
class RankError : public Error {
 public:
  /// `heard`: another process has found out, and says it.
  explicit RankError(const std::string& text, bool heard = false) : Error(text), heard_(heard) {}
  bool is_heard() const { return heard_; }

 private:
  bool heard_;
};

/// One collective of one rank, as its communicator remembers it.
struct CollectiveRecord {
  int64_t number = 0;  // counts the rank's collectives, from 0
  Collective collective = Collective::barrier;
  ReduceOp op = ReduceOp::sum;  // of those that reduce
  int root = 0;                 // of a broadcast
  DType dtype = DType::f32;
  Shape shape;        // of what this rank gives, of a broadcast what it receives
  std::string parts;  // of several tensors: " in 2 tensors (9a3f01c25b7d4e60)", how they lie
  int64_t bytes = 0;
  std::string engine;      // of tensors on GPUs: "NCCL", or "the CPU" and why
  std::string path;        // the module that was running
  std::string subject;     // CollectiveSubject's
  int64_t entered_ns = 0;  // nanoseconds_now()
  int64_t left_ns = 0;     // 0: not yet

  /// "all_reduce 3 of f32 [4,3], sum": what must be equal in all ranks. Behind it, where there is
  /// one, the subject: "..., for part 2".
  std::string call() const;
};
/// call(), the bytes, the engine, the module, and how long it took or takes.
std::string to_string(const CollectiveRecord& record);

/// How a group behaves.
struct CommOptions {
  double timeout = 10;         // seconds to wait for the other ranks, up to 1e9; 0: for ever
  double start_timeout = 120;  // seconds until all ranks have started; 0: for ever
  int records = 64;            // collectives that are remembered
  bool by_device = true;       // tensors on GPUs go from GPU to GPU, where NCCL can do that
};

/// How a group ends, for all of its ends in this process. Engines derive from it; any thread may
/// call it.
class GroupState {
 public:
  GroupState() = default;
  virtual ~GroupState() = default;
  GroupState(const GroupState&) = delete;
  GroupState& operator=(const GroupState&) = delete;

  /// See Communicator.
  virtual void abort(const std::string& reason) = 0;
  virtual std::string failure() = 0;
  /// Throws the failure, where there is one, as a RankError.
  virtual void check_whole() = 0;
};

/// One rank's end of a group. All ranks make the same calls in the same order, on tensors of the
/// same shape and dtype; they compare what they are about to do before any of it counts, and where
/// it differs each throws one line that names a rank and the difference (a tensor to be broadcast
/// then holds anything):
///
///     all_reduce: ranks must make the same call, got rank 0: all_reduce 3 of f32 [4,3], sum; rank
///     1: all_reduce 3 of f32 [4,2], sum
///
/// A rank that doesn't come within the timeout is named by the others (RankError). Tensors of every
/// dtype, layout and device that the engine knows. One thread at a time calls an end.
///
/// Where every rank's tensor lies on a GPU of its own and has NCCL (backends::nccl), the tensors go
/// by it from GPU to GPU, and a call returns when its work is queued on the current stream; else
/// they go the engine's way. The records say which, and why.
class Communicator {
 public:
  virtual ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  /// From 0 to size() - 1.
  int rank() const { return rank_; }
  int size() const { return size_; }
  double timeout() const { return options_.timeout; }
  /// For the calls from now on; all ranks set the same.
  void set_timeout(double seconds);

  /// Replaces every rank's `tensor` by their reduction, the same bits on each.
  void all_reduce(const Tensor& tensor, ReduceOp op = ReduceOp::sum);
  /// all_reduce of each of `tensors`, of one dtype and device and without memory in common, in one
  /// call. They lie alike on all ranks: those without gaps are sent from where they are, in the
  /// order of their memory.
  void all_reduce_coalesced(const List<Tensor>& tensors, ReduceOp op = ReduceOp::sum);
  /// Replaces every rank's `tensor` by that of `root`.
  void broadcast(const Tensor& tensor, int root = 0);
  /// The ranks' tensors (N, *), of one shape, after one another: (size() * N, *); of tensors
  /// without dimensions (size()).
  Tensor all_gather(const Tensor& tensor);
  /// This rank's part of the reduction of the ranks' tensors (size() * N, *): (N, *).
  Tensor reduce_scatter(const Tensor& tensor, ReduceOp op = ReduceOp::sum);
  /// Returns when all ranks have called it, which may be apart for longer than the timeout: for
  /// `patience` seconds, up to 1e9, where that is more. One that is stopped, and that the engine
  /// can see, is waited for no longer than in any call.
  void barrier(double patience = 0);

  /// Ends the group, for a rank that can't go on, and the duplicates that end with it: who waits
  /// for them now or later throws `reason` instead. Any thread may call it; the first reason stays.
  void abort(const Text& reason);
  /// Why the group has ended, as far as this rank has heard; empty while it is whole.
  std::string failure() { return state_->failure(); }
  /// This rank's end of another group of the same ranks, whose calls stand in an order of their
  /// own; all ranks call it together. It shares the way between the GPUs. One that `ends_with_it`
  /// is a part of what this group does.
  std::unique_ptr<Communicator> duplicate(bool ends_with_it = false);
  /// This rank's end of the group of those that give the same `color`, in the order of their ranks;
  /// all ranks call it together. Who ends this one by abort() ends it, and its tensors have a way
  /// of their own between the GPUs.
  std::unique_ptr<Communicator> split(int64_t color);
  /// What lives as long as this end, for who computes by it (nn::CollectiveThread).
  std::shared_ptr<void>& companion() { return companion_; }
  /// The last collectives of this rank, the oldest first. Any thread may call it.
  std::vector<CollectiveRecord> records() const;

 protected:
  Communicator(int rank, int size, const CommOptions& options, std::shared_ptr<GroupState> state);
  const CommOptions& options() const { return options_; }
  /// How long a rank that works is waited for now: the timeout, or more; 0: for ever.
  double patience() const;

  /// All ranks' texts, by rank; the engine's own small all-gather, which holds the timeout. Throws
  /// RankError.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  /// Throws where the ranks' texts, by rank, differ in their first lines: what they are about to
  /// do.
  void check_same_call(const std::string& op, const std::vector<std::string>& texts) const;
  /// Tells the others `mine`, and checks that they say the same of `op`: at once, or along with
  /// what the computation that follows sends, and then before it uses what has come.
  virtual void announce(const std::string& op, const std::string& mine) {
    check_same_call(op, exchange(mine));
  }
  /// The computation is done: what was announced has been checked, or is now.
  virtual void settle() {}
  /// Asks the others first, as all calls do, by a text that says that it is a duplicate.
  virtual std::unique_ptr<Communicator> do_duplicate() = 0;
  /// Tells the others the color, a line behind what says that the group is split.
  virtual std::unique_ptr<Communicator> do_split(int64_t color) = 0;
  /// The ranks whose texts have the same second line as this one's, and the place of this one's
  /// among them.
  struct Members {
    std::vector<int> ranks;
    int place = 0;
  };
  Members members_of(const std::vector<std::string>& texts) const;
  // What engines compute, on contiguous tensors, once the ranks agree. A tensor may be empty.
  virtual void do_all_reduce(std::span<const Tensor> tensors, ReduceOp op) = 0;
  virtual void do_broadcast(const Tensor& tensor, int root) = 0;
  virtual void do_all_gather(const Tensor& output, const Tensor& input) = 0;
  virtual void do_reduce_scatter(const Tensor& output, const Tensor& input, ReduceOp op) = 0;
  // What the rank has begun, before the others are asked, and that it is done.
  virtual void entered(const CollectiveRecord&) {}
  virtual void left(const CollectiveRecord&) {}

 private:
  class Entry;
  class Turn;
  struct Records;
  struct Devices;
  struct Duplicates;
  // Where a rank's tensor lies, as it tells the others.
  std::string place_of(const Tensor& tensor) const;
  std::vector<std::string> agree(const CollectiveRecord& record, const Tensor& tensor);
  void reduce_all(Entry& entry, std::span<const Tensor> tensors, std::span<const Tensor> wholes);
  using Run = std::function<void(DeviceCollectives& engine, const CollectiveCall& call)>;
  bool run_by_device(Entry& entry, const std::vector<std::string>& places, Device device,
                     const Run& run);
  DeviceCollectives& engine_of(const std::vector<std::string>& places, const CollectiveCall& call,
                               Device device);

  const int rank_, size_;
  CommOptions options_;
  double patience_ = 0;  // what a call grants beyond the timeout
  const std::shared_ptr<GroupState> state_;
  const std::unique_ptr<Records> records_;
  std::shared_ptr<Devices> devices_;  // the duplicates' too
  const std::shared_ptr<Duplicates> duplicates_;
  std::shared_ptr<void> companion_;
};

/// While it lives, collectives of this thread are about `subject`, which ranks compare too: tensors
/// of one shape and dtype would be taken for each other.
class CollectiveSubject {
 public:
  [[nodiscard]] explicit CollectiveSubject(const std::string& subject);
  ~CollectiveSubject();
  CollectiveSubject(const CollectiveSubject&) = delete;
  CollectiveSubject& operator=(const CollectiveSubject&) = delete;

 private:
  const std::string* outer_;
  const std::string subject_;
};

/// What no computation hides of the collectives that a profiler has seen: the share of thread 0's
/// time, from its first range to the end of its last, that was in collectives or waited for those
/// of another thread ("all_reduce waits").
double collective_share(const Profiler& profiler);

/// The group of what this thread computes: that of the replicas of a DataParallel, or of the
/// processes. Null outside; layers that compute over all ranks (SyncBatchNorm) ask for it.
Communicator* current_communicator();
/// While it lives, `communicator` is this thread's.
class CommunicatorScope {
 public:
  [[nodiscard]] explicit CommunicatorScope(Communicator* communicator);
  ~CommunicatorScope();
  CommunicatorScope(const CommunicatorScope&) = delete;
  CommunicatorScope& operator=(const CommunicatorScope&) = delete;

 private:
  Communicator* outer_;
};

}  // namespace aorta
