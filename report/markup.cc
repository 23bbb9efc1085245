#include <fmt/core.h>

#include <algorithm>

#include <aorta/core/io/bytes.h>
#include <aorta/report/markup.h>

namespace aorta::report {
namespace {

// The bytes of the letter that starts a text, 0 where none of XML does: U+FFFE and U+FFFF are none.
size_t letter_size(std::string_view text) {
  if (text.starts_with("\xef\xbf\xbe") || text.starts_with("\xef\xbf\xbf")) return 0;
  return utf8_length(text);
}

}  // namespace

std::string escape(std::string_view text) {
  std::string escaped;
  for (size_t at = 0; at < text.size();) {
    const size_t size = letter_size(text.substr(at));
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
