#include <aorta/core/io/crc32c.h>
#include <aorta/core/io/file.h>
#include <aorta/core/io/file_system.h>
#include <aorta/core/resource_error.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

namespace aorta::io {
namespace {

// `open` and `stat` have no address that fits the table (variadic, overloaded with a type).
int kernel_open(const char* path, int flags, mode_t mode) { return ::open(path, flags, mode); }
int kernel_stat(const char* path, struct ::stat* status) { return ::stat(path, status); }
int kernel_fstat(int descriptor, struct ::stat* status) { return ::fstat(descriptor, status); }

constexpr FileSystem kKernel{kernel_open, ::write, ::fsync,     ::close,      ::rename, ::link,
                             ::unlink,    ::flock, kernel_stat, kernel_fstat, ::mmap,   ::munmap};

std::atomic<const FileSystem*> current_table{&kKernel};

constexpr const char* kInPlace = "; the new file is in place but may not survive a power loss";

int open_retrying(const char* path, int flags, mode_t mode) {
  int descriptor;
  do {
    descriptor = file_system().open(path, flags, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

// Linux releases the descriptor even when close is interrupted: closing again could close a
// stranger's. So EINTR counts as closed.
int close_once(int descriptor) {
  int result = file_system().close(descriptor);
  return result < 0 && errno == EINTR ? 0 : result;
}

std::string older(const std::string& path, int version) {
  return version == 0 ? path : path + "." + std::to_string(version);
}

// Names of one process differ by the counter, names of two by the process number; O_EXCL settles
// what is left (a file system shared by machines).
std::string temporary_name(const std::string& folder, const std::string& name) {
  static std::atomic<unsigned> counter{0};
  constexpr size_t kLongestName = 200;  // with what is added, below NAME_MAX (255)
  return folder + "/." + name.substr(0, kLongestName) + "." + std::to_string(::getpid()) + "-" +
         std::to_string(counter++) + ".tmp";
}

// Whether temporary_name gives such names: "." NAME "." PID "-" COUNT ".tmp".
bool is_temporary(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789", kEnd = ".tmp";
  if (!name.starts_with('.') || !name.ends_with(kEnd)) return false;
  name.remove_suffix(kEnd.size());
  for (const char before : {'-', '.'}) {
    const size_t mark = name.find_last_not_of(kDigits);
    if (mark == std::string_view::npos || name[mark] != before || mark + 1 == name.size())
      return false;
    name = name.substr(0, mark);
  }
  return name.size() > 1;
}

}  // namespace

const FileSystem& file_system() { return *current_table.load(std::memory_order_acquire); }
const FileSystem& kernel_file_system() { return kKernel; }

ScopedFileSystem::ScopedFileSystem(const FileSystem& table)
    : previous_(current_table.exchange(&table)) {}
ScopedFileSystem::~ScopedFileSystem() { current_table = previous_; }

AtomicFile::AtomicFile(std::string path, int keep_previous)
    : path_(std::move(path)), keep_previous_(keep_previous) {
  check(keep_previous >= 0, path_, "keep_previous must not be negative", keep_previous);
  check(path_.find('\0') == std::string::npos, path_.c_str(), "path must not contain a zero byte",
        "one at ", path_.find('\0'));
  size_t slash = path_.rfind('/');
  std::string name = slash == std::string::npos ? path_ : path_.substr(slash + 1);
  check(!name.empty() && name != "." && name != "..", path_, "path must name a file",
        path_.empty() ? "an empty one" : "a folder");
  folder_ = slash == std::string::npos ? "." : slash == 0 ? "/" : path_.substr(0, slash);

  // Renaming onto a device would replace it: a program run by root would destroy /dev/null.
  struct ::stat status;
  if (file_system().stat(path_.c_str(), &status) == 0) {
    check(S_ISREG(status.st_mode), path_, "file to write must be a regular file",
          S_ISDIR(status.st_mode) ? "a folder" : "a device, pipe or socket");
  }
  create();
}

void AtomicFile::create() {
  constexpr int kAttempts = 100;
  size_t slash = path_.rfind('/');
  std::string name = slash == std::string::npos ? path_ : path_.substr(slash + 1);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    temporary_ = temporary_name(folder_, name);
    descriptor_ = open_retrying(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) break;
    if (descriptor_ < 0) {
      temporary_.clear();  // another's, on a machine that shares the folder
      continue;
    }
    if (is_ours()) return;
    discard();
    errno = EEXIST;
  }
  int error = errno;
  temporary_.clear();
  fail_and_discard("open", error);
}

// Takes the lock that says that the file's process lives. False where remove_abandoned came between
// the file's making and its locking.
bool AtomicFile::is_ours() const {
  const FileSystem& fs = file_system();
  if (fs.flock(descriptor_, LOCK_EX | LOCK_NB) < 0) return errno != EWOULDBLOCK;
  struct ::stat status;
  return fs.fstat(descriptor_, &status) < 0 || status.st_nlink > 0;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor_ >= 0) file_system().close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) file_system().unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::fail_and_discard(const char* call, int error) {
  discard();
  fail_after_call(error, path_, std::string("writing must succeed: ") + call, errno_text(error),
                  " after ", size_bytes_, " bytes; the file is as it was before");
}

void AtomicFile::write(const void* data, size_t size_bytes) {
  const auto* bytes = static_cast<const char*>(data);
  write_all(bytes, size_bytes);
  crc_ = io::crc32c(bytes, size_bytes, crc_);
  size_bytes_ += size_bytes;
}

void AtomicFile::write_all(const char* bytes, size_t size_bytes) {
  check(descriptor_ >= 0, path_, "nothing can be written after commit or a failure",
        "another write");
  constexpr size_t kLargestWrite = size_t{1} << 30;  // Linux writes at most 2 GiB - 4 KiB at once
  for (size_t done = 0; done < size_bytes;) {
    ssize_t written =
        file_system().write(descriptor_, bytes + done, std::min(size_bytes - done, kLargestWrite));
    if (written < 0 && errno == EINTR) continue;
    // No progress would loop for ever.
    if (written <= 0) {
      size_bytes_ += done;
      fail_and_discard("write", written < 0 ? errno : EIO);
    }
    done += static_cast<size_t>(written);
  }
}

void AtomicFile::rewrite_start(std::string_view text) {
  check(text.size() <= size_bytes_, path_, "what is rewritten must have been written", text.size(),
        " bytes of ", size_bytes_);
  if (::lseek(descriptor_, 0, SEEK_SET) < 0) fail_and_discard("lseek", errno);
  write_all(text.data(), text.size());
  if (::lseek(descriptor_, 0, SEEK_END) < 0) fail_and_discard("lseek", errno);
}

void AtomicFile::commit() {
  check(descriptor_ >= 0, path_, "commit needs an open file", "a closed one");
  const FileSystem& fs = file_system();
  // A failed fsync drops the unwritten pages and their error: the descriptor is not asked twice.
  if (fs.fsync(descriptor_) < 0) fail_and_discard("fsync", errno);
  if (keep_previous_ > 0) keep_older_versions();
  if (fs.rename(temporary_.c_str(), path_.c_str()) < 0) fail_and_discard("rename", errno);
  temporary_.clear();
  // Not before: with it goes the lock. The bytes are synced.
  if (close_once(std::exchange(descriptor_, -1)) < 0)
    fail(path_, "closing must succeed", errno_text(errno), kInPlace);
  sync_folder();
  if (keep_previous_ > 0) fs.unlink(older(path_, keep_previous_ + 1).c_str());
}

std::optional<std::pair<dev_t, ino_t>> AtomicFile::file_of(int version) {
  struct ::stat status;
  if (file_system().stat(older(path_, version).c_str(), &status) == 0)
    return std::pair(status.st_dev, status.st_ino);
  if (errno != ENOENT) fail_and_discard("stat", errno);
  return {};
}

// `path` itself stays in place all the time: it gets a second name, which the rename then leaves as
// the only one. One version more than asked is kept until the new one is durable. Where an earlier
// commit was broken off, a version is missing or has two names: those behind it stay where they
// are, or each such commit would push the oldest out.
void AtomicFile::keep_older_versions() {
  const FileSystem& fs = file_system();
  auto newer = file_of(0);
  if (!newer) return;
  int end = 1;  // the versions before it move
  for (; end <= keep_previous_; ++end) {
    const auto found = file_of(end);
    if (!found || found == newer) break;
    newer = found;
  }
  // First, for rename leaves both names of one file.
  fs.unlink(older(path_, end).c_str());
  for (int version = end - 1; version >= 1; --version) {
    int result = fs.rename(older(path_, version).c_str(), older(path_, version + 1).c_str());
    if (result < 0 && errno != ENOENT) fail_and_discard("rename", errno);
  }
  if (fs.link(path_.c_str(), older(path_, 1).c_str()) < 0 && errno != ENOENT)
    fail_and_discard("link", errno);
}

void AtomicFile::sync_folder() {
  const char* call = "open";
  int error = 0;
  int descriptor = open_retrying(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (descriptor < 0) {
    error = errno;
  } else {
    call = "fsync";
    // EINVAL: a file system that has no such thing as syncing a folder.
    if (file_system().fsync(descriptor) < 0 && errno != EINVAL) error = errno;
    if (close_once(descriptor) < 0 && error == 0) {
      call = "close";
      error = errno;
    }
  }
  check(error == 0, path_, std::string("syncing the folder must succeed: ") + call,
        errno_text(error), kInPlace);
}

void remove_abandoned(const std::string& folder) {
  const FileSystem& fs = file_system();
  std::vector<std::string> names;
  {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
    if (!entries) return;
    while (const dirent* entry = ::readdir(entries.get()))
      if (entry->d_name[0] == '.') names.emplace_back(entry->d_name);
  }
  for (const std::string& name : names) {
    if (!is_temporary(name)) continue;
    const std::string path = folder + "/" + name;
    const int descriptor =
        open_retrying(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (descriptor < 0) continue;
    // The name may have become another file's until the lock was there.
    struct ::stat locked, named;
    if (fs.flock(descriptor, LOCK_EX | LOCK_NB) == 0 && fs.fstat(descriptor, &locked) == 0 &&
        fs.stat(path.c_str(), &named) == 0 && S_ISREG(locked.st_mode) &&
        locked.st_ino == named.st_ino && locked.st_dev == named.st_dev)
      fs.unlink(path.c_str());
    fs.close(descriptor);
  }
}

std::shared_ptr<const FileBytes> FileBytes::map(const std::string& path) {
  const FileSystem& fs = file_system();
  // O_NONBLOCK: opening a pipe must not wait for its writer.
  int descriptor = open_retrying(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
  if (descriptor < 0) fail_after_call(errno, path, "file must be readable", errno_text(errno));
  struct ::stat status;
  void* data = nullptr;
  size_t size = 0;
  int error = fs.fstat(descriptor, &status) < 0 ? errno : 0;
  bool regular = error == 0 && S_ISREG(status.st_mode);
  if (regular && status.st_size > 0) {
    size = static_cast<size_t>(status.st_size);
    // Private and writable: tensors can be changed in place, and the file stays as it is.
    data =
        fs.mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
    if (data == MAP_FAILED) error = errno;
  }
  fs.close(descriptor);  // the mapping stays; nothing was written that closing could lose
  if (error != 0) fail_after_call(error, path, "file must be readable", errno_text(error));
  check(regular, path, "file to read must be a regular file",
        S_ISDIR(status.st_mode) ? "a folder" : "a device, pipe or socket");
  return std::shared_ptr<const FileBytes>(
      new FileBytes(path, static_cast<std::byte*>(data), size, true));
}

std::shared_ptr<const FileBytes> FileBytes::allocate(std::string name, size_t size_bytes) {
  std::byte* data = nullptr;
  if (size_bytes > 0) {
    data = static_cast<std::byte*>(::operator new (size_bytes, std::align_val_t{64}, std::nothrow));
    check_resources(data != nullptr, name, "memory must suffice for the contents", size_bytes,
                    " bytes");
    std::memset(data, 0, size_bytes);
  }
  return std::shared_ptr<const FileBytes>(new FileBytes(std::move(name), data, size_bytes, false));
}

std::shared_ptr<const FileBytes> FileBytes::copy(std::string name,
                                                 std::span<const std::byte> bytes) {
  auto result = allocate(std::move(name), bytes.size());
  if (!bytes.empty()) std::memcpy(result->data(), bytes.data(), bytes.size());
  return result;
}

FileBytes::~FileBytes() {
  if (data_ == nullptr) return;
  if (mapped_)
    file_system().munmap(data_, size_);
  else
    ::operator delete (data_, std::align_val_t{64});
}

}  // namespace aorta::io
