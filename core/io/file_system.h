#pragma once

#include <sys/types.h>

#include <cstddef>

struct stat;

namespace aorta::io {

/// The system calls that file code makes, each with the meaning that POSIX gives it. Code reaches
/// them through `file_system()` only, so that a test can make any one of them fail.
struct FileSystem {
  int (*open)(const char* path, int flags, mode_t mode);
  ssize_t (*write)(int descriptor, const void* data, size_t size_bytes);
  int (*fsync)(int descriptor);
  int (*close)(int descriptor);
  int (*rename)(const char* from, const char* to);
  int (*link)(const char* from, const char* to);
  int (*unlink)(const char* path);
  int (*flock)(int descriptor, int operation);
  int (*stat)(const char* path, struct ::stat* status);
  int (*fstat)(int descriptor, struct ::stat* status);
  void* (*mmap)(void* address, size_t size_bytes, int protection, int flags, int descriptor,
                off_t offset);
  int (*munmap)(void* address, size_t size_bytes);
};

/// The table in force: the kernel's calls, unless a ScopedFileSystem replaced them.
const FileSystem& file_system();

/// The kernel's calls.
const FileSystem& kernel_file_system();

/// While it lives, the whole process uses `table`. For tests; not for several threads at once.
class ScopedFileSystem {
 public:
  explicit ScopedFileSystem(const FileSystem& table);
  ~ScopedFileSystem();
  ScopedFileSystem(const ScopedFileSystem&) = delete;
  ScopedFileSystem& operator=(const ScopedFileSystem&) = delete;

 private:
  const FileSystem* previous_;
};

}  // namespace aorta::io
