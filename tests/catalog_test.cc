#include <aorta/core/kernel_registry.h>
#include <aorta/core/ops/creation.h>
#include <aorta/tests/op_checks.h>
#include <gtest/gtest.h>

#include <set>

// Every row of the op catalogue through every check, on the CPU. A test case is a check of a row.
namespace aorta::catalog {
namespace {

template <class Keep>
std::vector<const Row*> select(const Keep& keep) {
  std::vector<const Row*> result;
  for (const Row& row : rows()) {
    if (keep(row)) result.push_back(&row);
  }
  return result;
}

bool has_calls(const Row& row) { return !row.calls.empty(); }
bool has_in_place(const Row& row) {
  for (const Call& call : row.calls) {
    if (call.in_place) return true;
  }
  return false;
}

using Parameter = ::testing::TestParamInfo<const Row*>;
std::string row_name(const Parameter& info) { return info.param->op; }

class Catalog : public ::testing::TestWithParam<const Row*> {};
TEST_P(Catalog, Forward) { check_forward(*GetParam(), "cpu"); }
TEST_P(Catalog, LogicalDevice) { check_forward(*GetParam(), "cpu:1"); }
TEST_P(Catalog, Layouts) { check_layouts(*GetParam(), "cpu"); }
TEST_P(Catalog, Expanded) { check_expanded(*GetParam(), "cpu"); }
TEST_P(Catalog, InputsKept) { check_inputs_kept(*GetParam(), "cpu"); }
TEST_P(Catalog, Written) { check_written(*GetParam(), "cpu"); }
TEST_P(Catalog, Threads) { check_threads(*GetParam(), "cpu"); }
INSTANTIATE_TEST_SUITE_P(Rows, Catalog, ::testing::ValuesIn(select(has_calls)), row_name);

class CatalogInPlace : public ::testing::TestWithParam<const Row*> {};
TEST_P(CatalogInPlace, SameAsOp) { check_in_place(*GetParam(), "cpu"); }
INSTANTIATE_TEST_SUITE_P(Rows, CatalogInPlace, ::testing::ValuesIn(select(has_in_place)), row_name);

class CatalogErrors : public ::testing::TestWithParam<const Row*> {};
TEST_P(CatalogErrors, Text) { check_errors(*GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, CatalogErrors,
                         ::testing::ValuesIn(select([](const Row& r) { return !r.bad.empty(); })),
                         row_name);

}  // namespace
}  // namespace aorta::catalog
