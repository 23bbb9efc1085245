#include <aorta/core/cpu/compute.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/scalar/scan.h>

#include <algorithm>

namespace aorta::cpu {
namespace {

constexpr int64_t kGrain = 32768;
constexpr int64_t kColumns = 64;

// The running values of one line, in a register.
template <class Join, class T>
void scan_line(T* out, const T* in, int64_t length) {
  using C = Compute<T>;
  using A = scalar::Accumulator<C>;
  const Join join;
  A running = Join::template identity<A>();
  for (int64_t r = 0; r < length; ++r) {
    running = join(running, static_cast<A>(static_cast<C>(in[r])));
    out[r] = static_cast<T>(static_cast<C>(running));
  }
}

// The running values of `columns` lines that lie side by side.
template <class Join, class T>
void scan_columns(T* out, const T* in, int64_t stride, int64_t length, int64_t columns) {
  using C = Compute<T>;
  using A = scalar::Accumulator<C>;
  const Join join;
  A running[kColumns];
  for (int64_t c = 0; c < columns; ++c) running[c] = Join::template identity<A>();
  for (int64_t r = 0; r < length; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      running[c] = join(running[c], static_cast<A>(static_cast<C>(in[r * stride + c])));
      out[r * stride + c] = static_cast<T>(static_cast<C>(running[c]));
    }
  }
}

template <class Join>
void run(const ScanArgs& args) {
  const Lines& lines = args.lines;
  const int64_t width = std::min(lines.inner, kColumns);
  const int64_t across = divide_up(lines.inner, width);
  const int64_t grain = std::max<int64_t>(kGrain / (width * lines.length), 1);
  visit_dtype(args.dtype, [&](auto type) {
    using T = decltype(type);
    parallel_for(0, lines.outer * across, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % across * width;
        const int64_t offset = i / across * lines.length * lines.inner + first;
        T* const out = static_cast<T*>(args.output) + offset;
        const T* const in = static_cast<const T*>(args.input) + offset;
        if (lines.inner == 1)
          scan_line<Join>(out, in, lines.length);
        else
          scan_columns<Join>(out, in, lines.inner, lines.length,
                             std::min(width, lines.inner - first));
      }
    });
  });
}

}  // namespace

void register_scan() {
  cumsum_op.set_kernel(DeviceType::cpu, run<scalar::RunningSum>);
  cumprod_op.set_kernel(DeviceType::cpu, run<scalar::RunningProduct>);
  cummax_op.set_kernel(DeviceType::cpu, run<scalar::RunningExtremum<true>>);
  cummin_op.set_kernel(DeviceType::cpu, run<scalar::RunningExtremum<false>>);
  logcumsumexp_op.set_kernel(DeviceType::cpu, run<scalar::RunningLogSumExp>);
}

}  // namespace aorta::cpu
