#include <aorta/cuda/memory_marks.h>

#include <nvtx3/nvToolsExtMem.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>

namespace aorta::cuda {
namespace {

struct Heap {
  nvtxMemHeapHandle_t handle;
  int64_t bytes;
};

// Heaps by address, as a tool knows them. Never destroyed: memory may outlive statics.
struct Heaps {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("Aorta");
  std::atomic<bool> any = false;  // most programs have no tool, and needn't look
  std::mutex mutex;
  std::map<const void*, Heap> by_address;

  std::optional<Heap> find(const void* data) {
    if (!any) return {};
    std::lock_guard lock(mutex);
    const auto place = by_address.find(data);
    return place == by_address.end() ? std::nullopt : std::optional(place->second);
  }
};

Heaps& heaps() {
  static Heaps* all = new Heaps;
  return *all;
}

constexpr uint16_t kVersion = NVTX_EXT_COMPATID_MEM;

}  // namespace

void mark_heap(const void* data, int64_t bytes) {
  const nvtxMemVirtualRangeDesc_t range{.size = static_cast<size_t>(bytes), .ptr = data};
  nvtxMemHeapDesc_t heap{};
  heap.extCompatID = kVersion;
  heap.structSize = sizeof heap;
  heap.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
  heap.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  heap.typeSpecificDescSize = sizeof range;
  heap.typeSpecificDesc = &range;
  const nvtxMemHeapHandle_t handle = nvtxMemHeapRegister(heaps().domain, &heap);
  // -1 is NVTX_MEM_HEAP_HANDLE_NO_TOOL, whose definition isn't C++.
  if (!handle || reinterpret_cast<intptr_t>(handle) == -1) return;
  std::lock_guard lock(heaps().mutex);
  heaps().by_address[data] = {.handle = handle, .bytes = bytes};
  heaps().any = true;
}

int64_t unmark_heap(const void* data) {
  const std::optional<Heap> heap = heaps().find(data);
  if (!heap) return 0;
  nvtxMemHeapUnregister(heaps().domain, heap->handle);
  std::lock_guard lock(heaps().mutex);
  heaps().by_address.erase(data);
  return heap->bytes;
}

void mark_lent(const void* heap, const void* data, int64_t bytes) {
  const std::optional<Heap> known = heaps().find(heap);
  if (!known) return;
  const nvtxMemVirtualRangeDesc_t piece{.size = static_cast<size_t>(bytes), .ptr = data};
  nvtxMemRegionsRegisterBatch_t batch{};
  batch.extCompatID = kVersion;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.heap = known->handle;
  batch.regionCount = 1;
  batch.regionDescElementSize = sizeof piece;
  batch.regionDescElements = &piece;
  nvtxMemRegionsRegister(heaps().domain, &batch);
}

void mark_returned(const void* heap, const void* data) {
  if (!heaps().find(heap)) return;
  const nvtxMemRegionRef_t piece{.pointer = data};
  nvtxMemRegionsUnregisterBatch_t batch{};
  batch.extCompatID = kVersion;
  batch.structSize = sizeof batch;
  batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  batch.refCount = 1;
  batch.refElementSize = sizeof piece;
  batch.refElements = &piece;
  nvtxMemRegionsUnregister(heaps().domain, &batch);
}

}  // namespace aorta::cuda
