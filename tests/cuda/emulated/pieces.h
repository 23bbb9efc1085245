#pragma once

#include <aorta/tests/cuda/emulated/memory.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace aorta::emulated {

/// Memory that an allocator of the program gives out in pieces, as it says by NVTX's memory API: in
/// a heap the bytes that are no piece's are nobody's, and a piece begins unwritten, whatever lies
/// there.
///
/// Work sees the pieces as they were when it was queued: an allocator takes a piece back, and gives
/// it out again, while work on it is still to be done. So what was written is kept for each piece,
/// and `show` sets the bits of `Memory` to those of a moment. Who calls holds the machine's lock.
class Pieces {
 public:
  static Pieces& get();

  /// The moment now: what is queued remembers it.
  uint64_t now() const { return first_ + events_.size(); }
  /// Makes memory what it was at a moment.
  void show(uint64_t moment);
  /// What was before a moment won't be shown any more.
  void forget(uint64_t moment);
  bool remembers_much() const { return events_.size() > 1000; }

  // What is wrong with these, or nothing.

  std::string add_heap(uintptr_t begin, size_t bytes);
  std::string remove_heap(uintptr_t begin);
  std::string add(uintptr_t heap, uintptr_t begin, size_t bytes);
  std::string remove(uintptr_t begin);
  /// The memory is given back to the machine.
  void drop(uintptr_t begin, size_t bytes);

  bool is_heap(uintptr_t address) const;
  /// True unless some of the bytes lie in a heap and in no piece of the shown moment.
  bool is_lent(uintptr_t address, size_t bytes) const;
  /// The piece of the shown moment that an address lies in: where it begins, and its bytes.
  const std::pair<const uintptr_t, size_t>* find(uintptr_t address) const;

 private:
  struct Piece {
    uintptr_t begin;
    size_t bytes;
    bool gone = false;             // with its heap: the memory has its own state then
    std::vector<uint8_t> written;  // while it isn't shown; empty: nothing
  };
  struct Event {
    std::shared_ptr<Piece> piece;
    bool begins;
  };

  void put(Piece& piece);
  void take(Piece& piece);
  void end_heap(uintptr_t begin, size_t bytes);

  std::map<uintptr_t, size_t> heaps_, shown_;
  std::map<uintptr_t, std::shared_ptr<Piece>> held_;  // now
  std::deque<Event> events_;                          // since moment `first_`
  uint64_t first_ = 0, moment_ = 0;
};

}  // namespace aorta::emulated
