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
inline bool Races::conflicts(const Mark& mark, const Visit& visit) const {
  const Mark& mine = visit.mine;
  if (mark.launch != launch_) return false;
  if (mark.block != mine.block) return !visit.shared;
  if (mark.thread == mine.thread || mark.epoch != mine.epoch) return false;
  return warp_of(mark.thread) != mine.thread / 32 || mark.warp_epoch == mine.warp_epoch;
}

// It is enough to know of several readers that they were several, but for those of the same warp
// before its last __syncwarp().
inline void Races::remember_read(Mark& mark, const Visit& visit) const {
  const Mark& mine = visit.mine;
  const bool known = mark.launch == launch_ && !(visit.shared && mark.block != mine.block);
  if (!known || (mark.block == mine.block && mark.thread == mine.thread)) {
    mark = mine;
    return;
  }
  const bool other_block = mark.block != mine.block;
  const bool same_warp = warp_of(mark.thread) == mine.thread / 32;
  const bool before = same_warp && mark.warp_epoch != mine.warp_epoch;
  const bool other_thread = !other_block && !before && mark.epoch == mine.epoch;
  const uint32_t several = same_warp ? kLanes + mine.thread / 32 : kMany;
  mark = mine;
  if (other_block) mark.block = kManyBlocks;
  if (other_thread) mark.thread = several;
}

inline bool Races::touch(Touched& touched, const Visit& visit, Toucher& other) const {
  const bool with_write =
      !(visit.touch == Touch::atomic && touched.write.atomic) && conflicts(touched.write, visit);
  const bool with_read = visit.touch != Touch::read && conflicts(touched.read, visit);
  if (with_write || with_read) {
    const Mark& mark = with_write ? touched.write : touched.read;
    other = {mark.block, mark.thread, mark.epoch, mark.warp_epoch};
    return true;
  }
  if (visit.touch == Touch::read) {
    remember_read(touched.read, visit);
  } else {
    touched.write = visit.mine;
  }
  return false;
}

// The marks of a word that is touched whole; null where this launch has touched parts of it.
inline Races::Touched* Races::whole_word(Page& page, size_t word) const {
  if (page.split[word]) {
    const Touched* const bytes = page.bytes.get() + word * kWord;
    for (size_t i = 0; i < kWord; ++i) {
      if (bytes[i].write.launch == launch_ || bytes[i].read.launch == launch_) return nullptr;
    }
    page.split[word] = false;
    page.words[word] = {};
  }
  return &page.words[word];
}

// The marks of a word's bytes.
Races::Touched* Races::split_word(Page& page, size_t word) {
  if (!page.bytes) page.bytes = std::make_unique<Touched[]>(kPage);
  Touched* const bytes = page.bytes.get() + word * kWord;
  if (!page.split[word]) std::fill(bytes, bytes + kWord, page.words[word]);
  page.split[word] = true;
  return bytes;
}

bool Races::note(uintptr_t address, size_t bytes, Touch touch, bool shared, const Toucher& who,
                 Toucher& other) {
  Visit visit{{}, touch, shared};
  visit.mine.launch = launch_;
  visit.mine.block = who.block % kManyBlocks;
  visit.mine.thread = who.thread;
  visit.mine.atomic = touch == Touch::atomic;
  visit.mine.epoch = static_cast<uint16_t>(who.epoch);
  visit.mine.warp_epoch = static_cast<uint16_t>(who.warp_epoch);
  const uintptr_t end = address + bytes;
  while (address < end) {
    Page* const page = page_of(address / kPage);
    if (!page) return false;
    const uintptr_t page_end = std::min(end, (address / kPage + 1) * kPage);
    while (address < page_end) {
      const size_t word = address % kPage / kWord, first = address % kWord;
      const size_t here = std::min<size_t>(kWord - first, page_end - address);
      Touched* const whole = here == kWord ? whole_word(*page, word) : nullptr;
      if (whole) {
        if (this->touch(*whole, visit, other)) return true;
      } else {
        Touched* const parts = split_word(*page, word);
        for (size_t i = first; i < first + here; ++i) {
          if (this->touch(parts[i], visit, other)) return true;
        }
      }
      address += here;
    }
  }
  return false;
}

}  // namespace aorta::emulated
