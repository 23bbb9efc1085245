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

// Where packing costs more than it gains: measured.
constexpr int64_t kLeastWidth = 8;
constexpr int64_t kMostChannels = 4096;  // x's times y's
// Ranges of rows with sums of their own, at most.
constexpr int64_t kParts = 16;

void multiply(const Gemm& product) {
  for_isa(v2::gemm_direct, v3::gemm_direct, v4::gemm_direct)(product);
}

// A dimension as a pass over it sees it: what it reads is the input.
ConvDim seen(const ConvDim& dim, bool transposed) {
  if (!transposed) return dim;
  ConvDim back = dim;
  std::swap(back.input, back.output);
  back.padding = dim.dilation * (dim.kernel - 1) - dim.padding;
  return back;
}

// What y, x and w have in common. Read are rows of x, or of y for the transposed convolution, whose
// taps count from the end.
class Rows {
 public:
  Rows(const ConvolutionArgs& args, bool transposed)
      : args_(args),
        transposed_(transposed),
        d_(seen(args.dims[0], transposed)),
        h_(seen(args.dims[1], transposed)),
        w_(seen(args.dims[2], transposed)),
        item_(item_size(args.dtype)),
        channels_(transposed ? args.y_channels : args.x_channels),
        results_(transposed ? args.x_channels : args.y_channels),
        columns_(w_.kernel * channels_),
        taps_(d_.kernel * h_.kernel),
        padded_bytes_(((w_.output - 1) * w_.stride + w_.kernel) * channels_ * item_) {}

  void map() const {
    const Scratch weights(taps_ * columns_ * results_ * item_);
    args_.dtype == DType::f64 ? lay_out<double>(weights.data()) : lay_out<float>(weights.data());
    const int64_t work = taps_ * columns_ * results_ * w_.output;
    // Rows that results side by side read, and their numbers.
    const int64_t kept = (h_.kernel - 1) * h_.dilation + 1, slots = d_.kernel * kept;
    parallel_for(0, args_.batch * d_.output * h_.output, divide_up(kTaskWork, work),
                 [&](int64_t begin, int64_t end) {
                   const Padded padded(slots * padded_bytes_);
                   std::vector<int64_t> numbers(static_cast<size_t>(slots), -1);
                   for (int64_t row = begin; row < end; ++row)
                     map_row(row, weights.data(), padded.data(), kept, numbers.data());
                 });
  }

  void weight() const {
    const int64_t rows = args_.batch * d_.input * h_.input, size = results_ * taps_ * columns_;
    const int64_t parts = std::min(rows, kParts);
    const Scratch sums(parts * size * item_);
    parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
      const Padded padded(padded_bytes_);
      for (int64_t part = begin; part < end; ++part) {
        char* const mine = sums.data() + part * size * item_;
        std::memset(mine, 0, static_cast<size_t>(size * item_));
        const Range range = part_of(rows, parts, part);
        for (int64_t row = range.begin; row < range.end; ++row) add_row(row, padded.data(), mine);
      }
    });
    args_.dtype == DType::f64 ? add_parts<double>(sums.data(), parts, size)
                              : add_parts<float>(sums.data(), parts, size);
  }

 private:
  // Memory for rows with zeros around.
  struct Padded : Scratch {
    explicit Padded(int64_t bytes) : Scratch(bytes) {
      std::memset(data(), 0, static_cast<size_t>(bytes));
    }
  };

  // A row of what is read as the results read it, with zeros around.
  const char* padded_row(int64_t row, char* padded) const {
    const char* const source = static_cast<const char*>(transposed_ ? args_.y : args_.x) +
                               row * w_.input * channels_ * item_;
    if (w_.padding == 0) return source;
    const int64_t before = w_.padding * channels_ * item_;
    const int64_t bytes = std::min(w_.input * channels_ * item_, padded_bytes_ - before);
    if (bytes > 0) std::memcpy(padded + before, source, static_cast<size_t>(bytes));
    return padded;
  }

  // [row of the kernel][tap and channel][result]
  template <class T>
  void lay_out(char* to) const {
    const T* const w = static_cast<const T*>(args_.w);
    const int64_t of_channel = transposed_ ? args_.w_y : args_.w_x;
    const int64_t of_result = transposed_ ? args_.w_x : args_.w_y;
    const auto tap = [&](const ConvDim& dim, int64_t t) {
      return transposed_ ? dim.kernel - 1 - t : t;
    };
    T* next = reinterpret_cast<T*>(to);
    for (int64_t i = 0; i < d_.kernel; ++i) {
      for (int64_t j = 0; j < h_.kernel; ++j) {
        for (int64_t k = 0; k < w_.kernel; ++k) {
          const T* const from = w + tap(d_, i) * args_.w_dims[0] + tap(h_, j) * args_.w_dims[1] +
                                tap(w_, k) * args_.w_dims[2];
          for (int64_t c = 0; c < channels_; ++c) {
            for (int64_t r = 0; r < results_; ++r) *next++ = from[c * of_channel + r * of_result];
          }
        }
      }
    }
  }

  void map_row(int64_t row, const char* weights, char* padded, int64_t kept,
               int64_t* numbers) const {
    const int64_t image = row / (d_.output * h_.output);
    const int64_t bytes = w_.output * results_ * item_;
    char* const target = static_cast<char*>(transposed_ ? args_.x : args_.y) + row * bytes;
    Gemm product;
    product.dtype = args_.dtype;
    product.m = w_.output;
    product.n = product.b_row = product.ldc = results_;
    product.k = columns_;
    product.a_row = w_.stride * channels_;
    product.a_column = product.b_column = 1;
    product.c = target;
    if (args_.bias) {
      for (int64_t at = 0; at < bytes; at += results_ * item_)
        std::memcpy(target + at, args_.bias, static_cast<size_t>(results_ * item_));
      product.accumulate = true;
    }
    for (int64_t i = 0; i < d_.kernel; ++i) {
      const int64_t plane = row / h_.output % d_.output * d_.stride - d_.padding + i * d_.dilation;
      if (plane < 0 || plane >= d_.input) continue;
      for (int64_t j = 0; j < h_.kernel; ++j) {
        const int64_t line = row % h_.output * h_.stride - h_.padding + j * h_.dilation;
        if (line < 0 || line >= h_.input) continue;
        const int64_t number = (image * d_.input + plane) * h_.input + line;
        const int64_t slot = i * kept + line % kept;
        char* const mine = padded + slot * padded_bytes_;
        product.a = w_.padding > 0 && numbers[slot] == number ? mine : padded_row(number, mine);
        numbers[slot] = number;
        product.b = weights + (i * h_.kernel + j) * columns_ * results_ * item_;
        multiply(product);
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
  void add_row(int64_t row, char* padded, char* sums) const {
    const int64_t image = row / (d_.input * h_.input), plane = row / h_.input % d_.input;
    Gemm product;
    product.dtype = args_.dtype;
    product.m = product.a_column = results_;
    product.n = columns_;
    product.k = w_.output;
    product.a_row = product.b_column = 1;
    product.b = padded_row(row, padded);
    product.b_row = w_.stride * channels_;
    product.ldc = taps_ * columns_;
    product.accumulate = true;
    for (int64_t i = 0; i < d_.kernel; ++i) {
      const int64_t y_plane = reader(d_, plane, i);
      if (y_plane < 0) continue;
      for (int64_t j = 0; j < h_.kernel; ++j) {
        const int64_t y_row = reader(h_, row % h_.input, j);
        if (y_row < 0) continue;
        const int64_t y = ((image * d_.output + y_plane) * h_.output + y_row) * w_.output;
        product.a = static_cast<const char*>(args_.y) + y * results_ * item_;
        product.c = sums + (i * h_.kernel + j) * columns_ * item_;
        multiply(product);
      }
    }
  }

  template <class T>
  void add_parts(const char* sums, int64_t parts, int64_t size) const {
    const T* const part = reinterpret_cast<const T*>(sums);
    T* const w = static_cast<T*>(args_.w);
    parallel_for(0, size, divide_up(kThreadGrain, parts), [&](int64_t begin, int64_t end) {
      std::copy(part + begin, part + end, w + begin);
      for (int64_t p = 1; p < parts; ++p) {
        for (int64_t i = begin; i < end; ++i) w[i] += part[p * size + i];
      }
    });
  }

  const ConvolutionArgs& args_;
  const bool transposed_;
  const ConvDim d_, h_, w_;
  const int64_t item_, channels_, results_;  // bytes of a number; channels read and made
  const int64_t columns_, taps_;             // of a row of the kernel, and its rows
  const int64_t padded_bytes_;               // of a row
};

}  // namespace

bool takes_rows(const ConvolutionArgs& args) {
  const ConvDim& w = args.dims[2];
  return !is_half(args.dtype) && args.groups == 1 && w.dilation == 1 &&
         std::min(w.input, w.output) >= kLeastWidth &&
         args.x_channels * args.y_channels <= kMostChannels;
}

bool takes_rows_transposed(const ConvolutionArgs& args) {
  for (const ConvDim& dim : args.dims) {
    if (dim.stride != 1) return false;
  }
  return takes_rows(args) && args.dims[2].padding < args.dims[2].kernel;
}

void map_by_rows(const ConvolutionArgs& args, bool transposed) { Rows(args, transposed).map(); }
void weight_by_rows(const ConvolutionArgs& args) { Rows(args, false).weight(); }

}  // namespace aorta::cpu
