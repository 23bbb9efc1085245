#include <aorta/core/dispatch/op_table.h>
#include <aorta/tests/gradient_checks.h>
#include <aorta/tests/view_writes.h>
#include <gtest/gtest.h>

// The gradients of every row of the op catalogue.
namespace aorta::catalog {
namespace {

std::vector<const Row*> rows_with_gradient() {
  std::vector<const Row*> result;
  for (const Row& row : rows()) {
    if (has_gradient(row)) result.push_back(&row);
  }
  return result;
}

std::string row_name(const ::testing::TestParamInfo<const Row*>& info) { return info.param->op; }

class Gradients : public ::testing::TestWithParam<const Row*> {};
TEST_P(Gradients, First) { check_gradients(*GetParam()); }
TEST_P(Gradients, PyTorch) { check_gradient_fixtures(*GetParam()); }
TEST_P(Gradients, Second) { check_second_gradients(*GetParam()); }
TEST_P(Gradients, Dtypes) { check_gradient_dtypes(*GetParam()); }
TEST_P(Gradients, Layouts) { check_gradient_layouts(*GetParam()); }
TEST_P(Gradients, InPlace) { check_gradient_in_place(*GetParam()); }
TEST_P(Gradients, Mutants) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the same code as First, many times: too slow under sanitizers";
#endif
  check_gradient_mutants(*GetParam());
}
INSTANTIATE_TEST_SUITE_P(Rows, Gradients, ::testing::ValuesIn(rows_with_gradient()), row_name);

std::vector<const Row*> rows_in_place() {
  std::vector<const Row*> result;
  for (const Row& row : rows()) {
    for (const Call& call : row.calls) {
      if (!call.in_place) continue;
      result.push_back(&row);
      break;
    }
  }
  return result;
}

class ViewWrites : public ::testing::TestWithParam<const Row*> {};
TEST_P(ViewWrites, AreRecordedOrRefused) { check_view_writes(*GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, ViewWrites, ::testing::ValuesIn(rows_in_place()), row_name);

}  // namespace
}  // namespace aorta::catalog
