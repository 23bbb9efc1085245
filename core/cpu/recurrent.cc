#include <aorta/core/cpu/recurrent.h>

#include <aorta/core/ops/recurrent.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>

namespace aorta::cpu {
namespace {

// Elements of the state that are worth a thread of their own: five exponentials each.
constexpr int64_t kGrain = 2048;

template <class Args>
void run(const Args& args, void (*RecurrentRows::*rows)(const Args&, int64_t, int64_t)) {
  const auto function =
      for_isa(v2::recurrent_rows, v3::recurrent_rows, v4::recurrent_rows)(args.dtype).*rows;
  parallel_for(0, args.batch, std::max<int64_t>(kGrain / args.hidden, 1),
               [&](int64_t begin, int64_t end) { function(args, begin, end); });
}

}  // namespace

void register_recurrent() {
  lstm_gates_op.set_kernel(DeviceType::cpu,
                           [](const body::LstmArgs& args) { run(args, &RecurrentRows::lstm); });
  lstm_gates_backward_op.set_kernel(DeviceType::cpu, [](const body::LstmBackwardArgs& args) {
    run(args, &RecurrentRows::lstm_backward);
  });
  gru_gates_op.set_kernel(DeviceType::cpu,
                          [](const body::GruArgs& args) { run(args, &RecurrentRows::gru); });
  gru_gates_backward_op.set_kernel(DeviceType::cpu, [](const body::GruBackwardArgs& args) {
    run(args, &RecurrentRows::gru_backward);
  });
}

}  // namespace aorta::cpu
