#include <aorta/core/body/ctc_loss.h>
#include <aorta/core/ops/ctc_loss.h>
#include <aorta/core/parallel_for.h>

namespace aorta::cpu {
namespace {

using body::CtcArgs;
using body::CtcSample;

void ctc_loss_kernel(const CtcArgs& args) {
  visit_floating(args.dtype, [&](auto type) {
    using Sample = CtcSample<decltype(type)>;
    parallel_for(0, args.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const Sample sample(args, n);
        for (int64_t t = 0; t < sample.steps; ++t)
          for (int64_t s = 0; s < sample.states; ++s) sample.forward(t, s);
        static_cast<typename Sample::C*>(args.losses)[n] = sample.loss();
      }
    });
  });
}

template <class T>
void backward_of_sample(const CtcArgs& args, int64_t n) {
  const CtcSample<T> sample(args, n);
  using C = typename CtcSample<T>::C;
  const C loss = static_cast<const C*>(args.losses)[n];
  const C g = static_cast<const C*>(args.gradient)[n];
  const bool none = args.zero_infinity && loss == scalar::kInfinity<C>;
  T* const output = static_cast<T*>(args.output) + n * args.classes;
  C* const rows = static_cast<C*>(args.beta) + 2 * n * sample.width;
  for (int64_t s = 0; s < sample.states; ++s) sample.link(s);
  for (int64_t t = args.steps; t-- > 0;) {
    T* const row = output + t * sample.stride;
    if (none || t >= sample.steps) {
      for (int64_t c = 0; c < sample.classes; ++c) row[c] = scalar::convert_value<T>(C(0));
      continue;
    }
    C* const beta = rows + t % 2 * sample.width;
    const C* const behind = rows + (t + 1) % 2 * sample.width;
    for (int64_t s = 0; s < sample.states; ++s) beta[s] = sample.backward(t, s, behind);
    for (int64_t c = 0; c < sample.classes; ++c)
      row[c] = scalar::convert_value<T>(sample.gradient_elsewhere(t, c, loss) * g);
    for (int64_t s = 0; s < sample.states; ++s) {
      if (!sample.is_first(s)) continue;
      row[sample.label(s)] = scalar::convert_value<T>(sample.gradient(t, s, beta, loss) * g);
    }
  }
}

void ctc_loss_backward_kernel(const CtcArgs& args) {
  visit_floating(args.dtype, [&](auto type) {
    parallel_for(0, args.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) backward_of_sample<decltype(type)>(args, n);
    });
  });
}

}  // namespace

void register_ctc_loss() {
  ctc_loss_op.set_kernel(DeviceType::cpu, ctc_loss_kernel);
  ctc_loss_backward_op.set_kernel(DeviceType::cpu, ctc_loss_backward_kernel);
}

}  // namespace aorta::cpu
