#pragma once

#include <aorta/core/number.h>

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace aorta::optim {

/// Whose rule: PyTorch's, or that of the publication where the two differ (docs/optimizers.md).
enum class Dialect : uint8_t { pytorch, paper };

/// What an option is while nobody names it.
template <class T>
struct Default {
  explicit Default(T standard) : value(standard) {}
  T value;
};

/// A T that knows whether it was named: `Option<double> lr = Default(1e-3);` in a struct of
/// options, and `{.lr = 0.1}` names it. A group has those that it doesn't name from its optimizer.
template <class T>
class Option {
 public:
  template <class U>
  Option(Default<U> standard) : value_(standard.value) {}  // NOLINT: implicit, as the next
  template <class U>
  requires(std::is_same_v<U, T> ||
           (std::is_arithmetic_v<U> && !std::is_same_v<U, bool> &&
            (std::is_same_v<T, double> || (std::is_same_v<T, int64_t> && std::is_integral_v<U>))) ||
           (std::is_same_v<T, std::string> && std::is_same_v<U, const char*>))
      Option(U value)  // NOLINT
      : value_(static_cast<T>(value)), named_(true) {}
  /// Takes a pair: `{.betas = {0.9, 0.99}}`.
  Option(double first, double second) requires std::is_same_v<T, std::array<double, 2>>
      : value_{first, second}, named_(true) {}
  /// Takes three: `{.ns_coefficients = {2, -1.5, 0.5}}`.
  Option(double first, double second,
         double third) requires std::is_same_v<T, std::array<double, 3>>
      : value_{first, second, third}, named_(true) {}

  operator const T&() const { return value_; }
  /// In an expression with tensors, `lr * gradient`.
  template <class Number>
  requires(std::is_arithmetic_v<T>&& std::is_class_v<Number>&& std::is_convertible_v<T, Number>)
  operator Number() const {
    return value_;
  }
  double operator[](size_t i) const requires std::is_same_v<T, std::array<double, 2>> ||
      std::is_same_v<T, std::array<double, 3>> {
    return value_[i];
  }
  Option& operator*=(const T& factor) { return *this = value_ * factor; }
  Option& operator+=(const T& term) { return *this = value_ + term; }

  bool is_named() const { return named_; }

 private:
  friend class Fields;
  T value_;
  bool named_ = false;
};

/// Arithmetic of two options needs these: options convert to numbers and to operands of tensors, so
/// the built-in operators would be ambiguous.
template <class T, class U>
auto operator+(const Option<T>& a, const Option<U>& b) {
  return static_cast<const T&>(a) + static_cast<const U&>(b);
}
template <class T, class U>
auto operator-(const Option<T>& a, const Option<U>& b) {
  return static_cast<const T&>(a) - static_cast<const U&>(b);
}
template <class T, class U>
auto operator*(const Option<T>& a, const Option<U>& b) {
  return static_cast<const T&>(a) * static_cast<const U&>(b);
}
template <class T, class U>
auto operator/(const Option<T>& a, const Option<U>& b) {
  return static_cast<const T&>(a) / static_cast<const U&>(b);
}
template <class T, class U>
auto operator<=>(const Option<T>& a, const Option<U>& b) {
  return static_cast<const T&>(a) <=> static_cast<const U&>(b);
}
template <class T, class U>
bool operator==(const Option<T>& a, const Option<U>& b) {
  return static_cast<const T&>(a) == static_cast<const U&>(b);
}

/// The option's value as text.
template <class T>
auto to_string(const Option<T>& option) {
  return to_string(Scalar(static_cast<const T&>(option)));
}

/// The options of a group by name, with the places where they lie: what state(), restore() and
/// schedules go by. Options list themselves: `void fields(Fields& f) { f("lr", lr); ... }`.
class Fields {
 public:
  using Pointer = std::variant<double*, int64_t*, bool*, std::array<double, 2>*,
                               std::array<double, 3>*, Dialect*, std::string*>;
  struct Field {
    const char* name;
    Pointer place;
    bool* named = nullptr;  // of an Option
    bool is_later = false;
  };

  template <class T>
  void operator()(const char* name, Option<T>& option) {
    list_.push_back({name, &option.value_, &option.named_});
  }
  /// One that states which were saved before it was there don't have: it was false.
  void later(const char* name, Option<bool>& option) {
    list_.push_back({name, &option.value_, &option.named_, true});
  }
  /// One that isn't an Option can't be inherited: a group names it.
  template <class T>
  requires std::is_constructible_v<Pointer, T*>
  void operator()(const char* name, T& value) { list_.push_back({name, &value}); }

  const std::vector<Field>& list() const { return list_; }
  /// The place of a field of type T; null when there is none.
  template <class T>
  T* find(std::string_view name) const {
    for (const Field& field : list_) {
      if (T* const* place = std::get_if<T*>(&field.place); place && field.name == name)
        return *place;
    }
    return nullptr;
  }
  /// Takes what isn't named from `defaults`. Throws where a field is no Option and may have been
  /// left out: it is as in `standard`, and `defaults` is not.
  void inherit(const Fields& defaults, const Fields& standard) const;
  /// A copy of a group's options then keeps them all.
  void name_all() const;

 private:
  std::vector<Field> list_;
};

}  // namespace aorta::optim
