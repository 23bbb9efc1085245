#include <aorta/core/cpu/indexing.h>
#include <aorta/core/cpu/pointwise_rows.h>

#include <cstring>

namespace aorta::cpu::AORTA_ISA {
namespace {

using body::IndexedArgs;
using body::ScatterMode;

// Walks the rows (runs along dimension 0) one after another; offsets in elements.
struct Rows {
  const IndexedArgs& args;
  int64_t value = 0, element = 0;
  int64_t at[body::kMaxDims] = {};  // in each index
  int64_t position[body::kMaxDims] = {};

  AORTA_INLINE explicit Rows(const IndexedArgs& indexed) : args(indexed) {}
  AORTA_INLINE void move(int d, int64_t by) {
    value += by * args.values_strides[d];
    element += by * args.table_strides[d];
    for (int k = 0; k < args.indices; ++k) at[k] += by * args.index_strides[k][d];
  }
  AORTA_INLINE void next() {
    for (int d = 1; d < args.ndim; ++d) {
      move(d, 1);
      if (++position[d] < args.shape[d]) return;
      move(d, -position[d]);
      position[d] = 0;
    }
  }
  // The element that position i of the row meets.
  AORTA_INLINE int64_t find(int64_t i) const {
    int64_t found = element + i * args.table_strides[0];
    for (int k = 0; k < args.indices; ++k)
      found += args.index[k][at[k] + i * args.index_strides[k][0]] * args.step[k];
    return found;
  }
};

// True when the whole row has the same indices.
bool is_even(const IndexedArgs& args) {
  for (int k = 0; k < args.indices; ++k) {
    if (args.index_strides[k][0] != 0) return false;
  }
  return true;
}

// Asks for the row that comes `ahead` rows later, when it is along dimension 1 and by one index:
// rows in random order defeat the hardware's prefetching.
template <class Item>
AORTA_INLINE void prefetch_row(const Rows& row, int64_t ahead, int64_t bytes) {
  const IndexedArgs& args = row.args;
  if (row.position[1] + ahead >= args.shape[1]) return;
  const int64_t index = args.index[0][row.at[0] + ahead * args.index_strides[0][1]];
  const char* const in =
      reinterpret_cast<const char*>(static_cast<const Item*>(args.table) + row.element +
                                    ahead * args.table_strides[1] + index * args.step[0]);
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(in + i);
}

template <class Item>
void gather(const IndexedArgs& args, bool stream) {
  const int64_t n = args.shape[0], rows = args.numel / n;
  const int64_t to = args.values_strides[0], from = args.table_strides[0];
  const Item* const table = static_cast<const Item*>(args.table);
  const bool even = is_even(args), one = args.indices == 1;
  Rows row(args);
  for (int64_t r = 0; r < rows; ++r, row.next()) {
    Item* const out = static_cast<Item*>(args.values) + row.value;
    if (even) {
      const Item* const in = table + row.find(0);
      if (to == 1 && from == 1) {
        const int64_t bytes = n * static_cast<int64_t>(sizeof(Item));
        if (one && args.ndim > 1 && bytes <= 4096) prefetch_row<Item>(row, 4, bytes);
        if (stream && bytes >= 256) {
          copy_loops.stream(reinterpret_cast<char*>(out), reinterpret_cast<const char*>(in), bytes);
        } else {
          std::memcpy(out, in, static_cast<size_t>(bytes));
        }
        continue;
      }
      for (int64_t i = 0; i < n; ++i) out[i * to] = in[i * from];
    } else if (one) {
      const Item* const in = table + row.element;
      const int64_t* const index = args.index[0] + row.at[0];
      const int64_t next = args.index_strides[0][0], step = args.step[0];
      if (to == 1 && from == 0 && next == 1 && step == 1) {  // multiplies nothing for an address
        for (int64_t i = 0; i < n; ++i) out[i] = in[index[i]];
        continue;
      }
      for (int64_t i = 0; i < n; ++i) out[i * to] = in[i * from + index[i * next] * step];
    } else {
      for (int64_t i = 0; i < n; ++i) out[i * to] = table[row.find(i)];
    }
  }
}

template <class T, ScatterMode mode>
void scatter(const IndexedArgs& args) {
  const int64_t n = args.shape[0], rows = args.numel / n;
  const int64_t from = args.values_strides[0], to = args.table_strides[0];
  T* const table = static_cast<T*>(args.table);
  const bool even = is_even(args), one = args.indices == 1;
  Rows row(args);
  for (int64_t r = 0; r < rows; ++r, row.next()) {
    const T* const in = static_cast<const T*>(args.values) + row.value;
    if (even) {
      T* const out = table + row.find(0);
      if (to == 1 && from == 1) {
        // Values and table never share memory.
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) out[i] = body::combine(mode, out[i], in[i]);
      } else {
        for (int64_t i = 0; i < n; ++i)
          out[i * to] = body::combine(mode, out[i * to], in[i * from]);
      }
    } else if (one) {
      T* const out = table + row.element;
      const int64_t* const index = args.index[0] + row.at[0];
      const int64_t next = args.index_strides[0][0], step = args.step[0];
      for (int64_t i = 0; i < n; ++i) {
        T& place = out[i * to + index[i * next] * step];
        place = body::combine(mode, place, in[i * from]);
      }
    } else {
      for (int64_t i = 0; i < n; ++i) {
        T& place = table[row.find(i)];
        place = body::combine(mode, place, in[i * from]);
      }
    }
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
