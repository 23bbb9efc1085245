#include <aorta/core/cpu/convolution_grouped.h>

#include <aorta/core/body/window.h>
#include <aorta/core/cpu/convolution.h>
#include <aorta/core/cpu/gemm.h>
#include <aorta/core/cpu/scratch.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace aorta::cpu {
namespace {

// Results of a group from which on packed products are faster: measured.
constexpr int64_t kMostResults = 4;
// What a result's rows take of a second-level cache, and positions of a row that are taken at once.
constexpr int64_t kWindowBytes = 64 << 10;
constexpr int64_t kMostPositions = 512;
// Whole registers and cache lines of results.
constexpr int64_t kLeastResults = 16;
// Ranges of rows with sums of their own, at most.
constexpr int64_t kParts = 16;

// What y, x and w have in common. The transposed convolution's taps count from the end.
class GroupedConvolution {
 public:
  GroupedConvolution(const ConvolutionArgs& args, bool transposed)
      : args_(args),
        transposed_(transposed),
        d_(args.dims[0], transposed),
        h_(args.dims[1], transposed),
        w_(args.dims[2], transposed),
        dtype_(compute_dtype(args.dtype)),
        half_(is_half(args.dtype)),
        item_(item_size(dtype_)),
        channels_((transposed ? args.y_channels : args.x_channels) / args.groups),
        results_((transposed ? args.x_channels : args.y_channels) / args.groups),
        kernel_rows_(d_.kernel * h_.kernel),
        row_words_(w_.kernel * channels_),
        kept_((h_.kernel - 1) * h_.dilation + 1),
        in_place_(reads_in_place()),
        chunks_(in_place_ ? 1 : divide_up(w_.output, kMostPositions)),
        positions_(divide_up(w_.output, chunks_)),
        padded_((positions_ - 1) * w_.stride + (w_.kernel - 1) * w_.dilation + 1) {
    const int64_t group_bytes = d_.kernel * kept_ * padded_ * channels_ * results_ * item_;
    const int64_t fitting =
        round_up(most(kWindowBytes / group_bytes, 1), divide_up(kLeastResults, results_));
    block_groups_ = in_place_ ? args.groups : std::min(args.groups, fitting);
    block_results_ = block_groups_ * results_;
    blocks_ = divide_up(args.groups, block_groups_);
    rows_ = args.batch * d_.output * chunks_ * h_.output;
    row_.dtype = dtype_;
    row_.taps = w_.kernel;
    row_.channels = channels_;
    row_.position_step = w_.stride * block_results_;
    row_.tap_step = w_.dilation * block_results_;
    row_.channel_step = padded_ * block_results_;
    if (in_place_) runs_ = runs();
  }

  void convolve() const {
    const Scratch weights(kernel_rows_ * row_words_ * args_.groups * results_ * item_);
    std::vector<float> bias;
    if (half_ && args_.bias) {
      bias.resize(static_cast<size_t>(args_.groups * results_));
      widen(bias.data(), args_.bias, args_.groups * results_);
    }
    const char* const shifts =
        bias.empty() ? static_cast<const char*>(args_.bias) : reinterpret_cast<char*>(bias.data());
    parallel_for(0, args_.groups, divide_up(kThreadGrain, kernel_rows_ * row_words_ * results_),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t g = begin; g < end; ++g) lay_out(g, weights.data());
                 });
    parallel_for(0, blocks_ * rows_, grain(), [&](int64_t begin, int64_t end) {
      Window window(*this);
      const Scratch narrowed(half_ ? positions_ * block_results_ * item_ : 0);
      for (int64_t task = begin; task < end; ++task) {
        const RowPart part(*this, task);
        GroupedRow row = read(part, weights.data(), window);
        if (shifts) row.bias = shifts + part.first_result * item_;
        row.target = half_ ? narrowed.data() : target(part);
        row.target_step = half_ ? part.results : stride();
        by_runs(row, window, grouped_loops().convolve);
        if (half_) narrow(target(part), narrowed.data(), part);
      }
    });
  }

  void weight_gradient() const {
    const int64_t parts = std::min(rows_, kParts);
    const int64_t size = kernel_rows_ * row_words_ * args_.groups * results_;
    const Scratch sums(parts * size * item_);
    parallel_for(0, blocks_ * parts, 1, [&](int64_t begin, int64_t end) {
      Window window(*this);
      const Scratch widened(half_ ? positions_ * block_results_ * item_ : 0);
      for (int64_t task = begin; task < end; ++task) {
        const int64_t block = task / parts, share = task % parts;
        const Range range = part_of(rows_, parts, share);
        char* const mine = sums.data() + share * size * item_;
        const RowPart first(*this, block * rows_);
        std::memset(mine + words_before(first) * item_, 0,
                    static_cast<size_t>(kernel_rows_ * row_words_ * first.results * item_));
        for (int64_t at = range.begin; at < range.end; ++at) {
          const RowPart part(*this, block * rows_ + at);
          GroupedRow row = read(part, mine, window);
          row.target = target(part);
          row.target_step = stride();
          if (half_) {
            for (int64_t p = 0; p < part.positions; ++p) {
              widen(widened.data() + p * part.results * item_,
                    target(part) + p * stride() * item_size(args_.dtype), part.results);
            }
            row.target = widened.data();
            row.target_step = part.results;
          }
          by_runs(row, window, grouped_loops().add_gradient);
        }
      }
    });
    switch (args_.dtype) {
      case DType::f64:
        return add_parts<double, double>(sums.data(), parts);
      case DType::f32:
        return add_parts<float, float>(sums.data(), parts);
      case DType::bf16:
        return add_parts<BFloat16, float>(sums.data(), parts);
      default:
        return add_parts<Half, float>(sums.data(), parts);
    }
  }

 private:
  // What a task computes: some positions of a row of results, of some groups. Those of a block and
  // chunk follow one another down the height, so that they find what they read in the window.
  struct RowPart {
    RowPart(const GroupedConvolution& c, int64_t task)
        : block(task / c.rows_),
          image(task % c.rows_ / c.h_.output / c.chunks_ / c.d_.output),
          depth(task % c.rows_ / c.h_.output / c.chunks_ % c.d_.output),
          chunk(task % c.rows_ / c.h_.output % c.chunks_),
          height(task % c.rows_ % c.h_.output),
          first_group(block * c.block_groups_),
          groups(std::min(c.block_groups_, c.args_.groups - first_group)),
          first_result(first_group * c.results_),
          results(groups * c.results_),
          position(chunk * c.positions_),
          positions(std::min(c.positions_, c.w_.output - position)) {}
    int64_t block, image, depth, chunk, height;
    int64_t first_group, groups, first_result, results;
    int64_t position, positions;
  };

  // Positions of a row that read the same taps.
  struct Run {
    int64_t first, count;
    body::WindowRange taps;
  };

  // Copies of rows that results side by side read, with zeros around, and the rows' numbers.
  struct Window {
    explicit Window(const GroupedConvolution& c)
        : slot_bytes(c.in_place_ ? 0 : c.row_.channel_step * c.channels_ * c.item_),
          rows(c.d_.kernel * c.kept_ * slot_bytes),
          widened(c.half_ ? c.w_.size * c.block_groups_ * c.channels_ * c.item_ : 0),
          numbers(static_cast<size_t>(c.d_.kernel * c.kept_), -1),
          sources(static_cast<size_t>(c.kernel_rows_)),
          weights(static_cast<size_t>(c.kernel_rows_)),
          run_sources(sources),
          run_weights(weights) {
      std::fill_n(rows.data(), c.d_.kernel * c.kept_ * slot_bytes, '\0');
    }
    int64_t slot_bytes;
    const Scratch rows, widened;
    std::vector<int64_t> numbers;
    std::vector<const void*> sources;
    std::vector<void*> weights;
    std::vector<const void*> run_sources;
    std::vector<void*> run_weights;
  };

  // Whether rows are read where they lie, and of those at the borders the taps inside: nothing is
  // converted, spread or spaced, and most positions read all taps.
  bool reads_in_place() const {
    if (half_ || channels_ > 1 || results_ > 1 || w_.spacing > 1 || w_.kernel > 4) return false;
    int64_t whole = 0;
    for (int64_t p = 0; p < w_.output; ++p) {
      const body::WindowRange taps = body::taps_reading(w_, p, p);
      whole += taps.first == 0 && taps.end == w_.kernel;
    }
    return 2 * whole >= w_.output;
  }

  std::vector<Run> runs() const {
    std::vector<Run> runs;
    for (int64_t p = 0; p < w_.output; ++p) {
      const body::WindowRange taps = body::taps_reading(w_, p, p);
      if (runs.empty() || runs.back().taps.first != taps.first || runs.back().taps.end != taps.end)
        runs.push_back({p, 0, taps});
      ++runs.back().count;
    }
    return runs;
  }

  void by_runs(const GroupedRow& row, Window& window, void (*loop)(const GroupedRow&)) const {
    if (!in_place_) return loop(row);
    for (const Run& run : runs_) {
      GroupedRow part = row;
      part.positions = run.count;
      part.taps = most(run.taps.end - run.taps.first, 0);
      part.target = static_cast<char*>(row.target) + run.first * row.target_step * item_;
      part.sources = window.run_sources.data();
      part.weights = window.run_weights.data();
      if (part.taps == 0) part.rows = 0;
      const int64_t source = run.first * w_.stride - w_.padding + run.taps.first * w_.dilation;
      for (size_t i = 0; i < static_cast<size_t>(part.rows); ++i) {
        window.run_sources[i] =
            static_cast<const char*>(row.sources[i]) + source * block_results_ * item_;
        window.run_weights[i] =
            static_cast<char*>(row.weights[i]) + run.taps.first * row.results * item_;
      }
      loop(part);
    }
  }

  int64_t stride() const { return args_.groups * results_; }
  int64_t grain() const {
    return divide_up(kTaskWork, kernel_rows_ * row_words_ * block_results_ * positions_);
  }
  // The words of the blocks before a part's.
  int64_t words_before(const RowPart& part) const {
    return kernel_rows_ * row_words_ * part.first_result;
  }

  // Numbers as they are computed with, and as they are stored.
  void widen(void* to, const void* from, int64_t count) const {
    converter(dtype_, args_.dtype)(static_cast<char*>(to), static_cast<const char*>(from), count);
  }
  void narrow(char* to, const char* from, const RowPart& part) const {
    for (int64_t p = 0; p < part.positions; ++p) {
      converter(args_.dtype, dtype_)(to + p * stride() * item_size(args_.dtype),
                                     from + p * part.results * item_, part.results);
    }
  }

  char* target(const RowPart& part) const {
    const int64_t row = (part.image * d_.output + part.depth) * h_.output + part.height;
    return static_cast<char*>(transposed_ ? args_.x : args_.y) +
           ((row * w_.output + part.position) * stride() + part.first_result) *
               item_size(args_.dtype);
  }

  // The rows that a part reads, with the kernel's rows among `words`.
  GroupedRow read(const RowPart& part, char* words, Window& window) const {
    GroupedRow row = row_;
    row.positions = part.positions;
    row.results = part.results;
    row.sources = window.sources.data();
    row.weights = window.weights.data();
    const body::WindowRange planes = body::taps_reading(d_, part.depth, part.depth);
    const body::WindowRange lines = body::taps_reading(h_, part.height, part.height);
    for (int64_t i = planes.first; i < planes.end; ++i) {
      const int64_t plane = part.depth * d_.stride - d_.padding + i * d_.dilation;
      if (plane % d_.spacing != 0) continue;
      for (int64_t j = lines.first; j < lines.end; ++j) {
        const int64_t line = part.height * h_.stride - h_.padding + j * h_.dilation;
        if (line % h_.spacing != 0) continue;
        const auto at = static_cast<size_t>(row.rows++);
        window.sources[at] =
            padded_row(part, window, i * kept_ + line % kept_,
                       (part.image * d_.size + plane / d_.spacing) * h_.size + line / h_.spacing);
        window.weights[at] =
            words + (words_before(part) + (i * h_.kernel + j) * row_words_ * part.results) * item_;
      }
    }
    return row;
  }

  // A row of what is read as the part's results read it.
  const char* padded_row(const RowPart& part, Window& window, int64_t slot, int64_t row) const {
    const int64_t all = args_.groups * channels_, mine = part.groups * channels_;
    const char* const from = static_cast<const char*>(transposed_ ? args_.y : args_.x) +
                             row * w_.size * all * item_size(args_.dtype);
    if (in_place_) return from;
    char* const to = window.rows.data() + slot * window.slot_bytes;
    const int64_t number = (row * chunks_ + part.chunk) * blocks_ + part.block;
    int64_t& held = window.numbers[static_cast<size_t>(slot)];
    if (held == number) return to;
    held = number;
    if (chunks_ > 1) std::fill_n(to, window.slot_bytes, '\0');
    const int64_t begin = part.position * w_.stride - w_.padding;  // of the slot
    const int64_t first = begin > 0 ? divide_up(begin, w_.spacing) : 0;
    const int64_t end =
        std::min(w_.size, divide_up(std::max<int64_t>(begin + padded_, 0), w_.spacing));
    if (first >= end) return to;
    GroupedSpread spread;
    spread.dtype = dtype_;
    spread.positions = end - first;
    spread.groups = part.groups;
    spread.channels = channels_;
    spread.results = results_;
    spread.from_step = all;
    spread.to_step = w_.spacing * block_results_;
    spread.channel_step = row_.channel_step;
    const char* const source =
        from + (first * all + part.first_group * channels_) * item_size(args_.dtype);
    spread.from = source;
    spread.to = to + (first * w_.spacing - begin) * block_results_ * item_;
    if (half_) {
      for (int64_t p = 0; p < spread.positions; ++p) {
        widen(window.widened.data() + p * mine * item_, source + p * all * item_size(args_.dtype),
              mine);
      }
      spread.from = window.widened.data();
      spread.from_step = mine;
    }
    grouped_loops().spread(spread);
    return to;
  }

  // Weight [r][c][i][j][k] of group g, in elements.
  int64_t weight_at(int64_t g, int64_t r, int64_t c) const {
    return transposed_ ? (g * channels_ + c) * args_.w_y + r * args_.w_x
                       : (g * results_ + r) * args_.w_y + c * args_.w_x;
  }
  int64_t tap(const ConvDim& dim, int64_t t) const { return transposed_ ? dim.kernel - 1 - t : t; }

  // By block: [row of the kernel][tap and channel][result].
  void lay_out(int64_t group, char* to) const {
    switch (args_.dtype) {
      case DType::f64:
        return lay_out_as<double, double>(group, to);
      case DType::f32:
        return lay_out_as<float, float>(group, to);
      case DType::bf16:
        return lay_out_as<BFloat16, float>(group, to);
      default:
        return lay_out_as<Half, float>(group, to);
    }
  }
  template <class From, class To>
  void lay_out_as(int64_t group, char* to) const {
    const From* const w = static_cast<const From*>(args_.w);
    const RowPart part(*this, group / block_groups_ * rows_);
    To* next =
        reinterpret_cast<To*>(to) + words_before(part) + (group - part.first_group) * results_;
    for (int64_t i = 0; i < d_.kernel; ++i) {
      for (int64_t j = 0; j < h_.kernel; ++j) {
        for (int64_t k = 0; k < w_.kernel; ++k) {
          const From* const from = w + tap(d_, i) * args_.w_dims[0] + tap(h_, j) * args_.w_dims[1] +
                                   tap(w_, k) * args_.w_dims[2];
          for (int64_t c = 0; c < channels_; ++c, next += part.results) {
            for (int64_t r = 0; r < results_; ++r)
              next[r] = static_cast<To>(from[weight_at(group, r, c)]);
          }
        }
      }
    }
  }

  // To w, (O, D, H, W, C/groups).
  template <class To, class From>
  void add_parts(const char* sums, int64_t parts) const {
    To* const w = static_cast<To*>(args_.w);
    const int64_t taps = kernel_rows_ * w_.kernel,
                  size = taps * channels_ * args_.groups * results_;
    const int64_t work = taps * channels_ * results_ * parts;
    parallel_for(0, args_.groups, divide_up(kThreadGrain, work), [&](int64_t begin, int64_t end) {
      for (int64_t g = begin; g < end; ++g) {
        const RowPart part(*this, g / block_groups_ * rows_);
        const From* const from = reinterpret_cast<const From*>(sums) + words_before(part) +
                                 (g - part.first_group) * results_;
        for (int64_t r = 0; r < results_; ++r) {
          To* const to = w + (g * results_ + r) * taps * channels_;
          for (int64_t word = 0; word < taps * channels_; ++word) {
            From total = 0;
            for (int64_t p = 0; p < parts; ++p) total += from[p * size + word * part.results + r];
            to[word] = static_cast<To>(total);
          }
        }
      }
    });
  }

  const ConvolutionArgs& args_;
  const bool transposed_;
  const SeenDim d_, h_, w_;
  const DType dtype_;  // that is computed in: f32 for halves
  const bool half_;
  const int64_t item_, channels_, results_;  // bytes of a number; channels read and made, a group
  const int64_t kernel_rows_, row_words_;    // rows of the kernel; its taps and channels
  const int64_t kept_;                       // lines that a row of results reads among
  const bool in_place_;
  const int64_t chunks_, positions_;  // of a row of results
  const int64_t padded_;              // positions that a chunk reads among
  int64_t block_groups_, block_results_, blocks_;
  int64_t rows_;    // tasks of a block
  GroupedRow row_;  // what all rows share
  std::vector<Run> runs_;
};

}  // namespace

bool takes_grouped(const ConvolutionArgs& args, bool transposed) {
  return args.groups > 1 &&
         (transposed ? args.x_channels : args.y_channels) / args.groups <= kMostResults;
}
void grouped_convolution(const ConvolutionArgs& args, bool transposed) {
  GroupedConvolution(args, transposed).convolve();
}
void grouped_weight_gradient(const ConvolutionArgs& args) {
  GroupedConvolution(args, false).weight_gradient();
}

}  // namespace aorta::cpu
