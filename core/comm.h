#pragma once

#include <aorta/core/tensor.h>

#include <memory>

// Collectives: what the ranks of a group (processes, or threads of one) do together. This is the
// interface; engines derive from Communicator.

namespace aorta {

/// What ranks do together.
enum class Collective : uint8_t { all_reduce, broadcast, all_gather, reduce_scatter, barrier };
/// "all_reduce".
std::string to_string(Collective collective);

/// How the ranks' tensors become one, element by element. `mean` is the sum over the number of
/// ranks, for floating dtypes; of bool, `sum` and `max` are "or" and `min` is "and".
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
  Shape shape;  // of what this rank gives, of a broadcast what it receives
  int64_t bytes = 0;
  std::string path;        // the module that was running
  int64_t entered_ns = 0;  // nanoseconds_now()
  int64_t left_ns = 0;     // 0: not yet

  /// "all_reduce 3 of f32 [4,3], sum": what must be equal in all ranks.
  std::string call() const;
};
/// call(), the bytes, the module, and how long it took or takes.
std::string to_string(const CollectiveRecord& record);

/// How a group behaves.
struct CommOptions {
  double timeout = 10;  // seconds to wait for the other ranks; 0: for ever
  int records = 64;     // collectives that are remembered
};

/// One rank's end of a group. All ranks make the same calls in the same order, on tensors of the
/// same shape and dtype; before anything is computed they compare what they are about to do, and
/// where it differs each throws one line that names a rank and the difference:
///
///     all_reduce: ranks must make the same call, got rank 0: all_reduce 3 of f32 [4,3], sum; rank
///     1: all_reduce 3 of f32 [4,2], sum
///
/// A rank that doesn't come within the timeout is named by the others (RankError). Tensors of every
/// dtype, layout and device that the engine knows. One thread at a time calls an end.
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
  /// Replaces every rank's `tensor` by that of `root`.
  void broadcast(const Tensor& tensor, int root = 0);
  /// The ranks' tensors (N, *), of one shape, after one another: (size() * N, *); of tensors
  /// without dimensions (size()).
  Tensor all_gather(const Tensor& tensor);
  /// This rank's part of the reduction of the ranks' tensors (size() * N, *): (N, *).
  Tensor reduce_scatter(const Tensor& tensor, ReduceOp op = ReduceOp::sum);
  /// Returns when all ranks have called it.
  void barrier();

  /// Ends the group, for a rank that can't go on: who waits for it now or later throws `reason`
  /// instead. Any thread may call it; the first reason stays.
  virtual void abort(const std::string& reason) = 0;
  /// Why the group has ended, as far as this rank has heard; empty while it is whole.
  virtual std::string failure() = 0;
  /// This rank's end of another group of the same ranks, whose calls stand in an order of their
  /// own; all ranks call it together.
  virtual std::unique_ptr<Communicator> duplicate() = 0;
  /// The last collectives of this rank, the oldest first. Any thread may call it.
  std::vector<CollectiveRecord> records() const;

 protected:
  Communicator(int rank, int size, const CommOptions& options);
  const CommOptions& options() const { return options_; }

  /// All ranks' texts, by rank; the engine's own small all-gather, which holds the timeout. Throws
  /// RankError.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  // What engines compute, on contiguous tensors, once the ranks agree. A tensor may be empty.
  virtual void do_all_reduce(const Tensor& tensor, ReduceOp op) = 0;
  virtual void do_broadcast(const Tensor& tensor, int root) = 0;
  virtual void do_all_gather(const Tensor& output, const Tensor& input) = 0;
  virtual void do_reduce_scatter(const Tensor& output, const Tensor& input, ReduceOp op) = 0;
  // What the rank has begun, before the others are asked, and that it is done.
  virtual void entered(const CollectiveRecord&) {}
  virtual void left(const CollectiveRecord&) {}

 private:
  class Entry;
  void agree(const CollectiveRecord& record);

  struct Records;

  const int rank_, size_;
  CommOptions options_;
  const std::unique_ptr<Records> records_;
};

/// The group of what this thread computes: that of the replicas of a DataParallel, or of the
/// processes. Null outside; layers that compute over all ranks (SyncBatchNorm) ask for it.
Communicator* current_communicator();
/// While it lives, `communicator` is this thread's.
class CommunicatorScope {
 public:
  explicit CommunicatorScope(Communicator* communicator);
  ~CommunicatorScope();
  CommunicatorScope(const CommunicatorScope&) = delete;
  CommunicatorScope& operator=(const CommunicatorScope&) = delete;

 private:
  Communicator* outer_;
};

}  // namespace aorta
