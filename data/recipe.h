#pragma once

#include <aorta/core/process/portable.h>
#include <aorta/data/source.h>

#include <functional>
#include <tuple>

namespace aorta::data {

/// The function that makes a source, and its arguments.
class Recipe {
 public:
  using Make = std::shared_ptr<const Source> (*)(ArgumentReader& arguments);
  using Write = std::function<void(ArgumentWriter& writer)>;
  Recipe(Make make, Write write) : make_(make), write_(std::move(write)) {}

  /// Writes all of it; what can't go to another process is refused.
  void write(ArgumentWriter& writer) const;
  /// Makes what was written.
  static std::shared_ptr<const Source> follow(ArgumentReader& reader);

 private:
  Make make_;
  Write write_;
};

}  // namespace aorta::data

namespace aorta {

/// A source as an argument of another one's: it must have a recipe of its own.
template <std::derived_from<data::Source> T>
struct Portable<std::shared_ptr<const T>> {
  static void write(ArgumentWriter& writer, const std::shared_ptr<const T>& value) {
    if (!value || !value->recipe()) return writer.refuse("a dataset that make_dataset didn't make");
    value->recipe()->write(writer);
  }
  static std::shared_ptr<const T> read(ArgumentReader& reader) {
    return std::dynamic_pointer_cast<const T>(data::Recipe::follow(reader));
  }
};

}  // namespace aorta

namespace aorta::data {

namespace detail {
// What an argument is kept as: text of any kind as a string, a pointer to a dataset as one to a
// constant dataset.
template <class T>
struct Kept {
  using Type = T;
};
template <class T>
concept Text = std::convertible_to<T, std::string> && !path_like<T>;
template <Text T>
struct Kept<T> {
  using Type = std::string;
};
template <std::derived_from<Source> T>
struct Kept<std::shared_ptr<T>> {
  using Type = std::shared_ptr<const T>;
};
template <class T>
using kept_t = typename Kept<std::decay_t<T>>::Type;

template <class T, class... Arguments>
std::shared_ptr<const Source> make_source(ArgumentReader& reader) {
  // Braces: the arguments are read from left to right.
  const std::tuple<Arguments...> arguments{Portable<Arguments>::read(reader)...};
  return std::apply([](const auto&... each) { return std::make_shared<T>(each...); }, arguments);
}
}  // namespace detail

/// A dataset to share: `make_dataset<Mnist>("mnist", Split::train)`. It is constant, and so, where
/// its arguments are portable, a function of type and arguments: worker processes make their own.
/// A dataset that was made in another way is there for workers, too: they are copies of the
/// program.
template <class T, class... Arguments>
std::shared_ptr<const T> make_dataset(const Arguments&... arguments) {
  auto dataset = std::make_shared<T>(arguments...);
  if constexpr ((portable<detail::kept_t<Arguments>> && ...)) {
    auto write =
        [kept = std::tuple<detail::kept_t<Arguments>...>(arguments...)](ArgumentWriter& writer) {
          std::apply(
              [&](const auto&... each) {
                (Portable<std::decay_t<decltype(each)>>::write(writer, each), ...);
              },
              kept);
        };
    dataset->set_recipe(std::make_shared<const Recipe>(
        &detail::make_source<T, detail::kept_t<Arguments>...>, std::move(write)));
  }
  return dataset;
}

}  // namespace aorta::data
