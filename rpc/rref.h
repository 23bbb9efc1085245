#pragma once

#include <aorta/rpc/rpc.h>

namespace aorta::distributed::rpc {

namespace detail {
template <class T, auto method>
void serve_method(CallReader& reader, const Reply& reply);
template <class T, auto method>
void serve_remote_method(CallReader& reader, const Reply& reply);
}  // namespace detail

/// Refers to a value of one process, the owner, from any: PyTorch's RRef. It can be an argument or
/// a result of a call; copies are the same reference. The value lives until no process refers to it
/// any more, or rpc::shutdown().
///
///     rpc::RRef<Agent> agent = rpc::remote<Agent>("worker1", 4);
///     const double reward = agent.rpc_sync<&Agent::run_episode>(100);
template <class T>
class RRef {
 public:
  /// A value of this process's own.
  explicit RRef(T value) : RRef(std::make_shared<T>(std::move(value))) {}
  explicit RRef(std::shared_ptr<T> value) {
    const auto agent = detail::Agent::get("RRef");
    const detail::RRefId id = agent->new_rref();
    agent->change_holds(id, agent->rank(), agent->rank(), 1);
    agent->value_of(id).set_result(std::shared_ptr<void>(std::move(value)));
    hold_ = std::make_shared<detail::Hold>(agent, id, agent->rank());
  }

  WorkerInfo owner() const {
    return hold_->agent("RRef")->workers()[static_cast<size_t>(hold_->owner())];
  }
  std::string owner_name() const { return owner().name; }
  bool is_owner() const { return hold_->agent("RRef")->rank() == hold_->owner(); }

  /// The value itself, at its owner alone, once it is there; throws what making it has thrown.
  T& local_value() const {
    check(is_owner(), "RRef", "local_value() is for the owner alone",
          "a call on another worker than ", owner_name());
    return *std::static_pointer_cast<T>(hold_->agent("RRef")->value_of(hold_->id()).wait());
  }
  /// A copy of the value; throws what making it has thrown. Seconds; negative: rpc_timeout.
  T to_here(double timeout = -1) const {
    return rpc::rpc_sync<&RRef::copy>(To(owner(), timeout), *this);
  }

  /// Calls a method of the value where it is: `rref.rpc_sync<&Agent::act>(observation)`.
  template <auto method, class... Args>
  auto rpc_async(Args&&... args) const {
    using Result = detail::unwrapped_t<detail::result_t<method>>;
    return detail::call<Result>(detail::Agent::get("rpc_async"), owner(),
                                &detail::serve_method<T, method>,
                                arguments<method>(std::forward<Args>(args)...));
  }
  template <auto method, class... Args>
  auto rpc_sync(Args&&... args) const {
    return rpc_async<method>(std::forward<Args>(args)...).wait();
  }
  /// Calls a method, whose result stays where the value is.
  template <auto method, class... Args>
  auto remote(Args&&... args) const {
    using Result = detail::unwrapped_t<detail::result_t<method>>;
    return detail::make_remote<Result>(owner(), [&](detail::CallWriter& writer) {
      detail::write_call(writer, &detail::serve_remote_method<T, method>,
                         arguments<method>(std::forward<Args>(args)...));
    });
  }

  // For the functions of this header.
  explicit RRef(std::shared_ptr<detail::Hold> hold) : hold_(std::move(hold)) {}
  const detail::Hold& hold() const { return *hold_; }

 private:
  template <auto method, class... Args>
  auto arguments(Args&&... args) const {
    return std::pair<RRef, detail::arguments_t<method>>(
        *this, detail::arguments_t<method>(std::forward<Args>(args)...));
  }
  static Future<T> copy(const RRef& self) {
    const auto value = self.hold_->agent("RRef")->value_of(self.hold_->id());
    return value.then(
        [self](const auto& done) { return *std::static_pointer_cast<T>(done.value()); });
  }

  std::shared_ptr<detail::Hold> hold_;
};

namespace detail {

template <class T, auto method>
auto run_method(CallReader& reader) {
  const auto [self, arguments] = Portable<std::pair<RRef<T>, arguments_t<method>>>::read(reader);
  T& value = self.local_value();
  return std::apply([&](const auto&... each) { return (value.*method)(each...); }, arguments);
}

template <class T, auto method>
void serve_method(CallReader& reader, const Reply& reply) {
  reply.with([&] { return run_method<T, method>(reader); });
}

template <class T, auto method>
void serve_remote_method(CallReader& reader, const Reply& reply) {
  keep_value<unwrapped_t<result_t<method>>>(reply, [&] { return run_method<T, method>(reader); });
}

template <class T>
RRef<T> make_remote(const To& to, const std::function<void(CallWriter& writer)>& write) {
  const std::shared_ptr<Agent> agent = Agent::get("remote");
  CallWriter writer(agent->find(to));
  write(writer);
  const RRefId id = agent->new_rref();
  // What goes wrong, whoever asks for the value hears.
  agent->call(
      writer, to, [](CallReader*, const Failure*) {}, id);
  return RRef<T>(std::make_shared<Hold>(agent, id, writer.to()));
}

}  // namespace detail
}  // namespace aorta::distributed::rpc

/// A reference as a value of a call: the receiver gets a hold of its own.
template <class T>
struct aorta::Portable<aorta::distributed::rpc::RRef<T>> {
  static void write(ArgumentWriter& writer, const distributed::rpc::RRef<T>& value) {
    namespace detail = distributed::rpc::detail;
    auto* const call = dynamic_cast<detail::CallWriter*>(&writer);
    if (!call) return writer.refuse("a reference to a value of another process (RRef)");
    call->pass(value.hold());
    Portable<detail::RRefId>::write(writer, value.hold().id());
    Portable<int>::write(writer, value.hold().owner());
  }
  static distributed::rpc::RRef<T> read(ArgumentReader& reader) {
    namespace detail = distributed::rpc::detail;
    const auto id = Portable<detail::RRefId>::read(reader);
    const int owner = Portable<int>::read(reader);
    return distributed::rpc::RRef<T>(
        std::make_shared<detail::Hold>(detail::Agent::get("RRef"), id, owner));
  }
};
