#pragma once

#include <aorta/core/io/file.h>

#include <cstddef>
#include <cstdint>
#include <optional>
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
  /// One frame: a JPEG file's bytes.
  void add(std::span<const std::byte> jpeg);
  int64_t frames() const { return static_cast<int64_t>(index_.size() / 16); }
  void close();

 private:
  std::string headers() const;

  std::string path_;
  int64_t height_;
  int64_t width_;
  double fps_;
  std::optional<io::AtomicFile> file_;  // until close()
  uint64_t movi_ = 0;                   // where the name "movi" stands
  uint32_t largest_ = 0;                // of the frames, in bytes
  std::string index_;                   // of idx1
};

}  // namespace aorta::data
