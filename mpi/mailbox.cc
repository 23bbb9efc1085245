#include <aorta/core/clock.h>
#include <aorta/core/empty.h>
#include <aorta/core/io/bytes.h>
#include <aorta/mpi/mailbox.h>

#include <algorithm>
#include <chrono>

namespace aorta::mpi {
namespace {

// A count of MPI's is an int.
constexpr int64_t kMostBytes = 1 << 30, kPieceBytes = 64 << 20;

// For how long a mailbox that ends waits for a rank that takes nothing.
constexpr int64_t kLastPatience = 2'000'000'000;

// What a letter's message begins with: how many tensors there are, and of each the dtype, the
// number of dimensions and the sizes.
std::string head_of(const Letter& letter) {
  std::string head;
  io::append(head, static_cast<uint32_t>(letter.tensors.size()));
  for (const Tensor& tensor : letter.tensors) {
    io::append(head, static_cast<uint32_t>(tensor.dtype()));
    io::append(head, static_cast<uint32_t>(tensor.dim()));
    for (const int64_t size : tensor.shape()) io::append(head, size);
  }
  return head + letter.bytes;
}

Letter letter_of(const std::string& head) {
  const auto bytes = std::as_bytes(std::span(head));
  size_t at = 0;
  const auto next = [&]<class T>(T) {
    const T value = io::load<T>(bytes, at);
    at += sizeof value;
    return value;
  };
  Letter letter;
  for (uint32_t left = next(uint32_t{}); left > 0; --left) {
    const auto dtype = static_cast<DType>(next(uint32_t{}));
    Shape shape;
    for (uint32_t dims = next(uint32_t{}); dims > 0; --dims) shape.push_back(next(int64_t{}));
    letter.tensors.push_back(empty(shape, {.dtype = dtype}));
  }
  letter.bytes = head.substr(at);
  return letter;
}

// Calls `piece(data, count)` for what one message takes of a tensor's bytes.
template <class Piece>
void in_pieces(const Tensor& tensor, Piece&& piece) {
  for (int64_t at = 0; at < tensor.nbytes(); at += kPieceBytes)
    piece(static_cast<char*>(tensor.data()) + at,
          static_cast<int>(std::min(kPieceBytes, tensor.nbytes() - at)));
}

// An answer is mostly there before a sleep would be over; who has waited for long sleeps for long.
std::chrono::microseconds pause_after(int64_t waited_ns) {
  constexpr int64_t kMillisecond = 1'000'000;
  if (waited_ns < kMillisecond / 20) return {};
  if (waited_ns < 10 * kMillisecond) return std::chrono::microseconds(20);
  return std::chrono::microseconds(waited_ns < 1000 * kMillisecond ? 200 : 1000);
}

}  // namespace

MpiMailbox::MpiMailbox(Link& link, const MailboxHandlers& handlers)
    : link_(link),
      handlers_(handlers),
      come_(static_cast<size_t>(link.size())),
      thread_([this] { work(); }) {}

MpiMailbox::~MpiMailbox() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
  leave_to_mpi();
}

void MpiMailbox::send(int to, Letter letter) {
  link_.check_whole();
  auto sending = std::make_unique<Sending>();
  sending->head = head_of(letter);
  sending->tensors = std::move(letter.tensors);
  check(static_cast<int64_t>(sending->head.size()) <= kMostBytes, "send",
        "a letter's bytes, its tensors aside, must be at most 1 GiB", sending->head.size());
  const auto begin = [&](void* data, int count, int tag) {
    sending->open.push_back(MPI_REQUEST_NULL);
    link_.check_call(
        MPI_Isend(data, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, &sending->open.back()),
        "MPI_Isend");
  };
  {
    const auto turn = link_.turn();
    begin(sending->head.data(), static_cast<int>(sending->head.size()), Link::kLetterTag);
    for (const Tensor& tensor : sending->tensors)
      in_pieces(tensor, [&](void* data, int count) { begin(data, count, Link::kTensorTag); });
    sends_.push_back(std::move(sending));
  }
  {
    const std::lock_guard lock(mutex_);
    has_sent_ = true;
  }
  changed_.notify_one();
}

bool MpiMailbox::is_done(std::vector<MPI_Request>& open) {
  int done = 0;
  link_.check_call(
      MPI_Testall(static_cast<int>(open.size()), open.data(), &done, MPI_STATUSES_IGNORE),
      "MPI_Testall");
  return done;
}

bool MpiMailbox::advance_sends() {
  return std::erase_if(sends_, [&](const auto& sending) { return is_done(sending->open); }) > 0;
}

bool MpiMailbox::look_for_letters() {
  bool found_any = false;
  for (;;) {
    int found = 0, count = 0;
    MPI_Message message;
    MPI_Status status;
    link_.check_call(
        MPI_Improbe(MPI_ANY_SOURCE, Link::kLetterTag, MPI_COMM_WORLD, &found, &message, &status),
        "MPI_Improbe");
    if (!found) return found_any;
    found_any = true;
    MPI_Get_count(&status, MPI_BYTE, &count);
    auto& letter =
        come_[static_cast<size_t>(status.MPI_SOURCE)].emplace_back(std::make_unique<Arriving>());
    letter->head.resize(static_cast<size_t>(count));
    letter->open.push_back(MPI_REQUEST_NULL);
    link_.check_call(
        MPI_Imrecv(letter->head.data(), count, MPI_BYTE, &message, &letter->open.back()),
        "MPI_Imrecv");
  }
}

// Whether the letter is whole. The tensors of one letter after another are asked for, for they all
// have one tag.
bool MpiMailbox::advance(int from, Arriving& letter) {
  if (!is_done(letter.open)) return false;
  if (letter.has_head) return true;
  letter.has_head = true;
  letter.letter = letter_of(letter.head);
  letter.open.clear();
  for (const Tensor& tensor : letter.letter.tensors)
    in_pieces(tensor, [&](void* data, int count) {
      letter.open.push_back(MPI_REQUEST_NULL);
      link_.check_call(MPI_Irecv(data, count, MPI_BYTE, from, Link::kTensorTag, MPI_COMM_WORLD,
                                 &letter.open.back()),
                       "MPI_Irecv");
    });
  return is_done(letter.open);
}

bool MpiMailbox::advance_arrivals(std::vector<std::pair<int, Letter>>& whole) {
  bool any = false;
  for (size_t from = 0; from < come_.size(); ++from) {
    auto& letters = come_[from];
    while (!letters.empty() && advance(static_cast<int>(from), *letters.front())) {
      whole.emplace_back(static_cast<int>(from), std::move(letters.front()->letter));
      letters.pop_front();
      any = true;
    }
  }
  return any;
}

void MpiMailbox::work() {
  int64_t quiet_since = nanoseconds_now();
  try {
    for (;;) {
      std::vector<std::pair<int, Letter>> whole;
      bool moved = false, is_idle = false;
      {
        const auto turn = link_.turn();
        moved = advance_sends();
        moved |= look_for_letters();
        moved |= advance_arrivals(whole);
        is_idle = sends_.empty();
      }
      for (auto& [from, letter] : whole) handlers_.received(from, std::move(letter));
      if (moved) quiet_since = nanoseconds_now();
      std::unique_lock lock(mutex_);
      if (stops_ && (is_idle || nanoseconds_now() - quiet_since > kLastPatience)) return;
      if (moved) continue;
      const auto pause = pause_after(nanoseconds_now() - quiet_since);
      if (pause.count() > 0) changed_.wait_for(lock, pause, [this] { return has_sent_ || stops_; });
      if (std::exchange(has_sent_, false)) quiet_since = nanoseconds_now();
      lock.unlock();
      link_.check_whole();
    }
  } catch (const RankError& error) {
    handlers_.ended(error);
  } catch (const std::exception& error) {
    link_.end(error.what());
    handlers_.ended(RankError(error.what()));
  }
}

// What is under way keeps its memory, which MPI may still read and write.
void MpiMailbox::leave_to_mpi() {
  static auto* left_sends = new std::vector<std::unique_ptr<Sending>>;
  static auto* left_letters = new std::vector<std::unique_ptr<Arriving>>;
  const auto turn = link_.turn();
  std::move(sends_.begin(), sends_.end(), std::back_inserter(*left_sends));
  for (auto& letters : come_)
    std::move(letters.begin(), letters.end(), std::back_inserter(*left_letters));
}

}  // namespace aorta::mpi
