// The packed matrix product: operands are laid out in panels, and a register tile runs over them.

#include <aorta/core/cpu/isa/gemm_tile.h>
#include <aorta/core/integers.h>

#include <cstring>

namespace aorta::cpu::AORTA_ISA {
namespace {

// ---- Packing. A word is 4 or 8 bytes: a number, or a pair of bf16.

template <class Word>
AORTA_INLINE Word load_word(const char* p) {
  Word word;
  std::memcpy(&word, p, sizeof(Word));
  return word;
}

AORTA_INLINE int64_t line_offset(const GemmPack& pack, int64_t i) {
  return pack.line_offsets ? pack.line_offsets[i] : i * pack.line_stride;
}
AORTA_INLINE const char* line_of(const GemmPack& pack, int64_t i) {
  return pack.source + line_offset(pack, i);
}
AORTA_INLINE const char* step_of(const GemmPack& pack, int64_t p) {
  return pack.source + (pack.k_offsets ? pack.k_offsets[p] : p * pack.k_stride);
}

// Lines are contiguous side by side: row by row, of a length that the compiler knows for whole
// panels.
template <class Word, int count>
void pack_whole_rows(const GemmPack& pack) {
  Word* to = static_cast<Word*>(pack.packed);
  for (int64_t p = 0; p < pack.k; ++p, to += count) {
    const char* const ahead = step_of(pack, p + 8 < pack.k ? p + 8 : p);
    __builtin_prefetch(ahead);
    __builtin_prefetch(ahead + count * sizeof(Word) - 1);
    std::memcpy(to, step_of(pack, p), count * sizeof(Word));
  }
}

template <class Word>
void pack_rows(const GemmPack& pack) {
  const int64_t lines = pack.lines, padded = pack.padded;
  if (lines == 32) return pack_whole_rows<Word, 32>(pack);
  if (lines == 12 && padded == 12) return pack_whole_rows<Word, 12>(pack);
  Word* to = static_cast<Word*>(pack.packed);
  for (int64_t p = 0; p < pack.k; ++p, to += padded) {
    const char* const from = step_of(pack, p);
    for (int64_t i = 0; i < lines; ++i) to[i] = load_word<Word>(from + i * sizeof(Word));
    for (int64_t i = lines; i < padded; ++i) to[i] = 0;
  }
}

// Any strides, k steps [first, k).
template <class Word>
void pack_words(const GemmPack& pack, int64_t first) {
  Word* to = static_cast<Word*>(pack.packed) + first * pack.padded;
  for (int64_t p = first; p < pack.k; ++p, to += pack.padded) {
    const char* const from = step_of(pack, p);
    for (int64_t i = 0; i < pack.lines; ++i) to[i] = load_word<Word>(from + line_offset(pack, i));
    for (int64_t i = pack.lines; i < pack.padded; ++i) to[i] = 0;
  }
}

AORTA_INLINE __m128 load4(const char* p) { return _mm_loadu_ps(reinterpret_cast<const float*>(p)); }

// Steps of which a panel's words stay in the first-level cache until all of its lines are there.
constexpr int64_t kPackSteps = 64;

// Lines are contiguous along k: 4 x 4 words at a time through registers.
void pack_lines4(const GemmPack& pack) {
  const int64_t lines = pack.lines, padded = pack.padded;
  const int64_t whole_k = pack.k & ~int64_t{3};
  float* const packed = static_cast<float*>(pack.packed);
  for (int64_t first = 0; first < whole_k; first += kPackSteps) {
    const int64_t end = whole_k - first < kPackSteps ? whole_k : first + kPackSteps;
    int64_t i = 0;
    for (; i + 4 <= lines; i += 4) {
      const char *l0 = line_of(pack, i), *l1 = line_of(pack, i + 1);
      const char *l2 = line_of(pack, i + 2), *l3 = line_of(pack, i + 3);
      float* to = packed + first * padded + i;
      for (int64_t p = first; p < end; p += 4, to += 4 * padded) {
        __m128 r0 = load4(l0 + 4 * p), r1 = load4(l1 + 4 * p);
        __m128 r2 = load4(l2 + 4 * p), r3 = load4(l3 + 4 * p);
        _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
        _mm_storeu_ps(to, r0);
        _mm_storeu_ps(to + padded, r1);
        _mm_storeu_ps(to + 2 * padded, r2);
        _mm_storeu_ps(to + 3 * padded, r3);
      }
    }
    if (i == padded) continue;
    for (int64_t p = first; p < end; ++p) {
      float* const to = packed + p * padded;
      for (int64_t j = i; j < lines; ++j) to[j] = load_word<float>(line_of(pack, j) + 4 * p);
      for (int64_t j = lines; j < padded; ++j) to[j] = 0;
    }
  }
  pack_words<uint32_t>(pack, whole_k);
}

template <class Word>
void pack_any(const GemmPack& pack) {
  constexpr int64_t item = sizeof(Word);
  if (!pack.line_offsets && pack.line_stride == item) return pack_rows<Word>(pack);
  if (item == 4 && !pack.k_offsets && pack.k_stride == item) return pack_lines4(pack);
  pack_words<Word>(pack, 0);
}

// Lines that are contiguous along k, cut into blocks. `Convert` makes the words of a piece.
template <class Word, class Convert>
void pack_blocks(const GemmPack& pack, int64_t words, const Convert& convert) {
  Word* const packed = static_cast<Word*>(pack.packed);
  for (int64_t i = 0; i < pack.lines; ++i) {
    const char* const line = line_of(pack, i);
    int64_t at = pack.first % kGemmSteps;
    Word* to = packed + ((pack.first - at) * pack.lines + i * kGemmSteps);
    for (int64_t p = 0; p < words;) {
      const int64_t room = kGemmSteps - at, rest = words - p;
      if (room == kGemmSteps && rest >= kGemmSteps) {
        convert(to, line, p, kGemmSteps);
        p += kGemmSteps;
      } else {
        const int64_t count = rest < room ? rest : room;
        convert(to + at, line, p, count);
        p += count;
      }
      to += pack.lines * kGemmSteps;
      at = 0;
    }
  }
}

struct CopyWords {
  template <class Word>
  AORTA_INLINE void operator()(Word* to, const char* line, int64_t first, int64_t count) const {
    const char* const from = line + first * sizeof(Word);
    if (count == kGemmSteps) {
      std::memcpy(to, from, kGemmSteps * sizeof(Word));
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = load_word<Word>(from + i * sizeof(Word));
    }
  }
};

// The last of an odd number of bf16 is a pair with 0.
struct CopyPairs {
  int64_t size;
  AORTA_INLINE void operator()(uint32_t* to, const char* line, int64_t first, int64_t count) const {
    const bool odd = 2 * (first + count) > size;
    CopyWords()(to, line, first, count - odd);
    if (odd) to[count - 1] = load_word<uint16_t>(line + 2 * (size - 1));
  }
};

template <class H>
struct Widen {
  AORTA_INLINE void operator()(float* to, const char* line, int64_t first, int64_t count) const {
    const H* const from = reinterpret_cast<const H*>(line) + first;
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
};

void pack_blocked(const GemmPack& pack) {
  if (pack.kind == GemmKind::bf16)
    return pack_blocks<uint32_t>(pack, (pack.k + 1) / 2, CopyPairs{pack.k});
  if (pack.dtype == DType::f16) return pack_blocks<float>(pack, pack.k, Widen<Half>());
  if (pack.dtype == DType::bf16) return pack_blocks<float>(pack, pack.k, Widen<BFloat16>());
  if (pack.dtype == DType::f64) return pack_blocks<uint64_t>(pack, pack.k, CopyWords());
  pack_blocks<uint32_t>(pack, pack.k, CopyWords());
}

// Half types as f32: each number is converted on its way, in the order of memory.
template <class T>
void pack_half(const GemmPack& pack) {
  float* const packed = static_cast<float*>(pack.packed);
  if (pack.k_offsets || pack.k_stride != sizeof(T)) {
    const bool side_by_side = !pack.line_offsets && pack.line_stride == sizeof(T);
    for (int64_t p = 0; p < pack.k; ++p) {
      float* const to = packed + p * pack.padded;
      const char* const from = step_of(pack, p);
      if (side_by_side) {
        for (int64_t i = 0; i < pack.lines; ++i) to[i] = reinterpret_cast<const T*>(from)[i];
      } else {
        for (int64_t i = 0; i < pack.lines; ++i)
          to[i] = *reinterpret_cast<const T*>(from + line_offset(pack, i));
      }
      for (int64_t i = pack.lines; i < pack.padded; ++i) to[i] = 0;
    }
    return;
  }
  constexpr int64_t kStep = 64;
  alignas(64) float lines[32 * kStep];
  for (int64_t p = 0; p < pack.k; p += kStep) {
    const int64_t steps = pack.k - p < kStep ? pack.k - p : kStep;
    for (int64_t i = 0; i < pack.lines; ++i) {
      const T* const from = reinterpret_cast<const T*>(line_of(pack, i)) + p;
      for (int64_t j = 0; j < steps; ++j) lines[i * kStep + j] = from[j];
    }
    GemmPack part = pack;
    part.source = reinterpret_cast<const char*>(lines);
    part.line_offsets = nullptr;
    part.line_stride = kStep * 4;
    part.k_stride = 4;
    part.k = steps;
    part.packed = packed + p * pack.padded;
    pack_lines4(part);
  }
}

AORTA_INLINE uint32_t pair_of(uint16_t low, uint16_t high) {
  return static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16;
}

// Pairs of lines that are contiguous side by side, `pairs` steps of them; for whole panels their
// number is `count`.
template <int count>
void pack_pair_rows(const GemmPack& pack, int64_t pairs, uint32_t* to) {
  const int64_t lines = count > 0 ? count : pack.lines, padded = count > 0 ? count : pack.padded;
  for (int64_t p = 0; p < pairs; ++p, to += padded) {
    const auto* const low = reinterpret_cast<const uint16_t*>(step_of(pack, 2 * p));
    const auto* const high = reinterpret_cast<const uint16_t*>(step_of(pack, 2 * p + 1));
    for (int64_t i = 0; i < lines; ++i) to[i] = pair_of(low[i], high[i]);
    for (int64_t i = lines; i < padded; ++i) to[i] = 0;
  }
}

// Pairs of bf16 from any layout; `pack.k` counts bf16 numbers.
void pack_pairs(const GemmPack& pack) {
  const int64_t pairs = pack.k / 2;
  uint32_t* to = static_cast<uint32_t*>(pack.packed);
  if (!pack.k_offsets && pack.k_stride == 2) {
    GemmPack words = pack;
    words.k = pairs;
    words.k_stride = 4;
    pack_lines4(words);
    to += pairs * pack.padded;
  } else if (!pack.line_offsets && pack.line_stride == 2) {
    if (pack.lines == 32 && pack.padded == 32)
      pack_pair_rows<32>(pack, pairs, to);
    else if (pack.lines == 12 && pack.padded == 12)
      pack_pair_rows<12>(pack, pairs, to);
    else
      pack_pair_rows<0>(pack, pairs, to);
    to += pairs * pack.padded;
  } else {
    for (int64_t p = 0; p < pairs; ++p, to += pack.padded) {
      const char* const low = step_of(pack, 2 * p);
      const char* const high = step_of(pack, 2 * p + 1);
      for (int64_t i = 0; i < pack.lines; ++i) {
        const int64_t line = line_offset(pack, i);
        to[i] = pair_of(load_word<uint16_t>(low + line), load_word<uint16_t>(high + line));
      }
      for (int64_t i = pack.lines; i < pack.padded; ++i) to[i] = 0;
    }
  }
  if (pack.k % 2 == 0) return;
  const char* const last = step_of(pack, pack.k - 1);
  for (int64_t i = 0; i < pack.lines; ++i) to[i] = load_word<uint16_t>(last + line_offset(pack, i));
  for (int64_t i = pack.lines; i < pack.padded; ++i) to[i] = 0;
}

// ---- Multiplying.

template <class K, int rows, int vectors, bool partial, bool blocked>
void packed_tile(const GemmRun* runs, int64_t run_count, const typename K::Element* a,
                 const typename K::Element* b, typename K::Number* c, int64_t ldc, int last,
                 typename K::Number alpha, bool accumulate) {
  constexpr int64_t a_row = blocked ? kGemmSteps : 1, a_column = blocked ? 1 : rows;
  multiply_tile<K, rows, vectors, partial, false, blocked>(
      runs, run_count, a, a_row, a_column, b, vectors * K::kLanes, c, ldc, last, alpha, accumulate);
}

template <class K>
using TileFunction = decltype(&packed_tile<K, 1, 1, false, false>);

template <class K>
struct TileTable {
  TileFunction<K> tiles[2][kTileRows][2][2];  // [blocked][rows - 1][vectors - 1][partial]
};

template <class K, bool blocked, int rows = 1>
constexpr void fill_tiles(TileTable<K>& table) {
  auto& tiles = table.tiles[blocked][rows - 1];
  tiles[0][0] = packed_tile<K, rows, 1, false, blocked>;
  tiles[0][1] = packed_tile<K, rows, 1, true, blocked>;
  tiles[1][0] = packed_tile<K, rows, 2, false, blocked>;
  tiles[1][1] = packed_tile<K, rows, 2, true, blocked>;
  if constexpr (rows < kTileRows) fill_tiles<K, blocked, rows + 1>(table);
}

template <class K>
constexpr TileTable<K> make_tiles() {
  TileTable<K> table{};
  fill_tiles<K, false>(table);
  fill_tiles<K, true>(table);
  return table;
}

template <class K>
constexpr TileTable<K> kTiles = make_tiles<K>();

// A panel of a stays in the first-level cache while the panels of b come from the second.
template <class K>
void multiply_block(const GemmBlock& block) {
  using Element = typename K::Element;
  using Number = typename K::Number;
  constexpr int64_t lanes = K::kLanes, width = 2 * lanes;
  const Number alpha = static_cast<Number>(block.alpha);
  const int64_t a_depth = block.blocked ? round_up(block.k, kGemmSteps) : block.k;
  for (int64_t i = 0; i < block.m; i += kTileRows) {
    const int64_t rows = block.m - i < kTileRows ? block.m - i : kTileRows;
    const Element* const a = static_cast<const Element*>(block.a) + i * a_depth;
    Number* const c = static_cast<Number*>(block.c) + i * block.ldc;
    for (int64_t j = 0; j < block.n; j += width) {
      const int64_t columns = block.n - j < width ? block.n - j : width;
      const int64_t vectors = columns > lanes ? 2 : 1;
      const bool partial = columns < vectors * lanes;
      const Element* const b = static_cast<const Element*>(block.b) + j * block.b_depth;
      const TileFunction<K> tile = kTiles<K>.tiles[block.blocked][rows - 1][vectors - 1][partial];
      const int last = static_cast<int>(columns - (vectors - 1) * lanes);
      if (!block.separate_runs) {
        tile(block.runs, block.run_count, a, b, c + j, block.ldc, last, alpha, block.accumulate);
        continue;
      }
      Number sums[kTileRows * width];
      Number* const to = block.accumulate ? sums : c + j;
      const int64_t stride = block.accumulate ? width : block.ldc;
      int64_t done = 0;
      for (int64_t run = 0; run < block.run_count; ++run) {
        tile(block.runs + run, 1, a + done * rows, b, to, stride, last, alpha, run > 0);
        done += block.runs[run].k;
      }
      if (!block.accumulate) continue;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t k = 0; k < columns; ++k) c[row * block.ldc + j + k] += sums[row * width + k];
      }
    }
  }
}

template <class K>
constexpr GemmTile tile_of() {
  return {kTileRows, 2 * K::kLanes, static_cast<int>(sizeof(typename K::Element))};
}

GemmTile gemm_tile(GemmKind kind) {
  return kind == GemmKind::f64 ? tile_of<F64>() : tile_of<F32>();
}

void gemm_pack(const GemmPack& pack) {
  if (pack.blocked) return pack_blocked(pack);
  if (pack.kind == GemmKind::bf16) return pack_pairs(pack);
  switch (pack.dtype) {
    case DType::f16:
      return pack_half<Half>(pack);
    case DType::bf16:
      return pack_half<BFloat16>(pack);
    case DType::f64:
      return pack_any<uint64_t>(pack);
    default:
      return pack_any<uint32_t>(pack);
  }
}

void gemm_block(const GemmBlock& block) {
  if (block.kind == GemmKind::f64) return multiply_block<F64>(block);
#ifdef __AVX512F__
  if (block.kind == GemmKind::bf16) return multiply_block<Bf16>(block);
#endif
  multiply_block<F32>(block);
}

}  // namespace

const GemmLoops gemm_loops = {gemm_tile,   gemm_pack, gemm_block,
                              gemm_direct, gemm_dots, gemm_pair_dots};

}  // namespace aorta::cpu::AORTA_ISA
