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

// Where packing costs more than it gains: measured. Halves that are packed are multiplied at twice
// the rate of f32.
constexpr int64_t kLeastWidth = 8;
constexpr int64_t kMostChannels = 4096, kMostHalfChannels = 1024;  // x's times y's
// Ranges of rows with sums of their own, at most.
constexpr int64_t kParts = 16;

void multiply(const Gemm& product) { gemm_loops().direct(product); }

// What y, x and w have in common. Read are rows of x, or of y for the transposed convolution, whose
// taps count from the end.
class ConvolutionByRows {
 public:
  ConvolutionByRows(const ConvolutionArgs& args, bool transposed)
      : args_(args),
        transposed_(transposed),
        d_(args.dims[0], transposed),
        h_(args.dims[1], transposed),
        w_(args.dims[2], transposed),
        dtype_(compute_dtype(args.dtype)),
        half_(is_half(args.dtype)),
        item_(item_size(dtype_)),
        groups_(args.groups),
        channels_((transposed ? args.y_channels : args.x_channels) / groups_),
        results_((transposed ? args.x_channels : args.y_channels) / groups_),
        columns_(w_.kernel * channels_),
        taps_(d_.kernel * h_.kernel),
        kept_((h_.kernel - 1) * h_.dilation + 1),
        slots_(d_.kernel * kept_),
        padded_bytes_(((w_.output - 1) * w_.stride + w_.kernel) * channels_ * item_) {
    if (half_ && args.bias) {
      bias_.resize(static_cast<size_t>(groups_ * results_));
      copy(reinterpret_cast<char*>(bias_.data()), static_cast<const char*>(args.bias),
           groups_ * results_);
    }
  }

  void convolve() const {
    const Scratch weights(taps_ * columns_ * groups_ * results_ * item_);
    lay_out(weights.data());
    const int64_t count = w_.output * groups_ * results_;  // of a row
    const int64_t work = taps_ * columns_ * count;
    const int64_t stored = count * item_size(args_.dtype);
    char* const target = static_cast<char*>(transposed_ ? args_.x : args_.y);
    parallel_for(0, args_.batch * d_.output * h_.output, divide_up(kTaskWork, work),
                 [&](int64_t begin, int64_t end) {
                   Window window(slots_, groups_ * padded_bytes_);
                   const Scratch result(half_ ? count * item_ : 0);
                   for (int64_t row = begin; row < end; ++row) {
                     char* const place = target + row * stored;
                     convolve_row(row, weights.data(), window, half_ ? result.data() : place);
                     if (half_) narrow(place, result.data(), count);
                   }
                 });
  }

  void weight_gradient() const {
    const int64_t rows = args_.batch * d_.input * h_.input;
    const int64_t size = groups_ * results_ * taps_ * columns_;
    const int64_t parts = std::min(rows, kParts);
    const Scratch sums(parts * size * item_);
    parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      Window x(1, groups_ * padded_bytes_);
      Window y(half_ ? slots_ : 0, w_.output * groups_ * results_ * item_);
      for (int64_t part = begin; part < end; ++part) {
        char* const mine = sums.data() + part * size * item_;
        std::memset(mine, 0, static_cast<size_t>(size * item_));
        const Range range = part_of(rows, parts, part);
        for (int64_t row = range.begin; row < range.end; ++row) add_row(row, x, y, mine);
      }
    });
    dtype_ == DType::f64 ? add_parts<double>(sums.data(), parts, size)
                         : add_parts<float>(sums.data(), parts, size);
  }

 private:
  // Copies of rows that results side by side read, with zeros around, and the rows' numbers.
  struct Window : Scratch {
    Window(int64_t slots, int64_t row_bytes)
        : Scratch(slots * row_bytes), bytes(row_bytes), numbers(static_cast<size_t>(slots), -1) {
      std::fill_n(data(), slots * row_bytes, '\0');
    }
    int64_t bytes;
    std::vector<int64_t> numbers;
  };

  // Numbers as they are computed with, and as they are stored.
  void copy(char* to, const char* from, int64_t count) const {
    if (half_)
      converter(dtype_, args_.dtype)(to, from, count);
    else
      std::memcpy(to, from, static_cast<size_t>(count * item_));
  }
  void narrow(char* to, const char* from, int64_t count) const {
    converter(args_.dtype, dtype_)(to, from, count);
  }

  // Row number `row` of y as it is computed with.
  const char* y_row_in(Window& window, int64_t slot, int64_t row) const {
    const int64_t count = w_.output * groups_ * results_;
    const char* const from =
        static_cast<const char*>(args_.y) + row * count * item_size(args_.dtype);
    if (!half_) return from;
    char* const mine = window.data() + slot * window.bytes;
    if (window.numbers[slot] != row) copy(mine, from, count);
    window.numbers[slot] = row;
    return mine;
  }

  // A row of what is read as the results read it: by group, with the padding.
  const char* padded_row(Window& window, int64_t slot, int64_t row) const {
    const int64_t stored = item_size(args_.dtype), all = groups_ * channels_;
    const char* const from =
        static_cast<const char*>(transposed_ ? args_.y : args_.x) + row * w_.input * all * stored;
    // There is no padding.
    const bool inside = w_.padding == 0 && padded_bytes_ <= w_.input * channels_ * item_;
    if (inside && !half_ && groups_ == 1) return from;
    char* const mine = window.data() + slot * window.bytes;
    if (window.numbers[slot] == row) return mine;
    window.numbers[slot] = row;
    const int64_t space = padded_bytes_ / (channels_ * item_) - w_.padding;
    const int64_t count = std::clamp<int64_t>(space, 0, w_.input);
    char* const first = mine + w_.padding * channels_ * item_;
    if (groups_ == 1) {
      copy(first, from, count * channels_);
      return mine;
    }
    for (int64_t p = 0; p < count; ++p) {
      for (int64_t g = 0; g < groups_; ++g) {
        copy(first + g * padded_bytes_ + p * channels_ * item_,
             from + (p * all + g * channels_) * stored, channels_);
      }
    }
    return mine;
  }

  // [row of the kernel][group][tap and channel][result]
  void lay_out(char* to) const {
    switch (args_.dtype) {
      case DType::f64:
        return lay_out_as<double, double>(to);
      case DType::f32:
        return lay_out_as<float, float>(to);
      case DType::bf16:
        return lay_out_as<BFloat16, float>(to);
      default:
        return lay_out_as<Half, float>(to);
    }
  }
  template <class From, class To>
  void lay_out_as(char* to) const {
    const From* const w = static_cast<const From*>(args_.w);
    const int64_t of_channel = transposed_ ? args_.w_y : args_.w_x;
    const int64_t of_result = transposed_ ? args_.w_x : args_.w_y;
    const auto tap = [&](const ConvDim& dim, int64_t t) {
      return transposed_ ? dim.kernel - 1 - t : t;
    };
    const int64_t of_group = args_.w_y * (transposed_ ? channels_ : results_);
    To* next = reinterpret_cast<To*>(to);
    for (int64_t row = 0; row < taps_; ++row) {
      for (int64_t g = 0; g < groups_; ++g) {
        for (int64_t k = 0; k < w_.kernel; ++k) {
          const From* const from = w + g * of_group + tap(d_, row / h_.kernel) * args_.w_dims[0] +
                                   tap(h_, row % h_.kernel) * args_.w_dims[1] +
                                   tap(w_, k) * args_.w_dims[2];
          for (int64_t c = 0; c < channels_; ++c) {
            for (int64_t r = 0; r < results_; ++r)
              *next++ = static_cast<To>(from[c * of_channel + r * of_result]);
          }
        }
      }
    }
  }

  void convolve_row(int64_t row, const char* weights, Window& window, char* target) const {
    const int64_t image = row / (d_.output * h_.output);
    const int64_t position_bytes = groups_ * results_ * item_;
    const int64_t bytes = w_.output * position_bytes;
    Gemm product;
    product.dtype = dtype_;
    product.m = w_.output;
    product.n = product.b_row = results_;
    product.ldc = groups_ * results_;
    product.k = columns_;
    product.a_row = w_.stride * channels_;
    product.a_column = product.b_column = 1;
    if (args_.bias) {
      const void* const bias = half_ ? bias_.data() : args_.bias;
      for (int64_t at = 0; at < bytes; at += position_bytes)
        std::memcpy(target + at, bias, static_cast<size_t>(position_bytes));
      product.accumulate = true;
    }
    const int64_t depth = row / h_.output % d_.output, height = row % h_.output;
    const body::WindowRange planes = body::taps_reading(d_, depth, depth);
    const body::WindowRange lines = body::taps_reading(h_, height, height);
    for (int64_t i = planes.first; i < planes.end; ++i) {
      const int64_t plane = depth * d_.stride - d_.padding + i * d_.dilation;
      for (int64_t j = lines.first; j < lines.end; ++j) {
        const int64_t line = height * h_.stride - h_.padding + j * h_.dilation;
        const char* const read = padded_row(window, i * kept_ + line % kept_,
                                            (image * d_.input + plane) * h_.input + line);
        for (int64_t g = 0; g < groups_; ++g) {
          product.a = read + g * padded_bytes_;
          product.b = weights + ((i * h_.kernel + j) * groups_ + g) * columns_ * results_ * item_;
          product.c = target + g * results_ * item_;
          multiply(product);
        }
        product.accumulate = true;
      }
    }
    if (!product.accumulate) std::memset(target, 0, static_cast<size_t>(bytes));
  }

  // The position of y that reads position `x` through a tap, or -1.
  static int64_t reader(const ConvDim& dim, int64_t x, int64_t tap) {
    const int64_t at = x + dim.padding - tap * dim.dilation;
    return at >= 0 && at % dim.stride == 0 && at / dim.stride < dim.output ? at / dim.stride : -1;
  }

  // Adds the products of a row of x with the rows of y that read it.
  void add_row(int64_t row, Window& x, Window& y, char* sums) const {
    const int64_t image = row / (d_.input * h_.input), plane = row / h_.input % d_.input;
    Gemm product;
    product.dtype = dtype_;
    product.m = results_;
    product.a_column = groups_ * results_;
    product.n = columns_;
    product.k = w_.output;
    product.a_row = product.b_column = 1;
    const char* const read = padded_row(x, 0, row);
    product.b_row = w_.stride * channels_;
    product.ldc = taps_ * columns_;
    product.accumulate = true;
    for (int64_t i = 0; i < d_.kernel; ++i) {
      const int64_t y_plane = reader(d_, plane, i);
      if (y_plane < 0) continue;
      for (int64_t j = 0; j < h_.kernel; ++j) {
        const int64_t y_row = reader(h_, row % h_.input, j);
        if (y_row < 0) continue;
        const int64_t number = (image * d_.output + y_plane) * h_.output + y_row;
        const char* const factors = y_row_in(y, i * kept_ + y_row % kept_, number);
        for (int64_t g = 0; g < groups_; ++g) {
          product.a = factors + g * results_ * item_;
          product.b = read + g * padded_bytes_;
          product.c = sums + (g * results_ * taps_ + i * h_.kernel + j) * columns_ * item_;
          multiply(product);
        }
      }
    }
  }

  template <class T>
  void add_parts(char* sums, int64_t parts, int64_t size) const {
    T* const total = reinterpret_cast<T*>(sums);
    char* const w = static_cast<char*>(args_.w);
    parallel_for(0, size, divide_up(kThreadGrain, parts), [&](int64_t begin, int64_t end) {
      for (int64_t p = 1; p < parts; ++p) {
        for (int64_t i = begin; i < end; ++i) total[i] += total[p * size + i];
      }
      if (half_)
        narrow(w + begin * item_size(args_.dtype), sums + begin * item_, end - begin);
      else
        std::copy(total + begin, total + end, reinterpret_cast<T*>(w) + begin);
    });
  }

  const ConvolutionArgs& args_;
  const bool transposed_;
  const SeenDim d_, h_, w_;
  const DType dtype_;  // that is computed in: f32 for halves
  const bool half_;
  const int64_t item_, groups_;       // bytes of a number
  const int64_t channels_, results_;  // read and made, by a group
  const int64_t columns_, taps_;      // of a row of the kernel, and its rows
  const int64_t kept_, slots_;        // lines, and rows, that a row of results reads among
  const int64_t padded_bytes_;        // of a group's part of a row
  std::vector<float> bias_;           // of halves
};

}  // namespace

bool takes_rows(const ConvolutionArgs& args) {
  const ConvDim& w = args.dims[2];
  const int64_t x_channels = args.x_channels / args.groups;
  const int64_t y_channels = args.y_channels / args.groups;
  return w.dilation == 1 && std::min(w.input, w.output) >= kLeastWidth &&
         x_channels * y_channels <= (is_half(args.dtype) ? kMostHalfChannels : kMostChannels);
}

bool takes_rows_transposed(const ConvolutionArgs& args) {
  for (const ConvDim& dim : args.dims) {
    if (dim.stride != 1) return false;
  }
  return takes_rows(args) && args.dims[2].padding < args.dims[2].kernel;
}

void convolution_by_rows(const ConvolutionArgs& args, bool transposed) {
  ConvolutionByRows(args, transposed).convolve();
}
void weight_gradient_by_rows(const ConvolutionArgs& args) {
  ConvolutionByRows(args, false).weight_gradient();
}

}  // namespace aorta::cpu
