#include <aorta/core/cpu/compute.h>
#include <aorta/core/cpu/isa/half_row.h>
#include <aorta/core/cpu/recurrent.h>
#include <aorta/core/scalar/math.h>
#include <aorta/core/scalar/recurrent.h>

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
            cell.lane[l] = scalar::lstm_next_cell(gates[0].lane[l], gates[1].lane[l],
                                                  gates[2].lane[l], cell.lane[l]);
          }
          for (int l = 0; l < kLanes; ++l)
            hidden.lane[l] = scalar::lstm_next_hidden(gates[3].lane[l], cell.lane[l]);
          cell.store(args.next_cell, at, n);
          hidden.store(args.next_hidden, at, n);
        });
  }

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
            const scalar::LstmSlopes<C> slopes =
                scalar::lstm_slopes<C>({i.lane[l], f.lane[l], g.lane[l], o.lane[l]}, cell.lane[l],
                                       next.lane[l], dh.lane[l], dc.lane[l]);
            result[0].lane[l] = slopes.i;
            result[1].lane[l] = slopes.f;
            result[2].lane[l] = slopes.g;
            result[3].lane[l] = slopes.o;
            previous.lane[l] = slopes.cell;
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
          for (int l = 0; l < kLanes; ++l)
            state.lane[l] =
                scalar::gru_next_state(gates[1].lane[l], gates[2].lane[l], state.lane[l]);
          state.store(args.next_state, at, n);
        });
  }

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
            const scalar::GruSlopes<C> slopes = scalar::gru_slopes(
                r.lane[l], z.lane[l], fresh.lane[l], of_hidden.lane[l], state.lane[l], dh.lane[l]);
            candidate.lane[l] = slopes.n;
            hidden.lane[l] = slopes.hidden_n;
            reset.lane[l] = slopes.r;
            update.lane[l] = slopes.z;
            previous.lane[l] = slopes.state;
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
