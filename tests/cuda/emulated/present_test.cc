// A test that runs on the emulated device has one: else its cases would skip, and nobody would see.
#include <aorta/core/device.h>

#include <gtest/gtest.h>

TEST(EmulatedDevice, IsThere) {
  ASSERT_TRUE(aorta::cuda::is_available()) << aorta::cuda::unavailable_reason();
  EXPECT_EQ(aorta::cuda::device_count(), 3);
}
