#pragma once

#include <aorta/core/comm.h>

#include <functional>
#include <string>
#include <vector>

namespace aorta {

/// What one process sends to another outside of collectives: bytes, and contiguous tensors in host
/// memory.
struct Letter {
  std::string bytes;
  std::vector<Tensor> tensors = {};
};

/// What a mailbox calls, on one thread of its own.
struct MailboxHandlers {
  /// A letter has come; those of one rank come in the order in which they were sent.
  std::function<void(int from, Letter letter)> received;
  /// The group has ended, once; nothing is received any more.
  std::function<void(const RankError& error)> ended;
};

/// Letters between the processes of a group, beside its collectives.
class Mailbox {
 public:
  Mailbox() = default;
  /// What was sent has left, unless the group has ended. Nothing is received any more.
  virtual ~Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// To another rank than this one. Returns at once; the tensors are read until the letter has
  /// left. Any thread; throws a RankError where the group has ended.
  virtual void send(int to, Letter letter) = 0;
};

namespace distributed {

/// This process's letters to and from the others of the group of all; throws without a group. At
/// most one at a time.
std::unique_ptr<Mailbox> open_mailbox(const MailboxHandlers& handlers);

}  // namespace distributed
}  // namespace aorta
