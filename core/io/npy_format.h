#pragma once

#include <aorta/core/io/bytes.h>

/// The bytes of a `.npy` file, without tensors. What is accepted stands in npy.h.
namespace aorta::npy {

/// What the first bytes of a `.npy` file say.
struct Header {
  DType dtype = DType::f32;  ///< what the elements become
  char kind = 'f';           ///< numpy's: 'f' floating, 'i' integer, 'u' unsigned, 'b' bool
  int item_size = 4;         ///< bytes of an element in the file
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<int64_t> shape;
  size_t data_offset = 0;  ///< from the start of the file
  uint64_t data_size = 0;  ///< shape x item_size
};

/// The bytes that `parse_header` needs, known from the first `kPreambleSize`; `name` for errors.
inline constexpr size_t kPreambleSize = 12;
size_t header_size(std::span<const std::byte> preamble, const std::string& name);
Header parse_header(std::span<const std::byte> bytes, const std::string& name);

/// The header that numpy writes for such an array: magic, version, dictionary, padding to 64.
std::string make_header(DType dtype, std::span<const int64_t> shape, const std::string& name);

/// The array that stands in bytes [offset, offset + size) of `file`.
io::Array parse(std::shared_ptr<const io::FileBytes> file, size_t offset, size_t size,
                const std::string& name);

}  // namespace aorta::npy
