// Processes that are the program anew: fork and exec, and nothing comes along but its environment,
// its folder, its standard streams and what it is sent.
#include <aorta/core/io/bytes.h>
#include <aorta/core/process/child.h>
#include <aorta/core/process/function_place.h>
#include <aorta/core/process/init.h>
#include <aorta/core/process/shared_memory.h>
#include <aorta/core/resource_error.h>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace aorta {
namespace {

// The descriptor of a spawned process's channel.
constexpr const char* kVariable = "AORTA_SPAWNED_CHANNEL";
constexpr int kRequestMs = 60'000;

// What the first message on the channel says, before the function's place.
struct Request {
  int64_t payload_size = 0;
  pid_t starter = 0;
  bool of_main_thread = false;
};

// Replaces this process, a fork of the program, by the program anew. Only calls that are safe in
// the fork of a program with threads.
[[noreturn]] void exec_program(int channel, char* const* arguments, char* const* environment) {
  // Also those that others have opened without O_CLOEXEC.
  syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
  fcntl(channel, F_SETFD, 0);
  execve("/proc/self/exe", arguments, environment);
  _exit(127);
}

}  // namespace

StartedProcess spawn_process(ProcessMain main, std::string_view payload,
                             std::span<const int> descriptors) {
  check(is_init_called(), "start_process",
        "StartMethod::spawn needs aorta::init(argc, argv), main's first statement",
        "no call of it");
  auto [ours, theirs] = Channel::make();
  const auto memory = SharedMemory::create(
      "start_process", std::max<int64_t>(static_cast<int64_t>(payload.size()), 1));
  if (!payload.empty()) std::memcpy(memory->data(), payload.data(), payload.size());
  std::vector<int> passed{memory->descriptor()};
  passed.insert(passed.end(), descriptors.begin(), descriptors.end());
  const pid_t self = getpid();
  const bool of_main_thread = gettid() == self;
  std::string request;
  io::append(request, Request{static_cast<int64_t>(payload.size()), self, of_main_thread});
  request += FunctionPlace::of(reinterpret_cast<const void*>(main)).text();
  ours.send(request, passed);

  std::string setting = kVariable;
  setting += '=';
  setting += std::to_string(theirs.descriptor());
  std::vector<char*> environment;
  for (char** variable = environ; *variable; ++variable) environment.push_back(*variable);
  environment.push_back(setting.data());
  environment.push_back(nullptr);
  char* const arguments[] = {const_cast<char*>(program_name().c_str()), nullptr};
  const pid_t pid = fork_process();
  if (pid < 0)
    fail_for_resources("start_process", "the process must be able to fork", errno_text(errno));
  if (pid == 0) {
    // The kernel's signal comes when the thread that forked ends: only the main one's end is the
    // program's.
    if (of_main_thread) die_with_parent(self);
    exec_program(theirs.descriptor(), arguments, environment.data());
  }
  StartedProcess started;
  started.pid = pid;
  started.pidfd = open_pidfd(pid);
  started.channel = std::move(ours);
  started.own_child = true;
  return started;
}

void run_if_spawned() {
  const char* variable = std::getenv(kVariable);
  if (!variable) return;
  Channel channel{Descriptor(std::atoi(variable))};
  unsetenv(kVariable);
  run_child([&] {
    fcntl(channel.descriptor(), F_SETFD, FD_CLOEXEC);
    auto message = channel.receive(kRequestMs);
    check(message && message->bytes.size() > sizeof(Request) && !message->descriptors.empty(),
          "start_process", "a spawned process must be told what it does", "nothing");
    const auto request = io::load<Request>(std::as_bytes(std::span(message->bytes)), 0);
    if (!request.of_main_thread) die_with_program(request.starter);
    std::string_view rest = std::string_view(message->bytes).substr(sizeof(Request));
    const FunctionPlace place = FunctionPlace::parse(rest);
    const auto function = reinterpret_cast<ProcessMain>(place.address());
    check(function, "start_process",
          "what a spawned process runs must be in the program or a library that it starts with",
          place.path);
    ProcessContext context;
    context.starter = request.starter;
    context.channel = std::move(channel);
    context.payload.assign(SharedMemory::open(std::move(message->descriptors[0]))->data(),
                           static_cast<size_t>(request.payload_size));
    for (size_t i = 1; i < message->descriptors.size(); ++i)
      context.descriptors.push_back(std::move(message->descriptors[i]));
    function(context);
  });
}

}  // namespace aorta
