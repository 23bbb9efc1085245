#pragma once

#include <aorta/core/io/bytes.h>

namespace aorta::data {

/// Reads the contents of a gzipped file (RFC 1952), one member or several, from front to back. What
/// is damaged or cut short throws `path: gzip data must be sound, got ...`; checksums are compared.
class GzipReader {
 public:
  /// True when the file starts as gzip files do.
  static bool is_gzip(const io::FileBytes& file);

  explicit GzipReader(const io::FileBytes& file);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  /// Fills `out` with the next bytes as far as there are any: how many.
  size_t read(std::span<std::byte> out);
  /// No more bytes than this are to come: deflate gives at most 1032 for one.
  uint64_t most_left() const;
  /// Throws unless everything has been read.
  void check_end();

 private:
  struct Stream;
  bool next_member();

  const io::FileBytes& file_;
  std::unique_ptr<Stream> stream_;
  size_t position_ = 0;  // in the file, of what zlib hasn't taken
  uint64_t done_ = 0;
  bool between_members_ = false;
};

}  // namespace aorta::data
