#pragma once

#include <aorta/core/process/mailbox.h>
#include <aorta/mpi/link.h>

#include <condition_variable>
#include <deque>
#include <thread>

namespace aorta::mpi {

/// A letter is a message with its bytes and what its tensors look like, and the tensors' elements
/// follow under a tag of their own. A thread asks for what has come, the more seldom the longer
/// nothing has, and never holds Link's turn while it waits.
class MpiMailbox final : public Mailbox {
 public:
  MpiMailbox(Link& link, const MailboxHandlers& handlers);
  ~MpiMailbox() override;

  void send(int to, Letter letter) override;

 private:
  struct Sending {
    std::string head;
    std::vector<Tensor> tensors;
    std::vector<MPI_Request> open;
  };
  struct Arriving {
    std::string head;
    Letter letter;
    std::vector<MPI_Request> open;
    bool has_head = false;
  };

  void work();
  bool look_for_letters();
  bool advance(int from, Arriving& letter);
  bool advance_arrivals(std::vector<std::pair<int, Letter>>& whole);
  bool advance_sends();
  bool is_done(std::vector<MPI_Request>& open);
  void leave_to_mpi();

  Link& link_;
  const MailboxHandlers handlers_;
  std::mutex mutex_;  // of the next two
  std::condition_variable changed_;
  bool stops_ = false, has_sent_ = false;
  std::vector<std::unique_ptr<Sending>> sends_;              // Link's turn guards it
  std::vector<std::deque<std::unique_ptr<Arriving>>> come_;  // by rank; the thread's own
  std::thread thread_;
};

}  // namespace aorta::mpi
