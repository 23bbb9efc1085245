#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace aorta {

// What functions and options take of several values, and of text. g++ 12 lets names in braces be
// the arguments of any constructor of std::vector and std::string: `{.a = 2, .b = 3}` would be two
// 3s, and `{.path = "net.npz", .version = 3}` "net". These have no constructor that they fit.

namespace detail {
[[noreturn]] void lacks_name(std::string_view name);
}  // namespace detail

/// Several values: `{a, b}`, or a std::vector of them.
template <class T>
class List : public std::vector<T> {
 public:
  List() = default;
  List(std::initializer_list<T> values) : std::vector<T>(values) {}
  template <std::same_as<std::vector<T>> Values>
  List(Values values) : std::vector<T>(std::move(values)) {}  // NOLINT: implicit

  using std::vector<T>::operator[];
  /// The value of that name; throws `list: there must be a value of the name, ...`.
  const auto& operator[](std::string_view name) const requires requires(const T& value) {
    value.second;
  }
  {
    for (const T& value : *this) {
      if (value.first == name) return value.second;
    }
    detail::lacks_name(name);
  }
};

/// Text or a path: "...", a std::string, a std::string_view, or what becomes one of them.
class Text : public std::string {
 public:
  Text() = default;
  template <class Value>
  requires std::convertible_to<const Value&, std::string> ||
      std::convertible_to<const Value&, std::string_view>
      Text(const Value& value) : std::string(value) {}  // NOLINT: implicit
};

}  // namespace aorta
