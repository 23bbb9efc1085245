// Fourier transforms by cuFFT, which is found when the first one asks.
#include <aorta/core/check.h>
#include <aorta/core/dispatch/device_work.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/fft.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/data_type.h>
#include <aorta/cuda/shared_library.h>

#include <cufftXt.h>

#include <compare>
#include <map>
#include <mutex>

namespace aorta::cuda {
namespace {

struct Calls {
  SharedLibrary shared{"libcufft.so.12", "cufftXtExec"};
  decltype(&cufftCreate) create = nullptr;
  decltype(&cufftDestroy) destroy = nullptr;
  decltype(&cufftSetAutoAllocation) set_auto_allocation = nullptr;
  decltype(&cufftXtMakePlanMany) make_plan = nullptr;
  decltype(&cufftSetStream) set_stream = nullptr;
  decltype(&cufftSetWorkArea) set_work_area = nullptr;
  decltype(&cufftXtExec) execute = nullptr;

  Calls() {
    shared.find(create, "cufftCreate");
    shared.find(destroy, "cufftDestroy");
    shared.find(set_auto_allocation, "cufftSetAutoAllocation");
    shared.find(make_plan, "cufftXtMakePlanMany");
    shared.find(set_stream, "cufftSetStream");
    shared.find(set_work_area, "cufftSetWorkArea");
    shared.find(execute, "cufftXtExec");
  }
};

const Calls& cufft() {
  static const Calls calls;
  check(calls.shared.problem().empty(), "fft", "cuFFT must be there", calls.shared.problem());
  return calls;
}

void check_cufft(cufftResult result) {
  if (result != CUFFT_SUCCESS)
    fail("fft", "cuFFT must succeed", "its result ", static_cast<int>(result));
}

/// Numbers of lines: how many a line has, and how far they and the lines lie apart.
struct Layout {
  cudaDataType_t type;
  int64_t length, step, between;
  auto operator<=>(const Layout&) const = default;
};

/// `count` transforms of n numbers on a device.
struct PlanKey {
  int device;
  int64_t n, count;
  Layout in, out;
  auto operator<=>(const PlanKey&) const = default;
};

struct Plan {
  cufftHandle handle = 0;
  size_t workspace = 0;
};

Plan make_plan(const PlanKey& key) {
  Plan plan;
  check_cufft(cufft().create(&plan.handle));
  const auto made = [&] {
    // The caching allocator gives what a plan needs, for the length of a transform.
    if (const cufftResult result = cufft().set_auto_allocation(plan.handle, 0)) return result;
    const bool wide = key.in.type == CUDA_R_64F || key.in.type == CUDA_C_64F;
    long long n = key.n, in = key.in.length, out = key.out.length;
    return cufft().make_plan(plan.handle, 1, &n, &in, key.in.step, key.in.between, key.in.type,
                             &out, key.out.step, key.out.between, key.out.type, key.count,
                             &plan.workspace, wide ? CUDA_C_64F : CUDA_C_32F);
  }();
  if (made != CUFFT_SUCCESS) cufft().destroy(plan.handle);
  check_cufft(made);
  return plan;
}

/// A plan is made in milliseconds, and kept; which stream and memory it uses is said at each call.
void run(const PlanKey& key, const void* in, void* out, bool forward) {
  constexpr size_t kMostPlans = 1024;
  static std::mutex mutex;
  static auto* plans = new std::map<PlanKey, Plan>;
  const std::lock_guard lock(mutex);
  if (plans->size() >= kMostPlans && !plans->contains(key)) {
    for (const auto& [old, plan] : *plans) cufft().destroy(plan.handle);
    plans->clear();
  }
  auto found = plans->find(key);
  if (found == plans->end()) found = plans->emplace(key, make_plan(key)).first;
  const Plan& plan = found->second;
  const Workspace workspace(static_cast<int64_t>(plan.workspace), key.device);
  const cudaStream_t stream = current_stream(key.device);
  const DeviceWork work("fft", DeviceType::cuda, stream);
  check_cufft(cufft().set_stream(plan.handle, stream));
  check_cufft(cufft().set_work_area(plan.handle, workspace.data()));
  check_cufft(cufft().execute(plan.handle, const_cast<void*>(in), out,
                              forward ? CUFFT_FORWARD : CUFFT_INVERSE));
  check_finished("fft", stream);
}

Tensor lines_at(const void* data, const FftArgs& args, int64_t length, DType dtype, int device) {
  return from_blob(const_cast<void*>(data), {args.outer, length, args.inner},
                   {.dtype = dtype, .device = Device(DeviceType::cuda, device)});
}

/// The parts of number `k` of each line that are imaginary.
void forget_imaginary(const Tensor& spectrum, int64_t k) {
  const Tensor part =
      from_blob(spectrum.data(), {spectrum.size(0), spectrum.size(1), spectrum.size(2), 2},
                {.dtype = spectrum.dtype() == DType::c128 ? DType::f64 : DType::f32,
                 .device = spectrum.device()});
  part.narrow(1, k, 1).select(3, 1).zero_();
}

/// Lines of `in` become lines of `out`.
void transform(const FftArgs& args, DType in, int64_t in_length, DType out, int64_t out_length) {
  const int device = device_of(args.input);
  const DeviceScope scope(device, "fft");
  Tensor x = lines_at(args.input, args, in_length, in, device);
  const Tensor y = lines_at(args.output, args, out_length, out, device);
  // One plan can step over the lines of a dimension alone, not of those around it too.
  const bool apart = args.inner > 1 && args.outer > 1;
  if (apart) x = x.transpose(1, 2).contiguous();
  // Real numbers are read as pairs, and cuFFT writes over a spectrum.
  const bool paired = reinterpret_cast<uintptr_t>(x.data()) % (2 * item_size(args.dtype)) == 0;
  if (!apart && (out == args.dtype || !paired)) x = x.clone();
  if (out == args.dtype) {
    const Tensor spectrum = apart ? x.view({args.outer * args.inner, in_length, 1}) : x;
    forget_imaginary(spectrum, 0);
    if (args.n % 2 == 0) forget_imaginary(spectrum, args.n / 2);
  }
  const bool strided = !apart && args.inner > 1;
  const auto layout = [&](DType dtype, int64_t length) -> Layout {
    return {data_type(dtype), length, strided ? args.inner : 1, strided ? 1 : length};
  };
  const PlanKey key{device, args.n, args.outer * args.inner, layout(in, in_length),
                    layout(out, out_length)};
  Tensor result =
      apart ? empty({args.outer, args.inner, out_length}, {.dtype = out, .device = y.device()}) : y;
  run(key, x.data(), result.data(), args.forward);
  if (args.scale != 1) {
    const int64_t parts = result.numel() * (out == args.dtype ? 1 : 2);
    from_blob(result.data(), {parts}, {.dtype = args.dtype, .device = y.device()}).mul_(args.scale);
  }
  if (apart) y.copy_(result.transpose(1, 2));
}

void fft_c2c(const FftArgs& args) {
  transform(args, complex_dtype(args.dtype), args.n, complex_dtype(args.dtype), args.n);
}
void fft_r2c(const FftArgs& args) {
  transform(args, args.dtype, args.n, complex_dtype(args.dtype), args.n / 2 + 1);
}
void fft_c2r(const FftArgs& args) {
  transform(args, complex_dtype(args.dtype), args.n / 2 + 1, args.dtype, args.n);
}

}  // namespace

void register_fft() {
  set_kernel<fft_c2c_op, fft_c2c>();
  set_kernel<fft_r2c_op, fft_r2c>();
  set_kernel<fft_c2r_op, fft_c2r>();
}

}  // namespace aorta::cuda
