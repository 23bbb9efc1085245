#include <aorta/cuda/build_info.h>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

TEST(CudaBuildInfo, KernelsAndHostCodeSeeOneToolkit) {
  EXPECT_EQ(aorta::cuda::toolkit_version(), CUDART_VERSION);
}

TEST(CudaBuildInfo, DriverIsNewEnough) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU here";
  int driver = 0;
  ASSERT_EQ(cudaDriverGetVersion(&driver), cudaSuccess);
  EXPECT_GE(driver / 1000, aorta::cuda::toolkit_version() / 1000);
}
