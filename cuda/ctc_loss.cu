#include <aorta/core/body/ctc_loss.h>
#include <aorta/core/ops/ctc_loss.h>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {
namespace {

using body::CtcArgs;
using body::CtcSample;

/// A block a sample at a time, whose threads share the states of a step.
template <class T>
__global__ void __launch_bounds__(kThreads) ctc_loss_kernel(const __grid_constant__ CtcArgs args) {
  for (int64_t n = blockIdx.x; n < args.batch; n += gridDim.x) {
    const CtcSample<T> sample(args, n);
    for (int64_t t = 0; t < sample.steps; ++t) {
      for (int64_t s = threadIdx.x; s < sample.states; s += blockDim.x) sample.forward(t, s);
      __syncthreads();
    }
    if (threadIdx.x == 0) static_cast<typename CtcSample<T>::C*>(args.losses)[n] = sample.loss();
  }
}

/// Does the same backwards; then the threads share the classes, and the states that are their
/// class's first, each of which writes its class again.
template <class T>
__global__ void __launch_bounds__(kThreads)
    ctc_loss_backward_kernel(const __grid_constant__ CtcArgs args) {
  using C = typename CtcSample<T>::C;
  for (int64_t n = blockIdx.x; n < args.batch; n += gridDim.x) {
    const CtcSample<T> sample(args, n);
    const C loss = static_cast<const C*>(args.losses)[n];
    const C g = static_cast<const C*>(args.gradient)[n];
    const bool none = args.zero_infinity && loss == scalar::kInfinity<C>;
    T* const output = static_cast<T*>(args.output) + n * args.classes;
    C* const rows = static_cast<C*>(args.beta) + 2 * n * sample.width;
    for (int64_t s = threadIdx.x; s < sample.states; s += blockDim.x) sample.link(s);
    for (int64_t t = args.steps; t-- > 0;) {
      T* const row = output + t * sample.stride;
      const bool there = !none && t < sample.steps;
      C* const beta = rows + t % 2 * sample.width;
      const C* const behind = rows + (t + 1) % 2 * sample.width;
      for (int64_t s = threadIdx.x; there && s < sample.states; s += blockDim.x)
        beta[s] = sample.backward(t, s, behind);
      for (int64_t c = threadIdx.x; c < sample.classes; c += blockDim.x)
        row[c] = scalar::convert_value<T>(there ? sample.gradient_elsewhere(t, c, loss) * g : C(0));
      __syncthreads();
      for (int64_t s = threadIdx.x; there && s < sample.states; s += blockDim.x) {
        if (sample.is_first(s))
          row[sample.label(s)] = scalar::convert_value<T>(sample.gradient(t, s, beta, loss) * g);
      }
      // A row of beta is written again two steps later, behind the meeting of the step between.
    }
  }
}

void forward(const CtcArgs& args) {
  const LaunchSite site(args.losses);
  visit_floating(args.dtype, [&](auto type) {
    launch("ctc_loss", ctc_loss_kernel<decltype(type)>, grid_blocks(args.batch), kThreads,
           site.stream(), args);
  });
}

void backward(const CtcArgs& args) {
  const LaunchSite site(args.output);
  visit_floating(args.dtype, [&](auto type) {
    launch("ctc_loss_backward", ctc_loss_backward_kernel<decltype(type)>, grid_blocks(args.batch),
           kThreads, site.stream(), args);
  });
}

}  // namespace

void register_ctc_loss() {
  set_kernel<ctc_loss_op, forward>();
  set_kernel<ctc_loss_backward_op, backward>();
}

}  // namespace aorta::cuda
