#include <aorta/tests/op_catalog.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

// docs/dtypes.md says which op takes which dtypes and what comes out; every cell is tried here.
namespace aorta::catalog {
namespace {

constexpr DType kDTypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean};

bool same_kind(DType a, DType b) {
  return is_floating(a) == is_floating(b) && (a == boolean) == (b == boolean);
}

// A sample with inputs of the dtype's kind; any with inputs where there is none.
const Sample* sample_for(const Row& row, DType dtype) {
  const Sample* other = nullptr;
  for (const Sample& sample : samples(row)) {
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      if (!sample.varied[i]) continue;
      const bool no_negative = dtype != u8 || sample.name.find("integers") == std::string::npos;
      if (same_kind(sample.inputs[i].dtype(), dtype) && no_negative) return &sample;
      if (!other) other = &sample;
    }
  }
  return other;
}

// The result's dtypes, or "-" for an error, whose text must name the dtype.
std::string cell(const Row& row, const Sample& sample, DType dtype) {
  Tensors inputs;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    inputs.push_back(sample.varied[i] ? sample.inputs[i].to(dtype) : sample.inputs[i]);
  }
  try {
    std::string text;
    for (const Tensor& result : sample.call->run(inputs)) {
      if (text.find(name(result.dtype())) != std::string::npos) continue;
      text += (text.empty() ? "" : " ") + std::string(name(result.dtype()));
    }
    return text;
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(name(dtype)), std::string::npos)
        << row.op << " of " << name(dtype) << " must say so: " << text;
    return "-";
  }
}

std::string table_line(const Row& row) {
  std::string line = "| " + row.op + " |";
  for (DType dtype : kDTypes) {
    const Sample* sample = sample_for(row, dtype);
    if (!sample) return "";
    line += " " + cell(row, *sample, dtype) + " |";
  }
  return line;
}

TEST(DTypes, TheTableIsWhatTheLibraryDoes) {
  std::ifstream file("docs/dtypes.md");
  ASSERT_TRUE(file);
  std::map<std::string, std::string> table;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 2, "| ") != 0 || line.compare(0, 5, "| op ") == 0) continue;
    const std::string op = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_TRUE(table.emplace(op, line).second) << op << " stands twice";
  }
  int cells = 0;
  for (const Row& row : rows()) {
    if (row.calls.empty()) continue;
    const std::string line = table_line(row);
    if (line.empty()) continue;  // a factory: it takes a dtype, not tensors
    EXPECT_EQ(table[row.op], line);
    table.erase(row.op);
    cells += kDTypeCount;
  }
  for (const auto& [op, line] : table) ADD_FAILURE() << op << " stands in the table and has no row";
  EXPECT_GT(cells, 1000);
}

}  // namespace
}  // namespace aorta::catalog
