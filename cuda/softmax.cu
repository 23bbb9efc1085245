// Softmax. A warp or a block takes a line of neighbours and keeps it in registers. Longer lines,
// and those whose elements lie apart, are read twice: for what is known of the line, and to write;
// where there are few of them, blocks share each. The gradients go the same ways.
#include <aorta/core/body/softmax.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/cuda/line_stats.cuh>
#include <aorta/cuda/normalization.cuh>

namespace aorta::cuda {
namespace {

template <class M>
struct SoftmaxLines {
  using C = ComputeType<M>;
  const M* input;
  M* output;
  Lines lines;
  bool log;

  static constexpr int kHeld = 1;  // arrays whose elements stay in registers
  template <int V>
  bool is_aligned() const {
    return is_vector_aligned<M, V>(input) && is_vector_aligned<M, V>(output);
  }
  __device__ __forceinline__ C scale(double sum) const {
    return log ? body::softmax_scale<true, C>(sum) : body::softmax_scale<false, C>(sum);
  }
  __device__ __forceinline__ C result(C part, C scale) const {
    return log ? body::softmax_result<true>(part, scale) : body::softmax_result<false>(part, scale);
  }
};

template <class M>
struct BackwardLines {
  using C = ComputeType<M>;
  const M *gradient, *output;
  M* input;
  Lines lines;
  bool log;

  static constexpr int kHeld = 2;
  template <int V>
  bool is_aligned() const {
    return is_vector_aligned<M, V>(gradient) && is_vector_aligned<M, V>(output) &&
           is_vector_aligned<M, V>(input);
  }
  __device__ __forceinline__ C term(C g, C y) const {
    return log ? body::softmax_term<true>(g, y) : body::softmax_term<false>(g, y);
  }
  __device__ __forceinline__ C result(C g, C y, C sum) const {
    return log ? body::softmax_gradient<true>(g, y, sum) : body::softmax_gradient<false>(g, y, sum);
  }
};

// ---- Lines of neighbours that fit into registers.

/// blockDim.x threads a line, blockDim.y lines a block; a thread has N blocks of W neighbours.
template <class M, int W, int N>
__global__ void __launch_bounds__(kThreads)
    softmax_rows_kernel(const __grid_constant__ SoftmaxLines<M> args) {
  using C = ComputeType<M>;
  AORTA_SHARED(C, shared_largest, [kThreads / 32]);
  AORTA_SHARED(double, shared_sum, [kThreads / 32]);
  const int length = static_cast<int>(args.lines.length);
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  // With several lines a block each is a warp's own, and warps needn't meet.
  for (int64_t line = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
       line < args.lines.outer; line += step) {
    const M* const input = args.input + line * length;
    C x[N][W];
    C largest = -scalar::kInfinity<C>;
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const int at = static_cast<int>(n * blockDim.x + threadIdx.x) * W;
      if (at < length) {
        read_block<M>(x[n], input + at, W, true);
      } else {
#pragma unroll
        for (int j = 0; j < W; ++j) x[n][j] = -scalar::kInfinity<C>;
      }
    }
#pragma unroll
    for (int n = 0; n < N; ++n) {
#pragma unroll
      for (int j = 0; j < W; ++j) largest = scalar::maximum(largest, x[n][j]);
    }
    largest = join_group(largest, shared_largest, [](C a, C b) { return scalar::maximum(a, b); });
    double sum = 0;
#pragma unroll
    for (int n = 0; n < N; ++n) {
      C part = 0;
#pragma unroll
      for (int j = 0; j < W; ++j) {
        const C power = body::softmax_power(x[n][j], largest);
        part += power;
        x[n][j] = args.log ? x[n][j] - largest : power;
      }
      sum += static_cast<double>(part);
    }
    const C scale = args.scale(add_group(sum, shared_sum));
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const int at = static_cast<int>(n * blockDim.x + threadIdx.x) * W;
      if (at >= length) continue;
#pragma unroll
      for (int j = 0; j < W; ++j) x[n][j] = args.result(x[n][j], scale);
      write_block<M>(args.output + line * length + at, x[n], W, true);
    }
  }
}

/// Does the same for the gradient.
template <class M, int W, int N>
__global__ void __launch_bounds__(kThreads)
    softmax_backward_rows_kernel(const __grid_constant__ BackwardLines<M> args) {
  using C = ComputeType<M>;
  AORTA_SHARED(double, shared_sum, [kThreads / 32]);
  const int length = static_cast<int>(args.lines.length);
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.y;
  for (int64_t line = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
       line < args.lines.outer; line += step) {
    C g[N][W], y[N][W];
    double sum = 0;
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const int at = static_cast<int>(n * blockDim.x + threadIdx.x) * W;
      const int there = at < length ? W : 0;
      read_block<M>(g[n], args.gradient + line * length + at, there, there > 0);
      read_block<M>(y[n], args.output + line * length + at, there, there > 0);
    }
#pragma unroll
    for (int n = 0; n < N; ++n) {
      C part = 0;
#pragma unroll
      for (int j = 0; j < W; ++j) part += args.term(g[n][j], y[n][j]);
      sum += static_cast<double>(part);
    }
    const C total = static_cast<C>(add_group(sum, shared_sum));
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const int at = static_cast<int>(n * blockDim.x + threadIdx.x) * W;
      if (at >= length) continue;
#pragma unroll
      for (int j = 0; j < W; ++j) g[n][j] = args.result(g[n][j], y[n][j], total);
      write_block<M>(args.input + line * length + at, g[n], W, true);
    }
  }
}

template <class M, int W, int N>
auto rows_kernel(const SoftmaxLines<M>&) {
  return softmax_rows_kernel<M, W, N>;
}
template <class M, int W, int N>
auto rows_kernel(const BackwardLines<M>&) {
  return softmax_backward_rows_kernel<M, W, N>;
}

/// Queues the kernel whose `threads` hold a line in the fewest registers, if there is one.
template <class M, int W, int N, class Args>
bool launch_rows(const char* op, const Args& args, unsigned threads, cudaStream_t stream) {
  constexpr int most = (std::is_same_v<M, double> ? 16 : 32) / Args::kHeld;  // places of a thread
  if (args.lines.length <= int64_t{threads} * W * N) {
    const dim3 block(threads, kThreads / threads);
    launch(op, rows_kernel<M, W, N>(args), grid_of(divide_up(args.lines.outer, block.y)), block,
           stream, args);
    return true;
  }
  if constexpr (2 * N * W <= most) return launch_rows<M, W, 2 * N>(op, args, threads, stream);
  return false;
}

template <class M, class Args>
bool run_rows(const char* op, const Args& args, cudaStream_t stream) {
  constexpr int V = kBlock<M>;
  const bool whole = args.lines.length % V == 0 && args.template is_aligned<V>();
  for (const unsigned threads : {32u, unsigned{kThreads}}) {
    if (whole ? launch_rows<M, V, 1>(op, args, threads, stream)
              : launch_rows<M, 1, 4>(op, args, threads, stream))
      return true;
  }
  return false;
}

// ---- All others.

/// `block` is threads over neighbouring lines times threads over their elements; a line is cut into
/// pieces, which depend on shapes alone.
struct LineTiles {
  dim3 block;
  int64_t tiles, piece, pieces;

  explicit LineTiles(const Lines& lines) {
    constexpr int64_t of_a_thread = 8, most_pieces = 64;
    const unsigned least = lanes_for(lines.inner, 32);
    block.y = lanes_for(divide_up(lines.length, of_a_thread), kThreads / least);
    block.x = lanes_for(lines.inner, kThreads / block.y);
    tiles = divide_up(lines.inner, block.x);
    const int64_t wanted = kBlocksWanted / (lines.outer * tiles);
    const int64_t most = divide_up(lines.length, 2 * of_a_thread * block.y);
    const int64_t parts = std::clamp<int64_t>(wanted, 1, std::min(most, most_pieces));
    piece = divide_up(lines.length, parts);
    pieces = divide_up(lines.length, piece);
  }
  int64_t items(const Lines& lines) const { return lines.outer * tiles * pieces; }
};

/// A thread's elements of a piece: from the first, `step` apart in a line.
template <class M>
struct ThreadPart {
  using C = ComputeType<M>;
  int64_t outer, piece, column, start, first, end, step;
  bool there;

  __device__ __forceinline__ ThreadPart(const Lines& lines, const LineTiles& tiles, int64_t item)
      : outer(item / tiles.pieces / tiles.tiles),
        piece(item % tiles.pieces),
        column(item / tiles.pieces % tiles.tiles * blockDim.x + threadIdx.x),
        start(outer * lines.length * lines.inner + column),
        first(piece * tiles.piece + threadIdx.y),
        end(min((piece + 1) * tiles.piece, lines.length)),
        step(blockDim.y),
        there(column < lines.inner) {}

  /// kStatsTogether elements from the i-th on, all of whose loads are on their way at once; -inf
  /// where there are none.
  __device__ __forceinline__ void read(C (&x)[kStatsTogether], const M* data, int64_t inner,
                                       int64_t i) const {
#pragma unroll
    for (int t = 0; t < kStatsTogether; ++t) {
      const int64_t place = i + t * step;
      x[t] = place < end ? load<C, M>(data + start + place * inner) : -scalar::kInfinity<C>;
    }
  }
  __device__ __forceinline__ LineStats<C> stats(const SoftmaxLines<M>& args) const {
    LineStats<C> result = no_stats<C>();
    for (int64_t i = first; i < end; i += kStatsTogether * step) {
      C x[kStatsTogether];
      read(x, args.input, args.lines.inner, i);
      add_elements(result, x);
    }
    return result;
  }
  __device__ __forceinline__ void write(const SoftmaxLines<M>& args,
                                        const LineStats<C>& total) const {
    const C scale = args.scale(total.sum);
    for (int64_t i = first; i < end; i += kStatsTogether * step) {
      C x[kStatsTogether];
      read(x, args.input, args.lines.inner, i);
#pragma unroll
      for (int t = 0; t < kStatsTogether; ++t) {
        const C part = args.log ? x[t] - total.largest : body::softmax_power(x[t], total.largest);
        const int64_t place = i + t * step;
        if (place < end)
          store<M>(args.output + start + place * args.lines.inner, args.result(part, scale));
      }
    }
  }
};

/// What is known of the pieces of lines, to `partial`; or, where that is null, for pieces are
/// lines, the results.
template <class M>
__global__ void __launch_bounds__(kThreads)
    softmax_pieces_kernel(const __grid_constant__ SoftmaxLines<M> args, LineTiles tiles,
                          int64_t items, LineStats<ComputeType<M>>* partial) {
  using C = ComputeType<M>;
  AORTA_SHARED(LineStats<C>, shared, [kThreads]);
  const unsigned me = threadIdx.y * blockDim.x + threadIdx.x;
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const ThreadPart<M> part(args.lines, tiles, item);
    shared[me] = part.there ? part.stats(args) : no_stats<C>();
    __syncthreads();
    for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
      if (threadIdx.y < half) shared[me] = add_stats(shared[me], shared[me + half * blockDim.x]);
      __syncthreads();
    }
    const LineStats<C> total = shared[threadIdx.x];
    __syncthreads();
    if (!part.there) continue;
    if (!partial) {
      part.write(args, total);
    } else if (threadIdx.y == 0) {
      partial[(part.outer * tiles.pieces + part.piece) * args.lines.inner + part.column] = total;
    }
  }
}

template <class M>
__global__ void __launch_bounds__(kThreads)
    finish_softmax_kernel(const __grid_constant__ SoftmaxLines<M> args, LineTiles tiles,
                          int64_t items, const LineStats<ComputeType<M>>* partial) {
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const ThreadPart<M> part(args.lines, tiles, item);
    if (!part.there) continue;
    const auto* const pieces = partial + part.outer * tiles.pieces * args.lines.inner + part.column;
    LineStats<ComputeType<M>> total = pieces[0];
    for (int64_t p = 1; p < tiles.pieces; ++p)
      total = add_stats(total, pieces[p * args.lines.inner]);
    part.write(args, total);
  }
}

/// The gradient's two readings: the sum of a piece of a line, and the results.
template <class M>
struct BackwardPart {
  using C = ComputeType<M>;
  const BackwardLines<M>& args;
  ThreadPart<M> part;

  __device__ __forceinline__ BackwardPart(const BackwardLines<M>& lines, const LineTiles& tiles,
                                          int64_t item)
      : args(lines), part(lines.lines, tiles, item) {}
  __device__ __forceinline__ double sum() const {
    double result = 0;
    for (int64_t i = part.first; i < part.end; i += part.step) {
      const int64_t at = part.start + i * args.lines.inner;
      result += static_cast<double>(
          args.term(load<C, M>(args.gradient + at), load<C, M>(args.output + at)));
    }
    return result;
  }
  __device__ __forceinline__ void write(double total) const {
    const C sum_of_line = static_cast<C>(total);
    for (int64_t i = part.first; i < part.end; i += part.step) {
      const int64_t at = part.start + i * args.lines.inner;
      const C g = load<C, M>(args.gradient + at), y = load<C, M>(args.output + at);
      store<M>(args.input + at, args.result(g, y, sum_of_line));
    }
  }
};

template <class M>
__global__ void __launch_bounds__(kThreads)
    softmax_backward_pieces_kernel(const __grid_constant__ BackwardLines<M> args, LineTiles tiles,
                                   int64_t items, double* partial) {
  AORTA_SHARED(double, shared, [kThreads]);
  const unsigned me = threadIdx.y * blockDim.x + threadIdx.x;
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const BackwardPart<M> mine(args, tiles, item);
    const ThreadPart<M>& part = mine.part;
    shared[me] = part.there ? mine.sum() : 0;
    __syncthreads();
    for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
      if (threadIdx.y < half) shared[me] += shared[me + half * blockDim.x];
      __syncthreads();
    }
    const double total = shared[threadIdx.x];
    __syncthreads();
    if (!part.there) continue;
    if (!partial) {
      mine.write(total);
    } else if (threadIdx.y == 0) {
      partial[(part.outer * tiles.pieces + part.piece) * args.lines.inner + part.column] = total;
    }
  }
}

template <class M>
__global__ void __launch_bounds__(kThreads)
    finish_softmax_backward_kernel(const __grid_constant__ BackwardLines<M> args, LineTiles tiles,
                                   int64_t items, const double* partial) {
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const BackwardPart<M> mine(args, tiles, item);
    const ThreadPart<M>& part = mine.part;
    if (!part.there) continue;
    const double* const pieces =
        partial + part.outer * tiles.pieces * args.lines.inner + part.column;
    double total = 0;
    for (int64_t p = 0; p < tiles.pieces; ++p) total += pieces[p * args.lines.inner];
    mine.write(total);
  }
}

template <class M>
auto pieces_kernel(const SoftmaxLines<M>&) {
  return softmax_pieces_kernel<M>;
}
template <class M>
auto pieces_kernel(const BackwardLines<M>&) {
  return softmax_backward_pieces_kernel<M>;
}
template <class M>
auto finish_kernel(const SoftmaxLines<M>&) {
  return finish_softmax_kernel<M>;
}
template <class M>
auto finish_kernel(const BackwardLines<M>&) {
  return finish_softmax_backward_kernel<M>;
}

/// `Partial`: what is known of a piece of a line.
template <class M, class Partial, class Args>
void run_lines(const char* op, const Args& args, const LaunchSite& site) {
  if (args.lines.inner == 1 && run_rows<M>(op, args, site.stream())) return;
  const LineTiles tiles(args.lines);
  const int64_t items = tiles.items(args.lines);
  const auto queue = [&](auto kernel, Partial* partial) {
    launch(op, kernel, grid_of(items), tiles.block, site.stream(), args, tiles, items, partial);
  };
  if (tiles.pieces == 1) return queue(pieces_kernel(args), nullptr);
  const Workspace partial(args.lines.count() * tiles.pieces * int64_t{sizeof(Partial)},
                          site.device());
  queue(pieces_kernel(args), partial.template as<Partial>());
  queue(finish_kernel(args), partial.template as<Partial>());
}

template <class M>
void run_as(const SoftmaxArgs& given, bool log) {
  const SoftmaxLines<M> args{static_cast<const M*>(given.input), static_cast<M*>(given.output),
                             given.lines, log};
  run_lines<M, LineStats<ComputeType<M>>>(log ? "log_softmax" : "softmax", args,
                                          LaunchSite(given.output));
}

template <class M>
void run_backward_as(const SoftmaxBackwardArgs& given, bool log) {
  const BackwardLines<M> args{static_cast<const M*>(given.gradient),
                              static_cast<const M*>(given.output), static_cast<M*>(given.input),
                              given.lines, log};
  run_lines<M, double>(log ? "log_softmax_backward" : "softmax_backward", args,
                       LaunchSite(given.input));
}

template <bool log>
void run(const SoftmaxArgs& args) {
  if (args.lines.count() == 0 || args.lines.length == 0) return;
  visit_floating(args.dtype, [&](auto type) { run_as<decltype(type)>(args, log); });
}
template <bool log>
void run_backward(const SoftmaxBackwardArgs& args) {
  if (args.lines.count() == 0 || args.lines.length == 0) return;
  visit_floating(args.dtype, [&](auto type) { run_backward_as<decltype(type)>(args, log); });
}

}  // namespace

void register_softmax() {
  set_kernel<softmax_op, run<false>>();
  set_kernel<log_softmax_op, run<true>>();
  set_kernel<softmax_backward_op, run_backward<false>>();
  set_kernel<log_softmax_backward_op, run_backward<true>>();
}

}  // namespace aorta::cuda
