// Sorts and unique: keys of elements, or whole rows, as items that sort.cuh puts in order.
#include <aorta/core/body/item.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/scalar/sort_key.h>
#include <aorta/cuda/count.cuh>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/sort.cuh>

namespace aorta::cuda {
namespace {

/// The key of an element; `Key` has 32 bits for dtypes of at most as many.
template <class Key>
__device__ __forceinline__ Key key_at(const void* data, DType dtype, int64_t i) {
  const char* const at = static_cast<const char*>(data) + i * item_size(dtype);
  if constexpr (sizeof(Key) == 8) {
    if (dtype == DType::f64) return scalar::sort_key(load<double, double>(at));
    if (dtype == DType::i64) return scalar::sort_key(load<int64_t, int64_t>(at));
  }
  if (dtype == DType::i32) return scalar::sort_key(load<int32_t, int32_t>(at));
  if (dtype == DType::u8) return scalar::sort_key(load<uint8_t, uint8_t>(at));
  if (dtype == DType::boolean) return scalar::sort_key(load<bool, bool>(at));
  return scalar::sort_key(load<float>(at, dtype));
}

/// Places of rows, in the lexicographic order of these.
struct RowOrder {
  using Item = int64_t;
  const void* data;
  DType dtype;
  int64_t columns;
  static __device__ __forceinline__ int64_t place(Item item) { return item; }
  static __device__ __forceinline__ Item last() { return INT64_MAX; }
  __device__ __forceinline__ bool less(Item a, Item b) const {
    if (a == last() || b == last()) return a < b;
    for (int64_t c = 0; c < columns; ++c) {
      const uint64_t x = key_at<uint64_t>(data, dtype, a * columns + c);
      const uint64_t y = key_at<uint64_t>(data, dtype, b * columns + c);
      if (x != y) return x < y;
    }
    return a < b;
  }
};

/// Where items come from: the elements of lines,
template <class Order>
struct LineSource {
  const void* data;
  DType dtype;
  Lines lines;
  bool descending;
  __device__ __forceinline__ typename Order::Item item(int64_t line, int64_t place) const {
    const int64_t start = line / lines.inner * lines.length * lines.inner + line % lines.inner;
    const auto key = key_at<typename Order::Key>(data, dtype, start + place * lines.inner);
    return Order::make(descending ? ~key : key, place);
  }
};
/// items that are put into the order of their places,
template <class Order>
struct PlaceSource {
  const typename Order::Item* items;
  int64_t length;
  __device__ __forceinline__ typename Order::Item item(int64_t line, int64_t i) const {
    const int64_t place = Order::place(items[line * length + i]);
    return Order::make(static_cast<typename Order::Key>(place), place);
  }
};
/// or the numbers of rows.
struct RowSource {
  __device__ __forceinline__ int64_t item(int64_t, int64_t place) const { return place; }
};

/// Values, as unsigned integers U, and indices of sorted items.
template <class Order, class U>
__global__ void __launch_bounds__(kThreads)
    write_sorted_kernel(const typename Order::Item* items, const __grid_constant__ SortArgs args,
                        int64_t count) {
  const Lines& lines = args.lines;
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const int64_t written = args.take - args.skip, inner = i % lines.inner;
    const int64_t outer = i / lines.inner / written;
    const int64_t rank = args.skip + i / lines.inner % written;
    const int64_t place = Order::place(items[(outer * lines.inner + inner) * args.take + rank]);
    const U value =
        static_cast<const U*>(args.input)[(outer * lines.length + place) * lines.inner + inner];
    // A bool may be any byte in memory.
    static_cast<U*>(args.values)[i] =
        args.dtype == DType::boolean ? static_cast<U>(value != 0) : value;
    args.indices[i] = place;
  }
}

template <class Order>
void sort_by(const char* op, const SortArgs& args) {
  const LaunchSite site(args.values);
  const int64_t lines = args.lines.count(), count = lines * (args.take - args.skip);
  const LineSource<Order> source{args.input, args.dtype, args.lines, args.descending};
  auto items = sort_items(op, Order{}, source, lines, args.lines.length, args.take, site);
  if (!args.sorted) {
    const PlaceSource<Order> places{items->template as<const typename Order::Item>(), args.take};
    auto in_place = sort_items(op, Order{}, places, lines, args.take, args.take, site);
    items = std::move(in_place);
  }
  body::visit_item(item_size(args.dtype), [&](auto item) {
    launch(op, write_sorted_kernel<Order, decltype(item)>, site.blocks(count), kThreads,
           site.stream(), items->template as<const typename Order::Item>(), args, count);
  });
}

template <const auto& op>
void run_sort(const SortArgs& args) {
  if (args.lines.count() == 0 || args.take == 0) return;
  const bool packed = item_size(args.dtype) <= 4 && args.lines.length <= UINT32_MAX;
  packed ? sort_by<PackedOrder>(op.name(), args) : sort_by<WideOrder>(op.name(), args);
}

// ---- unique: rows in order; those that differ from the one before are the results.

template <class Order>
__global__ void __launch_bounds__(kThreads)
    write_places_kernel(const typename Order::Item* items, int64_t count, int64_t* places) {
  for (int64_t i = first_item(); i < count; i += item_step()) places[i] = Order::place(items[i]);
}

struct SortedRows {
  const void* data;
  DType dtype;
  int64_t rows, columns;
  const int64_t* order;

  /// Whether row i of the order differs from the one before; NaN differs from NaN.
  __device__ __forceinline__ bool is_new(int64_t i) const {
    if (i == 0) return true;
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t a = order[i - 1] * columns + c, b = order[i] * columns + c;
      if (key_at<uint64_t>(data, dtype, a) != key_at<uint64_t>(data, dtype, b)) return true;
      if (is_floating(dtype) &&
          scalar::isnan(load<double>(static_cast<const char*>(data) + b * item_size(dtype), dtype)))
        return true;
    }
    return false;
  }
  __device__ __forceinline__ int64_t count_new(int64_t first) const {
    int64_t count = 0;
    for (int64_t i = first; i < end_counted(first, rows); ++i) count += is_new(i);
    return count;
  }
};

__global__ void __launch_bounds__(kThreads)
    count_new_rows_kernel(const __grid_constant__ SortedRows rows, int64_t chunks,
                          int64_t* counts) {
  for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    int64_t total = 0;
    count_before(rows.count_new(first_counted(chunk)), total);
    if (threadIdx.x == 0) counts[chunk] = total;
  }
}

/// Where each group of equal rows starts in the order, and where the last one ends; the group of
/// each row, where `inverse` isn't null.
__global__ void __launch_bounds__(kThreads)
    write_groups_kernel(const __grid_constant__ SortedRows rows, int64_t chunks,
                        const int64_t* before, int64_t* starts, int64_t* inverse) {
  for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const int64_t first = first_counted(chunk);
    int64_t total = 0;
    int64_t next = before[chunk] + count_before(rows.count_new(first), total);
    for (int64_t i = first; i < end_counted(first, rows.rows); ++i) {
      if (rows.is_new(i)) starts[next++] = i;
      if (inverse) inverse[rows.order[i]] = next - 1;
      if (i + 1 == rows.rows) starts[next] = rows.rows;
    }
  }
}

/// The values of the groups, as unsigned integers U, and, where `counts` isn't null, their sizes.
template <class U>
__global__ void __launch_bounds__(kThreads)
    write_unique_kernel(const __grid_constant__ SortedRows rows, const int64_t* starts,
                        int64_t groups, U* values, int64_t* counts) {
  for (int64_t i = first_item(); i < groups * rows.columns; i += item_step()) {
    const int64_t group = i / rows.columns, c = i % rows.columns;
    const U value = static_cast<const U*>(rows.data)[rows.order[starts[group]] * rows.columns + c];
    values[i] = rows.dtype == DType::boolean ? static_cast<U>(value != 0) : value;
    if (counts && c == 0) counts[group] = starts[group + 1] - starts[group];
  }
}

template <class Order, class Source>
void order_rows(const Order& order, const Source& source, int64_t rows, int64_t* places,
                const LaunchSite& site) {
  const auto items = sort_items("unique", order, source, 1, rows, rows, site);
  launch("unique", write_places_kernel<Order>, site.blocks(rows), kThreads, site.stream(),
         items->template as<const typename Order::Item>(), rows, places);
}

Unique run_unique(const Tensor& input, bool inverse, bool counts) {
  const char* const op = "unique";
  const int64_t rows = input.shape()[0], columns = input.shape()[1];
  const DType dtype = input.dtype();
  const TensorOptions places{.dtype = DType::i64, .device = input.device()};
  Unique result;
  if (inverse) result.inverse = empty({rows}, places);
  if (rows == 0) {
    result.values = empty({0, columns}, {.dtype = dtype, .device = input.device()});
    if (counts) result.counts = empty({0}, places);
    return result;
  }
  const LaunchSite site(input.data());
  const Workspace order(rows * 8, site.device()), starts((rows + 1) * 8, site.device());
  const SortedRows sorted{input.data(), dtype, rows, columns, order.as<int64_t>()};
  if (columns > 1) {
    order_rows(RowOrder{input.data(), dtype, columns}, RowSource{}, rows, order.as<int64_t>(),
               site);
  } else {
    const LineSource<WideOrder> source{input.data(), dtype, {1, rows, 1}, false};
    order_rows(WideOrder{}, source, rows, order.as<int64_t>(), site);
  }
  const int64_t chunks = divide_up(rows, kCountedChunk);
  const Workspace before((chunks + 1) * 8, site.device());
  launch(op, count_new_rows_kernel, grid_of(chunks), kThreads, site.stream(), sorted, chunks,
         before.as<int64_t>());
  const int64_t groups = add_up(op, before.as<int64_t>(), chunks, site);
  launch(op, write_groups_kernel, grid_of(chunks), kThreads, site.stream(), sorted, chunks,
         before.as<const int64_t>(), starts.as<int64_t>(),
         inverse ? result.inverse.data<int64_t>() : nullptr);
  result.values = empty({groups, columns}, {.dtype = dtype, .device = input.device()});
  if (counts) result.counts = empty({groups}, places);
  body::visit_item(item_size(dtype), [&](auto item) {
    using U = decltype(item);
    launch(op, write_unique_kernel<U>, site.blocks(groups * columns), kThreads, site.stream(),
           sorted, starts.as<const int64_t>(), groups, static_cast<U*>(result.values.data()),
           counts ? result.counts.data<int64_t>() : nullptr);
  });
  return result;
}

}  // namespace

void register_sort() {
  set_kernel<sort_op, run_sort<sort_op>>();
  set_kernel<topk_op, run_sort<topk_op>>();
  set_kernel<unique_op, run_unique>();
}

}  // namespace aorta::cuda
