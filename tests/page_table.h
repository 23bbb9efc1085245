#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

// Tables in docs/ that tests hold to what the library does.
namespace aorta {

inline std::vector<std::string> lines_of(const std::string& page) {
  std::ifstream file(page);
  EXPECT_TRUE(file) << page;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// Whether a line of a page is one of its table, under the head "| op |".
inline bool is_of_table(const std::string& line) {
  return line.starts_with("| ") && !line.starts_with("| op |");
}

/// Holds the table of `page`, or its lines that begin with `start`, to `lines`. Where
/// AORTA_WRITE_TABLES names a folder, the page is written there with them first:
/// tools/update_ops.sh names the root.
inline void expect_table(const std::string& page, const std::vector<std::string>& lines,
                         const std::string& start = "| ") {
  std::vector<std::string> found, rest;
  size_t place = 0;  // of the table in the rest
  for (const std::string& line : lines_of(page)) {
    if (!is_of_table(line) || !line.starts_with(start)) {
      rest.push_back(line);
    } else {
      place = rest.size();
      found.push_back(line);
    }
  }
  ASSERT_GT(place, 0u) << page << " has no table";
  if (const char* folder = std::getenv("AORTA_WRITE_TABLES")) {
    std::ofstream file(std::string(folder) + "/" + page);
    rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(place), lines.begin(), lines.end());
    for (const std::string& line : rest) file << line << "\n";
    ASSERT_TRUE(file.flush()) << page << " can't be written below " << folder;
    return;
  }
  EXPECT_EQ(found, lines) << page << " isn't what the library does: tools/update_ops.sh writes it";
}

}  // namespace aorta
