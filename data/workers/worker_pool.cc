#include <aorta/core/clock.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/process/limits.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/workers/worker_pool.h>

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace aorta::data {
namespace {

constexpr int kEndMs = 800;  // what a nursery has to end its workers in

Descriptor make_eventfd() {
  Descriptor made(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!made)
    fail_for_resources("data_loader",
                       "an eventfd must be there (ulimit -n shows how many files may be open)",
                       errno_text(errno));
  return made;
}

struct Lease {
  std::shared_ptr<SlotBoard> board;
  int slot;
};

void end_lease(void* context) {
  auto* lease = static_cast<Lease*>(context);
  lease->board->uses[static_cast<size_t>(lease->slot)] = SlotBoard::Use::free;
  delete lease;
}

// Which reader has a sample; -1 for none.
int reader_of(uint64_t owner) {
  const uint64_t who = owner & 0xffff;
  return who == Ring::kFree || who > Ring::kMaxReaders ? -1 : static_cast<int>(who) - 1;
}

}  // namespace

SlotBoard::SlotBoard(const Ring::Layout& layout, TensorSpecs specs, bool wants_pinned)
    : ring(layout, std::move(specs)), uses(static_cast<size_t>(layout.slots)) {
  for (std::atomic<Use>& use : uses) use = Use::free;
  if (!wants_pinned) return;
  try {
    backend(DeviceType::cuda).register_host(ring.samples()->data(), ring.samples()->size_bytes());
    pinned = true;
  } catch (const Error& error) {
    static std::atomic_flag said;
    if (said.test_and_set()) return;
    std::fprintf(stderr,
                 "aorta: data_loader: slots that a GPU copies from are page-locked where that can "
                 "be; copies take longer, got %s\n",
                 error.what());
  }
}

SlotBoard::~SlotBoard() {
  if (!pinned) return;
  try {
    backend(DeviceType::cuda).unregister_host(ring.samples()->data());
  } catch (...) {  // a device that is lost
  }
}

WorkerPool::WorkerPool(WorkerPlan plan, const WorkerPoolOptions& options)
    : plan_(std::move(plan)),
      options_(options),
      board_(std::make_shared<SlotBoard>(plan_.layout, plan_.specs, options.pin_memory)),
      wake_loader_(make_eventfd()),
      program_(open_pidfd(getpid())),
      workers_(static_cast<size_t>(plan_.workers)),
      out_of_memory_kills_(out_of_memory_kills()) {}

WorkerPool::~WorkerPool() {
  ring().stop();
  end_nursery(kEndMs);
}

void WorkerPool::start() {
  if (!broken_.empty()) break_down(broken_);
  ++pass_;
  progress_.assign(static_cast<size_t>(plan_.workers), {});
  if (running_) return;
  ring().restart();
  // A copy of the program is of the moment when it was made.
  if (nursery_.is_copy) end_nursery(kEndMs);
  if (!nursery_.pidfd) start_nursery_process();
  for (int i = 0; i < plan_.workers; ++i) start_worker(i);
  running_ = true;
  restarts_ = 0;
}

void WorkerPool::stop() {
  if (!running_) return;
  running_ = false;
  ring().stop();
  const std::string command = NurseryMessage{NurseryMessage::kStop}.text();
  bool stopped = false;
  const double end = seconds_now() + 1e-3 * kEndMs;
  bool alive = !nursery_.is_copy && nursery_.channel && nursery_.channel.send(command);
  while (alive && !stopped) {
    const int left = static_cast<int>(1e3 * (end - seconds_now()));
    const auto message = left > 0 ? nursery_.channel.receive(left) : std::nullopt;
    alive = message && !StartedProcess::end_status(*message);
    stopped = alive && NurseryMessage::parse(message->bytes).kind == NurseryMessage::kStopped;
  }
  if (!alive) end_nursery(static_cast<int>(1e3 * std::max(0., end - seconds_now())));
  for (Worker& worker : workers_) worker = Worker();
  // Nobody reads any more: what was being read is free.
  for (int i = 0; i < plan_.layout.slots; ++i) {
    std::atomic<SlotBoard::Use>& use = board_->uses[static_cast<size_t>(i)];
    if (use != SlotBoard::Use::open && use != SlotBoard::Use::draining) continue;
    ring().slot(i).sequence = 0;  // or the next workers would take what is left of its batch
    use = SlotBoard::Use::free;
  }
  slots_.clear();
  deaths_.clear();
}

void WorkerPool::start_nursery_process() {
  const int descriptors[] = {ring().samples()->descriptor(), ring().control()->descriptor(),
                             wake_loader_.get(), program_.get()};
  nursery_ = start_nursery(plan_, descriptors, options_.start_method);
}

void WorkerPool::start_worker(int worker) {
  workers_[static_cast<size_t>(worker)] = {0, true};
  // If the nursery has ended, the next event says so.
  nursery_.channel.send(NurseryMessage{NurseryMessage::kStart, worker}.text());
}

uint64_t WorkerPool::open(int64_t epoch, std::span<const int64_t> indices, int worker) {
  collect_drained();
  for (int i = 0; i < plan_.layout.slots; ++i) {
    std::atomic<SlotBoard::Use>& use = board_->uses[static_cast<size_t>(i)];
    if (use != SlotBoard::Use::free) continue;
    use = SlotBoard::Use::open;
    Ring::Slot& slot = ring().slot(i);
    slot.epoch = epoch;
    slot.pass = pass_;
    slot.worker = worker;
    ring().open(++sequence_, i, indices);
    slots_[sequence_] = i;
    return sequence_;
  }
  return 0;
}

int64_t WorkerPool::units(int slot) {
  return plan_.layout.iterable ? 1 : ring().slot(slot).count.load();
}

bool WorkerPool::is_complete(int slot) {
  for (int64_t i = 0; i < units(slot); ++i) {
    const uint64_t who = ring().owners(slot)[i].load() & 0xffff;
    if (who != Ring::kDone && who != Ring::kFailed) return false;
  }
  return true;
}

void WorkerPool::note_progress(int number) {
  const Ring::Slot& slot = ring().slot(number);
  if (!plan_.layout.iterable || slot.pass != pass_) return;
  Progress& progress = progress_[static_cast<size_t>(slot.worker)];
  progress.calls = std::max(progress.calls, slot.calls.load());
  progress.over = progress.over || slot.ended != 0;
}

void WorkerPool::hand_over_stream(int worker) {
  if (!plan_.layout.iterable) return;
  for (int i = 0; i < plan_.layout.slots; ++i)
    if (board_->uses[static_cast<size_t>(i)] == SlotBoard::Use::open && is_complete(i))
      note_progress(i);
  const Progress& progress = progress_[static_cast<size_t>(worker)];
  Ring::Reader& reader = ring().reader(worker);
  reader.calls = progress.over ? -1 : progress.calls;
  reader.pass = pass_;
}

int WorkerPool::wait(uint64_t sequence) {
  if (!broken_.empty()) break_down(broken_);
  const int slot = slots_.at(sequence);
  const double start = seconds_now();
  while (!is_complete(slot)) wait_for_events(start);
  slots_.erase(sequence);
  note_progress(slot);
  restarts_ = 0;
  board_->uses[static_cast<size_t>(slot)] = SlotBoard::Use::leased;
  return slot;
}

void WorkerPool::wait_for_events(double start) {
  if (options_.timeout > 0 && seconds_now() - start >= options_.timeout)
    fail_on_timeout(options_.timeout);
  handle_events(true);
}

void WorkerPool::handle_events(bool wait) {
  if (!broken_.empty()) break_down(broken_);
  pollfd waits[] = {{wake_loader_.get(), POLLIN, 0},
                    {nursery_.channel.descriptor(), POLLIN, 0},
                    {nursery_.pidfd.get(), POLLIN, 0}};
  // With a time limit the caller looks at the clock in between.
  const int limit_ms = !wait ? 0 : options_.timeout > 0 ? 10 : -1;
  if (poll(waits, 3, limit_ms) <= 0) return;
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t size = read(wake_loader_.get(), &count, sizeof count);
  while (auto message = nursery_.channel ? nursery_.channel.poll() : std::nullopt) {
    if (const auto status = StartedProcess::end_status(*message))
      return handle_nursery_end(status_text(*status));
    handle(*message);
  }
  if (waits[2].revents != 0) handle_nursery_end(how_nursery_ended());
  collect_drained();
}

void WorkerPool::handle(const Channel::Message& message) {
  const auto event = NurseryMessage::parse(message.bytes);
  if (event.kind == NurseryMessage::kStarted)
    workers_.at(static_cast<size_t>(event.worker)).pid = event.pid;
  if (event.kind == NurseryMessage::kEnded)
    handle_worker_end(event.worker, event.pid, event.status);
  if (event.kind == NurseryMessage::kFault)
    break_down("they couldn't start: " + message.bytes.substr(NurseryMessage::kBytes));
}

void WorkerPool::handle_worker_end(int worker, pid_t pid, int status) {
  if (!running_) return;
  std::string how = status_text(status);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
      out_of_memory_kills() > out_of_memory_kills_)
    how += " when memory ran out";
  const std::string name =
      "worker " + std::to_string(worker) + " (pid " + std::to_string(pid) + ")";
  ErrorRecord& fault = ring().reader(worker * plan_.readers_per_worker()).fault;
  const std::string what = std::string(fault.type) + ": " + fault.text;
  if (fault.position == Ring::Reader::kAtStart) break_down(name + " couldn't start: " + what);
  if (fault.position == Ring::Reader::kLater) how = "failed, " + what;
  fault.position = -1;
  const std::string reads = reads_of(worker);
  std::fprintf(stderr, "aorta: data_loader: %s %s%s%s; it is started again\n", name.c_str(),
               how.c_str(), reads.empty() ? "" : " while it read ", reads.c_str());
  take_back(worker, pid, how, true);
  hand_over_stream(worker);
  if (++restarts_ > 3 + 2 * plan_.layout.readers)
    break_down(name + " " + how + ", again and again");
  start_worker(worker);
}

std::string WorkerPool::reads_of(int worker) {
  std::string text;
  const int threads = plan_.readers_per_worker();
  for (int i = worker * threads; i < (worker + 1) * threads; ++i) {
    const Ring::Reader& reader = ring().reader(i);
    if (reader.sample < 0) continue;
    text += (text.empty() ? "sample " : ", sample ") + std::to_string(reader.sample);
    if (reader.file[0]) text += std::string(" (") + reader.file + ")";
  }
  return text;
}

void WorkerPool::take_back(int worker, pid_t pid, const std::string& how, bool guilty) {
  const int threads = plan_.readers_per_worker();
  const int first = worker * threads, last = first + threads;
  for (int i = 0; i < plan_.layout.slots; ++i) {
    const SlotBoard::Use use = board_->uses[static_cast<size_t>(i)];
    if (use != SlotBoard::Use::open && use != SlotBoard::Use::draining) continue;
    Ring::Slot& slot = ring().slot(i);
    slot.tell_always = 1;  // the count of what remains isn't to be trusted any more
    const uint64_t sequence = slot.sequence;
    for (int64_t position = 0; position < units(i); ++position) {
      std::atomic<uint64_t>& owner = ring().owners(i)[position];
      const int reader = reader_of(owner);
      if (reader < first || reader >= last) continue;
      if (use == SlotBoard::Use::draining) {
        owner = Ring::owner(sequence, Ring::kDropped);
        continue;
      }
      const int64_t sample = plan_.layout.iterable ? -1 : ring().indices(i)[position];
      const Ring::Reader& state = ring().reader(reader);
      SampleFault fault{
          sample, "", "", state.sample < 0 ? "" : state.file, worker, static_cast<int>(pid)};
      fault.message =
          "worker " + std::to_string(worker) + " (pid " + std::to_string(pid) + ") " + how;
      const bool again = guilty && !deaths_.emplace(std::pair(sequence, position), fault).second;
      if (plan_.layout.iterable) ring().clear(i, again);
      if (again) {
        deaths_[{sequence, position}] = fault;
        owner = Ring::owner(sequence, Ring::kFailed);
      } else {
        owner = Ring::owner(sequence, guilty && threads > 1 ? Ring::kSuspect : Ring::kFree);
        ring().look_again(sequence, position);
      }
    }
  }
  for (int i = first; i < last; ++i) ring().reader(i).sample = -1;
}

void WorkerPool::wait_for_end(pid_t pid) {
  if (pid == 0) return;
  try {
    const Descriptor watch = open_pidfd(pid);
    pollfd wait{watch.get(), POLLIN, 0};
    poll(&wait, 1, kEndMs);
  } catch (const Error&) {
    // It is gone.
  }
}

std::string WorkerPool::how_nursery_ended() {
  if (nursery_.own_child) {
    int status = 0;
    if (waitpid(nursery_.pid, &status, WNOHANG) == nursery_.pid) {
      nursery_.own_child = false;
      return status_text(status);
    }
  } else if (const auto message = nursery_.channel.receive(100)) {
    if (const auto status = StartedProcess::end_status(*message)) return status_text(*status);
  }
  return "ended, and the zygote with it";
}

void WorkerPool::handle_nursery_end(const std::string& how) {
  const std::string name = "the workers' parent (pid " + std::to_string(nursery_.pid) + ")";
  nursery_ = StartedProcess();
  // The kernel ends them with their parent; nobody else may write where they do.
  for (const Worker& worker : workers_) wait_for_end(worker.pid);
  if (++restarts_ > 3) break_down(name + " " + how + ", again and again");
  std::fprintf(stderr, "aorta: data_loader: %s %s; it is started again\n", name.c_str(),
               how.c_str());
  for (int i = 0; i < plan_.workers; ++i) {
    take_back(i, workers_[static_cast<size_t>(i)].pid, "ended with its parent, which " + how,
              false);
    hand_over_stream(i);
  }
  try {
    start_nursery_process();
    for (int i = 0; i < plan_.workers; ++i) start_worker(i);
  } catch (const std::exception& error) {
    break_down(std::string("their parent can't be started again: ") + error.what());
  }
}

void WorkerPool::end_nursery(int limit_ms) {
  if (!nursery_.pidfd) return;
  // A copy of the program may hold the channel, too, so closing it isn't enough.
  nursery_.channel.send(NurseryMessage{NurseryMessage::kQuit}.text());
  nursery_.channel.close();
  pollfd wait{nursery_.pidfd.get(), POLLIN, 0};
  if (poll(&wait, 1, limit_ms) <= 0) send_signal(nursery_.pidfd, SIGKILL);
  if (nursery_.own_child) waitpid(nursery_.pid, nullptr, 0);
  for (const Worker& worker : workers_) wait_for_end(worker.pid);
  nursery_ = StartedProcess();
}

void WorkerPool::collect_drained() {
  for (int i = 0; i < plan_.layout.slots; ++i) {
    std::atomic<SlotBoard::Use>& use = board_->uses[static_cast<size_t>(i)];
    if (use != SlotBoard::Use::draining) continue;
    bool busy = false;
    for (int64_t p = 0; p < units(i) && !busy; ++p) busy = reader_of(ring().owners(i)[p]) >= 0;
    if (!busy) use = SlotBoard::Use::free;
  }
}

void WorkerPool::drop_all() {
  for (const auto& [sequence, number] : slots_) {
    Ring::Slot& slot = ring().slot(number);
    slot.tell_always = 1;
    for (int64_t i = 0; i < slot.count; ++i)
      for (const uint64_t who : {Ring::kFree, Ring::kSuspect}) {
        uint64_t expected = Ring::owner(sequence, who);
        ring().owners(number)[i].compare_exchange_strong(expected,
                                                         Ring::owner(sequence, Ring::kDropped));
      }
    board_->uses[static_cast<size_t>(number)] = SlotBoard::Use::draining;
  }
  slots_.clear();
  deaths_.clear();
  collect_drained();
}

Ref<Storage> WorkerPool::lease(int slot) {
  SharedMemory& memory = *ring().samples();
  return Storage::borrow(memory.data(), memory.size_bytes(), Device(), end_lease,
                         new Lease{board_, slot}, board_->pinned);
}

int WorkerPool::leased() const {
  return static_cast<int>(
      std::count_if(board_->uses.begin(), board_->uses.end(),
                    [](const auto& use) { return use.load() == SlotBoard::Use::leased; }));
}

std::optional<SampleFault> WorkerPool::fault(int slot) {
  const uint64_t sequence = ring().slot(slot).sequence;
  std::optional<SampleFault> first;
  int64_t first_position = plan_.layout.capacity;
  for (int i = 0; i < plan_.layout.readers; ++i) {
    const ErrorRecord& record = ring().error(slot, i);
    if (record.position < 0 || record.position >= first_position) continue;
    first_position = record.position;
    const int worker = i / plan_.readers_per_worker();
    first = SampleFault{plan_.layout.iterable ? -1 : ring().indices(slot)[record.position],
                        record.type,
                        record.text,
                        record.file,
                        worker,
                        static_cast<int>(workers_[static_cast<size_t>(worker)].pid)};
  }
  for (const auto& [key, fault] : deaths_) {
    if (key.first != sequence || key.second >= first_position) continue;
    if (plan_.layout.iterable && first) continue;  // it ended one worker, and failed in the next
    if (ring().owners(slot)[key.second] != Ring::owner(sequence, Ring::kFailed)) continue;
    first_position = key.second;
    first = fault;
  }
  std::erase_if(deaths_, [&](const auto& entry) { return entry.first.first == sequence; });
  return first;
}

void WorkerPool::fail_on_timeout(double seconds) {
  std::string text;
  for (int i = 0; i < plan_.workers; ++i) {
    text += (i == 0 ? "worker " : "; worker ") + std::to_string(i) + " (pid " +
            std::to_string(workers_[static_cast<size_t>(i)].pid) + ") ";
    std::string reads;
    const int threads = plan_.readers_per_worker();
    for (int r = i * threads; r < (i + 1) * threads; ++r) {
      const Ring::Reader& reader = ring().reader(r);
      const int64_t sample = reader.sample;
      if (sample < 0) continue;
      char time[32];
      std::snprintf(time, sizeof time, "%.1f",
                    seconds_now() - 1e-9 * static_cast<double>(reader.since));
      reads += (reads.empty() ? "has read sample " : ", sample ") + std::to_string(sample) +
               " for " + time + " s";
      if (reader.file[0]) reads += std::string(" (") + reader.file + ")";
    }
    text += reads.empty() ? "waits" : reads;
  }
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g", seconds);
  throw TimeoutError("data_loader: a batch must be there within the timeout of " +
                     std::string(limit) + " s, got " + text);
}

void WorkerPool::break_down(const std::string& why) {
  broken_ = why;
  fail_for_resources("data_loader", "workers must be there", why);
}

}  // namespace aorta::data
