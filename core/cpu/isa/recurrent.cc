#include <aorta/core/cpu/compute.h>
#include <aorta/core/cpu/isa/half_row.h>
#include <aorta/core/cpu/recurrent.h>
#include <aorta/core/scalar/math.h>

#include <type_traits>

namespace aorta::cpu::AORTA_ISA {
namespace {

using body::GruArgs;
using body::GruBackwardArgs;
using body::LstmArgs;
using body::LstmBackwardArgs;

constexpr int kLanes = kHalfBlock;

template <class T>
struct Rows {
  using C = Compute<T>;
  static constexpr bool converts = !std::is_same_v<T, C>;

  // Up to kLanes neighbours; lanes beyond `count` are 0.
  struct Block {
    C lane[kLanes];

    AORTA_INLINE Block() {}
    AORTA_INLINE Block(const void* data, int64_t at, int count) {
      const T* const x = static_cast<const T*>(data) + at;
      if (count == kLanes) {
        if constexpr (converts) {
          widen(lane, x);
        } else {
          for (int l = 0; l < kLanes; ++l) lane[l] = x[l];
        }
        return;
      }
      for (int l = 0; l < kLanes; ++l) lane[l] = l < count ? static_cast<C>(x[l]) : C(0);
    }
    AORTA_INLINE void store(void* data, int64_t at, int count) const {
      T* const y = static_cast<T*>(data) + at;
      if (count == kLanes) {
        if constexpr (converts) {
          narrow(y, lane);
        } else {
          for (int l = 0; l < kLanes; ++l) y[l] = lane[l];
        }
        return;
      }
      for (int l = 0; l < count; ++l) y[l] = T(lane[l]);
    }
  };

  // Calls body(row * hidden, row * hidden + ..., count) block by block.
  template <class Args, class Body>
  AORTA_INLINE static void by_blocks(const Args& args, int64_t first, int64_t end,
                                     const Body& body) {
    for (int64_t row = first; row < end; ++row) {
      for (int64_t j = 0; j < args.hidden; j += kLanes) {
        const int64_t left = args.hidden - j;
        body(row, j, static_cast<int>(left < kLanes ? left : kLanes));
      }
    }
  }

  static void lstm(const LstmArgs& args, int64_t first, int64_t end) {
    const int64_t h = args.hidden;
    by_blocks(
        args, first, end, [&](int64_t row, int64_t j, int n) __attribute__((always_inline)) {
          const int64_t gate = row * 4 * h + j, at = row * h + j;
          Block gates[4];
          for (int k = 0; k < 4; ++k) {
            Block& sum = gates[k];
            sum = Block(args.input_gates, gate + k * h, n);
            const Block other(args.hidden_gates, gate + k * h, n);
            for (int l = 0; l < kLanes; ++l) sum.lane[l] += other.lane[l];
            if (k == 2) {
              for (int l = 0; l < kLanes; ++l) sum.lane[l] = scalar::tanh(sum.lane[l]);
            } else {
              for (int l = 0; l < kLanes; ++l) sum.lane[l] = scalar::sigmoid(sum.lane[l]);
            }
            if (args.gates) sum.store(args.gates, gate + k * h, n);
          }
          Block cell(args.cell, at, n), hidden;
          for (int l = 0; l < kLanes; ++l) {
            cell.lane[l] = gates[1].lane[l] * cell.lane[l] + gates[0].lane[l] * gates[2].lane[l];
          }
          for (int l = 0; l < kLanes; ++l)
            hidden.lane[l] = gates[3].lane[l] * scalar::tanh(cell.lane[l]);
          cell.store(args.next_cell, at, n);
          hidden.store(args.next_hidden, at, n);
        });
  }

  // With t = tanh(c'): dc' += dh' o (1 - t^2); di = dc' g, df = dc' c, dg = dc' i, do = dh' t, each
  // times its gate's slope; dc = dc' f.
  static void lstm_backward(const LstmBackwardArgs& args, int64_t first, int64_t end) {
    const int64_t h = args.hidden;
    by_blocks(
        args, first, end, [&](int64_t row, int64_t j, int n) __attribute__((always_inline)) {
          const int64_t gate = row * 4 * h + j, at = row * h + j;
          const Block i(args.gates, gate, n), f(args.gates, gate + h, n);
          const Block g(args.gates, gate + 2 * h, n), o(args.gates, gate + 3 * h, n);
          const Block dh(args.hidden_gradient, at, n), dc(args.cell_gradient, at, n);
          const Block cell(args.cell, at, n), next(args.next_cell, at, n);
          Block result[4], previous;
          for (int l = 0; l < kLanes; ++l) {
            const C t = scalar::tanh(next.lane[l]), out = o.lane[l];
            const C total = dc.lane[l] + dh.lane[l] * out * (C(1) - t * t);
            const C in = i.lane[l], keep = f.lane[l], add = g.lane[l];
            result[0].lane[l] = total * add * (in * (C(1) - in));
            result[1].lane[l] = total * cell.lane[l] * (keep * (C(1) - keep));
            result[2].lane[l] = total * in * (C(1) - add * add);
            result[3].lane[l] = dh.lane[l] * t * (out * (C(1) - out));
            previous.lane[l] = total * keep;
          }
          for (int k = 0; k < 4; ++k) result[k].store(args.gates_gradient, gate + k * h, n);
          previous.store(args.previous_gradient, at, n);
        });
  }

  static void gru(const GruArgs& args, int64_t first, int64_t end) {
    const int64_t h = args.hidden;
    by_blocks(
        args, first, end, [&](int64_t row, int64_t j, int n) __attribute__((always_inline)) {
          const int64_t gate = row * 3 * h + j, at = row * h + j;
          Block gates[3];
          for (int k = 0; k < 3; ++k) {
            Block& sum = gates[k];
            sum = Block(args.input_gates, gate + k * h, n);
            const Block other(args.hidden_gates, gate + k * h, n);
            if (k == 2) {
              for (int l = 0; l < kLanes; ++l)
                sum.lane[l] = scalar::tanh(sum.lane[l] + gates[0].lane[l] * other.lane[l]);
            } else {
              for (int l = 0; l < kLanes; ++l)
                sum.lane[l] = scalar::sigmoid(sum.lane[l] + other.lane[l]);
            }
            if (args.gates) sum.store(args.gates, gate + k * h, n);
          }
          Block state(args.state, at, n);
          for (int l = 0; l < kLanes; ++l) {
            const C fresh = gates[2].lane[l];
            state.lane[l] = fresh + gates[1].lane[l] * (state.lane[l] - fresh);
          }
          state.store(args.next_state, at, n);
        });
  }

  // With N the hidden state's part of n: dn = dh' (1 - z) (1 - n^2), dz = dh' (h - n) z (1 - z),
  // dr = dn N r (1 - r), dN = dn r, dh = dh' z.
  static void gru_backward(const GruBackwardArgs& args, int64_t first, int64_t end) {
    const int64_t h = args.hidden;
    by_blocks(
        args, first, end, [&](int64_t row, int64_t j, int n) __attribute__((always_inline)) {
          const int64_t gate = row * 3 * h + j, at = row * h + j;
          const Block r(args.gates, gate, n), z(args.gates, gate + h, n);
          const Block fresh(args.gates, gate + 2 * h, n);
          const Block of_hidden(args.hidden_gates, gate + 2 * h, n);
          const Block dh(args.gradient, at, n), state(args.state, at, n);
          Block reset, update, candidate, hidden, previous;
          for (int l = 0; l < kLanes; ++l) {
            const C m = fresh.lane[l], s = z.lane[l], k = r.lane[l], slope = dh.lane[l];
            const C of_candidate = slope * (C(1) - s) * (C(1) - m * m);
            candidate.lane[l] = of_candidate;
            hidden.lane[l] = of_candidate * k;
            reset.lane[l] = of_candidate * of_hidden.lane[l] * (k * (C(1) - k));
            update.lane[l] = slope * (state.lane[l] - m) * (s * (C(1) - s));
            previous.lane[l] = slope * s;
          }
          reset.store(args.input_gradient, gate, n);
          update.store(args.input_gradient, gate + h, n);
          candidate.store(args.input_gradient, gate + 2 * h, n);
          reset.store(args.hidden_gradient, gate, n);
          update.store(args.hidden_gradient, gate + h, n);
          hidden.store(args.hidden_gradient, gate + 2 * h, n);
          previous.store(args.state_gradient, at, n);
        });
  }

  static constexpr RecurrentRows rows{lstm, lstm_backward, gru, gru_backward};
};

}  // namespace

const RecurrentRows& recurrent_rows(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return Rows<double>::rows;
    case DType::f16:
      return Rows<Half>::rows;
    case DType::bf16:
      return Rows<BFloat16>::rows;
    default:
      return Rows<float>::rows;
  }
}

}  // namespace aorta::cpu::AORTA_ISA
