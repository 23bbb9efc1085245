#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/shape.h>

#include <algorithm>

namespace aorta::io {

std::optional<int64_t> size_in_bits(std::span<const int64_t> shape, int64_t item_bits) {
  int64_t bits = item_bits;
  for (int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bits, std::max<int64_t>(size, 1), &bits)) return {};
  }
  return bits;
}

uint64_t size_in_bytes(const std::string& name, std::span<const int64_t> shape, int64_t item_bits) {
  check(shape.size() <= static_cast<size_t>(kMaxDims), name,
        "array must have at most " + std::to_string(kMaxDims) + " dimensions", shape.size());
  std::optional<int64_t> bits = size_in_bits(shape, item_bits);
  check(bits.has_value(), name, "shape x item size must fit in 63 bits", shape_text(shape), " of ",
        item_bits, " bits");
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  check(*bits % 8 == 0, name, "array must end on a whole byte", *bits, " bits");
  return static_cast<uint64_t>(*bits) / 8;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(shape[i]);
  return text + "]";
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

std::string quote(std::string_view text) {
  constexpr size_t kLongest = 120;
  std::string result = "\"";
  while (!text.empty() && result.size() <= kLongest) {
    const size_t length = std::max<size_t>(utf8_length(text), 1);
    if (text[0] == '"' || text[0] == '\\') result += '\\';
    result += printable(text.substr(0, length));
    text.remove_prefix(length);
  }
  return result + (text.empty() ? "\"" : "...\"");
}

void check_bools(const std::string& name, std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i)
    check(bytes[i] <= std::byte{1}, name, "bool elements must be 0 or 1",
          std::to_integer<int>(bytes[i]), " at element ", i);
}

}  // namespace aorta::io
