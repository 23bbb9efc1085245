#pragma once

// Sorting of items: blocks sort tiles of lines in shared memory, and passes merge runs two by two,
// each item finding its rank in the other run; no more than what is taken is kept of a run. An
// Order says what an item is, which of two comes first, and last(), which comes after all:
// any two items differ, so that the order is that of a stable sort. A Source has the items:
// item(line, place).

#include <aorta/core/integers.h>
#include <aorta/cuda/group.cuh>

#include <bit>
#include <memory>

namespace aorta::cuda {

inline constexpr int kTile = 1024;

/// Keys and places of 32 bits as one number.
struct PackedOrder {
  using Item = uint64_t;
  using Key = uint32_t;
  static __device__ __forceinline__ Item make(Key key, int64_t place) {
    return static_cast<uint64_t>(key) << 32 | static_cast<uint32_t>(place);
  }
  static __device__ __forceinline__ Key key(Item item) { return static_cast<Key>(item >> 32); }
  static __device__ __forceinline__ int64_t place(Item item) {
    return static_cast<int64_t>(item & 0xffffffffu);
  }
  static __device__ __forceinline__ Item last() { return ~uint64_t{0}; }
  __device__ __forceinline__ bool less(Item a, Item b) const { return a < b; }
};

/// Keys or places of 64 bits.
struct WideItem {
  uint64_t key, place;
};
struct WideOrder {
  using Item = WideItem;
  using Key = uint64_t;
  static __device__ __forceinline__ Item make(Key key, int64_t place) {
    return {key, static_cast<uint64_t>(place)};
  }
  static __device__ __forceinline__ Key key(const Item& item) { return item.key; }
  static __device__ __forceinline__ int64_t place(const Item& item) {
    return static_cast<int64_t>(item.place);
  }
  static __device__ __forceinline__ Item last() { return {~uint64_t{0}, ~uint64_t{0}}; }
  __device__ __forceinline__ bool less(const Item& a, const Item& b) const {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }
};

/// Runs of `kept` items each, `runs` a line; what a line lacks is filled up with last().
struct RunLayout {
  int64_t lines, runs, kept;
};

/// Each block sorts tiles of `size` items, a power of two: a bitonic network.
template <class Order, class Source>
__global__ void __launch_bounds__(kThreads)
    sort_tiles_kernel(const Order order, const __grid_constant__ Source source, int64_t length,
                      int size, RunLayout layout, typename Order::Item* out) {
  using Item = typename Order::Item;
  AORTA_SHARED(Item, tile, [kTile]);
  const int threads = static_cast<int>(blockDim.x), me = static_cast<int>(threadIdx.x);
  for (int64_t run = blockIdx.x; run < layout.lines * layout.runs; run += gridDim.x) {
    const int64_t line = run / layout.runs, first = run % layout.runs * size;
    for (int i = me; i < size; i += threads)
      tile[i] = first + i < length ? source.item(line, first + i) : Order::last();
    __syncthreads();
    for (int sorted = 2; sorted <= size; sorted *= 2) {
      for (int step = sorted / 2; step > 0; step /= 2) {
        for (int t = me; t < size / 2; t += threads) {
          const int i = 2 * t - (t & (step - 1)), j = i + step;
          const Item a = tile[i], b = tile[j];
          if (order.less(b, a) == ((i & sorted) == 0)) {
            tile[i] = b;
            tile[j] = a;
          }
        }
        __syncthreads();
      }
    }
    for (int i = me; i < layout.kept; i += threads) out[run * layout.kept + i] = tile[i];
    __syncthreads();
  }
}

/// Merges runs two by two, an item a thread. Of equals, which are last() alone, the left run's come
/// first.
template <class Order>
__global__ void __launch_bounds__(kThreads)
    merge_runs_kernel(const Order order, const typename Order::Item* in, RunLayout from,
                      typename Order::Item* out, RunLayout to) {
  using Item = typename Order::Item;
  for (int64_t i = first_item(); i < from.lines * from.runs * from.kept; i += item_step()) {
    const int64_t run = i / from.kept % from.runs, line = i / from.kept / from.runs;
    const Item item = in[i];
    const int64_t place = i % from.kept;
    Item* const merged = out + (line * to.runs + run / 2) * to.kept;
    int64_t rank = place;
    if ((run ^ 1) < from.runs) {
      const Item* const other = in + (line * from.runs + (run ^ 1)) * from.kept;
      int64_t low = 0, high = from.kept;
      while (low < high) {
        const int64_t middle = (low + high) / 2;
        const bool before =
            run % 2 ? !order.less(item, other[middle]) : order.less(other[middle], item);
        if (before) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      rank += low;
    } else if (place + from.kept < to.kept) {
      merged[place + from.kept] = Order::last();
    }
    if (rank < to.kept) merged[rank] = item;
  }
}

/// The first `take` items of lines in order, line after line.
template <class Order, class Source>
std::unique_ptr<Workspace> sort_items(const char* op, const Order& order, const Source& source,
                                      int64_t lines, int64_t length, int64_t take,
                                      const LaunchSite& site) {
  using Item = typename Order::Item;
  const auto memory = [&](const RunLayout& layout) {
    return std::make_unique<Workspace>(
        layout.lines * layout.runs * layout.kept * int64_t{sizeof(Item)}, site.device());
  };
  const int size =
      static_cast<int>(std::min<uint64_t>(std::bit_ceil(static_cast<uint64_t>(length)), kTile));
  RunLayout layout{lines, divide_up(length, size), std::min<int64_t>(size, take)};
  auto items = memory(layout);
  const unsigned threads = static_cast<unsigned>(std::clamp(size / 2, 32, kThreads));
  launch(op, sort_tiles_kernel<Order, Source>, grid_of(lines * layout.runs), threads, site.stream(),
         order, source, length, size, layout, items->template as<Item>());
  while (layout.runs > 1) {
    const RunLayout next{lines, divide_up(layout.runs, 2), std::min(2 * layout.kept, take)};
    auto merged = memory(next);
    launch(op, merge_runs_kernel<Order>, site.blocks(layout.lines * layout.runs * layout.kept),
           kThreads, site.stream(), order, items->template as<const Item>(), layout,
           merged->template as<Item>(), next);
    items = std::move(merged);
    layout = next;
  }
  return items;
}

}  // namespace aorta::cuda
