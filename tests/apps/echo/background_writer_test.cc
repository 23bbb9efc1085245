// What is written beside a GPU's work comes in order, and its errors are heard.
#include <aorta/apps/echo/background_writer.h>

#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>
#include <vector>

namespace aorta::echo {

TEST(BackgroundWriter, GoesOnMeanwhileAndKeepsTheOrder) {
  std::latch given(1);
  std::vector<int> written;
  BackgroundWriter writer;
  writer.write([&] {
    given.wait();
    written.push_back(1);
  });
  given.count_down();  // not reached if write() waited
  writer.write([&] { written.push_back(2); });
  writer.finish();
  writer.finish();
  EXPECT_EQ(written, (std::vector{1, 2}));
}

TEST(BackgroundWriter, AnErrorIsSaidByTheNextCallAndOnlyThere) {
  bool second = false;
  BackgroundWriter writer;
  writer.write([] { throw std::runtime_error("full"); });
  EXPECT_THROW(writer.write([&] { second = true; }), std::runtime_error);
  writer.finish();
  EXPECT_FALSE(second);
  writer.write([] { throw std::runtime_error("full"); });
  EXPECT_THROW(writer.finish(), std::runtime_error);
}

TEST(BackgroundWriter, ItsEndWaits) {
  int written = 0;
  std::latch begun(1);
  {
    BackgroundWriter writer;
    writer.write([&] {
      begun.wait();
      written = 1;
    });
    begun.count_down();
  }
  EXPECT_EQ(written, 1);
}

}  // namespace aorta::echo
