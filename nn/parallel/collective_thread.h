#pragma once

#include <aorta/core/comm.h>
#include <aorta/core/device_backend.h>
#include <aorta/nn/parallel/task_thread.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

namespace aorta::nn {

/// Collectives of a group that run beside what the program computes, one after another, in an order
/// of their own: on a thread, and on GPUs on a stream of its own.
class CollectiveThread {
 public:
  /// The group's, which lives as long as the group; all ranks call it together at first.
  static CollectiveThread& of(Communicator& group);
  explicit CollectiveThread(Communicator& group);
  ~CollectiveThread();
  CollectiveThread(const CollectiveThread&) = delete;
  CollectiveThread& operator=(const CollectiveThread&) = delete;

  /// One task under way.
  class Task {
   public:
    ~Task();
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    /// Returns when it has run, and throws what it threw; on a GPU, when it is queued, and the
    /// current stream goes on behind it.
    void join();
    /// As join, for a task whose result nobody wants.
    void settle();

   private:
    friend class CollectiveThread;
    explicit Task(Device device);

    void end(std::exception_ptr error);
    std::exception_ptr wait();

    Event before_, behind_;  // on the program's stream, and on the thread's
    std::mutex mutex_;
    std::condition_variable changed_;
    bool has_run_ = false;
    std::exception_ptr error_;
  };
  /// The group that tasks get, for who has joined all of them.
  Communicator& group() const { return *group_; }
  /// Counts the parts of networks that have been divided among the group.
  int64_t next_number() { return numbers_++; }
  /// Runs `task(group)`, a group of the same ranks, behind what the current stream of `device` has
  /// queued so far.
  std::shared_ptr<Task> launch(Device device, std::function<void(Communicator& group)> task);

 private:
  /// That of a GPU; null for the CPU.
  const Stream* stream_of(Device device);

  Communicator& parent_;
  const std::unique_ptr<Communicator> group_;
  std::deque<Stream> streams_;  // of GPUs, which stay where they are
  int64_t numbers_ = 0;
  std::unique_ptr<TaskThread> thread_;
};

}  // namespace aorta::nn
