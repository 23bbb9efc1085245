#pragma once

#include <aorta/core/comm.h>
#include <aorta/mpi/link.h>

namespace aorta::mpi {

/// Collectives by messages between all pairs of ranks. A reduction goes in two steps, piece by
/// piece: each rank receives the share of the elements that is its own, reduces it in the order of
/// ranks (core/ops/rank_reduction.h), and sends it to all: 2 (N - 1) / N of the bytes each way, as
/// a ring has, and the same bits on each. Tensors of devices go by way of the CPU, but for those
/// that NCCL takes.
class MpiCommunicator final : public Communicator {
 public:
  /// The group of all processes.
  MpiCommunicator(Link& link, const CommOptions& options);

 private:
  /// A group within all processes.
  struct Group {
    std::vector<int> members;  // places among all processes, by rank
    int rank = 0;
    std::string name;
    int tag = 0;
  };
  MpiCommunicator(Link& link, const CommOptions& options, Group group);

  std::unique_ptr<Communicator> do_duplicate() override;
  std::unique_ptr<Communicator> do_split(int64_t color) override;
  std::vector<std::string> exchange(const std::string& mine) override;
  void announce(const std::string& op, const std::string& mine) override;
  void settle() override;
  void do_all_reduce(std::span<const Tensor> tensors, ReduceOp op) override;
  void do_broadcast(const Tensor& tensor, int root) override;
  void do_all_gather(const Tensor& output, const Tensor& input) override;
  void do_reduce_scatter(const Tensor& output, const Tensor& input, ReduceOp op) override;
  void entered(const CollectiveRecord& record) override;
  void left(const CollectiveRecord& record) override;

  Group next_group(const char* op) const;
  std::unique_ptr<Communicator> made(Group group);
  /// The one way out: the messages' peers are ranks of this group.
  void send(Transfer transfer, const std::string& what);
  std::vector<std::string> exchange(const std::string& mine, const std::string& what);
  void run(Transfer transfer);
  void check_whole() const;
  void compare(const std::string& op, const std::vector<std::string>& texts);
  /// All ranks' texts of one exchange, as far as they have come.
  struct Texts;
  void begin_row(Texts& texts, std::vector<Message>& sends, std::vector<Message>& receives) const;
  void read_row(Texts& texts) const;
  void exchange_rows(Texts& texts, const std::string& what);
  /// Whose the elements of flat tensors are, one after another: `step` each, in the order of ranks,
  /// the last fewer.
  struct Shares {
    int64_t count, step;
  };
  struct Range {
    int64_t start, length;
  };
  /// A part of each rank's share: from `at` on, at most `most`.
  struct Piece {
    Shares shares;
    int64_t at, most;
    Range of(int rank) const;
  };
  /// Writes such a piece of this rank's share, reduced over the ranks, into the place of that share
  /// in `outputs`.
  void reduce_piece(std::span<const Tensor> flats, const Piece& piece, ReduceOp op,
                    std::span<const Tensor> outputs);
  /// Sends it to all, and receives theirs.
  void share_piece(std::span<const Tensor> flats, const Piece& piece);
  void all_reduce_small(const Tensor& flat, ReduceOp op);

  Link& link_;
  const Group group_;
  int groups_ = 0;              // that were made of this one
  std::string what_;            // the collective that runs
  std::string op_, announced_;  // what the next messages are to tell
  bool disagreed_ = false;      // messages may be under way that nobody expects
};

}  // namespace aorta::mpi
