#include <aorta/core/cpu/indexing.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <vector>

namespace aorta::cpu {
namespace {

using body::IndexedArgs;
using body::ScatterMode;

// Narrows dimension `d` to [begin, end).
IndexedArgs part(const IndexedArgs& args, int d, int64_t begin, int64_t end) {
  const int64_t item = item_size(args.dtype);
  IndexedArgs result = args;
  result.shape[d] = end - begin;
  result.numel = args.numel / args.shape[d] * (end - begin);
  result.values = static_cast<char*>(args.values) + begin * args.values_strides[d] * item;
  result.table = static_cast<char*>(args.table) + begin * args.table_strides[d] * item;
  for (int k = 0; k < args.indices; ++k) result.index[k] += begin * args.index_strides[k][d];
  return result;
}

// The dimension that threads share: the outermost that is long enough, else the longest; for a
// write a free one, so that each element has one thread, which sees its values in order. -1: none.
int shared_dimension(const IndexedArgs& args, bool write) {
  int longest = -1;
  for (int d = args.ndim - 1; d >= 0; --d) {
    if (write && args.table_strides[d] == 0) continue;
    if (args.shape[d] >= 16) return d;
    if (longest < 0 || args.shape[d] > args.shape[longest]) longest = d;
  }
  return longest;
}

template <class Run>
void run_shared(const IndexedArgs& given, bool write, const Run& run) {
  IndexedArgs args = given;
  if (args.ndim == 0) {
    args.ndim = 1;
    args.shape[0] = 1;
    args.values_strides[0] = args.table_strides[0] = 0;
    for (int k = 0; k < args.indices; ++k) args.index_strides[k][0] = 0;
  }
  const int d = shared_dimension(args, write);
  if (d < 0 || args.numel <= kThreadGrain) return run(args);
  // Whole cache lines of the innermost dimension, so that threads don't share them.
  const int64_t least = d == 0 ? 64 : 1;
  const int64_t grain = std::max(kThreadGrain / (args.numel / args.shape[d]), least);
  parallel_for(0, args.shape[d], grain,
               [&](int64_t begin, int64_t end) { run(part(args, d, begin, end)); });
}

void gather_kernel(const IndexedArgs& args) {
  const auto gather = index_loops().gather;
  const bool stream = should_stream(args.numel * item_size(args.dtype));
  run_shared(args, false, [&](const IndexedArgs& share) {
    gather(share, stream);
    if (stream) stream_fence();
  });
}

void scatter_kernel(const IndexedArgs& args, ScatterMode mode) {
  const auto scatter = index_loops().scatter;
  run_shared(args, true, [&](const IndexedArgs& share) { scatter(share, mode); });
}

int64_t find_bad_index(const Tensor& index, int64_t lowest, int64_t size, int64_t* inside) {
  const auto any_outside = index_loops().any_outside;
  const int64_t* const data = index.data<int64_t>();
  const int64_t n = index.numel();
  std::atomic<bool> found = false;
  parallel_for(0, n, kThreadGrain, [&](int64_t begin, int64_t end) {
    if (any_outside(data + begin, end - begin, lowest, size)) found = true;
  });
  if (!found) {
    parallel_for(0, inside ? n : 0, kThreadGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) inside[i] = data[i] < 0 ? data[i] + size : data[i];
    });
    return -1;
  }
  return std::find_if(data, data + n, [&](int64_t i) { return i < lowest || i >= size; }) - data;
}

template <class T>
bool is_set(const T& x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return static_cast<float>(x) != 0;
  } else {
    return x != T(0);
  }
}

// Writes the positions of the `count` elements from `begin` on that aren't 0. Every element is
// written and only those are kept: random masks would defeat branch prediction.
template <class T>
void write_positions(const T* data, const Shape& shape, int64_t begin, int64_t count,
                     int64_t* out) {
  const int n = shape.size();
  int64_t at[kMaxDims];
  int64_t rest = begin;
  for (int d = n - 1; d >= 0; --d) {
    at[d] = rest % shape[d];
    rest /= shape[d];
  }
  for (int64_t i = begin; count > 0;) {
    for (int64_t& last = at[n - 1]; last < shape[n - 1] && count > 0; ++last, ++i) {
      for (int d = 0; d < n; ++d) out[d] = at[d];
      const bool keep = is_set(data[i]);
      out += keep ? n : 0;
      count -= keep;
    }
    at[n - 1] = 0;
    for (int d = n - 2; d >= 0 && ++at[d] == shape[d]; --d) at[d] = 0;
  }
}

// Counts by chunk, then every chunk writes from where the ones before it end.
template <class T>
Tensor find_nonzero(const Tensor& input) {
  const T* const data = static_cast<const T*>(input.data());
  const int64_t n = input.numel(), ndim = input.dim();
  std::vector<int64_t> first(static_cast<size_t>(n / kThreadGrain + 2), 0);
  parallel_for(0, n, kThreadGrain, [&](int64_t begin, int64_t end) {
    int64_t count = 0;
    for (int64_t i = begin; i < end; ++i) count += is_set(data[i]);
    first[static_cast<size_t>(begin / kThreadGrain) + 1] = count;
  });
  for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  Tensor output = empty({first.back(), ndim}, {.dtype = i64, .device = input.device()});
  if (ndim == 0) return output;
  int64_t* const positions = output.data<int64_t>();
  parallel_for(0, n, kThreadGrain, [&](int64_t begin, int64_t) {
    const size_t chunk = static_cast<size_t>(begin / kThreadGrain);
    write_positions(data, input.shape(), begin, first[chunk + 1] - first[chunk],
                    positions + first[chunk] * ndim);
  });
  return output;
}

Tensor nonzero_kernel(const Tensor& input) {
  return visit_dtype(input.dtype(), [&](auto type) { return find_nonzero<decltype(type)>(input); });
}

}  // namespace

void register_indexing() {
  set_indexing_kernels(DeviceType::cpu, gather_kernel, scatter_kernel, find_bad_index,
                       nonzero_kernel);
  cat_op.link();
}

}  // namespace aorta::cpu
