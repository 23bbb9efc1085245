#pragma once

#include <aorta/core/cpu/isa.h>
#include <aorta/core/dtype.h>

namespace aorta::cpu {

/// The loops of one reducer in one compute type T. A tile is `rows` x `columns` elements of T,
/// contiguous along a row, rows `row_stride` bytes apart; its states are those of a vector of
/// results, initialised. `reducer` holds the parameters.
struct ReduceLoops {
  int64_t state_size;               // bytes of a State<T>
  DType value_dtype, second_dtype;  // of what finish() gives
  void (*init)(const void* reducer, char* states, int64_t n);
  /// Takes row r into states[r]; element (r, c) has position `position` + c.
  void (*rows)(const void* reducer, char* states, const char* tile, int64_t row_stride,
               int64_t rows, int64_t columns, int64_t position);
  /// Takes column c into states[c]; element (r, c) has position `position` + r.
  void (*columns)(const void* reducer, char* states, const char* tile, int64_t row_stride,
                  int64_t rows, int64_t columns, int64_t position);
  void (*combine)(const void* reducer, char* states, const char* others, int64_t n);
  /// Results of `n` states of `count` elements each; a null pointer isn't wanted.
  void (*finish)(const void* reducer, const char* states, int64_t n, int64_t count, char* values,
                 char* seconds);
};

/// The largest State<T>.
inline constexpr int64_t kMaxStateSize = 24;

// The table is [reducer in scalar::ReduceOps][compute dtype]; `rows` is null where the reducer
// doesn't take the dtype.
AORTA_EACH_ISA(const ReduceLoops* reduce_loops();)

}  // namespace aorta::cpu
