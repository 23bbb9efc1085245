// What the program's allocators say of their memory, and NVTX's calls for it.
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/pieces.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <nvtx3/nvToolsExtMem.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace aorta::emulated {
namespace {

constexpr const char* kPage =
    "docs.nvidia.com/compute-sanitizer/SanitizerNvtxGuide, Suballocation API";

/// The last of some ranges that begins at an address or before it, where it reaches that far.
template <class Ranges>
const typename Ranges::value_type* range_at(const Ranges& ranges, uintptr_t address) {
  auto place = ranges.upper_bound(address);
  if (place == ranges.begin()) return nullptr;
  --place;
  return address - place->first < place->second ? &*place : nullptr;
}

}  // namespace

Pieces& Pieces::get() {
  static auto* pieces = new Pieces;
  return *pieces;
}

void Pieces::show(uint64_t moment) {
  for (; moment_ < moment; ++moment_) {
    Event& event = events_[moment_ - first_];
    event.begins ? put(*event.piece) : take(*event.piece);
  }
  for (; moment_ > moment; --moment_) {
    Event& event = events_[moment_ - 1 - first_];
    event.begins ? take(*event.piece) : put(*event.piece);
  }
}

void Pieces::forget(uint64_t moment) {
  if (moment_ < moment) show(moment);
  events_.erase(events_.begin(), events_.begin() + static_cast<ptrdiff_t>(moment - first_));
  first_ = moment;
}

void Pieces::put(Piece& piece) {
  if (piece.gone) return;
  shown_[piece.begin] = piece.bytes;
  Memory::get().lend(piece.begin, piece.bytes, piece.written);
}

void Pieces::take(Piece& piece) {
  if (piece.gone) return;
  shown_.erase(piece.begin);
  piece.written = Memory::get().take_back(piece.begin, piece.bytes);
}

std::string Pieces::add_heap(uintptr_t begin, size_t bytes) {
  const Allocation* memory = Memory::get().find(begin);
  if (!memory || bytes == 0 || begin + bytes > memory->begin + memory->bytes) {
    return "a heap lies in one allocation, got " + std::to_string(bytes) + " bytes of " +
           Memory::get().describe(begin);
  }
  const auto next = heaps_.lower_bound(begin);
  if (is_heap(begin) || (next != heaps_.end() && next->first < begin + bytes)) {
    return "no part of a heap is another's, got " + Memory::get().describe(begin);
  }
  heaps_[begin] = bytes;
  Memory::get().take_back(begin, bytes);
  return "";
}

std::string Pieces::remove_heap(uintptr_t begin) {
  const auto heap = heaps_.find(begin);
  if (heap == heaps_.end()) return "the heap is one that was registered";
  const size_t bytes = heap->second;
  end_heap(begin, bytes);
  Memory::get().set_allocated(begin, bytes);
  return "";
}

// Its pieces end with it, at whatever moment they are seen.
void Pieces::end_heap(uintptr_t begin, size_t bytes) {
  const auto ends = [&](const Piece& piece) { return piece.begin - begin < bytes; };
  for (const Event& event : events_) event.piece->gone |= ends(*event.piece);
  std::erase_if(held_, [&](const auto& entry) {
    entry.second->gone |= ends(*entry.second);
    return entry.second->gone;
  });
  std::erase_if(shown_, [&](const auto& entry) { return entry.first - begin < bytes; });
  heaps_.erase(begin);
}

std::string Pieces::add(uintptr_t heap, uintptr_t begin, size_t bytes) {
  const auto place = heaps_.find(heap);
  if (place == heaps_.end()) return "the heap is one that was registered";
  if (bytes == 0 || begin < heap || begin + bytes > heap + place->second) {
    return "a region lies in its heap, got " + std::to_string(bytes) + " bytes at " +
           std::to_string(static_cast<intptr_t>(begin - heap)) + " of " +
           std::to_string(place->second);
  }
  auto next = held_.upper_bound(begin);
  const bool after = next != held_.end() && next->first < begin + bytes;
  const bool before =
      next != held_.begin() && begin - std::prev(next)->first < std::prev(next)->second->bytes;
  if (after || before) {
    return "no part of a region is another's, got " + std::to_string(bytes) + " bytes at " +
           std::to_string(begin - heap) + " of the heap";
  }
  auto piece = std::make_shared<Piece>(Piece{.begin = begin, .bytes = bytes, .written = {}});
  held_[begin] = piece;
  events_.push_back({std::move(piece), true});
  return "";
}

std::string Pieces::remove(uintptr_t begin) {
  const auto place = held_.find(begin);
  if (place == held_.end()) {
    return "the region is one that was registered, got " + Memory::get().describe(begin);
  }
  events_.push_back({std::move(place->second), false});
  held_.erase(place);
  return "";
}

void Pieces::drop(uintptr_t begin, size_t bytes) {
  for (auto heap = heaps_.lower_bound(begin); heap != heaps_.end() && heap->first < begin + bytes;
       heap = heaps_.lower_bound(begin)) {
    end_heap(heap->first, heap->second);
  }
}

bool Pieces::is_heap(uintptr_t address) const { return range_at(heaps_, address); }

bool Pieces::is_lent(uintptr_t address, size_t bytes) const {
  if (!is_heap(address)) return true;
  const auto* piece = find(address);
  return piece && address + bytes <= piece->first + piece->second;
}

const std::pair<const uintptr_t, size_t>* Pieces::find(uintptr_t address) const {
  return range_at(shown_, address);
}

}  // namespace aorta::emulated

using namespace aorta::emulated;

namespace {

void say(const char* name, const std::string& problem) {
  if (!problem.empty()) report(name, problem, "", kPage);
}

template <class Batch>
bool is_known(const char* name, const Batch& batch, uint32_t type, uint32_t wanted) {
  const bool known = batch.extCompatID == NVTX_EXT_COMPATID_MEM &&
                     batch.structSize == sizeof batch && type == wanted;
  if (!known) report(name, "the structure is of a known version, size and type", "", kPage);
  return known;
}

uintptr_t address_of(const void* data) { return reinterpret_cast<uintptr_t>(data); }

}  // namespace

// They are calls of a tool, and not of CUDA: allowed at any time, and never an error.
extern "C" {

nvtxDomainHandle_t nvtxDomainCreateA(const char*) {
  static char domain;
  return reinterpret_cast<nvtxDomainHandle_t>(&domain);
}

nvtxMemHeapHandle_t nvtxMemHeapRegister(nvtxDomainHandle_t, const nvtxMemHeapDesc_t* heap) {
  const char* const name = "nvtxMemHeapRegister";
  const MachineLock lock;
  if (!is_known(name, *heap, heap->type, NVTX_MEM_TYPE_VIRTUAL_ADDRESS)) return nullptr;
  const auto* range = static_cast<const nvtxMemVirtualRangeDesc_t*>(heap->typeSpecificDesc);
  const std::string problem = Pieces::get().add_heap(address_of(range->ptr), range->size);
  say(name, problem);
  // The address of its memory is its handle (nvToolsExtMem.h).
  return problem.empty() ? reinterpret_cast<nvtxMemHeapHandle_t>(const_cast<void*>(range->ptr))
                         : nullptr;
}

void nvtxMemHeapUnregister(nvtxDomainHandle_t, nvtxMemHeapHandle_t heap) {
  const MachineLock lock;
  say("nvtxMemHeapUnregister", Pieces::get().remove_heap(address_of(heap)));
}

void nvtxMemRegionsRegister(nvtxDomainHandle_t, const nvtxMemRegionsRegisterBatch_t* batch) {
  const char* const name = "nvtxMemRegionsRegister";
  const MachineLock lock;
  if (!is_known(name, *batch, batch->regionType, NVTX_MEM_TYPE_VIRTUAL_ADDRESS)) return;
  const auto* ranges = static_cast<const nvtxMemVirtualRangeDesc_t*>(batch->regionDescElements);
  for (size_t i = 0; i < batch->regionCount; ++i) {
    say(name,
        Pieces::get().add(address_of(batch->heap), address_of(ranges[i].ptr), ranges[i].size));
  }
}

void nvtxMemRegionsUnregister(nvtxDomainHandle_t, const nvtxMemRegionsUnregisterBatch_t* batch) {
  const char* const name = "nvtxMemRegionsUnregister";
  const MachineLock lock;
  if (!is_known(name, *batch, batch->refType, NVTX_MEM_REGION_REF_TYPE_POINTER)) return;
  for (size_t i = 0; i < batch->refCount; ++i) {
    say(name, Pieces::get().remove(address_of(batch->refElements[i].pointer)));
  }
}
}
