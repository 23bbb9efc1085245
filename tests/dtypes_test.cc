#include <aorta/core/device.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/op_kernels.h>
#include <aorta/tests/page_table.h>
#include <gtest/gtest.h>

#include <map>

// docs/dtypes.md says which op takes which dtypes and what comes out, and whether it runs on CUDA;
// every cell is tried here.
namespace aorta::catalog {
namespace {

constexpr DType kDTypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean, c64, c128};

// Samples have no complex inputs, and floating ones become such.
bool same_kind(DType a, DType b) {
  return is_floating(a) == is_differentiable(b) && (a == boolean) == (b == boolean);
}

// A sample with inputs of the dtype's kind; any with inputs where there is none.
const Sample* sample_for(const Row& row, DType dtype) {
  const Sample* other = nullptr;
  for (const Sample& sample : samples(row)) {
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      if (!sample.varied[i]) continue;
      const Tensor& input = sample.inputs[i];
      const bool holds = dtype != u8 || !any(lt(input, 0)).item<bool>();
      if (same_kind(input.dtype(), dtype) && holds) return &sample;
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

using Cells = std::map<std::string, std::string>;

// The last cell of the page's lines, by op.
Cells cuda_cells_of_page() {
  Cells cells;
  for (const std::string& line : lines_of("docs/dtypes.md")) {
    if (!is_of_table(line)) continue;
    const size_t end = line.rfind(" |"), begin = line.rfind("| ", end - 1) + 2;
    cells[line.substr(2, line.find(' ', 2) - 2)] = line.substr(begin, end - begin);
  }
  return cells;
}

// Whether the op runs on CUDA. Where there is no device the page is believed: cuda_emulated_test,
// which compiles this file too, has one everywhere.
std::string cuda_cell(const Row& row) {
  static const bool known = cuda::is_available();
  static const Cells page = cuda_cells_of_page();
  if (known) return missing_kernel(row, DeviceType::cuda).empty() ? "yes" : "-";
  const auto found = page.find(row.op);
  return found == page.end() ? "?" : found->second;
}

// Empty for a factory: it takes a dtype, not tensors.
std::string table_line(const Row& row) {
  std::string line = "| " + row.op + " |";
  for (DType dtype : kDTypes) {
    const Sample* sample = sample_for(row, dtype);
    if (!sample) return "";
    line += " " + cell(row, *sample, dtype) + " |";
  }
  return line + " " + cuda_cell(row) + " |";
}

TEST(DTypes, TheTableIsWhatTheLibraryDoes) {
  std::vector<std::string> lines;
  keeps_complex = true;
  for (const Row& row : rows()) {
    if (row.calls.empty()) continue;
    const std::string line = table_line(row);
    if (!line.empty()) lines.push_back(line);
  }
  keeps_complex = false;
  EXPECT_GT(lines.size() * kDTypeCount, 1000u);
  expect_table("docs/dtypes.md", lines);
}

}  // namespace
}  // namespace aorta::catalog
