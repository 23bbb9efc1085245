// Loads the plugin as a user's program does. Only names of core/device.h are used, so that this
// program links as little of core as one can.
#include <aorta/core/device.h>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

using namespace aorta;

// Every symbol is bound when it is loaded, so a name that the program doesn't have would fail here.
TEST(CudaPlugin, LoadsAndSaysWhyThereIsNoGpu) {
  const bool available = cuda::is_available();
  const std::string reason = cuda::unavailable_reason();
  EXPECT_EQ(available, reason.empty()) << reason;
  void* library = dlopen("libaorta_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr) << "the plugin isn't loaded: " << reason;
  EXPECT_NE(dlsym(library, "aorta_register_cuda"), nullptr);
  if (available) GTEST_SKIP() << "there is a GPU: nothing to explain";
  EXPECT_TRUE(reason.find("driver") != std::string::npos || reason.find("GPU") != std::string::npos)
      << reason;
  EXPECT_EQ(reason.find("undefined symbol"), std::string::npos) << reason;
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
