#include <aorta/core/cpu/tiles.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/scalar/op_list.h>

#include <algorithm>

namespace aorta::cpu {
namespace {

// Rows of a tile with a transposed operand that is written past the cache. Rows that lie a power of
// 2 apart share few sets of the caches: those of all inputs, and of the next tile, have to fit the
// second level.
constexpr int64_t kStreamedRows = 32;

// How an operand reaches the row function.
enum class Access : uint8_t {
  direct,     // contiguous along dimension 0 and already in the compute dtype
  broadcast,  // one element a row
  packed,     // gathered, and converted, into a buffer
};

struct Plan {
  Access access[kMaxOperands];
  int64_t columns, rows;  // of a tile
  bool whole_tile;        // rows are too short to be worth a call each: one call a tile
  bool buffered_output;   // the output is converted, scattered or streamed from a buffer
  bool stream;            // the output is written past the cache
  bool transposed;        // an input runs across the output
};

bool is_direct(const PointwiseArgs& args, int k) {
  return args.dtype[k] == args.compute[k] &&
         (extent_of(args, 0) == 1 || stride_of(args, k, 0) == item_size(args.dtype[k]));
}

// Whether one element serves a whole row. To the rows of a half type that element is a number.
bool is_broadcast(const PointwiseArgs& args, int k) {
  return k > 0 && args.operands == 3 && stride_of(args, k, 0) == 0 && !is_half(args.compute[k]) &&
         args.dtype[k] == args.compute[k];
}

Plan make_plan(const PointwiseArgs& args, bool stream) {
  Plan plan;
  const int64_t n0 = extent_of(args, 0), n1 = extent_of(args, 1);
  constexpr int64_t kShortRow = 32;
  plan.whole_tile = n0 < kShortRow && n1 > 1;
  plan.transposed = false;
  bool packed = false;
  int broadcasts = 0;
  for (int k = 0; k < args.operands; ++k) {
    const int64_t s0 = stride_of(args, k, 0), s1 = stride_of(args, k, 1);
    plan.access[k] = is_direct(args, k) ? Access::direct : Access::packed;
    if (plan.whole_tile && s1 != n0 * item_size(args.dtype[k])) plan.access[k] = Access::packed;
    if (is_broadcast(args, k) && broadcasts == 0 && (!plan.whole_tile || s1 == 0)) {
      plan.access[k] = Access::broadcast;
      ++broadcasts;
    }
    packed |= plan.access[k] == Access::packed;
    plan.transposed |= plan.access[k] == Access::packed && n1 > 1 && s1 != 0 && s1 < s0;
  }
  const bool dense_output = plan.access[0] == Access::direct ||
                            (!plan.whole_tile && stride_of(args, 0, 0) == item_size(args.dtype[0]));
  // Across a transposition the pieces of a row are short: they have to be whole cache lines.
  plan.stream = stream && dense_output && (!plan.transposed || stride_of(args, 0, 1) % 64 == 0);
  plan.buffered_output = plan.access[0] != Access::direct || (plan.stream && plan.transposed);
  if (plan.whole_tile) {
    plan.columns = n0;
    plan.rows = std::clamp<int64_t>(kTileElements / n0, 1, n1);
  } else if (plan.transposed) {
    plan.columns = std::min<int64_t>(n0, kTransposedColumns);
    plan.rows = std::min(n1, plan.stream ? kStreamedRows : kTileElements / kTransposedColumns);
  } else {
    plan.columns = std::min<int64_t>(n0, packed ? kRowElements : kThreadGrain);
    plan.rows = 1;
  }
  return plan;
}

// Gathers operand k of a tile, row after row, in its compute dtype.
void pack(const PointwiseArgs& args, int k, const Tile& tile, char* buffer, char* scratch) {
  const DType from = args.dtype[k], to = args.compute[k];
  const int64_t s0 = stride_of(args, k, 0), s1 = stride_of(args, k, 1);
  const int64_t item = item_size(from);
  const bool dense =
      (tile.columns == 1 || s0 == item) && (tile.rows == 1 || s1 == tile.columns * item);
  if (from != to && dense)
    return converter(to, from)(buffer, tile.data[k], tile.rows * tile.columns);
  char* const gathered = from == to ? buffer : scratch;
  tile_copy(from)(gathered, tile.columns * item, item, tile.data[k], s1, s0, tile.rows,
                  tile.columns);
  if (from != to) converter(to, from)(buffer, scratch, tile.rows * tile.columns);
}

// Writes computed elements, row after row in `buffer`, to their places in the output.
void unpack(const PointwiseArgs& args, const Tile& tile, const char* buffer, char* scratch,
            bool stream) {
  const DType from = args.compute[0], to = args.dtype[0];
  const int64_t s0 = stride_of(args, 0, 0), s1 = stride_of(args, 0, 1);
  const int64_t item = item_size(to), count = tile.rows * tile.columns;
  const bool dense =
      (tile.columns == 1 || s0 == item) && (tile.rows == 1 || s1 == tile.columns * item);
  if (from != to && dense && !stream) return converter(to, from)(tile.data[0], buffer, count);
  if (from != to) {
    converter(to, from)(scratch, buffer, count);
    buffer = scratch;
  }
  if (stream) return stream_rows(tile.data[0], s1, buffer, tile.rows, tile.columns * item);
  tile_copy(to)(tile.data[0], s1, s0, buffer, tile.columns * item, item, tile.rows, tile.columns);
}

// Computes a row whose output goes past the cache, by way of a buffer so small that it stays in the
// first-level cache beside the streams that feed it.
void stream_row(const PointwiseArgs& args, RowFunction row, int64_t n, char* const* data,
                unsigned broadcast) {
  constexpr int64_t kBytes = 256;
  alignas(64) char buffer[kBytes];
  const int64_t item = item_size(args.dtype[0]);
  char* piece[kMaxOperands] = {buffer};
  int64_t step[kMaxOperands];
  for (int k = 1; k < args.operands; ++k) {
    piece[k] = data[k];
    step[k] = (broadcast >> k & 1) != 0 ? 0 : item_size(args.compute[k]);
  }
  // The first piece ends where a cache line does.
  int64_t count = (kBytes - (reinterpret_cast<intptr_t>(data[0]) & 63)) / item;
  for (int64_t i = 0; i < n; i += count, count = kBytes / item) {
    count = std::min(count, n - i);
    row(args.functor, count, piece, broadcast);
    stream_copy(data[0] + i * item, buffer, count * item);
    for (int k = 1; k < args.operands; ++k) piece[k] += count * step[k];
  }
}

// Computes a tile; inputs that aren't direct and an output that isn't go through
// buffers.
void run_tile(const PointwiseArgs& args, const Plan& plan, RowFunction row, const Tile& tile) {
  // A buffer for each operand, and a last one for conversions.
  alignas(64) char buffers[(kMaxOperands + 1) * kTileElements * 8];
  constexpr int64_t buffer_bytes = kTileElements * 8;
  char* const scratch = buffers + args.operands * buffer_bytes;
  char* start[kMaxOperands];
  int64_t step[kMaxOperands];
  unsigned broadcast = 0;
  for (int k = 0; k < args.operands; ++k) {
    const bool buffered = k == 0 ? plan.buffered_output : plan.access[k] == Access::packed;
    start[k] = buffered ? buffers + k * buffer_bytes : tile.data[k];
    step[k] = buffered ? tile.columns * item_size(args.compute[k]) : stride_of(args, k, 1);
    if (k > 0 && buffered) pack(args, k, tile, start[k], scratch);
    if (plan.access[k] == Access::broadcast) broadcast |= 1u << k;
  }
  const int64_t rows = plan.whole_tile ? 1 : tile.rows;
  const int64_t columns = plan.whole_tile ? tile.rows * tile.columns : tile.columns;
  for (int64_t r = 0; r < rows; ++r) {
    char* data[kMaxOperands];
    for (int k = 0; k < args.operands; ++k) data[k] = start[k] + r * step[k];
    if (plan.stream && !plan.buffered_output)
      stream_row(args, row, columns, data, broadcast);
    else
      row(args.functor, columns, data, broadcast);
  }
  if (plan.buffered_output) unpack(args, tile, buffers, scratch, plan.stream);
}

// The common case: contiguous operands and numbers, all in the compute dtype.
bool run_contiguous(const PointwiseArgs& args, RowFunction row) {
  if (args.ndim > 1) return false;
  unsigned broadcast = 0;
  for (int k = 0; k < args.operands; ++k) {
    if (is_broadcast(args, k) && broadcast == 0) {
      broadcast = 1u << k;
    } else if (!is_direct(args, k)) {
      return false;
    }
  }
  if (args.numel <= kThreadGrain) {
    row(args.functor, args.numel, args.data, broadcast);
    return true;
  }
  parallel_for(0, args.numel, kThreadGrain, [&](int64_t begin, int64_t end) {
    char* data[kMaxOperands];
    for (int k = 0; k < args.operands; ++k) data[k] = args.data[k] + begin * stride_of(args, k, 0);
    row(args.functor, end - begin, data, broadcast);
  });
  return true;
}

// Runs a row function over the iteration space of `args`.
void run_rows(const PointwiseArgs& args, RowFunction row, bool moves_bytes) {
  const bool stream = moves_bytes && should_stream(args.numel * item_size(args.dtype[0]));
  if (!stream && run_contiguous(args, row)) return;
  const Plan plan = make_plan(args, stream);
  const Tiling tiling(args, plan.columns, plan.rows);
  parallel_for(0, tiling.count(), tiling.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (plan.transposed && i + 1 < end) prefetch_inputs(args, tiling.tile(i + 1));
      run_tile(args, plan, row, tiling.tile(i));
    }
    if (plan.stream) stream_fence();
  });
}

template <class F, class List>
struct IndexOf;
template <class F, class... Rest>
struct IndexOf<F, scalar::TypeList<F, Rest...>> {
  static constexpr int value = 0;
};
template <class F, class First, class... Rest>
struct IndexOf<F, scalar::TypeList<First, Rest...>> {
  static constexpr int value = 1 + IndexOf<F, scalar::TypeList<Rest...>>::value;
};

// The table of rows for this CPU, by list.
const RowFunction* rows_of(scalar::UnaryOps) {
  static const auto rows = for_isa(v2::unary_rows, v3::unary_rows, v4::unary_rows)();
  return rows;
}
const RowFunction* rows_of(scalar::BinaryOps) {
  static const auto rows = for_isa(v2::binary_rows, v3::binary_rows, v4::binary_rows)();
  return rows;
}
const RowFunction* rows_of(scalar::TernaryOps) {
  static const auto rows = for_isa(v2::ternary_rows, v3::ternary_rows, v4::ternary_rows)();
  return rows;
}
const RowFunction* rows_of(scalar::GradientOps) {
  static const auto rows = for_isa(v2::gradient_rows, v3::gradient_rows, v4::gradient_rows)();
  return rows;
}

// The half type that all operands have in memory, but for a number and a bool result; else the type
// that the functor computes in.
DType type_of_rows(const PointwiseArgs& args) {
  const DType compute = args.compute[args.operands - 1];
  DType half = compute;
  for (int k = 0; k < args.operands; ++k) {
    const DType dtype = args.dtype[k];
    if (args.is_number[k] || (dtype == DType::boolean && args.compute[k] == dtype)) continue;
    const bool another = half != compute && half != dtype;
    if (!is_half(dtype) || args.compute[k] != DType::f32 || another) return compute;
    half = dtype;
  }
  return half;
}

template <class F, class List, int inputs>
void kernel(const PointwiseArgs& args) {
  const RowFunction* rows = rows_of(List{}) + kDTypeCount * IndexOf<F, List>::value;
  // What does little else than move bytes. Functions of one number compute while they wait for
  // memory, from which a buffer would keep them.
  constexpr bool moves_bytes = inputs > 1 || F::info.accept == scalar::Accept::numeric;
  const DType dtype = type_of_rows(args);
  const RowFunction row = rows[static_cast<int>(dtype)];
  if (dtype == args.compute[inputs] || !row)
    return run_rows(args, rows[static_cast<int>(args.compute[inputs])], moves_bytes);
  PointwiseArgs halves = args;  // nothing is converted outside the row function
  for (int k = 0; k < args.operands; ++k)
    if (args.dtype[k] == dtype) halves.compute[k] = dtype;
  run_rows(halves, row, moves_bytes);
}

template <class... Fs>
void register_unary(scalar::TypeList<Fs...>) {
  (unary_op<Fs>.set_kernel(DeviceType::cpu, kernel<Fs, scalar::UnaryOps, 1>), ...);
}
template <class... Fs>
void register_binary(scalar::TypeList<Fs...> list) {
  (binary_op<Fs>.set_kernel(DeviceType::cpu, kernel<Fs, decltype(list), 2>), ...);
}
template <class... Fs>
void register_ternary(scalar::TypeList<Fs...>) {
  (ternary_op<Fs>.set_kernel(DeviceType::cpu, kernel<Fs, scalar::TernaryOps, 3>), ...);
}

}  // namespace

void register_pointwise() {
  register_unary(scalar::UnaryOps{});
  register_binary(scalar::BinaryOps{});
  register_binary(scalar::GradientOps{});
  register_ternary(scalar::TernaryOps{});
}

}  // namespace aorta::cpu
