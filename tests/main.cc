// The main of every test program: GoogleTest's, but a filter finds cases whatever their capitals.
#include <gtest/gtest.h>

#include <fnmatch.h>

#include <algorithm>
#include <string>

namespace {

// One of the patterns between colons matches.
bool matches(const std::string& name, const std::string& patterns, int capitals) {
  for (size_t begin = 0; begin <= patterns.size();) {
    const size_t end = std::min(patterns.find(':', begin), patterns.size());
    const std::string pattern = patterns.substr(begin, end - begin);
    if (fnmatch(pattern.c_str(), name.c_str(), capitals | FNM_NOESCAPE) == 0) return true;
    begin = end + 1;
  }
  return false;
}

// The names of the cases that a filter means, with FNM_CASEFOLD or 0 for capitals.
std::string names_of(const std::string& filter, int capitals) {
  const size_t minus = std::min(filter.find('-'), filter.size());
  const std::string wanted = minus == 0 ? "*" : filter.substr(0, minus);
  const std::string unwanted = minus < filter.size() ? filter.substr(minus + 1) : "";
  std::string names;
  const auto& unit = *testing::UnitTest::GetInstance();
  for (int s = 0; s < unit.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *unit.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string name = std::string(suite.name()) + "." + suite.GetTestInfo(t)->name();
      if (matches(name, wanted, capitals) &&
          (unwanted.empty() || !matches(name, unwanted, capitals)))
        names += (names.empty() ? "" : ":") + name;
    }
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string filter = GTEST_FLAG_GET(filter);
  const std::string names = names_of(filter, FNM_CASEFOLD);
  // GoogleTest prints its filter: it stays as it was given where it finds them all.
  if (names != names_of(filter, 0)) GTEST_FLAG_SET(filter, names);
  return RUN_ALL_TESTS();
}
