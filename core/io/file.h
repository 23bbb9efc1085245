#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace aorta::io {

/// Writes a file whole or not at all, and durably.
///
/// The bytes go to a new file in the same folder; `commit` syncs it, renames it to `path` and syncs
/// the folder. Until the rename, and whenever something fails before it, `path` is what it was, and
/// the new file is removed (only a killed process leaves one, named `.NAME.PID-COUNT.tmp`, which
/// remove_abandoned finds). A symbolic link at `path` is replaced by the file. Every error throws
/// aorta::Error with the call's errno; after one, the object only waits to be destroyed. Beyond
/// the process's limit of a file's size the error is EFBIG where SIGXFSZ is ignored, as
/// aorta::init sees to; else the signal ends the program.
class AtomicFile {
 public:
  /// `keep_previous` older versions stay as `path.1` (the newest) to `path.K`; this needs a file
  /// system with hard links.
  explicit AtomicFile(std::string path, int keep_previous = 0);
  /// Removes the new file unless `commit` succeeded.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t size_bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Puts other bytes where the first ones are, for a header that counts what follows it. Neither
  /// crc32c() nor size_bytes() knows of it.
  void rewrite_start(std::string_view text);

  /// The new file until commit; a library that must write by itself writes here.
  const std::string& temporary() const { return temporary_; }

  /// CRC-32C and size of everything written so far.
  uint32_t crc32c() const { return crc_; }
  uint64_t size_bytes() const { return size_bytes_; }

  /// Puts the file at `path`. An error of the last step, syncing the folder, says that the new file
  /// is in place but may not survive a power loss.
  void commit();

 private:
  void create();
  bool is_ours() const;
  void write_all(const char* bytes, size_t size_bytes);
  /// What tells the file of that version from others (0: `path`); none where there is none.
  std::optional<std::pair<dev_t, ino_t>> file_of(int version);
  void keep_older_versions();
  void sync_folder();
  void discard();
  [[noreturn]] void fail_and_discard(const char* call, int error);

  std::string path_;
  std::string folder_;
  std::string temporary_;
  int keep_previous_;
  int descriptor_ = -1;
  uint32_t crc_ = 0;
  uint64_t size_bytes_ = 0;
};

/// Removes what killed processes left in `folder`: AtomicFile's new files whose lock nobody holds.
/// A process that lives holds it, on this machine or another one, whatever its number; where the
/// file system has no locks, all stay. What can't be removed stays, too.
void remove_abandoned(const std::string& folder);

/// The bytes of a file, which live as long as this object: a mapping, or memory that was inflated
/// from one. Tensors share it. Memory written through `data()` is private to the process: the file
/// never changes. (A file that another program shortens in place while it is mapped raises SIGBUS;
/// AtomicFile replaces files and never shortens one.)
class FileBytes {
 public:
  /// Maps the regular file at `path`; an empty file gives no bytes.
  static std::shared_ptr<const FileBytes> map(const std::string& path);
  /// `size_bytes` bytes of zeros, 64-byte aligned, to be filled through `data()`.
  static std::shared_ptr<const FileBytes> allocate(std::string name, size_t size_bytes);
  /// A copy of `bytes`.
  static std::shared_ptr<const FileBytes> copy(std::string name, std::span<const std::byte> bytes);

  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  /// The path, for error messages.
  const std::string& name() const { return name_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  FileBytes(std::string name, std::byte* data, size_t size, bool mapped)
      : name_(std::move(name)), data_(data), size_(size), mapped_(mapped) {}

  std::string name_;
  std::byte* data_;
  size_t size_;
  bool mapped_;
};

}  // namespace aorta::io
