// The runtime's calls about memory: what is given out, and copies.
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/memory.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/sanitizer.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>

#include <cstring>

using namespace aorta::emulated;

namespace {

constexpr const char* kPeerPage =
    "docs.nvidia.com/cuda/cuda-runtime-api, Memory Management: cudaMemcpyPeerAsync";

std::string text_of(size_t number) { return std::to_string(number); }

cudaError_t bad_stream(const char* name, const std::string& got) {
  return broken(name, "the stream must be one that was made and not destroyed", got, page::kStream,
                cudaErrorInvalidResourceHandle);
}

/// What a pointer is, to the rule that a copy's direction has to suit it.
bool suits(const void* data, bool device) {
  return (Memory::get().device_of(reinterpret_cast<uintptr_t>(data)) >= 0) == device;
}

bool is_pageable(const void* data) { return suits(data, false) && !Memory::get().find(data); }

struct Copy {
  const char* name;
  void* to;
  const void* from;
  size_t bytes;
  int device;  // that runs it; -1: a copy between devices, which may touch both
};

/// Checks a copy's ranges now or when it runs: by then memory may have been freed.
std::string problem_of(const Copy& copy, bool when_it_runs) {
  const Memory& memory = Memory::get();
  std::string problem = memory.problem(
      copy.to, copy.bytes, when_it_runs ? Access::write : Access::named, copy.device, true);
  if (!problem.empty()) return "to " + problem;
  // Whether the source was written is known when the copy runs.
  problem = memory.problem(copy.from, copy.bytes, when_it_runs ? Access::read : Access::named,
                           copy.device, true);
  return problem.empty() ? "" : "from " + problem;
}

// A copy may be done when the call returns or any time later, for pageable memory too ("might be
// synchronous": CUDA Runtime API, "API synchronization behavior"): lazy mode reads and writes host
// memory late.
void run_copy(const Copy& copy) {
  if (const std::string problem = problem_of(copy, true); !problem.empty()) {
    report(copy.name, "both ranges lie in memory that is allocated and, where it is read, written",
           problem, page::kMemory);
    Streams::get().sticky = cudaErrorIllegalAddress;
    return;
  }
  std::memcpy(copy.to, copy.from, copy.bytes);
  Memory::get().set_written(reinterpret_cast<uintptr_t>(copy.to), copy.bytes);
}

cudaError_t queue_copy(const Copy& copy, cudaStream_t handle) {
  CUstream_st* stream = Streams::get().find(handle, current_device());
  if (!stream || stream->destroyed)
    return bad_stream(copy.name, stream ? "a destroyed one" : "none");
  if (copy.bytes == 0) return cudaSuccess;
  if (const std::string problem = problem_of(copy, false); !problem.empty()) {
    return broken(copy.name, "each range lies in one allocation that the device may touch", problem,
                  page::kMemory, cudaErrorInvalidValue);
  }
  const char *to = static_cast<const char*>(copy.to), *from = static_cast<const char*>(copy.from);
  if (to < from + copy.bytes && from < to + copy.bytes) {
    return broken(
        copy.name, "the two ranges may not overlap",
        text_of(copy.bytes) + " bytes, " + text_of(to > from ? to - from : from - to) + " apart",
        page::kMemory, cudaErrorInvalidValue);
  }
  return Streams::get().queue(*stream, {copy.name, [copy] { run_copy(copy); }, {}});
}

/// What still uses freed memory races with its end.
void free_is_seen(const Allocation& piece) {
  const Seen seen;
  show_write(reinterpret_cast<const void*>(piece.begin), piece.bytes);
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
  return call("cudaMalloc", [&] {
    *data = nullptr;
    if (bytes == 0) return cudaSuccess;
    *data = Memory::get().allocate_device(current_device(), bytes);
    return *data ? cudaSuccess : cudaErrorMemoryAllocation;
  });
}

// "May perform implicit synchronization" is no promise: this one never waits. Work that is still
// queued meets freed memory.
cudaError_t cudaFree(void* data) {
  return call("cudaFree", [&] {
    if (!data) return cudaSuccess;
    const Allocation* piece = Memory::get().find(data);
    if (!piece || piece->kind != Allocation::Kind::device ||
        piece->begin != reinterpret_cast<uintptr_t>(data)) {
      return broken("cudaFree", "the pointer is one that cudaMalloc gave, and not freed",
                    Memory::get().describe(reinterpret_cast<uintptr_t>(data)), page::kMemory,
                    cudaErrorInvalidValue);
    }
    free_is_seen(*piece);
    Memory::get().release(*piece);
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return call("cudaMemGetInfo", [&] {
    *total = settings().device_bytes;
    *free = *total - Memory::get().used(current_device());
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned flags) {
  return call("cudaHostAlloc", [&] {
    if (flags & ~1u) {
      return broken("cudaHostAlloc", "the flags are known", text_of(flags), page::kMemory,
                    cudaErrorInvalidValue);
    }
    *data = bytes ? Memory::get().allocate_pinned(current_device(), bytes) : nullptr;
    return cudaSuccess;
  });
}

cudaError_t cudaFreeHost(void* data) {
  return call("cudaFreeHost", [&] {
    if (!data) return cudaSuccess;
    const Allocation* piece = Memory::get().find(data);
    if (!piece || piece->kind != Allocation::Kind::pinned ||
        piece->begin != reinterpret_cast<uintptr_t>(data)) {
      return broken("cudaFreeHost", "the pointer is one that cudaHostAlloc gave, and not freed",
                    Memory::get().describe(reinterpret_cast<uintptr_t>(data)), page::kMemory,
                    cudaErrorInvalidValue);
    }
    Memory::get().release(*piece);
    return cudaSuccess;
  });
}

cudaError_t cudaHostRegister(void* data, size_t bytes, unsigned flags) {
  return call("cudaHostRegister", [&] {
    if (!data || bytes == 0 || flags & ~1u || !suits(data, false)) {
      return broken("cudaHostRegister", "host memory of at least a byte, and known flags",
                    text_of(bytes) + " bytes, flags " + text_of(flags), page::kMemory,
                    cudaErrorInvalidValue);
    }
    if (const Allocation* locked =
            Memory::get().find_locked(reinterpret_cast<uintptr_t>(data), bytes)) {
      return broken("cudaHostRegister", "no part of the range is page-locked already",
                    text_of(bytes) + " bytes", page::kMemory,
                    locked->kind == Allocation::Kind::registered
                        ? cudaErrorHostMemoryAlreadyRegistered
                        : cudaErrorInvalidValue);
    }
    Memory::get().register_host(current_device(), data, bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaHostUnregister(void* data) {
  return call("cudaHostUnregister", [&] {
    const Allocation* piece = Memory::get().find(data);
    if (!piece || piece->kind != Allocation::Kind::registered ||
        piece->begin != reinterpret_cast<uintptr_t>(data)) {
      return broken("cudaHostUnregister", "the pointer is the one that was registered",
                    Memory::get().describe(reinterpret_cast<uintptr_t>(data)), page::kMemory,
                    data && !piece ? cudaErrorHostMemoryNotRegistered : cudaErrorInvalidValue);
    }
    Memory::get().check_registered();
    Memory::get().release(*piece);
    return cudaSuccess;
  });
}

// Memory that CUDA knows nothing of is no error (since CUDA 11), be it the host's or freed: its
// type says so, and its device is none.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  return call("cudaPointerGetAttributes", [&] {
    *attributes = {};
    const Allocation* piece = Memory::get().find(data);
    const bool on_device = piece && piece->kind == Allocation::Kind::device;
    attributes->type = on_device ? cudaMemoryTypeDevice
                       : piece   ? cudaMemoryTypeHost
                                 : cudaMemoryTypeUnregistered;
    attributes->device = piece ? piece->device : -2;
    if (piece) attributes->devicePointer = const_cast<void*>(data);
    if (!on_device) attributes->hostPointer = const_cast<void*>(data);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&] {
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (bytes > 0 && kind != cudaMemcpyDefault &&
        (!suits(to, to_device) || !suits(from, from_device))) {
      // A GPU takes pageable memory for no device's, and copies all else as the pointers say.
      const bool pageable = (to_device && is_pageable(to)) || (from_device && is_pageable(from));
      return broken("cudaMemcpyAsync", "the direction suits both pointers",
                    "to " + Memory::get().describe(reinterpret_cast<uintptr_t>(to)) + ", from " +
                        Memory::get().describe(reinterpret_cast<uintptr_t>(from)),
                    page::kMemory,
                    pageable ? cudaErrorInvalidValue : cudaErrorInvalidMemcpyDirection);
    }
    // With unified addresses a copy may join any two devices.
    return queue_copy({"cudaMemcpyAsync", to, from, bytes, -1}, stream);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream) {
  return call("cudaMemcpyPeerAsync", [&] {
    const Memory& memory = Memory::get();
    const int count = settings().devices;
    if (to_device < 0 || to_device >= count || from_device < 0 || from_device >= count) {
      return broken("cudaMemcpyPeerAsync", "the devices exist",
                    std::to_string(to_device) + ", " + std::to_string(from_device), kPeerPage,
                    cudaErrorInvalidDevice);
    }
    if (bytes > 0 && (memory.device_of(reinterpret_cast<uintptr_t>(to)) != to_device ||
                      memory.device_of(reinterpret_cast<uintptr_t>(from)) != from_device)) {
      return broken("cudaMemcpyPeerAsync", "each pointer is the named device's",
                    "to " + memory.describe(reinterpret_cast<uintptr_t>(to)) + ", from " +
                        memory.describe(reinterpret_cast<uintptr_t>(from)),
                    kPeerPage, cudaErrorInvalidValue);
    }
    return queue_copy({"cudaMemcpyPeerAsync", to, from, bytes, -1}, stream);
  });
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t handle) {
  return call("cudaMemsetAsync", [&] {
    CUstream_st* stream = Streams::get().find(handle, current_device());
    if (!stream || stream->destroyed) return bad_stream("cudaMemsetAsync", "none of these");
    if (bytes == 0) return cudaSuccess;
    const int device = stream->device;
    const auto problem = [=](Access access) {
      return Memory::get().problem(data, bytes, access, device, false);
    };
    if (const std::string text = problem(Access::named); !text.empty()) {
      return broken("cudaMemsetAsync", "the range lies in one allocation that the device may touch",
                    text, page::kMemory, cudaErrorInvalidValue);
    }
    const auto run = [=] {
      if (const std::string text = problem(Access::write); !text.empty()) {
        report("cudaMemsetAsync", "the range is allocated when the call has its turn", text,
               page::kMemory);
        Streams::get().sticky = cudaErrorIllegalAddress;
        return;
      }
      std::memset(data, value, bytes);
      Memory::get().set_written(reinterpret_cast<uintptr_t>(data), bytes);
    };
    return Streams::get().queue(*stream, {"cudaMemsetAsync", run, {}});
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return call("cudaDeviceCanAccessPeer", [&] {
    *can = device != peer;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return call("cudaDeviceEnablePeerAccess", [&] {
    if (peer < 0 || peer >= settings().devices || peer == current_device() || flags != 0) {
      return broken(
          "cudaDeviceEnablePeerAccess", "the peer is another device, and flags are 0",
          std::to_string(peer), page::kDevice,
          peer == current_device() ? cudaErrorPeerAccessUnsupported : cudaErrorInvalidDevice);
    }
    bool& enabled = Memory::get().peer_access[current_device()][peer];
    if (enabled) return cudaErrorPeerAccessAlreadyEnabled;
    enabled = true;
    return cudaSuccess;
  });
}
}
