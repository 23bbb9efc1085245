// Normalisation of channels: partial sums of pieces of channels, a warp for each unit (what shares
// statistics) that joins them and says how elements are mapped, and one pass over the elements.
#include <aorta/core/ops/normalization.h>
#include <aorta/core/scalar/normalization.h>
#include <aorta/cuda/normalization.cuh>

#include <optional>

namespace aorta::cuda {
namespace {

using scalar::NormMap;
using scalar::NormMoments;
using scalar::SplitMean;

/// The maps of channels, by (group, channel): six arrays one after another.
template <class C>
struct ChannelMaps {
  C* data;
  int64_t count;
  __device__ __forceinline__ C* array(int k) const { return data + k * count; }
};
/// A map in registers: y = (x - mean) scale + shift, and what the gradient takes besides.
template <class C>
struct ElementMap {
  C mean, scale, shift, of_gradient, of_input, constant;
  __device__ __forceinline__ ElementMap() {}
  __device__ __forceinline__ ElementMap(const ChannelMaps<C>& maps, int64_t at, bool backward)
      : mean(maps.array(0)[at]), scale(maps.array(1)[at]), shift(maps.array(2)[at]) {
    of_gradient = backward ? maps.array(3)[at] : C(0);
    of_input = backward ? maps.array(4)[at] : C(0);
    constant = backward ? maps.array(5)[at] : C(0);
  }
  __device__ __forceinline__ C operator()(C x) const {
    return scalar::normalised(x, mean, scale, shift);
  }
  __device__ __forceinline__ C slope(C g, C x, bool relu) const {
    return relu ? scalar::masked(g, (*this)(x)) : g;
  }
};

/// Moments, of distances from the first element that a thread meets: in f64 what these cancel is
/// no more than that element's own share.
template <class M>
struct MomentsBody {
  static constexpr int V = kBlock<M>;
  using State = NormMoments;
  struct Running {
    double shift, count, sum, squares;
  };
  const M* x;

  __device__ __forceinline__ void begin(Running& running, int64_t) const { running = {0, 0, 0, 0}; }
  __device__ __forceinline__ void take(Running& running, double value) const {
    if (running.count == 0) running.shift = value;
    const double distance = value - running.shift;
    running.count += 1;
    running.sum += distance;
    running.squares += distance * distance;
  }
  __device__ __forceinline__ void take_columns(Running (&running)[V], int64_t element, int there,
                                               bool whole, int64_t) const {
    ComputeType<M> values[V];
    read_block<M>(values, x + element, there, whole);
#pragma unroll
    for (int j = 0; j < V; ++j) take(running[j], static_cast<double>(values[j]));
  }
  __device__ __forceinline__ void take_run(Running& running, int64_t element, int there,
                                           bool whole) const {
    ComputeType<M> values[V];
    read_block<M>(values, x + element, there, whole);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      if (j < there) take(running, static_cast<double>(values[j]));
    }
  }
  __device__ __forceinline__ State finish(const Running& r) const {
    if (r.count == 0) return {0, 0, 0};
    return scalar::moments_from(r.shift, r.count, r.sum, r.squares);
  }
  __device__ __forceinline__ State join(State a, const State& b) const {
    scalar::add(a, b);
    return a;
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
    running.map = ElementMap<C>(maps, at, false);
    running.sums = {0, 0};
  }
  __device__ __forceinline__ void take(Running& running, C g, C value) const {
    const C slope = running.map.slope(g, value, relu);
    running.sums.first += static_cast<double>(slope);
    running.sums.second +=
        static_cast<double>(slope) * static_cast<double>(value - running.map.mean);
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
  const double *weight, *bias;
  ChannelMaps<C> maps;

  __device__ __forceinline__ double weight_of(int64_t at) const {
    return weight ? weight[at % channels] : 1;
  }
  __device__ __forceinline__ double inverse_deviation(int64_t unit) const {
    return 1 / scalar::sqrt(var[unit] + eps);
  }
  /// Partial result i of a unit.
  __device__ __forceinline__ int64_t partial(int64_t unit, int64_t i) const {
    const int64_t in_group = channels / width, row = in_group * across;
    return (unit / in_group * pieces + i / across) * row + unit % in_group * across + i % across;
  }
};

__device__ __forceinline__ int64_t first_warp() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
}
__device__ __forceinline__ int64_t warp_step() {
  return static_cast<int64_t>(gridDim.x) * blockDim.y;
}
constexpr dim3 kWarps{32, kThreads / 32, 1};
unsigned blocks_of_warps(int64_t warps) { return grid_of(divide_up(warps, kThreads / 32)); }

/// A unit's statistics, unless they are given, and the maps of its channels.
template <class C>
__global__ void __launch_bounds__(kThreads)
    channel_statistics_kernel(const __grid_constant__ UnitArgs<C> args,
                              const NormMoments* partial) {
  const unsigned lane = threadIdx.x;
  for (int64_t unit = first_warp(); unit < args.units; unit += warp_step()) {
    double mean, var;
    if (args.given) {
      mean = args.mean[unit];
      var = args.var[unit];
    } else {
      NormMoments total{0, 0, 0};
      for (int64_t i = lane; i < args.pieces * args.across; i += 32)
        scalar::add(total, partial[args.partial(unit, i)]);
      NormMoments* const no_shared = nullptr;
      total = join_group(total, no_shared, [](NormMoments a, const NormMoments& b) {
        scalar::add(a, b);
        return a;
      });
      mean = total.mean;
      var = total.squares / total.count;
      if (lane == 0) {
        args.mean[unit] = mean;
        args.var[unit] = var;
      }
    }
    const double inverse_deviation = 1 / scalar::sqrt(var + args.eps);
    for (int64_t k = lane; k < args.width; k += 32) {
      const int64_t at = unit * args.width + k;
      const double bias = args.bias ? args.bias[at % args.channels] : 0;
      const NormMap map = scalar::norm_map(SplitMean(mean, args.is_double), inverse_deviation,
                                           args.weight_of(at), bias, args.relu);
      args.maps.array(0)[at] = static_cast<C>(map.mean);
      args.maps.array(1)[at] = static_cast<C>(map.scale);
      args.maps.array(2)[at] = static_cast<C>(map.shift);
    }
  }
}

/// A unit's sums, (groups, channels), and the maps of its gradient. `scales`: the gradient is
/// scaled alone, by the map of a forward pass. Without partial results there are no sums.
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
      const int64_t at = unit * args.width + k, group = at / args.channels;
      SumPair total{0, 0};
      for (int64_t i = lane; i < args.pieces; i += 32) {
        const int64_t row = group * args.pieces + i;
        total = add_pairs(total, partial[row * args.channels + at % args.channels]);
      }
      SumPair* const no_shared = nullptr;
      total = join_group(total, no_shared,
                         [](const SumPair& a, const SumPair& b) { return add_pairs(a, b); });
      total.second -= mean.rest * total.first;
      if (lane == 0) sums[at] = total;
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
    add_groups_kernel(const __grid_constant__ UnitArgs<C> args, const SumPair* sums, int64_t count,
                      double* weight_gradient, double* bias_gradient) {
  for (int64_t c = first_item(); c < args.channels; c += item_step()) {
    double of_weight = 0, of_bias = 0;
    for (int64_t at = c; at < count; at += args.channels) {
      of_weight += args.inverse_deviation(at / args.width) * sums[at].second;
      of_bias += sums[at].first;
    }
    if (weight_gradient) weight_gradient[c] = of_weight;
    if (bias_gradient) bias_gradient[c] = of_bias;
  }
}

/// What becomes of the elements: y; max(y + residual, 0); the gradient where that isn't 0; dx.
enum class Pass { map, sum, masked, backward };

template <class M>
struct PassArgs {
  using C = ComputeType<M>;
  static constexpr int V = kBlock<M>;
  const M *input, *residual, *gradient;
  M* output;
  ChannelMaps<C> maps;
  Pass pass;
  bool relu;

  __device__ __forceinline__ ElementMap<C> map(int64_t at) const {
    return ElementMap<C>(maps, at, pass == Pass::backward);
  }
  /// `maps_step`: 1 where each element of the block has a map of its own, 0 where they share one.
  template <int maps_step>
  __device__ __forceinline__ void run(int64_t element, int there, bool whole,
                                      const ElementMap<C>* element_maps) const {
    C x[V], g[V], added[V];
    read_block<M>(x, input + element, there, whole);
    if (gradient) read_block<M>(g, gradient + element, there, whole);
    if (residual) read_block<M>(added, residual + element, there, whole);
    if (pass == Pass::map) {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const C y = element_maps[j * maps_step](x[j]);
        x[j] = relu ? scalar::rectified(y) : y;
      }
    } else if (pass == Pass::sum) {
#pragma unroll
      for (int j = 0; j < V; ++j)
        x[j] = scalar::rectified(element_maps[j * maps_step](x[j]) + added[j]);
    } else if (pass == Pass::masked) {
#pragma unroll
      for (int j = 0; j < V; ++j)
        x[j] = scalar::masked(g[j], element_maps[j * maps_step](x[j]) + added[j]);
    } else {
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const ElementMap<C>& m = element_maps[j * maps_step];
        x[j] = scalar::norm_gradient(m.slope(g[j], x[j], relu), x[j] - m.mean, m.of_gradient,
                                     m.of_input, m.constant);
      }
    }
    write_block<M>(output + element, x, there, whole);
  }
};

/// Planes (sample, channel) of positions, in the order of memory.
template <class M>
__global__ void __launch_bounds__(kThreads)
    map_planes_kernel(const __grid_constant__ PassArgs<M> args,
                      const __grid_constant__ RowBlocks<M> blocks, Divisor channels,
                      Divisor samples, int64_t channel_count, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const auto at = blocks.block(i);
    int64_t group = at.row;
    const int64_t channel = channels.split(group);
    samples.split(group);
    const auto map = args.map(group * channel_count + channel);
    args.template run<0>(at.row * blocks.size + at.column, at.there, at.whole, &map);
  }
}

/// Rows of channels: a thread keeps its columns' maps.
template <class M>
__global__ void __launch_bounds__(kThreads)
    map_columns_kernel(const __grid_constant__ PassArgs<M> args,
                       const __grid_constant__ ColumnShape<M> shape) {
  constexpr int V = RowBlocks<M>::V;
  for (int64_t item = blockIdx.x; item < shape.groups * shape.chunks * shape.tiles;
       item += gridDim.x) {
    const int64_t part = item / shape.tiles % shape.chunks;
    const int64_t group = item / shape.tiles / shape.chunks;
    const int64_t place = item % shape.tiles * blockDim.x + threadIdx.x;
    const int64_t columns = shape.blocks.size;
    if (place >= shape.blocks.across) continue;
    ElementMap<ComputeType<M>> maps[V];
#pragma unroll
    for (int j = 0; j < V; ++j)
      maps[j] = args.map(group * columns + min(place * V + j, columns - 1));
    for (int64_t row = shape.first_row(part); row < shape.end_row(part); row += blockDim.y) {
      const auto at = shape.blocks.in_row(group * shape.rows + row, place);
      args.template run<1>(at.row * columns + at.column, at.there, at.whole, maps);
    }
  }
}

/// Both directions of a channel norm.
template <class M>
struct ChannelNorm {
  using C = ComputeType<M>;
  const char* op;
  const ChannelNormArgs& args;
  LaunchSite site;
  int64_t groups, samples, rows;  // samples and rows (with channels_last) of a group
  Workspace map_memory;
  ChannelMaps<C> maps;

  ChannelNorm(const char* name, const ChannelNormArgs& given)
      : op(name),
        args(given),
        site(given.mean),
        groups(given.plan.groups),
        samples(given.batch / groups),
        rows(samples * given.positions),
        map_memory(6 * groups * given.channels * static_cast<int64_t>(sizeof(C)), site.device()),
        maps{map_memory.template as<C>(), groups * given.channels} {}

  const M* data(const void* tensor) const { return static_cast<const M*>(tensor); }
  RowBlocks<M> row_blocks() const {
    return {args.batch * args.positions,
            args.channels,
            {args.input, args.residual, args.gradient, args.output}};
  }
  /// Of units `width` channels wide, where channels are planes.
  RunShape<M> run_shape(int64_t width) const {
    const int64_t plane = args.positions, sample = args.channels * plane;
    return {groups,           args.channels / width,
            samples * sample, width * plane,
            sample,           {samples, width * plane, {args.input, args.gradient}}};
  }
  UnitArgs<C> units(int64_t pieces, int64_t across, bool given) const {
    const int64_t width = args.plan.width;
    return {args.channels,
            width,
            maps.count / width,
            pieces,
            across,
            given,
            args.plan.relu,
            args.dtype == DType::f64,
            args.plan.eps,
            static_cast<double>(rows * width),
            args.mean,
            args.var,
            args.weight,
            args.bias,
            maps};
  }

  void find_maps(int64_t pieces, int64_t across, const NormMoments* partial) const {
    const UnitArgs<C> unit_args = units(pieces, across, !partial);
    launch(op, channel_statistics_kernel<C>, blocks_of_warps(unit_args.units), kWarps,
           site.stream(), unit_args, partial);
  }

  void find_statistics() const {
    if (args.plan.given) return find_maps(0, 0, nullptr);
    const MomentsBody<M> body{data(args.input)};
    const auto memory = [&](int64_t count) { return count * int64_t{sizeof(NormMoments)}; };
    if (args.channels_last) {
      const ColumnShape<M> shape(groups, row_blocks());
      const Workspace partial(memory(shape.partials()), site.device());
      reduce_columns(op, body, shape, partial.as<NormMoments>(), site.stream());
      find_maps(shape.chunks, args.plan.width, partial.as<NormMoments>());
    } else {
      const RunShape<M> shape = run_shape(args.plan.width);
      const Workspace partial(memory(shape.partials()), site.device());
      reduce_runs(op, body, shape, partial.as<NormMoments>(), site.stream());
      find_maps(shape.pieces, 1, partial.as<NormMoments>());
    }
  }

  void run_pass(Pass pass, const void* input) const {
    const bool two = pass == Pass::backward || pass == Pass::masked;
    const PassArgs<M> pass_args{data(input),
                                data(args.residual),
                                two ? data(args.gradient) : nullptr,
                                static_cast<M*>(args.output),
                                maps,
                                pass,
                                args.plan.relu};
    if (args.channels_last) {
      const ColumnShape<M> shape(groups, row_blocks(), 4 * kBlocksWanted);
      launch(op, map_columns_kernel<M>, grid_of(shape.items()), shape.block, site.stream(),
             pass_args, shape);
      return;
    }
    const int64_t planes = args.batch * args.channels;
    const RowBlocks<M> blocks(planes, args.positions,
                              {args.input, args.residual, args.gradient, args.output});
    launch(op, map_planes_kernel<M>, site.blocks(blocks.count()), kThreads, site.stream(),
           pass_args, blocks, Divisor(args.channels, planes), Divisor(samples, args.batch),
           args.channels, blocks.count());
  }

  void forward() const {
    find_statistics();
    run_pass(args.residual ? args.gradient ? Pass::masked : Pass::sum : Pass::map, args.input);
  }

  void finish_gradient(int64_t pieces, const SumPair* partial, SumPair* sums, bool scales) const {
    const UnitArgs<C> unit_args = units(pieces, 1, args.plan.given);
    launch(op, channel_gradient_kernel<C>, blocks_of_warps(unit_args.units), kWarps, site.stream(),
           unit_args, partial, sums, scales);
    if (!args.weight_gradient && !args.bias_gradient) return;
    launch(op, add_groups_kernel<C>, site.blocks(args.channels), kThreads, site.stream(), unit_args,
           sums, maps.count, args.weight_gradient, args.bias_gradient);
  }

  void backward() const {
    const bool parameters = args.weight_gradient || args.bias_gradient;
    // What nothing depends on but the gradient and given statistics.
    const bool scales = args.plan.given && !args.plan.relu;
    find_maps(0, 0, nullptr);
    // Without the sum of products, any number will do for the input.
    const SumsBody<M> body{data(args.gradient), data(args.input ? args.input : args.gradient), maps,
                           args.plan.relu};
    const int64_t bytes = sizeof(SumPair);
    if (!parameters && args.plan.given) {
      finish_gradient(0, nullptr, nullptr, scales);
    } else if (args.channels_last) {
      const ColumnShape<M> shape(groups, row_blocks());
      const Workspace partial(shape.partials() * bytes, site.device());
      const Workspace sums(maps.count * bytes, site.device());
      reduce_columns(op, body, shape, partial.as<SumPair>(), site.stream());
      finish_gradient(shape.chunks, partial.as<SumPair>(), sums.as<SumPair>(), scales);
    } else {
      const RunShape<M> shape = run_shape(1);
      const Workspace partial(shape.partials() * bytes, site.device());
      const Workspace sums(maps.count * bytes, site.device());
      reduce_runs(op, body, shape, partial.as<SumPair>(), site.stream());
      finish_gradient(shape.pieces, partial.as<SumPair>(), sums.as<SumPair>(), scales);
    }
    if (args.output)
      run_pass(scales ? Pass::map : Pass::backward, scales ? args.gradient : args.input);
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
