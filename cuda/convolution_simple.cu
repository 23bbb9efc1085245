#include <aorta/core/body/item.h>
#include <aorta/core/body/window.h>
#include <aorta/core/integers.h>
#include <aorta/core/scalar/math.h>
#include <aorta/cuda/convolution_kernels.h>
#include <aorta/cuda/convolution_shape.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {
namespace {

using kernel::ConvDim;
using kernel::ConvolutionArgs;

int64_t taps_of(const ConvolutionArgs& args) {
  return args.dims[0].kernel * args.dims[1].kernel * args.dims[2].kernel;
}

/// Where `position` of the result reads with a tap; -1 for nowhere.
__device__ __forceinline__ int64_t source_of(const ConvDim& dim, int64_t position, int64_t tap,
                                             bool transposed) {
  if (!transposed) {
    const int64_t at = position * dim.stride - dim.padding + tap * dim.dilation;
    return at >= 0 && at < dim.input ? at : -1;
  }
  const int64_t at = position + dim.padding - tap * dim.dilation;
  return at >= 0 && at % dim.stride == 0 && at / dim.stride < dim.output ? at / dim.stride : -1;
}

/// Element i of y or of x: a sum over taps and channels.
template <class T>
struct SideBody {
  ConvolutionArgs args;
  bool transposed;

  __device__ __forceinline__ void operator()(int64_t i) const {
    using C = ComputeType<T>;
    const int64_t all = transposed ? args.x_channels : args.y_channels;
    const int64_t sources = transposed ? args.y_channels : args.x_channels;
    const int64_t column = i % all, channels = sources / args.groups;
    const int64_t group = column / (all / args.groups);
    int64_t position[3], image = i / all;
    for (int d = 2; d >= 0; --d) {
      const int64_t size = transposed ? args.dims[d].input : args.dims[d].output;
      position[d] = image % size;
      image /= size;
    }
    const T* const source = static_cast<const T*>(transposed ? args.y : args.x) + group * channels;
    const int64_t w_step = transposed ? args.w_y : args.w_x;
    const T* const w =
        static_cast<const T*>(args.w) +
        (transposed ? group * channels * args.w_y + column % (all / args.groups) * args.w_x
                    : column * args.w_y);
    C sum = 0;
    each_tap(position, [&](int64_t place, int64_t tap) {
      const T* const x = source + (image * source_positions() + place) * sources;
      for (int64_t c = 0; c < channels; ++c)
        sum = scalar::fma(load<C, T>(x + c), load<C, T>(w + tap + c * w_step), sum);
    });
    if (args.bias) sum += load<C, T>(static_cast<const T*>(args.bias) + column);
    store<T>(static_cast<T*>(transposed ? args.x : args.y) + i, sum);
  }

  __device__ __forceinline__ int64_t source_size(int d) const {
    return transposed ? args.dims[d].output : args.dims[d].input;
  }
  __device__ __forceinline__ int64_t source_positions() const {
    return source_size(0) * source_size(1) * source_size(2);
  }

  /// f(place in the source's image, offset of the tap in w) for the taps that read inside.
  template <class F>
  __device__ __forceinline__ void each_tap(const int64_t* position, const F& f) const {
    const ConvDim* const d = args.dims;
    for (int64_t i = 0; i < d[0].kernel; ++i) {
      const int64_t z = source_of(d[0], position[0], i, transposed);
      if (z < 0) continue;
      for (int64_t j = 0; j < d[1].kernel; ++j) {
        const int64_t y = source_of(d[1], position[1], j, transposed);
        if (y < 0) continue;
        for (int64_t k = 0; k < d[2].kernel; ++k) {
          const int64_t x = source_of(d[2], position[2], k, transposed);
          if (x < 0) continue;
          f((z * source_size(1) + y) * source_size(2) + x,
            i * args.w_dims[0] + j * args.w_dims[1] + k * args.w_dims[2]);
        }
      }
    }
  }
};

/// Number i of (slice, tap, channel of x, channel of y): a sum over a slice of the positions that
/// the tap meets the image at.
template <class T>
struct WeightBody {
  ConvolutionArgs args;
  int64_t slices;
  ComputeType<T>* partial;  // null: there is one slice

  __device__ __forceinline__ void operator()(int64_t i) const {
    using C = ComputeType<T>;
    const ConvDim* const d = args.dims;
    const int64_t channels = args.x_channels / args.groups;
    const int64_t row = i % args.y_channels, channel = i / args.y_channels % channels;
    const int64_t group = row / (args.y_channels / args.groups);
    const int64_t taps = d[0].kernel * d[1].kernel * d[2].kernel;
    const int64_t number = i / args.y_channels / channels, tap = number % taps;
    const int64_t slice = number / taps;
    const int64_t tap_at[] = {tap / d[2].kernel / d[1].kernel, tap / d[2].kernel % d[1].kernel,
                              tap % d[2].kernel};
    body::WindowRange box[3];
    int64_t positions = args.batch;
    for (int e = 0; e < 3; ++e) {
      box[e] = body::positions_reading(d[e], tap_at[e]);
      positions *= box[e].first < box[e].end ? box[e].end - box[e].first : 0;
    }
    const int64_t each = divide_up(positions, slices);
    const int64_t end = min((slice + 1) * each, positions);
    C sum = 0;
    for (int64_t at = slice * each; at < end; ++at) {
      int64_t rest = at, place[3];
      for (int e = 2; e >= 0; --e) {
        const int64_t count = box[e].end - box[e].first;
        place[e] = box[e].first + rest % count;
        rest /= count;
      }
      int64_t x = rest, y = rest;
      for (int e = 0; e < 3; ++e) {
        x = x * d[e].input + place[e] * d[e].stride - d[e].padding + tap_at[e] * d[e].dilation;
        y = y * d[e].output + place[e];
      }
      const C left = load<C, T>(static_cast<const T*>(args.y) + y * args.y_channels + row);
      const C right = load<C, T>(static_cast<const T*>(args.x) + x * args.x_channels +
                                 group * channels + channel);
      sum = scalar::fma(left, right, sum);
    }
    const int64_t to = (row * taps + tap) * channels + channel;
    if (partial) {
      partial[slice * args.y_channels * taps * channels + to] = sum;
    } else {
      store<T>(static_cast<T*>(args.w) + to, sum);
    }
  }
};

template <class T>
struct JoinBody {
  const ComputeType<T>* partial;
  T* w;
  int64_t slices, size;

  __device__ __forceinline__ void operator()(int64_t i) const {
    ComputeType<T> sum = partial[i];
    for (int64_t s = 1; s < slices; ++s) sum += partial[s * size + i];
    store<T>(w + i, sum);
  }
};

template <class Item>
struct PackBody {
  ConvolutionArgs args;
  bool transposed;
  int64_t channels, columns, padded;
  Item* packed;

  __device__ __forceinline__ void operator()(int64_t i) const {
    const ConvDim* const d = args.dims;
    const int64_t column = i % padded;
    int64_t rest = i / padded;
    const int64_t channel = rest % channels;
    rest /= channels;
    int64_t from = 0;
    for (int e = 2; e >= 0; --e) {
      from += rest % d[e].kernel * args.w_dims[e];
      rest /= d[e].kernel;
    }
    // What is left is the group, whose channels of y are w's rows.
    from += transposed ? (rest * channels + channel) * args.w_y + column * args.w_x
                       : (rest * columns + column) * args.w_y + channel * args.w_x;
    packed[i] = column < columns ? static_cast<const Item*>(args.w)[from] : Item(0);
  }
};

}  // namespace

void convolution_side_simple(const char* op, const ConvolutionArgs& args, bool transposed) {
  int64_t count = args.batch * (transposed ? args.x_channels : args.y_channels);
  for (const ConvDim& dim : args.dims) count *= transposed ? dim.input : dim.output;
  visit_floating(args.dtype, [&](auto type) {
    for_each(op, transposed ? args.x : args.y, count, SideBody<decltype(type)>{args, transposed});
  });
}

void convolution_weight_simple(const ConvolutionArgs& args) {
  const int64_t size = args.y_channels * taps_of(args) * (args.x_channels / args.groups);
  int64_t positions = args.batch;
  for (const ConvDim& dim : args.dims) positions *= dim.output;
  const int64_t slices = thread_slices(size, positions);
  const SliceSums sums(slices, size, args.dtype, device_of(args.w));
  visit_floating(args.dtype, [&](auto type) {
    using T = decltype(type);
    for_each("convolution_weight", args.w, slices * size,
             WeightBody<T>{args, slices, static_cast<ComputeType<T>*>(sums.data())});
  });
  sums.join(args.w);
}

void pack_weights(const char* op, const ConvolutionArgs& args, bool transposed, int64_t columns,
                  void* packed) {
  const int64_t x = args.x_channels / args.groups, y = args.y_channels / args.groups;
  const int64_t channels = transposed ? y : x;
  body::visit_item(item_size(args.dtype), [&](auto item) {
    using Item = decltype(item);
    for_each(op, packed, args.groups * taps_of(args) * channels * columns,
             PackBody<Item>{args, transposed, channels, transposed ? x : y, columns,
                            static_cast<Item*>(packed)});
  });
}

SliceSums::SliceSums(int64_t slices, int64_t size, DType dtype, int device)
    : slices_(slices),
      size_(size),
      dtype_(dtype),
      sums_(slices > 1 ? slices * size * (dtype == DType::f64 ? 8 : 4) : 0, device) {}

void SliceSums::join(void* w) const {
  if (slices_ == 1) return;
  visit_floating(dtype_, [&](auto type) {
    using T = decltype(type);
    for_each("convolution_weight", w, size_,
             JoinBody<T>{static_cast<const ComputeType<T>*>(sums_.data()), static_cast<T*>(w),
                         slices_, size_});
  });
}

}  // namespace aorta::cuda
