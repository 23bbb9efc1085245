#include <aorta/core/process/init.h>
#include <gtest/gtest.h>

#include <csignal>
#include <exception>
#include <iostream>

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

// To what is no terminal, whose lines wait in a buffer.
TEST(InitDeathTest, WhatWasPrintedIsSeenBeforeAnUncaughtError) {
  EXPECT_DEATH(
      {
        init(0, nullptr);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        std::cout << "step 1: 0.25\n";
        std::terminate();
      },
      "step 1: 0.25");
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
