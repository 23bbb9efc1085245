#include <aorta/core/cpu/cross_entropy.h>
#include <aorta/core/integers.h>

#include <aorta/core/body/cross_entropy.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace aorta::cpu {
namespace {

// Elements that are worth a thread of their own: an exponential each.
constexpr int64_t kGrain = 8192;
// Lines up to this length are turned so that they lie side by side.
constexpr int64_t kShortLine = 128;

double load_number(DType dtype, const void* data, int64_t i) {
  double value;
  converter(DType::f64, dtype)(&value, static_cast<const char*>(data) + i * item_size(dtype), 1);
  return value;
}
void store_numbers(DType dtype, void* data, int64_t i, const double* values, int64_t n) {
  converter(dtype, DType::f64)(static_cast<char*>(data) + i * item_size(dtype), values, n);
}

// Sums over ranges of a parallel_for, each in a place of its own.
struct RangeSums {
  RangeSums(int64_t count, int64_t grain)
      : grain_(grain), parts_(static_cast<size_t>(divide_up(count, grain))) {}
  struct Part {
    double loss = 0, weight = 0;
    int64_t bad = -1;  // the first line whose target is out of range
  };
  Part& of(int64_t begin) { return parts_[static_cast<size_t>(begin / grain_)]; }
  Part joined() const {
    Part all;
    for (const Part& part : parts_) {
      all.loss += part.loss;
      all.weight += part.weight;
      if (all.bad < 0) all.bad = part.bad;
    }
    return all;
  }

 private:
  int64_t grain_;
  std::vector<Part> parts_;
};

// Writes the result; gives what a kernel returns.
int64_t finish(const ClassLossArgs& args, const RangeSums& sums) {
  const RangeSums::Part all = sums.joined();
  if (all.bad >= 0) return all.bad;
  *args.total = args.target ? all.weight : static_cast<double>(args.lines.count());
  if (args.reduction == Reduction::none) return -1;
  const double loss = args.reduction == Reduction::mean ? all.loss / *args.total : all.loss;
  store_numbers(args.dtype, args.output, 0, &loss, 1);
  return -1;
}

// The gradient that reaches a line's loss.
struct LineGradient {
  explicit LineGradient(const ClassLossArgs& given) : args(given) {
    if (args.reduction == Reduction::none) return;
    all = load_number(args.dtype, args.gradient, 0);
    if (args.reduction == Reduction::mean) all /= *args.total;
  }
  double of(int64_t line) const {
    return args.reduction == Reduction::none ? load_number(args.dtype, args.gradient, line) : all;
  }
  const ClassLossArgs& args;
  double all = 0;
};

// The lines in panels of up to kClassColumns side by side: where they lie so, or are short and
// become so in a buffer; long contiguous ones are a panel each. C is the compute type.
template <class C>
struct Panels {
  explicit Panels(const ClassLossArgs& args)
      : lines(args.lines),
        dtype(args.dtype),
        compute(std::is_same_v<C, double> ? DType::f64 : DType::f32),
        turned(lines.inner == 1 && lines.length <= kShortLine),
        long_lines(lines.inner == 1 && !turned),
        packed(turned || dtype != compute),
        width(long_lines ? 1 : std::min(turned ? lines.outer : lines.inner, kClassColumns)),
        across(divide_up(lines.inner, width)) {}

  int64_t count() const { return turned ? divide_up(lines.outer, width) : lines.outer * across; }
  int64_t grain() const { return std::max<int64_t>(kGrain / (width * lines.length), 1); }
  int64_t first_line(int64_t panel) const {
    return turned ? panel * width : panel / across * lines.inner + panel % across * width;
  }
  int64_t columns(int64_t panel) const {
    return turned ? std::min(width, lines.outer - panel * width)
                  : std::min(width, lines.inner - panel % across * width);
  }
  int64_t stride() const { return packed ? width : lines.inner; }
  int64_t buffer_size() const { return packed ? lines.length * width : 0; }
  // The first element of a panel.
  int64_t offset(int64_t panel) const {
    return turned ? panel * width * lines.length
                  : panel / across * lines.length * lines.inner + panel % across * width;
  }

  const C* read(const void* tensor, int64_t panel, C* buffer) const {
    const int64_t item = item_size(dtype);
    const char* const data = static_cast<const char*>(tensor) + offset(panel) * item;
    if (!packed) return reinterpret_cast<const C*>(data);
    const int64_t n = columns(panel);
    if (turned) {
      C row[kShortLine];
      for (int64_t c = 0; c < n; ++c) {
        converter(compute, dtype)(row, data + c * lines.length * item, lines.length);
        for (int64_t r = 0; r < lines.length; ++r) buffer[r * width + c] = row[r];
      }
    } else if (long_lines) {
      converter(compute, dtype)(buffer, data, lines.length);
    } else {
      for (int64_t r = 0; r < lines.length; ++r)
        converter(compute, dtype)(buffer + r * width, data + r * lines.inner * item, n);
    }
    return buffer;
  }
  // Where a panel's results are computed.
  C* place(void* tensor, int64_t panel, C* buffer) const {
    return packed ? buffer : static_cast<C*>(tensor) + offset(panel);
  }
  void write(void* tensor, int64_t panel, const C* buffer) const {
    if (!packed) return;
    const int64_t item = item_size(dtype);
    char* const data = static_cast<char*>(tensor) + offset(panel) * item;
    const int64_t n = columns(panel);
    if (turned) {
      C row[kShortLine];
      for (int64_t c = 0; c < n; ++c) {
        for (int64_t r = 0; r < lines.length; ++r) row[r] = buffer[r * width + c];
        converter(dtype, compute)(data + c * lines.length * item, row, lines.length);
      }
    } else if (long_lines) {
      converter(dtype, compute)(data, buffer, lines.length);
    } else {
      for (int64_t r = 0; r < lines.length; ++r)
        converter(dtype, compute)(data + r * lines.inner * item, buffer + r * width, n);
    }
  }

  const Lines lines;
  const DType dtype, compute;
  const bool turned, long_lines, packed;
  const int64_t width, across;
};

// What the kernels of a panel share.
template <class C>
struct Task {
  explicit Task(const ClassLossArgs& given)
      : args(given),
        panels(given),
        share(given.label_smoothing / static_cast<double>(given.lines.length)),
        kept(1 - given.label_smoothing),
        weight(static_cast<const C*>(given.weight)) {}

  // The buffers of a range: of input, probabilities and output.
  std::vector<C> buffers() const {
    return std::vector<C>(static_cast<size_t>(panels.buffer_size() * 3));
  }
  ClassPanel panel(int64_t i, std::vector<C>& buffers) const {
    const int64_t first = panels.first_line(i), size = panels.buffer_size();
    C* const statistics = static_cast<C*>(args.statistics) + first;
    ClassPanel panel{};
    panel.input = panels.read(args.input, i, buffers.data());
    if (args.probabilities)
      panel.probabilities = panels.read(args.probabilities, i, buffers.data() + size);
    panel.weight = weight;
    panel.stride = panels.stride();
    panel.length = args.lines.length;
    panel.columns = panels.columns(i);
    panel.share = share;
    panel.kept = kept;
    panel.largest = statistics;
    panel.log_sum = statistics + args.lines.count();
    panel.mass = statistics + 2 * args.lines.count();
    return panel;
  }
  double weight_of(int64_t target) const {
    return weight ? static_cast<double>(weight[target]) : 1;
  }

  const ClassLossArgs& args;
  const Panels<C> panels;
  const double share, kept;
  const C* const weight;
};

// Adds the chosen classes to a panel's losses, which hold what the spread part of the target gives.
template <class C>
void add_classes(const Task<C>& task, int64_t first, const ClassPanel& panel, double* losses,
                 RangeSums::Part& part) {
  const C* const x = static_cast<const C*>(panel.input);
  const C* const largest = static_cast<const C*>(panel.largest);
  const C* const log_sum = static_cast<const C*>(panel.log_sum);
  const int64_t* const target = task.args.target + first;
  double weights = 0;
  for (int64_t c = 0; c < panel.columns; ++c) {
    const int64_t t = target[c];
    if (t == task.args.ignore_index) {
      losses[c] = 0;
    } else if (t < 0 || t >= panel.length) {
      if (part.bad < 0) part.bad = first + c;
    } else {
      const double w = task.weight_of(t);
      const C loss = body::class_loss(x[t * panel.stride + c], largest[c], log_sum[c]);
      losses[c] += task.kept * w * static_cast<double>(loss);
      weights += w;
    }
  }
  part.weight += weights;
}

template <class C>
int64_t run(const ClassLossArgs& args) {
  const Task<C> task(args);
  const ClassLossLoops& loops = class_loss_loops();
  const auto choose = task.panels.long_lines ? loops.line : loops.columns;
  const ClassPanelFunction function = choose(std::is_same_v<C, double>);
  const int64_t count = task.panels.count(), grain = task.panels.grain();
  RangeSums sums(count, grain);
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    std::vector<C> buffers = task.buffers();
    RangeSums::Part part;
    double losses[kClassColumns];
    for (int64_t i = begin; i < end; ++i) {
      const ClassPanel panel = task.panel(i, buffers);
      const int64_t first = task.panels.first_line(i);
      function(panel, losses);
      if (args.target) add_classes(task, first, panel, losses, part);
      double sum = 0;
      for (int64_t c = 0; c < panel.columns; ++c) sum += losses[c];
      part.loss += sum;
      if (args.reduction == Reduction::none)
        store_numbers(args.dtype, args.output, first, losses, panel.columns);
    }
    sums.of(begin) = part;
  });
  return finish(args, sums);
}

// The factors of a panel's lines: of softmax, and of the target's weights.
struct ClassFactors {
  double scale[kClassColumns], target[kClassColumns];
};

template <class C>
void find_factors(const Task<C>& task, int64_t first, const ClassPanel& panel, double weights,
                  const LineGradient& gradient, ClassFactors& factors) {
  for (int64_t c = 0; c < panel.columns; ++c) {
    const int64_t t = task.args.target ? task.args.target[first + c] : 0;
    const bool ignored = task.args.target && t == task.args.ignore_index;
    factors.target[c] = ignored ? 0 : gradient.of(first + c);
    const double mass = !task.args.target
                            ? static_cast<double>(static_cast<const C*>(panel.mass)[c])
                        : ignored ? 0
                                  : task.kept * task.weight_of(t) + task.share * weights;
    factors.scale[c] = factors.target[c] * mass;
  }
}

// The target's own class, and lines without gradient, whatever they hold.
template <class C>
void finish_classes(const Task<C>& task, int64_t first, const ClassPanel& panel,
                    const double* factor, C* output) {
  for (int64_t c = 0; c < panel.columns; ++c) {
    const int64_t t = task.args.target[first + c];
    if (t == task.args.ignore_index) {
      for (int64_t r = 0; r < panel.length; ++r) output[r * panel.stride + c] = 0;
    } else {
      output[t * panel.stride + c] -= static_cast<C>(factor[c] * task.kept * task.weight_of(t));
    }
  }
}

template <class C>
void run_backward(const ClassLossArgs& args) {
  const Task<C> task(args);
  const ClassLossLoops& loops = class_loss_loops();
  const auto choose = task.panels.long_lines ? loops.line_backward : loops.columns_backward;
  const ClassPanelBackwardFunction function = choose(std::is_same_v<C, double>);
  const LineGradient gradient(args);
  double weights = 0;  // of a smoothed target alone: elsewhere others than the target's don't count
  for (int64_t c = 0; task.share > 0 && c < args.lines.length; ++c) weights += task.weight_of(c);
  parallel_for(0, task.panels.count(), task.panels.grain(), [&](int64_t begin, int64_t end) {
    std::vector<C> buffers = task.buffers();
    C* const buffer = buffers.data() + 2 * task.panels.buffer_size();
    ClassFactors factors;
    for (int64_t i = begin; i < end; ++i) {
      const ClassPanel panel = task.panel(i, buffers);
      const int64_t first = task.panels.first_line(i);
      C* const output = task.panels.place(args.output, i, buffer);
      find_factors(task, first, panel, weights, gradient, factors);
      function(panel, factors.scale, factors.target, output);
      if (args.target) finish_classes(task, first, panel, factors.target, output);
      task.panels.write(args.output, i, output);
    }
  });
}

// ---- nll_loss: one element a line.

int64_t element_of(const Lines& lines, int64_t line, int64_t target) {
  return (line / lines.inner * lines.length + target) * lines.inner + line % lines.inner;
}

template <class T, class C>
int64_t run_nll(const ClassLossArgs& args) {
  const int64_t count = args.lines.count(), inner = args.lines.inner;
  const T* const x = static_cast<const T*>(args.input);
  const C* const weight = static_cast<const C*>(args.weight);
  const bool none = args.reduction == Reduction::none;
  RangeSums sums(count, kGrain);
  parallel_for(0, count, kGrain, [&](int64_t begin, int64_t end) {
    RangeSums::Part part;
    const T* line = x + begin / inner * args.lines.length * inner + begin % inner;
    for (int64_t i = begin, column = begin % inner; i < end; ++i) {
      const int64_t t = args.target[i];
      double loss = 0;
      if (t != args.ignore_index && (t < 0 || t >= args.lines.length)) {
        if (part.bad < 0) part.bad = i;
      } else if (t != args.ignore_index) {
        const C w = weight ? weight[t] : C(1);
        loss = -static_cast<double>(w) * static_cast<double>(static_cast<C>(line[t * inner]));
        part.weight += static_cast<double>(w);
      }
      part.loss += loss;
      if (none) store_numbers(args.dtype, args.output, i, &loss, 1);
      ++line;
      if (++column < inner) continue;
      column = 0;
      line += (args.lines.length - 1) * inner;
    }
    sums.of(begin) = part;
  });
  return finish(args, sums);
}

int64_t run_nll_of(const ClassLossArgs& args) {
  switch (args.dtype) {
    case DType::f64:
      return run_nll<double, double>(args);
    case DType::f16:
      return run_nll<Half, float>(args);
    case DType::bf16:
      return run_nll<BFloat16, float>(args);
    default:
      return run_nll<float, float>(args);
  }
}

void run_nll_backward(const ClassLossArgs& args) {
  const DType compute = compute_dtype(args.dtype);
  const LineGradient gradient(args);
  const int64_t bytes = args.lines.count() * args.lines.length * item_size(args.dtype);
  char* const output = static_cast<char*>(args.output);
  parallel_for(0, bytes, int64_t{1} << 20, [&](int64_t begin, int64_t end) {
    std::memset(output + begin, 0, static_cast<size_t>(end - begin));
  });
  parallel_for(0, args.lines.count(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t t = args.target[i];
      if (t == args.ignore_index) continue;
      const double w = args.weight ? load_number(compute, args.weight, t) : 1;
      const double value = -w * gradient.of(i);
      store_numbers(args.dtype, output, element_of(args.lines, i, t), &value, 1);
    }
  });
}

}  // namespace

void register_cross_entropy() {
  cross_entropy_op.set_kernel(DeviceType::cpu, [](const ClassLossArgs& args) {
    return args.dtype == DType::f64 ? run<double>(args) : run<float>(args);
  });
  cross_entropy_backward_op.set_kernel(DeviceType::cpu, [](const ClassLossArgs& args) {
    return args.dtype == DType::f64 ? run_backward<double>(args) : run_backward<float>(args);
  });
  nll_loss_op.set_kernel(DeviceType::cpu, run_nll_of);
  nll_loss_backward_op.set_kernel(DeviceType::cpu, run_nll_backward);
}

}  // namespace aorta::cpu
