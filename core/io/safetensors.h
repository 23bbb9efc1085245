#pragma once

#include <aorta/core/io/safetensors_format.h>
#include <aorta/core/io/tensors.h>
#include <aorta/core/list.h>

/// The safetensors format (huggingface/safetensors, "Format"): an 8-byte header length, a JSON
/// header, and the tensors' bytes without holes.
///
/// Reading. The file is mapped and tensors use it where it is; writing to one never changes the
/// file. A header over 100,000,000 bytes, that isn't UTF-8 JSON, names something twice, or whose
/// tensors overlap, leave holes, lie outside the file or disagree with shape x dtype is refused.
/// Dtypes BOOL U8 I32 I64 F16 BF16 F32 F64; a tensor of another one is refused when it is read.
///
/// Writing. Tensors in the reference implementation's order, widest dtype first, then by name. The
/// metadata gets a CRC-32C of each tensor, "aorta.crc32c.NAME", and one of length and header,
/// "aorta.crc32c": eight hexadecimal digits that stand as zeros in the sum. A file that has them is
/// checked against them, so a damaged tensor is named. (Another program that copies these entries
/// into a file that it changed makes a file that is refused: it should leave them out.)
namespace aorta::safetensors {

/// A file that is open for reading: tensors are read, and checked, when they are asked for.
class Reader {
 public:
  /// Without `verify` no checksum is looked at.
  explicit Reader(const Text& path, bool verify = true);

  /// The names in the order of the data.
  std::vector<std::string> names() const;
  bool contains(const Text& name) const { return index_.contains(name); }
  /// Throws `path: tensor must be in the file, got "NAME"`.
  Tensor tensor(const Text& name) const;
  /// `__metadata__` without the checksums.
  const Metadata& metadata() const { return metadata_; }

 private:
  std::shared_ptr<const io::FileBytes> file_;
  Header header_;
  bool verify_;
  std::map<std::string, size_t> index_;
  Metadata metadata_;
};

/// Every tensor in the file, in the order of the data.
NamedTensors load(const Text& path, bool verify = true);

/// Writes the tensors whole or not at all (see AtomicFile). Metadata keys may not be ours
/// ("aorta.crc32c", "aorta.crc32c.*").
void save(const NamedTensors& tensors, const Text& path, const Metadata& metadata = {},
          int keep_previous = 0);

}  // namespace aorta::safetensors
