// Bugs in what an allocator says of its memory by NVTX, and in the use of memory that is nobody's.
#include <aorta/tests/cuda/emulated/pieces.h>
#include <aorta/tests/cuda/emulated/planted.h>
#include <nvtx3/nvToolsExtMem.h>

namespace aorta::emulated {
namespace {

using PlantedPieces = Planted;

nvtxMemHeapHandle_t heap_at(const void* data, size_t bytes) {
  const nvtxMemVirtualRangeDesc_t range{bytes, data};
  nvtxMemHeapDesc_t heap{};
  heap.extCompatID = NVTX_EXT_COMPATID_MEM;
  heap.structSize = sizeof heap;
  heap.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
  heap.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  heap.typeSpecificDescSize = sizeof range;
  heap.typeSpecificDesc = &range;
  return nvtxMemHeapRegister(nullptr, &heap);
}

void lend(nvtxMemHeapHandle_t heap, const void* data, size_t bytes) {
  const nvtxMemVirtualRangeDesc_t piece{bytes, data};
  nvtxMemRegionsRegisterBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.heap = heap;
  batch.regionCount = 1;
  batch.regionDescElementSize = sizeof piece;
  batch.regionDescElements = &piece;
  nvtxMemRegionsRegister(nullptr, &batch);
}

void take_back(const void* data) {
  const nvtxMemRegionRef_t piece{.pointer = data};
  nvtxMemRegionsUnregisterBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  batch.refCount = 1;
  batch.refElementSize = sizeof piece;
  batch.refElements = &piece;
  nvtxMemRegionsUnregister(nullptr, &batch);
}

char* new_memory(size_t bytes) {
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, bytes), cudaSuccess);
  return static_cast<char*>(data);
}

}  // namespace

// What isn't lent is nobody's, to the byte, and neighbours keep what was written to them.
TEST_F(PlantedPieces, WhatIsLentIsUsed) {
  for (const Mode mode : {Mode::eager, Mode::lazy, Mode::random, Mode::threads}) {
    Streams::get().set_mode(mode);
    char* data = new_memory(4096);
    const nvtxMemHeapHandle_t heap = heap_at(data, 4096);
    cudaMemsetAsync(data, 1, 4, nullptr);
    EXPECT_TRUE(finds("memory of cuda:0 that its allocator keeps, 0 bytes into a block of 4096"));
    lend(heap, data, 101);
    lend(heap, data + 101, 102);
    cudaMemsetAsync(data, 1, 101, nullptr);
    cudaMemsetAsync(data + 101, 2, 102, nullptr);
    take_back(data);
    lend(heap, data, 100);
    cudaMemsetAsync(data, 3, 100, nullptr);
    EXPECT_EQ(on_host(data + 101, 102), std::vector<char>(102, 2));
    EXPECT_EQ(on_host(data, 100), std::vector<char>(100, 3));
    EXPECT_EQ(found(), "");
    cudaMemsetAsync(data + 100, 1, 1, nullptr);
    EXPECT_TRUE(finds("that its allocator keeps, 100 bytes into a block of 4096"));
    cudaMemsetAsync(data + 99, 1, 2, nullptr);
    EXPECT_TRUE(finds("2 bytes of memory of cuda:0, 99 bytes into a block of 100"));
    take_back(data + 101);
    lend(heap, data + 101, 102);
    on_host(data + 101, 1);
    EXPECT_TRUE(finds("bytes never written"));
    nvtxMemHeapUnregister(nullptr, heap);
    EXPECT_EQ(on_host(data, 1), std::vector<char>(1, 3)) << "all of it is the program's again";
    cudaMemsetAsync(data, 5, 4096, nullptr);
    EXPECT_EQ(on_host(data, 4096), std::vector<char>(4096, 5));
    EXPECT_EQ(found(), "");
    cudaFree(data);
  }
}

// Page-locked memory of an allocator: what isn't lent is nobody's for devices too.
TEST_F(PlantedPieces, PageLockedMemoryThatIsKept) {
  void* data = nullptr;
  float* to = on_device(std::vector<float>(64));
  cudaHostAlloc(&data, 4096, cudaHostAllocPortable);
  const nvtxMemHeapHandle_t heap = heap_at(data, 4096);
  lend(heap, data, 256);
  cudaMemcpyAsync(to, data, 256, cudaMemcpyHostToDevice, nullptr);
  take_back(data);
  EXPECT_EQ(found(), "") << "the copy was queued before";
  cudaMemcpyAsync(to, data, 256, cudaMemcpyHostToDevice, nullptr);
  EXPECT_TRUE(finds("256 bytes of page-locked memory"));
  nvtxMemHeapUnregister(nullptr, heap);
  cudaFreeHost(data);
}

TEST_F(PlantedPieces, HeapsAndRegionsThatAreNone) {
  char* data = new_memory(4096);
  EXPECT_EQ(heap_at(data, 4097), nullptr);
  EXPECT_TRUE(finds("a heap lies in one allocation"));
  const nvtxMemHeapHandle_t heap = heap_at(data + 512, 1024);
  for (const size_t begin : {size_t{0}, size_t{512}, size_t{1024}}) {
    EXPECT_EQ(heap_at(data + begin, 1024), nullptr);
    EXPECT_TRUE(finds("no part of a heap is another's"));
  }
  lend(reinterpret_cast<nvtxMemHeapHandle_t>(data), data + 512, 8);
  EXPECT_TRUE(finds("nvtxMemRegionsRegister: the heap is one that was registered"));
  lend(heap, data, 8);
  EXPECT_TRUE(finds("a region lies in its heap"));
  lend(heap, data + 1530, 8);
  EXPECT_TRUE(finds("a region lies in its heap"));
  lend(heap, data + 600, 100);
  for (const ptrdiff_t begin : {550, 600, 650}) {
    lend(heap, data + begin, 60);
    EXPECT_TRUE(finds("no part of a region is another's"));
  }
  take_back(data + 601);
  EXPECT_TRUE(finds("the region is one that was registered"));
  nvtxMemHeapUnregister(nullptr, heap);
  EXPECT_EQ(found(), "");
  nvtxMemHeapUnregister(nullptr, heap);
  EXPECT_TRUE(finds("nvtxMemHeapUnregister: the heap is one that was registered"));
  const nvtxMemRegionsUnregisterBatch_t empty{};
  nvtxMemRegionsUnregister(nullptr, &empty);
  EXPECT_TRUE(finds("the structure is of a known version, size and type"));
}

}  // namespace aorta::emulated
