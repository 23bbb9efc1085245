#include <aorta/rpc/future.h>

#include <chrono>

namespace aorta::futures::detail {

thread_local std::function<void(Callback callback)> callbacks_go_to;

thread_local const WaitHooks* wait_hooks = nullptr;
std::atomic<Callback (*)(Callback callback)> carry = nullptr;

Failure Failure::of(const std::exception& error) {
  const auto* const rank = dynamic_cast<const RankError*>(&error);
  return {error.what(), rank != nullptr, rank && rank->is_heard()};
}

Failure Failure::current() {
  try {
    throw;
  } catch (const std::exception& error) {
    return of(error);
  } catch (...) {
    return {"future: what is thrown must be a std::exception, got something else"};
  }
}

void Failure::raise() const {
  if (is_rank_error) throw RankError(text, is_heard);
  throw Error(text);
}

bool StateBase::done() const {
  const std::lock_guard lock(mutex_);
  return done_;
}

void StateBase::wait() const {
  if (done()) return;
  const WaitHooks* const hooks = wait_hooks;
  if (!hooks) {
    std::unique_lock lock(mutex_);
    return changed_.wait(lock, [this] { return done_; });
  }
  hooks->waits(true);
  try {
    for (bool is_done = false; !is_done;) {
      {
        std::unique_lock lock(mutex_);
        is_done = changed_.wait_for(lock, std::chrono::milliseconds(50), [this] { return done_; });
      }
      if (!is_done) hooks->check();
    }
  } catch (...) {
    hooks->waits(false);
    throw;
  }
  hooks->waits(false);
}

void StateBase::when_done(Callback callback) {
  if (const auto carrier = carry.load()) callback = carrier(std::move(callback));
  {
    const std::lock_guard lock(mutex_);
    if (!done_) return callbacks_.push_back(std::move(callback));
  }
  callback();
}

void StateBase::fail(Failure failure) {
  complete([&] { failure_ = std::move(failure); });
}

void StateBase::complete(const std::function<void()>& set) {
  std::vector<Callback> callbacks;
  {
    const std::lock_guard lock(mutex_);
    check(!done_, "future", "it is completed once", "a second time");
    set();
    done_ = true;
    callbacks.swap(callbacks_);
    changed_.notify_all();
  }
  for (Callback& callback : callbacks) {
    if (callbacks_go_to) {
      callbacks_go_to(std::move(callback));
    } else {
      callback();
    }
  }
}

}  // namespace aorta::futures::detail
