#pragma once

// What the doubles of cuFFT and cuSOLVER have in common: calls whose errors are their own, and work
// on memory of a device.

#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/memory.h>

#include <complex>
#include <functional>
#include <string>
#include <vector>

namespace aorta::emulated {

/// Bytes that a piece of work reads or writes.
struct Span {
  const void* data;
  size_t bytes;
  Access access;
};

/// Queues `run` as work of a call on a stream, where the device of the handle may touch all of the
/// spans; it is given up where at its time something isn't there, or not written. Empty, or the
/// rule that was broken.
std::string queue_work(const char* name, const char* page, cudaStream_t stream, int device,
                       std::vector<Span> spans, std::function<void()> run);

/// Numbers in f64, from any of the libraries' types, and back.
std::complex<double> load_number(const void* data, int type, int64_t i);
void store_number(void* data, int type, int64_t i, std::complex<double> value);
size_t number_bytes(int type);

}  // namespace aorta::emulated
