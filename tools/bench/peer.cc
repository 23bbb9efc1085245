#include <aorta/core/check.h>
#include <aorta/tools/bench/peer.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

namespace aorta::bench {
namespace {

constexpr int kPatienceMilliseconds = 600'000;

struct Pipe {
  Pipe() { check(pipe2(ends, O_CLOEXEC) == 0, "peer", "a pipe can be made", std::strerror(errno)); }
  int ends[2];
};

// Starts a program with these file descriptors as standard input, output and error (-1: ours).
int start(const std::vector<std::string>& command, int input, int output, int error) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int pid = fork();
  check(pid >= 0, "peer", "a process can be started", std::strerror(errno));
  if (pid == 0) {
    if (input >= 0) dup2(input, 0);
    if (output >= 0) dup2(output, 1);
    if (error >= 0) dup2(error, 2);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  return pid;
}

std::vector<std::string> split_tabs(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == '\t') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

Peer::Peer(const std::vector<std::string>& command) {
  signal(SIGPIPE, SIG_IGN);  // a peer that is gone is an error, not our end
  const Pipe requests, answers;
  pid_ = start(command, requests.ends[0], answers.ends[1], -1);
  close(requests.ends[0]);
  close(answers.ends[1]);
  to_ = requests.ends[1];
  from_ = answers.ends[0];
}

Peer::~Peer() { stop(); }

void Peer::stop() {
  if (pid_ < 0) return;
  close(to_);
  close(from_);
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string Peer::read_line() {
  for (;;) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      const std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    pollfd wait = {from_, POLLIN, 0};
    const int ready = poll(&wait, 1, kPatienceMilliseconds);
    if (ready < 0 && errno == EINTR) continue;
    char part[4096];
    const ssize_t count = ready > 0 ? read(from_, part, sizeof part) : -1;
    if (count > 0) {
      buffer_.append(part, static_cast<size_t>(count));
      continue;
    }
    stop();
    fail("peer", ready == 0 ? "it answers within ten minutes" : "it runs until it is told to end");
  }
}

std::vector<std::string> Peer::ask(const std::vector<std::string>& request) {
  check(pid_ >= 0, "peer", "it runs");
  const std::string line = fmt::format("{}\n", fmt::join(request, "\t"));
  for (size_t done = 0; done < line.size();) {
    const ssize_t count = write(to_, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      stop();
      fail("peer", "it runs until it is told to end");
    }
    done += static_cast<size_t>(count);
  }
  std::vector<std::string> fields = split_tabs(read_line());
  if (fields[0] != "ok") throw Error(fields.size() > 1 ? fields[1] : fields[0]);
  fields.erase(fields.begin());
  return fields;
}

double Peer::ask_number(const std::vector<std::string>& request) {
  const std::vector<std::string> fields = ask(request);
  check(fields.size() == 1, "peer", "one number as answer", fields.size());
  return std::strtod(fields[0].c_str(), nullptr);
}

std::string run_program(const std::vector<std::string>& command) {
  const Pipe output;
  const int pid = start(command, -1, output.ends[1], output.ends[1]);
  close(output.ends[1]);
  std::string text;
  char part[65536];
  for (ssize_t count; (count = read(output.ends[0], part, sizeof part)) != 0;) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) text.append(part, static_cast<size_t>(count));
  }
  close(output.ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0) {
    throw Error(fmt::format("{} failed: {}", command[0],
                            text.substr(text.size() > 300 ? text.size() - 300 : 0)));
  }
  return text;
}

std::string bench_file(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string program = fs::read_symlink("/proc/self/exe", error).string();
  const char* tests = std::getenv("TEST_SRCDIR");
  for (const std::string& root : {program + ".runfiles/aorta",
                                  std::string(tests ? tests : "") + "/aorta", std::string(".")}) {
    const fs::path path = fs::path(root) / "tools/bench" / name;
    if (fs::exists(path, error)) return fs::absolute(path).string();
  }
  fail("bench", "its files lie beside the program (bazel run //tools/bench)", name);
}

std::string from_callers_folder(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  return folder ? (std::filesystem::path(folder) / path).string() : path;
}

namespace {

struct TorchPeer {
  std::shared_ptr<Peer> peer;
  std::string version, folder, why;
};

TorchPeer start_torch() {
  TorchPeer torch;
  const char* python = std::getenv("AORTA_PEER_PYTHON");
  if (!python || !*python) {
    torch.why = "AORTA_PEER_PYTHON names no interpreter";
    return torch;
  }
  try {
    torch.peer = std::make_shared<Peer>(std::vector<std::string>{python, bench_file("peer.py")});
    const std::vector<std::string> hello = torch.peer->ask({"hello"});
    check(hello.size() == 2, "peer.py", "version and folder as answer", hello.size());
    torch.version = hello[0];
    torch.folder = hello[1];
  } catch (const Error& error) {
    torch.peer.reset();
    torch.why = fmt::format("{} {}", python, error.what());
  }
  return torch;
}

TorchPeer& torch() {
  static TorchPeer peer = start_torch();
  return peer;
}

}  // namespace

std::shared_ptr<Peer> torch_peer(std::string& why) {
  why = torch().why;
  return torch().peer;
}

std::string torch_version() {
  return torch().peer ? torch().version : fmt::format("none ({})", torch().why);
}

std::string torch_folder() { return torch().folder; }

}  // namespace aorta::bench
