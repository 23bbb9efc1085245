#include <aorta/core/shape.h>

#include <algorithm>

namespace aorta {

void Dims::assign(const int64_t* values, int64_t count) {
  check(count <= kMaxDims, "tensor", "at most 12 dimensions", count);
  size_ = static_cast<int>(count);
  std::copy(values, values + count, values_);
}

Dims Dims::filled(int count, int64_t value) {
  Dims dims;
  dims.resize(count, value);
  return dims;
}

void Dims::push_back(int64_t value) { insert(size_, value); }

void Dims::insert(int position, int64_t value) {
  check(size_ < kMaxDims, "tensor", "at most 12 dimensions", size_ + 1);
  std::copy_backward(values_ + position, values_ + size_, values_ + size_ + 1);
  values_[position] = value;
  ++size_;
}

void Dims::erase(int position) {
  std::copy(values_ + position + 1, values_ + size_, values_ + position);
  --size_;
}

void Dims::resize(int size, int64_t value) {
  check(size >= 0 && size <= kMaxDims, "tensor", "at most 12 dimensions", size);
  for (int i = size_; i < size; ++i) values_[i] = value;
  size_ = size;
}

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (int i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ',';
    detail::append(text, dims[i]);
  }
  return text + "]";
}

namespace {

// The stride of the next dimension. Of sizes that no tensor has it would not fit: those are refused
// where their elements are counted (checked_numel).
int64_t next_stride(int64_t stride, int64_t size) {
  int64_t next = 0;
  return __builtin_mul_overflow(stride, std::max<int64_t>(size, 1), &next) ? INT64_MAX : next;
}

}  // namespace

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  int64_t next = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = next;
    next = next_stride(next, shape[i]);
  }
  return strides;
}

Strides channels_last_strides(const Shape& shape) {
  const int n = shape.size();
  check(n == 4 || n == 5, "channels_last", "a tensor of 4 or 5 dimensions", shape);
  Strides strides = Dims::filled(n, 1);
  int64_t next = std::max<int64_t>(shape[1], 1);
  for (int i = n - 1; i >= 2; --i) {
    strides[i] = next;
    next = next_stride(next, shape[i]);
  }
  strides[0] = next;
  return strides;
}

Strides dense_strides(const Shape& shape, const Strides& strides) {
  check(strides.size() == shape.size(), "dense_strides", "there must be a stride for each size",
        strides, " for ", shape);
  int order[kMaxDims];  // of the dimensions longer than 1, outermost first
  int n = 0;
  bool sorted = true;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (strides[i] == 0) return contiguous_strides(shape);
    order[n] = i;
    for (int j = n++; j > 0 && strides[order[j]] > strides[order[j - 1]]; --j) {
      std::swap(order[j], order[j - 1]);
      sorted = false;
    }
  }
  if (sorted) return contiguous_strides(shape);
  Strides dense = Dims::filled(shape.size(), 1);
  int64_t next = 1;
  for (int i = n - 1; i >= 0; --i) {
    dense[order[i]] = next;
    next = next_stride(next, shape[order[i]]);
  }
  return dense;
}

int64_t checked_numel(const char* op, const Shape& shape, int64_t item_size) {
  int64_t count = 1, bytes = 0;
  bool overflow = false;
  bool empty = false;
  for (int64_t size : shape) {
    check(size >= 0, op, "sizes can't be negative", shape);
    empty |= size == 0;
    if (size > 0) overflow |= __builtin_mul_overflow(count, size, &count);
  }
  overflow |= __builtin_mul_overflow(count, item_size, &bytes);
  check(!overflow, op, "the number of bytes must fit in 63 bits", shape);
  return empty ? 0 : count;
}

int64_t checked_extent(const char* op, const Shape& shape, const Strides& strides,
                       int64_t item_size) {
  check(strides.size() == shape.size(), op, "one stride a dimension", strides, " for shape ",
        shape);
  const bool empty = checked_numel(op, shape, item_size) == 0;
  int64_t last = 0, bytes = 0;
  bool overflow = false;
  for (int i = 0; i < shape.size(); ++i) {
    check(strides[i] >= 0, op, "strides can't be negative", strides);
    int64_t reach = 0;
    overflow |= __builtin_mul_overflow(std::max<int64_t>(shape[i] - 1, 0), strides[i], &reach) ||
                __builtin_add_overflow(last, reach, &last);
  }
  overflow |=
      __builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, item_size, &bytes);
  check(empty || !overflow, op, "the number of bytes must fit in 63 bits", shape, " with strides ",
        strides);
  return empty ? 0 : last;
}

int wrap_dim(const char* op, int64_t dim, int ndim) {
  const int n = std::max(ndim, 1);
  check(dim >= -n && dim < n, op, "dimension out of range", "dim ", dim, " of a ", ndim,
        "-d tensor");
  return static_cast<int>(dim < 0 ? dim + n : dim);
}

Dims wrap_dims(const char* op, const Dims& dims, int ndim) {
  Dims wrapped;
  bool seen[kMaxDims] = {};
  for (const int64_t dim : dims) {
    const int d = wrap_dim(op, dim, ndim);
    check(!seen[d], op, "each dimension at most once", dims, " of ", ndim);
    seen[d] = true;
    wrapped.push_back(d);
  }
  return wrapped;
}

int64_t along(const char* op, const Dims& sizes, int64_t dim) {
  check(!sizes.empty(), op, "a 0-d tensor has no dimensions", "dim ", dim);
  return sizes[wrap_dim(op, dim, sizes.size())];
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  Shape result = Dims::filled(std::max(a.size(), b.size()), 1);
  for (int i = 1; i <= result.size(); ++i) {
    const int64_t x = i <= a.size() ? a[a.size() - i] : 1;
    const int64_t y = i <= b.size() ? b[b.size() - i] : 1;
    check(x == y || x == 1 || y == 1, op, "shapes must broadcast", a, " and ", b);
    result[result.size() - i] = x == 1 ? y : x;
  }
  return result;
}

}  // namespace aorta
