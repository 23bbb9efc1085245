#pragma once

#include <aorta/core/check.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace aorta {

/// The most dimensions that a tensor has.
inline constexpr int kMaxDims = 12;

/// A short list of integers without a heap allocation: sizes, strides (in elements), dimensions.
class Dims {
 public:
  constexpr Dims() = default;
  /// `{2, 3}`, or one number: `3`. No std::initializer_list, for g++ 12 lets `{.stride = 2}` be
  /// one, whatever the name says.
  template <std::integral First, std::integral... Rest>
  Dims(First first, Rest... rest) {  // NOLINT: implicit
    const int64_t values[] = {static_cast<int64_t>(first), static_cast<int64_t>(rest)...};
    assign(values, 1 + sizeof...(rest));
  }
  /// A vector, span or array.
  template <class Values>
  requires(!std::derived_from<Values, Dims>) && requires(const Values& values) {
    { std::data(values) } -> std::same_as<const int64_t*>;
  }
  Dims(const Values& values) {  // NOLINT: implicit
    assign(std::data(values), static_cast<int64_t>(std::size(values)));
  }
  Dims(const Dims& other) { copy(other); }
  Dims& operator=(const Dims& other) {
    copy(other);
    return *this;
  }
  /// `count` copies of `value`.
  static Dims filled(int count, int64_t value);

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t operator[](int i) const { return values_[place(i)]; }
  int64_t& operator[](int i) { return values_[place(i)]; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + size_; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + size_; }
  const int64_t* data() const { return values_; }
  int64_t* data() { return values_; }
  int64_t back() const { return values_[place(size_ - 1)]; }
  int64_t& back() { return values_[place(size_ - 1)]; }

  void push_back(int64_t value);
  void insert(int position, int64_t value);
  void erase(int position);
  void resize(int size, int64_t value = 0);

  bool operator==(const Dims& other) const {
    if (size_ != other.size_) return false;
    for (int i = 0; i < size_; ++i) {
      if (values_[i] != other.values_[i]) return false;
    }
    return true;
  }

  /// The product of the sizes; 1 for none. Sizes come from a tensor, so it can't overflow.
  int64_t numel() const {
    int64_t n = 1;
    for (int i = 0; i < size_; ++i) n *= values_[i];
    return n;
  }

 private:
  void assign(const int64_t* values, int64_t count);
  // What lies behind the last value has never been written, and no sanitizer would see it read.
  int place(int i) const {
#ifdef __SANITIZE_ADDRESS__
    if (i < 0 || i >= size_) __builtin_trap();
#endif
    return i;
  }
  void copy(const Dims& other) {
    size_ = other.size_;
    for (int i = 0; i < size_; ++i) {
      values_[i] = other.values_[i];
      asm("");  // keeps the loop from becoming a call of memmove, which costs more than the loop
    }
  }

  int size_ = 0;
  int64_t values_[kMaxDims];
};

/// Sizes of a tensor, outermost first.
using Shape = Dims;
/// Distance between neighbours along each dimension, in elements.
using Strides = Dims;

/// "[8,3,32,32]".
std::string to_string(const Dims& dims);

/// Row-major strides of `shape`.
Strides contiguous_strides(const Shape& shape);

/// Strides of a (N, C, H, W) or (N, C, D, H, W) tensor whose memory is (N, H, W, C) or (N, D, H, W,
/// C).
Strides channels_last_strides(const Shape& shape);

/// The strides of a tensor of `shape` without gaps, its dimensions in the order of `strides`;
/// row-major where the order is undecided or memory is shared (stride 0).
Strides dense_strides(const Shape& shape, const Strides& strides);

/// The number of elements; throws `op` when a size is negative or elements x `item_size` overflows.
int64_t checked_numel(const char* op, const Shape& shape, int64_t item_size = 1);

/// The number of elements from the first to the last that a tensor touches; 0 without elements.
/// Throws `op` unless there is one stride a dimension, none is negative, and their bytes fit.
int64_t checked_extent(const char* op, const Shape& shape, const Strides& strides,
                       int64_t item_size);

/// `dim` counted from the end when negative; throws unless -ndim <= dim < ndim. A 0-d tensor counts
/// as 1-d here, as in PyTorch.
int wrap_dim(const char* op, int64_t dim, int ndim);
/// Several dimensions counted so, each of which may come once.
Dims wrap_dims(const char* op, const Dims& dims, int ndim);

/// The value of `sizes` along `dim`, counted from the end when negative; throws where there is
/// none, also for a 0-d tensor.
int64_t along(const char* op, const Dims& sizes, int64_t dim);

/// The shape that `a` and `b` broadcast to: sizes are matched from the last dimension, and 1
/// stretches. Throws `op: shapes must broadcast, got [2,3] and [4]`.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);

}  // namespace aorta
