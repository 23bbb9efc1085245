#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/tests/empty_checks.h>
#include <aorta/tests/gradient_checks.h>
#include <aorta/tests/mutants.h>
#include <aorta/tests/op_kernels.h>
#include <aorta/tests/view_writes.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

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

// Once a row.
const std::vector<bool>& mutants_of(const Row& row) {
  static std::map<const Row*, std::vector<bool>> known;
  const auto [found, is_new] = known.try_emplace(&row);
  if (is_new) found->second = check_gradient_mutants(row);
  return found->second;
}

class Gradients : public ::testing::TestWithParam<const Row*> {};
TEST_P(Gradients, First) { check_gradients(*GetParam()); }
TEST_P(Gradients, PyTorch) { check_gradient_fixtures(*GetParam()); }
TEST_P(Gradients, Second) { check_second_gradients(*GetParam()); }
TEST_P(Gradients, Dtypes) { check_gradient_dtypes(*GetParam()); }
TEST_P(Gradients, Layouts) { check_gradient_layouts(*GetParam()); }
TEST_P(Gradients, Planned) { check_gradients_planned(*GetParam()); }
TEST_P(Gradients, Empty) { check_empty_on(*GetParam(), "meta"); }
TEST_P(Gradients, InPlace) { check_gradient_in_place(*GetParam()); }
TEST_P(Gradients, Mutants) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the same code as First, many times: too slow under sanitizers";
#endif
  mutants_of(*GetParam());
}
INSTANTIATE_TEST_SUITE_P(Rows, Gradients, ::testing::ValuesIn(rows_with_gradient()), row_name);

TEST(GradientMutants, ThePageCountsThem) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "see Gradients.Mutants";
#endif
  std::map<std::string, mutants::Count> families;
  for (const Row* row : rows_with_gradient()) {
    mutants::Count& count = families[row->family];
    ++count.rows;
    for (const bool caught : mutants_of(*row)) count.add(row->op, caught, {});
  }
  mutants::expect_counts("gradients of ops", families, {});
}

// A row that says that its results have no gradient has none, and floating results all the same.
TEST(GradientFlags, NoneIsNone) {
  for (const Row& row : rows()) {
    if (row.derivative != Derivative::none) continue;
    EXPECT_GT(gradient_points(row), 0) << row.op;
    EXPECT_TRUE(kernels_of_gradients(row).empty()) << row.op;
  }
}

TEST(GradientFlags, CancellingSamplesExist) {
  for (const Row& row : rows()) {
    for (const std::string& name : row.cancelling) {
      const auto& all = samples(row);
      EXPECT_TRUE(
          std::any_of(all.begin(), all.end(), [&](const Sample& s) { return s.name == name; }))
          << row.op << " has no sample " << name;
    }
  }
}

TEST(GradientChecks, AreMadeAtManyPoints) {
  int points = 0;
  for (const Row& row : rows()) points += has_gradient(row) ? gradient_points(row) : 0;
  RecordProperty("points", points);
  EXPECT_GT(points, 1700);
}

// The calls of a row run the kernels that it names (catalog_test); here, what its gradients run.
TEST(OpTable, EveryKernelIsRunByARow) {
  std::set<std::string> run;
  for (const Row& row : rows()) {
    run.insert(row.op);
    run.insert(row.also.begin(), row.also.end());
    std::set<std::string> by_gradients = kernels_of_gradients(row);
    for (const std::string& name : row.functions) {
      const kernel::OpRow* const op = find_op(name);
      EXPECT_TRUE(!op || by_gradients.contains(name))
          << row.op << " says that its gradients run " << name;
    }
    run.merge(by_gradients);
  }
  int count = 0;
  for (const kernel::OpRow* op = kernel::first_op(); op; op = op->next(), ++count) {
    if (op == &kernel::in_place_hook || op == &kernel::keep_hook) continue;  // no ops
    EXPECT_TRUE(run.contains(op->name())) << op->name() << " needs a row in tests/catalog";
  }
  EXPECT_GT(count, 100);
}

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
