// Scatter and its kin. A few values an element are taken by one thread, through the body that the
// CPU shares. Of many, pairs of an element and the place of a value are sorted, and equal elements
// are runs: their values are joined in chunks of fixed length, and those of runs that chunks cut
// are joined in chunks again. So values meet in the order of their places, and results are the same
// bits every time; there are no atomics on data.
#include <aorta/core/body/item.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/index_space.cuh>
#include <aorta/cuda/sort.cuh>

#include <optional>

namespace aorta::cuda {
namespace {

using body::IndexedArgs;
using body::ScatterMode;

/// As many values of an element are taken by one thread sooner than pairs are sorted.
constexpr int64_t kFewValues = 64;
/// Items of a chunk, and those whose values are loaded together.
constexpr int64_t kChunk = 64;
constexpr int kTogether = 8;

/// Whether dimension d is one of columns: the same item reaches all their elements.
bool is_column(const IndexedArgs& args, int d) {
  bool result = args.table_strides[d] != 0;
  for (int k = 0; k < args.indices; ++k) result = result && args.index_strides[k][d] == 0;
  return result;
}

/// The iteration space without its dimensions of columns, or with these alone. The others keep
/// their order, in which values meet.
IndexedArgs part_of(const IndexedArgs& args, bool columns) {
  IndexedArgs part = args;
  part.ndim = 0;
  part.numel = 1;
  for (int d = 0; d < args.ndim; ++d) {
    if (is_column(args, d) != columns) continue;
    const int to = part.ndim++;
    part.numel *= args.shape[d];
    part.shape[to] = args.shape[d];
    part.values_strides[to] = args.values_strides[d];
    part.table_strides[to] = args.table_strides[d];
    for (int k = 0; k < args.indices; ++k) part.index_strides[k][to] = args.index_strides[k][d];
  }
  return part;
}

/// The element that place p of the items meets, and p.
template <class Order>
struct ElementSource {
  IndexedArgs items;
  __device__ __forceinline__ typename Order::Item item(int64_t, int64_t p) const {
    int64_t rest = p, element = 0;
    int64_t at[kMaxDims] = {};
    for (int d = 0; d < items.ndim; ++d) {
      const int64_t i = rest % items.shape[d];
      rest /= items.shape[d];
      element += i * items.table_strides[d];
      for (int k = 0; k < items.indices; ++k) at[k] += i * items.index_strides[k][d];
    }
    for (int k = 0; k < items.indices; ++k) element += items.index[k][at[k]] * items.step[k];
    return Order::make(static_cast<typename Order::Key>(element), p);
  }
};

/// What values go to, beside the element of an item.
template <class T>
struct ScatterTable {
  T* elements;
  IndexSpace columns;  // offsets in the table
  Divisor divisor;     // by the number of columns
  ScatterMode mode;
};

/// Items in order with the values of the op.
template <class T, class Order>
struct SortedValues {
  const typename Order::Item* items;
  const T* values;
  IndexSpace places, columns;  // offsets in the values

  __device__ __forceinline__ int64_t element(int64_t i) const {
    return static_cast<int64_t>(Order::key(items[i]));
  }
  /// Where values of a column lie.
  __device__ __forceinline__ const T* column(int64_t c) const { return values + columns.offset(c); }
  __device__ __forceinline__ T value(const T* column, int64_t i) const {
    return column[offset(Order::place(items[i]))];
  }

 private:
  __device__ __forceinline__ int64_t offset(int64_t place) const {
    if constexpr (sizeof(typename Order::Key) == 8) return places.offset(place);
    // Packed items' places are narrow; the division of wide ones is a call, and costs registers.
    uint32_t rest = static_cast<uint32_t>(place);
    int64_t result = 0;
    for (int d = 0; d + 1 < places.ndim; ++d)
      result += int64_t{places.sizes[d].split(rest)} * places.strides[d];
    return places.ndim == 0 ? 0 : result + int64_t{rest} * places.strides[places.ndim - 1];
  }
};

/// Parts of runs, two of a chunk: of the run that comes from the chunk before, and of the one that
/// goes on in the next. The element is kNothing where there is none; a run that does both has the
/// second alone.
constexpr int64_t kNothing = -1;
template <class T>
struct RunParts {
  int64_t* elements;
  T* values;
  int64_t columns;

  __device__ __forceinline__ int64_t element(int64_t i) const { return elements[i]; }
  __device__ __forceinline__ const T* column(int64_t c) const { return values + c; }
  __device__ __forceinline__ T value(const T* column, int64_t i) const {
    return column[i * columns];
  }
  __device__ __forceinline__ void write(int64_t i, int64_t column, int64_t element, T value) const {
    if (column == 0) elements[i] = element;
    if (element != kNothing) values[i * columns + column] = value;
  }
};

/// Whether the first value of a run meets the element's old one, which parts have met already.
template <class Source>
inline constexpr bool kMeetsOld = true;
template <class T>
inline constexpr bool kMeetsOld<RunParts<T>> = false;

/// Whether a run goes on from item i - 1 to the next ones; 0 <= i <= count.
template <class Source>
__device__ __forceinline__ bool goes_on(const Source& source, int64_t i, int64_t count) {
  if (i == 0 || i >= count) return false;
  const int64_t before = source.element(i - 1), here = source.element(i);
  return before != kNothing && (here == before || here == kNothing);
}

/// A column of a chunk a thread. Runs that lie in the chunk are finished, the others become parts.
template <class T, class Source>
__global__ void __launch_bounds__(kThreads)
    join_runs_kernel(const __grid_constant__ Source source,
                     const __grid_constant__ ScatterTable<T> table, int64_t count, int64_t threads,
                     RunParts<T> parts) {
  for (int64_t i = first_item(); i < threads; i += item_step()) {
    int64_t chunk = i;
    const int64_t column = table.divisor.split(chunk);
    const int64_t start = chunk * kChunk, end = min(start + kChunk, count);
    T* const elements = table.elements + table.columns.offset(column);
    const T* const values = source.column(column);
    bool from_before = goes_on(source, start, count);
    int64_t head = kNothing, current = kNothing;
    T running{};
    const auto finish = [&] {
      if (from_before) {
        head = current;
        parts.write(2 * chunk, column, head, running);
      } else {
        elements[current] = running;
      }
    };
    for (int64_t j = start; j < end; j += kTogether) {
      int64_t element[kTogether];
      T value[kTogether], old[kTogether];
#pragma unroll
      for (int t = 0; t < kTogether; ++t)
        element[t] = j + t < end ? source.element(j + t) : kNothing;
#pragma unroll
      for (int t = 0; t < kTogether; ++t) {
        const bool there = element[t] != kNothing;
        const bool meets_old =
            kMeetsOld<Source> && there && element[t] != (t > 0 ? element[t - 1] : current);
        value[t] = there ? source.value(values, j + t) : T();
        old[t] = meets_old ? elements[element[t]] : T();
      }
#pragma unroll
      for (int t = 0; t < kTogether; ++t) {
        if (element[t] == kNothing) continue;
        if (element[t] == current) {
          running = combine(table.mode, running, value[t]);
          continue;
        }
        if (current != kNothing) {
          finish();
          from_before = false;
        }
        current = element[t];
        const bool meets_old = kMeetsOld<Source> && !from_before;
        running = meets_old ? combine(table.mode, old[t], value[t]) : value[t];
      }
    }
    const bool to_next = goes_on(source, end, count);
    if (current != kNothing && !to_next) finish();
    if (!parts.elements) continue;
    if (head == kNothing) parts.write(2 * chunk, column, kNothing, running);
    parts.write(2 * chunk + 1, column, to_next ? current : kNothing, running);
  }
}

/// Queues the joins of `count` items, and of the parts that come of them.
template <class T, class Source>
void join_runs(const Source& source, const ScatterTable<T>& table, int64_t count,
               const LaunchSite& site) {
  const int64_t columns = table.columns.count, chunks = divide_up(count, kChunk);
  std::optional<Workspace> elements, values;
  RunParts<T> parts{nullptr, nullptr, columns};
  if (chunks > 1) {
    elements.emplace(2 * chunks * int64_t{sizeof(int64_t)}, site.device());
    values.emplace(2 * chunks * columns * int64_t{sizeof(T)}, site.device());
    parts = {elements->as<int64_t>(), values->template as<T>(), columns};
  }
  launch("scatter", join_runs_kernel<T, Source>, site.blocks(chunks * columns), kThreads,
         site.stream(), source, table, count, chunks * columns, parts);
  if (chunks > 1) join_runs(parts, table, 2 * chunks, site);
}

/// The last value of each run stays.
template <class T, class Order>
__global__ void __launch_bounds__(kThreads)
    assign_runs_kernel(const __grid_constant__ SortedValues<T, Order> source,
                       const __grid_constant__ ScatterTable<T> table, int64_t count,
                       int64_t threads) {
  for (int64_t i = first_item(); i < threads; i += item_step()) {
    int64_t item = i;
    const int64_t column = table.divisor.split(item);
    if (goes_on(source, item + 1, count)) continue;
    table.elements[source.element(item) + table.columns.offset(column)] =
        source.value(source.column(column), item);
  }
}

template <class T, class Order, bool assigns>
void scatter_runs(const IndexedArgs& args, ScatterMode mode) {
  const LaunchSite site(args.table);
  const IndexedArgs items = part_of(args, false), columns = part_of(args, true);
  const auto sorted = sort_items("scatter", Order{}, ElementSource<Order>{items}, 1, items.numel,
                                 items.numel, site);
  const SortedValues<T, Order> source{
      sorted->template as<const typename Order::Item>(), static_cast<const T*>(args.values),
      IndexSpace(items.numel, items.ndim, items.shape, items.values_strides),
      IndexSpace(columns.numel, columns.ndim, columns.shape, columns.values_strides)};
  const ScatterTable<T> table{
      static_cast<T*>(args.table),
      IndexSpace(columns.numel, columns.ndim, columns.shape, columns.table_strides),
      Divisor(columns.numel, args.numel), mode};
  if constexpr (assigns) {
    launch("scatter", assign_runs_kernel<T, Order>, site.blocks(args.numel), kThreads,
           site.stream(), source, table, items.numel, args.numel);
  } else {
    join_runs(source, table, items.numel, site);
  }
}

/// T is the element type; for what assigns any type of its size will do.
template <class T, bool assigns>
void scatter_as(const IndexedArgs& args, ScatterMode mode) {
  const body::ScatterBody<T> body{args, mode};
  if (body.ordered_count() <= kFewValues)
    return for_each("scatter", args.table, body.free_count(), body);
  const bool packed = std::max(args.numel, args.table_extent) < limits().elements;
  packed ? scatter_runs<T, PackedOrder, assigns>(args, mode)
         : scatter_runs<T, WideOrder, assigns>(args, mode);
}

void scatter_kernel(const IndexedArgs& args, ScatterMode mode) {
  if (mode == ScatterMode::assign)
    return body::visit_item(item_size(args.dtype),
                            [&](auto item) { scatter_as<decltype(item), true>(args, mode); });
  visit_dtype(args.dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (scalar::is_half_type<T> || std::is_same_v<T, bool>) {
      fail("scatter", "half types and bool are combined in f32 and u8", args.dtype);
    } else {
      scatter_as<T, false>(args, mode);
    }
  });
}

}  // namespace

void register_scatter() {
  set_kernel<scatter_op, scatter_kernel>();
  set_kernel<scatter_add_op, scatter_kernel>();
  set_kernel<scatter_reduce_op, scatter_kernel>();
  set_kernel<index_put_op, scatter_kernel>();
}

}  // namespace aorta::cuda
