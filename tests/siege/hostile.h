#pragma once

#include <aorta/core/dispatch/reduce_args.h>
#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/interpolate.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/random.h>
#include <aorta/nn/sizes.h>
#include <aorta/optim/options.h>

#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <aorta/tests/siege/hunt.h>

// Arguments that nobody should pass, drawn by their types.
namespace aorta::siege {

using Tensors = std::vector<Tensor>;

/// What a call's tensors are made of, and what has been drawn for it so far.
struct Arguments {
  Case& one;
  Draw& draw;
  /// Plausible inputs, the first not yet taken first.
  Tensors pool = {};
  size_t taken = 0;
  Tensors drawn = {};
  bool non_finite = false;  // some elements are infinite, NaN or near the ends of their range
  bool aliased = false;     // two share memory, or elements of one do
};

int64_t draw_integer(Arguments& arguments);
double draw_number(Draw& draw);
Scalar draw_scalar(Arguments& arguments);
Dims draw_dims(Arguments& arguments);
Device draw_device(Draw& draw);
/// The next tensor of the pool (or one of a drawn shape), with as many mutations as are drawn.
Tensor draw_tensor(Arguments& arguments);
/// Copies the elements, contiguous and into memory of their own; undefined stays undefined.
Tensor safe_copy(const Tensor& tensor);
/// "f32[2,3]", and what is odd about it.
std::string describe(const Tensor& tensor);
std::string describe(double number);

namespace detail {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// An optimizer's option, which knows whether it was named.
template <class T>
struct IsOption : std::false_type {};
template <class T>
struct IsOption<optim::Option<T>> : std::true_type {
  using Value = T;
};

/// Converts to any type: what tells how many members a struct has. A text would be a Device too.
struct Anything {
  template <class T>
  requires(!IsOptional<T>::value && !std::is_same_v<T, std::string_view>) operator T() const;
};
template <class T, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything{})...}; };
}
template <class T, size_t N = 13>
constexpr size_t member_count() {
  static_assert(N > 0, "a struct of options has members");
  if constexpr (takes<T>(std::make_index_sequence<N>())) {
    return N;
  } else {
    return member_count<T, N - 1>();
  }
}

/// Calls f with every member of a struct without constructors.
template <class T, class F>
void for_members(T& s, const F& f) {
  const auto all = [&](auto&... members) { (f(members), ...); };
  constexpr size_t n = member_count<T>();
  if constexpr (n == 1) {
    auto& [a] = s;
    all(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = s;
    all(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = s;
    all(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = s;
    all(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = s;
    all(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, g] = s;
    all(a, b, c, d, e, g);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, g, h] = s;
    all(a, b, c, d, e, g, h);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, g, h, i] = s;
    all(a, b, c, d, e, g, h, i);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, g, h, i, j] = s;
    all(a, b, c, d, e, g, h, i, j);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, g, h, i, j, k] = s;
    all(a, b, c, d, e, g, h, i, j, k);
  } else {
    static_assert(n == 12, "options have at most ten members, or twelve");
    auto& [a, b, c, d, e, g, h, i, j, k, l, m] = s;
    all(a, b, c, d, e, g, h, i, j, k, l, m);
  }
}

/// How many enumerators, from 0 on, there are.
constexpr int count_of(DType) { return kDTypeCount; }
constexpr int count_of(Reduction) { return 4; }
constexpr int count_of(PadMode) { return 4; }
constexpr int count_of(ScatterReduce) { return 5; }
constexpr int count_of(InterpolateMode) { return 7; }
constexpr int count_of(MemoryFormat) { return 3; }
template <class E>
constexpr int count_of(E) {
  return 2;  // GeluApproximation and the like
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsVector<List<T>> : std::true_type {};

template <class T>
struct IsNumbers : std::false_type {};
template <size_t N>
struct IsNumbers<std::array<double, N>> : std::true_type {};

/// Whether it is a struct of options, whose members are visited.
template <class T>
inline constexpr bool is_struct =
    std::is_aggregate_v<T>&& std::is_class_v<T> && !IsNumbers<T>::value;

}  // namespace detail

/// A value of a type that is drawn and kept for a call, which gets get(); visit(f) calls f with its
/// tensors.
template <class T>
struct Drawn;

template <class T>
void draw_into(Arguments& a, T& value);

/// Calls f with every tensor of a value, in the order in which they were drawn.
template <class T, class F>
void for_tensors(T& value, const F& f) {
  if constexpr (std::is_same_v<T, Tensor>) {
    f(value);
  } else if constexpr (std::is_base_of_v<std::vector<Index>, T>) {
    for (Index& index : value) {
      if (index.kind() != Index::Kind::tensor) continue;
      Tensor tensor = index.tensor();
      f(tensor);
      index = Index(tensor);
    }
  } else if constexpr (detail::IsVector<T>::value) {
    if constexpr (std::is_base_of_v<Tensors, T>) {
      for (Tensor& tensor : value) f(tensor);
    }
  } else if constexpr (detail::is_struct<T>) {
    detail::for_members(value, [&](auto& member) { for_tensors(member, f); });
  }
}

template <class T>
T initial() {
  if constexpr (std::is_same_v<T, Scalar> || std::is_same_v<T, Index>) {
    return 0;
  } else {
    return T{};
  }
}

template <class T>
struct Drawn {
  T value = initial<T>();
  explicit Drawn(Arguments& a) { draw_into(a, value); }
  const T& get() const { return value; }
  template <class F>
  void visit(const F& f) {
    for_tensors(value, f);
  }
};

/// An Operand points to its tensor.
template <>
struct Drawn<Operand> {
  Tensor tensor;
  Scalar number = 0;
  bool is_tensor;
  explicit Drawn(Arguments& a) : is_tensor(!a.draw.once_in(4)) {
    if (is_tensor) {
      tensor = draw_tensor(a);
    } else {
      draw_into(a, number);
    }
  }
  Operand get() const { return is_tensor ? Operand(tensor) : Operand(number); }
  template <class F>
  void visit(const F& f) {
    if (is_tensor) f(tensor);
  }
};

template <>
struct Drawn<ConvPadding> {
  ConvPadding value{0};
  explicit Drawn(Arguments& a);
  const ConvPadding& get() const { return value; }
  template <class F>
  void visit(const F&) {}
};

template <class T>
void draw_into(Arguments& a, T& value) {
  Draw& draw = a.draw;
  const auto say = [&](const std::string& text) { a.one.say(text + ", "); };
  if constexpr (std::is_same_v<T, Tensor>) {
    value = draw_tensor(a);
  } else if constexpr (std::is_same_v<T, bool>) {
    value = draw.once_in(2);
    say(value ? "true" : "false");
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(draw.below(detail::count_of(T{})));
    say("enum " + std::to_string(static_cast<int>(value)));
  } else if constexpr (std::is_integral_v<T>) {
    value = static_cast<T>(draw_integer(a));
    say(std::to_string(value));
  } else if constexpr (std::is_same_v<T, double>) {
    value = draw_number(draw);
    say(describe(value));
  } else if constexpr (std::is_same_v<T, Scalar>) {
    value = draw_scalar(a);
    say(to_string(value));
  } else if constexpr (std::is_same_v<T, Dims>) {
    value = draw_dims(a);
    say(to_string(value));
  } else if constexpr (std::is_same_v<T, ReduceDims>) {
    const Dims dims = draw.once_in(3) ? Dims() : draw_dims(a);
    value = ReduceDims(dims);
    say(to_string(dims));
  } else if constexpr (std::is_same_v<T, ConvPadding>) {
    const Dims dims = draw_dims(a);
    value = ConvPadding(dims);
    say(to_string(dims));
  } else if constexpr (std::is_same_v<T, Device>) {
    value = draw_device(draw);
    say(to_string(value));
  } else if constexpr (std::is_same_v<T, Generator*> || std::is_same_v<T, nullptr_t>) {
    value = nullptr;
  } else if constexpr (detail::IsNumbers<T>::value) {
    for (double& number : value) draw_into(a, number);
  } else if constexpr (std::is_same_v<T, std::string>) {
    static constexpr const char* kTexts[] = {"", "original", "match_rms_adamw", "zz"};
    value = draw.one_of(kTexts);
    say(value);
  } else if constexpr (std::is_same_v<T, const char*>) {
    static constexpr const char* kTexts[] = {"ij", "xy", "", "same", "valid", "zz"};
    value = draw.one_of(kTexts);
    say(value);
  } else if constexpr (detail::IsOptional<T>::value) {
    if (draw.once_in(2)) {
      value.reset();
      say("none");
    } else {
      auto inner = initial<typename T::value_type>();
      draw_into(a, inner);
      value = inner;
    }
  } else if constexpr (detail::IsOption<T>::value) {
    typename detail::IsOption<T>::Value inner{};
    draw_into(a, inner);
    value = inner;
  } else if constexpr (std::is_same_v<T, Index>) {
    switch (draw.below(7)) {
      case 0:
        value = Index(None);
        return say("None");
      case 1:
        value = Index(Ellipsis);
        return say("...");
      case 2:
        value = Index(draw.once_in(2));
        return say("bool");
      case 3:
      case 4: {
        Slice slice;
        draw_into(a, slice);
        value = Index(slice);
        return;
      }
      case 5:
        value = Index(draw_tensor(a));
        return;
      default: {
        const int64_t place = draw_integer(a);
        value = Index(place);
        return say(std::to_string(place));
      }
    }
  } else if constexpr (detail::IsVector<T>::value) {
    using Item = typename T::value_type;
    a.one.say("{");
    const uint64_t count = draw.once_in(40) ? 14 : draw.below(5);
    value.clear();
    for (uint64_t i = 0; i < count; ++i) {
      auto item = initial<Item>();
      draw_into(a, item);
      value.push_back(item);
    }
    a.one.say("}, ");
  } else {
    // A struct of options keeps most of its defaults.
    a.one.say("{");
    detail::for_members(value, [&](auto& member) {
      if (draw.once_in(3)) {
        draw_into(a, member);
      } else {
        a.one.say("., ");
      }
    });
    a.one.say("}, ");
  }
}

}  // namespace aorta::siege
