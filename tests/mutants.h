#pragma once

#include <aorta/tests/page_table.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

// What a test has counted of mutants: wrong results that its fixtures must tell from right ones.
// docs/mutants.md has the counts.
namespace aorta::mutants {

/// Mutants, by a regular expression of their names, that no fixture can tell, and why.
struct Exception {
  const char* reason;
  const char* names;
};

/// What was tried of a family of rows.
struct Count {
  int rows = 0, tried = 0, caught = 0;
  std::set<std::string> reasons;

  void add(const std::string& mutant, bool is_caught, const std::vector<Exception>& exceptions) {
    ++tried;
    caught += is_caught;
    if (is_caught) return;
    for (const Exception& exception : exceptions) {
      static std::map<const char*, std::regex> compiled;
      const auto [names, is_new] = compiled.try_emplace(exception.names, exception.names);
      if (!std::regex_match(mutant, names->second)) continue;
      reasons.insert(exception.reason);
      return;
    }
    ADD_FAILURE() << "no fixture tells this mutant from the right result: " << mutant;
  }
};

/// Holds the lines of docs/mutants.md on `what` to the counts.
inline void expect_counts(const std::string& what, const std::map<std::string, Count>& families,
                          const std::vector<Exception>& exceptions) {
  std::set<std::string> reasons;
  std::vector<std::string> lines;
  for (const auto& [family, count] : families) {
    std::string why;
    for (const std::string& reason : count.reasons) why += (why.empty() ? "" : "; ") + reason;
    reasons.insert(count.reasons.begin(), count.reasons.end());
    lines.push_back("| " + what + " | " + family + " | " + std::to_string(count.rows) + " | " +
                    std::to_string(count.tried) + " | " + std::to_string(count.caught) + " | " +
                    why + " |");
  }
  for (const Exception& exception : exceptions)
    EXPECT_TRUE(reasons.contains(exception.reason)) << "no mutant is left: " << exception.reason;
  expect_table("docs/mutants.md", lines, "| " + what + " |");
}

/// Holds one family's line to its mutants, whose names begin with an operator, and whether each is
/// caught.
inline void expect_operators(const std::string& what, const std::string& family,
                             const std::map<std::string, bool>& caught,
                             const std::vector<Exception>& exceptions) {
  std::map<std::string, Count> families;
  Count& count = families[family];
  std::set<std::string> operators;
  for (const auto& [mutant, is_caught] : caught) {
    operators.insert(mutant.substr(0, mutant.find(' ')));
    count.add(mutant, is_caught, exceptions);
  }
  count.rows = static_cast<int>(operators.size());
  expect_counts(what, families, exceptions);
}

}  // namespace aorta::mutants
