#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace aorta::data {

/// Writes an AVI file of Motion JPEG, with the index (idx1) that players seek by. The file appears
/// at `path` when close() returns, whole; until then, and after an error, what was there stays.
class AviWriter {
 public:
  /// At most 1 GiB, the most that an AVI file without OpenDML's extensions is read with everywhere.
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

  AviWriter(const std::string& path, int64_t height, int64_t width, double fps);
  /// Removes what was written unless close() succeeded.
  ~AviWriter();
  AviWriter(const AviWriter&) = delete;
  AviWriter& operator=(const AviWriter&) = delete;

  /// One frame: a JPEG file's bytes.
  void add(std::span<const std::byte> jpeg);
  int64_t frames() const { return static_cast<int64_t>(index_.size() / 16); }
  void close();

 private:
  std::string headers() const;
  void write(const void* data, size_t size_bytes);
  [[noreturn]] void fail_and_discard(const char* call, int error);
  void discard();

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  int64_t height_;
  int64_t width_;
  double fps_;
  uint64_t size_bytes_ = 0;
  uint64_t movi_ = 0;     // where the name "movi" stands
  uint32_t largest_ = 0;  // of the frames, in bytes
  std::string index_;     // of idx1
};

}  // namespace aorta::data
