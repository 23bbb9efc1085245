#include <aorta/core/clock.h>
#include <aorta/data/sample_error.h>
#include <aorta/data/workers/parcel.h>
#include <aorta/data/workers/process.h>

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

namespace aorta::data {
namespace {

// A process of the user's is ended by the terminal and by terminate(), as programs are.
void take_signals() {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    signal(number, SIG_DFL);
    sigaddset(&taken, number);
  }
  pthread_sigmask(SIG_UNBLOCK, &taken, nullptr);  // one that came before ends it now
}

void process_main(ProcessContext& context) {
  take_signals();
  prctl(PR_SET_NAME, "aorta-process");
  ArgumentReader reader(context.payload, context.descriptors);
  ArgumentWriter result;
  const auto call = Portable<detail::Call>::read(reader);
  call(reader, result);
}

// Calls arrive as parcels; back goes a byte that says whether it went well, and a result or a text.
void pool_main(ProcessContext& context) {
  take_signals();
  prctl(PR_SET_NAME, "aorta-pool");
  while (auto message = context.channel.receive()) {
    Parcel parcel(std::move(*message));
    ArgumentReader reader = parcel.reader();
    ArgumentWriter result, failure;
    try {
      const auto call = Portable<detail::Call>::read(reader);
      Portable<bool>::write(result, true);
      call(reader, result);
      check(result.refusal().empty(), "map", "a result must be portable", result.refusal());
      send_parcel(context.channel, result);
    } catch (...) {
      const auto [type, text] = describe_exception();
      Portable<bool>::write(failure, false);
      Portable<std::string>::write(failure, text_with_type(type, text));
      send_parcel(context.channel, failure);
    }
  }
}

// The status of a process that somebody else has collected, or the system where SIGCHLD is ignored.
constexpr int kUnknown = -1;

// The status of a process that has ended, as waitpid gives it; none while it runs.
std::optional<int> end_status(StartedProcess& process, double seconds) {
  pollfd wait{process.pidfd.get(), POLLIN, 0};
  const double end = seconds_now() + seconds;
  for (;;) {
    const int left = seconds < 0 ? -1 : poll_milliseconds(end - seconds_now());
    const int ready = poll(&wait, 1, left);
    if (ready > 0) break;
    if (ready == 0 && seconds_now() < end) continue;
    if (ready == 0 || errno != EINTR) return {};
  }
  if (process.own_child) {
    int status = 0;
    if (waitpid(process.pid, &status, 0) != process.pid) return kUnknown;
    return status;
  }
  // The zygote tells on the channel, after whatever the process has sent; it may be a busy machine.
  while (auto message = process.channel.receive(10'000))
    if (const auto status = StartedProcess::end_status(*message)) return status;
  return SIGKILL;  // the zygote is gone, and took its children along
}

}  // namespace

void Process::start(const ArgumentWriter& writer, StartMethod method) {
  check(writer.refusal().empty(), "process", "arguments must be portable", writer.refusal());
  process_ = start_process(process_main, writer.text(), writer.descriptors(), method);
}

Process::~Process() {
  if (!process_.pidfd || code_) return;
  terminate();
  if (end_status(process_, 1)) return;
  kill();
  end_status(process_, -1);
}

int Process::join() { return *join(-1.); }

std::optional<int> Process::join(double seconds) {
  if (code_) return code_;
  const auto status = end_status(process_, seconds);
  if (!status) return {};
  check(*status != kUnknown, "process", "its end must be this program's to collect",
        "none (is SIGCHLD ignored?)");
  code_ = WIFSIGNALED(*status) ? -WTERMSIG(*status) : WEXITSTATUS(*status);
  return code_;
}

void Process::terminate() {
  if (!code_) send_signal(process_.pidfd, SIGTERM);
}

void Process::kill() {
  if (!code_) send_signal(process_.pidfd, SIGKILL);
}

ProcessPool::ProcessPool(int processes, StartMethod method)
    : workers_(static_cast<size_t>(std::max(processes, 0))), method_(method) {
  check(processes >= 1, "process_pool", "there must be a process", processes);
  for (Worker& worker : workers_) start(worker);
}

ProcessPool::~ProcessPool() {
  for (Worker& worker : workers_) stop(worker);
}

void ProcessPool::start(Worker& worker) {
  worker.process = start_process(pool_main, "", {}, method_);
}

void ProcessPool::stop(Worker& worker) {
  send_signal(worker.process.pidfd, SIGTERM);
  if (!end_status(worker.process, 1)) {
    send_signal(worker.process.pidfd, SIGKILL);
    end_status(worker.process, -1);
  }
}

// Takes in what a process has sent, or its end. Returns what went wrong.
std::optional<std::string> ProcessPool::collect(Worker& worker, const ReadResult& read) {
  const size_t call = *worker.call;
  auto message = worker.process.channel.receive();
  if (message && !StartedProcess::end_status(*message)) {
    worker.call.reset();
    Parcel parcel(std::move(*message));
    ArgumentReader reader = parcel.reader();
    if (!Portable<bool>::read(reader)) return Portable<std::string>::read(reader);
    read(call, reader);
    return {};
  }
  const auto status =
      message ? StartedProcess::end_status(*message) : end_status(worker.process, -1);
  const std::string how =
      "process " + std::to_string(&worker - workers_.data()) + " (pid " +
      std::to_string(worker.process.pid) + ") " +
      (*status == kUnknown ? "ended, nobody can tell how" : status_text(*status));
  worker.call.reset();
  start(worker);
  return how;
}

void ProcessPool::run(size_t calls, const WriteCall& write, const ReadResult& read) {
  try {
    run_calls(calls, write, read);
  } catch (...) {
    // What is under way belongs to no later map().
    for (Worker& worker : workers_) {
      if (!worker.call) continue;
      stop(worker);
      worker.call.reset();
      start(worker);
    }
    throw;
  }
}

void ProcessPool::run_calls(size_t calls, const WriteCall& write, const ReadResult& read) {
  size_t next = 0, running = 0;
  std::optional<std::pair<size_t, std::string>> failure;
  const auto hand_out = [&](Worker& worker) {
    if (next == calls) return;
    ArgumentWriter writer;
    write(next, writer);
    check(writer.refusal().empty(), "map", "arguments must be portable", writer.refusal());
    worker.call = next++;
    ++running;
    send_parcel(worker.process.channel, writer);  // if it has ended, collect() says so
  };
  for (Worker& worker : workers_) hand_out(worker);
  while (running > 0) {
    std::vector<pollfd> waits;
    for (const Worker& worker : workers_)
      waits.push_back({worker.call ? worker.process.channel.descriptor() : -1, POLLIN, 0});
    if (poll(waits.data(), waits.size(), -1) < 0) continue;
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (waits[i].revents == 0) continue;
      const size_t call = *workers_[i].call;
      auto problem = collect(workers_[i], read);
      --running;
      if (problem && (!failure || call < failure->first)) failure = {call, std::move(*problem)};
      hand_out(workers_[i]);
    }
  }
  if (failure)
    fail("map", "call " + std::to_string(failure->first) + " must succeed", failure->second);
}

}  // namespace aorta::data
