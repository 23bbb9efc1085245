#include <aorta/core/backends.h>
#include <aorta/core/device.h>
#include <aorta/tests/empty_checks.h>
#include <aorta/tests/gradient_checks.h>
#include <aorta/tests/op_checks.h>
#include <aorta/tests/op_kernels.h>
#include <gtest/gtest.h>

// The rows of the op catalogue on the first GPU: the same samples, references and tolerances as on
// the CPU.
namespace aorta::catalog {
namespace {

class GpuCatalog : public ::testing::TestWithParam<const Row*> {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
  }
};

// Rows that run on CUDA, by the op table; all where there is no device, which the tests then say.
std::vector<const Row*> rows_with_kernels() {
  std::vector<const Row*> result;
  const bool known = cuda::is_available();
  for (const Row& row : rows()) {
    if (!row.calls.empty() && (!known || missing_kernel(row, DeviceType::cuda).empty()))
      result.push_back(&row);
  }
  return result;
}

TEST_P(GpuCatalog, Forward) { check_forward(*GetParam(), "cuda:0"); }
TEST_P(GpuCatalog, Layouts) { check_layouts(*GetParam(), "cuda:0"); }
TEST_P(GpuCatalog, Expanded) { check_expanded(*GetParam(), "cuda:0"); }
TEST_P(GpuCatalog, InputsKept) { check_inputs_kept(*GetParam(), "cuda:0"); }
TEST_P(GpuCatalog, Written) { check_written(*GetParam(), "cuda:0"); }
TEST_P(GpuCatalog, InPlace) {
  for (const Call& call : GetParam()->calls) {
    if (call.in_place) return check_in_place(*GetParam(), "cuda:0");
  }
}
TEST_P(GpuCatalog, Gradients) {
  const Row& row = *GetParam();
  const int compared = check_gradients_on(row, "cuda:0");
  bool has_all = has_gradient(row);
  for (const std::string& op : kernels_of_gradients(row))
    has_all &= find_op(op)->has_kernel(DeviceType::cuda);
  if (has_all) {
    EXPECT_GT(compared, 0);
  }
}
TEST_P(GpuCatalog, GradientLayouts) { check_gradient_layouts_on(*GetParam(), "cuda:0"); }
TEST_P(GpuCatalog, SecondGradients) { check_second_gradients_on(*GetParam(), "cuda:0"); }
TEST_P(GpuCatalog, Empty) { check_empty_on(*GetParam(), "cuda:0"); }
INSTANTIATE_TEST_SUITE_P(Rows, GpuCatalog, ::testing::ValuesIn(rows_with_kernels()),
                         [](const auto& test) { return test.param->op; });

/// Rows of convolutions, by kernels of our own: above they are cuDNN's where it takes them.
class OwnConvolutions : public GpuCatalog {
 protected:
  void SetUp() override {
    GpuCatalog::SetUp();
    backends::cudnn::set_enabled(false);
  }
  void TearDown() override { backends::cudnn::set_enabled(before_); }

 private:
  const bool before_ = backends::cudnn::enabled();
};

std::vector<const Row*> convolution_rows_with_kernels() {
  std::vector<const Row*> result;
  for (const Row* row : rows_with_kernels()) {
    if (row->family == "convolution") result.push_back(row);
  }
  return result;
}

TEST_P(OwnConvolutions, Forward) { check_forward(*GetParam(), "cuda:0"); }
TEST_P(OwnConvolutions, Layouts) { check_layouts(*GetParam(), "cuda:0"); }
TEST_P(OwnConvolutions, Gradients) { EXPECT_GT(check_gradients_on(*GetParam(), "cuda:0"), 0); }
INSTANTIATE_TEST_SUITE_P(Rows, OwnConvolutions,
                         ::testing::ValuesIn(convolution_rows_with_kernels()),
                         [](const auto& test) { return test.param->op; });

// A call of a row that doesn't run on CUDA says which op has no kernel, and does nothing else.
TEST(GpuTable, MissingKernelsAreNamed) {
  if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
  int missing = 0;
  for (const Row& row : rows()) {
    if (row.calls.empty() || missing_kernel(row, DeviceType::cuda).empty()) continue;
    ++missing;
    check_missing_kernel(row, "cuda:0");
  }
  RecordProperty("missing", missing);
  EXPECT_GT(rows_with_kernels().size(), 150u);
}

TEST(GpuTable, EveryOpHasAKernel) {
  if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
  for (const kernel::OpRow* op = kernel::first_op(); op; op = op->next()) {
    if (op->has_kernel(DeviceType::cpu)) {
      EXPECT_TRUE(op->has_kernel(DeviceType::cuda)) << op->name();
    }
  }
}

/// Rows whose results are random, or that need more than a call: what they hold.
class GpuProperty : public GpuCatalog {};
TEST_P(GpuProperty, Holds) { GetParam()->property("cuda:0"); }
INSTANTIATE_TEST_SUITE_P(Rows, GpuProperty, ::testing::ValuesIn([] {
                           std::vector<const Row*> result;
                           for (const Row& row : rows())
                             if (row.property) result.push_back(&row);
                           return result;
                         }()),
                         [](const auto& test) { return test.param->op; });

}  // namespace
}  // namespace aorta::catalog
