#pragma once

#include <aorta/core/process/channel.h>

#include <sys/types.h>

namespace aorta {

/// How a process comes to be. The zygote is a child that init() forked before there were threads:
/// its own children start clean, in a fraction of a millisecond for a program of any size, and know
/// the same functions. `spawn` starts the program anew, whose main calls init(), its first
/// statement: such a process has nothing of the program but its environment, folder and standard
/// streams. `fork` copies the program as it runs, with everything that it has made. `automatic` is
/// the zygote where it will do, else fork.
enum class StartMethod { automatic, zygote, spawn, fork };

/// What a new process gets.
struct ProcessContext {
  Channel channel;  // its starter has the other end
  std::string payload;
  std::vector<Descriptor> descriptors;
  pid_t starter = 0;
};

/// What a new process does; it ends with it. An exception's text goes to stderr and the exit code
/// is 1. SIGINT, SIGTERM and SIGHUP are blocked, devices refused, numeric threads are one.
using ProcessMain = void (*)(ProcessContext& context);

/// A process that start_process() made.
struct StartedProcess {
  pid_t pid = 0;
  Descriptor pidfd;  // readable when the process has ended
  Channel channel;
  bool own_child = false;  // else the zygote's, which reports its end on the channel
  bool is_copy = false;    // of the program as it was then (fork)

  /// The message on a channel that says how the process ended: its status as waitpid gives it.
  static std::optional<int> end_status(const Channel::Message& message);
};

/// Starts `main` in a new process. Throws where that can't be done: the zygote is gone, or `main`
/// stands in a library that was loaded after init(). With `automatic` it then forks, and says so
/// once on stderr when there had been a zygote.
StartedProcess start_process(ProcessMain main, std::string_view payload,
                             std::span<const int> descriptors, StartMethod method);

/// Forks this process. Output that is still buffered is written first, in the parent. In the child
/// returns 0, with SIGINT, SIGTERM and SIGHUP at their defaults and blocked: who handles them
/// unblocks them.
pid_t fork_process();
/// Ends this process at once, without destructors, after writing buffered output.
[[noreturn]] void exit_process(int code);
/// A descriptor that becomes readable when the process ends.
Descriptor open_pidfd(pid_t pid);
/// Sends a signal to the process of such a descriptor, and to no other: where it has ended and been
/// collected, its pid may be a stranger's by now, and nothing happens.
void send_signal(const Descriptor& pidfd, int number);
/// Makes the kernel kill this process when its parent, `parent`, ends.
void die_with_parent(pid_t parent);

/// "was killed by signal 9 (SIGKILL)", "exited with code 3".
std::string status_text(int status);

/// Whether a zygote is there for new processes. Why it isn't is said on the standard error, once.
bool has_zygote_or_says_why();
/// Forks the zygote; init() calls it.
void start_zygote();

}  // namespace aorta
