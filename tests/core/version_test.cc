#include <aorta/core/version.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

// The library's number is the one that packaging uses.
TEST(Version, IsThreeNumbers) {
  int major = -1, minor = -1, patch = -1, end = 0;
  ASSERT_EQ(std::sscanf(aorta::version(), "%d.%d.%d%n", &major, &minor, &patch, &end), 3);
  EXPECT_EQ(std::string(aorta::version()).size(), static_cast<size_t>(end));
}
