#include <aorta/core/io/crc32c.h>
#include <aorta/core/io/file.h>
#include <aorta/core/io/file_system.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <aorta/tests/core/io/fixtures.h>

namespace aorta::io {
namespace {

using io_test::fails_with;
using io_test::read_file;
using io_test::temporary;
using io_test::write_file;

void write_atomically(const std::string& path, std::string_view contents, int keep_previous = 0) {
  AtomicFile file(path, keep_previous);
  file.write(contents);
  file.commit();
}

TEST(AtomicFile, WritesAndReplaces) {
  std::string path = temporary("atomic");
  write_atomically(path, "one");
  EXPECT_EQ(read_file(path), "one");
  write_atomically(path, "");
  EXPECT_EQ(read_file(path), "");
  std::string large(3'000'000, 'x');
  write_atomically(path, large);
  EXPECT_EQ(read_file(path), large);
}

TEST(AtomicFile, CountsAndChecksums) {
  AtomicFile file(temporary("checksum"));
  file.write("1234");
  file.write("56789");
  EXPECT_EQ(file.size_bytes(), 9u);
  EXPECT_EQ(file.crc32c(), 0xe3069283u);  // the CRC catalogue's check value
}

TEST(AtomicFile, WithoutCommitNothingChanges) {
  std::string folder = temporary("uncommitted");
  std::filesystem::create_directory(folder);
  write_file(folder + "/file", "old");
  {
    AtomicFile file(folder + "/file");
    file.write("new");
  }
  EXPECT_EQ(read_file(folder + "/file"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(AtomicFile, ItsStartCanBeRewritten) {
  const std::string path = temporary("rewritten");
  AtomicFile file(path);
  file.write("0000, then");
  file.rewrite_start("1234");
  file.write(" the rest");
  EXPECT_TRUE(fails_with("what is rewritten must have been written, got 20 bytes of 19",
                         [&] { file.rewrite_start(std::string(20, 'x')); }));
  file.commit();
  EXPECT_EQ(read_file(path), "1234, then the rest");
}

TEST(AtomicFile, WhatNobodyWritesAnyMoreIsRemoved) {
  const std::string folder = temporary("abandoned");
  std::filesystem::create_directory(folder);
  const std::string left[] = {".file.1-0.tmp", ".a.b.tmp.4194304-123.tmp"};
  const std::string others[] = {"file.1-0.tmp",   ".file.tmp", ".file.1.tmp", ".file.1-.tmp",
                                ".file.-1.tmp",   ".1-0.tmp",  ".tmp",        ".file.2-0.tmp.1",
                                ".file.x1-0.tmp", ".file"};
  for (const std::string& name : left) write_file(folder + "/" + name, "left");
  for (const std::string& name : others) write_file(folder + "/" + name, "mine");
  std::filesystem::create_directory(folder + "/.folder.1-0.tmp");
  std::filesystem::create_symlink(folder + "/.file", folder + "/.link.1-0.tmp");
  ASSERT_EQ(::mkfifo((folder + "/.pipe.1-0.tmp").c_str(), 0600), 0);
  {
    AtomicFile written(folder + "/file");
    written.write("new");
    remove_abandoned(folder);
    written.commit();
  }
  EXPECT_EQ(read_file(folder + "/file"), "new");
  for (const std::string& name : left)
    EXPECT_FALSE(std::filesystem::exists(folder + "/" + name)) << name;
  for (const std::string& name : others) EXPECT_EQ(read_file(folder + "/" + name), "mine") << name;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 14);
  remove_abandoned(folder + "/none");
}

TEST(AtomicFile, KeepsPreviousVersions) {
  std::string path = temporary("versions");
  for (const char* contents : {"1", "2", "3", "4"}) write_atomically(path, contents, 2);
  EXPECT_EQ(read_file(path), "4");
  EXPECT_EQ(read_file(path + ".1"), "3");
  EXPECT_EQ(read_file(path + ".2"), "2");
  EXPECT_FALSE(std::filesystem::exists(path + ".3"));
}

TEST(AtomicFile, ReplacesALinkAndNotItsTarget) {
  std::string target = temporary("target"), link = temporary("link");
  write_file(target, "target");
  ASSERT_EQ(::symlink(target.c_str(), link.c_str()), 0);
  write_atomically(link, "new");
  EXPECT_EQ(read_file(target), "target");
  EXPECT_EQ(read_file(link), "new");
}

TEST(AtomicFile, TakesTheLongestNameAndTheUsersUmask) {
  std::string path = ::testing::TempDir() + "/" + std::string(255, 'n');
  mode_t before = ::umask(027);
  write_atomically(path, "x");
  ::umask(before);
  struct ::stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(AtomicFile, RefusesWhatIsNoRegularFile) {
  EXPECT_TRUE(fails_with("/dev/null: file to write must be a regular file, got a device",
                         [] { AtomicFile file("/dev/null"); }));
  EXPECT_TRUE(fails_with("file to write must be a regular file, got a folder", [] {
    std::string folder = temporary("folder");
    std::filesystem::create_directory(folder);
    AtomicFile file(folder);
  }));
  EXPECT_TRUE(fails_with("folder/.: path must name a file", [] { AtomicFile file("folder/."); }));
  EXPECT_TRUE(fails_with(": path must name a file", [] { AtomicFile file(""); }));
  EXPECT_TRUE(fails_with("folder/: path must name a file", [] { AtomicFile file("folder/"); }));
  EXPECT_TRUE(fails_with("no/such/folder/file: writing must succeed: open, got ENOENT",
                         [] { AtomicFile file("no/such/folder/file"); }));
  EXPECT_TRUE(
      fails_with("must not contain a zero byte", [] { AtomicFile file(std::string("a\0b", 3)); }));
}

TEST(AtomicFile, AFullDeviceIsReported) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  FileSystem table = kernel_file_system();
  table.open = [](const char* path, int flags, mode_t mode) {
    return kernel_file_system().open(flags & 0100 ? "/dev/full" : path, flags & ~0300, mode);
  };
  ScopedFileSystem scope(table);
  AtomicFile file(temporary("full"));
  EXPECT_TRUE(fails_with("writing must succeed: write, got ENOSPC (No space left on device)",
                         [&] { file.write("x"); }));
  EXPECT_TRUE(fails_with("nothing can be written after", [&] { file.write("x"); }));
  EXPECT_TRUE(fails_with("commit needs an open file", [&] { file.commit(); }));
}

TEST(FileBytes, MapsPrivately) {
  std::string path = temporary("mapped");
  write_file(path, "abc");
  auto file = FileBytes::map(path);
  ASSERT_EQ(file->size(), 3u);
  file->data()[0] = std::byte{'X'};
  EXPECT_EQ(as_text(file->bytes()), "Xbc");
  EXPECT_EQ(read_file(path), "abc");
  EXPECT_EQ(as_text(FileBytes::map(path)->bytes()), "abc");
}

TEST(FileBytes, KeepsTheOldFileWhenItIsReplaced) {
  std::string path = temporary("replaced");
  write_atomically(path, "old");
  auto file = FileBytes::map(path);
  write_atomically(path, "newer");
  EXPECT_EQ(as_text(file->bytes()), "old");
}

TEST(FileBytes, EmptyAndUnreadable) {
  std::string path = temporary("nothing");
  write_file(path, "");
  EXPECT_EQ(FileBytes::map(path)->size(), 0u);
  EXPECT_TRUE(fails_with("missing: file must be readable, got ENOENT (No such file or directory)",
                         [] { FileBytes::map("missing"); }));
  EXPECT_TRUE(fails_with("file to read must be a regular file, got a folder",
                         [] { FileBytes::map(::testing::TempDir()); }));
  EXPECT_TRUE(fails_with("file to read must be a regular file, got a device",
                         [] { FileBytes::map("/dev/zero"); }));
  std::string pipe = temporary("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(fails_with("file to read must be a regular file, got a device, pipe or socket",
                         [&] { FileBytes::map(pipe); }));
}

TEST(Quoted, IsOneSafeLine) {
  EXPECT_EQ(quote("a.b"), "\"a.b\"");
  EXPECT_EQ(quote("n\xc3\xa4me"), "\"n\xc3\xa4me\"");
  EXPECT_EQ(quote("a\n\"\\\x80\x7f"), "\"a\\x0a\\\"\\\\\\x80\\x7f\"");
  EXPECT_EQ(printable("a\n\"\\\x80\x7f n\xc3\xa4me"), "a\\x0a\"\\\\x80\\x7f n\xc3\xa4me");
  EXPECT_EQ(quote(std::string(1000, 'a')), "\"" + std::string(120, 'a') + "...\"");
}

TEST(Utf8, LettersAreMeasuredOneByOne) {
  EXPECT_EQ(utf8_length("a\xc3\xa4"), 1u);
  EXPECT_EQ(utf8_length("\xc3\xa4\x80"), 2u);
  EXPECT_EQ(utf8_length("\xe2\x82\xac!"), 3u);
  EXPECT_EQ(utf8_length("\xf0\x9f\xab\x80\xf0"), 4u);
  EXPECT_EQ(utf8_length("\x80z"), 0u);
  EXPECT_EQ(utf8_length("\xf0\x9f\xab"), 0u);
}

// The rows of Unicode's table 3-7, and one byte beyond each.
TEST(Utf8, AcceptsWellFormedSequencesAlone) {
  for (const char* good : {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << quote(good);
  for (const char* bad : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41",
                          "\xe0\x9f\xbf", "\xe1\x80", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                          "\xf1\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"})
    EXPECT_FALSE(is_utf8(bad)) << quote(bad);
}

}  // namespace
}  // namespace aorta::io
