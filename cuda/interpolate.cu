#include <aorta/core/body/interpolate.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/interpolate.h>
#include <aorta/core/recording.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>

#include <algorithm>
#include <array>
#include <optional>

namespace aorta::cuda {
namespace {

using body::InterpolateArgs;
using body::InterpolateMap;

/// An InterpolateMap on the device, its weights in the type of the sums.
template <class C>
struct DeviceMap {
  int64_t input, output;
  int32_t *first, *index;
  C* weight;
};

/// V neighbouring channels of output i: weighted sums along depth and height of what the width's
/// terms read, and theirs; the CPU's order.
template <class T, int V>
struct InterpolateBody {
  using C = ComputeType<T>;
  DeviceMap<C> depth, height, width;
  int64_t inner;
  const T* input;
  T* output;

  __device__ __forceinline__ void operator()(int64_t i) const {
    const int64_t channel = i % (inner / V) * V;
    int64_t rest = i / (inner / V);
    const int64_t x = rest % width.output;
    rest /= width.output;
    const int64_t y = rest % height.output;
    rest /= height.output;
    const int64_t z = rest % depth.output, plane = rest / depth.output * depth.input;
    C sum[V] = {}, term[V];
    for (int32_t k = width.first[x]; k < width.first[x + 1]; ++k) {
      sum_column(plane, z, y, int64_t{width.index[k]} * inner + channel, term);
      const bool first = k == width.first[x];
#pragma unroll
      for (int j = 0; j < V; ++j) {
        const C weighted = width.weight[k] * term[j];
        sum[j] = first ? weighted : sum[j] + weighted;
      }
    }
    write_block<T, V>(output + i * V, sum, V, true);
  }

  /// The sums of a column's terms.
  __device__ __forceinline__ void sum_column(int64_t plane, int64_t z, int64_t y, int64_t column,
                                             C (&sum)[V]) const {
    for (int j = 0; j < V; ++j) sum[j] = 0;
    bool first = true;
    C value[V];
    for (int32_t i = depth.first[z]; i < depth.first[z + 1]; ++i) {
#pragma unroll 1  // there are a few terms at most, and unrolled they fill the registers
      for (int32_t j = height.first[y]; j < height.first[y + 1]; ++j) {
        const int64_t row = (plane + depth.index[i]) * height.input + height.index[j];
        const C weight = depth.weight[i] * height.weight[j];
        read_block<T, V>(value, input + row * width.input * inner + column, V, true);
#pragma unroll
        for (int c = 0; c < V; ++c) {
          const C term = weight * value[c];
          sum[c] = first ? term : sum[c] + term;
        }
        first = false;
      }
    }
  }
};

/// The tables of the three dimensions on the device, copied there without a wait; those of a
/// captured step lie there for all launches.
template <class C>
class DeviceTables {
 public:
  DeviceTables(const InterpolateArgs& args, int device) {
    const int64_t bytes = bytes_of(args);
    if (kernel::Recording* const recording = kernel::Recording::current()) {
      const Tensor host(Storage::allocate(bytes, Device()), DType::u8, {bytes}, {1}, 0);
      fill(args, lay_out(args, host.data()));
      maps_ = lay_out(args, recording->constant(host).data());
      return;
    }
    memory_.emplace(bytes, device);
    const Staging staging(bytes);
    fill(args, lay_out(args, staging.data));
    maps_ = lay_out(args, memory_->data());
    cuda_backend().copy(memory_->data(), {DeviceType::cuda, device}, staging.data, {}, bytes, true);
  }
  const DeviceMap<C>& operator[](size_t d) const { return maps_[d]; }

 private:
  static constexpr int64_t kAlignment = 16;

  // The tables one behind the other.
  static std::array<DeviceMap<C>, 3> lay_out(const InterpolateArgs& args, void* memory) {
    char* at = static_cast<char*>(memory);
    const auto place = [&]<class V>(V*& where, int64_t count) {
      where = reinterpret_cast<V*>(at);
      at += round_up(count * static_cast<int64_t>(sizeof(V)), kAlignment);
    };
    std::array<DeviceMap<C>, 3> maps;
    for (size_t d = 0; d < 3; ++d) {
      const InterpolateMap& map = args.dims[d];
      const int64_t terms = map.first[map.output];
      maps[d].input = map.input;
      maps[d].output = map.output;
      place(maps[d].first, map.output + 1);
      place(maps[d].index, terms);
      place(maps[d].weight, terms);
    }
    return maps;
  }

  static void fill(const InterpolateArgs& args, const std::array<DeviceMap<C>, 3>& host) {
    for (size_t d = 0; d < 3; ++d) {
      const InterpolateMap& map = args.dims[d];
      const int64_t terms = map.first[map.output];
      std::copy_n(map.first, map.output + 1, host[d].first);
      std::copy_n(map.index, terms, host[d].index);
      for (int64_t k = 0; k < terms; ++k) host[d].weight[k] = static_cast<C>(map.weight[k]);
    }
  }

  // Page-locked memory, given back in the order of the stream that copies from it.
  struct Staging {
    explicit Staging(int64_t size) : data(cuda_backend().allocate_pinned(size)), bytes(size) {}
    ~Staging() { cuda_backend().deallocate_pinned(data, bytes); }
    Staging(const Staging&) = delete;
    Staging& operator=(const Staging&) = delete;
    void* data;
    int64_t bytes;
  };

  static int64_t bytes_of(const InterpolateArgs& args) {
    int64_t bytes = 0;
    for (const InterpolateMap& map : args.dims) {
      const int64_t terms = map.first[map.output];
      bytes += round_up((map.output + 1) * 4, kAlignment) + round_up(terms * 4, kAlignment) +
               round_up(terms * static_cast<int64_t>(sizeof(C)), kAlignment);
    }
    return bytes;
  }

  std::optional<Workspace> memory_;
  std::array<DeviceMap<C>, 3> maps_;
};

void interpolate_kernel(const InterpolateArgs& args) {
  int64_t count = args.outer * args.inner;
  for (const InterpolateMap& map : args.dims) count *= map.output;
  const LaunchSite site(args.output);
  visit_floating(args.dtype, [&](auto type) {
    using T = decltype(type);
    const DeviceTables<ComputeType<T>> maps(args, site.device());
    const auto run = [&]<int V>(std::integral_constant<int, V>) {
      for_each(
          "interpolate", args.output, count / V,
          InterpolateBody<T, V>{maps[0], maps[1], maps[2], args.inner,
                                static_cast<const T*>(args.input), static_cast<T*>(args.output)});
    };
    constexpr int V = kBlock<T>;
    const bool whole = args.inner % V == 0 && is_vector_aligned<T, V>(args.input) &&
                       is_vector_aligned<T, V>(args.output);
    whole ? run(std::integral_constant<int, V>()) : run(std::integral_constant<int, 1>());
  });
}

}  // namespace

void register_interpolate() { set_kernel<interpolate_op, interpolate_kernel>(); }

}  // namespace aorta::cuda
