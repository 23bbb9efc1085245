// Normalisation of channels: partial sums of pieces of channels, a warp for each unit (what shares
// statistics) that joins them and says how elements are mapped, and one pass over the elements.
#include <aorta/core/ops/normalization.h>
#include <aorta/core/scalar/normalization.h>
#include <aorta/cuda/normalization_passes.cuh>

#include <optional>

namespace aorta::cuda {
namespace {

using scalar::NormMap;
using scalar::SplitMean;

/// The first element of the unit (what shares statistics) that a partial result belongs to, from
/// which distances are measured: in f64 what these cancel is no more than that element's own share.
template <class M>
struct FirstElement {
  const M* x;
  Divisor width, units;  // partial results of a unit side by side; units of a group
  int64_t group_step, unit_step;

  __device__ __forceinline__ double operator()(int64_t at) const {
    width.split(at);
    const int64_t unit = units.split(at);
    return load<double, M>(x + at * group_step + unit * unit_step);
  }
};

/// Sums of distances from a unit's first element, and of their squares.
template <class M>
struct MomentsBody {
  static constexpr int V = kBlock<M>;
  using State = SumPair;
  struct Running {
    double shift, sum, squares;
  };
  FirstElement<M> first;

  __device__ __forceinline__ void begin(Running& running, int64_t at) const {
    running = {first(at), 0, 0};
  }
  __device__ __forceinline__ void take(Running& running, double value) const {
    const double distance = value - running.shift;
    running.sum += distance;
    running.squares = scalar::fma(distance, distance, running.squares);
  }
  __device__ __forceinline__ void take_columns(Running (&running)[V], int64_t element, int there,
                                               bool whole, int64_t) const {
    ComputeType<M> values[V];
    read_block<M>(values, first.x + element, there, whole);
#pragma unroll
    for (int j = 0; j < V; ++j) take(running[j], static_cast<double>(values[j]));
  }
  __device__ __forceinline__ void take_run(Running& running, int64_t element, int there,
                                           bool whole) const {
    ComputeType<M> values[V];
    read_block<M>(values, first.x + element, there, whole);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      if (j < there) take(running, static_cast<double>(values[j]));
    }
  }
  __device__ __forceinline__ State finish(const Running& r) const { return {r.sum, r.squares}; }
  __device__ __forceinline__ State join(const State& a, const State& b) const {
    return add_pairs(a, b);
  }
};

/// Sums of g and of g (x - mean), where g is the gradient before relu.
template <class M>
struct SumsBody {
  static constexpr int V = kBlock<M>;
  using C = ComputeType<M>;
  using State = SumPair;
  struct Running {
    ElementMap<C> map;
    SumPair sums;
  };
  const M *gradient, *x;
  ChannelMaps<C> maps;
  bool relu;

  __device__ __forceinline__ void begin(Running& running, int64_t at) const {
    running.map.mean = maps.array(0)[at];
    running.map.scale = relu ? maps.array(1)[at] : C(0);
    running.map.shift = relu ? maps.array(2)[at] : C(0);
    running.sums = {0, 0};
  }
  __device__ __forceinline__ void take(Running& running, C g, C value) const {
    const C slope = running.map.slope(g, value, relu);
    running.sums.first += static_cast<double>(slope);
    running.sums.second =
        scalar::fma(static_cast<double>(slope), static_cast<double>(value - running.map.mean),
                    running.sums.second);
  }
  __device__ __forceinline__ void take_columns(Running (&running)[V], int64_t element, int there,
                                               bool whole, int64_t) const {
    C g[V], values[V];
    read_block<M>(g, gradient + element, there, whole);
    read_block<M>(values, x + element, there, whole);
#pragma unroll
    for (int j = 0; j < V; ++j) take(running[j], g[j], values[j]);
  }
  __device__ __forceinline__ void take_run(Running& running, int64_t element, int there,
                                           bool whole) const {
    C g[V], values[V];
    read_block<M>(g, gradient + element, there, whole);
    read_block<M>(values, x + element, there, whole);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      if (j < there) take(running, g[j], values[j]);
    }
  }
  __device__ __forceinline__ State finish(const Running& running) const { return running.sums; }
  __device__ __forceinline__ State join(const State& a, const State& b) const {
    return add_pairs(a, b);
  }
};

/// Units and where their partial results are: `across` of each of `pieces`.
template <class C>
struct UnitArgs {
  int64_t channels, width, units, pieces, across;
  bool given, relu, is_double;
  double eps, elements;  // of a unit
  double *mean, *var;
  scalar::ChannelNumbers weight, bias, weight_gradient, bias_gradient;
  scalar::RunningStatistics running;
  ChannelMaps<C> maps;

  __device__ __forceinline__ double weight_of(int64_t at) const {
    return weight ? weight.get(at % channels) : 1;
  }
  __device__ __forceinline__ double inverse_deviation(int64_t unit) const {
    return 1 / scalar::sqrt(var[unit] + eps);
  }
  /// A lane's share of the partial results of what a group has `in_group` of, channels or units.
  __device__ __forceinline__ SumPair partial_sum(const SumPair* partial, int64_t at,
                                                 int64_t in_group) const {
    const int64_t row = in_group * across;
    partial += at / in_group * pieces * row + at % in_group * across;
    SumPair total{0, 0};
    if (across == 1) {
#pragma unroll 4
      for (int64_t i = threadIdx.x; i < pieces; i += 32) total = add_pairs(total, partial[i * row]);
    } else {
      for (int64_t i = threadIdx.x; i < pieces * across; i += 32)
        total = add_pairs(total, partial[i / across * row + i % across]);
    }
    return total;
  }
};
/// The sum of all lanes' shares.
__device__ __forceinline__ SumPair add_lanes(SumPair share) {
  SumPair* const no_shared = nullptr;
  return join_group(share, no_shared,
                    [](const SumPair& a, const SumPair& b) { return add_pairs(a, b); });
}

__device__ __forceinline__ int64_t first_warp() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
}
__device__ __forceinline__ int64_t warp_step() {
  return static_cast<int64_t>(gridDim.x) * blockDim.y;
}
constexpr dim3 kWarps{32, kThreads / 32, 1};
unsigned blocks_of_warps(int64_t warps) { return grid_of(divide_up(warps, kThreads / 32)); }

/// A unit's statistics: of partial results, or the running ones, or else those that are there.
template <class M>
__device__ __forceinline__ scalar::NormMoments statistics(const UnitArgs<ComputeType<M>>& args,
                                                          const SumPair* partial,
                                                          const FirstElement<M>& first,
                                                          int64_t unit) {
  double mean, var;
  if (partial) {
    const SumPair total = add_lanes(args.partial_sum(partial, unit, args.channels / args.width));
    const auto moments =
        scalar::moments_from(first(unit * args.across), args.elements, total.first, total.second);
    mean = moments.mean;
    var = moments.squares / args.elements;
  } else if (args.running.mean) {
    mean = args.running.mean.get(unit);
    var = args.running.var.get(unit);
  } else {
    return {args.elements, args.mean[unit], args.var[unit]};
  }
  if (threadIdx.x == 0) {
    args.mean[unit] = mean;
    args.var[unit] = var;
  }
  return {args.elements, mean, var};
}

/// The statistics of units, the maps of their channels, and the running statistics: a warp goes
/// through units that are `chains` apart, so that the groups of a channel move them one by one.
template <class M>
__global__ void __launch_bounds__(kThreads)
    channel_statistics_kernel(const __grid_constant__ UnitArgs<ComputeType<M>> args,
                              const SumPair* partial, const __grid_constant__ FirstElement<M> first,
                              int64_t chains) {
  using C = ComputeType<M>;
  for (int64_t chain = first_warp(); chain < chains; chain += warp_step()) {
    for (int64_t unit = chain; unit < args.units; unit += chains) {
      const auto [count, mean, var] = statistics(args, partial, first, unit);
      const double inverse_deviation = 1 / scalar::sqrt(var + args.eps);
      for (int64_t k = threadIdx.x; k < args.width; k += 32) {
        const int64_t at = unit * args.width + k;
        const double bias = args.bias ? args.bias.get(at % args.channels) : 0;
        const NormMap map = scalar::norm_map(SplitMean(mean, args.is_double), inverse_deviation,
                                             args.weight_of(at), bias, args.relu);
        args.maps.array(0)[at] = static_cast<C>(map.mean);
        args.maps.array(1)[at] = static_cast<C>(map.scale);
        args.maps.array(2)[at] = static_cast<C>(map.shift);
      }
      if (partial && args.running.mean && threadIdx.x == 0)
        scalar::move(args.running, chain, mean, var);
    }
    if (partial && args.running.batches && chain == 0 && threadIdx.x == 0)
      *args.running.batches += args.units / chains;
  }
}

/// A unit's sums, (groups, channels), and the maps of its gradient; of one group, the gradients of
/// weight and bias. `scales`: the gradient is scaled alone, by the map of a forward pass. Without
/// partial results there are no sums.
template <class C>
__global__ void __launch_bounds__(kThreads)
    channel_gradient_kernel(const __grid_constant__ UnitArgs<C> args, const SumPair* partial,
                            SumPair* sums, bool scales) {
  const unsigned lane = threadIdx.x;
  for (int64_t unit = first_warp(); unit < args.units; unit += warp_step()) {
    const SplitMean mean(args.mean[unit], args.is_double);
    const double inverse_deviation = args.inverse_deviation(unit);
    double sum = 0, product = 0;
    for (int64_t k = 0; partial && k < args.width; ++k) {
      const int64_t at = unit * args.width + k;
      SumPair total = add_lanes(args.partial_sum(partial, at, args.channels));
      total.second -= mean.rest * total.first;
      if (sums && lane == 0) sums[at] = total;
      if (!sums && lane == 0 && args.weight_gradient)
        args.weight_gradient.set(at, inverse_deviation * total.second);
      if (!sums && lane == 0 && args.bias_gradient) args.bias_gradient.set(at, total.first);
      sum += args.weight_of(at) * total.first;
      product += args.weight_of(at) * total.second;
    }
    scalar::NormSlope slope{0, 0};
    if (!args.given)
      slope = scalar::norm_slope(inverse_deviation, args.elements, sum, product, mean.rest);
    for (int64_t k = lane; k < args.width; k += 32) {
      const int64_t at = unit * args.width + k;
      const C of_gradient = static_cast<C>(inverse_deviation * args.weight_of(at));
      if (scales) {
        args.maps.array(0)[at] = 0;
        args.maps.array(1)[at] = of_gradient;
        args.maps.array(2)[at] = 0;
        continue;
      }
      args.maps.array(3)[at] = of_gradient;
      args.maps.array(4)[at] = static_cast<C>(slope.of_input);
      args.maps.array(5)[at] = static_cast<C>(slope.constant);
    }
  }
}

/// The gradients of weight and bias: a thread a channel adds up the groups.
template <class C>
__global__ void __launch_bounds__(kThreads)
    add_groups_kernel(const __grid_constant__ UnitArgs<C> args, const SumPair* sums,
                      int64_t count) {
  for (int64_t c = first_item(); c < args.channels; c += item_step()) {
    double of_weight = 0, of_bias = 0;
    for (int64_t at = c; at < count; at += args.channels) {
      of_weight += args.inverse_deviation(at / args.width) * sums[at].second;
      of_bias += sums[at].first;
    }
    if (args.weight_gradient) args.weight_gradient.set(c, of_weight);
    if (args.bias_gradient) args.bias_gradient.set(c, of_bias);
  }
}

/// Both directions of a channel norm.
template <class M>
struct ChannelNorm {
  using C = ComputeType<M>;
  const char* op;
  const ChannelNormArgs& args;
  LaunchSite site;
  int64_t groups, samples, rows, count;  // samples and rows (with channels_last) of a group; maps

  ChannelNorm(const char* name, const ChannelNormArgs& given)
      : op(name),
        args(given),
        site(given.mean),
        groups(given.plan.groups),
        samples(given.batch / groups),
        rows(samples * given.positions),
        count(groups * given.channels) {}

  static const M* data(const void* tensor) { return static_cast<const M*>(tensor); }
  RowBlocks<M> row_blocks() const {
    return {args.batch * args.positions,
            args.channels,
            {args.input, args.residual, args.gradient, args.output}};
  }
  /// The runs of units `width` channels wide, where channels are planes.
  RunShape<M> run_shape(int64_t width) const {
    const int64_t plane = args.positions, sample = args.channels * plane;
    return {groups,           args.channels / width,
            samples * sample, width * plane,
            sample,           {samples, width * plane, {args.input, args.gradient}}};
  }
  UnitArgs<C> units(const ChannelMaps<C>& maps, int64_t pieces, int64_t across) const {
    const int64_t width = args.plan.width;
    return {args.channels,
            width,
            count / width,
            pieces,
            across,
            args.plan.given,
            args.plan.relu,
            args.dtype == DType::f64,
            args.plan.eps,
            static_cast<double>(rows * width),
            args.mean,
            args.var,
            args.weight,
            args.bias,
            args.weight_gradient,
            args.bias_gradient,
            args.running,
            maps};
  }
  /// `across`: partial results of a unit side by side.
  FirstElement<M> first_element(int64_t across) const {
    const int64_t in_group = args.channels / args.plan.width;
    const int64_t unit_step = args.plan.width * (args.channels_last ? 1 : args.positions);
    return {data(args.input), Divisor(across, count), Divisor(in_group, count),
            rows * args.channels, unit_step};
  }

  void find_maps(const ChannelMaps<C>& maps, int64_t pieces, int64_t across,
                 const SumPair* partial) const {
    const UnitArgs<C> unit_args = units(maps, pieces, across);
    const int64_t chains = args.running.mean ? args.channels : unit_args.units;
    launch(op, channel_statistics_kernel<M>, blocks_of_warps(chains), kWarps, site.stream(),
           unit_args, partial, first_element(across), chains);
  }

  void find_statistics(const ChannelMaps<C>& maps) const {
    const int64_t width = args.plan.width, bytes = sizeof(SumPair);
    if (args.plan.given) return find_maps(maps, 0, 1, nullptr);
    if (args.channels_last) {
      const ColumnShape<M> shape(groups, row_blocks());
      const Workspace partial(shape.partials() * bytes, site.device());
      reduce_columns(op, MomentsBody<M>{first_element(width)}, shape, partial.as<SumPair>(),
                     site.stream());
      find_maps(maps, shape.chunks, width, partial.as<SumPair>());
    } else {
      const RunShape<M> shape = run_shape(width);
      const Workspace partial(shape.partials() * bytes, site.device());
      reduce_runs(op, MomentsBody<M>{first_element(1)}, shape, partial.as<SumPair>(),
                  site.stream());
      find_maps(maps, shape.pieces, 1, partial.as<SumPair>());
    }
  }

  template <Pass pass>
  void run_pass(const void* input, const ChannelMaps<C>& maps) const {
    const PassArgs<M> pass_args{
        data(input), data(args.residual), data(args.gradient), static_cast<M*>(args.output),
        maps,        args.plan.relu};
    if (args.channels_last) {
      const ColumnShape<M> shape(groups, row_blocks(), 4 * kBlocksWanted);
      launch(op, map_columns_kernel<M, pass>, grid_of(shape.items()), shape.block, site.stream(),
             pass_args, shape);
      return;
    }
    const int64_t planes = args.batch * args.channels;
    const RowBlocks<M> blocks(planes, args.positions,
                              {args.input, args.residual, args.gradient, args.output});
    const int64_t batches = divide_up(blocks.count(), Batch<M, pass>::size);
    launch(op, map_planes_kernel<M, pass>, site.blocks(batches), kThreads, site.stream(), pass_args,
           blocks, Divisor(args.channels, planes), Divisor(samples, args.batch), args.channels,
           blocks.count());
  }

  void forward() const {
    const ChannelMaps<C> maps{static_cast<C*>(args.maps.data), nullptr, count};
    if (!args.maps_known) find_statistics(maps);
    if (!args.residual) return run_pass<Pass::map>(args.input, maps);
    if (!args.gradient) return run_pass<Pass::sum>(args.input, maps);
    run_pass<Pass::masked>(args.input, maps);
  }

  /// What nothing depends on but the gradient and given statistics.
  bool scales() const { return args.plan.given && !args.plan.relu; }
  bool parameters() const { return args.weight_gradient || args.bias_gradient; }

  void finish_gradient(const ChannelMaps<C>& maps, int64_t pieces, const SumPair* partial) const {
    const UnitArgs<C> unit_args = units(maps, pieces, 1);
    std::optional<Workspace> memory;
    if (parameters() && groups > 1)
      memory.emplace(count * static_cast<int64_t>(sizeof(SumPair)), site.device());
    SumPair* const sums = memory ? memory->as<SumPair>() : nullptr;
    launch(op, channel_gradient_kernel<C>, blocks_of_warps(unit_args.units), kWarps, site.stream(),
           unit_args, partial, sums, scales());
    if (!sums) return;
    launch(op, add_groups_kernel<C>, site.blocks(args.channels), kThreads, site.stream(), unit_args,
           sums, count);
  }

  void find_gradient(const ChannelMaps<C>& forward, const ChannelMaps<C>& maps) const {
    if (!parameters() && args.plan.given) return finish_gradient(maps, 0, nullptr);
    // Without the sum of products, any number will do for the input.
    const SumsBody<M> body{data(args.gradient), data(args.input ? args.input : args.gradient),
                           forward, args.plan.relu};
    const int64_t bytes = sizeof(SumPair);
    if (args.channels_last) {
      const ColumnShape<M> shape(groups, row_blocks());
      const Workspace partial(shape.partials() * bytes, site.device());
      reduce_columns(op, body, shape, partial.as<SumPair>(), site.stream());
      finish_gradient(maps, shape.chunks, partial.as<SumPair>());
    } else {
      const RunShape<M> shape = run_shape(1);
      const Workspace partial(shape.partials() * bytes, site.device());
      reduce_runs(op, body, shape, partial.as<SumPair>(), site.stream());
      finish_gradient(maps, shape.pieces, partial.as<SumPair>());
    }
  }

  void backward() const {
    const Workspace memory(6 * count * static_cast<int64_t>(sizeof(C)), site.device());
    C* const own = memory.as<C>();
    ChannelMaps<C> maps{own, own + 3 * count, count};
    ChannelMaps<C> forward = maps;
    if (args.maps_known) {
      forward.forward = static_cast<C*>(args.maps.data);
      // A map that scales takes the place of a forward one, which others may read yet.
      if (!scales()) maps = forward;
    } else {
      find_maps(maps, 0, 1, nullptr);
    }
    find_gradient(forward, maps);
    if (!args.output) return;
    if (scales()) return run_pass<Pass::map>(args.gradient, maps);
    run_pass<Pass::backward>(args.input, maps);
  }
};

template <const auto& op>
void run_forward(const ChannelNormArgs& args) {
  visit_floating(args.dtype,
                 [&](auto type) { ChannelNorm<decltype(type)>(op.name(), args).forward(); });
}
void run_backward(const ChannelNormArgs& args) {
  visit_floating(args.dtype, [&](auto type) {
    ChannelNorm<decltype(type)>("channel_norm_backward", args).backward();
  });
}

}  // namespace

void register_normalization() {
  set_kernel<batch_norm_op, run_forward<batch_norm_op>>();
  set_kernel<instance_norm_op, run_forward<instance_norm_op>>();
  set_kernel<group_norm_op, run_forward<group_norm_op>>();
  set_kernel<channel_norm_backward_op, run_backward>();
}

}  // namespace aorta::cuda
