#pragma once

#include <aorta/core/half.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace aorta {

/// The type of a tensor's elements. Half types (f16, bf16) exist in memory; arithmetic is f32.
enum class DType : uint8_t { f32, f64, f16, bf16, i64, i32, u8, boolean };

/// How many dtypes there are.
inline constexpr int kDTypeCount = 8;

/// The dtypes by their short names; `bool` is a keyword, so its dtype is `boolean`.
inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;
inline constexpr DType f16 = DType::f16;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType i64 = DType::i64;
inline constexpr DType i32 = DType::i32;
inline constexpr DType u8 = DType::u8;
inline constexpr DType boolean = DType::boolean;
/// The dtypes by PyTorch's names.
inline constexpr DType float32 = DType::f32;
inline constexpr DType float64 = DType::f64;
inline constexpr DType float16 = DType::f16;
inline constexpr DType bfloat16 = DType::bf16;
inline constexpr DType int64 = DType::i64;
inline constexpr DType int32 = DType::i32;
inline constexpr DType uint8 = DType::u8;

/// Size of one element in bytes.
constexpr int64_t item_size(DType dtype) {
  // Their logarithms, four bits each, the first dtype's lowest: a table would be read from memory.
  return int64_t{1} << (0x00231132u >> 4 * static_cast<int>(dtype) & 15u);
}

/// "f32", "f64", "f16", "bf16", "i64", "i32", "u8", "bool".
const char* name(DType dtype);
std::string to_string(DType dtype);

/// Whether a dtype is f32, f64, f16 or bf16; and whether it is one of the last two.
constexpr bool is_floating(DType dtype) { return dtype <= DType::bf16; }
constexpr bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
/// i64, i32 and u8; bool isn't one.
constexpr bool is_integral(DType dtype) { return dtype > DType::bf16 && dtype < DType::boolean; }

/// The dtype that elements are computed in: f32 for the half types, else their own.
constexpr DType compute_dtype(DType dtype) { return is_half(dtype) ? DType::f32 : dtype; }
/// Throws unless it is floating.
void check_floating(const char* op, DType dtype);

/// The smallest dtype that holds both, by PyTorch's rules: bool < u8 < i32 < i64 < f16, bf16 < f32
/// < f64, and f16 with bf16 gives f32. (Any integer with a floating dtype gives the floating
/// dtype.)
DType promote(DType a, DType b);

/// True where PyTorch's `can_cast` is: a result in `from` may be written to `to`. (A floating
/// result can't go to an integer, nor a number to a bool.)
constexpr bool can_cast(DType from, DType to) {
  if (is_floating(from) && !is_floating(to)) return false;
  return !(from != DType::boolean && to == DType::boolean);
}

namespace detail {
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<long> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<long long> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
}  // namespace detail

/// The DType of a C++ element type: `dtype_of<float> == f32`.
template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<std::remove_cv_t<T>>::value;

/// Calls `f(T{})` with the C++ element type of `dtype`: for tables and conversions in .cc files.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::f16:
      return f(Half{});
    case DType::bf16:
      return f(BFloat16{});
    case DType::i64:
      return f(int64_t{});
    case DType::i32:
      return f(int32_t{});
    case DType::u8:
      return f(uint8_t{});
    case DType::boolean:
      break;
  }
  return f(bool{});
}

/// The same for a floating dtype, the half types among them.
template <class F>
decltype(auto) visit_floating(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f(double{});
    case DType::f16:
      return f(Half{});
    case DType::bf16:
      return f(BFloat16{});
    default:
      return f(float{});
  }
}

}  // namespace aorta
