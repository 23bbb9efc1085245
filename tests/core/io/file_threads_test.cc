#include <aorta/core/io/file.h>

#include <thread>

#include <aorta/tests/core/io/fixtures.h>

namespace aorta::io {
namespace {

using io_test::read_file;
using io_test::temporary;

TEST(AtomicFileThreads, WritersOfOnePathDoNotMix) {
  std::string path = temporary("threads");
  std::vector<std::thread> writers;
  for (char letter : {'a', 'b', 'c', 'd'})
    writers.emplace_back([&, letter] {
      for (int i = 0; i < 20; ++i) {
        AtomicFile file(path);
        file.write(std::string(10'000, letter));
        file.commit();
      }
    });
  for (auto& writer : writers) writer.join();
  std::string contents = read_file(path);
  EXPECT_EQ(contents, std::string(10'000, contents.at(0)));
}

}  // namespace
}  // namespace aorta::io
