#pragma once

#include <aorta/core/process/zygote.h>
#include <aorta/data/recipe.h>

// Processes for programs of one's own. What goes to them and comes back must be portable
// (data/portable.h); tensors in shared memory are shared, others copied. Functions are plain ones;
// a lambda that captures nothing is one with a + before it.

namespace aorta::data {

namespace detail {
/// Reads a function and its arguments, calls it, and writes what it returns.
using Call = void (*)(ArgumentReader& reader, ArgumentWriter& result);

template <class Result, class... Parameters>
void call(ArgumentReader& reader, ArgumentWriter& result) {
  const auto function = Portable<Result (*)(Parameters...)>::read(reader);
  // Braces: the arguments are read from left to right.
  std::tuple<std::decay_t<Parameters>...> arguments{
      Portable<std::decay_t<Parameters>>::read(reader)...};
  if constexpr (std::is_void_v<Result>)
    std::apply(function, std::move(arguments));
  else
    Portable<std::decay_t<Result>>::write(result, std::apply(function, std::move(arguments)));
}
}  // namespace detail

/// A function that runs in a process of its own, on one thread and without devices:
///
///     const Tensor sums = zeros({4}).share_memory();
///     data::Process worker(+[](const Tensor& sums, int64_t i) { sums[i].fill_(7); }, sums, 2);
///     worker.join();
///
/// How it starts is a loader's StartMethod: with `StartMethod::spawn` in front of the function it
/// has nothing of the program but its arguments, as a new one, and `main` runs up to `init()`.
class Process {
 public:
  template <class... Parameters, class... Arguments>
  explicit Process(void (*function)(Parameters...), const Arguments&... arguments)
      : Process(StartMethod::automatic, function, arguments...) {}
  template <class... Parameters, class... Arguments>
  Process(StartMethod method, void (*function)(Parameters...), const Arguments&... arguments) {
    ArgumentWriter writer;
    Portable<detail::Call>::write(writer, &detail::call<void, Parameters...>);
    Portable<void (*)(Parameters...)>::write(writer, function);
    (Portable<std::decay_t<Parameters>>::write(writer, arguments), ...);
    start(writer, method);
  }
  Process(Process&& other) noexcept = default;
  Process& operator=(Process&&) = delete;
  /// Ends the process if it still runs: SIGTERM, and SIGKILL a second later.
  ~Process();

  int pid() const { return static_cast<int>(process_.pid); }
  bool is_alive() { return !join(0).has_value(); }
  /// Waits for the end and returns the exit code: that of the process, 1 after an exception (its
  /// text is on stderr), or minus the number of the signal that ended it.
  int join();
  /// Waits for at most so many seconds; returns nothing when the process runs on.
  std::optional<int> join(double seconds);
  void terminate();
  void kill();

 private:
  void start(const ArgumentWriter& writer, StartMethod method);

  StartedProcess process_;
  std::optional<int> code_;
};

/// Processes that stay, for one call after another:
///
///     data::ProcessPool pool(4);
///     const std::vector<double> areas = pool.map(+[](const std::string& path) { ... }, paths);
class ProcessPool {
 public:
  explicit ProcessPool(int processes, StartMethod method = StartMethod::automatic);
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()); }

  /// The function of each input, in the order of the inputs, each computed by the next process that
  /// is free. When calls fail the others still run, and then the first failure is thrown: `map:
  /// call 3 must succeed, got std::runtime_error: ...` or `..., got process 1 (pid 12) was killed
  /// by signal 9 (SIGKILL)`. A process that died is started again.
  template <class Result, class Parameter>
  std::vector<std::decay_t<Result>> map(Result (*function)(Parameter),
                                        const List<std::decay_t<Parameter>>& inputs) {
    std::vector<std::optional<std::decay_t<Result>>> results(inputs.size());
    run(
        inputs.size(),
        [&](size_t i, ArgumentWriter& writer) {
          Portable<detail::Call>::write(writer, &detail::call<Result, Parameter>);
          Portable<Result (*)(Parameter)>::write(writer, function);
          Portable<std::decay_t<Parameter>>::write(writer, inputs[i]);
        },
        [&](size_t i, ArgumentReader& reader) {
          results[i] = Portable<std::decay_t<Result>>::read(reader);
        });
    std::vector<std::decay_t<Result>> all;
    all.reserve(results.size());
    for (auto& result : results) all.push_back(std::move(*result));
    return all;
  }

 private:
  struct Worker {
    StartedProcess process;
    std::optional<size_t> call;
  };
  using WriteCall = std::function<void(size_t call, ArgumentWriter& writer)>;
  using ReadResult = std::function<void(size_t call, ArgumentReader& reader)>;
  void run(size_t calls, const WriteCall& write, const ReadResult& read);
  void run_calls(size_t calls, const WriteCall& write, const ReadResult& read);
  void start(Worker& worker);
  void stop(Worker& worker);
  std::optional<std::string> collect(Worker& worker, const ReadResult& read);

  std::vector<Worker> workers_;
  StartMethod method_;
};

}  // namespace aorta::data
