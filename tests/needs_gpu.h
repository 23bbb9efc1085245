#pragma once

#include <aorta/core/device.h>

#include <gtest/gtest.h>

namespace aorta {

/// A test that needs a GPU; skips, with the reason, where there is none.
class NeedsGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
  }
};

}  // namespace aorta
