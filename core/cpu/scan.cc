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

// Calls body(T{}, offset, columns) for blocks of lines that lie side by side, from their first
// element on.
template <class Body>
void each_block(const ScanArgs& args, const Body& body) {
  const Lines& lines = args.lines;
  const int64_t width = std::min(lines.inner, kColumns);
  const int64_t across = divide_up(lines.inner, width);
  const int64_t grain = std::max<int64_t>(kGrain / (width * lines.length), 1);
  visit_dtype(args.dtype, [&](auto type) {
    parallel_for(0, lines.outer * across, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % across * width;
        body(type, i / across * lines.length * lines.inner + first,
             std::min(width, lines.inner - first));
      }
    });
  });
}

template <class Join>
void run(const ScanArgs& args) {
  each_block(args, [&]<class T>(T, int64_t offset, int64_t columns) {
    T* const out = static_cast<T*>(args.output) + offset;
    const T* const in = static_cast<const T*>(args.input) + offset;
    if (args.lines.inner == 1)
      scan_line<Join>(out, in, args.lines.length);
    else
      scan_columns<Join>(out, in, args.lines.inner, args.lines.length, columns);
  });
}

// The extremes so far of `columns` lines that lie side by side, and where they are.
template <class Join, class T>
void pick_columns(T* out, int64_t* places, const T* in, int64_t stride, int64_t length,
                  int64_t columns) {
  using A = scalar::Accumulator<Compute<T>>;
  A running[kColumns];
  int64_t place[kColumns] = {};
  for (int64_t c = 0; c < columns; ++c) running[c] = Join::template identity<A>();
  for (int64_t r = 0; r < length; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const A value = static_cast<A>(static_cast<Compute<T>>(in[r * stride + c]));
      if (Join::takes(running[c], value)) {
        running[c] = value;
        place[c] = r;
      }
      out[r * stride + c] = static_cast<T>(static_cast<Compute<T>>(running[c]));
      places[r * stride + c] = place[c];
    }
  }
}

// The extremes so far of one line, and where they are, in registers.
template <class Join, class T>
void pick_line(T* out, int64_t* places, const T* in, int64_t length) {
  using A = scalar::Accumulator<Compute<T>>;
  A running = Join::template identity<A>();
  T extreme = T();
  int64_t place = 0;
  for (int64_t r = 0; r < length; ++r) {
    const A value = static_cast<A>(static_cast<Compute<T>>(in[r]));
    if (Join::takes(running, value)) {
      running = value;
      extreme = in[r];
      place = r;
    }
    out[r] = extreme;
    places[r] = place;
  }
}

template <class Join>
void run_pick(const ScanPickArgs& args) {
  each_block(args, [&]<class T>(T, int64_t offset, int64_t columns) {
    T* const out = static_cast<T*>(args.output) + offset;
    const T* const in = static_cast<const T*>(args.input) + offset;
    int64_t* const places = args.places + offset;
    if (args.lines.inner == 1)
      pick_line<Join>(out, places, in, args.lines.length);
    else
      pick_columns<Join>(out, places, in, args.lines.inner, args.lines.length, columns);
  });
}

}  // namespace

void register_scan() {
  cumsum_op.set_kernel(DeviceType::cpu, run<scalar::RunningSum>);
  cumprod_op.set_kernel(DeviceType::cpu, run<scalar::RunningProduct>);
  cummax_op.set_kernel(DeviceType::cpu, run_pick<scalar::RunningExtremum<true>>);
  cummin_op.set_kernel(DeviceType::cpu, run_pick<scalar::RunningExtremum<false>>);
  logcumsumexp_op.set_kernel(DeviceType::cpu, run<scalar::RunningLogSumExp>);
}

}  // namespace aorta::cpu
