#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace aorta {

/// What every failure inside Aorta throws. The text reads `op: rule, got values`:
/// "matmul: inner dimensions must match, got input [2,3], other [4,5]".
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

void append(std::string& text, std::string_view part);
void append(std::string& text, int64_t value);
void append(std::string& text, uint64_t value);
void append(std::string& text, double value);
void append(std::string& text, bool value);

template <class T>
void append_part(std::string& text, const T& part) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double>) {
    append(text, part);
  } else if constexpr (std::is_same_v<T, float>) {
    append(text, static_cast<double>(part));
  } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
    append(text, static_cast<uint64_t>(part));
  } else if constexpr (std::is_integral_v<T>) {
    append(text, static_cast<int64_t>(part));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    append(text, std::string_view(part));
  } else {
    append(text, std::string_view(to_string(part)));
  }
}

/// The text of an error behind the path of the module that this thread runs.
std::string located(std::string text);
/// Names the op that was called instead of one inside of it, and throws the located Error.
[[noreturn]] void throw_error(std::string text);

}  // namespace detail

/// Throws Error with "op: rule, got part part ..."; ", got" is left out when there are no parts.
/// A part is text, a number, or anything with a `to_string`.
template <class... Parts>
[[noreturn, gnu::noinline, gnu::cold]] void fail(std::string_view op, std::string_view rule,
                                                 const Parts&... got) {
  std::string text;
  detail::append(text, op);
  detail::append(text, std::string_view(": "));
  detail::append(text, rule);
  if constexpr (sizeof...(Parts) > 0) detail::append(text, std::string_view(", got "));
  (detail::append_part(text, got), ...);
  detail::throw_error(std::move(text));
}

/// `fail(op, rule, got...)` unless `ok`. The parts are formatted only on failure.
template <class... Parts>
inline void check(bool ok, std::string_view op, std::string_view rule, const Parts&... got) {
  if (!ok) [[unlikely]] {
    fail(op, rule, got...);
  }
}

/// Checks with texts that are C strings, whose lengths are found only on failure.
template <class... Parts>
inline void check(bool ok, const char* op, const char* rule, const Parts&... got) {
  if (!ok) [[unlikely]] {
    fail(op, rule, got...);
  }
}

/// What has a text: a class or an enumeration with a `to_string`.
template <class T>
concept Printable = requires(const T& value) {
  requires std::is_class_v<T> || std::is_enum_v<T>;
  to_string(value).size();
};

/// `std::cout << x`, without making every user compile the streams.
template <class Stream, Printable T>
requires requires { typename Stream::char_type; }
Stream& operator<<(Stream& stream, const T& value) {
  stream << to_string(value);
  return stream;
}

}  // namespace aorta
