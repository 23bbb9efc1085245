#pragma once

#include <string>
#include <string_view>

namespace aorta {

/// The bytes of the letter of UTF-8 that starts a text that isn't empty, 0 where it is malformed
/// (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

/// Text for a line that people read: control bytes and those that are no UTF-8 as `\xNN`.
std::string printable(std::string_view text);

}  // namespace aorta
