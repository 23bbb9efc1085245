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

size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  auto follows = [&](size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    unsigned low = first == 0xe0 ? 0xa0 : 0x80;
    unsigned high = first == 0xed ? 0x9f : 0xbf;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    unsigned low = first == 0xf0 ? 0x90 : 0x80;
    unsigned high = first == 0xf4 ? 0x8f : 0xbf;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

namespace {

// Takes the first letter from `text`; a byte that isn't one to be shown becomes `\xNN`.
std::string shown_letter(std::string_view& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  const size_t length = utf8_length(text);
  const auto first = static_cast<unsigned char>(text[0]);
  std::string letter(text.substr(0, std::max<size_t>(length, 1)));
  if (length == 0 || first < 0x20 || first == 0x7f)
    letter = {'\\', 'x', kDigits[first >> 4], kDigits[first & 15]};
  text.remove_prefix(std::max<size_t>(length, 1));
  return letter;
}

}  // namespace

std::string quote(std::string_view text) {
  constexpr size_t kLongest = 120;
  std::string result = "\"";
  while (!text.empty() && result.size() <= kLongest) {
    if (text[0] == '"' || text[0] == '\\') result += '\\';
    result += shown_letter(text);
  }
  return result + (text.empty() ? "\"" : "...\"");
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) result += shown_letter(text);
  return result;
}

void check_bools(const std::string& name, std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i)
    check(bytes[i] <= std::byte{1}, name, "bool elements must be 0 or 1",
          std::to_integer<int>(bytes[i]), " at element ", i);
}

}  // namespace aorta::io
