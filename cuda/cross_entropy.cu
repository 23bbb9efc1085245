// Losses of classes. A warp or a block takes a line of neighbours, a thread a short one or one
// whose elements lie apart. Sums of losses and weights are taken in f64, each block over a chunk of
// lines that depends on their number alone.
#include <aorta/core/body/cross_entropy.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/cuda/fast_division.h>
#include <aorta/cuda/first_bad.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/group.cuh>
#include <aorta/cuda/line_stats.cuh>

#include <optional>

namespace aorta::cuda {
namespace {

constexpr int64_t kLineChunks = 1024;  // at most
/// Lines of neighbours up to this length are a thread's work: the cache holds those of a block.
constexpr int64_t kShortLine = 32;

/// Sums of losses and of the classes' weights.
struct LossSums {
  double loss, weight;
};
__device__ __forceinline__ LossSums add_sums(const LossSums& a, const LossSums& b) {
  return {a.loss + b.loss, a.weight + b.weight};
}

/// Lines of classes, in memory as M.
template <class M>
struct ClassLines {
  using C = ComputeType<M>;
  ClassLossArgs args;
  int64_t count;
  double share, kept;  // of every class in a smoothed target; of the target's own
  int64_t chunk;       // lines of a block
  LossSums* sums;      // of each block
  unsigned long long* bad;

  __device__ __forceinline__ C read(const void* data, int64_t i) const {
    return load<C, M>(static_cast<const M*>(data) + i);
  }
  __device__ __forceinline__ void write(int64_t i, double value) const {
    store<M>(static_cast<M*>(args.output) + i, value);
  }
  __device__ __forceinline__ C weight(int64_t c) const {
    return args.weight ? static_cast<const C*>(args.weight)[c] : C(1);
  }
  /// The weight of class c in a spread target.
  __device__ __forceinline__ C target_weight(int64_t element, int64_t c) const {
    const C spread = static_cast<C>(share);
    const C own = args.probabilities ? body::class_share(spread, static_cast<C>(kept),
                                                         read(args.probabilities, element))
                                     : spread;
    return weight(c) * own;
  }
  __device__ __forceinline__ bool spreads() const { return share != 0 || args.probabilities; }
  __device__ __forceinline__ int64_t first_element(int64_t line) const {
    const Lines& lines = args.lines;
    return line / lines.inner * lines.length * lines.inner + line % lines.inner;
  }
  __device__ __forceinline__ C* statistics(int k) const {
    return static_cast<C*>(args.statistics) + k * count;
  }

  /// The loss of a line's own class, and its weight; 0 where it is ignored.
  __device__ __forceinline__ LossSums own_class(int64_t line, C largest, C log_sum) const {
    const int64_t t = args.target[line];
    if (t == args.ignore_index) return {0, 0};
    if (t < 0 || t >= args.lines.length) {
      atomicMin(bad, static_cast<unsigned long long>(line));
      return {0, 0};
    }
    const double w = static_cast<double>(weight(t));
    const C x = read(args.input, first_element(line) + t * args.lines.inner);
    return {kept * w * static_cast<double>(body::class_loss(x, largest, log_sum)), w};
  }
  /// Writes what is known of a line: by one thread. Returns what it adds to the sums.
  __device__ __forceinline__ LossSums finish(int64_t line, C largest, C log_sum, double spread_loss,
                                             double mass) const {
    statistics(0)[line] = largest;
    statistics(1)[line] = log_sum;
    LossSums result{spread_loss, 0};
    if (args.target) {
      const bool ignored = args.target[line] == args.ignore_index;
      if (ignored) result.loss = 0;
      result = add_sums(result, own_class(line, largest, log_sum));
    } else {
      statistics(2)[line] = static_cast<C>(mass);
    }
    if (args.reduction == Reduction::none) write(line, result.loss);
    return result;
  }

  /// A thread's part of a line: every `step`-th element.
  __device__ __forceinline__ LineStats<C> stats(int64_t start, int64_t first, int64_t step) const {
    LineStats<C> result = no_stats<C>();
    for (int64_t c = first; c < args.lines.length; c += kStatsTogether * step) {
      C x[kStatsTogether];
#pragma unroll
      for (int t = 0; t < kStatsTogether; ++t) {
        const int64_t place = c + t * step;
        x[t] = place < args.lines.length ? read(args.input, start + place * args.lines.inner)
                                         : -scalar::kInfinity<C>;
      }
      add_elements(result, x);
    }
    return result;
  }
  /// The loss of the spread part of the target, and that part's weights.
  __device__ __forceinline__ LossSums spread(int64_t start, int64_t first, int64_t step, C largest,
                                             C log_sum) const {
    LossSums result{0, 0};
    if (!spreads()) return result;
    for (int64_t c = first; c < args.lines.length; c += step) {
      const int64_t element = start + c * args.lines.inner;
      const C own = target_weight(element, c), x = read(args.input, element);
      result.loss += static_cast<double>(own * body::class_loss(x, largest, log_sum));
      result.weight += static_cast<double>(own);
    }
    return result;
  }
};

/// Lines of neighbours: blockDim.x threads a line, blockDim.y lines at a time.
template <class M>
__global__ void __launch_bounds__(kThreads)
    class_rows_kernel(const __grid_constant__ ClassLines<M> lines) {
  using C = ComputeType<M>;
  AORTA_SHARED(LineStats<C>, shared_stats, [kThreads / 32]);
  AORTA_SHARED(LossSums, shared, [kThreads / 32]);
  const int64_t end = min((blockIdx.x + int64_t{1}) * lines.chunk, lines.count);
  LossSums total{0, 0};
  for (int64_t line = blockIdx.x * lines.chunk + threadIdx.y; line < end; line += blockDim.y) {
    const int64_t start = lines.first_element(line);
    const auto [largest, sum] =
        join_group(lines.stats(start, threadIdx.x, blockDim.x), shared_stats,
                   [](const LineStats<C>& a, const LineStats<C>& b) { return add_stats(a, b); });
    const C log_sum = static_cast<C>(scalar::log(sum));
    const LossSums spread =
        join_group(lines.spread(start, threadIdx.x, blockDim.x, largest, log_sum), shared,
                   [](const LossSums& a, const LossSums& b) { return add_sums(a, b); });
    if (threadIdx.x == 0)
      total = add_sums(total, lines.finish(line, largest, log_sum, spread.loss, spread.weight));
  }
  // The first lanes of the block's lines have the sums.
  AORTA_SHARED(LossSums, totals, [kThreads / 32]);
  if (threadIdx.x == 0) totals[threadIdx.y] = total;
  __syncthreads();
  if (threadIdx.x != 0 || threadIdx.y != 0) return;
  for (unsigned i = 1; i < blockDim.y; ++i) total = add_sums(total, totals[i]);
  lines.sums[blockIdx.x] = total;
}

/// Lines that are a thread's work; of nll_loss all are.
template <class M>
__global__ void __launch_bounds__(kThreads)
    class_columns_kernel(const __grid_constant__ ClassLines<M> lines) {
  using C = ComputeType<M>;
  AORTA_SHARED(LossSums, shared, [kThreads / 32]);
  const int64_t end = min((blockIdx.x + int64_t{1}) * lines.chunk, lines.count);
  LossSums total{0, 0};
  for (int64_t line = blockIdx.x * lines.chunk + threadIdx.x; line < end; line += blockDim.x) {
    if (!lines.args.statistics) {
      const LossSums own = lines.own_class(line, 0, 0);
      if (lines.args.reduction == Reduction::none) lines.write(line, own.loss);
      total = add_sums(total, own);
      continue;
    }
    const int64_t start = lines.first_element(line);
    const auto [largest, sum] = lines.stats(start, 0, 1);
    const C log_sum = static_cast<C>(scalar::log(sum));
    const LossSums spread = lines.spread(start, 0, 1, largest, log_sum);
    total = add_sums(total, lines.finish(line, largest, log_sum, spread.loss, spread.weight));
  }
  total = join_group(total, shared,
                     [](const LossSums& a, const LossSums& b) { return add_sums(a, b); });
  if (threadIdx.x == 0) lines.sums[blockIdx.x] = total;
}

/// One block: what mean divides by, and the loss.
template <class M>
__global__ void __launch_bounds__(kThreads)
    finish_classes_kernel(const __grid_constant__ ClassLines<M> lines, int64_t chunks) {
  AORTA_SHARED(LossSums, shared, [kThreads / 32]);
  LossSums all{0, 0};
  for (int64_t i = threadIdx.x; i < chunks; i += blockDim.x) all = add_sums(all, lines.sums[i]);
  all =
      join_group(all, shared, [](const LossSums& a, const LossSums& b) { return add_sums(a, b); });
  if (threadIdx.x != 0) return;
  const ClassLossArgs& args = lines.args;
  const double total = args.target ? all.weight : static_cast<double>(lines.count);
  *args.total = total;
  if (args.reduction != Reduction::none)
    lines.write(0, args.reduction == Reduction::mean ? all.loss / total : all.loss);
}

template <class M>
ClassLines<M> class_lines(const ClassLossArgs& args) {
  return {args,
          args.lines.count(),
          args.label_smoothing / static_cast<double>(args.lines.length),
          1 - args.label_smoothing,
          0,
          nullptr,
          nullptr};
}

template <class M>
int64_t run_classes_as(const char* op, const ClassLossArgs& args) {
  ClassLines<M> lines = class_lines<M>(args);
  const LaunchSite site(args.output);
  const int64_t count = lines.count;
  const bool rows = args.lines.inner == 1 && args.lines.length > kShortLine && args.statistics;
  const unsigned threads = !rows || args.lines.length > 1024 ? kThreads : 32;
  const dim3 block(threads, rows ? kThreads / threads : 1);
  const int64_t at_once = rows ? block.y : block.x;
  lines.chunk = round_up(divide_up(count, kLineChunks), at_once);
  const int64_t chunks = divide_up(count, lines.chunk);
  const Workspace sums(chunks * int64_t{sizeof(LossSums)}, site.device());
  std::optional<FirstBad> bad;
  if (args.target) bad.emplace(op, site.device(), site.stream());
  lines.sums = sums.as<LossSums>();
  lines.bad = bad ? bad->data() : nullptr;
  launch(op, rows ? class_rows_kernel<M> : class_columns_kernel<M>, static_cast<unsigned>(chunks),
         block, site.stream(), lines);
  launch(op, finish_classes_kernel<M>, 1, kThreads, site.stream(), lines, chunks);
  return bad ? bad->known() : -1;
}

template <const auto& op>
int64_t run_classes(const ClassLossArgs& args) {
  return visit_floating(args.dtype,
                        [&](auto type) { return run_classes_as<decltype(type)>(op.name(), args); });
}

/// One block: the sum of all classes' weights.
template <class M>
__global__ void __launch_bounds__(kThreads)
    add_weights_kernel(const __grid_constant__ ClassLines<M> lines, double* sum_of_all) {
  AORTA_SHARED(double, shared, [kThreads / 32]);
  double sum = 0;
  for (int64_t c = threadIdx.x; c < lines.args.lines.length; c += blockDim.x)
    sum += static_cast<double>(lines.weight(c));
  sum = add_group(sum, shared);
  if (threadIdx.x == 0) *sum_of_all = sum;
}

/// An element a thread: the gradient of the softmax times the target's mass, less the target.
template <class M>
__global__ void __launch_bounds__(kThreads)
    class_backward_kernel(const __grid_constant__ ClassLines<M> lines, Divisor inner,
                          Divisor length, const double* sum_of_weights, int64_t count) {
  using C = ComputeType<M>;
  const ClassLossArgs& args = lines.args;
  const bool each = args.reduction == Reduction::none;
  double all = each ? 0 : static_cast<double>(lines.read(args.gradient, 0));
  if (args.reduction == Reduction::mean) all /= *args.total;
  for (int64_t i = first_item(); i < count; i += item_step()) {
    int64_t rest = i;
    const int64_t column = inner.split(rest), c = length.split(rest);
    const int64_t line = rest * args.lines.inner + column;
    const int64_t t = args.target ? args.target[line] : -1;
    // One outside of the classes is said later.
    if (args.target && (t == args.ignore_index || t < 0 || t >= args.lines.length)) {
      lines.write(i, 0);
      continue;
    }
    const double factor = each ? static_cast<double>(lines.read(args.gradient, line)) : all;
    const double own =
        args.target && (c == t || args.statistics)
            ? (args.statistics ? lines.kept : 1) * static_cast<double>(lines.weight(t))
            : 0;
    if (!args.statistics) {  // of nll_loss
      lines.write(i, c == t ? -own * factor : 0);
      continue;
    }
    const double mass = args.target ? own + (sum_of_weights ? lines.share * *sum_of_weights : 0)
                                    : static_cast<double>(lines.statistics(2)[line]);
    const C x = lines.read(args.input, i);
    C value = static_cast<C>(factor * mass) *
              body::class_probability(x, lines.statistics(0)[line], lines.statistics(1)[line]);
    if (lines.spreads()) value -= static_cast<C>(factor) * lines.target_weight(i, c);
    if (args.target && c == t) value -= static_cast<C>(factor * own);
    store<M>(static_cast<M*>(args.output) + i, value);
  }
}

template <class M>
void run_classes_backward_as(const char* op, const ClassLossArgs& args) {
  const ClassLines<M> lines = class_lines<M>(args);
  const LaunchSite site(args.output);
  const int64_t count = lines.count * args.lines.length;
  std::optional<Workspace> sum_of_weights;  // where a target's mass needs it
  if (lines.share != 0 && args.target) {
    sum_of_weights.emplace(8, site.device());
    launch(op, add_weights_kernel<M>, 1, kThreads, site.stream(), lines,
           sum_of_weights->template as<double>());
  }
  launch(op, class_backward_kernel<M>, site.blocks(count), kThreads, site.stream(), lines,
         Divisor(args.lines.inner, count), Divisor(args.lines.length, count),
         sum_of_weights ? sum_of_weights->template as<double>() : nullptr, count);
}

template <const auto& op>
void run_classes_backward(const ClassLossArgs& args) {
  visit_floating(args.dtype,
                 [&](auto type) { run_classes_backward_as<decltype(type)>(op.name(), args); });
}

}  // namespace

void register_cross_entropy() {
  set_kernel<cross_entropy_op, run_classes<cross_entropy_op>>();
  set_kernel<nll_loss_op, run_classes<nll_loss_op>>();
  set_kernel<cross_entropy_backward_op, run_classes_backward<cross_entropy_backward_op>>();
  set_kernel<nll_loss_backward_op, run_classes_backward<nll_loss_backward_op>>();
}

}  // namespace aorta::cuda
