#pragma once

#include <aorta/core/half.h>

#include <cstdint>
#include <string>
#include <type_traits>

namespace aorta {

/// The type of a tensor's elements. Half types (f16, bf16) exist in memory; arithmetic is f32. A
/// complex element (c64, c128) is two of f32 or f64: its real part, then its imaginary one.
enum class DType : uint8_t { f32, f64, f16, bf16, i64, i32, u8, boolean, c64, c128 };

/// How many dtypes there are.
inline constexpr int kDTypeCount = 10;

/// The dtypes by their short names; `bool` is a keyword, so its dtype is `boolean`.
inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;
inline constexpr DType f16 = DType::f16;
inline constexpr DType bf16 = DType::bf16;
inline constexpr DType i64 = DType::i64;
inline constexpr DType i32 = DType::i32;
inline constexpr DType u8 = DType::u8;
inline constexpr DType boolean = DType::boolean;
inline constexpr DType c64 = DType::c64;
inline constexpr DType c128 = DType::c128;
/// The dtypes by PyTorch's names.
inline constexpr DType float32 = DType::f32;
inline constexpr DType float64 = DType::f64;
inline constexpr DType float16 = DType::f16;
inline constexpr DType bfloat16 = DType::bf16;
inline constexpr DType int64 = DType::i64;
inline constexpr DType int32 = DType::i32;
inline constexpr DType uint8 = DType::u8;
inline constexpr DType complex64 = DType::c64;
inline constexpr DType complex128 = DType::c128;

/// Size of one element in bytes.
constexpr int64_t item_size(DType dtype) {
  // Their logarithms, four bits each, the first dtype's lowest: a table would be read from memory.
  return int64_t{1} << (uint64_t{0x4300231132} >> 4 * static_cast<int>(dtype) & 15u);
}

/// "f32", "f64", "f16", "bf16", "i64", "i32", "u8", "bool", "c64", "c128".
const char* name(DType dtype);
std::string to_string(DType dtype);

/// Whether a dtype is f32, f64, f16 or bf16; and whether it is one of the last two.
constexpr bool is_floating(DType dtype) { return dtype <= DType::bf16; }
constexpr bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
/// i64, i32 and u8; bool isn't one.
constexpr bool is_integral(DType dtype) { return dtype > DType::bf16 && dtype < DType::boolean; }

/// c64 and c128. They are neither floating nor integral.
constexpr bool is_complex(DType dtype) { return dtype >= DType::c64; }
/// Whether tensors of the dtype can require gradients: floating and complex ones.
constexpr bool is_differentiable(DType dtype) { return is_floating(dtype) || is_complex(dtype); }
/// The dtype of a complex one's parts; another dtype itself.
constexpr DType real_dtype(DType dtype) {
  return dtype == DType::c64 ? DType::f32 : dtype == DType::c128 ? DType::f64 : dtype;
}
/// The complex dtype that holds elements of `dtype`: c128 for f64 and c128, else c64.
constexpr DType complex_dtype(DType dtype) {
  return dtype == DType::f64 || dtype == DType::c128 ? DType::c128 : DType::c64;
}

/// The dtype that elements are computed in: f32 for the half types, else their own.
constexpr DType compute_dtype(DType dtype) { return is_half(dtype) ? DType::f32 : dtype; }
/// Throws unless it is floating.
void check_floating(const char* op, DType dtype);

/// The smallest dtype that holds both, by PyTorch's rules: bool < u8 < i32 < i64 < f16, bf16 < f32
/// < f64 < c64 < c128, f16 with bf16 gives f32, and f64 with c64 gives c128. (Any integer with a
/// floating dtype gives the floating dtype.)
DType promote(DType a, DType b);

/// True where PyTorch's `can_cast` is: a result in `from` may be written to `to`. (A floating
/// result can't go to an integer, a complex one to anything real, nor a number to a bool.)
constexpr bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && !is_differentiable(to)) return false;
  return !(from != DType::boolean && to == DType::boolean);
}

namespace detail {
/// std::complex<float> and std::complex<double>, by what they have: <complex> would take every user
/// of this header ten thousand lines more to compile.
template <class T>
concept ComplexNumber = requires(const T& z) {
  typename T::value_type;
  z.real();
  z.imag();
  requires std::is_same_v<typename T::value_type, float> ||
      std::is_same_v<typename T::value_type, double>;
  requires sizeof(T) == 2 * sizeof(typename T::value_type);
};

template <class T>
struct DTypeOf;
template <ComplexNumber T>
struct DTypeOf<T> {
  static constexpr DType value = sizeof(T) == 8 ? DType::c64 : DType::c128;
};
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

/// Throws "op: dtype must be real", where an op that has no complex form met a complex tensor.
[[noreturn]] void refuse_complex(DType dtype);
}  // namespace detail

/// The DType of a C++ element type: `dtype_of<float> == f32`.
template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<std::remove_cv_t<T>>::value;

/// Calls `f(T{})` with the C++ element type of `dtype`: for tables and conversions in .cc files.
/// Complex dtypes are refused.
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
      return f(bool{});
    case DType::c64:
    case DType::c128:
      break;
  }
  detail::refuse_complex(dtype);
}

/// Does the same for a floating dtype, the half types among them.
template <class F>
decltype(auto) visit_floating(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f(double{});
    case DType::f16:
      return f(Half{});
    case DType::bf16:
      return f(BFloat16{});
    case DType::c64:
    case DType::c128:
      detail::refuse_complex(dtype);
    default:
      return f(float{});
  }
}

}  // namespace aorta
