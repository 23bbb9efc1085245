#pragma once

#include <aorta/core/process/rank_board.h>

#include <mpi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace aorta::mpi {

/// Bytes that go to a rank, or come from it.
struct Message {
  int peer;
  void* data;
  int64_t bytes;
};

/// Messages that go at once, and the tensors that they lie in. `is_data`: all ranks are known to be
/// there, and the time to wait for them begins anew with each piece that comes.
struct Transfer {
  std::vector<Message> sends = {}, receives = {};
  std::vector<Tensor> tensors = {};
  bool is_data = false;
  /// Texts that go along, and what is called when all have come: until then nothing is known of the
  /// others, and if it throws, nothing of what has come counts.
  std::vector<Message> text_sends = {}, text_receives = {};
  std::function<void()> agree = {};
};

/// What this process knows of the others, and the one place that calls MPI: one thread at a time,
/// never a call that waits, so that every wait has an end.
class Link {
 public:
  /// The tag of messages that say why a group has ended, the largest one that every MPI has, and
  /// those of letters (MpiMailbox).
  static constexpr int kReasonTag = 32767, kLetterTag = 32766, kTensorTag = 32765;

  /// Seconds to wait for a rank that works, and for one of this machine that is stopped; 0: for
  /// ever.
  struct Limits {
    double working = 0, stopped = 0;
  };

  /// Comes behind MPI_Init_thread; all ranks make theirs together.
  explicit Link(int records);

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// This process's place among those of its machine; how many of these may run on just its CPUs.
  int local_rank() const { return local_rank_; }
  int ranks_on_these_cpus() const { return ranks_on_these_cpus_; }
  /// The largest tag that messages may have with this MPI.
  int largest_tag() const { return largest_tag_; }
  RankBoard& board() { return *peers_[static_cast<size_t>(rank_)].board; }

  /// Sends and receives all, of messages with `tag` between two ranks in the order of the calls, of
  /// texts with `tag` + 1.
  /// Throws a RankError that begins with `what`, and ends the group, when a rank has failed, or
  /// hasn't come when the time is over.
  void run(Transfer transfer, int tag, Limits limits, const std::string& what);

  /// Ends the group: the others throw `reason`. The first reason stays.
  void end(const std::string& reason);
  /// Why the group has ended; looks whether others say so.
  std::string failure();
  /// Throws it.
  void check_whole();
  /// The right to call MPI, for who sends and receives outside of run(). Such calls don't wait.
  [[nodiscard]] std::unique_lock<std::mutex> turn() { return std::unique_lock(calls_); }
  /// Ends the group and throws where a call of MPI has failed.
  void check_call(int code, const char* call);

  /// At the end of the program: returns when all ranks have come to it, or false when one has
  /// failed. Ranks may work on for as long as they like; throws a RankError, and ends the group,
  /// when one of this machine is stopped for `timeout` seconds (0: never).
  bool meet_at_the_end(double timeout);
  /// Calls MPI no more than it must, behind an error, so that what others send has left.
  void flush();
  /// Whether the group has ended because of another rank: one that has said why, or is gone.
  bool is_anothers_failure() const { return failed_ && (heard_ || found_gone_); }
  /// Writes the records of all ranks of this machine, or where another rank has found out what
  /// happened, this rank's, unless that has.
  void write_collectives(const std::string& folder);

 private:
  struct Peer {
    std::string host;
    int64_t pid = 0;
    std::string cpus;
    std::unique_ptr<RankBoard> board;  // of those of this machine
    Descriptor pidfd;
  };
  class Requests;
  class StoppedRanks;

  void find_peers(int records);
  std::string name_of(int rank) const;
  std::string what_it_does(int rank) const;
  int64_t nanoseconds_of(double timeout) const;
  void look_for_failures();
  void hear_messages();
  void look_at_boards();
  void tell(const std::string& reason);
  [[noreturn]] void fail_late(const std::vector<int>& missing, double timeout,
                              const std::string& what);
  void set_failure(const std::string& reason, bool heard);

  int rank_ = 0, size_ = 1, local_rank_ = 0, ranks_on_these_cpus_ = 1;
  int largest_tag_ = 0;
  std::vector<Peer> peers_;
  std::mutex calls_;  // of those into MPI
  std::mutex mutex_;  // of what follows
  std::atomic<bool> failed_ = false;
  std::string reason_;
  bool heard_ = false, found_gone_ = false;
  std::atomic<int64_t> next_look_ = 0;  // nanoseconds_now()
  int64_t first_dead_ns_ = 0;           // since when a rank of this machine is known to be gone
};

}  // namespace aorta::mpi
