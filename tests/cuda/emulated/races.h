#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace aorta::emulated {

/// Who touches memory, and since which barrier.
struct Toucher {
  uint32_t block, thread;
  uint32_t epoch;       // barriers that the block has passed
  uint32_t warp_epoch;  // __syncwarp()s that the warp has passed
};

enum class Touch { read, write, atomic };

/// Finds races inside one launch, from who touched each byte last and not from who happened to come
/// first: two threads of a block without a barrier between them, or two blocks, and one writes.
///
/// What it remembers is limited: once a launch has touched as many bytes as the settings say, in
/// pages of 4 KiB, it isn't looked at any more.
class Races {
 public:
  /// Begins a launch: what was before is done.
  void begin();

  /// True when the launch has touched too much to go on.
  bool full() const { return full_; }
  /// The other thread where this is a race, in `other`; false where it is none. `shared`: memory of
  /// the block, which no other block sees.
  bool note(uintptr_t address, size_t bytes, Touch touch, bool shared, const Toucher& who,
            Toucher& other);

 private:
  static constexpr size_t kPage = 4096;
  // In the place of a thread's number: several lanes of warp w are kLanes + w.
  static constexpr uint32_t kLanes = 1024, kMany = 2047, kManyBlocks = (1u << 20) - 1;
  struct Mark {
    uint32_t launch = 0;
    uint32_t block : 20 = 0;
    uint32_t thread : 11 = 0;
    uint32_t atomic : 1 = 0;
    uint16_t epoch = 0, warp_epoch = 0;
  };
  struct Touched {
    Mark write, read;
  };
  // A word has marks of its own, and its bytes have once something touched a part of it: most
  // accesses are of whole words.
  static constexpr size_t kWord = 4;
  struct Page {
    Touched words[kPage / kWord];
    bool split[kPage / kWord] = {};
    std::unique_ptr<Touched[]> bytes;  // of split words
  };
  struct Visit {
    Mark mine;
    Touch touch;
    bool shared;
  };

  Page* page_of(uintptr_t number);
  static uint32_t warp_of(uint32_t thread) {
    return thread < kLanes ? thread / 32 : thread - kLanes;
  }
  Touched* whole_word(Page& page, size_t word) const;
  static Touched* split_word(Page& page, size_t word);
  bool touch(Touched& touched, const Visit& visit, Toucher& other) const;
  bool conflicts(const Mark& mark, const Visit& visit) const;
  void remember_read(Mark& mark, const Visit& visit) const;

  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages_;
  struct Recent {
    uintptr_t number = 0;
    Page* page = nullptr;
  };
  Recent recent_[64];
  uint32_t launch_ = 0;
  size_t most_pages_ = 0;
  bool full_ = false;
};

}  // namespace aorta::emulated
