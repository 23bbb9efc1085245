// How ranks meet: whose call matches whose, when the work of a communication is queued, and what is
// reported where ranks don't agree.
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/collectives.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/sanitizer.h>
#include <aorta/tests/cuda/emulated/settings.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>

namespace aorta::emulated {
namespace {

/// A communication whose ranks have all come.
struct Meeting {
  std::vector<std::shared_ptr<Part>> parts;
  std::vector<std::vector<char>> results;
  bool sent = false, broken = false;
};

std::condition_variable& arrivals() {
  static auto* changed = new std::condition_variable;
  return *changed;
}

const char* call_of(Collective what) {
  const char* const names[] = {"ncclAllReduce", "ncclReduce", "ncclBroadcast", "ncclReduceScatter",
                               "ncclAllGather", "ncclSend",   "ncclRecv"};
  return names[static_cast<int>(what)];
}

bool never_comes(const std::shared_ptr<Part>& part) { return !part || part->comm->aborted; }

std::string rank_text(const Part& part) { return "rank " + std::to_string(part.comm->rank); }

void broke(Meeting& meeting, const Part& part, const std::string& problem) {
  report(call_of(part.what), "memory is the rank's own, and allocated and written when it is read",
         rank_text(part) + " " + problem, page::kCollectives);
  meeting.broken = true;
  Streams::get().sticky = cudaErrorIllegalAddress;
}

/// What all ranks send is looked at when the first of them gets so far: the others may write theirs
/// again only after their own part.
void send_all(Meeting& meeting) {
  meeting.sent = true;
  for (const auto& part : meeting.parts) {
    const size_t bytes = sent_bytes(*part);
    if (bytes == 0) continue;
    const std::string problem =
        Memory::get().problem(part->send, bytes, Access::read, part->comm->device, false);
    if (!problem.empty()) return broke(meeting, *part, "sends " + problem);
    show_read(part->send, bytes);
  }
  meeting.results = outcome(meeting.parts);
  if (under_thread_sanitizer()) __tsan_release(&meeting);
}

bool stalled = false;

void receive(Meeting& meeting, size_t i) {
  const Part& part = *meeting.parts[i];
  const size_t bytes = received_bytes(part);
  if (stalled) {
    std::unique_lock lock(machine_mutex(), std::adopt_lock);
    arrivals().wait(lock, [&] { return part.comm->aborted || !stalled; });
    lock.release();
  }
  // Nothing is left of what a rank may still have had to send when it ended.
  const bool lost = std::any_of(meeting.parts.begin(), meeting.parts.end(),
                                [](const auto& other) { return other->comm->aborted; });
  if (lost) {
    if (bytes > 0) Memory::get().forget_written(reinterpret_cast<uintptr_t>(part.receive), bytes);
    return;
  }
  if (!meeting.sent) send_all(meeting);
  // Nobody's part writes before it has sent: within a communication that is NCCL's to see to.
  if (under_thread_sanitizer()) __tsan_acquire(&meeting);
  if (meeting.broken || bytes == 0) return;
  const std::string problem =
      Memory::get().problem(part.receive, bytes, Access::write, part.comm->device, false);
  if (!problem.empty()) return broke(meeting, part, "receives into " + problem);
  show_write(part.receive, bytes);
  std::memcpy(part.receive, meeting.results[i].data(), bytes);
  Memory::get().set_written(reinterpret_cast<uintptr_t>(part.receive), bytes);
}

/// Queues each rank's part, which waits for what all ranks queued before theirs.
void queue_all(std::vector<std::shared_ptr<Part>> parts) {
  const auto meeting = std::make_shared<Meeting>();
  meeting->parts = std::move(parts);
  std::vector<Point> before;
  for (const auto& part : meeting->parts) before.push_back({part->stream, part->stream->queued});
  for (size_t i = 0; i < before.size(); ++i) {
    Part& part = *meeting->parts[i];
    std::vector<Point> others = before;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    Streams::get().queue(*part.stream,
                         {call_of(part.what), [meeting, i] { receive(*meeting, i); }, others});
    part.comm->work.push_back({part.stream, part.stream->queued});
    part.queued = true;
  }
  arrivals().notify_all();
}

void arrive_at_collective(const std::shared_ptr<Part>& part) {
  Clique& clique = *part->comm->clique;
  const uint64_t number = part->comm->collectives++;
  while (clique.first + clique.meetings.size() <= number) {
    clique.meetings.emplace_back(clique.comms.size());
  }
  auto& meeting = clique.meetings[number - clique.first];
  for (const auto& other : meeting) {
    if (!other || text_of(*other) == text_of(*part)) continue;
    report(call_of(part->what),
           "all ranks call the same collectives in the same order, with one count, type, operation "
           "and root",
           "as collective " + std::to_string(number) + " " + text_of(*other) + " of " +
               rank_text(*other) + ", " + text_of(*part) + " of " + rank_text(*part),
           page::kCollectives);
    return fail(clique, ncclInvalidUsage);
  }
  meeting[static_cast<size_t>(part->comm->rank)] = part;
  if (std::any_of(meeting.begin(), meeting.end(), never_comes)) return;
  // Each rank comes to one after another, so that the first is complete first.
  auto parts = std::move(clique.meetings.front());
  clique.meetings.pop_front();
  ++clique.first;
  queue_all(std::move(parts));
}

void arrive_at_peer(const std::shared_ptr<Part>& part) {
  Clique& clique = *part->comm->clique;
  const bool sends = part->what == Collective::send;
  const int rank = part->comm->rank, peer = part->peer;
  const std::pair<int, int> way = sends ? std::pair(rank, peer) : std::pair(peer, rank);
  auto& others = (sends ? clique.receives : clique.sends)[way];
  while (!others.empty() && never_comes(others.front())) others.pop_front();
  if (others.empty()) {
    (sends ? clique.sends : clique.receives)[way].push_back(part);
    return;
  }
  const std::shared_ptr<Part> other = others.front();
  others.pop_front();
  if (other->count != part->count || other->type != part->type) {
    report(call_of(part->what), "a receive has the count and the type of its send",
           text_of(*other) + " of " + rank_text(*other) + ", " + text_of(*part) + " of " +
               rank_text(*part),
           page::kPointToPoint);
    return fail(clique, ncclInvalidUsage);
  }
  queue_all(sends ? std::vector{part, other} : std::vector{other, part});
}

}  // namespace

bool Clique::is_complete() const {
  return std::find(comms.begin(), comms.end(), nullptr) == comms.end();
}

std::string text_of(const Part& part) {
  const char* const ops[] = {"sum", "product", "max", "min", "average"};
  std::string text = std::string(call_of(part.what) + 4) + " of " + std::to_string(part.count) +
                     " " + name_of(part.type);
  const bool reduces = part.what == Collective::all_reduce || part.what == Collective::reduce ||
                       part.what == Collective::reduce_scatter;
  if (reduces) text += std::string(", ") + ops[part.op];
  if (part.what == Collective::reduce || part.what == Collective::broadcast) {
    text += ", root " + std::to_string(part.peer);
  }
  if (part.what == Collective::send) text += " to rank " + std::to_string(part.peer);
  if (part.what == Collective::receive) text += " from rank " + std::to_string(part.peer);
  return text;
}

void arrive(const std::shared_ptr<Part>& part) {
  if (part->comm->clique->result != ncclSuccess || part->comm->aborted) return;
  const bool pair = part->what == Collective::send || part->what == Collective::receive;
  pair ? arrive_at_peer(part) : arrive_at_collective(part);
}

void fail(Clique& clique, ncclResult_t result) {
  clique.result = result;
  arrivals().notify_all();
}

// Who meets it later waits for one that never comes.
void abort(ncclComm& comm) {
  comm.aborted = true;
  comm.waiting.clear();
  arrivals().notify_all();
}

void stall(bool on) {
  const MachineLock lock;
  stalled = on;
  arrivals().notify_all();
}

bool wait_for_ranks(const std::function<bool()>& done) {
  std::unique_lock lock(machine_mutex(), std::adopt_lock);
  const bool came = arrivals().wait_for(lock, std::chrono::milliseconds(settings().patience), done);
  lock.release();
  return came;
}

std::string missing_for(const Part& part) {
  const Clique& clique = *part.comm->clique;
  std::string text = rank_text(part) + " at " + text_of(part);
  if (part.what == Collective::send || part.what == Collective::receive) {
    return text + ", which the other side didn't call";
  }
  for (const auto& meeting : clique.meetings) {
    if (meeting[static_cast<size_t>(part.comm->rank)].get() != &part) continue;
    for (size_t r = 0; r < meeting.size(); ++r) {
      if (never_comes(meeting[r])) text += ", without rank " + std::to_string(r);
    }
  }
  return text;
}

}  // namespace aorta::emulated
