#include <aorta/core/empty.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/rank_reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/nn/parallel/local_comm.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace aorta::nn {
namespace {

using Ends = std::vector<std::unique_ptr<Communicator>>;

// What a rank brings to a meeting.
struct Brought {
  std::string text = {};
  std::vector<Tensor> tensors = {};
  std::shared_ptr<Ends> ends = nullptr;  // of a new group
};

std::string number_text(int64_t number) {
  std::string text;
  aorta::detail::append(text, number);
  return text;
}

// Where the threads of a group meet: who comes last lets all go, each with what everybody brought.
class Meeting final : public GroupState {
 public:
  using All = std::shared_ptr<const std::vector<Brought>>;

  explicit Meeting(int size)
      : size_(static_cast<size_t>(size)), present_(size_), brought_(size_), ends_(size_) {}

  // `timeout`: seconds to wait for the others; 0: for ever.
  All meet(int rank, double timeout, Brought mine) {
    std::unique_lock lock(mutex_);
    throw_failure();
    present_[static_cast<size_t>(rank)] = true;
    brought_[static_cast<size_t>(rank)] = std::move(mine);
    const int64_t round = round_;
    if (++arrived_ == size_) {
      all_ = std::make_shared<const std::vector<Brought>>(std::move(brought_));
      brought_.assign(size_, {});
      present_.assign(size_, false);
      arrived_ = 0;
      ++round_;
      all_came_.notify_all();
      return all_;
    }
    const auto over = [&] { return round_ != round || !reason_.empty(); };
    if (timeout == 0) {
      all_came_.wait(lock, over);
    } else {
      // A time of the clock that the thread sanitizer knows a wait for.
      const auto end = std::chrono::system_clock::now() +
                       std::chrono::microseconds(static_cast<int64_t>(timeout * 1e6));
      if (!all_came_.wait_until(lock, end, over)) end_group(missing(timeout));
    }
    if (round_ != round) return all_;  // whole, though the group may have ended since
    throw RankError(reason_);
  }

  void abort(const std::string& reason) override {
    const std::lock_guard lock(mutex_);
    if (reason_.empty()) end_group(reason.empty() ? "a rank has ended the group" : reason);
  }

  std::string failure() override {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

  void check_whole() override {
    const std::lock_guard lock(mutex_);
    if (!reason_.empty()) throw RankError(reason_);
  }

  void set_end(int rank, const Communicator* end) {
    const std::lock_guard lock(mutex_);
    ends_[static_cast<size_t>(rank)] = end;
    if (!end && reason_.empty() && arrived_ > 0) end_group(gone(rank));
    left_ = !end && left_ < 0 ? rank : left_;
  }

 private:
  static std::string gone(int rank) {
    return "collective: every rank must take part, got rank " + number_text(rank) +
           " that has left the group";
  }

  void throw_failure() {
    if (reason_.empty() && left_ >= 0) end_group(gone(left_));
    if (!reason_.empty()) throw RankError(reason_);
  }

  void end_group(const std::string& reason) {
    reason_ = reason;
    all_came_.notify_all();
  }

  // "collective: every rank must come within 10 s, got none of rank 1 (its last: barrier 3, ...)".
  std::string missing(double timeout) const {
    std::string text = "collective: every rank must come within ";
    aorta::detail::append(text, timeout);
    text += " s, got none of ";
    const char* between = "";
    for (size_t rank = 0; rank < size_; ++rank) {
      if (present_[rank]) continue;
      text += between + ("rank " + number_text(static_cast<int64_t>(rank)));
      between = ", ";
      if (!ends_[rank]) continue;
      const std::vector<CollectiveRecord> records = ends_[rank]->records();
      text += records.empty() ? " (it has made no call)"
                              : " (its last call: " + to_string(records.back()) + ")";
    }
    return text;
  }

  const size_t size_;
  std::mutex mutex_;
  std::condition_variable all_came_;
  size_t arrived_ = 0;
  int64_t round_ = 0;
  std::vector<bool> present_;
  std::vector<Brought> brought_;
  std::vector<const Communicator*> ends_;
  All all_;
  std::string reason_;
  int left_ = -1;  // the first rank whose end is gone
};

std::vector<std::string> texts_of(const std::vector<Brought>& all) {
  std::vector<std::string> texts;
  for (const Brought& brought : all) texts.push_back(brought.text);
  return texts;
}

struct Range {
  int64_t start, length;
};

// A share of `tensor`, flat, where this rank computes.
Tensor share_of(const Tensor& tensor, const Range& range, Device device) {
  return tensor.view({tensor.numel()}).narrow(0, range.start, range.length).to(device);
}

// The reduction of one share of the tensors in a place.
Tensor reduced_share(const std::vector<Brought>& all, size_t place, const Range& range,
                     Device device, ReduceOp op) {
  std::vector<Tensor> shares;
  for (const Brought& brought : all)
    shares.push_back(share_of(brought.tensors[place], range, device));
  const Tensor reduced = empty({range.length}, {.dtype = shares[0].dtype(), .device = device});
  kernel::reduce_over_ranks(reduced, shares, op);
  return reduced;
}

class LocalCommunicator final : public Communicator {
 public:
  LocalCommunicator(int rank, int size, const CommOptions& options,
                    std::shared_ptr<Meeting> meeting)
      : Communicator(rank, size, options, meeting), meeting_(std::move(meeting)) {
    meeting_->set_end(rank, this);
  }
  ~LocalCommunicator() override { meeting_->set_end(rank(), nullptr); }

 private:
  std::unique_ptr<Communicator> do_duplicate() override {
    Brought mine{.text = "duplicate"};
    if (rank() == 0) mine.ends = std::make_shared<Ends>(local_communicators(size(), options()));
    const Meeting::All all = meeting_->meet(rank(), patience(), std::move(mine));
    check_same_call("duplicate", texts_of(*all));
    return std::move((*all)[0].ends->at(static_cast<size_t>(rank())));
  }

  // The first rank of each color makes its group's ends.
  std::unique_ptr<Communicator> do_split(int64_t color) override {
    const std::vector<std::string> texts = exchange("split\n" + number_text(color));
    check_same_call("split", texts);
    const Members members = members_of(texts);
    Brought mine;
    if (members.place == 0) {
      const auto size = static_cast<int>(members.ranks.size());
      mine.ends = std::make_shared<Ends>(local_communicators(size, options()));
    }
    const Meeting::All all = meeting_->meet(rank(), patience(), std::move(mine));
    const Brought& first = (*all)[static_cast<size_t>(members.ranks[0])];
    return std::move(first.ends->at(static_cast<size_t>(members.place)));
  }

  std::vector<std::string> exchange(const std::string& mine) override {
    return texts_of(*meeting_->meet(rank(), patience(), {.text = mine}));
  }

  Meeting::All meet(std::vector<Tensor> tensors) {
    return meeting_->meet(rank(), patience(), {.tensors = std::move(tensors)});
  }

  void do_all_reduce(std::span<const Tensor> tensors, ReduceOp op) override {
    const Meeting::All inputs = meet({tensors.begin(), tensors.end()});
    std::vector<Tensor> mine;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const int64_t count = tensors[i].numel(), step = divide_up(count, size());
      const int64_t start = std::min(step * rank(), count), end = std::min(start + step, count);
      mine.push_back(reduced_share(*inputs, i, {start, end - start}, tensors[i].device(), op));
    }
    // Nobody reads the ranks' tensors any more when all have brought their shares.
    const Meeting::All shares = meet(std::move(mine));
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Tensor flat = tensors[i].view({tensors[i].numel()});
      int64_t place = 0;
      for (const Brought& brought : *shares) {
        const Tensor& share = brought.tensors[i];
        flat.narrow(0, place, share.numel()).copy_(share);
        place += share.numel();
      }
    }
  }

  void do_broadcast(const Tensor& tensor, int root) override {
    const Meeting::All all = meet({tensor});
    if (rank() != root) tensor.copy_((*all)[static_cast<size_t>(root)].tensors[0]);
    meet({});  // or the root might write before all have read
  }

  void do_all_gather(const Tensor& output, const Tensor& input) override {
    const Meeting::All all = meet({input});
    const Tensor parts = output.view({size(), input.numel()});
    for (int i = 0; i < size(); ++i)
      parts[i].copy_((*all)[static_cast<size_t>(i)].tensors[0].view({input.numel()}));
    meet({});
  }

  void do_reduce_scatter(const Tensor& output, const Tensor& input, ReduceOp op) override {
    const Meeting::All all = meet({input});
    const int64_t count = output.numel();
    output.view({count}).copy_(
        reduced_share(*all, 0, {count * rank(), count}, output.device(), op));
    meet({});
  }

  const std::shared_ptr<Meeting> meeting_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> local_communicators(int size,
                                                               const CommOptions& options) {
  check(size >= 1, "local_communicators", "a group has at least one rank", size);
  const auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::unique_ptr<Communicator>> ends;
  for (int rank = 0; rank < size; ++rank)
    ends.push_back(std::make_unique<LocalCommunicator>(rank, size, options, meeting));
  return ends;
}

}  // namespace aorta::nn
