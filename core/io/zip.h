#pragma once

#include <aorta/core/io/bytes.h>

/// The part of the ZIP format (PKWARE APPNOTE 6.3) that `.npz` files use: stored and deflated
/// members, zip64, one volume, no encryption.
namespace aorta::io {

struct ZipMember {
  std::string name;
  bool deflated = false;
  uint32_t crc32 = 0;
  uint64_t compressed_size = 0;
  uint64_t size = 0;
  uint64_t header_offset = 0;
  uint64_t data_offset = 0;
};

/// The members of `file`, in the order of its directory. Every member lies inside the file, before
/// the directory, and none overlaps another; no name comes twice. A deflated member can't claim
/// more than deflate can give (1032 bytes for 1), and all of them together not more than
/// `max_inflated_bytes`.
std::vector<ZipMember> read_zip_directory(const FileBytes& file, uint64_t max_inflated_bytes);

/// Inflates the first `out.size()` bytes of a deflated member; when that is all of it, the stream
/// must end there.
void inflate_member(const FileBytes& file, const ZipMember& member, std::span<std::byte> out);

/// Throws unless `contents` have the CRC-32 that the directory says.
void check_crc(const FileBytes& file, const ZipMember& member, std::span<const std::byte> contents);

/// `file:member`, for messages.
std::string member_name(const FileBytes& file, const ZipMember& member);

/// Writes members one after another, then the directory. Stored members start at a multiple of 64
/// bytes, so that their arrays can be used where they are mapped.
class ZipWriter {
 public:
  /// Sizes and offsets from `zip64_from` on go to zip64 fields; smaller only in tests.
  explicit ZipWriter(AtomicFile& file, uint64_t zip64_from = 0xffffffff)
      : file_(file), zip64_from_(zip64_from) {}

  /// One member, whose contents are `head` followed by `body`.
  void add(const std::string& name, std::string_view head, std::span<const std::byte> body,
           bool compress);
  /// Writes the directory; the file is complete then.
  void finish();

 private:
  AtomicFile& file_;
  uint64_t zip64_from_;
  std::vector<ZipMember> members_;
};

}  // namespace aorta::io
