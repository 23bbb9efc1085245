#include <aorta/core/clock.h>
#include <aorta/core/io/file.h>
#include <aorta/core/process/zygote.h>
#include <aorta/mpi/link.h>
#include <aorta/mpi/processes.h>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace aorta::mpi {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
// A count of MPI's is an int; and a piece must come within the timeout on any network.
constexpr int64_t kLargestMessage = 8 << 20;
constexpr size_t kReasonSize = 2048;
// How often a wait asks whether others have failed.
constexpr int64_t kLookEvery = 3 * kMillisecond;
// A turn's length: of several that find the same, the lowest rank says it and the others hear it.
constexpr int64_t kTurn = 30 * kMillisecond;
constexpr int kTurns = 32;

void pause_for(int64_t nanoseconds) {
  const timespec time{.tv_sec = 0, .tv_nsec = nanoseconds};
  nanosleep(&time, nullptr);
}

// Most messages are there before a sleep, or another process to whom the CPU is offered, would be
// over; who waits longer sleeps, for a backward pass may run on this CPU meanwhile.
void wait_a_little(int64_t waited) {
  if (waited < kMillisecond / 20) return;
  pause_for(waited < 10 * kMillisecond ? 20'000 : 200'000);
}

std::string number_text(double number) {
  std::string text;
  detail::append(text, number);
  return text;
}

// Tells the machines of processes apart, and on one machine those that don't see each other's pids.
std::string host_identity() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat pids {};
  stat("/proc/self/ns/pid", &pids);
  return boot + "/" + std::to_string(pids.st_ino);
}

std::string cpus_of_this_process() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::string text;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) text += std::to_string(i) + ",";
  return text;
}

// What a rank tells of itself at the start.
struct Introduction {
  char host[96];
  char cpus[512];
  int64_t pid, descriptor, token;
};

void copy_text(char* place, size_t size, const std::string& text) {
  std::snprintf(place, size, "%s", text.c_str());
}

}  // namespace

Link::Link(int records) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check_call(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  check_call(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  int* largest = nullptr;
  int is_known = 0;
  check_call(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&largest), &is_known),
             "MPI_Comm_get_attr");
  largest_tag_ = is_known ? *largest : kReasonTag;
  peers_.resize(static_cast<size_t>(size_));
  find_peers(records);
}

void Link::check_call(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int size = 0;
  MPI_Error_string(code, text, &size);
  const std::string reason = name_of(rank_) + ": " + call + ": MPI must go on, got " +
                             std::string(text, static_cast<size_t>(size));
  set_failure(reason, false);
  throw RankError(reason);
}

// Starting is left to MPI, which has just brought all ranks together: this one call waits.
void Link::find_peers(int records) {
  Peer& self = peers_[static_cast<size_t>(rank_)];
  self.board = std::make_unique<RankBoard>(records);
  Introduction mine{};
  copy_text(mine.host, sizeof mine.host, host_identity());
  copy_text(mine.cpus, sizeof mine.cpus, cpus_of_this_process());
  mine.pid = getpid();
  mine.descriptor = self.board->descriptor();
  mine.token = self.board->token();
  std::vector<Introduction> all(peers_.size());
  check_call(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE,
                           MPI_COMM_WORLD),
             "MPI_Allgather");
  ranks_on_these_cpus_ = 0;
  for (int i = 0; i < size_; ++i) {
    const Introduction& other = all[static_cast<size_t>(i)];
    Peer& peer = peers_[static_cast<size_t>(i)];
    peer.host = other.host;
    peer.pid = other.pid;
    if (std::strcmp(other.host, mine.host) != 0) continue;
    if (i < rank_) ++local_rank_;
    ranks_on_these_cpus_ += std::strcmp(other.cpus, mine.cpus) == 0;
    if (i == rank_) continue;
    try {
      const auto pid = static_cast<pid_t>(other.pid);
      peer.pidfd = open_pidfd(pid);
      peer.board =
          std::make_unique<RankBoard>(pid, static_cast<int>(other.descriptor), other.token);
    } catch (const Error&) {
      // Then it is like one of another machine: known by what it sends.
    }
  }
  // None goes on, and may end, before all have looked.
  check_call(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

std::string Link::name_of(int rank) const {
  return "rank " + std::to_string(rank) + " (pid " +
         std::to_string(peers_[static_cast<size_t>(rank)].pid) + ")";
}

std::string Link::what_it_does(int rank) const {
  const Peer& peer = peers_[static_cast<size_t>(rank)];
  return name_of(rank) + ": " +
         (peer.board ? peer.board->what_it_does() : "it runs on another machine");
}

void Link::set_failure(const std::string& reason, bool heard) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    reason_ = reason;
    heard_ = heard;
    failed_ = true;
  }
  if (!heard) board().end(reason);
}

void Link::end(const std::string& reason) {
  if (failed_) return;
  set_failure(reason.empty() ? "a rank has ended the group" : reason, false);
  tell(reason);
}

// To the ranks of other machines; those of this one read the board.
void Link::tell(const std::string& reason) {
  static std::array<char, kReasonSize> text{};  // MPI may read it until the end
  const std::lock_guard lock(calls_);
  copy_text(text.data(), text.size(), reason);
  for (int i = 0; i < size_; ++i) {
    if (peers_[static_cast<size_t>(i)].board) continue;
    MPI_Request request;
    MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_BYTE, i, kReasonTag, MPI_COMM_WORLD,
              &request);
  }
}

void Link::flush() {
  const bool all_here = std::all_of(peers_.begin(), peers_.end(),
                                    [](const Peer& peer) { return peer.board != nullptr; });
  if (all_here) return;
  for (int i = 0; i < 100; ++i) {
    {
      const std::lock_guard lock(calls_);
      int found = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, kReasonTag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    }
    pause_for(kMillisecond);
  }
}

void Link::hear_messages() {
  std::array<char, kReasonSize> text{};
  {
    const std::lock_guard lock(calls_);
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kReasonTag, MPI_COMM_WORLD, &found, &status);
    if (!found) return;
    MPI_Recv(text.data(), static_cast<int>(text.size()), MPI_BYTE, status.MPI_SOURCE, kReasonTag,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  text.back() = '\0';
  set_failure(text.data(), true);
}

void Link::look_at_boards() {
  std::vector<pollfd> ends;
  std::vector<int> ranks;
  for (int i = 0; i < size_; ++i) {
    const Peer& peer = peers_[static_cast<size_t>(i)];
    if (i == rank_ || !peer.board) continue;
    if (const std::string reason = peer.board->reason(); !reason.empty())
      return set_failure(reason, true);
    ends.push_back({peer.pidfd.get(), POLLIN, 0});
    ranks.push_back(i);
  }
  if (ends.empty() || poll(ends.data(), ends.size(), 0) <= 0) return;
  std::string gone;
  int before = 0;  // ranks of this machine below this one that live
  for (size_t i = 0; i < ends.size(); ++i) {
    if (ends[i].revents == 0) {
      before += ranks[i] < rank_;
      continue;
    }
    gone += (gone.empty() ? "" : "; ") + what_it_does(ranks[i]);
  }
  const std::lock_guard lock(mutex_);
  const int64_t now = nanoseconds_now();
  if (first_dead_ns_ == 0) first_dead_ns_ = now;
  if (now - first_dead_ns_ < kTurn * std::min(before, kTurns)) return;
  if (failed_) return;
  reason_ = "ranks: every process must live, got one that has ended, " + gone;
  found_gone_ = true;
  failed_ = true;
}

void Link::look_for_failures() {
  if (failed_) return;
  const int64_t now = nanoseconds_now();
  if (now < next_look_) return;
  next_look_ = now + kLookEvery;
  look_at_boards();
  if (!failed_) hear_messages();
  if (failed_ && !heard_) {
    board().end(reason_);
    tell(reason_);
  }
}

void Link::check_whole() {
  look_for_failures();
  if (!failed_) return;
  const std::lock_guard lock(mutex_);
  throw RankError(reason_, heard_);
}

std::string Link::failure() {
  next_look_ = 0;
  look_for_failures();
  const std::lock_guard lock(mutex_);
  return failed_ ? reason_ : std::string();
}

void Link::fail_late(const std::vector<int>& missing, double timeout, const std::string& what) {
  std::string text =
      what + ": every rank must come within " + number_text(timeout) + " s, got none of ";
  for (size_t i = 0; i < missing.size(); ++i) text += (i ? "; " : "") + what_it_does(missing[i]);
  end(text);
  check_whole();  // the reason of another rank, if that was first
  throw RankError(text);
}

// Messages under way. Where a wait ends with an error, MPI keeps their memory.
class Link::Requests {
 public:
  Requests(Link& link, Transfer transfer, int tag) : link_(link), transfer_(std::move(transfer)) {
    const std::lock_guard lock(link.calls_);
    receive(transfer_.text_receives, tag + 1);
    texts_ = requests_.size();
    receive(transfer_.receives, tag);
    send(transfer_.text_sends, tag + 1);
    send(transfer_.sends, tag);
    open_ = requests_.size();
    places_.resize(open_);
    statuses_.resize(open_);
  }
  ~Requests() {
    if (open_ == 0) return;
    static auto* left = new std::vector<Tensor>;
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    left->insert(left->end(), transfer_.tensors.begin(), transfer_.tensors.end());
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // Whether all are done; `came` says whether some have been since the last call.
  bool test(bool& came) {
    const std::lock_guard lock(link_.calls_);
    int done = 0;
    const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done,
                                  places_.data(), statuses_.data());
    if (code != MPI_ERR_IN_STATUS) link_.check_call(code, "MPI_Testsome");
    came = done > 0;
    if (came) open_ -= static_cast<size_t>(done);
    for (int i = 0; code == MPI_ERR_IN_STATUS && i < done; ++i) {
      const auto place = static_cast<size_t>(places_[static_cast<size_t>(i)]);
      const int error = statuses_[static_cast<size_t>(i)].MPI_ERROR;
      if (error == MPI_SUCCESS) continue;
      requests_[place] = MPI_REQUEST_NULL;  // which not every MPI does
      if (place < texts_) link_.check_call(error, "MPI_Testsome");
      error_ = error;
    }
    return open_ == 0;
  }
  bool texts_have_come() const {
    return std::all_of(requests_.begin(), requests_.begin() + static_cast<ptrdiff_t>(texts_),
                       [](MPI_Request request) { return request == MPI_REQUEST_NULL; });
  }
  // MPI says that data have another length than ours before the texts say why.
  void check() { link_.check_call(error_, "MPI_Testsome"); }
  // The ranks that have not done their part.
  std::vector<int> missing() {
    const std::lock_guard lock(link_.calls_);
    std::vector<int> ranks;
    const size_t count = texts_have_come() ? requests_.size() : texts_;
    for (size_t i = 0; i < count; ++i) {
      int done = 0;
      if (requests_[i] != MPI_REQUEST_NULL)
        MPI_Request_get_status(requests_[i], &done, MPI_STATUS_IGNORE);
      else
        done = 1;
      if (!done && std::find(ranks.begin(), ranks.end(), peers_[i]) == ranks.end())
        ranks.push_back(peers_[i]);
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

 private:
  void receive(const std::vector<Message>& messages, int tag) {
    for (const Message& message : messages)
      in_pieces(message, [&](void* data, int count, MPI_Request* request) {
        return MPI_Irecv(data, count, MPI_BYTE, message.peer, tag, MPI_COMM_WORLD, request);
      });
  }
  void send(const std::vector<Message>& messages, int tag) {
    for (const Message& message : messages)
      in_pieces(message, [&](void* data, int count, MPI_Request* request) {
        return MPI_Isend(data, count, MPI_BYTE, message.peer, tag, MPI_COMM_WORLD, request);
      });
  }
  template <class Begin>
  void in_pieces(const Message& message, Begin&& begin) {
    for (int64_t at = 0; at < message.bytes; at += kLargestMessage) {
      const int64_t count = std::min(kLargestMessage, message.bytes - at);
      peers_.push_back(message.peer);
      requests_.push_back(MPI_REQUEST_NULL);
      link_.check_call(
          begin(static_cast<char*>(message.data) + at, static_cast<int>(count), &requests_.back()),
          "MPI_Isend or MPI_Irecv");
    }
  }

  Link& link_;
  Transfer transfer_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> peers_, places_;
  size_t open_ = 0, texts_ = 0;  // the first ones are the texts that come
  int error_ = MPI_SUCCESS;
};

// The ranks of this machine that have been stopped for too long, as a wait asks again and again.
// While this process is stopped itself it waits for nobody: the time is counted by slices.
class Link::StoppedRanks {
 public:
  StoppedRanks(const Link& link, double timeout)
      : link_(link), limit_(link.nanoseconds_of(timeout)), timeout_(timeout) {}

  std::vector<int> look() {
    const int64_t now = nanoseconds_now();
    if (timeout_ == 0 || now < next_look_) return {};
    next_look_ = now + kSlice;
    std::vector<int> stopped;
    for (int i = 0; i < link_.size_; ++i) {
      const Peer& peer = link_.peers_[static_cast<size_t>(i)];
      if (i != link_.rank_ && peer.board && is_stopped(peer.pid)) stopped.push_back(i);
    }
    waited_ = stopped.empty() ? 0 : waited_ + kSlice;
    if (waited_ <= limit_) stopped.clear();
    return stopped;
  }

 private:
  static constexpr int64_t kSlice = 50 * kMillisecond;

  const Link& link_;
  const int64_t limit_;
  const double timeout_;
  int64_t next_look_ = 0, waited_ = 0;
};

int64_t Link::nanoseconds_of(double timeout) const {
  return static_cast<int64_t>(timeout * 1e9) + kTurn * std::min(rank_, kTurns);
}

void Link::run(Transfer transfer, int tag, Limits limits, const std::string& what) {
  check_whole();
  const bool is_data = transfer.is_data;
  std::function<void()> agree = std::move(transfer.agree);
  Requests requests(*this, std::move(transfer), tag);
  int64_t start = nanoseconds_now();
  const int64_t limit = nanoseconds_of(limits.working);
  StoppedRanks stopped(*this, limits.working == limits.stopped ? 0 : limits.stopped);
  bool came = false;
  for (;;) {
    const bool done = requests.test(came);
    if (agree && requests.texts_have_come()) {
      agree();
      agree = nullptr;
    }
    if (!agree) requests.check();
    if (done) return;
    check_whole();
    if (came && is_data && !agree) start = nanoseconds_now();
    const int64_t waited = nanoseconds_now() - start;
    const bool over = limits.working > 0 && waited > limit;
    std::vector<int> late = stopped.look();
    if (over || !late.empty()) {
      const std::vector<int> missing = requests.missing();
      std::erase_if(
          late, [&](int rank) { return std::count(missing.begin(), missing.end(), rank) == 0; });
      if (!late.empty()) fail_late(late, limits.stopped, what);
      if (over && !missing.empty()) fail_late(missing, limits.working, what);
    }
    wait_a_little(waited);
  }
}

bool Link::meet_at_the_end(double timeout) {
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const std::lock_guard lock(calls_);
    if (MPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS) return false;
  }
  StoppedRanks stopped(*this, timeout);
  for (;;) {
    {
      const std::lock_guard lock(calls_);
      int done = 0;
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
      if (done) return true;
    }
    if (!failure().empty()) return false;
    pause_for(kMillisecond);
    const std::vector<int> late = stopped.look();
    if (!late.empty()) fail_late(late, timeout, "exit");
  }
}

void Link::write_collectives(const std::string& folder) {
  for (int i = 0; i < size_; ++i) {
    const Peer& peer = peers_[static_cast<size_t>(i)];
    const std::string path = folder + "/rank_" + std::to_string(i) + ".csv";
    // Whoever has found out writes for its machine; the others, for theirs, what isn't there.
    if (!peer.board || (heard_ && (i != rank_ || access(path.c_str(), F_OK) == 0))) continue;
    io::AtomicFile file(path);
    file.write(peer.board->csv());
    file.commit();
  }
}

}  // namespace aorta::mpi
