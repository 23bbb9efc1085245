#pragma once

// What follows the products of a recurrent cell, element by element: gates are activated ones but
// where it says otherwise.

#include <aorta/core/scalar/math.h>

namespace aorta::scalar {

/// The cell of an LSTM after a step, from its gates i, f, g and the cell before.
template <class C>
AORTA_INLINE C lstm_next_cell(C i, C f, C g, C cell) {
  return f * cell + i * g;
}
/// Its hidden state, from the gate o and the cell after the step.
template <class C>
AORTA_INLINE C lstm_next_hidden(C o, C next_cell) {
  return o * tanh(next_cell);
}

/// The gates of an LSTM after their activation.
template <class C>
struct LstmGates {
  C i, f, g, o;
};
/// Gradients of the gates before their activation, and of the cell before the step.
template <class C>
struct LstmSlopes {
  C i, f, g, o, cell;
};
/// With t = tanh(c'): dc' += dh' o (1 - t^2); di = dc' g, df = dc' c, dg = dc' i, do = dh' t, each
/// times its gate's slope; dc = dc' f.
template <class C>
AORTA_INLINE LstmSlopes<C> lstm_slopes(LstmGates<C> gates, C cell, C next_cell, C hidden_gradient,
                                       C cell_gradient) {
  const C i = gates.i, f = gates.f, g = gates.g, o = gates.o;
  const C t = tanh(next_cell);
  const C total = cell_gradient + hidden_gradient * o * (C(1) - t * t);
  return {total * g * (i * (C(1) - i)), total * cell * (f * (C(1) - f)), total * i * (C(1) - g * g),
          hidden_gradient * t * (o * (C(1) - o)), total * f};
}

/// The state of a GRU after a step, from its gates z, n and the state before.
template <class C>
AORTA_INLINE C gru_next_state(C z, C n, C state) {
  return n + z * (state - n);
}

/// Gradients of the gates before their activation, of the hidden state's part of n, and of the
/// state before the step, not counting its gates.
template <class C>
struct GruSlopes {
  C r, z, n, hidden_n, state;
};
/// With N the hidden state's part of n: dn = dh' (1 - z) (1 - n^2), dz = dh' (h - n) z (1 - z),
/// dr = dn N r (1 - r), dN = dn r, dh = dh' z.
template <class C>
AORTA_INLINE GruSlopes<C> gru_slopes(C r, C z, C n, C hidden_n, C state, C gradient) {
  const C of_n = gradient * (C(1) - z) * (C(1) - n * n);
  return {of_n * hidden_n * (r * (C(1) - r)), gradient * (state - n) * (z * (C(1) - z)), of_n,
          of_n * r, gradient * z};
}

}  // namespace aorta::scalar
