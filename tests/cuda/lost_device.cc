// Some errors of a GPU stay: every later call of the process fails. A test that left one ends the
// program, so that it alone fails; tools/gpu_bundle_run.sh goes on in a new process.
#include <aorta/core/device_backend.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/tensor.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

using namespace aorta;

class LostDevice : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed() || !cuda::is_available()) return;
    try {
      if (ones({3}, {.device = "cuda:0"}).cpu().at<float>({2}) == 1) return;
      std::puts("the device is lost: it filled 3 elements with something else than ones");
    } catch (const std::exception& error) {
      std::printf("the device is lost: %s\n", error.what());
    }
    std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
};

const bool kListens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new LostDevice);
  return true;
}();

}  // namespace
