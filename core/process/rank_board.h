#pragma once

#include <aorta/core/comm.h>
#include <aorta/core/process/shared_memory.h>

#include <mutex>

namespace aorta {

/// What a rank shows the other ranks of its machine, in memory that they share: what it does, its
/// last collectives, why it can't go on. It can be read while the rank is stopped, and after it was
/// killed.
class RankBoard {
 public:
  /// This process's own, for its last `records` collectives.
  explicit RankBoard(int records);
  /// That of another process, by its pid and the number of its descriptor there; throws where that
  /// can't be had.
  RankBoard(pid_t pid, int descriptor, int64_t token);

  int descriptor() const { return memory_->descriptor(); }
  /// A number that tells boards apart.
  int64_t token() const;

  // What the rank itself does; any thread.
  void enter(const std::string& group, const CollectiveRecord& record);
  void leave(const std::string& group, const CollectiveRecord& record);
  void set_activity(const char* what);
  /// The first reason stays.
  void end(const std::string& reason);

  // What all read.
  /// Why the rank can't go on; empty while it can.
  std::string reason() const;
  /// "it is waiting for a batch, for 10.2 s; its last call: all_reduce 17 of f32 [4], sum, ...".
  std::string what_it_does() const;
  /// A line each, the oldest first: group, number, call, bytes, module, and when it was entered and
  /// left in seconds of the Unix clock; not left yet: an empty field.
  std::string csv() const;

 private:
  struct Layout;
  struct Slot;
  struct Record;
  Layout& layout() const;
  std::vector<Record> records() const;

  std::shared_ptr<SharedMemory> memory_;
  std::mutex mutex_;  // of those that write
};

}  // namespace aorta
