#pragma once

#include <memory>
#include <string>
#include <vector>

namespace aorta::bench {

/// A program that does the peer's side of rows, as a child process: one request a line, one answer
/// a line, fields separated by tabs. The answer is "ok" and values, or "error" and a reason.
///
///     hello                            ok, version, ...
///     threads N                        ok
///     define ID SETUP EXPRESSION       ok
///     values ID CHECK                  ok, the values of sample() or moments()
///     time ID REPETITIONS              ok, seconds
///     drop ID                          ok
class Peer {
 public:
  /// Starts `command`. Throws Error when it doesn't answer.
  explicit Peer(const std::vector<std::string>& command);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// The fields after "ok". Throws Error with the peer's reason, or when it is gone or says nothing
  /// for ten minutes (then it is ended).
  std::vector<std::string> ask(const std::vector<std::string>& request);
  double ask_number(const std::vector<std::string>& request);

 private:
  std::string read_line();
  void stop();

  int pid_ = -1, to_ = -1, from_ = -1;
  std::string buffer_;
};

/// PyTorch's peer, started at first use; null where there is none, with the reason in `why`.
std::shared_ptr<Peer> torch_peer(std::string& why);

/// PyTorch's version, or "none" and why.
std::string torch_version();

/// The folder of PyTorch's C++ headers and libraries: that of the package. Empty without a peer.
std::string torch_folder();

/// The path of a file of tools/bench, beside the program's runfiles or in the tree.
std::string bench_file(const std::string& name);

/// A path as the caller means it: `bazel run` starts programs in a folder of its own.
std::string from_callers_folder(const std::string& path);

/// The text of a program's output. Throws Error with the end of it when the program fails.
std::string run_program(const std::vector<std::string>& command);

}  // namespace aorta::bench
