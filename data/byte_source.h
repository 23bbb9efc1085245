#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace aorta::data {

/// Bytes that are read by position: a file, of which nothing stays in memory, or memory. Reading is
/// safe from several threads.
class ByteSource {
 public:
  /// Opens the regular file at `path`; throws `path: file must be readable, got ENOENT (...)`.
  static std::shared_ptr<const ByteSource> open(const std::string& path);
  /// Bytes of the caller's, which must outlive it.
  static std::shared_ptr<const ByteSource> view(std::string name, std::span<const std::byte> bytes);

  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// The path, for error messages.
  const std::string& name() const { return name_; }
  /// As it was when it was opened.
  uint64_t size() const { return size_; }
  /// Fills `out` with the bytes from `offset` on, as far as there are any: how many.
  virtual size_t read(uint64_t offset, std::span<std::byte> out) const = 0;

 protected:
  ByteSource(std::string name, uint64_t size) : name_(std::move(name)), size_(size) {}

 private:
  std::string name_;
  uint64_t size_;
};

}  // namespace aorta::data
