#include <aorta/core/io/npz.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/onnx/operators.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

// Published single-operator cases (ONNX node tests): AORTA_ONNX_VECTORS names the folder, with
// cases.json and one npz an operator. Where it isn't set, the tests are skipped.
namespace aorta::onnx {
namespace {

// Operators that Aorta doesn't have, and why.
const std::map<std::string, std::string>& reasons() {
  static const std::map<std::string, std::string> all{
      {"Adam",
       "PyTorch's, which ours is, adds epsilon behind the bias correction, and corrects at step "
       "0"}};
  return all;
}

std::string folder() {
  const char* path = std::getenv("AORTA_ONNX_VECTORS");
  return path ? path : "";
}

const nlohmann::json& cases() {
  static const nlohmann::json all = [] {
    std::ifstream file(folder() + "/cases.json");
    return file ? nlohmann::json::parse(file) : nlohmann::json::array();
  }();
  return all;
}

const npz::Reader& vectors(const std::string& op) {
  static std::map<std::string, npz::Reader> readers;
  return readers.try_emplace(op, folder() + "/" + op + ".npz").first->second;
}

Case load_case(const nlohmann::json& entry) {
  Case c{entry["name"], entry["attributes"], {}, entry["outputs"].size()};
  for (const auto& key : entry["inputs"])
    c.inputs.push_back(key.is_null() ? Tensor()
                                     : vectors(entry["op"]).tensor(key.get<std::string>()));
  return c;
}

// Arrays of u2 and u4 are read as the next wider dtype: results wrap around as theirs do.
Tensor wrapped(const Tensor& result, const std::string& numpy_dtype) {
  if (numpy_dtype == "u2") return remainder(result, 1 << 16);
  if (numpy_dtype == "u4") return remainder(result, int64_t{1} << 32);
  return result;
}

// The first element that is too far from the published one.
std::string difference(const Tensor& result, const Tensor& wanted, const Operator& op) {
  if (result.shape() != wanted.shape())
    return "shape " + to_string(result.shape()) + ", published " + to_string(wanted.shape());
  const std::vector<double> a = result.to_vector<double>(), b = wanted.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool equal = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    const double unit = is_half(result.dtype()) ? 0x1p-11 : 0;
    const double allowed =
        std::max(op.relative, op.relative > 0 ? unit : 0) * std::abs(b[i]) + op.absolute;
    if (!equal && !(std::abs(a[i] - b[i]) <= allowed)) {
      char text[160];
      std::snprintf(text, sizeof text, "element %zu is %.9g, published %.9g", i, a[i], b[i]);
      return text;
    }
  }
  return "";
}

// Runs a case; returns why it was left out, or nothing.
std::string run_case(const nlohmann::json& entry, const Operator& op) {
  SCOPED_TRACE(entry["name"].get<std::string>());
  Case c;
  Tensors wanted;
  try {
    c = load_case(entry);
    for (const auto& key : entry["outputs"])
      wanted.push_back(key.is_null() ? Tensor()  // not published
                                     : vectors(entry["op"]).tensor(key.get<std::string>()));
  } catch (const Error& error) {
    return error.what();
  }
  if (const std::string reason = op.misfit ? op.misfit(c) : ""; !reason.empty()) return reason;
  try {
    const Tensors results = op.run(c);
    EXPECT_EQ(results.size(), wanted.size());
    for (size_t i = 0; i < std::min(results.size(), wanted.size()); ++i) {
      if (!wanted[i].defined()) continue;
      const std::string code =
          vectors(entry["op"]).numpy_dtype(entry["outputs"][i].get<std::string>());
      EXPECT_EQ(difference(wrapped(results[i], code), wanted[i], op), "") << "output " << i;
    }
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  }
  return "";
}

class OnnxOperator : public ::testing::TestWithParam<std::string> {};

TEST_P(OnnxOperator, PublishedCases) {
  if (folder().empty()) GTEST_SKIP() << "AORTA_ONNX_VECTORS names no folder";
  int ran = 0;
  std::string left_out;
  for (const auto& entry : cases()) {
    if (entry["op"] != GetParam()) continue;
    const std::string reason = run_case(entry, operators().at(GetParam()));
    if (reason.empty()) {
      ++ran;
    } else {
      left_out += "\n  left out " + entry["name"].get<std::string>() + ": " + reason;
    }
  }
  std::printf("%s: ran %d%s\n", GetParam().c_str(), ran, left_out.c_str());
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, op] : operators()) all.push_back(name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Onnx, OnnxOperator, ::testing::ValuesIn(names()),
                         [](const auto& p) { return p.param; });

TEST(Onnx, EveryOperatorRunsOrHasAReason) {
  if (folder().empty()) GTEST_SKIP() << "AORTA_ONNX_VECTORS names no folder";
  ASSERT_FALSE(cases().empty()) << folder() << "/cases.json holds no cases";
  std::map<std::string, int> left_out;
  int runnable = 0;
  for (const auto& entry : cases()) {
    const std::string op = entry["op"];
    if (operators().count(op)) {
      ++runnable;
    } else {
      EXPECT_TRUE(reasons().count(op))
          << op << " has neither a way to run nor a reason to be left out";
      ++left_out[op];
    }
  }
  std::printf("%d of %zu cases are of operators that run; left out:\n", runnable, cases().size());
  for (const auto& [op, count] : left_out) {
    const auto reason = reasons().find(op);
    std::printf("  %s (%d): %s\n", op.c_str(), count,
                reason == reasons().end() ? "unknown" : reason->second.c_str());
  }
  for (const auto& [op, reason] : reasons())
    EXPECT_FALSE(operators().count(op)) << op << " runs now";
}

}  // namespace
}  // namespace aorta::onnx
