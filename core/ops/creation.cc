#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/recording.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace aorta {
namespace {

// Numbers made on the host and moved to where they are wanted.
template <class F>
Tensor generate(const char* op, int64_t count, DType dtype, const TensorOptions& options,
                const F& value) {
  Tensor result = empty(
      {count}, {.dtype = dtype, .device = options.device.is_meta() ? options.device : Device()});
  if (result.is_meta()) return detail::with_requires_grad(result, options.requires_grad);
  if (is_complex(dtype)) {
    for (int64_t i = 0; i < count; ++i) {
      const Scalar number = value(i);
      check(fits(number, dtype), op, "the value must fit the dtype", number, " for ", dtype);
      result.select(0, i).fill_(number);
    }
    return detail::with_requires_grad(result.to(options.device), options.requires_grad);
  }
  visit_dtype(dtype, [&](auto type) {
    using T = decltype(type);
    T* out = result.data<T>();
    for (int64_t i = 0; i < count; ++i) {
      const Scalar number = value(i);
      check(fits<T>(number), op, "the value must fit the dtype", number, " for ", dtype);
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        out[i] = T(static_cast<float>(number.to_double()));
      } else if constexpr (std::is_same_v<T, bool>) {
        out[i] = number.to_bool();
      } else if constexpr (std::is_integral_v<T>) {
        out[i] = static_cast<T>(number.to_int());
      } else {
        out[i] = static_cast<T>(number.to_double());
      }
    }
  });
  kernel::Recording* const recording = kernel::Recording::current();
  const bool constant = recording && options.device == recording->device() && count > 0;
  return detail::with_requires_grad(
      constant ? recording->constant(result) : result.to(options.device), options.requires_grad);
}

TensorOptions options_like(const Tensor& like, const LikeOptions& options) {
  return {.dtype = options.dtype.value_or(like.dtype()),
          .device = options.device.value_or(like.device()),
          .requires_grad = options.requires_grad};
}

}  // namespace

Tensor full(const Shape& shape, const Scalar& value, const TensorOptions& options) {
  const CalledOp called("full");
  const DType dtype = options.dtype.value_or(value.dtype());
  const Tensor result = empty(shape, {.dtype = dtype, .device = options.device});
  result.fill_(value);
  return detail::with_requires_grad(result, options.requires_grad);
}

Tensor zeros(const Shape& shape, const TensorOptions& options) {
  const CalledOp called("zeros");
  return full(shape, 0.0,
              {options.dtype.value_or(DType::f32), options.device, options.requires_grad});
}

Tensor ones(const Shape& shape, const TensorOptions& options) {
  const CalledOp called("ones");
  return full(shape, 1.0,
              {options.dtype.value_or(DType::f32), options.device, options.requires_grad});
}

static constexpr const char* kMostNumbers = "there must be fewer than 2^46 numbers";

// The number as an integer, where the dtype is one and it can be one.
static Scalar whole_for(DType dtype, const Scalar& number) {
  return is_integral(dtype) && fits<int64_t>(number) ? Scalar(number.to_int()) : number;
}

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
              const TensorOptions& options) {
  const CalledOp called("arange");
  const bool integers = !start.is_floating() && !end.is_floating() && !step.is_floating();
  const DType dtype = options.dtype.value_or(integers ? DType::i64 : DType::f32);
  const double first = start.to_double(), last = end.to_double(), stride = step.to_double();
  check(stride != 0 && std::isfinite(first) && std::isfinite(last) && std::isfinite(stride),
        "arange", "the bounds must be finite and the step not zero", start, ", ", end, ", ", step);
  check(!is_complex(dtype), "arange", "dtype must be real", dtype);
  check(dtype != DType::boolean, "arange", "dtype must be a number, not bool", dtype);
  const int64_t a = integers ? start.to_int() : 0, b = integers ? end.to_int() : 0;
  const bool upwards = integers ? a <= b : first <= last,
             downwards = integers ? a >= b : first >= last;
  check(stride > 0 ? upwards : downwards, "arange", "the step must lead from start towards end",
        start, ", ", end, ", ", step);
  if (integers) {
    const int64_t s = step.to_int();
    const __int128 count = (static_cast<__int128>(b) - a + s - (s > 0 ? 1 : -1)) / s;
    check(count < int64_t{1} << 46, "arange", kMostNumbers, static_cast<double>(count));
    return generate("arange", static_cast<int64_t>(count), dtype, options, [=](int64_t i) {
      // Modulo 2^64: the last number fits, though i * s may not.
      return static_cast<int64_t>(static_cast<uint64_t>(a) +
                                  static_cast<uint64_t>(i) * static_cast<uint64_t>(s));
    });
  }
  check_fits("arange", whole_for(dtype, first), dtype);
  const double count = std::ceil((last - first) / stride);
  check(count < 0x1p46, "arange", kMostNumbers, count);
  return generate("arange", static_cast<int64_t>(count), dtype, options, [=](int64_t i) -> Scalar {
    return whole_for(dtype, first + static_cast<double>(i) * stride);
  });
}

Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return arange(start, end, 1, options);
}

Tensor arange(const Scalar& end, const TensorOptions& options) {
  return arange(0, end, 1, options);
}

namespace {

// What `number` makes of `steps` numbers from start to end.
template <class F>
Tensor spaced(const char* op, const Scalar& start, const Scalar& end, int64_t steps,
              const TensorOptions& options, const F& number) {
  check(steps >= 0, op, "steps can't be negative", steps);
  const DType dtype = options.dtype.value_or(DType::f32);
  check(!is_complex(dtype), op, "dtype must be real", dtype);
  check(dtype != DType::boolean, op, "dtype must be a number, not bool", dtype);
  for (const Scalar& bound : {start, end}) check_fits(op, bound, dtype);
  const double a = start.to_double(), b = end.to_double();
  const double step = steps > 1 ? (b - a) / static_cast<double>(steps - 1) : 0;
  // From both ends, so that the last number is `end` exactly and the row is symmetric.
  return generate(op, steps, dtype, options, [=](int64_t i) {
    return whole_for(dtype,
                     number(i < (steps + 1) / 2 ? a + step * static_cast<double>(i)
                                                : b - step * static_cast<double>(steps - 1 - i)));
  });
}

}  // namespace

Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps,
                const TensorOptions& options) {
  const CalledOp called("linspace");
  return spaced("linspace", start, end, steps, options, [](double x) { return x; });
}

Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base,
                const TensorOptions& options) {
  const CalledOp called("logspace");
  return spaced("logspace", start, end, steps, options,
                [base](double x) { return std::pow(base, x); });
}

namespace {

// How many elements of a matrix (row, col) lie on and below the diagonal: as many as if there were
// no right edge, less those behind it.
int64_t count_below(__int128 row, __int128 col, __int128 diagonal) {
  const auto triangle = [](__int128 n) { return n > 0 ? n * (n + 1) / 2 : 0; };
  return static_cast<int64_t>(triangle(row + diagonal) - triangle(diagonal) -
                              triangle(row + diagonal - col) + triangle(diagonal - col));
}

Tensor triangle_indices(const char* op, const Shape& matrix, int64_t offset, bool upper,
                        const TensorOptions& options) {
  const CalledOp called(op);
  checked_numel(op, matrix, 1);
  const int64_t row = matrix[0], col = matrix[1], diagonal = std::clamp(offset, -row, col);
  const DType dtype = options.dtype.value_or(DType::i64);
  check(dtype == DType::i64 || dtype == DType::i32, op, "dtype must be i64 or i32", dtype);
  const int64_t below = count_below(row, col, upper ? diagonal - 1 : diagonal);
  const int64_t count = upper ? row * col - below : below;
  if (options.device.is_meta()) return empty({2, count}, {.dtype = dtype, .device = "meta"});
  const Tensor places = empty({2, count}, {.dtype = DType::i64});
  int64_t* const at = places.data<int64_t>();
  // Below the diagonal no row is empty from the first one on, and above it until the last.
  for (int64_t r = upper ? 0 : std::max<int64_t>(-diagonal, 0), i = 0; i < count; ++r) {
    const int64_t first = upper ? std::max<int64_t>(r + diagonal, 0) : 0;
    const int64_t end = upper ? col : std::min(r + diagonal + 1, col);
    for (int64_t c = first; c < end; ++c, ++i) {
      at[i] = r;
      at[count + i] = c;
    }
  }
  return generate(op, 2 * count, dtype, options, [at](int64_t i) { return at[i]; })
      .view({2, count});
}

}  // namespace

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  return triangle_indices("tril_indices", {row, col}, offset, false, options);
}

Tensor triu_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  return triangle_indices("triu_indices", {row, col}, offset, true, options);
}

Tensor eye(int64_t n, int64_t m, const TensorOptions& options) {
  const CalledOp called("eye");
  const Tensor result = zeros({n, m}, {.dtype = options.dtype, .device = options.device});
  diagonal(result).fill_(1);
  return detail::with_requires_grad(result, options.requires_grad);
}

Tensor eye(int64_t n, const TensorOptions& options) {
  const CalledOp called("eye");
  return eye(n, n, options);
}

Tensor empty_like(const Tensor& like, const LikeOptions& options) {
  const CalledOp called("empty_like");
  check_defined("empty_like", {{"like", like}});
  const TensorOptions made = options_like(like, options);
  switch (options.memory_format) {
    case MemoryFormat::preserve:
      return empty_strided(like.shape(), dense_strides(like.shape(), like.strides()), made);
    case MemoryFormat::channels_last:
      return empty_strided(like.shape(), channels_last_strides(like.shape()), made);
    case MemoryFormat::contiguous:
      break;
  }
  return empty(like.shape(), made);
}

Tensor full_like(const Tensor& like, const Scalar& value, const LikeOptions& options) {
  const CalledOp called("full_like");
  check_defined("full_like", {{"like", like}});
  LikeOptions plain = options;
  plain.requires_grad = false;
  const Tensor result = empty_like(like, plain);
  result.fill_(value);
  return detail::with_requires_grad(result, options.requires_grad);
}

Tensor zeros_like(const Tensor& like, const LikeOptions& options) {
  const CalledOp called("zeros_like");
  check_defined("zeros_like", {{"like", like}});
  return full_like(like, 0, options);
}

Tensor ones_like(const Tensor& like, const LikeOptions& options) {
  const CalledOp called("ones_like");
  check_defined("ones_like", {{"like", like}});
  return full_like(like, 1, options);
}

namespace detail {

Tensor from_values(const void* values, int64_t count, DType dtype, const Shape& shape,
                   const TensorOptions& options) {
  const CalledOp called("tensor");
  const int64_t numel = checked_numel("tensor", shape, item_size(dtype));
  check(numel == count, "tensor", "the number of values must match the shape", count, " for ",
        shape);
  const DType wanted = options.dtype.value_or(dtype);
  if (!is_differentiable(wanted) && wanted != dtype) {
    visit_dtype(dtype, [&](auto type) {
      using T = decltype(type);
      using Number = std::conditional_t<std::is_arithmetic_v<T>, T, float>;  // a half type's is f32
      const T* const given = static_cast<const T*>(values);
      for (int64_t i = 0; i < count; ++i)
        check_fits("tensor", static_cast<Number>(given[i]), wanted);
    });
  }
  const Tensor result = empty(shape, {.dtype = dtype});
  if (count > 0) std::memcpy(result.data(), values, static_cast<size_t>(result.nbytes()));
  return detail::with_requires_grad(result.to(ToOptions{.dtype = wanted, .device = options.device}),
                                    options.requires_grad);
}

}  // namespace detail

Tensor tensor(const TensorData& data, const TensorOptions& options) {
  Shape shape;
  for (const TensorData* level = &data; level->is_list_;) {
    shape.push_back(static_cast<int64_t>(level->items_.size()));
    if (level->items_.empty()) break;
    level = level->items_.data();
  }
  std::vector<Scalar> values;
  DType dtype = DType::boolean;
  const auto walk = [&](const auto& self, const TensorData& item, int depth) -> void {
    if (!item.is_list_) {
      check(depth == shape.size(), "tensor", "nested lists must be regular", shape);
      values.push_back(item.number_);
      dtype = values.size() == 1 ? item.number_.dtype() : promote(dtype, item.number_.dtype());
      return;
    }
    check(depth < shape.size() && static_cast<int64_t>(item.items_.size()) == shape[depth],
          "tensor", "nested lists must be regular", shape);
    for (const TensorData& inner : item.items_) self(self, inner, depth + 1);
  };
  walk(walk, data, 0);
  if (values.empty()) dtype = DType::f32;
  dtype = options.dtype.value_or(dtype);
  const auto value = [&](int64_t i) { return values[static_cast<size_t>(i)]; };
  const Tensor flat = generate("tensor", static_cast<int64_t>(values.size()), dtype,
                               {.device = options.device}, value);
  return detail::with_requires_grad(flat.view(shape), options.requires_grad);
}

}  // namespace aorta
