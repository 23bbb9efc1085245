#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/ops/creation.h>
#include <aorta/tests/op_checks.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
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
INSTANTIATE_TEST_SUITE_P(Rows, Catalog, ::testing::ValuesIn(select(has_calls)), row_name);

class CatalogUndefined : public ::testing::TestWithParam<const Row*> {};
TEST_P(CatalogUndefined, Named) { check_undefined(*GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, CatalogUndefined, ::testing::ValuesIn(select(has_calls)), row_name);

bool has_large(const Row& row) {
  const bool extends =
      row.family == "pointwise" || row.family == "reduction" || row.family == "lines";
  return has_calls(row) && (extends || row.large);
}
class CatalogThreads : public ::testing::TestWithParam<const Row*> {};
TEST_P(CatalogThreads, SameBits) { check_threads(*GetParam(), "cpu"); }
INSTANTIATE_TEST_SUITE_P(Rows, CatalogThreads, ::testing::ValuesIn(select(has_large)), row_name);

class CatalogInPlace : public ::testing::TestWithParam<const Row*> {};
TEST_P(CatalogInPlace, SameAsOp) { check_in_place(*GetParam(), "cpu"); }
INSTANTIATE_TEST_SUITE_P(Rows, CatalogInPlace, ::testing::ValuesIn(select(has_in_place)), row_name);

class CatalogErrors : public ::testing::TestWithParam<const Row*> {};
TEST_P(CatalogErrors, Text) { check_errors(*GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, CatalogErrors,
                         ::testing::ValuesIn(select([](const Row& r) { return !r.bad.empty(); })),
                         row_name);

class CatalogProperty : public ::testing::TestWithParam<const Row*> {};
TEST_P(CatalogProperty, Holds) { GetParam()->property("cpu"); }
TEST_P(CatalogProperty, LogicalDevice) { GetParam()->property("cpu:1"); }
INSTANTIATE_TEST_SUITE_P(Rows, CatalogProperty, ::testing::ValuesIn(select([](const Row& r) {
                           return r.property != nullptr;
                         })),
                         row_name);

// What rows name, and the names that they test besides.
std::set<std::string> tested_names() {
  std::set<std::string> names;
  for (const Row& row : rows()) {
    EXPECT_TRUE(names.insert(row.op).second) << row.op << " has two rows";
    names.insert(row.also.begin(), row.also.end());
  }
  return names;
}

TEST(CatalogComplete, EveryRowOfTheOpTable) {
  const std::set<std::string> names = tested_names();
  int count = 0;
  for (const OpRow* op = first_op(); op; op = op->next(), ++count) {
    std::string name = op->name();
    // The gradient kernel of a pointwise op is tested by that op's row.
    if (name.ends_with("_backward")) name.resize(name.size() - std::strlen("_backward"));
    if (name == in_place_hook.name() || name == keep_hook.name()) continue;  // autograd's own
    EXPECT_TRUE(names.count(name)) << name << " needs a row in tests/catalog";
  }
  EXPECT_GT(count, 100);
}

// The functions that core/ops/*.h declare at the start of a line.
std::set<std::string> public_functions() {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator("core/ops")) {
    // Index checks that ops share; tensor(values)'s other half.
    if (file.path().extension() != ".h" || file.path().stem() == "indexed_plan") continue;
    std::ifstream stream(file.path());
    for (std::string line; std::getline(stream, line);) {
      static const std::regex declaration(
          "^(?:inline )?(?:const )?(?:Tensor|std::vector<Tensor>|ValuesIndices|VarMean|Unique)&? "
          "(\\w+)\\(.*");
      std::smatch match;
      if (std::regex_match(line, match, declaration) && match[1] != "from_values")
        names.insert(match[1]);
    }
  }
  return names;
}

TEST(CatalogComplete, EveryPublicFunction) {
  const std::set<std::string> names = tested_names(), functions = public_functions();
  EXPECT_GT(functions.size(), 200u);
  for (const std::string& function : functions) {
    const bool in_place = function.back() == '_';
    const std::string base = in_place ? function.substr(0, function.size() - 1) : function;
    EXPECT_TRUE(names.count(function) || names.count(base) || names.count(base + "_"))
        << function << " needs a row in tests/catalog";
  }
}

// An op whose functions f_ are tested has them in its row.
TEST(CatalogComplete, EveryInPlaceForm) {
  for (const std::string& function : public_functions()) {
    if (function.back() != '_') continue;
    for (const Row& row : rows()) {
      if (row.calls.empty() || (row.op != function && row.op + "_" != function)) continue;
      EXPECT_TRUE(has_in_place(row)) << function << " is tested nowhere";
    }
  }
}

TEST(CatalogComplete, EveryFixtureIsRead) {
  for (const std::string& key : unused_fixture_keys()) ADD_FAILURE() << key << " is read by no row";
}

// What `Written` relies on: freed blocks come back, full of NaN.
TEST(Poison, ComesBack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "nothing is cached under a sanitizer, which fills fresh memory itself";
#endif
  for (int64_t count : {7, 100, 5000, 100000, 3000000}) {
    poison(count * 4, "cpu");
    const Tensor x = empty({count});
    // The first bytes of a freed block link it to the next.
    for (int64_t i : {int64_t{2}, count / 2, count - 1}) {
      EXPECT_TRUE(std::isnan(x.data<float>()[i])) << i << " of " << count;
    }
  }
}

}  // namespace
}  // namespace aorta::catalog
