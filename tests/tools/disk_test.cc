#include <aorta/core/check.h>
#include <aorta/core/io/file.h>
#include <aorta/core/io/file_system.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/test_folder.h>
#include <aorta/tools/bench/disk.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <tuple>

namespace aorta::bench {
namespace {

namespace fs = std::filesystem;

// A file system whose calls fail as told.
int fail_open_with = 0, fail_write_with = 0, writes_that_work = 0;
int opened(const char* path, int flags, mode_t mode) {
  const int result = io::kernel_file_system().open(path, flags & ~O_DIRECT, mode);
  if (fail_open_with == 0) return result;
  if (result >= 0) io::kernel_file_system().close(result);  // it is made all the same
  errno = fail_open_with;
  return -1;
}
ssize_t written(int descriptor, const void* data, size_t size) {
  if (fail_write_with == 0 || writes_that_work-- > 0)
    return io::kernel_file_system().write(descriptor, data, size);
  errno = fail_write_with;
  return -1;
}
io::FileSystem failing(int open_error, int write_error) {
  fail_open_with = open_error;
  fail_write_with = write_error;
  writes_that_work = 2;
  io::FileSystem table = io::kernel_file_system();
  table.open = opened;
  table.write = written;
  return table;
}

TEST(Disk, CountsWhatItRead) {
  const TestFolder folder;
  const io::FileSystem table = failing(0, 0);  // not every file system takes O_DIRECT
  const io::ScopedFileSystem without_direct(table);
  const DiskFile file(folder.str(), 4 << 20);
  EXPECT_TRUE(fs::is_empty(folder.path));  // the file has no name
  for (const bool random : {true, false}) {
    const DiskCell cell = measure_disk(file, random, 65536, 3, 0.02);
    EXPECT_GT(cell.reads, 0);
    EXPECT_GE(cell.seconds, 0.02);
    EXPECT_EQ(cell.depth, 3);
    EXPECT_DOUBLE_EQ(cell.iops(), static_cast<double>(cell.reads) / cell.seconds);
    EXPECT_DOUBLE_EQ(cell.bytes_per_second(), cell.iops() * 65536);
  }
}

TEST(Disk, LeavesNoFileBehindWhenItFails) {
  const TestFolder folder;
  const std::string direct =
      "disk: the file system must let O_DIRECT pass the page cache by, got " + folder.str() +
      ": EINVAL (Invalid argument)";
  const std::string room = "disk: there must be room for a file of 4 MB in the folder, got " +
                           folder.str() + ": ENOSPC (No space left on device)";
  const std::tuple<int, int, std::string> cases[] = {
      {EINVAL, 0, direct}, {0, EINVAL, direct}, {0, ENOSPC, room}};
  for (const auto& [open_error, write_error, text] : cases) {
    const io::FileSystem table = failing(open_error, write_error);
    const io::ScopedFileSystem failing_calls(table);
    EXPECT_EQ(error_of([&] { DiskFile(folder.str(), 4 << 20); }), text);
    EXPECT_TRUE(fs::is_empty(folder.path));
  }
}

TEST(Disk, NamesAFolderThatIsNotThere) {
  EXPECT_EQ(error_of([] { DiskFile("/nowhere/at/all", 1 << 20); }),
            "disk: a file must be made in the folder, got /nowhere/at/all: ENOENT (No such file or "
            "directory)");
}

TEST(Disk, ChecksItsPlan) {
  const std::string rule =
      "disk: a block must be a multiple of 4096 bytes that divides the file's size, got ";
  EXPECT_EQ(error_of([] { check_plan({.file_bytes = 1 << 20, .block_bytes = {5000}}); }),
            rule + "5000 for 1048576");
  EXPECT_EQ(error_of([] { check_plan({.file_bytes = 1 << 20, .block_bytes = {12288}}); }),
            rule + "12288 for 1048576");
  EXPECT_EQ(error_of([] { check_plan({.depths = {0}}); }),
            "disk: a depth must be from 1 to 1024, got 0");
  EXPECT_EQ(error_of([] { check_plan({.depths = {}}); }),
            "disk: there must be block sizes and depths, got none");
  EXPECT_EQ(error_of([] { check_plan({}); }), "no error");
}

// Known cells: 2,000 reads of 4 KB in a second are 8.2 MB/s, 100 of 1 MB 104.9.
TEST(Disk, PrintsAndDrawsItsCells) {
  const DiskPlan plan{.block_bytes = {4096, 1 << 20}, .depths = {1, 32}};
  const std::vector<DiskCell> cells{{true, 4096, 1, 2000, 1},
                                    {true, 4096, 32, 64000, 2},
                                    {true, 1 << 20, 1, 100, 1},
                                    {true, 1 << 20, 32, 50, 0.5}};
  EXPECT_EQ(disk_table(plan, cells, true),
            "random                    depth 1             depth 32\n"
            "    4 KB        2000     8.2 MB/s   32.0k   131.1 MB/s\n"
            "    1 MB         100   104.9 MB/s     100   104.9 MB/s\n");
  const TestFolder folder;
  std::vector<DiskCell> both = cells;
  for (DiskCell cell : cells) {
    cell.random = false;
    both.push_back(cell);
  }
  const std::vector<std::string> files = save_disk_plots(plan, both, folder.str());
  ASSERT_EQ(files.size(), 4u);
  EXPECT_EQ(files[1], folder.str() + "/disk_random_mbs.svg");
  for (const std::string& path : files) {
    std::ifstream file(path);
    const std::string svg{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(svg.find("depth 32"), std::string::npos);
  }
}

}  // namespace
}  // namespace aorta::bench
