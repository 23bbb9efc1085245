#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/creation.h>
#include <aorta/tests/op_checks.h>
#include <aorta/tests/op_kernels.h>
#include <gtest/gtest.h>

#include <cmath>
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
TEST_P(Catalog, Planned) { check_planned(*GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, Catalog, ::testing::ValuesIn(select(has_calls)), row_name);

class CatalogUndefined : public ::testing::TestWithParam<const Row*> {};
TEST_P(CatalogUndefined, Named) { check_undefined(*GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, CatalogUndefined, ::testing::ValuesIn(select(has_calls)), row_name);

bool has_large(const Row& row) {
  return has_calls(row) && (row.takes_more_dimensions || row.large);
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

// The kernel of the row's op, where the op has one, and those of its `also`.
std::set<std::string> kernels_named(const Row& row) {
  std::set<std::string> names(row.also.begin(), row.also.end());
  EXPECT_EQ(names.size(), row.also.size()) << "a name stands twice";
  const kernel::OpRow* const own = find_op(row.op);
  if (own && own->has_kernel(DeviceType::cpu)) {
    EXPECT_TRUE(names.insert(row.op).second) << "a row's own op needs no mention";
  }
  return names;
}

// A row's calls run the kernels that it names, and no other.
class CatalogKernels : public ::testing::TestWithParam<const Row*> {};
TEST_P(CatalogKernels, AreThoseThatTheRowNames) {
  EXPECT_EQ(kernels_run(*GetParam()), kernels_named(*GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Rows, CatalogKernels, ::testing::ValuesIn(select(has_calls)), row_name);

// Every op of the catalogue that runs a kernel shows; one that gives its input back runs none.
TEST(CatalogProfiler, EveryKernelHasARange) {
  for (const Row& row : rows()) {
    if (row.calls.empty() || row.family == "shape") continue;
    for (const Sample& sample : samples(row)) {
      if (sample.outputs[0].numel() == 0 || sample.inputs.empty()) continue;
      Profiler profiler;
      const Tensors results = sample.call->run(sample.inputs);
      profiler.stop();
      if (results[0].data() == sample.inputs[0].data()) continue;
      EXPECT_FALSE(profiler.ranges().empty()) << row.op << "/" << sample.name;
      break;
    }
  }
}

// A property, which computes what it expects besides, runs them too.
TEST(CatalogPropertyKernels, AreRun) {
  for (const Row& row : rows()) {
    if (has_calls(row) || !row.property) continue;
    const std::set<std::string> run = kernels_run([&](const Tensors&) { row.property("cpu"); });
    for (const std::string& name : kernels_named(row))
      EXPECT_TRUE(run.contains(name)) << row.op << " doesn't run " << name;
  }
}

// What rows name, and the functions that they test besides.
std::set<std::string> tested_names() {
  std::set<std::string> names;
  for (const Row& row : rows()) {
    EXPECT_TRUE(names.insert(row.op).second) << row.op << " has two rows";
    names.insert(row.functions.begin(), row.functions.end());
  }
  return names;
}

// The functions of something that core/ops/*.h declare at the start of a line, of a result of a
// type of ours or bool.
std::set<std::string> public_functions() {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator("core/ops")) {
    if (file.path().extension() != ".h") continue;
    std::ifstream stream(file.path());
    for (std::string line; std::getline(stream, line);) {
      static const std::regex declaration(
          "^(?:inline )?(?:const )?(?:[A-Z]\\w*|std::vector<Tensor>|bool)&? (\\w+)\\([^)].*");
      std::smatch match;
      if (std::regex_match(line, match, declaration)) names.insert(match[1]);
    }
  }
  return names;
}

// Whether core declares it beside its ops: a method of Tensor, or a maker of fresh tensors.
bool is_basic(const std::string& name) {
  const std::regex declaration(" *(?:const )?[\\w:<>]+&? " + name + "\\(.*");
  for (const char* header : {"core/tensor.h", "core/empty.h"}) {
    std::ifstream stream(header);
    for (std::string line; std::getline(stream, line);) {
      if (std::regex_match(line, declaration)) return true;
    }
  }
  return false;
}

TEST(CatalogComplete, EveryPublicFunction) {
  std::set<std::string> names = tested_names();
  const std::set<std::string> functions = public_functions();
  EXPECT_GT(functions.size(), 200u);
  names.insert("interpolate_plan");  // the row of interpolate, whose plan it is
  names.insert("read_rows");         // the row of embedding, which reads them
  // Matrices that are no Tensor: tests/core/sparse_test.cc, tests/autograd/sparse_matrix_test.cc.
  for (const char* name : {"sparse_coo_tensor", "to_sparse"}) names.insert(name);
  names.insert("reduce_over_ranks");  // what engines of collectives compute: tests/nn/parallel
  // Functions of the name of an op are tested where its kernel is run: gradients_test.
  for (const kernel::OpRow* op = kernel::first_op(); op; op = op->next()) names.insert(op->name());
  for (const std::string& function : functions) {
    const bool in_place = function.back() == '_';
    const std::string base = in_place ? function.substr(0, function.size() - 1) : function;
    EXPECT_TRUE(names.count(function) || names.count(base) || names.count(base + "_"))
        << function << " needs a row in tests/catalog";
  }
}

// The names are not of functions that are gone.
TEST(CatalogComplete, FunctionsAreDeclared) {
  const std::set<std::string> declared = public_functions();
  for (const Row& row : rows()) {
    for (const std::string& function : row.functions) {
      EXPECT_TRUE(declared.contains(function) || is_basic(function))
          << row.op << " names " << function;
    }
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
