#include <aorta/autograd/anomaly.h>
#include <aorta/core/comm.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/grad_mode.h>
#include <aorta/core/module_path.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/resource_error.h>
#include <aorta/core/thread_limit.h>
#include <aorta/nn/parallel/device_threads.h>

#include <algorithm>
#include <new>
#include <optional>
#include <system_error>

namespace aorta::nn {
namespace {

// What a thread does beside the ops themselves, taken over by another one.
class ThreadContext {
 public:
  ThreadContext()
      : gradients_(grad_mode()),
        autocast_(autocast_dtype()),
        anomaly_(autograd::detects_anomaly()),
        threads_(get_num_threads()) {
    if (const Ref<ModulePath>& path = module_path()) path_ = path->to_string();
  }

  // Runs part `part` of `parts` as the caller would.
  template <class Function>
  void run(size_t part, size_t parts, Device device, const Function& function) const {
    const GradMode before = grad_mode();
    set_grad_mode(gradients_);
    try {
      const DeviceGuard current(device);
      const Autocast autocast(autocast_);
      const autograd::DetectAnomaly anomaly(anomaly_);
      const int of_all = static_cast<int>(parts), rest = threads_ % of_all;
      const ThreadLimit threads(
          std::max(1, threads_ / of_all + (static_cast<int>(part) < rest ? 1 : 0)));
      std::optional<ModuleScope> scope;
      if (!path_.empty()) scope.emplace(path_);
      function();
    } catch (...) {
      set_grad_mode(before);
      throw;
    }
    set_grad_mode(before);
  }

 private:
  GradMode gradients_;
  DType autocast_;
  bool anomaly_;
  int threads_;
  std::string path_;
};

// The error of a part with its device in front, of the same kind as far as callers tell them apart.
std::exception_ptr with_device(const std::string& where, std::exception_ptr error,
                               std::string& text, bool& others) {
  try {
    std::rethrow_exception(error);
  } catch (const RankError& caught) {
    others = true;
    return std::make_exception_ptr(RankError(text = where + caught.what()));
  } catch (const ResourceError& caught) {
    return std::make_exception_ptr(ResourceError(text = where + caught.what()));
  } catch (const std::bad_alloc& caught) {
    return std::make_exception_ptr(ResourceError(text = where + caught.what()));
  } catch (const std::exception& caught) {
    return std::make_exception_ptr(Error(text = where + caught.what()));
  } catch (...) {
    text = where + "an exception of the module's own";
    return error;
  }
}

}  // namespace

struct DeviceThreads::Worker {
  std::mutex mutex;
  std::condition_variable changed;
  const std::function<void()>* task = nullptr;  // null: none, or done
  bool ends = false;
  std::thread thread;
};

DeviceThreads::DeviceThreads(std::vector<Device> devices) : devices_(std::move(devices)) {
  try {
    for (size_t i = 0; i < devices_.size(); ++i) {
      workers_.push_back(std::make_unique<Worker>());
      Worker& worker = *workers_.back();
      worker.thread = std::thread([this, &worker] { work(worker); });
    }
  } catch (const std::system_error& error) {
    const size_t started = workers_.size() - 1;
    end();
    fail_for_resources("DeviceThreads", "a thread a device must be startable", started, " of ",
                       devices_.size(), ": ", error.what());
  }
}

DeviceThreads::~DeviceThreads() { end(); }

void DeviceThreads::end() {
  for (const auto& worker : workers_) {
    const std::lock_guard lock(worker->mutex);
    worker->ends = true;
    worker->changed.notify_all();
  }
  for (const auto& worker : workers_)
    if (worker->thread.joinable()) worker->thread.join();
}

void DeviceThreads::work(Worker& worker) {
  std::unique_lock lock(worker.mutex);
  for (;;) {
    worker.changed.wait(lock, [&] { return worker.task || worker.ends; });
    if (!worker.task) return;
    lock.unlock();
    (*worker.task)();
    lock.lock();
    worker.task = nullptr;
    worker.changed.notify_all();
  }
}

void DeviceThreads::run(size_t parts, const std::function<void(size_t part)>& function,
                        const std::function<void(size_t part, const std::string& text)>& failed) {
  check(parts <= devices_.size(), "DeviceThreads", "there is a part a device at most", parts,
        " for ", devices_.size());
  const std::lock_guard one(calls_);
  const ThreadContext context;
  struct Result {
    std::exception_ptr error = nullptr;
    bool others = false;  // the error is another part's
  };
  std::vector<Result> results(parts);
  std::vector<std::function<void()>> tasks;
  for (size_t part = 0; part < parts; ++part) {
    tasks.push_back([&, part] {
      try {
        context.run(part, parts, devices_[part], [&] { function(part); });
      } catch (...) {
        const std::string where = to_string(devices_[part]) + ", part " + std::to_string(part + 1) +
                                  " of " + std::to_string(parts) + ": ";
        std::string text;
        results[part].error =
            with_device(where, std::current_exception(), text, results[part].others);
        if (failed) failed(part, text);
      }
    });
  }
  for (size_t part = 0; part < parts; ++part) {
    const std::lock_guard lock(workers_[part]->mutex);
    workers_[part]->task = &tasks[part];
    workers_[part]->changed.notify_all();
  }
  for (size_t part = 0; part < parts; ++part) {
    Worker& worker = *workers_[part];
    std::unique_lock lock(worker.mutex);
    worker.changed.wait(lock, [&] { return !worker.task; });
  }
  for (const bool others : {false, true}) {
    for (const Result& result : results)
      if (result.error && result.others == others) std::rethrow_exception(result.error);
  }
}

}  // namespace aorta::nn
