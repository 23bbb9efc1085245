#pragma once

#include <aorta/core/comm.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

// Results that come later: PyTorch's torch.futures.

namespace aorta::futures {

/// A value that is there later.
template <class T>
class Future;

namespace detail {

/// Why a future has no value.
struct Failure {
  std::string text;
  bool is_rank_error = false, is_heard = false;

  static Failure of(const std::exception& error);
  /// That of the exception which is being handled.
  static Failure current();
  /// Throws it, as an Error or a RankError.
  [[noreturn]] void raise() const;
};

using Callback = std::function<void()>;
/// Where the callbacks of futures that this thread completes run; empty: at once, on the thread.
extern thread_local std::function<void(Callback callback)> callbacks_go_to;

/// What a thread that serves others does beside.
struct WaitHooks {
  std::function<void(bool begins)> waits;  // for a future, as it begins and as it ends
  std::function<void()> check;             // throws when nobody will complete any
};
extern thread_local const WaitHooks* wait_hooks;
/// What makes a callback run as the thread that registers it would; null: nothing does.
extern std::atomic<Callback (*)(Callback callback)> carry;

/// What all futures share; the value's place is in State.
class StateBase {
 public:
  bool done() const;
  void wait() const;
  /// Calls it when there is a value or a failure: now, if there is.
  void when_done(Callback callback);
  /// Throws where there is one already.
  void fail(Failure failure);
  const std::optional<Failure>& failure() const { return failure_; }

 protected:
  /// Calls `set` and then the callbacks.
  void complete(const std::function<void()>& set);

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
  std::optional<Failure> failure_;
  std::vector<Callback> callbacks_;
};

template <class T>
class State final : public StateBase {
 public:
  void set(T value) {
    complete([&] { value_.emplace(std::move(value)); });
  }
  const T& value() const { return *value_; }

 private:
  std::optional<T> value_;
};

template <>
class State<void> final : public StateBase {
 public:
  void set() {
    complete([] {});
  }
};

/// Sets what `function` returns, or throws.
template <class T, class Function>
void set_from(const Future<T>& future, Function&& function);

}  // namespace detail

/// A value that is there later, or the error that came instead; copies are the same future. Any
/// thread may use it.
template <class T = void>
class Future {
 public:
  Future() : state_(std::make_shared<detail::State<T>>()) {}

  bool done() const { return state_->done(); }
  /// The value, once it is there; throws the error.
  T wait() const {
    state_->wait();
    return value();
  }
  /// The value; throws the error, or where neither is there yet.
  T value() const {
    check(done(), "future", "it must be done", "one that waits");
    if (state_->failure()) state_->failure()->raise();
    if constexpr (!std::is_void_v<T>) return state_->value();
  }

  /// Completes it; throws where it is done.
  template <class U>
  void set_result(U&& value) const requires std::is_constructible_v<T, U&&> {
    state_->set(T(std::forward<U>(value)));
  }
  void set_result() const requires std::is_void_v<T> { state_->set(); }
  void set_exception(const Error& error) const { state_->fail(detail::Failure::of(error)); }
  /// Completes it by the exception which is being handled.
  void set_current_exception() const { state_->fail(detail::Failure::current()); }

  /// A future of what `function(future)` returns when this one is done, by the thread that
  /// completes it, or by this one if it is done. `function` asks for the value, and so throws the
  /// error.
  template <class Function>
  auto then(Function function) const {
    using Result = std::invoke_result_t<Function&, const Future&>;
    Future<Result> result;
    state_->when_done([self = *this, result, function = std::move(function)]() mutable {
      try {
        detail::set_from(result, [&] { return function(self); });
      } catch (const Error&) {
        // Somebody else has completed it.
      }
    });
    return result;
  }
  /// Calls `function(future)` when this one is done; what it throws is lost.
  void add_done_callback(std::function<void(const Future& future)> function) const {
    then([function = std::move(function)](const Future& self) { function(self); });
  }

 private:
  std::shared_ptr<detail::State<T>> state_;
};

template <class T, class Function>
void detail::set_from(const Future<T>& future, Function&& function) {
  try {
    if constexpr (std::is_void_v<T>) {
      function();
      future.set_result();
    } else {
      future.set_result(function());
    }
  } catch (...) {
    if (future.done()) throw;  // it was completed twice
    future.set_current_exception();
  }
}

/// A future of the futures themselves, done when all of them are.
template <class T>
Future<std::vector<Future<T>>> collect_all(const std::vector<Future<T>>& futures) {
  Future<std::vector<Future<T>>> all;
  if (futures.empty()) all.set_result(futures);
  auto left = std::make_shared<std::atomic<size_t>>(futures.size());
  for (const Future<T>& future : futures)
    future.add_done_callback([futures, left, all](const Future<T>&) {
      if (--*left == 0) all.set_result(futures);
    });
  return all;
}

/// The values of all, in their order, once all are done; throws the first error in that order.
template <class T>
auto wait_all(const std::vector<Future<T>>& futures) {
  collect_all(futures).wait();
  if constexpr (std::is_void_v<T>) {
    for (const Future<T>& future : futures) future.value();
  } else {
    std::vector<T> values;
    for (const Future<T>& future : futures) values.push_back(future.value());
    return values;
  }
}

}  // namespace aorta::futures
