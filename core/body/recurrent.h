#pragma once

#include <aorta/core/dtype.h>

#include <cstdint>

namespace aorta::body {

/// What the kernels of recurrent cells get; everything is contiguous, of one floating dtype, and
/// not empty. H is `hidden`; gates lie side by side: (N, 4 H) as i, f, g, o of an LSTM, (N, 3 H) as
/// r, z, n of a GRU.
struct LstmArgs {
  int64_t batch = 0, hidden = 0;
  DType dtype = DType::f32;
  const void* input_gates = nullptr;   // (N, 4 H): of the input
  const void* hidden_gates = nullptr;  // (N, 4 H): of the hidden state
  const void* cell = nullptr;          // (N, H): c
  void* next_hidden = nullptr;         // (N, H): h'
  void* next_cell = nullptr;           // (N, H): c'
  void* gates = nullptr;               // (N, 4 H): activated; null when they aren't wanted
};
struct LstmBackwardArgs {
  int64_t batch = 0, hidden = 0;
  DType dtype = DType::f32;
  const void* hidden_gradient = nullptr;  // of h'
  const void* cell_gradient = nullptr;    // of c'
  const void* gates = nullptr;            // activated
  const void* cell = nullptr;             // c
  const void* next_cell = nullptr;        // c'
  void* gates_gradient = nullptr;         // (N, 4 H): of either half of the gates
  void* previous_gradient = nullptr;      // (N, H): of c
};
struct GruArgs {
  int64_t batch = 0, hidden = 0;
  DType dtype = DType::f32;
  const void* input_gates = nullptr;   // (N, 3 H)
  const void* hidden_gates = nullptr;  // (N, 3 H)
  const void* state = nullptr;         // (N, H): h
  void* next_state = nullptr;          // (N, H): h'
  void* gates = nullptr;               // (N, 3 H): activated; null when they aren't wanted
};
struct GruBackwardArgs {
  int64_t batch = 0, hidden = 0;
  DType dtype = DType::f32;
  const void* gradient = nullptr;      // of h'
  const void* gates = nullptr;         // activated
  const void* hidden_gates = nullptr;  // (N, 3 H)
  const void* state = nullptr;         // h
  void* input_gradient = nullptr;      // (N, 3 H)
  void* hidden_gradient = nullptr;     // (N, 3 H)
  void* state_gradient = nullptr;      // (N, H): of h, not counting its gates
};

}  // namespace aorta::body
