#pragma once

#include <aorta/rpc/agent.h>

// Functions that run in other processes: PyTorch's torch.distributed.rpc. The processes are those
// that mpirun or srun started, and run one program; messages go by MPI.
//
//     Tensor joined(const Tensor& a, const Tensor& b) { return cat({a, b}); }
//
//     rpc::init_rpc(distributed::get_rank() == 0 ? "master" : "worker");
//     if (distributed::get_rank() == 0) Tensor y = rpc::rpc_sync<joined>("worker", ones({2}), x);
//     rpc::shutdown();
//
// A function's arguments and result are portable values (core/process/portable.h): numbers, text,
// tensors, containers of them, structs that list their members, references to values of other
// processes (RRef). It has no default arguments and takes none by a reference through which it
// could write. A tensor arrives contiguous; the sender may write it as soon as the call returns.
// What a function throws, the caller throws, behind the worker's name. A function that returns a
// Future is answered when that is done (PyTorch's async_execution), and keeps no thread waiting
// until then.

namespace aorta::distributed::rpc {

/// Takes part under that name: 1 to 127 letters, digits, and any of "_-:". All processes call it
/// together, after init(), and each has a name of its own. Throws where names or programs don't
/// fit, and where there is no group of processes.
void init_rpc(const Text& name, const RpcOptions& options = {});
/// The end: waits until all processes have called it and no call is under way, and serves calls
/// until then. Not `graceful`: at once; what this process waits for fails.
void shutdown(bool graceful = true);
/// This process, or the one of that name; throws where there is none.
WorkerInfo get_worker_info();
WorkerInfo get_worker_info(const Text& name);

/// A reference to a value of one process (rref.h).
template <class T>
class RRef;

namespace detail {

template <class Function>
struct Signature {};
template <class R, class... Ps>
struct Signature<R (*)(Ps...)> {
  static_assert(((!std::is_lvalue_reference_v<Ps> ||
                  std::is_const_v<std::remove_reference_t<Ps>>)&&...),
                "rpc: a function that other processes call takes values or constant references");
  using Arguments = std::tuple<std::decay_t<Ps>...>;
  using Result = R;
};
template <class R, class... Ps>
struct Signature<R (*)(Ps...) noexcept> : Signature<R (*)(Ps...)> {};
template <class C, class R, class... Ps>
struct Signature<R (C::*)(Ps...)> : Signature<R (*)(Ps...)> {
  using Class = C;
};
template <class C, class R, class... Ps>
struct Signature<R (C::*)(Ps...) const> : Signature<R (C::*)(Ps...)> {};
template <class C, class R, class... Ps>
struct Signature<R (C::*)(Ps...) noexcept> : Signature<R (C::*)(Ps...)> {};
template <class C, class R, class... Ps>
struct Signature<R (C::*)(Ps...) const noexcept> : Signature<R (C::*)(Ps...)> {};
template <auto function>
using arguments_t = typename Signature<decltype(function)>::Arguments;
template <auto function>
using result_t = typename Signature<decltype(function)>::Result;

template <auto function>
void serve(CallReader& reader, const Reply& reply) {
  reply.with([&] { return std::apply(function, Portable<arguments_t<function>>::read(reader)); });
}

template <class Arguments>
void write_call(CallWriter& writer, Serve serve, const Arguments& arguments) {
  writer.function(reinterpret_cast<const void*>(serve));
  Portable<Arguments>::write(writer, arguments);
}

/// Calls `serve` there with the arguments; it answers with an R.
template <class R, class Arguments>
Future<R> call(const std::shared_ptr<Agent>& agent, const To& to, Serve serve,
               const Arguments& arguments) {
  CallWriter writer(agent->find(to));
  write_call(writer, serve, arguments);
  Future<R> result;
  agent->call(writer, to, [result](CallReader* reader, const Failure* failure) {
    try {
      futures::detail::set_from(result, [&]() -> R {
        if (failure) failure->raise();
        if constexpr (!std::is_void_v<R>) return Portable<R>::read(*reader);
      });
    } catch (const Error&) {
      // It came too late, for the future has failed.
    }
  });
  return result;
}

/// Sets the value that the call makes to what `make` returns: a T, a future or a pointer of one.
template <class T, class Make>
void keep_value(const Reply& reply, Make&& make) {
  const Future<std::shared_ptr<void>> place = reply.made();
  using Made = decltype(make());
  try {
    if constexpr (std::is_same_v<Made, Future<T>>) {
      make().add_done_callback([place, reply](const Future<T>& made) {
        futures::detail::set_from(
            place, [&]() -> std::shared_ptr<void> { return std::make_shared<T>(made.value()); });
      });
    } else if constexpr (std::is_same_v<Made, std::shared_ptr<T>>) {
      place.set_result(std::shared_ptr<void>(make()));
    } else {
      static_assert(!std::is_void_v<T>, "rpc: what remote() calls returns a value, to stay there");
      place.set_result(std::shared_ptr<void>(std::make_shared<T>(make())));
    }
  } catch (...) {
    if (!place.done()) place.set_current_exception();
  }
  reply.with([] {});
}

template <auto function>
void serve_remote(CallReader& reader, const Reply& reply) {
  keep_value<unwrapped_t<result_t<function>>>(
      reply, [&] { return std::apply(function, Portable<arguments_t<function>>::read(reader)); });
}

template <class T, class... Args>
void serve_construct(CallReader& reader, const Reply& reply) {
  keep_value<T>(reply, [&] {
    return std::apply([](auto&&... each) { return std::make_shared<T>(std::move(each)...); },
                      Portable<std::tuple<Args...>>::read(reader));
  });
}

template <class T>
RRef<T> make_remote(const To& to, const std::function<void(CallWriter& writer)>& write);

// Text of any kind goes as a string.
template <class T>
struct Sent {
  using Type = T;
};
template <class T>
requires std::convertible_to<T, std::string_view>
struct Sent<T> {
  using Type = std::string;
};
template <class T>
using sent_t = typename Sent<std::decay_t<T>>::Type;

}  // namespace detail

using futures::Future;

/// Calls `function(args...)` in another process; the result comes later.
template <auto function, class... Args>
auto rpc_async(const To& to, Args&&... args) {
  using Result = detail::unwrapped_t<detail::result_t<function>>;
  return detail::call<Result>(detail::Agent::get("rpc_async"), to, &detail::serve<function>,
                              detail::arguments_t<function>(std::forward<Args>(args)...));
}

/// Calls `function(args...)` in another process, and waits for the result.
template <auto function, class... Args>
auto rpc_sync(const To& to, Args&&... args) {
  return rpc_async<function>(to, std::forward<Args>(args)...).wait();
}

/// Calls `function(args...)` in another process, where the result stays.
template <auto function, class... Args>
auto remote(const To& to, Args&&... args) {
  using T = detail::unwrapped_t<detail::result_t<function>>;
  return detail::make_remote<T>(to, [&](detail::CallWriter& writer) {
    detail::write_call(writer, &detail::serve_remote<function>,
                       detail::arguments_t<function>(std::forward<Args>(args)...));
  });
}

/// Makes a T(args...) in another process, where it stays.
template <class T, class... Args>
RRef<T> remote(const To& to, const Args&... args) {
  return detail::make_remote<T>(to, [&](detail::CallWriter& writer) {
    detail::write_call(writer, &detail::serve_construct<T, detail::sent_t<Args>...>,
                       std::tuple<detail::sent_t<Args>...>(args...));
  });
}

}  // namespace aorta::distributed::rpc
