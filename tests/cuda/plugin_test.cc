// Loads the plugin as a user's program does. Only names of core/device.h are used, so that this
// program links as little of core as one can.
#include <aorta/core/device.h>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

using namespace aorta;

// Its libraries are large. First, while no other test has loaded it.
TEST(CudaPlugin, IsNotLoadedWhereThereIsNoDriver) {
  if (dlopen("libcuda.so.1", RTLD_LAZY)) GTEST_SKIP() << "there is a driver";
  EXPECT_FALSE(cuda::is_available());
  EXPECT_EQ(cuda::unavailable_reason(), "there is no NVIDIA driver on this machine");
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  EXPECT_EQ(text.find("libcublas"), std::string::npos);
}

// Every symbol is bound when it is loaded, so a name that the program doesn't have would fail here.
TEST(CudaPlugin, LoadsIntoAProgram) {
  cuda::is_available();
  void* library = dlopen("libaorta_cuda.so", RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_NE(dlsym(library, "aorta_register_cuda"), nullptr);
}

TEST(CudaPlugin, SaysWhyThereIsNoGpu) {
  const std::string reason = cuda::unavailable_reason();
  EXPECT_EQ(cuda::is_available(), reason.empty()) << reason;
  if (cuda::is_available()) GTEST_SKIP() << "there is a GPU: nothing to explain";
  EXPECT_TRUE(reason.find("driver") != std::string::npos || reason.find("GPU") != std::string::npos)
      << reason;
}

TEST(CudaPlugin, UseWithoutAGpuIsAnErrorWithTheReason) {
  if (cuda::is_available()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(cuda::device_count(), 0);
  try {
    synchronize("cuda:0");
    FAIL() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("cuda: the device must be available, got ", 0), 0u) << text;
    EXPECT_NE(text.find(cuda::unavailable_reason()), std::string::npos) << text;
  }
}
