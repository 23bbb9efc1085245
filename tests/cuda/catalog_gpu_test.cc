#include <aorta/core/device.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/tests/op_checks.h>
#include <gtest/gtest.h>

#include <algorithm>

// The rows of the op catalogue on the first GPU: the same samples, references and tolerances as on
// the CPU.
namespace aorta::catalog {
namespace {

// Ops that have no CUDA kernel yet and aren't tested here; every other op without one fails.
bool runs_on_cpu_alone(const std::string& op) {
  const auto names = {"sort", "argsort", "topk", "kthvalue", "unique", "unique_dim", "interpolate"};
  for (const char* part : {"_pool", "_loss", "cross_entropy", "kl_div", "cosine", "dropout",
                           "_norm", "_cell", "conv"}) {
    if (op.find(part) != std::string::npos) return true;
  }
  return std::find(names.begin(), names.end(), op) != names.end();
}

class GpuCatalog : public ::testing::TestWithParam<const Row*> {
 protected:
  void SetUp() override {
    if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
  }
};

std::vector<const Row*> rows_with_calls() {
  std::vector<const Row*> result;
  for (const Row& row : rows()) {
    if (!row.calls.empty() && !runs_on_cpu_alone(row.op)) result.push_back(&row);
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
INSTANTIATE_TEST_SUITE_P(Rows, GpuCatalog, ::testing::ValuesIn(rows_with_calls()),
                         [](const auto& test) { return test.param->op; });

// An op that is given a kernel is tested from then on.
TEST(GpuTable, OpsWithAKernelAreTested) {
  if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
  int kernels = 0;
  for (const OpRow* op = first_op(); op; op = op->next()) {
    if (!op->has_kernel(DeviceType::cuda)) continue;
    ++kernels;
    EXPECT_FALSE(runs_on_cpu_alone(op->name())) << op->name();
  }
  EXPECT_GT(kernels, 100);
}

TEST(GpuUpdate, Holds) {
  if (!cuda::is_available()) GTEST_SKIP() << "no GPU: " << cuda::unavailable_reason();
  for (const Row& row : rows()) {
    if (row.op == "update") row.property("cuda:0");
  }
}

}  // namespace
}  // namespace aorta::catalog
