#pragma once

#include <aorta/core/dtype.h>
#include <aorta/core/io/file.h>
#include <aorta/core/text.h>

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Small tools that the file formats share. Aorta runs on little-endian machines only.
namespace aorta::io {

/// An array as a file parser yields it: row-major elements at `offset` of `bytes`.
struct Array {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::shared_ptr<const FileBytes> bytes;
  size_t offset = 0;
  size_t size_bytes = 0;

  const std::byte* data() const { return bytes->data() + offset; }
};

using NamedArrays = std::vector<std::pair<std::string, Array>>;

/// The little-endian value at `offset`; the caller has checked the range.
template <class T>
T load(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Appends `value`, little-endian.
template <class T>
void append(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The product of the sizes, each counted as at least 1, and of `item_bits`; none on overflow of
/// int64. A shape that contains a 0 must be as sound as one that doesn't, since strides are its
/// partial products.
std::optional<int64_t> size_in_bits(std::span<const int64_t> shape, int64_t item_bits);

/// The bytes of an array with that shape, 0 where a size is 0; throws `name: shape x item size must
/// fit in 63 bits` or `name: array must have at most 12 dimensions`.
uint64_t size_in_bytes(const std::string& name, std::span<const int64_t> shape, int64_t item_bits);

/// "[2,3]".
std::string shape_text(std::span<const int64_t> shape);

/// Text from a file, fit for a one-line message: in quotes, control and non-UTF-8 bytes escaped,
/// cut after 120 bytes.
std::string quote(std::string_view text);

/// With capitals for the letters a to z.
std::string upper(std::string_view text);

/// Throws unless every byte of a bool array is 0 or 1: C++ can't hold any other bool.
void check_bools(const std::string& name, std::span<const std::byte> bytes);

}  // namespace aorta::io
