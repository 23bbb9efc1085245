#include <aorta/core/cpu/isa/row.h>
#include <aorta/core/scalar/convert.h>

#include <immintrin.h>

#include <cstring>

namespace aorta::cpu::AORTA_ISA {
namespace {

template <class To, class From>
void convert(void* destination, const void* source, int64_t n) {
  char* const out = static_cast<char*>(destination);
  const char* const in = static_cast<const char*>(source);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) store(out, i, scalar::convert_value<To>(load<From>(in, i)));
}

#ifdef __F16C__
// The hardware's conversions, eight at a time: the same bits as half.h, several times as fast.
template <>
void convert<float, Half>(void* destination, const void* source, int64_t n) {
  float* const out = static_cast<float*>(destination);
  const Half* const in = static_cast<const Half*>(source);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(bits));
  }
  for (; i < n; ++i) out[i] = in[i];
}

template <>
void convert<Half, float>(void* destination, const void* source, int64_t n) {
  Half* const out = static_cast<Half*>(destination);
  const float* const in = static_cast<const float*>(source);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), bits);
  }
  for (; i < n; ++i) out[i] = Half(in[i]);
}
#endif

struct ConverterTable {
  ConvertFunction functions[kDTypeCount * kDTypeCount];
};

template <class To>
constexpr void fill_converters(ConvertFunction* row) {
  row[static_cast<int>(DType::f32)] = convert<To, float>;
  row[static_cast<int>(DType::f64)] = convert<To, double>;
  row[static_cast<int>(DType::f16)] = convert<To, Half>;
  row[static_cast<int>(DType::bf16)] = convert<To, BFloat16>;
  row[static_cast<int>(DType::i64)] = convert<To, int64_t>;
  row[static_cast<int>(DType::i32)] = convert<To, int32_t>;
  row[static_cast<int>(DType::u8)] = convert<To, uint8_t>;
  row[static_cast<int>(DType::boolean)] = convert<To, bool>;
}

constexpr ConverterTable make_converters() {
  ConverterTable table{};
  const auto row = [&](DType to) { return table.functions + kDTypeCount * static_cast<int>(to); };
  fill_converters<float>(row(DType::f32));
  fill_converters<double>(row(DType::f64));
  fill_converters<Half>(row(DType::f16));
  fill_converters<BFloat16>(row(DType::bf16));
  fill_converters<int64_t>(row(DType::i64));
  fill_converters<int32_t>(row(DType::i32));
  fill_converters<uint8_t>(row(DType::u8));
  fill_converters<bool>(row(DType::boolean));
  return table;
}

constexpr ConverterTable kConverters = make_converters();

// Transposes K x K elements, a vector of 16 bytes a row: interleaving row i with row i + K/2 moves
// one bit of the row number into the column number, so log2(K) rounds swap them.
template <class Item>
AORTA_INLINE void transpose_block(char* destination, int64_t destination_stride, const char* source,
                                  int64_t source_stride) {
  constexpr int K = 16 / sizeof(Item);
  typedef Item Row __attribute__((vector_size(16)));
  Row low{}, high{};
  for (int i = 0; i < K / 2; ++i) {
    low[2 * i] = static_cast<Item>(i);
    low[2 * i + 1] = static_cast<Item>(K + i);
    high[2 * i] = static_cast<Item>(K / 2 + i);
    high[2 * i + 1] = static_cast<Item>(K + K / 2 + i);
  }
  Row rows[K], next[K];
#pragma GCC unroll 16
  for (int i = 0; i < K; ++i) std::memcpy(&rows[i], source + i * source_stride, 16);
#pragma GCC unroll 4
  for (int round = 1; round < K; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < K / 2; ++i) {
      next[2 * i] = __builtin_shuffle(rows[i], rows[i + K / 2], low);
      next[2 * i + 1] = __builtin_shuffle(rows[i], rows[i + K / 2], high);
    }
#pragma GCC unroll 16
    for (int i = 0; i < K; ++i) rows[i] = next[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < K; ++i) std::memcpy(destination + i * destination_stride, &rows[i], 16);
}

// The source is contiguous along rows, the destination along columns.
template <class Item>
void transpose_tile(char* destination, int64_t row_stride, const char* source,
                    int64_t source_column_stride, int64_t rows, int64_t columns) {
  constexpr int64_t item = sizeof(Item), K = 16 / item;
  const int64_t whole_rows = rows / K * K, whole_columns = columns / K * K;
  for (int64_t c = 0; c < whole_columns; c += K) {
    for (int64_t r = 0; r < whole_rows; r += K) {
      transpose_block<Item>(destination + r * row_stride + c * item, row_stride,
                            source + c * source_column_stride + r * item, source_column_stride);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      *reinterpret_cast<Item*>(destination + r * row_stride + c * item) =
          *reinterpret_cast<const Item*>(source + c * source_column_stride + r * item);
    }
  }
}

// The inner loop runs where the source is contiguous when it can: scattered stores wait for
// nothing, scattered loads do.
template <class Item>
void copy_tile(char* destination, int64_t row_stride, int64_t column_stride, const char* source,
               int64_t source_row_stride, int64_t source_column_stride, int64_t rows,
               int64_t columns) {
  constexpr int64_t item = sizeof(Item);
  if (column_stride == item && source_column_stride == item) {
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(destination + r * row_stride, source + r * source_row_stride,
                  static_cast<size_t>(columns * item));
    }
    return;
  }
  const auto move = [](char* to, const char* from) {
    *reinterpret_cast<Item*>(to) = *reinterpret_cast<const Item*>(from);
  };
  if (column_stride == item && source_column_stride == 0) {
    for (int64_t r = 0; r < rows; ++r) {
      Item* const out = reinterpret_cast<Item*>(destination + r * row_stride);
      const Item value = *reinterpret_cast<const Item*>(source + r * source_row_stride);
      for (int64_t c = 0; c < columns; ++c) out[c] = value;
    }
    return;
  }
  if (source_row_stride == item && column_stride == item) {
    return transpose_tile<Item>(destination, row_stride, source, source_column_stride, rows,
                                columns);
  }
  if (rows > columns) {
    for (int64_t c = 0; c < columns; ++c) {
      char* const to = destination + c * column_stride;
      const char* const from = source + c * source_column_stride;
#pragma GCC ivdep
      for (int64_t r = 0; r < rows; ++r) move(to + r * row_stride, from + r * source_row_stride);
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    char* const to = destination + r * row_stride;
    const char* const from = source + r * source_row_stride;
#pragma GCC ivdep
    for (int64_t c = 0; c < columns; ++c)
      move(to + c * column_stride, from + c * source_column_stride);
  }
}

constexpr TileFunction kTileCopies[] = {copy_tile<uint8_t>, copy_tile<uint16_t>,
                                        copy_tile<uint32_t>, copy_tile<uint64_t>};

template <class Item>
void reverse(char* destination, const char* source, int64_t count) {
  Item* const out = reinterpret_cast<Item*>(destination);
  const Item* const in = reinterpret_cast<const Item*>(source);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) out[i] = in[count - 1 - i];
}

void reverse_copy(char* destination, const char* source, int64_t count, int64_t item_size) {
  switch (item_size) {
    case 1:
      return reverse<uint8_t>(destination, source, count);
    case 2:
      return reverse<uint16_t>(destination, source, count);
    case 4:
      return reverse<uint32_t>(destination, source, count);
    default:
      return reverse<uint64_t>(destination, source, count);
  }
}

void stream_copy(char* destination, const char* source, int64_t bytes) {
  const int64_t head = -reinterpret_cast<intptr_t>(destination) & 63;
  if (head >= bytes) {
    std::memcpy(destination, source, static_cast<size_t>(bytes));
    return;
  }
  if (head > 0) std::memcpy(destination, source, static_cast<size_t>(head));
  int64_t i = head;
#ifdef __AVX512F__
  for (; i + 64 <= bytes; i += 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(destination + i),
                        _mm512_loadu_si512(source + i));
  }
#else
  for (; i + 16 <= bytes; i += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(destination + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i)));
  }
#endif
  if (i < bytes) std::memcpy(destination + i, source + i, static_cast<size_t>(bytes - i));
}

}  // namespace

const CopyLoops copy_loops = {kConverters.functions, kTileCopies, stream_copy, reverse_copy};

}  // namespace aorta::cpu::AORTA_ISA
