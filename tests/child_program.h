#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace aorta {

/// A program in a process of its own, which is killed when this goes.
class ChildProgram {
 public:
  /// `variables`, "NAME=value", stand before those of this process. Throws where none can be made.
  explicit ChildProgram(std::vector<std::string> command, std::vector<std::string> variables = {}) {
    std::vector<char*> arguments, environment;
    for (std::string& text : command) arguments.push_back(text.data());
    for (std::string& text : variables) environment.push_back(text.data());
    for (char** text = environ; *text; ++text) environment.push_back(*text);
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execve(arguments[0], arguments.data(), environment.data());
    _exit(98);
  }
  ~ChildProgram() { end_with(SIGKILL); }
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  /// False when it has ended.
  bool runs() {
    if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    return !ended_;
  }
  /// Sends it the signal, waits for its end, and gives what waitpid() says of that.
  int end_with(int signal) {
    if (runs()) {
      kill(pid_, signal);
      return wait();
    }
    return status_;
  }
  int wait() {
    if (!ended_) ended_ = waitpid(pid_, &status_, 0) == pid_;
    return status_;
  }

 private:
  pid_t pid_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace aorta
