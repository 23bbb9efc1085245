// Normalisation of lines: a warp or a block a line, which reads it twice; gradients of weight and
// bias are sums of columns, in chunks of lines.
#include <aorta/core/ops/normalization.h>
#include <aorta/core/scalar/normalization.h>
#include <aorta/cuda/normalization.cuh>

namespace aorta::cuda {
namespace {

using scalar::NormMap;
using scalar::NormMoments;

/// Lines from this length on get a block each, shorter ones a warp.
constexpr int64_t kLongLine = 1024;

template <class M>
struct LineArgs {
  using C = ComputeType<M>;
  static constexpr int V = kBlock<M>;
  RowBlocks<M> blocks;
  const M *input, *gradient;
  M* output;
  const C *weight, *bias;
  double *mean, *var;
  double eps;
  bool centered;

  /// The map of a line: x_hat.
  __device__ __forceinline__ NormMap map(double line_mean, double line_var) const {
    return scalar::norm_map(scalar::SplitMean(line_mean, std::is_same_v<M, double>),
                            1 / scalar::sqrt(line_var + eps), 1, 0, false);
  }
  __device__ __forceinline__ C weight_of(int64_t i) const { return weight ? weight[i] : C(1); }
};

/// x_hat = (x - mean) scale + shift of a line.
template <class C>
struct HatMap {
  C mean, scale, shift;
  __device__ __forceinline__ explicit HatMap(const NormMap& map)
      : mean(static_cast<C>(map.mean)),
        scale(static_cast<C>(map.scale)),
        shift(static_cast<C>(map.shift)) {}
  __device__ __forceinline__ C operator()(C x) const {
    return scalar::normalised(x, mean, scale, shift);
  }
};

__device__ __forceinline__ int64_t first_line() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
}
__device__ __forceinline__ int64_t line_step() {
  return static_cast<int64_t>(gridDim.x) * blockDim.y;
}

/// A thread's moments of a line: of distances from the first element that it meets.
template <class M>
__device__ __forceinline__ NormMoments moments_of_line(const LineArgs<M>& args, int64_t line) {
  constexpr int V = LineArgs<M>::V;
  const M* const x = args.input + line * args.blocks.size;
  double shift = 0, sum = 0, squares = 0;
  int64_t count = 0;
  for (int64_t i = threadIdx.x; i < args.blocks.across; i += blockDim.x) {
    const auto at = args.blocks.in_row(line, i);
    ComputeType<M> values[V];
    read_block<M>(values, x + at.column, at.there, at.whole);
    if (count == 0) shift = static_cast<double>(values[0]);
    count += at.there;
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const double distance = j < at.there ? static_cast<double>(values[j]) - shift : 0;
      sum += distance;
      squares += distance * distance;
    }
  }
  if (count == 0) return {0, 0, 0};
  return scalar::moments_from(shift, static_cast<double>(count), sum, squares);
}

template <class M>
__global__ void __launch_bounds__(kThreads)
    line_forward_kernel(const __grid_constant__ LineArgs<M> args) {
  using C = ComputeType<M>;
  constexpr int V = LineArgs<M>::V;
  AORTA_SHARED(NormMoments, shared, [kThreads / 32]);
  for (int64_t line = first_line(); line < args.blocks.rows; line += line_step()) {
    const NormMoments total =
        join_group(moments_of_line(args, line), shared, [](NormMoments a, const NormMoments& b) {
          scalar::add(a, b);
          return a;
        });
    const double own = total.squares / total.count;
    const double mean = args.centered ? total.mean : 0;
    const double var = args.centered ? own : own + total.mean * total.mean;
    if (threadIdx.x == 0) {
      args.mean[line] = mean;
      args.var[line] = var;
    }
    const HatMap<C> hat(args.map(mean, var));
    const int64_t start = line * args.blocks.size;
    for (int64_t i = threadIdx.x; i < args.blocks.across; i += blockDim.x) {
      const auto at = args.blocks.in_row(line, i);
      C values[V];
      read_block<M>(values, args.input + start + at.column, at.there, at.whole);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        if (j >= at.there) continue;
        const C bias = args.bias ? args.bias[at.column + j] : C(0);
        values[j] = hat(values[j]) * args.weight_of(at.column + j) + bias;
      }
      write_block<M>(args.output + start + at.column, values, at.there, at.whole);
    }
  }
}

template <class M>
__global__ void __launch_bounds__(kThreads)
    line_backward_kernel(const __grid_constant__ LineArgs<M> args) {
  using C = ComputeType<M>;
  constexpr int V = LineArgs<M>::V;
  AORTA_SHARED(SumPair, shared, [kThreads / 32]);
  for (int64_t line = first_line(); line < args.blocks.rows; line += line_step()) {
    const HatMap<C> hat(args.map(args.mean[line], args.var[line]));
    const int64_t start = line * args.blocks.size;
    SumPair sums{0, 0};
    for (int64_t i = threadIdx.x; i < args.blocks.across; i += blockDim.x) {
      const auto at = args.blocks.in_row(line, i);
      C g[V], x[V];
      read_block<M>(g, args.gradient + start + at.column, at.there, at.whole);
      read_block<M>(x, args.input + start + at.column, at.there, at.whole);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        if (j >= at.there) continue;
        const C weighted = g[j] * args.weight_of(at.column + j);
        sums.first += static_cast<double>(weighted);
        sums.second += static_cast<double>(weighted) * static_cast<double>(hat(x[j]));
      }
    }
    sums = join_group(sums, shared,
                      [](const SumPair& a, const SumPair& b) { return add_pairs(a, b); });
    const double count = static_cast<double>(args.blocks.size);
    const C mean_gradient = static_cast<C>(args.centered ? sums.first / count : 0);
    const C mean_product = static_cast<C>(sums.second / count);
    for (int64_t i = threadIdx.x; i < args.blocks.across; i += blockDim.x) {
      const auto at = args.blocks.in_row(line, i);
      C g[V], x[V];
      read_block<M>(g, args.gradient + start + at.column, at.there, at.whole);
      read_block<M>(x, args.input + start + at.column, at.there, at.whole);
#pragma unroll
      for (int j = 0; j < V; ++j) {
        if (j >= at.there) continue;
        x[j] = scalar::line_norm_gradient(hat.scale, g[j] * args.weight_of(at.column + j),
                                          hat(x[j]), mean_gradient, mean_product);
      }
      write_block<M>(args.output + start + at.column, x, at.there, at.whole);
    }
  }
}

/// Sums of g x_hat and of g along columns.
template <class M>
struct ParameterBody {
  static constexpr int V = kBlock<M>;
  using C = ComputeType<M>;
  using State = SumPair;
  using Running = SumPair;
  const M *gradient, *x;
  const HatMap<C>* hats;  // of each line

  __device__ __forceinline__ void begin(Running& running, int64_t) const { running = {0, 0}; }
  __device__ __forceinline__ void take_columns(Running (&running)[V], int64_t element, int there,
                                               bool whole, int64_t line) const {
    const HatMap<C> hat = hats[line];
    C g[V], values[V];
    read_block<M>(g, gradient + element, there, whole);
    read_block<M>(values, x + element, there, whole);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      running[j].first += static_cast<double>(g[j]) * static_cast<double>(hat(values[j]));
      running[j].second += static_cast<double>(g[j]);
    }
  }
  __device__ __forceinline__ State finish(const Running& running) const { return running; }
  __device__ __forceinline__ State join(const State& a, const State& b) const {
    return add_pairs(a, b);
  }
};

template <class M>
__global__ void __launch_bounds__(kThreads)
    line_maps_kernel(const __grid_constant__ LineArgs<M> args, HatMap<ComputeType<M>>* hats) {
  for (int64_t line = first_item(); line < args.blocks.rows; line += item_step())
    hats[line] = HatMap<ComputeType<M>>(args.map(args.mean[line], args.var[line]));
}

/// Adds the chunks up: blockDim.y threads a column.
__global__ void __launch_bounds__(kThreads)
    add_chunks_kernel(const SumPair* partial, int64_t columns, int64_t chunks,
                      double* weight_gradient, double* bias_gradient) {
  AORTA_SHARED(SumPair, shared, [kThreads]);
  const unsigned me = threadIdx.y * blockDim.x + threadIdx.x;
  for (int64_t first = int64_t{blockIdx.x} * blockDim.x; first < columns;
       first += int64_t{gridDim.x} * blockDim.x) {
    const int64_t c = first + threadIdx.x;
    SumPair total{0, 0};
#pragma unroll 4
    for (int64_t chunk = threadIdx.y; c < columns && chunk < chunks; chunk += blockDim.y)
      total = add_pairs(total, partial[chunk * columns + c]);
    shared[me] = total;
    __syncthreads();
    for (unsigned step = blockDim.y / 2; step > 0; step /= 2) {
      if (threadIdx.y < step) shared[me] = add_pairs(shared[me], shared[me + step * blockDim.x]);
      __syncthreads();
    }
    if (threadIdx.y == 0 && c < columns) {
      if (weight_gradient) weight_gradient[c] = shared[me].first;
      if (bias_gradient) bias_gradient[c] = shared[me].second;
    }
    __syncthreads();
  }
}

template <class M>
LineArgs<M> line_args(const LineNormArgs& args) {
  using C = ComputeType<M>;
  const RowBlocks<M> blocks(args.lines, args.plan.length, {args.input, args.gradient, args.output});
  return {blocks,
          static_cast<const M*>(args.input),
          static_cast<const M*>(args.gradient),
          static_cast<M*>(args.output),
          static_cast<const C*>(args.weight),
          static_cast<const C*>(args.bias),
          args.mean,
          args.var,
          args.plan.eps,
          args.plan.centered};
}

template <class M>
void launch_lines(const char* op, void (*kernel)(LineArgs<M>), const LineArgs<M>& args,
                  cudaStream_t stream) {
  const unsigned threads = args.blocks.size > kLongLine ? kThreads : 32;
  const dim3 block(threads, kThreads / threads);
  launch(op, kernel, grid_of(divide_up(args.blocks.rows, block.y)), block, stream, args);
}

template <class M>
void sum_parameters(const char* op, const LineNormArgs& args, const LineArgs<M>& lines,
                    const LaunchSite& site) {
  using C = ComputeType<M>;
  const Workspace hats(args.lines * static_cast<int64_t>(sizeof(HatMap<C>)), site.device());
  launch(op, line_maps_kernel<M>, site.blocks(args.lines), kThreads, site.stream(), lines,
         hats.template as<HatMap<C>>());
  const ColumnShape<M> shape(1, lines.blocks);
  const Workspace partial(shape.partials() * int64_t{sizeof(SumPair)}, site.device());
  const ParameterBody<M> body{lines.gradient, lines.input, hats.template as<HatMap<C>>()};
  reduce_columns(op, body, shape, partial.template as<SumPair>(), site.stream());
  const dim3 block(8, lanes_for(shape.chunks, kThreads / 8));
  launch(op, add_chunks_kernel, grid_of(divide_up(args.plan.length, block.x)), block, site.stream(),
         partial.template as<SumPair>(), args.plan.length, shape.chunks, args.weight_gradient,
         args.bias_gradient);
}

template <const auto& op>
void run_line_forward(const LineNormArgs& args) {
  const LaunchSite site(args.output);
  visit_floating(args.dtype, [&](auto type) {
    using M = decltype(type);
    launch_lines(op.name(), line_forward_kernel<M>, line_args<M>(args), site.stream());
  });
}

void run_line_backward(const LineNormArgs& args) {
  const char* const op = "line_norm_backward";
  const LaunchSite site(args.gradient);
  visit_floating(args.dtype, [&](auto type) {
    using M = decltype(type);
    const LineArgs<M> lines = line_args<M>(args);
    if (args.output) launch_lines(op, line_backward_kernel<M>, lines, site.stream());
    if (args.weight_gradient || args.bias_gradient) sum_parameters(op, args, lines, site);
  });
}

}  // namespace

void register_line_normalization() {
  set_kernel<layer_norm_op, run_line_forward<layer_norm_op>>();
  set_kernel<rms_norm_op, run_line_forward<rms_norm_op>>();
  set_kernel<line_norm_backward_op, run_line_backward>();
}

}  // namespace aorta::cuda
