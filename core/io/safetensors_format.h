#pragma once

#include <aorta/core/io/bytes.h>

#include <map>

/// The bytes of a safetensors file, without tensors. What is accepted stands in safetensors.h.
namespace aorta::safetensors {

using Metadata = std::map<std::string, std::string>;

/// One tensor as the header describes it.
struct Entry {
  std::string name;
  std::string dtype;  ///< the format's name, "F32"; it may be one that Aorta lacks
  std::vector<int64_t> shape;
  uint64_t begin = 0;  ///< in bytes, from the end of the header
  uint64_t end = 0;
};

struct Header {
  std::vector<Entry> tensors;  ///< in the order of their data
  Metadata metadata;           ///< everything in `__metadata__`, checksums included
  size_t data_offset = 0;
};

/// Reads and checks the header; the data isn't touched. `name` is the path, for messages.
Header parse_header(std::span<const std::byte> file, const std::string& name);

/// Compares the header with its checksum, when it has one; true when the tensors have theirs too.
bool verify_header(std::span<const std::byte> file, const Header& header, const std::string& name);

/// Compares one tensor's bytes with the checksum that the header has of it.
void verify_tensor(std::span<const std::byte> file, const Header& header, const Entry& entry,
                   const std::string& name);

/// The tensor's elements, in place. Throws for a dtype that Aorta lacks, by name.
io::Array read_array(const std::shared_ptr<const io::FileBytes>& file, const Header& header,
                     const Entry& entry);

/// What is to be written: `data` holds as many bytes as shape and dtype say.
struct Source {
  std::string name;
  DType dtype = DType::f32;
  std::span<const int64_t> shape;
  std::span<const std::byte> data;
};

/// Writes header and data to `file` and leaves committing it to the caller. Names differ and are
/// UTF-8.
void write(io::AtomicFile& file, std::vector<Source> sources, const Metadata& metadata,
           const std::string& name);

/// The key of the header's checksum, and, followed by "." and its name, of a tensor's.
inline constexpr std::string_view kChecksumKey = "aorta.crc32c";

/// True for metadata that is a checksum, which `write` makes and `verify_header` reads.
bool is_checksum_key(std::string_view key);

}  // namespace aorta::safetensors
