#include <fmt/core.h>

#include <algorithm>

#include <aorta/report/markup.h>

namespace aorta::report {
namespace {

// The bytes of the letter at `at`, 0 where none is (RFC 3629, table 3-7 of Unicode's chapter 3).
size_t letter_size(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const auto continues = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    const bool overlong = first == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = first == 0xed && byte(1) >= 0xa0;
    // U+FFFE and U+FFFF are no letters of XML.
    const bool forbidden = first == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe;
    return continues(1) && continues(2) && !overlong && !surrogate && !forbidden ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const bool overlong = first == 0xf0 && byte(1) < 0x90;
    const bool beyond = first == 0xf4 && byte(1) >= 0x90;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string escaped;
  for (size_t at = 0; at < text.size();) {
    const size_t size = letter_size(text, at);
    const char c = text[at];
    if (size == 0)
      escaped += "\xef\xbf\xbd";
    else if (size > 1)
      escaped += text.substr(at, size);
    else if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else
      escaped += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    at += size == 0 ? 1 : size;
  }
  return escaped;
}

std::string number(double value) {
  constexpr double kFar = 1e5;  // pixels; nothing beyond is seen
  value = std::clamp(value, -kFar, kFar);
  std::string text = fmt::format("{:.2f}", value);
  return text == "-0.00" ? "0.00" : text;
}

std::string text_element(double x, double y, const std::string& text, const std::string& style) {
  return fmt::format("<text x=\"{}\" y=\"{}\" {}>{}</text>\n", number(x), number(y), style,
                     escape(text));
}

double text_width(const std::string& text, double size) {
  double width = 0;
  for (const char c : text) {
    if ((c & 0xc0) == 0x80) continue;  // a continued UTF-8 sequence
    const std::string_view narrow = "iljtfrI.,:;'|!()[] -", wide = "mwMW@%";
    width += narrow.find(c) != std::string_view::npos ? 0.36
             : wide.find(c) != std::string_view::npos ? 0.9
             : c >= 'A' && c <= 'Z'                   ? 0.7
                                                      : 0.58;
  }
  return width * size;
}

}  // namespace aorta::report
