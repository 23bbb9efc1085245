// docs/devices.md says which op runs where. Its table is what this test finds in the op table.
#include <aorta/core/device.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/tests/page_table.h>

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace aorta {
namespace {

/// Ops that ran on a GPU: "GPU, driver, date".
const std::map<std::string, std::string> kMeasured = {};

/// A line an op that has a kernel on the CPU, by name.
std::map<std::string, std::string> table() {
  std::map<std::string, std::string> lines;
  for (const kernel::OpRow* op = kernel::first_op(); op; op = op->next()) {
    const std::string name = op->name();
    if (!op->has_kernel(DeviceType::cpu)) continue;
    const char* const here = op->has_kernel(DeviceType::cuda) ? "yes" : "-";
    const auto measured = kMeasured.find(name);
    lines[name] = "| " + name + " | " + here + " | " + here + " | " +
                  (measured == kMeasured.end() ? "-" : measured->second) + " |";
  }
  return lines;
}

TEST(Devices, TheTableIsTheOpTable) {
  ASSERT_TRUE(cuda::is_available()) << cuda::unavailable_reason();
  const auto wanted = table();
  ASSERT_GT(wanted.size(), 100u);
  std::vector<std::string> lines;
  for (const auto& [name, line] : wanted) lines.push_back(line);
  expect_table("docs/devices.md", lines);
}

}  // namespace
}  // namespace aorta
