// What follows the products of recurrent cells, an element of the state a thread.
#include <aorta/core/ops/recurrent.h>
#include <aorta/core/scalar/recurrent.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {
namespace {

using body::GruArgs;
using body::GruBackwardArgs;
using body::LstmArgs;
using body::LstmBackwardArgs;

/// Element i of tensors of a dtype, computed in C.
template <class C>
struct Elements {
  DType dtype;
  __device__ __forceinline__ C operator()(const void* data, int64_t i) const {
    return load<C>(static_cast<const char*>(data) + i * item_size(dtype), dtype);
  }
  __device__ __forceinline__ void write(void* data, int64_t i, C value) const {
    store(static_cast<char*>(data) + i * item_size(dtype), dtype, value);
  }
};

/// Where element i of the state (N, H) has its first of `gates` gates; the next are H further.
__device__ __forceinline__ int64_t first_gate(int64_t i, int64_t hidden, int gates) {
  return i / hidden * gates * hidden + i % hidden;
}

template <class C>
struct LstmBody {
  LstmArgs args;
  __device__ __forceinline__ void operator()(int64_t at) const {
    const Elements<C> element{args.dtype};
    const int64_t gate = first_gate(at, args.hidden, 4);
    C gates[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int64_t place = gate + k * args.hidden;
      const C sum = element(args.input_gates, place) + element(args.hidden_gates, place);
      gates[k] = k == 2 ? scalar::tanh(sum) : scalar::sigmoid(sum);
      if (args.gates) element.write(args.gates, place, gates[k]);
    }
    const C cell = scalar::lstm_next_cell(gates[0], gates[1], gates[2], element(args.cell, at));
    element.write(args.next_cell, at, cell);
    element.write(args.next_hidden, at, scalar::lstm_next_hidden(gates[3], cell));
  }
};

template <class C>
struct LstmBackwardBody {
  LstmBackwardArgs args;
  __device__ __forceinline__ void operator()(int64_t at) const {
    const Elements<C> element{args.dtype};
    const int64_t h = args.hidden, gate = first_gate(at, h, 4);
    const scalar::LstmGates<C> gates{element(args.gates, gate), element(args.gates, gate + h),
                                     element(args.gates, gate + 2 * h),
                                     element(args.gates, gate + 3 * h)};
    const scalar::LstmSlopes<C> slopes =
        scalar::lstm_slopes<C>(gates, element(args.cell, at), element(args.next_cell, at),
                               element(args.hidden_gradient, at), element(args.cell_gradient, at));
    element.write(args.gates_gradient, gate, slopes.i);
    element.write(args.gates_gradient, gate + h, slopes.f);
    element.write(args.gates_gradient, gate + 2 * h, slopes.g);
    element.write(args.gates_gradient, gate + 3 * h, slopes.o);
    element.write(args.previous_gradient, at, slopes.cell);
  }
};

template <class C>
struct GruBody {
  GruArgs args;
  __device__ __forceinline__ void operator()(int64_t at) const {
    const Elements<C> element{args.dtype};
    const int64_t h = args.hidden, gate = first_gate(at, h, 3);
    const C r = scalar::sigmoid(element(args.input_gates, gate) + element(args.hidden_gates, gate));
    const C z =
        scalar::sigmoid(element(args.input_gates, gate + h) + element(args.hidden_gates, gate + h));
    const C n = scalar::tanh(element(args.input_gates, gate + 2 * h) +
                             r * element(args.hidden_gates, gate + 2 * h));
    if (args.gates) {
      element.write(args.gates, gate, r);
      element.write(args.gates, gate + h, z);
      element.write(args.gates, gate + 2 * h, n);
    }
    element.write(args.next_state, at, scalar::gru_next_state(z, n, element(args.state, at)));
  }
};

template <class C>
struct GruBackwardBody {
  GruBackwardArgs args;
  __device__ __forceinline__ void operator()(int64_t at) const {
    const Elements<C> element{args.dtype};
    const int64_t h = args.hidden, gate = first_gate(at, h, 3);
    const scalar::GruSlopes<C> slopes = scalar::gru_slopes(
        element(args.gates, gate), element(args.gates, gate + h), element(args.gates, gate + 2 * h),
        element(args.hidden_gates, gate + 2 * h), element(args.state, at),
        element(args.gradient, at));
    element.write(args.input_gradient, gate, slopes.r);
    element.write(args.input_gradient, gate + h, slopes.z);
    element.write(args.input_gradient, gate + 2 * h, slopes.n);
    element.write(args.hidden_gradient, gate, slopes.r);
    element.write(args.hidden_gradient, gate + h, slopes.z);
    element.write(args.hidden_gradient, gate + 2 * h, slopes.hidden_n);
    element.write(args.state_gradient, at, slopes.state);
  }
};

template <template <class> class Body, class Args>
void run_cell(const char* op, const Args& args, const void* output) {
  const int64_t count = args.batch * args.hidden;
  if (args.dtype == DType::f64) return for_each(op, output, count, Body<double>{args});
  for_each(op, output, count, Body<float>{args});
}

void run_lstm(const LstmArgs& args) { run_cell<LstmBody>("lstm_gates", args, args.next_cell); }
void run_lstm_backward(const LstmBackwardArgs& args) {
  run_cell<LstmBackwardBody>("lstm_gates_backward", args, args.gates_gradient);
}
void run_gru(const GruArgs& args) { run_cell<GruBody>("gru_gates", args, args.next_state); }
void run_gru_backward(const GruBackwardArgs& args) {
  run_cell<GruBackwardBody>("gru_gates_backward", args, args.input_gradient);
}

}  // namespace

void register_recurrent() {
  set_kernel<lstm_gates_op, run_lstm>();
  set_kernel<lstm_gates_backward_op, run_lstm_backward>();
  set_kernel<gru_gates_op, run_gru>();
  set_kernel<gru_gates_backward_op, run_gru_backward>();
}

}  // namespace aorta::cuda
