// docs/devices.md says which op runs where. Its table is what this test finds in the op table.
#include <aorta/core/device.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/tests/page_table.h>

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace aorta {
namespace {

/// What ran on a GPU: a line "= GPU, date" and the ops that it holds for, a line each.
std::map<std::string, std::string> measured_ops() {
  std::ifstream file("tests/cuda/measured.txt");
  std::map<std::string, std::string> result;
  std::string line, where;
  while (std::getline(file, line)) {
    if (line.starts_with("= "))
      where = line.substr(2);
    else if (!line.empty() && line[0] != '#')
      result[line] = where;
  }
  return result;
}

/// A line an op that has a kernel on the CPU, by name.
std::map<std::string, std::string> table() {
  const auto known = measured_ops();
  std::map<std::string, std::string> lines;
  for (const kernel::OpRow* op = kernel::first_op(); op; op = op->next()) {
    const std::string name = op->name();
    if (!op->has_kernel(DeviceType::cpu)) continue;
    const char* const here = op->has_kernel(DeviceType::cuda) ? "yes" : "-";
    const auto measured = known.find(name);
    lines[name] = "| " + name + " | " + here + " | " + here + " | " +
                  (measured == known.end() ? "-" : measured->second) + " |";
  }
  return lines;
}

TEST(Devices, TheTableIsTheOpTable) {
  ASSERT_TRUE(cuda::is_available()) << cuda::unavailable_reason();
  const auto wanted = table();
  ASSERT_GT(wanted.size(), 100u);
  for (const auto& [name, where] : measured_ops()) EXPECT_TRUE(wanted.contains(name)) << name;
  std::vector<std::string> lines;
  for (const auto& [name, line] : wanted) lines.push_back(line);
  expect_table("docs/devices.md", lines);
}

}  // namespace
}  // namespace aorta
