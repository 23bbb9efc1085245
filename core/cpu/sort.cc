#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/scalar/sort_key.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace aorta::cpu {
namespace {

template <class T>
auto key_of(T x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return scalar::sort_key(static_cast<float>(x));
  } else {
    return scalar::sort_key(x);
  }
}

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_integral_v<T>)
    return (void)x, false;
  else
    return static_cast<double>(x) != static_cast<double>(x);
}

// A bool may be any byte in memory.
template <class T>
T read(const T* data, int64_t i) {
  if constexpr (std::is_same_v<T, bool>)
    return reinterpret_cast<const uint8_t*>(data)[i] != 0;
  else
    return data[i];
}

// A key and its place; in the order of keys, equals in the order of places.
template <class Key>
struct Item {
  Key key, place;
  bool operator<(const Item& other) const {
    if constexpr (sizeof(Key) == 4)
      return (uint64_t{key} << 32 | place) < (uint64_t{other.key} << 32 | other.place);
    return key != other.key ? key < other.key : place < other.place;
  }
};

// Items that std::sort sorts faster than passes over digits do.
constexpr size_t kShort = 512;

// Sorts items that stand in the order of their places: by digits from a lowest one, each pass
// stable. Digits that all items have in common are left out, and low ones that few need to be told
// apart; those few stand together then.
template <class Key>
void sort_items(std::vector<Item<Key>>& items, std::vector<Item<Key>>& other) {
  constexpr int kBits = 9;
  constexpr size_t kDigits = size_t{1} << kBits;
  if (items.size() < kShort) return std::sort(items.begin(), items.end());
  other.resize(items.size());
  Key differing = 0;
  for (const Item<Key>& item : items) differing |= item.key ^ items[0].key;
  const int top = static_cast<int>(std::bit_width(differing));
  const int telling = static_cast<int>(std::bit_width(items.size())) + 6;
  const int passes = divide_up(std::min(top, telling), kBits);
  const int lowest = std::max(top - passes * kBits, 0);
  for (int low = lowest; low < top; low += kBits) {
    const auto digit_of = [&](const Item<Key>& item) {
      return static_cast<size_t>(item.key >> low) % kDigits;
    };
    size_t starts[kDigits] = {};
    for (const Item<Key>& item : items) ++starts[digit_of(item)];
    size_t next = 0;
    for (size_t& start : starts) next += std::exchange(start, next);
    for (const Item<Key>& item : items) other[starts[digit_of(item)]++] = item;
    items.swap(other);
  }
  if (std::countr_zero(differing) >= lowest) return;
  for (auto first = items.begin(), end = first; first != items.end(); first = end) {
    while (end != items.end() && end->key >> lowest == first->key >> lowest) ++end;
    if (!std::is_sorted(first, end)) std::sort(first, end);
  }
}

// Where so few are taken, or a line is so short, each item is moved to its place among those taken
// so far.
constexpr int64_t kFew = 16, kTiny = 32;

// The `take` first items, in order.
template <class Key, class ItemAt>
void take_one_by_one(int64_t length, int64_t take, const ItemAt& item_at,
                     std::vector<Item<Key>>& items) {
  Item<Key> best[kTiny];
  int64_t count = 0;
  Key bound = 0;  // of the last one taken
  for (int64_t i = 0; i < length; ++i) {
    const Item<Key> item = item_at(i);
    if (count == take) {
      if (item.key >= bound) continue;  // an equal one's place is behind
      --count;
    }
    int64_t at = count++;
    for (; at > 0 && item < best[at - 1]; --at) best[at] = best[at - 1];
    best[at] = item;
    bound = best[count - 1].key;
  }
  items.assign(best, best + count);
}

// A line of which less than this share is taken is looked through once.
constexpr int64_t kFewShare = 16;

// The `take` first items: those that come before the last of what was taken so far are kept, until
// they are twice as many.
template <class Key, class ItemAt>
void take_few(int64_t length, size_t take, const ItemAt& item_at, std::vector<Item<Key>>& items) {
  items.clear();
  const size_t room = 2 * take + 64;
  Key bound = 0;
  bool bounded = false;
  const auto cut = [&] {
    std::nth_element(items.begin(), items.begin() + static_cast<ptrdiff_t>(take) - 1, items.end());
    items.resize(take);
    bound = items.back().key;
    bounded = true;
  };
  for (int64_t i = 0; i < length; ++i) {
    const Item<Key> item = item_at(i);
    if (bounded && item.key >= bound) continue;  // an equal one's place is behind
    items.push_back(item);
    if (items.size() == room) cut();
  }
  if (items.size() > take) cut();
}

// A line that is shorter is looked at as a whole; one of up to kCached items, which lie in the
// cache then, has its keys made once.
constexpr int64_t kLong = 128, kCached = 1 << 17;

// A line's items of ranks `skip` up to `take`, and some beside them; how many come before them all.
// Keys are counted in equal ranges, as many as there are items, which say where those ranks lie.
template <class Key, class ItemAt>
int64_t take_middle(int64_t length, int64_t skip, int64_t take, const ItemAt& item_at,
                    std::vector<Item<Key>>& items) {
  constexpr int64_t kRanges = 4096;
  Key low = ~Key{0}, high = 0;
  for (int64_t i = 0; i < length; ++i) {
    const Key key = item_at(i).key;
    low = std::min(low, key);
    high = std::max(high, key);
  }
  const int bits = std::bit_width(static_cast<uint64_t>(std::min(length, kRanges) - 1));
  const int shift = std::max(static_cast<int>(std::bit_width(Key{high - low})) - bits, 0);
  const auto range_of = [&](Key key) { return static_cast<size_t>((key - low) >> shift); };
  int64_t counts[kRanges];
  std::fill_n(counts, int64_t{1} << bits, 0);
  for (int64_t i = 0; i < length; ++i) ++counts[range_of(item_at(i).key)];
  size_t first = 0;
  int64_t before = 0;
  while (before + counts[first] <= skip) before += counts[first++];
  size_t last = first;
  for (int64_t seen = before + counts[first]; seen < take; seen += counts[last]) ++last;
  items.clear();
  for (int64_t i = 0; i < length; ++i) {
    const Item<Key> item = item_at(i);
    if (const size_t range = range_of(item.key); range >= first && range <= last)
      items.push_back(item);
  }
  return before;
}

// One line: its elements lie `stride` apart, in input and outputs.
template <class T, class Key>
void sort_line(const SortArgs& args, const T* in, T* values, int64_t* indices,
               std::vector<Item<Key>>& items, std::vector<Item<Key>>& other) {
  const int64_t length = args.lines.length, stride = args.lines.inner;
  const int64_t written = args.take - args.skip;
  const Key turn = args.descending ? ~Key{0} : 0;
  const auto item_at = [=](int64_t i) {
    return Item<Key>{key_of(read(in, i * stride)) ^ turn, static_cast<Key>(i)};
  };
  const auto by_place = [&] {
    std::sort(items.begin(), items.end(),
              [](const auto& x, const auto& y) { return x.place < y.place; });
  };
  const auto write = [&] {
    for (int64_t i = 0; i < written; ++i) {
      const int64_t place = static_cast<int64_t>(items[static_cast<size_t>(i)].place);
      values[i * stride] = read(in, place * stride);
      indices[i * stride] = place;
    }
  };
  if (args.take <= kFew || length <= kTiny) {
    take_one_by_one(length, args.take, item_at, items);
    items.erase(items.begin(), items.begin() + args.skip);
    if (!args.sorted) by_place();
    return write();
  }
  int64_t before = 0;  // of those that are skipped, who isn't among `items`
  if (args.take < length / kFewShare) {
    take_few(length, static_cast<size_t>(args.take), item_at, items);
    if (!args.sorted || items.size() >= kShort) by_place();
  } else if (written < length && length > kCached) {
    before = take_middle(length, args.skip, args.take, item_at, items);
  } else {
    items.resize(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) items[static_cast<size_t>(i)] = item_at(i);
    if (written < length && length >= kLong) {
      items.swap(other);
      before = take_middle(
          length, args.skip, args.take, [&](int64_t i) { return other[static_cast<size_t>(i)]; },
          items);
    }
  }
  if (written < static_cast<int64_t>(items.size())) {
    const auto first = items.begin() + (args.skip - before), last = first + written - 1;
    std::nth_element(items.begin(), first, items.end());
    const Item<Key> low = *first;
    if (first < last) std::nth_element(first + 1, last, items.end());
    const Item<Key> bound = *last;
    if (written >= static_cast<int64_t>(kShort)) {  // again, in the order of their places
      items.clear();
      for (int64_t i = 0; i < length; ++i) {
        if (const Item<Key> item = item_at(i); !(item < low) && !(bound < item))
          items.push_back(item);
      }
    } else {
      items.erase(last + 1, items.end());
      items.erase(items.begin(), first);
      if (!args.sorted) by_place();
    }
  }
  if (args.sorted) sort_items(items, other);
  write();
}

template <class T, class Key>
void sort_lines(const SortArgs& args) {
  const Lines& lines = args.lines;
  const int64_t grain = std::max<int64_t>(4096 / lines.length, 1);
  parallel_for(0, lines.count(), grain, [&](int64_t begin, int64_t end) {
    std::vector<Item<Key>> items, other;
    for (int64_t line = begin; line < end; ++line) {
      const int64_t o = line / lines.inner, i = line % lines.inner;
      const int64_t to = o * (args.take - args.skip) * lines.inner + i;
      sort_line<T, Key>(args,
                        static_cast<const T*>(args.input) + o * lines.length * lines.inner + i,
                        static_cast<T*>(args.values) + to, args.indices + to, items, other);
    }
  });
}

void sort_kernel(const SortArgs& args) {
  visit_dtype(args.dtype, [&](auto type) {
    using T = decltype(type);
    if (sizeof(T) == 8 || args.lines.length > UINT32_MAX) return sort_lines<T, uint64_t>(args);
    if constexpr (sizeof(T) < 8) sort_lines<T, uint32_t>(args);
  });
}

// Places of rows in lexicographic order.
template <class T>
std::vector<int64_t> order_rows(const T* data, int64_t rows, int64_t columns) {
  std::vector<int64_t> order(static_cast<size_t>(rows));
  if (columns == 1) {
    std::vector<Item<uint64_t>> items(order.size()), other;
    for (int64_t i = 0; i < rows; ++i)
      items[static_cast<size_t>(i)] = {key_of(read(data, i)), static_cast<uint64_t>(i)};
    sort_items(items, other);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(items[i].place);
    return order;
  }
  for (int64_t i = 0; i < rows; ++i) order[static_cast<size_t>(i)] = i;
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    for (int64_t c = 0; c < columns; ++c) {
      const auto x = key_of(read(data, a * columns + c)), y = key_of(read(data, b * columns + c));
      if (x != y) return x < y;
    }
    return false;
  });
  return order;
}

template <class T>
bool rows_equal(const T* data, int64_t columns, int64_t a, int64_t b) {
  for (int64_t c = 0; c < columns; ++c) {
    const T x = read(data, a * columns + c), y = read(data, b * columns + c);
    if (key_of(x) != key_of(y) || is_nan(x)) return false;
  }
  return true;
}

template <class T>
Unique unique_rows(const Tensor& input, bool inverse, bool counts) {
  const int64_t rows = input.shape()[0], columns = input.shape()[1];
  const T* const data = static_cast<const T*>(input.data());
  const std::vector<int64_t> order = order_rows(data, rows, columns);
  std::vector<int64_t> starts;  // of each group of equal rows, in the order
  for (int64_t i = 0; i < rows; ++i) {
    const auto at = [&](int64_t k) { return order[static_cast<size_t>(k)]; };
    if (i == 0 || !rows_equal(data, columns, at(i - 1), at(i))) starts.push_back(i);
  }
  const int64_t groups = static_cast<int64_t>(starts.size());
  starts.push_back(rows);
  const TensorOptions places{.dtype = DType::i64, .device = input.device()};
  Unique result;
  result.values = empty({groups, columns}, {.dtype = input.dtype(), .device = input.device()});
  if (inverse) result.inverse = empty({rows}, places);
  if (counts) result.counts = empty({groups}, places);
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = starts[static_cast<size_t>(g)], end = starts[static_cast<size_t>(g + 1)];
    for (int64_t c = 0; c < columns; ++c) {
      static_cast<T*>(result.values.data())[g * columns + c] =
          read(data, order[static_cast<size_t>(first)] * columns + c);
    }
    if (counts) result.counts.data<int64_t>()[g] = end - first;
    for (int64_t i = first; inverse && i < end; ++i)
      result.inverse.data<int64_t>()[order[static_cast<size_t>(i)]] = g;
  }
  return result;
}

Unique unique_kernel(const Tensor& input, bool inverse, bool counts) {
  return visit_dtype(input.dtype(), [&](auto type) {
    return unique_rows<decltype(type)>(input, inverse, counts);
  });
}

}  // namespace

void register_sort() {
  sort_op.set_kernel(DeviceType::cpu, sort_kernel);
  topk_op.set_kernel(DeviceType::cpu, sort_kernel);
  unique_op.set_kernel(DeviceType::cpu, unique_kernel);
}

}  // namespace aorta::cpu
