#pragma once

#include <aorta/core/body/limits.h>
#include <aorta/core/dtype.h>
#include <aorta/core/host_device.h>
#include <aorta/core/scalar/wrapping.h>

#include <cstdint>

namespace aorta::body {

/// What gather, scatter and advanced indexing share. Over an iteration space of `shape`, position p
/// of `values` meets the element of `table` at
///   sum_d p_d * table_strides[d]  +  sum_k step[k] * index_k[sum_d p_d * index_strides[k][d]]
/// Strides and steps in elements. For a write, a dimension with table_strides[d] != 0 is free: two
/// positions that differ in it never meet the same element of `table`. Dimensions of size 1 are
/// dropped, and neighbours merged where every stride allows.
struct IndexedArgs {
  int ndim = 0;
  int indices = 0;
  int64_t numel = 1;
  int64_t shape[kMaxDims];  // innermost first
  int64_t values_strides[kMaxDims];
  int64_t table_strides[kMaxDims];
  int64_t index_strides[kMaxDims][kMaxDims];  // [index][dimension]
  const int64_t* index[kMaxDims];             // from 0 on and inside the table: checked before
  int64_t step[kMaxDims];
  void* values = nullptr;
  void* table = nullptr;
  int64_t table_extent = 1;  // elements of memory from the table's first to behind its last
  DType dtype = DType::f32;  // of both; u8 for bool, and a half type only moves
};

/// How a value joins the element that it meets.
enum class ScatterMode : uint8_t { assign, sum, prod, amax, amin };

/// old with value. NaN wins in amax and amin. (Sums of bools come as amax of u8, products as amin.)
template <class T>
AORTA_INLINE T combine(ScatterMode mode, T old, T value) {
  switch (mode) {
    case ScatterMode::assign:
      return value;
    case ScatterMode::sum:
      return scalar::wrapping_add(old, value);
    case ScatterMode::prod:
      return scalar::wrapping_mul(old, value);
    case ScatterMode::amax:
      return old != old || old > value ? old : value;
    case ScatterMode::amin:
      return old != old || old < value ? old : value;
  }
  return value;
}

/// body(i) reads the i-th position (dimension 0 fastest): values = table.
template <class Item>
struct GatherBody {
  IndexedArgs args;

  AORTA_INLINE void operator()(int64_t i) const {
    int64_t value = 0, element = 0;
    int64_t at[kMaxDims] = {};
    for (int d = 0; d < args.ndim; ++d) {
      const int64_t p = i % args.shape[d];
      i /= args.shape[d];
      value += p * args.values_strides[d];
      element += p * args.table_strides[d];
      for (int k = 0; k < args.indices; ++k) at[k] += p * args.index_strides[k][d];
    }
    for (int k = 0; k < args.indices; ++k) element += args.index[k][at[k]] * args.step[k];
    static_cast<Item*>(args.values)[value] = static_cast<const Item*>(args.table)[element];
  }
};

/// body(i) writes all that the i-th position of the free dimensions meets, one after another in the
/// order of the iteration space (the last dimension fastest): no two bodies touch one element, and
/// duplicates are summed in one order on every machine. With assign the last one stays. T is the
/// element type; for assign any type of its size will do.
template <class T>
struct ScatterBody {
  IndexedArgs args;
  ScatterMode mode = ScatterMode::assign;

  /// The number of bodies, and of elements that each writes.
  AORTA_HOST_DEVICE int64_t free_count() const { return count(true); }
  AORTA_HOST_DEVICE int64_t ordered_count() const { return count(false); }

  AORTA_INLINE void operator()(int64_t i) const {
    int64_t value = 0, element = 0;
    int64_t at[kMaxDims] = {};
    move(true, i, value, element, at);
    const int64_t n = ordered_count();
    for (int64_t j = 0; j < n; ++j) {
      int64_t v = value, e = element;
      int64_t a[kMaxDims];
      for (int k = 0; k < args.indices; ++k) a[k] = at[k];
      move(false, j, v, e, a);
      for (int k = 0; k < args.indices; ++k) e += args.index[k][a[k]] * args.step[k];
      T& place = static_cast<T*>(args.table)[e];
      place = combine(mode, place, static_cast<const T*>(args.values)[v]);
    }
  }

 private:
  AORTA_HOST_DEVICE int64_t count(bool free) const {
    int64_t n = 1;
    for (int d = 0; d < args.ndim; ++d) {
      if ((args.table_strides[d] != 0) == free) n *= args.shape[d];
    }
    return n;
  }
  AORTA_INLINE void move(bool free, int64_t i, int64_t& value, int64_t& element,
                         int64_t* at) const {
    for (int d = 0; d < args.ndim; ++d) {
      if ((args.table_strides[d] != 0) != free) continue;
      const int64_t p = i % args.shape[d];
      i /= args.shape[d];
      value += p * args.values_strides[d];
      element += p * args.table_strides[d];
      for (int k = 0; k < args.indices; ++k) at[k] += p * args.index_strides[k][d];
    }
  }
};

}  // namespace aorta::body
