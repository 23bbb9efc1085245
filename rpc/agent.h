#pragma once

#include <aorta/core/device.h>
#include <aorta/core/process/mailbox.h>
#include <aorta/core/process/portable.h>
#include <aorta/rpc/future.h>

#include <compare>
#include <map>
#include <string>
#include <vector>

namespace aorta::distributed::rpc {

/// A process that takes part, by its name and its rank.
struct WorkerInfo {
  std::string name;
  int id = 0;
  bool operator==(const WorkerInfo&) const = default;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(name, id);
  }
};

/// Where a worker's tensors on devices go to: `{{"worker1", {{"cuda:0", "cuda:1"}}}}`.
using DeviceMap = List<std::pair<Device, Device>>;

/// PyTorch's TensorPipeRpcBackendOptions.
struct RpcOptions {
  int num_worker_threads = 16;  // at most so many calls are served at once
  double rpc_timeout = 60;      // seconds until a call fails; 0: never
  List<std::pair<std::string, DeviceMap>> device_maps = {};
};

/// Whom a call goes to, and for how long it is waited for: a name, a rank or a WorkerInfo;
/// `{"worker1", 5.0}`. Negative: rpc_timeout.
class To {
 public:
  template <class Name>
  requires std::is_constructible_v<Text, const Name&> To(const Name& name, double timeout = -1)
      : name_(Text(name)), timeout_(timeout) {}  // NOLINT: implicit, as the next
  To(int rank, double timeout = -1) : rank_(rank), timeout_(timeout) {}  // NOLINT
  To(const WorkerInfo& worker, double timeout = -1)                      // NOLINT
      : name_(worker.name), rank_(worker.id), timeout_(timeout) {}

  const std::string& name() const { return name_; }
  int rank() const { return rank_; }
  double timeout() const { return timeout_; }

 private:
  std::string name_;
  int rank_ = -1;
  double timeout_;
};

// What follows isn't for users.
namespace detail {

using futures::Future;
using futures::detail::Failure;

class Agent;

/// Names a value that one process has and others refer to: who made it, and a number of its own.
struct RRefId {
  int rank = 0;
  int64_t number = 0;
  auto operator<=>(const RRefId&) const = default;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(rank, number);
  }
};

/// One process's hold on such a value. The owner frees the value when no process has one.
class Hold {
 public:
  Hold(std::shared_ptr<Agent> agent, const RRefId& id, int owner);
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  const RRefId& id() const { return id_; }
  int owner() const { return owner_; }
  /// This process's agent; throws where the value was another one's, which has ended.
  std::shared_ptr<Agent> agent(const char* op) const;

 private:
  const std::weak_ptr<Agent> agent_;
  const RRefId id_;
  const int owner_;
};

/// Takes the values of a letter to `to`, tensors apart.
class CallWriter final : public ArgumentWriter {
 public:
  explicit CallWriter(int to) : to_(to) {}
  /// Takes back what was passed, unless it was sent.
  ~CallWriter() override;
  bool takes(const Tensor& tensor) override;
  /// Gives the receiver a hold of its own.
  void pass(const Hold& hold);
  void was_sent() { passed_.clear(); }
  int to() const { return to_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  const int to_;
  std::vector<Tensor> tensors_;
  std::vector<std::pair<RRefId, int>> passed_;  // with the owner
};

class CallReader final : public ArgumentReader {
 public:
  CallReader(std::string_view text, std::vector<Tensor> tensors)
      : ArgumentReader(text), tensors_(std::move(tensors)) {}
  std::optional<Tensor> taken() override;

 private:
  std::vector<Tensor> tensors_;
  size_t next_ = 0;
};

/// How a call that came is answered; a copy may be kept for later.
class Reply {
 public:
  Reply(std::shared_ptr<Agent> agent, int to, int64_t call, int64_t context,
        std::shared_ptr<Hold> made)
      : agent_(std::move(agent)), to_(to), call_(call), context_(context), made_(std::move(made)) {}

  /// Answers with what `function` returns, when it is there if that is a future, or throws.
  template <class Function>
  void with(Function&& function) const;
  /// The place of the value that the call makes to stay here.
  Future<std::shared_ptr<void>> made() const;

 private:
  void send(CallWriter& writer) const;
  void fail(const Failure& failure) const;

  std::shared_ptr<Agent> agent_;
  int to_;
  int64_t call_, context_;
  std::shared_ptr<Hold> made_;  // until it is there; null where the call makes none
};

/// What serves a call: reads the arguments and answers.
using Serve = void (*)(CallReader& reader, const Reply& reply);
/// What is done with the answer: one of the two is null.
using Answer = std::function<void(CallReader* reader, const Failure* failure)>;

/// This process's part: its calls, the threads that serve the others' calls, and its values that
/// others refer to.
class Agent : public std::enable_shared_from_this<Agent> {
 public:
  /// The one of this process; throws in the name of `op` where there is none.
  static std::shared_ptr<Agent> get(const char* op);
  /// Learns of the others, which all make theirs together.
  static std::shared_ptr<Agent> make(const std::string& name, const RpcOptions& options);
  /// Begins to receive; all do together.
  virtual void start() = 0;
  virtual ~Agent() = default;

  virtual const std::vector<WorkerInfo>& workers() const = 0;
  virtual int rank() const = 0;
  /// The worker's rank; throws where there is none of that name or rank.
  int find(const To& to) const;
  /// Returns when all processes have called it and no call is under way.
  virtual void wait_for_all() = 0;
  /// The end; what waits fails.
  virtual void stop() = 0;
  /// Sends and receives no more, for a program that ends: its threads may still run.
  virtual void leave() = 0;

  /// Sends a call, for which `answer` is called once, on any thread; `rref`: that it makes.
  virtual void call(CallWriter& writer, const To& to, Answer answer, const RRefId& rref = {}) = 0;
  virtual void reply(CallWriter& writer, int64_t call, int64_t context) = 0;
  virtual void reply_failure(int to, int64_t call, const Failure& failure) = 0;
  /// Runs it on a thread that serves calls.
  virtual void post(std::function<void()> work) = 0;

  virtual RRefId new_rref() = 0;
  /// `count` holds more (fewer) of process `rank` on a value of `owner`'s.
  virtual void change_holds(const RRefId& id, int owner, int rank, int count) = 0;
  /// The owner's place of a value.
  virtual Future<std::shared_ptr<void>> value_of(const RRefId& id) = 0;
};

template <class T>
struct Unwrapped {
  using Type = std::decay_t<T>;
};
template <class T>
struct Unwrapped<Future<T>> {
  using Type = T;
};
/// What a function that returns T, or a Future of it, answers with.
template <class T>
using unwrapped_t = typename Unwrapped<T>::Type;

template <class Function>
void Reply::with(Function&& function) const {
  using Result = std::invoke_result_t<Function&>;
  try {
    CallWriter writer(to_);
    if constexpr (!std::is_same_v<std::decay_t<Result>, unwrapped_t<Result>>) {
      function().add_done_callback(
          [reply = *this](const auto& future) { reply.with([&] { return future.value(); }); });
      return;
    } else if constexpr (std::is_void_v<Result>) {
      function();
    } else {
      Portable<std::decay_t<Result>>::write(writer, function());
    }
    send(writer);
  } catch (...) {
    fail(Failure::current());
  }
}

}  // namespace detail
}  // namespace aorta::distributed::rpc
