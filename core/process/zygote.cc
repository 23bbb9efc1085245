#include <aorta/core/io/bytes.h>
#include <aorta/core/process/child.h>
#include <aorta/core/process/function_place.h>
#include <aorta/core/process/shared_memory.h>
#include <aorta/core/process/zygote.h>
#include <aorta/core/resource_error.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <mutex>
#include <new>
#include <thread>

namespace aorta {
namespace {

constexpr int kAnswerMs = 5'000;
constexpr char kEnded = '\xff';  // the first byte of a message about a process's end

struct Zygote {
  std::mutex mutex;
  Channel channel;
  pid_t pid = 0;
  pid_t owner = 0;    // the process that may talk to it
  std::string fault;  // why it can't be used any more
};

Zygote& zygote() {
  static Zygote* instance = new Zygote;
  return *instance;
}

// What ends a program is for the program, not for its copies, until one asks for it: blocked, it is
// kept for then. The default action, for a handler of the program's must not run in its copy, and
// to ignore a signal would lose one that has come since the fork.
void leave_signals_to_program(sigset_t& mask) {
  sigemptyset(&mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    ::signal(number, SIG_DFL);
    sigaddset(&mask, number);
  }
}

struct Child {
  pid_t pid;
  Descriptor pidfd;
  Channel channel;  // the child's own end, to report its end in its name
};

void report_ended(std::vector<Child>& children) {
  for (size_t i = children.size(); i-- > 0;) {
    int status = 0;
    if (waitpid(children[i].pid, &status, WNOHANG) != children[i].pid) continue;
    std::string message(1, kEnded);
    io::append(message, status);
    children[i].channel.send(message);
    children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// What the request of a start asks for; its payload is still to be copied.
ProcessContext requested(Channel::Message& message, pid_t program) {
  ProcessContext context;
  context.starter = program;
  context.channel = Channel(std::move(message.descriptors.at(0)));
  for (size_t i = 2; i < message.descriptors.size(); ++i)
    context.descriptors.push_back(std::move(message.descriptors[i]));
  return context;
}

// Answers of the zygote: '+' with the pid, '?' for a function that it doesn't know, '!' with why it
// can't. What it throws for want of descriptors or memory is for its program to say.
void serve_request(Channel& channel, Channel::Message& message, std::vector<Child>& children,
                   pid_t program) {
  std::string_view place = std::string_view(message.bytes).substr(sizeof(int64_t));
  const auto function = reinterpret_cast<ProcessMain>(FunctionPlace::parse(place).address());
  if (!function) {
    channel.send("?");
    return;
  }
  ProcessContext context = requested(message, program);
  auto payload = SharedMemory::open(std::move(message.descriptors.at(1)));
  const auto size = io::load<int64_t>(std::as_bytes(std::span(message.bytes)), 0);
  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid == 0)
    run_child([&] {
      die_with_parent(self);
      channel.close();
      children.clear();
      // Here, for a large one takes memory, and longer than the program waits for an answer.
      context.payload.assign(payload->data(), static_cast<size_t>(size));
      payload.reset();
      function(context);
    });
  if (pid < 0)
    fail_for_resources("start_process", "the zygote must be able to fork", errno_text(errno));
  try {
    children.push_back({pid, open_pidfd(pid), std::move(context.channel)});
  } catch (const Error&) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    throw;
  }
  std::string answer(1, '+');
  io::append(answer, int64_t{pid});
  const int descriptor = children.back().pidfd.get();
  channel.send(answer, std::span(&descriptor, 1));
}

// False when the program has ended.
bool serve(Channel& channel, std::vector<Child>& children, pid_t program) {
  try {
    auto message = channel.receive();
    if (!message) return false;
    serve_request(channel, *message, children, program);
  } catch (const Error& error) {
    channel.send(std::string("!") + error.what());
  } catch (const std::bad_alloc&) {
    channel.send("!start_process: the zygote must have memory, got too little");
  }
  return true;
}

// Never returns: what called belongs to the program.
[[noreturn]] void zygote_main(Channel channel, pid_t program) {
  die_with_parent(program);
  prctl(PR_SET_NAME, "aorta-zygote");
  try {
    std::vector<Child> children;
    for (;;) {
      std::vector<pollfd> waits{{channel.descriptor(), POLLIN, 0}};
      for (const Child& child : children) waits.push_back({child.pidfd.get(), POLLIN, 0});
      if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
      report_ended(children);
      if (waits[0].revents == 0) continue;
      if (!serve(channel, children, program)) _exit(0);
    }
  } catch (const std::exception&) {
    // The program finds that its zygote is gone, and says so.
  }
  _exit(1);
}

// Why the zygote can't be used; empty when it can. Holds the mutex.
std::string zygote_fault(const Zygote& state) {
  if (state.owner != getpid()) return "no call of aorta::init(argc, argv), main's first statement";
  return state.fault;
}

StartedProcess ask_zygote(Zygote& state, ProcessMain main, std::string_view payload,
                          std::span<const int> descriptors) {
  auto [ours, theirs] = Channel::make();
  const auto memory = SharedMemory::create(
      "start_process", std::max<int64_t>(static_cast<int64_t>(payload.size()), 1));
  if (!payload.empty()) std::memcpy(memory->data(), payload.data(), payload.size());
  std::vector<int> passed{theirs.descriptor(), memory->descriptor()};
  passed.insert(passed.end(), descriptors.begin(), descriptors.end());
  std::string request;
  io::append(request, static_cast<int64_t>(payload.size()));
  request += FunctionPlace::of(reinterpret_cast<const void*>(main)).text();

  const bool sent = state.channel.send(request, passed);
  auto answer = sent ? state.channel.receive(kAnswerMs) : std::nullopt;
  if (!answer) {
    // Its end, if it has ended, is this process's to collect.
    int status = 0;
    const bool ended = waitpid(state.pid, &status, WNOHANG) == state.pid;
    state.fault = "the zygote (pid " + std::to_string(state.pid) + ") " +
                  (ended ? status_text(status) : "doesn't answer");
    state.channel.close();
    if (!ended) kill(state.pid, SIGKILL);
    fail("start_process", "the zygote must be there", state.fault);
  }
  check(answer->bytes[0] != '?', "start_process",
        "what a process runs must be loaded before aorta::init(); StartMethod::fork will do",
        "a function of a library that was loaded later");
  if (answer->bytes[0] == '!') throw ResourceError(answer->bytes.substr(1));
  StartedProcess started;
  started.pid = static_cast<pid_t>(io::load<int64_t>(std::as_bytes(std::span(answer->bytes)), 1));
  started.pidfd = std::move(answer->descriptors.at(0));
  started.channel = std::move(ours);
  return started;
}

StartedProcess fork_live(ProcessMain main, std::string_view payload,
                         std::span<const int> descriptors) {
  auto ends = Channel::make();
  Channel& ours = ends.first;
  const pid_t self = getpid();
  const bool main_thread = gettid() == self;
  ProcessContext context;
  context.starter = self;
  context.channel = std::move(ends.second);
  context.payload = payload;
  for (const int descriptor : descriptors) {
    context.descriptors.emplace_back(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    if (!context.descriptors.back())
      fail_for_resources("start_process",
                         "descriptors must be there (ulimit -n shows how many files may be open)",
                         errno_text(errno));
  }
  const pid_t pid = fork_process();
  if (pid < 0)
    fail_for_resources("start_process", "the process must be able to fork", errno_text(errno));
  if (pid == 0)
    run_child([&] {
      // The kernel's signal comes when the thread that forked ends: only the main one's end is the
      // program's.
      if (main_thread)
        die_with_parent(self);
      else
        die_with_program(self);
      ours.close();
      main(context);
    });
  StartedProcess started;
  started.pid = pid;
  started.pidfd = open_pidfd(pid);
  started.channel = std::move(ours);
  started.own_child = true;
  started.is_copy = true;
  return started;
}

void say_once_that_it_forks(const std::string& why) {
  static std::atomic_flag said;
  if (said.test_and_set()) return;
  std::fprintf(stderr, "aorta: %s; processes are forked from the program itself\n", why.c_str());
}

}  // namespace

std::optional<int> StartedProcess::end_status(const Channel::Message& message) {
  if (message.bytes.empty() || message.bytes[0] != kEnded) return {};
  return io::load<int>(std::as_bytes(std::span(message.bytes)), 1);
}

StartedProcess start_process(ProcessMain main, std::string_view payload,
                             std::span<const int> descriptors, StartMethod method) {
  if (method == StartMethod::fork) return fork_live(main, payload, descriptors);
  if (method == StartMethod::spawn) return spawn_process(main, payload, descriptors);
  Zygote& state = zygote();
  // In a copy of the program the mutex may be held for ever.
  std::unique_lock lock(state.mutex, std::defer_lock);
  if (state.owner == getpid()) lock.lock();
  std::string fault = zygote_fault(state);
  if (method == StartMethod::zygote)
    check(fault.empty(), "start_process", "StartMethod::zygote needs a zygote", fault);
  if (fault.empty()) {
    try {
      return ask_zygote(state, main, payload, descriptors);
    } catch (const Error&) {
      fault = zygote_fault(state);
      if (method == StartMethod::zygote || fault.empty()) throw;
    }
  }
  say_once_that_it_forks(fault);
  return fork_live(main, payload, descriptors);
}

pid_t fork_process() {
  std::fflush(nullptr);
  std::cout.flush();
  sigset_t all, previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  const pid_t pid = fork();
  if (pid == 0) {
    leave_signals_to_program(previous);
    ::signal(SIGCHLD, SIG_DFL);
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  return pid;
}

void exit_process(int code) {
  std::fflush(nullptr);
  std::cout.flush();
  std::cerr.flush();
  _exit(code);
}

Descriptor open_pidfd(pid_t pid) {
  const auto number = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (number < 0)
    fail_after_call(errno, "process",
                    "a process must be watchable (Linux 5.3 or newer; ulimit -n shows how many "
                    "files may be open)",
                    errno_text(errno));
  return Descriptor(number);
}

void send_signal(const Descriptor& pidfd, int number) {
  syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0);
}

void die_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it ended before the line above
}

std::string status_text(int status) {
  if (!WIFSIGNALED(status)) return "exited with code " + std::to_string(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  const char* name = sigabbrev_np(number);
  return "was killed by signal " + std::to_string(number) +
         (name ? " (SIG" + std::string(name) + ")" : "");
}

bool has_zygote_or_says_why() {
  Zygote& state = zygote();
  // In a copy of the program the mutex may be held for ever.
  std::unique_lock lock(state.mutex, std::defer_lock);
  if (state.owner == getpid()) lock.lock();
  const std::string fault = zygote_fault(state);
  if (!fault.empty()) say_once_that_it_forks(fault);
  return fault.empty();
}

void start_zygote() {
  Zygote& state = zygote();
  const std::lock_guard lock(state.mutex);
  auto [ours, theirs] = Channel::make();
  const pid_t self = getpid();
  const pid_t pid = fork_process();
  if (pid < 0) fail_for_resources("init", "the process must be able to fork", errno_text(errno));
  if (pid == 0) {
    ours.close();
    zygote_main(std::move(theirs), self);
  }
  state.channel = std::move(ours);
  state.pid = pid;
  state.owner = self;
}

}  // namespace aorta
