#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>
#include <aorta/cuda/cusolver.h>

#include <mutex>

namespace aorta::cuda {
namespace {

struct Handle {
  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t params = nullptr;
  gesvdjInfo_t jacobi = nullptr;
};
struct Idle {
  std::mutex mutex;
  std::vector<Handle> handles[kMaxDevices];
};
Idle& idle() {
  static auto* all = new Idle;
  return *all;
}

}  // namespace

CusolverCalls::CusolverCalls() {
  library.find(create, "cusolverDnCreate");
  library.find(create_params, "cusolverDnCreateParams");
  library.find(set_stream, "cusolverDnSetStream");
  library.find(potrf_size, "cusolverDnXpotrf_bufferSize");
  library.find(potrf, "cusolverDnXpotrf");
  library.find(getrf_size, "cusolverDnXgetrf_bufferSize");
  library.find(getrf, "cusolverDnXgetrf");
  library.find(getrs, "cusolverDnXgetrs");
  library.find(geqrf_size, "cusolverDnXgeqrf_bufferSize");
  library.find(geqrf, "cusolverDnXgeqrf");
  library.find(sorgqr_size, "cusolverDnSorgqr_bufferSize");
  library.find(dorgqr_size, "cusolverDnDorgqr_bufferSize");
  library.find(sorgqr, "cusolverDnSorgqr");
  library.find(dorgqr, "cusolverDnDorgqr");
  library.find(syev_size, "cusolverDnXsyevBatched_bufferSize");
  library.find(syev, "cusolverDnXsyevBatched");
  library.find(create_jacobi, "cusolverDnCreateGesvdjInfo");
  library.find(sgesvdj_size, "cusolverDnSgesvdj_bufferSize");
  library.find(dgesvdj_size, "cusolverDnDgesvdj_bufferSize");
  library.find(sgesvdj, "cusolverDnSgesvdj");
  library.find(dgesvdj, "cusolverDnDgesvdj");
  library.find(sgesvdj_batched_size, "cusolverDnSgesvdjBatched_bufferSize");
  library.find(dgesvdj_batched_size, "cusolverDnDgesvdjBatched_bufferSize");
  library.find(sgesvdj_batched, "cusolverDnSgesvdjBatched");
  library.find(dgesvdj_batched, "cusolverDnDgesvdjBatched");
  library.find(geev_size, "cusolverDnXgeev_bufferSize");
  library.find(geev, "cusolverDnXgeev");
}

const CusolverCalls& cusolver() {
  static const CusolverCalls calls;
  check(calls.library.problem().empty(), "linalg", "cuSOLVER must be there",
        calls.library.problem());
  return calls;
}

void check_cusolver(cusolverStatus_t status) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    fail("linalg", "cuSOLVER must succeed", "its status ", static_cast<int>(status));
}

Solver::Lease::Lease(int index) : device(index) {
  const std::lock_guard lock(idle().mutex);
  std::vector<Handle>& handles = idle().handles[device];
  if (handles.empty()) return;
  handle = handles.back().handle;
  params = handles.back().params;
  jacobi = handles.back().jacobi;
  handles.pop_back();
}

Solver::Lease::~Lease() {
  if (!handle) return;
  const std::lock_guard lock(idle().mutex);
  idle().handles[device].push_back({handle, params, jacobi});
}

Solver::Solver(int device, int64_t count)
    : device_(device),
      lease_(device),
      found_(zeros({count}, {.dtype = DType::i32, .device = Device(DeviceType::cuda, device)})) {
  if (!lease_.handle) check_cusolver(cusolver().create(&lease_.handle));
  if (!lease_.params) check_cusolver(cusolver().create_params(&lease_.params));
  if (!lease_.jacobi) check_cusolver(cusolver().create_jacobi(&lease_.jacobi));
  check_cusolver(cusolver().set_stream(lease_.handle, current_stream(device)));
}

}  // namespace aorta::cuda
