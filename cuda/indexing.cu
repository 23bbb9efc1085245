// Gather and its kin through the bodies that the CPU shares; bad indices; nonzero.
#include <aorta/core/body/item.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/cuda/first_bad.h>
#include <aorta/cuda/count.cuh>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {
namespace {

using body::IndexedArgs;

/// 16 bytes that move as one.
struct alignas(16) Block {
  uint64_t halves[2];
};

/// Makes positions of blocks of neighbours, where they lie one after another in the table and among
/// the values, wherever an index leads: rows of an embedding.
bool take_blocks(IndexedArgs& args) {
  const int64_t width = int64_t{sizeof(Block)} / item_size(args.dtype);
  bool whole = args.ndim > 0 && args.values_strides[0] == 1 && args.table_strides[0] == 1 &&
               args.shape[0] % width == 0 && is_vector_aligned<Block, 1>(args.values) &&
               is_vector_aligned<Block, 1>(args.table);
  for (int k = 0; k < args.indices; ++k)
    whole = whole && args.index_strides[k][0] == 0 && args.step[k] % width == 0;
  for (int d = 1; d < args.ndim; ++d)
    whole = whole && args.values_strides[d] % width == 0 && args.table_strides[d] % width == 0;
  if (!whole) return false;
  args.numel /= width;
  args.shape[0] /= width;
  for (int k = 0; k < args.indices; ++k) args.step[k] /= width;
  for (int d = 1; d < args.ndim; ++d) {
    args.values_strides[d] /= width;
    args.table_strides[d] /= width;
  }
  return true;
}

void gather_kernel(const IndexedArgs& args) {
  IndexedArgs blocks = args;
  if (take_blocks(blocks))
    return for_each("gather", args.values, blocks.numel, body::GatherBody<Block>{blocks});
  body::visit_item(item_size(args.dtype), [&](auto item) {
    for_each("gather", args.values, args.numel, body::GatherBody<decltype(item)>{args});
  });
}

// Bad indices.

__global__ void __launch_bounds__(kThreads)
    first_outside_kernel(const int64_t* index, int64_t count, int64_t lowest, int64_t size,
                         unsigned long long* first, int64_t* inside) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const int64_t value = index[i];
    const bool bad = value < lowest || value >= size;
    if (bad) atomicMin(first, static_cast<unsigned long long>(i));
    if (inside) inside[i] = bad ? 0 : value < 0 ? value + size : value;
  }
}

int64_t find_bad_index(const Tensor& index, int64_t lowest, int64_t size, int64_t* inside) {
  if (index.numel() == 0) return -1;
  const LaunchSite site(index.data());
  FirstBad first("index", site.device(), site.stream());
  launch("index", first_outside_kernel, site.blocks(index.numel()), kThreads, site.stream(),
         index.data<int64_t>(), index.numel(), lowest, size, first.data(), inside);
  return first.known();
}

// nonzero.

template <class M>
__device__ __forceinline__ bool is_set(const MemoryType<M>* data, int64_t i) {
  return load<ComputeType<M>, M>(data + i) != ComputeType<M>(0);
}

template <class M>
__device__ int64_t count_mine(const MemoryType<M>* data, int64_t first, int64_t count) {
  int64_t mine = 0;
  for (int64_t i = first; i < end_counted(first, count); ++i) mine += is_set<M>(data, i);
  return mine;
}

template <class M>
__global__ void __launch_bounds__(kThreads)
    count_chunks_kernel(const MemoryType<M>* data, int64_t count, int64_t chunks, int64_t* counts) {
  for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    int64_t total = 0;
    count_before(count_mine<M>(data, first_counted(chunk), count), total);
    if (threadIdx.x == 0) counts[chunk] = total;
  }
}

struct NonzeroShape {
  int ndim;
  int64_t size[kMaxDims];
};

template <class M>
__global__ void __launch_bounds__(kThreads)
    write_positions_kernel(const MemoryType<M>* data, int64_t count, int64_t chunks,
                           const int64_t* before, const __grid_constant__ NonzeroShape shape,
                           int64_t* out) {
  for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const int64_t first = first_counted(chunk);
    int64_t total = 0;
    int64_t place = before[chunk] + count_before(count_mine<M>(data, first, count), total);
    for (int64_t i = first; i < end_counted(first, count); ++i) {
      if (!is_set<M>(data, i)) continue;
      int64_t rest = i;
      for (int d = shape.ndim - 1; d >= 0; --d) {
        out[place * shape.ndim + d] = rest % shape.size[d];
        rest /= shape.size[d];
      }
      ++place;
    }
  }
}

template <class M>
Tensor find_nonzero(const Tensor& input) {
  const int64_t count = input.numel(), ndim = input.dim();
  if (count == 0) return empty({0, ndim}, {.dtype = i64, .device = input.device()});
  const LaunchSite site(input.data());
  const auto* data = static_cast<const MemoryType<M>*>(input.data());
  const int64_t chunks = (count + kCountedChunk - 1) / kCountedChunk;
  const unsigned blocks = grid_blocks(std::min<int64_t>(chunks, 1 << 20));
  const Workspace counts((chunks + 1) * 8, site.device());
  launch("nonzero", count_chunks_kernel<M>, blocks, kThreads, site.stream(), data, count, chunks,
         counts.as<int64_t>());
  const int64_t found = add_up("nonzero", counts.as<int64_t>(), chunks, site);
  const Tensor output = empty({found, ndim}, {.dtype = i64, .device = input.device()});
  if (output.numel() == 0) return output;
  NonzeroShape shape{static_cast<int>(ndim), {}};
  for (int d = 0; d < shape.ndim; ++d) shape.size[d] = input.shape()[d];
  launch("nonzero", write_positions_kernel<M>, blocks, kThreads, site.stream(), data, count, chunks,
         counts.as<int64_t>(), shape, output.data<int64_t>());
  return output;
}

Tensor nonzero_kernel(const Tensor& input) {
  return visit_dtype(input.dtype(), [&](auto type) { return find_nonzero<decltype(type)>(input); });
}

void remap_kernel(const body::RemapArgs& args) {
  body::visit_item(args.item_size, [&](auto item) {
    for_each("pad", args.output, args.numel, body::RemapBody<decltype(item)>{args});
  });
}

void triangle_kernel(const body::TriangleArgs& args) {
  body::visit_item(args.item_size, [&](auto item) {
    for_each("tril", args.output, args.numel, body::TriangleBody<decltype(item)>{args});
  });
}

}  // namespace

void register_indexing() {
  set_kernel<gather_op, gather_kernel>();
  set_kernel<index_op, gather_kernel>();
  set_kernel<find_bad_index_op, find_bad_index>();
  set_kernel<nonzero_op, nonzero_kernel>();
}

void register_rearrange() {
  set_kernel<flip_op, remap_kernel>();
  set_kernel<roll_op, remap_kernel>();
  set_kernel<pad_op, remap_kernel>();
  set_kernel<tril_op, triangle_kernel>();
  set_kernel<triu_op, triangle_kernel>();
}

}  // namespace aorta::cuda
