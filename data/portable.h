#pragma once

#include <aorta/core/io/tensors.h>
#include <aorta/core/process/descriptor.h>

#include <array>
#include <concepts>
#include <filesystem>
#include <optional>

// Values that can go to another process: numbers, enums, text, paths, tensors, plain functions,
// containers of them, and structs that list their members:
//
//     struct Options {
//       std::string folder;
//       double mean = 0;
//       template <class Visit> void fields(Visit&& visit) { visit(folder, mean); }
//     };

namespace aorta::data {

class Recipe;

/// Bytes that values are written to, one after another, and descriptors that go with them.
class ArgumentWriter {
 public:
  void bytes(const void* data, size_t size) { text_.append(static_cast<const char*>(data), size); }
  /// A function of the program, or null.
  void function(const void* address);
  const std::string& text() const { return text_; }
  /// Sends a descriptor, which must stay open until all is sent.
  void descriptor(int number) { descriptors_.push_back(number); }
  const std::vector<int>& descriptors() const { return descriptors_; }
  /// Says that a value can't go, and why.
  void refuse(const std::string& why) { refusal_ = why; }
  const std::string& refusal() const { return refusal_; }

 private:
  std::string text_;
  std::string refusal_;
  std::vector<int> descriptors_;
};

/// Takes them out again, in the same order.
class ArgumentReader {
 public:
  explicit ArgumentReader(std::string_view text, std::span<Descriptor> descriptors = {})
      : text_(text), descriptors_(descriptors) {}
  void bytes(void* data, size_t size);
  /// Its address in this process. Throws where the library that it stands in isn't loaded.
  void* function();
  Descriptor descriptor();

 private:
  std::string_view text_;
  std::span<Descriptor> descriptors_;
};

/// How values of a type are written and read; types that have no `read` here aren't portable.
template <class T>
struct Portable {};

/// A type whose values can go to another process.
template <class T>
concept portable = requires(ArgumentReader& reader) {
  { Portable<T>::read(reader) } -> std::same_as<T>;
};

template <class T>
requires std::is_arithmetic_v<T> || std::is_enum_v<T>
struct Portable<T> {
  static void write(ArgumentWriter& writer, const T& value) { writer.bytes(&value, sizeof value); }
  static T read(ArgumentReader& reader) {
    T value;
    reader.bytes(&value, sizeof value);
    return value;
  }
};

/// A function that stands in the program or in a library that it was started with.
template <class Result, class... Arguments>
struct Portable<Result (*)(Arguments...)> {
  using Function = Result (*)(Arguments...);
  static void write(ArgumentWriter& writer, const Function& value) {
    writer.function(reinterpret_cast<const void*>(value));
  }
  static Function read(ArgumentReader& reader) {
    return reinterpret_cast<Function>(reader.function());
  }
};

template <>
struct Portable<std::string> {
  static void write(ArgumentWriter& writer, const std::string& value);
  static std::string read(ArgumentReader& reader);
};

template <>
struct Portable<Text> {
  static void write(ArgumentWriter& writer, const Text& value) {
    Portable<std::string>::write(writer, value);
  }
  static Text read(ArgumentReader& reader) { return Portable<std::string>::read(reader); }
};

template <>
struct Portable<std::filesystem::path> {
  static void write(ArgumentWriter& writer, const std::filesystem::path& value) {
    Portable<std::string>::write(writer, value.string());
  }
  static std::filesystem::path read(ArgumentReader& reader) {
    return Portable<std::string>::read(reader);
  }
};

/// Shared memory (Tensor::share_memory) is passed on, everything else copied.
template <>
struct Portable<Tensor> {
  static void write(ArgumentWriter& writer, const Tensor& value);
  static Tensor read(ArgumentReader& reader);
};

template <portable T>
struct Portable<std::vector<T>> {
  static void write(ArgumentWriter& writer, const std::vector<T>& values) {
    Portable<size_t>::write(writer, values.size());
    for (const T& value : values) Portable<T>::write(writer, value);
  }
  static std::vector<T> read(ArgumentReader& reader) {
    std::vector<T> values;
    const auto size = Portable<size_t>::read(reader);
    values.reserve(size);
    while (values.size() < size) values.push_back(Portable<T>::read(reader));
    return values;
  }
};

template <portable T>
struct Portable<List<T>> {
  static void write(ArgumentWriter& writer, const List<T>& values) {
    Portable<std::vector<T>>::write(writer, values);
  }
  static List<T> read(ArgumentReader& reader) { return Portable<std::vector<T>>::read(reader); }
};

template <portable T, size_t size>
struct Portable<std::array<T, size>> {
  static void write(ArgumentWriter& writer, const std::array<T, size>& values) {
    for (const T& value : values) Portable<T>::write(writer, value);
  }
  static std::array<T, size> read(ArgumentReader& reader) {
    std::array<T, size> values;
    for (T& value : values) value = Portable<T>::read(reader);
    return values;
  }
};

template <portable A, portable B>
struct Portable<std::pair<A, B>> {
  static void write(ArgumentWriter& writer, const std::pair<A, B>& value) {
    Portable<A>::write(writer, value.first);
    Portable<B>::write(writer, value.second);
  }
  static std::pair<A, B> read(ArgumentReader& reader) {
    A first = Portable<A>::read(reader);
    return {std::move(first), Portable<B>::read(reader)};
  }
};

template <portable T>
struct Portable<std::optional<T>> {
  static void write(ArgumentWriter& writer, const std::optional<T>& value) {
    Portable<bool>::write(writer, value.has_value());
    if (value) Portable<T>::write(writer, *value);
  }
  static std::optional<T> read(ArgumentReader& reader) {
    if (!Portable<bool>::read(reader)) return {};
    return Portable<T>::read(reader);
  }
};

/// A struct whose `fields` hands all of its members to a function.
template <class T>
requires requires(T& value) {
  value.fields([](auto&...) {});
}
struct Portable<T> {
  static void write(ArgumentWriter& writer, const T& value) {
    T copy = value;
    copy.fields([&](auto&... fields) {
      (Portable<std::decay_t<decltype(fields)>>::write(writer, fields), ...);
    });
  }
  static T read(ArgumentReader& reader) {
    T value{};
    value.fields([&](auto&... fields) {
      ((fields = Portable<std::decay_t<decltype(fields)>>::read(reader)), ...);
    });
    return value;
  }
};

}  // namespace aorta::data
