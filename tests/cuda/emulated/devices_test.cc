// docs/devices.md says which op runs where. Its table is what this test finds in the op table; with
// AORTA_WRITE_DEVICES=FILE it is written there.
#include <aorta/core/device.h>
#include <aorta/core/dispatch/op_table.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

namespace aorta {
namespace {

/// Ops that ran on a GPU: "GPU, driver, date".
const std::map<std::string, std::string> kMeasured = {};

/// A line an op that has a kernel on the CPU, by name.
std::map<std::string, std::string> table() {
  std::map<std::string, std::string> lines;
  for (const OpRow* op = first_op(); op; op = op->next()) {
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
  if (const char* path = std::getenv("AORTA_WRITE_DEVICES")) {
    std::ofstream file(path);
    for (const auto& [name, line] : wanted) file << line << "\n";
  }
  std::ifstream file("docs/devices.md");
  ASSERT_TRUE(file);
  std::map<std::string, std::string> found;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 2, "| ") != 0 || line.compare(0, 5, "| op ") == 0) continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_TRUE(found.emplace(name, line).second) << name << " stands twice";
  }
  EXPECT_EQ(found, wanted);
}

}  // namespace
}  // namespace aorta
