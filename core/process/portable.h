#pragma once

#include <aorta/core/io/tensors.h>
#include <aorta/core/process/descriptor.h>

#include <array>
#include <concepts>
#include <optional>
#include <tuple>

// Values that can go to another process: numbers, enums, text, paths, tensors, plain functions,
// containers of them, and structs that list their members:
//
//     struct Options {
//       std::string folder;
//       double mean = 0;
//       template <class Visit> void fields(Visit&& visit) { visit(folder, mean); }
//     };

namespace aorta {

/// Bytes that values are written to, one after another, and descriptors that go with them.
class ArgumentWriter {
 public:
  ArgumentWriter() = default;
  virtual ~ArgumentWriter() = default;
  ArgumentWriter(ArgumentWriter&&) = default;
  ArgumentWriter& operator=(ArgumentWriter&&) = default;

  /// Whether the writer has a way of its own for tensors, and has taken this one along.
  virtual bool takes(const Tensor&) { return false; }
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
  virtual ~ArgumentReader() = default;
  ArgumentReader(ArgumentReader&&) = default;
  ArgumentReader& operator=(ArgumentReader&&) = default;

  /// What a writer that took tensors along has written of one; none where tensors are bytes.
  virtual std::optional<Tensor> taken() { return {}; }
  void bytes(void* data, size_t size);
  /// Its address in this process. Throws where the library that it stands in isn't loaded.
  void* function();
  Descriptor descriptor();
  /// What hasn't been read.
  std::string_view rest() const { return text_; }

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

/// A std::filesystem::path, whose header stays out of aorta.h.
template <class T>
concept path_like = requires(const T& value) {
  value.native();
  value.root_path();
};
template <path_like T>
struct Portable<T> {
  static void write(ArgumentWriter& writer, const T& value) {
    Portable<std::string>::write(writer, value.native());
  }
  static T read(ArgumentReader& reader) { return Portable<std::string>::read(reader); }
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

template <portable... Ts>
struct Portable<std::tuple<Ts...>> {
  static void write(ArgumentWriter& writer, const std::tuple<Ts...>& values) {
    std::apply([&](const Ts&... each) { (Portable<Ts>::write(writer, each), ...); }, values);
  }
  static std::tuple<Ts...> read(ArgumentReader& reader) {
    // Braces: the values are read from left to right.
    return std::tuple<Ts...>{Portable<Ts>::read(reader)...};
  }
};

/// A map of any kind.
template <class Map>
requires(
    portable<typename Map::key_type>&& portable<typename Map::mapped_type>) struct Portable<Map> {
  static void write(ArgumentWriter& writer, const Map& values) {
    Portable<size_t>::write(writer, values.size());
    for (const auto& [key, value] : values) {
      Portable<typename Map::key_type>::write(writer, key);
      Portable<typename Map::mapped_type>::write(writer, value);
    }
  }
  static Map read(ArgumentReader& reader) {
    Map values;
    for (auto left = Portable<size_t>::read(reader); left > 0; --left) {
      auto key = Portable<typename Map::key_type>::read(reader);
      values.emplace(std::move(key), Portable<typename Map::mapped_type>::read(reader));
    }
    return values;
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

namespace detail {
struct VisitsMembers {
  template <class... Members>
  void operator()(Members&...) const;
};
}  // namespace detail

/// A struct whose `fields` hands all of its members to a function.
template <class T>
concept lists_members = requires(T& value, const detail::VisitsMembers& visit) {
  value.fields(visit);
};
template <lists_members T>
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

}  // namespace aorta
