// What cuFFT and cuSOLVER are asked once, and keep: the call fails, and is made again.
#include <aorta/core/device_backend.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/fft.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/view.h>
#include <aorta/cuda/shared_library.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/stream.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <string>

extern "C" const char* aorta_register_cuda();

namespace aorta {
namespace {

class LinalgFaults : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_EQ(aorta_register_cuda(), nullptr); }
  void SetUp() override { emulated::Streams::get().set_mode(emulated::Mode::lazy); }
  void TearDown() override { emulated::inject_nothing(); }

  /// The first number of a spectrum of ones, by a plan that there isn't yet.
  static double transform(int64_t n) {
    return view_as_real(fft::fft(ones({n}, {.device = "cuda:0"}))).cpu().at<float>({0, 0});
  }
  static double solve(int device) {
    const Tensor a = eye(65, {.device = Device(DeviceType::cuda, device)});
    return linalg::solve(a, a).cpu().at<float>({0, 0});
  }
};

}  // namespace

TEST_F(LinalgFaults, LibrariesThatAreNotThereOrIncomplete) {
  cuda::SharedLibrary none("libnone.so.1", "no_such_function");
  void* call = nullptr;
  none.find(call, "no_such_function");
  EXPECT_EQ(none.problem(),
            "libnone.so.1: cannot open shared object file: No such file or directory");
  cuda::SharedLibrary some(
      "libsome.so.1",
      [](void* there, const char* name) { return name[0] == 'a' ? there : nullptr; }, &call);
  some.find(call, "a_function");
  EXPECT_EQ(some.problem(), "");
  EXPECT_EQ(call, &call);
  some.find(call, "lost");
  some.find(call, "missing");
  EXPECT_EQ(some.problem(), "libsome.so.1 has no lost");
  EXPECT_EQ(call, nullptr);
}

TEST_F(LinalgFaults, PlansOfTransforms) {
  int64_t n = 100;
  for (const char* call : {"cufftCreate", "cufftSetAutoAllocation", "cufftXtMakePlanMany"}) {
    SCOPED_TRACE(call);
    ++n;
    emulated::inject(call, 1, cudaErrorMemoryAllocation);
    EXPECT_EQ(error_of([&] { transform(n); }), "fft: cuFFT must succeed, got its result 5");
    emulated::inject_nothing();
    EXPECT_EQ(transform(n), static_cast<double>(n));
  }
}

// A plan that isn't made is given back, and what that says isn't asked.
TEST_F(LinalgFaults, APlanThatCantBeGivenBack) {
  emulated::inject("cufftXtMakePlanMany", 1, cudaErrorMemoryAllocation);
  emulated::inject("cufftDestroy", 1, cudaErrorMemoryAllocation);
  EXPECT_EQ(error_of([] { transform(99); }), "fft: cuFFT must succeed, got its result 5");
  emulated::inject_nothing();
  EXPECT_EQ(transform(99), 99.0);
}

// These are all decompositions that go by cuSOLVER, in each of its dtypes.
TEST_F(LinalgFaults, EachCallOfADecompositionFails) {
  int failed = 0;
  for (const DType dtype : {f32, f64}) {
    const Tensor large = eye(65, {.dtype = dtype, .device = "cuda:0"}),
                 small = eye(3, {.dtype = dtype, .device = "cuda:0"}).expand({2, 3, 3});
    const auto work = [&] {
      linalg::cholesky(large);
      linalg::solve(large, large);
      linalg::solve_triangular(large, large, {.upper = true});
      linalg::lu_factor(large);
      linalg::qr(large);
      linalg::eigh(large);
      linalg::svd(large);
      linalg::svd(small);
      linalg::eig(large);
    };
    work();  // what is kept from then on is there
    emulated::take_calls();
    work();
    DeviceBackend& gpu = backend(DeviceType::cuda);
    const int64_t in_use = gpu.memory_stats(0).bytes_in_use;
    for (const auto& [call, count] : emulated::take_calls()) {
      if (!call.starts_with("cusolver")) continue;
      SCOPED_TRACE(call);
      for (const int nth : {1, count}) {
        emulated::inject(call, nth, cudaErrorLaunchFailure);
        const std::string text = error_of(work);
        emulated::inject_nothing();
        EXPECT_TRUE(text.ends_with(": cuSOLVER must succeed, got its status 7")) << text;
        EXPECT_FALSE(text.starts_with("linalg")) << text;
        synchronize("cuda:0");
        EXPECT_EQ(gpu.memory_stats(0).bytes_in_use, in_use);
        ++failed;
      }
    }
    EXPECT_EQ(error_of(work), kNoError);
  }
  EXPECT_GT(failed, 2 * 2 * 14);
}

// One after the other: what is there already is kept.
TEST_F(LinalgFaults, HandlesOfTheSolver) {
  for (const char* call :
       {"cusolverDnCreate", "cusolverDnCreateParams", "cusolverDnCreateGesvdjInfo"}) {
    SCOPED_TRACE(call);
    emulated::inject(call, 1, cudaErrorMemoryAllocation);
    EXPECT_EQ(error_of([] { solve(2); }), "solve: cuSOLVER must succeed, got its status 7");
    emulated::inject_nothing();
  }
  EXPECT_EQ(solve(2), 1.0);
}

}  // namespace aorta
