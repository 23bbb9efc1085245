// Calls each libFuzzer target on every file of its corpus.
#include <aorta/tests/fuzz/formats.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace aorta::fuzz {
namespace {

namespace fs = std::filesystem;
const fs::path kCorpus = "tests/fuzz/corpus";

class FuzzReplay : public testing::TestWithParam<Target> {};

TEST_P(FuzzReplay, EveryInputOfTheCorpus) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(kCorpus / GetParam().format)) {
    SCOPED_TRACE(entry.path());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(GetParam().parse(reinterpret_cast<const uint8_t*>(input.data()), input.size()), 0);
    ++count;
  }
  EXPECT_GT(count, 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, FuzzReplay, testing::ValuesIn(kTargets),
                         [](const auto& test) { return test.param.format; });

TEST(FuzzCorpus, IsOfTheTargets) {
  std::set<std::string> folders, formats;
  for (const auto& entry : fs::directory_iterator(kCorpus))
    folders.insert(entry.path().filename().string());
  for (const Target& target : kTargets) formats.insert(target.format);
  EXPECT_EQ(folders, formats);
}

}  // namespace
}  // namespace aorta::fuzz
