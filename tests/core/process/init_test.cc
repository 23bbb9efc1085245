#include <aorta/core/process/init.h>
#include <gtest/gtest.h>

#include <csignal>

#include <unistd.h>

namespace aorta {
namespace {

volatile std::sig_atomic_t heard = 0;

// First of all tests, for it is the first init of a process that does it.
TEST(InitDeathTest, IgnoresTheSignalOfLargeFilesUnlessTheProgramHearsIt) {
  EXPECT_EXIT(
      {
        init(0, nullptr);
        std::raise(SIGXFSZ);
        _exit(7);
      },
      testing::ExitedWithCode(7), "");
  EXPECT_EXIT(
      {
        std::signal(SIGXFSZ, [](int) { heard = 1; });
        init(0, nullptr);
        std::raise(SIGXFSZ);
        _exit(heard ? 8 : 9);
      },
      testing::ExitedWithCode(8), "");
}

TEST(Init, RemembersTheFirstProgramNameAndLeavesArgumentsAlone) {
  EXPECT_EQ(program_name(), "");
  char path[] = "/some/where/train", option[] = "--lr=1";
  char* arguments[] = {path, option, nullptr};
  init(2, arguments);
  EXPECT_EQ(program_name(), "train");
  EXPECT_STREQ(arguments[1], "--lr=1");
  char other[] = "other";
  char* second[] = {other, nullptr};
  init(1, second);
  EXPECT_EQ(program_name(), "train");
  init(0, nullptr);
  EXPECT_EQ(program_name(), "train");
}

}  // namespace
}  // namespace aorta
