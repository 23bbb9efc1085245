#include <aorta/core/check.h>
#include <aorta/core/clock.h>
#include <aorta/core/dispatch/device_work.h>
#include <aorta/cuda/nccl_rank.h>

#include <sched.h>
#include <time.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace aorta::cuda {
namespace {

using std::chrono::milliseconds;

// How often the work that is queued is looked at, and when nothing else is done any more.
constexpr milliseconds kLookEvery{50}, kSoon{1};
// How long the program's end waits for communicators that are ending.
constexpr milliseconds kAtTheEnd{2000};
// How long a communicator is ended for whose calls would wait for ever.
constexpr double kLongest = 10;

const NcclCalls& calls() { return nccl_library().calls; }

// "It is not safe to issue NCCL operations in parallel to independent communicators located on the
// same device with multiple threads" ("Thread Safety"). No call of NCCL's blocks here, but for the
// last one of a communicator.
std::mutex& calls_of(int device) {
  static std::mutex mutexes[kMaxDevices];
  return mutexes[device];
}

// The communicators that are ending, in threads of their own.
struct Leaving {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;
  bool ends = false;  // the program
};

Leaving& leaving() {
  static Leaving* instance = new Leaving;
  return *instance;
}

void wait_at_the_end() {
  Leaving& all = leaving();
  std::unique_lock lock(all.mutex);
  all.ends = true;
  all.changed.wait_until(lock, std::chrono::system_clock::now() + kAtTheEnd,
                         [&] { return all.count == 0; });
}

bool program_ends() {
  const std::lock_guard lock(leaving().mutex);
  return leaving().ends;
}

void wait_a_little(int turn) {
  if (turn < 20) {
    sched_yield();
    return;
  }
  const timespec time{.tv_sec = 0, .tv_nsec = turn < 200 ? 20'000 : 500'000};
  nanosleep(&time, nullptr);
}

int64_t end_of(double timeout) { return nanoseconds_now() + static_cast<int64_t>(timeout * 1e9); }

std::string error_text(ncclResult_t result, ncclComm_t comm) {
  std::string text = calls().get_error_string(result);
  if (const char* more = calls().get_last_error(comm); more && *more)
    text += " (" + std::string(more) + ")";
  return text;
}

}  // namespace

std::shared_ptr<NcclRank> NcclRank::join(const CollectiveCall& call, const std::string& id,
                                         int rank, int size, int device) {
  [[maybe_unused]] static const int registered = std::atexit(wait_at_the_end);
  const auto self = std::make_shared<NcclRank>(
      device, static_cast<cudaStream_t>(cuda_backend().create_stream(device).handle));
  self->begin(call, id, rank, size);
  std::thread(watch, self).detach();
  return self;
}

NcclRank::~NcclRank() {
  cuda_backend().destroy_stream({Device(DeviceType::cuda, device_), stream_});
}

void NcclRank::begin(const CollectiveCall& call, const std::string& id, int rank, int size) {
  check(id.size() == sizeof(ncclUniqueId), "Communicator", "an id of NCCL's has 128 bytes",
        id.size());
  ncclUniqueId unique;
  std::memcpy(&unique, id.data(), sizeof unique);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const DeviceScope scope(device_);
  ncclResult_t result;
  {
    const std::lock_guard lock(calls_of(device_));
    result = calls().init_rank(&comm_, size, unique, rank, &config);
  }
  wait_until_queued(call, result, "NCCL must begin");
}

void NcclRank::check_alive(const CollectiveCall& call) {
  {
    const std::lock_guard lock(mutex_);
    timeout_ = call.timeout;
    if (failure_.empty()) return;
  }
  call.group->check_whole();
  throw RankError(failure_);
}

void NcclRank::run(const CollectiveCall& call, const std::vector<Tensor>& tensors,
                   const Queue& queue) {
  check_alive(call);
  const CalledOp called(call.text.c_str());
  const DeviceScope scope(device_);
  const Device device(DeviceType::cuda, device_);
  DeviceBackend& backend = cuda_backend();
  const Stream own{device, stream_}, present = backend.current_stream(device_);
  cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(static_cast<cudaStream_t>(present.handle), &captured),
             "Communicator");
  check(captured == cudaStreamCaptureStatusNone, call.text,
        "ranks agree on each collective, so none is in a graph", "a stream that is captured");
  Pending work{call, OwnedEvent(device_), OwnedEvent(device_)};
  backend.record_event(work.ready.get(), present);
  backend.wait_event(work.ready.get(), own);
  ncclResult_t result = ncclInternalError;
  DeviceWork measured(call.text.c_str(), DeviceType::cuda, stream_);
  {
    const std::lock_guard lock(calls_of(device_));
    if (comm_) result = queue(comm_, stream_);
  }
  try {
    wait_until_queued(call, result, "NCCL must take it");
    measured.end();
    backend.record_event(work.done.get(), own);
    {
      const std::lock_guard lock(mutex_);
      pending_.push_back(std::move(work));
      changed_.notify_all();
      backend.wait_event(pending_.back().done.get(), present);
    }
  } catch (...) {
    measured.abandon();
    // The present stream doesn't wait for what may be queued: memory has to, when it is given back.
    for (const Tensor& tensor : tensors) {
      try {
        backend.record_stream(tensor.data(), own);
      } catch (const Error&) {
        // Somebody else's memory.
      }
    }
    throw;
  }
}

// NCCL may still be at it in a thread of its own, and until then nothing else is queued on the
// stream.
void NcclRank::wait_until_queued(const CollectiveCall& call, ncclResult_t result,
                                 const char* what) {
  const int64_t end = call.timeout > 0 ? end_of(call.timeout) : 0;
  for (int turn = 0; result == ncclInProgress; ++turn) {
    if (const std::string reason = call.group->failure(); !reason.empty()) {
      give_up(reason);
      call.group->check_whole();
    }
    if (end && nanoseconds_now() > end) fail_late(call, what);
    wait_a_little(turn);
    const std::lock_guard lock(calls_of(device_));
    ncclResult_t asked = ncclInternalError;
    if (comm_) asked = calls().get_async_error(comm_, &result);
    if (asked != ncclSuccess) result = asked;
  }
  if (result == ncclSuccess) return;
  check_alive(call);
  std::string text = call.text + ": " + what + ", got ";
  {
    const std::lock_guard lock(calls_of(device_));
    text += error_text(result, comm_);
  }
  give_up(text);
  throw Error(text);
}

void NcclRank::fail_late(const CollectiveCall& call, const char* what) {
  std::string text = call.text + ": " + what + " within ";
  detail::append(text, call.timeout);
  text += " s, got no end of it, though every rank has called it";
  call.group->abort(text);
  give_up(text);
  call.group->check_whole();
  throw RankError(text);
}

// What is queued ends, with any numbers.
void NcclRank::give_up(const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = reason;
    changed_.notify_all();
  }
  const std::lock_guard lock(calls_of(device_));
  if (comm_) calls().abort(std::exchange(comm_, nullptr));
}

void NcclRank::leave() {
  {
    const std::lock_guard lock(leaving().mutex);
    ++leaving().count;
  }
  const std::lock_guard lock(mutex_);
  leaves_ = true;
  changed_.notify_all();
}

void NcclRank::watch(std::shared_ptr<NcclRank> rank) {
  try {
    const DeviceScope scope(rank->device_);
    rank->look_after_work();
    rank->finish();
  } catch (const std::exception& error) {
    rank->give_up(error.what());
  }
  std::unique_lock lock(rank->mutex_);
  rank->changed_.wait(lock, [&] { return rank->leaves_; });
  lock.unlock();
  rank.reset();
  const std::lock_guard ended(leaving().mutex);
  --leaving().count;
  leaving().changed.notify_all();
}

// Until no more can come.
void NcclRank::look_after_work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return leaves_ || !pending_.empty(); });
    if (pending_.empty()) return;
    const bool leaves = leaves_;
    changed_.wait_until(lock, std::chrono::system_clock::now() + (leaves ? kSoon : kLookEvery),
                        [&] { return leaves_ != leaves; });
    lock.unlock();
    look_at_first();
    lock.lock();
  }
}

// The work stands in one stream: what is first there is waited for by all else.
void NcclRank::look_at_first() {
  DeviceBackend& backend = cuda_backend();
  std::unique_lock lock(mutex_);
  Pending& first = pending_.front();  // this thread alone takes it away
  const bool failed = !failure_.empty();
  lock.unlock();
  if (backend.event_done(first.done.get())) {
    lock.lock();
    return pending_.pop_front();
  }
  if (failed) return;
  std::string reason = first.call.group->failure();
  if (reason.empty()) {
    const std::lock_guard calling(calls_of(device_));
    ncclResult_t state = ncclSuccess;
    if (comm_ && calls().get_async_error(comm_, &state) == ncclSuccess && state != ncclSuccess &&
        state != ncclInProgress)
      reason = first.call.text + ": NCCL must do it, got " + error_text(state, comm_);
  }
  if (reason.empty() && first.call.timeout > 0 && backend.event_done(first.ready.get())) {
    if (first.end_ns == 0) {
      first.end_ns = end_of(first.call.timeout);
    } else if (nanoseconds_now() > first.end_ns) {
      reason = first.call.text + ": NCCL must do it within ";
      detail::append(reason, first.call.timeout);
      reason += " s, got no end of it, though every rank has queued it";
    }
  }
  if (reason.empty()) return;
  first.call.group->abort(reason);
  give_up(reason);
}

// Ranks need each other until the last has its results; then each ends alone.
void NcclRank::finish() {
  std::unique_lock lock(mutex_);
  const int64_t end = end_of(timeout_ > 0 ? timeout_ : kLongest);
  lock.unlock();
  ncclResult_t state = ncclInternalError;
  {
    const std::lock_guard calling(calls_of(device_));
    if (!comm_) return;
    state = calls().finalize(comm_);
  }
  for (int turn = 0; state == ncclInProgress && nanoseconds_now() < end && !program_ends();
       ++turn) {
    wait_a_little(turn);
    const std::lock_guard calling(calls_of(device_));
    if (calls().get_async_error(comm_, &state) != ncclSuccess) state = ncclInternalError;
  }
  const std::lock_guard calling(calls_of(device_));
  const ncclComm_t comm = std::exchange(comm_, nullptr);
  if (state != ncclSuccess || calls().destroy(comm) != ncclSuccess) calls().abort(comm);
}

}  // namespace aorta::cuda
