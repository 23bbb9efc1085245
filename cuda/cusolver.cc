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
  shared.find(create, "cusolverDnCreate");
  shared.find(create_params, "cusolverDnCreateParams");
  shared.find(set_stream, "cusolverDnSetStream");
  shared.find(potrf_size, "cusolverDnXpotrf_bufferSize");
  shared.find(potrf, "cusolverDnXpotrf");
  shared.find(getrf_size, "cusolverDnXgetrf_bufferSize");
  shared.find(getrf, "cusolverDnXgetrf");
  shared.find(getrs, "cusolverDnXgetrs");
  shared.find(geqrf_size, "cusolverDnXgeqrf_bufferSize");
  shared.find(geqrf, "cusolverDnXgeqrf");
  shared.find(sorgqr_size, "cusolverDnSorgqr_bufferSize");
  shared.find(dorgqr_size, "cusolverDnDorgqr_bufferSize");
  shared.find(sorgqr, "cusolverDnSorgqr");
  shared.find(dorgqr, "cusolverDnDorgqr");
  shared.find(ssytrf_size, "cusolverDnSsytrf_bufferSize");
  shared.find(dsytrf_size, "cusolverDnDsytrf_bufferSize");
  shared.find(ssytrf, "cusolverDnSsytrf");
  shared.find(dsytrf, "cusolverDnDsytrf");
  shared.find(syev_size, "cusolverDnXsyevBatched_bufferSize");
  shared.find(syev, "cusolverDnXsyevBatched");
  shared.find(create_jacobi, "cusolverDnCreateGesvdjInfo");
  shared.find(sgesvdj_size, "cusolverDnSgesvdj_bufferSize");
  shared.find(dgesvdj_size, "cusolverDnDgesvdj_bufferSize");
  shared.find(sgesvdj, "cusolverDnSgesvdj");
  shared.find(dgesvdj, "cusolverDnDgesvdj");
  shared.find(sgesvdj_batched_size, "cusolverDnSgesvdjBatched_bufferSize");
  shared.find(dgesvdj_batched_size, "cusolverDnDgesvdjBatched_bufferSize");
  shared.find(sgesvdj_batched, "cusolverDnSgesvdjBatched");
  shared.find(dgesvdj_batched, "cusolverDnDgesvdjBatched");
  shared.find(geev_size, "cusolverDnXgeev_bufferSize");
  shared.find(geev, "cusolverDnXgeev");
}

const CusolverCalls& cusolver() {
  static const CusolverCalls calls;
  check(calls.shared.problem().empty(), "linalg", "cuSOLVER must be there", calls.shared.problem());
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
