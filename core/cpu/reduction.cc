#include <aorta/core/cpu/reduction.h>
#include <aorta/core/cpu/scratch.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/integers.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <cstring>

namespace aorta::cpu {
namespace {

// The states of one piece of work at once.
constexpr int64_t kStateBytes = 32768;
// Elements that a piece of work has at most when there is enough work for all threads, and the
// number of pieces from which there is.
constexpr int64_t kPieceElements = 65536;
constexpr int64_t kManyPieces = 128;

// How elements reach the loops.
enum class Access : uint8_t {
  rows,            // in place, a row of reduced elements for each result
  columns,         // in place, a column of reduced elements for each result
  packed_rows,     // gathered, and converted, into rows of reduced elements
  packed_columns,  // ... into columns
};

// The work is kept blocks x reduced chunks; it depends on shapes and strides alone, and so do the
// bits of the result.
struct Plan {
  const ReduceLoops* loops;
  Access access;
  int64_t block, blocks;  // results in a full block, and the number of blocks
  int64_t chunk, chunks;  // reduced elements in a full chunk, and the number of chunks
};

const ReduceLoops* find_loops(const ReduceArgs& args) {
  static const ReduceLoops* const table =
      for_isa(v2::reduce_loops, v3::reduce_loops, v4::reduce_loops)();
  return table + kDTypeCount * args.reducer + static_cast<int>(args.compute);
}

int64_t kept_stride(const ReduceArgs& args) { return args.kept_ndim ? args.kept_strides[0] : 0; }
int64_t reduced_stride(const ReduceArgs& args) {
  return args.reduced_ndim ? args.reduced_strides[0] : 0;
}

Access choose_access(const ReduceArgs& args) {
  constexpr int64_t kShort = 16, kFew = 32;
  const int64_t item = item_size(args.input_dtype);
  const bool direct = args.input_dtype == args.compute;
  const int64_t kept_run = args.kept_ndim ? args.kept_shape[0] : 1;
  const int64_t reduced_run = args.reduced_ndim ? args.reduced_shape[0] : 1;
  if (reduced_stride(args) == item && reduced_run >= kFew)
    return direct ? Access::rows : Access::packed_rows;
  if (kept_stride(args) == item && kept_run >= kShort)
    return direct ? Access::columns : Access::packed_columns;
  return args.reduced < kFew ? Access::packed_columns : Access::packed_rows;
}

Plan make_plan(const ReduceArgs& args) {
  Plan plan;
  plan.loops = find_loops(args);
  plan.access = choose_access(args);
  const bool rows = plan.access == Access::rows || plan.access == Access::packed_rows;
  const int64_t most = std::min(kStateBytes / plan.loops->state_size, args.kept);
  const int64_t length = std::max<int64_t>(args.reduced, 1);
  // Where results are neighbours in the input, several are taken at once for the cache's sake; in
  // columns, as many as lie side by side.
  int64_t least = 1;
  if (!rows) {
    least = std::min(most, args.kept_ndim ? args.kept_shape[0] : 1);
  } else if (kept_stride(args) < reduced_stride(args)) {
    least = std::min<int64_t>(32, most);
  }
  plan.block = std::clamp<int64_t>(kPieceElements / length, least, most);
  plan.blocks = divide_up(args.kept, plan.block);
  const int64_t wanted =
      std::min(divide_up(length * plan.block, kPieceElements), divide_up(kManyPieces, plan.blocks));
  plan.chunk = round_up(divide_up(length, wanted), 64);
  plan.chunks = divide_up(length, plan.chunk);
  return plan;
}

// Walks through elements [begin, end) of collapsed dimensions, run by run along the innermost one:
// visit(first element of the run - begin, its offset in bytes, length).
template <class Visit>
void for_each_run(int ndim, const int64_t* shape, const int64_t* strides, int64_t begin,
                  int64_t end, const Visit& visit) {
  if (ndim == 0) return visit(int64_t{0}, int64_t{0}, int64_t{1});
  for (int64_t i = begin; i < end;) {
    int64_t rest = i / shape[0];
    const int64_t first = i - rest * shape[0];
    int64_t offset = first * strides[0];
    for (int d = 1; d < ndim && rest > 0; ++d) {
      offset += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
    const int64_t length = std::min(shape[0] - first, end - i);
    visit(i - begin, offset, length);
    i += length;
  }
}

template <class Visit>
void for_each_kept_run(const ReduceArgs& args, Range range, const Visit& visit) {
  for_each_run(args.kept_ndim, args.kept_shape, args.kept_strides, range.begin, range.end, visit);
}
template <class Visit>
void for_each_reduced_run(const ReduceArgs& args, Range range, const Visit& visit) {
  for_each_run(args.reduced_ndim, args.reduced_shape, args.reduced_strides, range.begin, range.end,
               visit);
}

void reduce_in_place(const ReduceArgs& args, const Plan& plan, Range kept, Range reduced,
                     char* states) {
  const ReduceLoops& loops = *plan.loops;
  for_each_kept_run(args, kept, [&](int64_t k, int64_t kept_offset, int64_t results) {
    char* const into = states + k * loops.state_size;
    for_each_reduced_run(args, reduced, [&](int64_t r, int64_t offset, int64_t length) {
      const char* const tile = args.input + kept_offset + offset;
      if (plan.access == Access::rows) {
        loops.rows(args.parameters, into, tile, kept_stride(args), results, length,
                   reduced.begin + r);
      } else {
        loops.columns(args.parameters, into, tile, reduced_stride(args), length, results,
                      reduced.begin + r);
      }
    });
  });
}

// Gathers elements kept x reduced in the compute dtype: reduced ones along a row, or kept ones.
void pack(const ReduceArgs& args, bool rows, Range kept, Range reduced, char* buffer,
          char* scratch) {
  const DType from = args.input_dtype, to = args.compute;
  const int64_t item = item_size(from), to_item = item_size(to);
  const int64_t across = rows ? reduced.size() : kept.size();
  const int64_t row_step = rows ? kept_stride(args) : reduced_stride(args);
  const int64_t column_step = rows ? reduced_stride(args) : kept_stride(args);
  // Runs that are contiguous along a row are converted in place; others are gathered first.
  const bool convert_rows = from != to && column_step == item;
  const bool gather_converted = from != to && !convert_rows;
  const ConvertFunction convert = converter(to, from);
  for_each_kept_run(args, kept, [&](int64_t k, int64_t kept_offset, int64_t k_size) {
    for_each_reduced_run(args, reduced, [&](int64_t r, int64_t offset, int64_t r_size) {
      const char* const source = args.input + kept_offset + offset;
      const int64_t row = rows ? k : r, column = rows ? r : k;
      const int64_t row_count = rows ? k_size : r_size, column_count = rows ? r_size : k_size;
      if (convert_rows) {
        for (int64_t i = 0; i < row_count; ++i) {
          convert(buffer + ((row + i) * across + column) * to_item, source + i * row_step,
                  column_count);
        }
        return;
      }
      tile_copy(from)((gather_converted ? scratch : buffer) + (row * across + column) * item,
                      across * item, item, source, row_step, column_step, row_count, column_count);
    });
  });
  if (gather_converted) convert(buffer, scratch, kept.size() * reduced.size());
}

void reduce_packed(const ReduceArgs& args, const Plan& plan, Range kept, Range reduced,
                   char* states) {
  const ReduceLoops& loops = *plan.loops;
  const bool rows = plan.access == Access::packed_rows;
  alignas(64) char buffer[kTileElements * 8];
  alignas(64) char scratch[kTileElements * 8];
  const bool along_reduced =
      rows && (kept_stride(args) == 0 || reduced_stride(args) <= kept_stride(args));
  const int64_t r_most = along_reduced ? kTileElements : rows ? 64 : 8;
  const int64_t r_step = std::min(reduced.size(), r_most);
  const int64_t k_step = std::min<int64_t>(kept.size(), kTileElements / r_step);
  const int64_t item = item_size(args.compute);
  for (int64_t r = reduced.begin; r < reduced.end; r += r_step) {
    const Range r_part{r, std::min(r + r_step, reduced.end)};
    for (int64_t k = kept.begin; k < kept.end; k += k_step) {
      const Range k_part{k, std::min(k + k_step, kept.end)};
      pack(args, rows, k_part, r_part, buffer, scratch);
      char* const into = states + (k - kept.begin) * loops.state_size;
      if (rows) {
        loops.rows(args.parameters, into, buffer, r_part.size() * item, k_part.size(),
                   r_part.size(), r);
      } else {
        loops.columns(args.parameters, into, buffer, k_part.size() * item, r_part.size(),
                      k_part.size(), r);
      }
    }
  }
}

// The states of one piece of work.
void reduce_piece(const ReduceArgs& args, const Plan& plan, Range kept, Range reduced,
                  char* states) {
  plan.loops->init(args.parameters, states, kept.size());
  if (reduced.size() == 0) return;
  if (plan.access == Access::rows || plan.access == Access::columns) {
    reduce_in_place(args, plan, kept, reduced, states);
  } else {
    reduce_packed(args, plan, kept, reduced, states);
  }
}

// Finishes the states of results `kept`, converts them and writes them to their places.
void write_results(const ReduceArgs& args, const Plan& plan, Range kept, const char* states) {
  const ReduceLoops& loops = *plan.loops;
  alignas(64) char buffers[2][kStateBytes];
  const DType dtypes[2] = {loops.value_dtype, loops.second_dtype};
  char* places[2] = {};
  char* targets[2] = {};
  for (int k = 0; k < 2; ++k) {
    if (!args.output[k]) continue;
    places[k] = args.output[k] + kept.begin * item_size(args.output_dtype[k]);
    targets[k] = dtypes[k] == args.output_dtype[k] ? places[k] : buffers[k];
  }
  // A state may be smaller than a value, so that the buffers hold fewer values than states.
  constexpr int64_t most = kStateBytes / 8;
  for (int64_t i = 0; i < kept.size(); i += most) {
    const int64_t n = std::min(most, kept.size() - i);
    char* into[2] = {};
    for (int k = 0; k < 2; ++k) {
      if (!targets[k]) continue;
      into[k] = targets[k] == places[k] ? places[k] + i * item_size(dtypes[k]) : targets[k];
    }
    loops.finish(args.parameters, states + i * loops.state_size, n, args.reduced, into[0], into[1]);
    for (int k = 0; k < 2; ++k) {
      if (!targets[k] || targets[k] == places[k]) continue;
      const int64_t item = item_size(args.output_dtype[k]);
      converter(args.output_dtype[k], dtypes[k])(places[k] + i * item, targets[k], n);
    }
  }
}

// Pieces that are worth a thread of their own together.
int64_t grain_of(int64_t piece_elements) {
  return std::max<int64_t>(kThreadGrain / std::max<int64_t>(piece_elements, 1), 1);
}

Range part(int64_t i, int64_t size, int64_t total) {
  return {i * size, std::min((i + 1) * size, total)};
}

// Every block is one piece of work.
void reduce_blocks(const ReduceArgs& args, const Plan& plan) {
  parallel_for(0, plan.blocks, grain_of(plan.block * args.reduced),
               [&](int64_t begin, int64_t end) {
                 alignas(64) char states[kStateBytes];
                 for (int64_t b = begin; b < end; ++b) {
                   const Range kept = part(b, plan.block, args.kept);
                   reduce_piece(args, plan, kept, {0, args.reduced}, states);
                   write_results(args, plan, kept, states);
                 }
               });
}

// A block is several pieces; their states are joined chunk after chunk.
void reduce_chunks(const ReduceArgs& args, const Plan& plan) {
  const ReduceLoops& loops = *plan.loops;
  const int64_t chunk_bytes = args.kept * loops.state_size;
  const Tensor partial = empty({plan.chunks, chunk_bytes}, {.dtype = DType::u8});
  char* const states = static_cast<char*>(partial.data());
  parallel_for(0, plan.blocks * plan.chunks, grain_of(plan.block * plan.chunk),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const Range kept = part(i / plan.chunks, plan.block, args.kept);
                   const int64_t chunk = i % plan.chunks;
                   reduce_piece(args, plan, kept, part(chunk, plan.chunk, args.reduced),
                                states + chunk * chunk_bytes + kept.begin * loops.state_size);
                 }
               });
  parallel_for(0, plan.blocks, grain_of(plan.block * plan.chunks), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const Range kept = part(b, plan.block, args.kept);
      char* const into = states + kept.begin * loops.state_size;
      for (int64_t chunk = 1; chunk < plan.chunks; ++chunk)
        loops.combine(args.parameters, into, into + chunk * chunk_bytes, kept.size());
      write_results(args, plan, kept, into);
    }
  });
}

void reduce_kernel(const ReduceArgs& args) {
  const Plan plan = make_plan(args);
  if (plan.chunks == 1) {
    reduce_blocks(args, plan);
  } else {
    reduce_chunks(args, plan);
  }
}

}  // namespace

void register_reduction() { set_reduce_kernel(DeviceType::cpu, reduce_kernel); }

}  // namespace aorta::cpu
