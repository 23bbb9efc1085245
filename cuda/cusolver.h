#pragma once

// cuSOLVER's calls, found when the first decomposition asks for them.

#include <aorta/core/tensor.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/shared_library.h>

#include <cusolverDn.h>

#include <cstddef>
#include <vector>

namespace aorta::cuda {

/// The functions of cuSOLVER that this room calls. Names without a type are of its 64-bit
/// interface.
struct CusolverCalls {
  SharedLibrary shared{"libcusolver.so.12", "cusolverDnXgeev"};
  decltype(&cusolverDnCreate) create = nullptr;
  decltype(&cusolverDnCreateParams) create_params = nullptr;
  decltype(&cusolverDnSetStream) set_stream = nullptr;
  decltype(&cusolverDnXpotrf_bufferSize) potrf_size = nullptr;
  decltype(&cusolverDnXpotrf) potrf = nullptr;
  decltype(&cusolverDnXgetrf_bufferSize) getrf_size = nullptr;
  decltype(&cusolverDnXgetrf) getrf = nullptr;
  decltype(&cusolverDnXgetrs) getrs = nullptr;
  decltype(&cusolverDnXgeqrf_bufferSize) geqrf_size = nullptr;
  decltype(&cusolverDnXgeqrf) geqrf = nullptr;
  decltype(&cusolverDnSorgqr_bufferSize) sorgqr_size = nullptr;
  decltype(&cusolverDnDorgqr_bufferSize) dorgqr_size = nullptr;
  decltype(&cusolverDnSorgqr) sorgqr = nullptr;
  decltype(&cusolverDnDorgqr) dorgqr = nullptr;
  decltype(&cusolverDnSsytrf_bufferSize) ssytrf_size = nullptr;
  decltype(&cusolverDnDsytrf_bufferSize) dsytrf_size = nullptr;
  decltype(&cusolverDnSsytrf) ssytrf = nullptr;
  decltype(&cusolverDnDsytrf) dsytrf = nullptr;
  decltype(&cusolverDnXsyevBatched_bufferSize) syev_size = nullptr;
  decltype(&cusolverDnXsyevBatched) syev = nullptr;
  decltype(&cusolverDnCreateGesvdjInfo) create_jacobi = nullptr;
  decltype(&cusolverDnSgesvdj_bufferSize) sgesvdj_size = nullptr;
  decltype(&cusolverDnDgesvdj_bufferSize) dgesvdj_size = nullptr;
  decltype(&cusolverDnSgesvdj) sgesvdj = nullptr;
  decltype(&cusolverDnDgesvdj) dgesvdj = nullptr;
  decltype(&cusolverDnSgesvdjBatched_bufferSize) sgesvdj_batched_size = nullptr;
  decltype(&cusolverDnDgesvdjBatched_bufferSize) dgesvdj_batched_size = nullptr;
  decltype(&cusolverDnSgesvdjBatched) sgesvdj_batched = nullptr;
  decltype(&cusolverDnDgesvdjBatched) dgesvdj_batched = nullptr;
  decltype(&cusolverDnXgeev_bufferSize) geev_size = nullptr;
  decltype(&cusolverDnXgeev) geev = nullptr;

  CusolverCalls();
};

/// Throws where there is no cuSOLVER.
const CusolverCalls& cusolver();

/// Throws "op: cuSOLVER must succeed, got ..." with the op that runs.
void check_cusolver(cusolverStatus_t status);

/// A handle of cuSOLVER for the length of a call, on the current stream of a device, and what the
/// decompositions of a batch found: an i32 a matrix, not 0 where it can't be decomposed.
class Solver {
 public:
  Solver(int device, int64_t count);

  cusolverDnHandle_t handle() const { return lease_.handle; }
  cusolverDnParams_t params() const { return lease_.params; }
  gesvdjInfo_t jacobi() const { return lease_.jacobi; }
  const Tensor& found() const { return found_; }

  /// What a routine works in: `size(bytes on the device, bytes on the host)`, and then
  /// `run(i, memory, bytes, host memory, bytes, found)` for each of the matrices.
  template <class Size, class Run>
  void each(const Size& size, const Run& run) {
    size_t bytes = 0, host_bytes = 0;
    check_cusolver(size(&bytes, &host_bytes));
    const Workspace memory(static_cast<int64_t>(bytes), device_);
    host_.emplace_back(host_bytes);
    int* const found = static_cast<int*>(found_.data());
    for (int64_t i = 0; i < found_.numel(); ++i)
      check_cusolver(run(i, memory.data(), bytes, host_.back().data(), host_bytes, found + i));
  }

 private:
  // One that nobody uses, for they are slow to make; a handle's own memory is one stream's at a
  // time.
  struct Lease {
    explicit Lease(int device);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    int device;
    cusolverDnHandle_t handle = nullptr;
    cusolverDnParams_t params = nullptr;
    gesvdjInfo_t jacobi = nullptr;
  };

  int device_;
  Lease lease_;
  Tensor found_;
  std::vector<std::vector<std::byte>> host_;  // until the work is done
};

}  // namespace aorta::cuda
