#include <aorta/tests/cuda/emulated/races.h>
#include <aorta/tests/cuda/emulated/settings.h>

#include <algorithm>

namespace aorta::emulated {

void Races::begin() {
  ++launch_;
  most_pages_ = settings().races / kPage;
  full_ = most_pages_ == 0;
  if (pages_.size() < most_pages_ / 2 && launch_ != 0) return;
  pages_.clear();
  for (Recent& recent : recent_) recent = {};
}

Races::Page* Races::page_of(uintptr_t number) {
  Recent& recent = recent_[number % 64];
  if (recent.page && recent.number == number) return recent.page;
  auto place = pages_.find(number);
  if (place == pages_.end()) {
    if ((full_ = pages_.size() >= most_pages_)) return nullptr;
    place = pages_.emplace(number, std::make_unique<Page>()).first;
  }
  recent = {number, place->second.get()};
  return recent.page;
}

// Blocks of a launch have no order. Threads of one block are ordered by a barrier between them, and
// threads of one warp by __syncwarp() too; a shuffle orders no memory.
bool Races::conflicts(const Mark& mark, const Toucher& who, bool shared) const {
  if (mark.launch != launch_) return false;
  if (mark.block != who.block % kManyBlocks) return !shared;
  if (mark.thread == who.thread) return false;
  if (mark.epoch != static_cast<uint16_t>(who.epoch)) return false;
  const bool same_warp = warp_of(mark.thread) == who.thread / 32;
  return !same_warp || mark.warp_epoch == static_cast<uint16_t>(who.warp_epoch);
}

// It is enough to know of several readers that they were several, but for those of the same warp
// before its last __syncwarp().
void Races::remember_read(Mark& mark, const Toucher& who, bool shared) const {
  const uint32_t block = who.block % kManyBlocks;
  const bool known = mark.launch == launch_ && !(shared && mark.block != block);
  const bool other_block = known && mark.block != block;
  const bool same_warp = warp_of(mark.thread) == who.thread / 32;
  const bool before = same_warp && mark.warp_epoch != static_cast<uint16_t>(who.warp_epoch);
  const bool other_thread = known && !other_block && !before && mark.thread != who.thread &&
                            mark.epoch == static_cast<uint16_t>(who.epoch);
  mark.launch = launch_;
  mark.block = other_block ? kManyBlocks : block;
  mark.thread = !other_thread ? who.thread : same_warp ? kLanes + who.thread / 32 : kMany;
  mark.epoch = static_cast<uint16_t>(who.epoch);
  mark.warp_epoch = static_cast<uint16_t>(who.warp_epoch);
}

bool Races::touch(Byte& byte, Touch touch, bool shared, const Toucher& who, Toucher& other) const {
  const bool with_write =
      !(touch == Touch::atomic && byte.write.atomic) && conflicts(byte.write, who, shared);
  const bool with_read = touch != Touch::read && conflicts(byte.read, who, shared);
  if (with_write || with_read) {
    const Mark& mark = with_write ? byte.write : byte.read;
    other = {mark.block, mark.thread, mark.epoch, mark.warp_epoch};
    return true;
  }
  if (touch == Touch::read) {
    remember_read(byte.read, who, shared);
  } else {
    byte.write = mark_of(who, touch);
  }
  return false;
}

// How many bytes from `first` on have one mark: those of a word that is touched whole, or one.
size_t Races::split_for(Page& page, size_t first, size_t bytes) const {
  bool& split = page.split[first / kWord];
  Byte* word = page.bytes + first / kWord * kWord;
  if (first % kWord == 0 && bytes >= kWord) {
    if (!split) return kWord;
    const bool stale = std::all_of(word, word + kWord, [&](const Byte& byte) {
      return byte.write.launch != launch_ && byte.read.launch != launch_;
    });
    split = !stale;
    return stale ? kWord : 1;
  }
  if (!split) std::fill(word + 1, word + kWord, word[0]);
  split = true;
  return 1;
}

// Most accesses are of whole words that this launch touches for the first time, or that the same
// thread has touched since the same barrier. True when it was such a one.
bool Races::note_words(Page& page, size_t first, size_t bytes, Touch touch, bool shared,
                       const Toucher& who) {
  const Mark mine = mark_of(who, touch);
  const auto is_known = [&](const Mark& mark) {
    return mark.launch == launch_ && !(shared && mark.block != mine.block);
  };
  for (size_t k = first; k < first + bytes; k += kWord) {
    Byte& byte = page.bytes[k];
    if (page.split[k / kWord]) return false;
    Mark& own = touch == Touch::read ? byte.read : byte.write;
    const Mark& other = touch == Touch::read ? byte.write : byte.read;
    if (is_known(other) && !other.is(mine)) return false;
    if (is_known(own) && !own.is(mine)) return false;
    own = mine;
  }
  return true;
}

bool Races::note(uintptr_t address, size_t bytes, Touch touch, bool shared, const Toucher& who,
                 Toucher& other) {
  if ((address | bytes) % kWord == 0 && address % kPage + bytes <= kPage) {
    Page* const page = page_of(address / kPage);
    if (!page) return false;
    if (note_words(*page, address % kPage, bytes, touch, shared, who)) return false;
  }
  for (size_t i = 0; i < bytes;) {
    Page* page = page_of((address + i) / kPage);
    const size_t first = (address + i) % kPage;
    const size_t last = first + bytes - i < kPage ? first + bytes - i : kPage;
    i += last - first;
    if (!page) return false;
    for (size_t k = first; k < last;) {
      const size_t step = split_for(*page, k, last - k);
      if (this->touch(page->bytes[k], touch, shared, who, other)) return true;
      k += step;
    }
  }
  return false;
}

}  // namespace aorta::emulated
