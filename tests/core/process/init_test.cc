#include <aorta/core/process/init.h>
#include <gtest/gtest.h>

namespace aorta {
namespace {

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
