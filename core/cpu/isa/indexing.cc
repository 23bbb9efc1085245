#include <aorta/core/cpu/indexing.h>
#include <aorta/core/cpu/pointwise_rows.h>

#include <cstring>

namespace aorta::cpu::AORTA_ISA {
namespace {

using body::IndexedArgs;
using body::ScatterMode;

// Walks the positions of the dimensions from `first` on, one after another; offsets in elements.
template <int first>
struct Walk {
  const IndexedArgs& args;
  int64_t value = 0, element = 0;
  int64_t at[body::kMaxDims] = {};  // in each index
  int64_t position[body::kMaxDims] = {};
  int64_t count = 1;

  AORTA_INLINE explicit Walk(const IndexedArgs& indexed) : args(indexed) {
    for (int d = first; d < args.ndim; ++d) count *= args.shape[d];
  }
  AORTA_INLINE void move(int d, int64_t by) {
    value += by * args.values_strides[d];
    element += by * args.table_strides[d];
    for (int k = 0; k < args.indices; ++k) at[k] += by * args.index_strides[k][d];
  }
  AORTA_INLINE void next() {
    for (int d = first; d < args.ndim; ++d) {
      move(d, 1);
      if (++position[d] < args.shape[d]) return;
      move(d, -position[d]);
      position[d] = 0;
    }
  }
  // The element that position i of dimension 0 meets.
  AORTA_INLINE int64_t find(int64_t i) const {
    int64_t found = element + i * args.table_strides[0];
    for (int k = 0; k < args.indices; ++k)
      found += args.index[k][at[k] + i * args.index_strides[k][0]] * args.step[k];
    return found;
  }
};

// What a step along a dimension adds to offsets, where there is one index.
struct Along {
  int64_t size = 1, value = 0, element = 0, index = 0;

  AORTA_INLINE Along(const IndexedArgs& args, int d) {
    if (d >= args.ndim) return;
    size = args.shape[d];
    value = args.values_strides[d];
    element = args.table_strides[d];
    index = args.index_strides[0][d];
  }
};

// Calls body(value, element, index, left) for every row (run along dimension 0) where there is one
// index: its offset in the values, that in the table without the index, its indices, and how many
// rows are left along dimension 1 with it. For short rows a step along that one must cost little:
// it adds three numbers.
template <class Body>
AORTA_INLINE void for_rows(const IndexedArgs& args, const Body& body) {
  const Along next(args, 1);
  Walk<2> walk(args);
  for (int64_t w = 0; w < walk.count; ++w, walk.next()) {
    int64_t value = walk.value, element = walk.element;
    const int64_t* index = args.index[0] + walk.at[0];
    for (int64_t left = next.size; left > 0; --left) {
      body(value, element, index, left);
      value += next.value;
      element += next.element;
      index += next.index;
    }
  }
}

// True when the whole row has the same indices.
bool is_even(const IndexedArgs& args) {
  for (int k = 0; k < args.indices; ++k) {
    if (args.index_strides[k][0] != 0) return false;
  }
  return true;
}

// Calls run(copy) with the copy(out, in) that suits rows of so many bytes. A short row is
// copied as two pieces of a constant size, which overlap: a call takes several times as long.
template <int width = 1, class Run>
AORTA_INLINE void with_row_copy(int64_t bytes, bool stream, const Run& run) {
  if constexpr (width > 32) {
    if (stream && bytes >= 256)
      return run([=](char* out, const char* in) { copy_loops.stream(out, in, bytes); });
    run([=](char* out, const char* in) { std::memcpy(out, in, static_cast<size_t>(bytes)); });
  } else {
    if (bytes > 2 * width) return with_row_copy<2 * width>(bytes, stream, run);
    run([=](char* out, const char* in) {
      char first[width], last[width];
      std::memcpy(first, in, width);
      std::memcpy(last, in + bytes - width, width);
      std::memcpy(out, first, width);
      std::memcpy(out + bytes - width, last, width);
    });
  }
}

// Dense rows by one index each. Rows in random order defeat the hardware's prefetching: each is
// asked for four rows before it is read.
template <class Item>
void gather_rows(const IndexedArgs& args, bool stream) {
  const int64_t step = args.step[0], bytes = args.shape[0] * static_cast<int64_t>(sizeof(Item));
  const Along next(args, 1);
  const int64_t ahead = bytes <= 4096 ? 4 : next.size;
  char* const values = static_cast<char*>(args.values);
  const char* const table = static_cast<const char*>(args.table);
  constexpr int64_t size = sizeof(Item);
  with_row_copy(bytes, stream, [&](const auto& copy) {
    for_rows(args, [=](int64_t value, int64_t element, const int64_t* index, int64_t left) {
      if (left > ahead) {
        const int64_t later = element + ahead * next.element + index[ahead * next.index] * step;
        for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(table + later * size + i);
      }
      copy(values + value * size, table + (element + *index * step) * size);
    });
  });
}

template <class Item>
void gather(const IndexedArgs& args, bool stream) {
  const int64_t n = args.shape[0], step = args.step[0];
  const int64_t to = args.values_strides[0], from = args.table_strides[0];
  const Item* const table = static_cast<const Item*>(args.table);
  Item* const values = static_cast<Item*>(args.values);
  const bool even = is_even(args), dense = to == 1 && from == 1;
  if (args.indices != 1) {
    Walk<1> row(args);
    for (int64_t r = 0; r < row.count; ++r, row.next()) {
      Item* const out = values + row.value;
      if (even && dense) {
        std::memcpy(out, table + row.find(0), static_cast<size_t>(n) * sizeof(Item));
      } else {
        for (int64_t i = 0; i < n; ++i) out[i * to] = table[row.find(i)];
      }
    }
  } else if (even && dense) {
    gather_rows<Item>(args, stream);
  } else {
    const int64_t next = args.index_strides[0][0];
    const bool plain = to == 1 && from == 0 && next == 1 && step == 1;
    for_rows(args, [=](int64_t value, int64_t element, const int64_t* index, int64_t) {
      Item* const out = values + value;
      const Item* const in = table + element;
      if (even) {
        const Item* const found = in + *index * step;
        for (int64_t i = 0; i < n; ++i) out[i * to] = found[i * from];
      } else if (plain) {  // multiplies nothing for an address
        for (int64_t i = 0; i < n; ++i) out[i] = in[index[i]];
      } else {
        for (int64_t i = 0; i < n; ++i) out[i * to] = in[i * from + index[i * next] * step];
      }
    });
  }
}

template <class T, ScatterMode mode>
void scatter(const IndexedArgs& args) {
  const int64_t n = args.shape[0], step = args.step[0];
  const int64_t from = args.values_strides[0], to = args.table_strides[0];
  const T* const values = static_cast<const T*>(args.values);
  T* const table = static_cast<T*>(args.table);
  const bool even = is_even(args), dense = to == 1 && from == 1;
  const auto write = [=](T* out, const T* in) {  // a whole row
    if (dense) {
      // Values and table never share memory.
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) out[i] = body::combine(mode, out[i], in[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i * to] = body::combine(mode, out[i * to], in[i * from]);
    }
  };
  if (args.indices != 1) {
    Walk<1> row(args);
    for (int64_t r = 0; r < row.count; ++r, row.next()) {
      const T* const in = values + row.value;
      if (even) {
        write(table + row.find(0), in);
        continue;
      }
      for (int64_t i = 0; i < n; ++i) {
        T& place = table[row.find(i)];
        place = body::combine(mode, place, in[i * from]);
      }
    }
  } else {
    const int64_t next = args.index_strides[0][0];
    const bool plain = from == 1 && to == 0 && next == 1 && step == 1;
    for_rows(args, [=](int64_t value, int64_t element, const int64_t* index, int64_t) {
      const T* const in = values + value;
      T* const out = table + element;
      if (even) return write(out + *index * step, in);
      if (plain) {  // multiplies nothing for an address
        for (int64_t i = 0; i < n; ++i) out[index[i]] = body::combine(mode, out[index[i]], in[i]);
        return;
      }
      for (int64_t i = 0; i < n; ++i) {
        T& place = out[i * to + index[i * next] * step];
        place = body::combine(mode, place, in[i * from]);
      }
    });
  }
}

template <class T>
void scatter_typed(const IndexedArgs& args, ScatterMode mode) {
  switch (mode) {
    case ScatterMode::assign:
      return;  // by size: see assign
    case ScatterMode::sum:
      return scatter<T, ScatterMode::sum>(args);
    case ScatterMode::prod:
      return scatter<T, ScatterMode::prod>(args);
    case ScatterMode::amax:
      return scatter<T, ScatterMode::amax>(args);
    case ScatterMode::amin:
      return scatter<T, ScatterMode::amin>(args);
  }
}

void assign(const IndexedArgs& args) {
  switch (item_size(args.dtype)) {
    case 1:
      return scatter<uint8_t, ScatterMode::assign>(args);
    case 2:
      return scatter<uint16_t, ScatterMode::assign>(args);
    case 4:
      return scatter<uint32_t, ScatterMode::assign>(args);
    default:
      return scatter<uint64_t, ScatterMode::assign>(args);
  }
}

void gather_range(const IndexedArgs& args, bool stream) {
  switch (item_size(args.dtype)) {
    case 1:
      return gather<uint8_t>(args, stream);
    case 2:
      return gather<uint16_t>(args, stream);
    case 4:
      return gather<uint32_t>(args, stream);
    default:
      return gather<uint64_t>(args, stream);
  }
}

void scatter_range(const IndexedArgs& args, ScatterMode mode) {
  if (mode == ScatterMode::assign) return assign(args);
  switch (args.dtype) {
    case DType::f32:
      return scatter_typed<float>(args, mode);
    case DType::f64:
      return scatter_typed<double>(args, mode);
    case DType::i64:
      return scatter_typed<int64_t>(args, mode);
    case DType::i32:
      return scatter_typed<int32_t>(args, mode);
    case DType::u8:
      return scatter_typed<uint8_t>(args, mode);
    case DType::f16:
    case DType::bf16:
    case DType::boolean:
    case DType::c64:
    case DType::c128:
      return;  // never here: see IndexedArgs
  }
}

bool any_outside(const int64_t* index, int64_t n, int64_t lowest, int64_t size) {
  const uint64_t span = static_cast<uint64_t>(size) - static_cast<uint64_t>(lowest);
  uint64_t outside = 0;
  for (int64_t i = 0; i < n; ++i)
    outside |= static_cast<uint64_t>(index[i]) - static_cast<uint64_t>(lowest) >= span;
  return outside != 0;
}

}  // namespace

const IndexLoops index_loops = {gather_range, scatter_range, any_outside};

}  // namespace aorta::cpu::AORTA_ISA
