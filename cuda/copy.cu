// Copies, conversions between dtypes, transposes and fills.
#include <aorta/core/body/item.h>
#include <aorta/core/ops/copy.h>
#include <aorta/cuda/elementwise.cuh>

#include <utility>

namespace aorta::cuda {
namespace {

struct Identity {
  template <class T>
  __device__ __forceinline__ T operator()(T x) const {
    return x;
  }
};

void convert_contiguous(const PointwiseArgs& args) {
  visit_dtype(args.dtype[0], [&](auto to) {
    visit_dtype(args.dtype[1], [&](auto from) {
      using From = decltype(from);
      const ArrayInput<From> input{
          reinterpret_cast<const MemoryType<From>*>(args.data[1]), false, {}};
      launch_contiguous<decltype(to), From>("to", Identity{}, args.numel, args.data[0], input);
    });
  });
}

template <class U>
__global__ void __launch_bounds__(kThreads)
    copy_strided_kernel(const __grid_constant__ StridedArgs args) {
  for (int64_t i = first_item(); i < args.count; i += item_step()) {
    int64_t offset[2];
    args.offsets(static_cast<uint32_t>(i), offset);
    *reinterpret_cast<U*>(args.operand[0].data + offset[0]) =
        *reinterpret_cast<const U*>(args.operand[1].data + offset[1]);
  }
}

template <class From>
__global__ void __launch_bounds__(kThreads)
    convert_strided_kernel(const __grid_constant__ StridedArgs args) {
  for (int64_t i = first_item(); i < args.count; i += item_step()) {
    int64_t offset[2];
    args.offsets(static_cast<uint32_t>(i), offset);
    const auto value = load<ComputeType<From>, From>(args.operand[1].data + offset[1]);
    store(args.operand[0].data + offset[0], args.operand[0].dtype, value);
  }
}

/// Copies rows, when both sides are made of them.
bool copy_rows(const PointwiseArgs& args) {
  if (args.dtype[0] != args.dtype[1] || !is_array(args, 0)) return false;
  if (!is_array(args, 1) && !is_constant(args, 1)) return false;
  bool done = false;
  body::visit_item(item_size(args.dtype[0]), [&](auto item) {
    using U = decltype(item);
    const auto space = BlockSpaceOf<U, U>::rows(args);
    if (!space) return;
    const ArrayInput<U> input{reinterpret_cast<const U*>(args.data[1]), is_constant(args, 1), 0};
    launch_blocks<U>("copy", Identity{}, *space, args.data[0], input);
    done = true;
  });
  return done;
}

void copy_strided(const PointwiseArgs& args) {
  for_each_part(args, [](const PointwiseArgs& part) {
    if (copy_rows(part)) return;
    const LaunchSite site(part.data[0]);
    const unsigned blocks = site.blocks(part.numel);
    const StridedArgs strided = strided_args(part);
    if (part.dtype[0] == part.dtype[1]) {
      body::visit_item(item_size(part.dtype[0]), [&](auto item) {
        launch("copy", copy_strided_kernel<decltype(item)>, blocks, kThreads, site.stream(),
               strided);
      });
    } else {
      visit_dtype(part.dtype[1], [&](auto from) {
        launch("copy", convert_strided_kernel<decltype(from)>, blocks, kThreads, site.stream(),
               strided);
      });
    }
  });
}

// A transpose: the output's fast dimension and another one, which is fast in the input. Tiles of
// 32 x 32 go through shared memory, so that both sides are read and written in rows.

constexpr int kTile = 32, kTileRows = kThreads / kTile;

struct TransposeArgs {
  char *out, *in;
  int64_t columns, rows;          // sizes of the output's fast dimension and of the input's
  int64_t out_stride, in_stride;  // bytes between rows of the output, and of the input
  int64_t tiles_across, tiles;    // tiles along `columns`, and of one matrix
  int batch_ndim;
  int64_t batch_shape[kMaxDims], batch_out[kMaxDims], batch_in[kMaxDims];
};

template <class U>
__global__ void __launch_bounds__(kThreads)
    transpose_kernel(const __grid_constant__ TransposeArgs args, int64_t count) {
  AORTA_SHARED(U,
               tile, [kTile][kTile + 1]);  // one more: columns of a tile fall into different banks
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    int64_t batch = i / args.tiles, rest = i % args.tiles;
    char* out = args.out;
    const char* in = args.in;
    for (int d = 0; d < args.batch_ndim; ++d) {
      const int64_t place = batch % args.batch_shape[d];
      batch /= args.batch_shape[d];
      out += place * args.batch_out[d];
      in += place * args.batch_in[d];
    }
    const int64_t column = rest % args.tiles_across * kTile, row = rest / args.tiles_across * kTile;
    for (int k = threadIdx.y; k < kTile; k += kTileRows) {
      if (column + k < args.columns && row + threadIdx.x < args.rows) {
        const char* line = in + (column + k) * args.in_stride;
        tile[k][threadIdx.x] = reinterpret_cast<const U*>(line)[row + threadIdx.x];
      }
    }
    __syncthreads();
    for (int k = threadIdx.y; k < kTile; k += kTileRows) {
      if (row + k < args.rows && column + threadIdx.x < args.columns) {
        char* line = out + (row + k) * args.out_stride;
        reinterpret_cast<U*>(line)[column + threadIdx.x] = tile[threadIdx.x][k];
      }
    }
    __syncthreads();
  }
}

/// The dimension that is fast in the input where another one is in the output, or 0.
int transposed_dimension(const PointwiseArgs& args) {
  const int64_t item = item_size(args.dtype[0]);
  if (args.dtype[0] != args.dtype[1] || args.ndim < 2) return 0;
  if (args.strides[0][0] != item || args.strides[1][0] == item || args.shape[0] < kTile / 2) {
    return 0;
  }
  for (int d = 1; d < args.ndim; ++d) {
    if (args.strides[1][d] == item && args.shape[d] >= kTile / 2) return d;
  }
  return 0;
}

void copy_transposed(const PointwiseArgs& args, int fast) {
  TransposeArgs t{};
  t.out = args.data[0];
  t.in = args.data[1];
  t.columns = args.shape[0];
  t.rows = args.shape[fast];
  t.out_stride = args.strides[0][fast];
  t.in_stride = args.strides[1][0];
  t.tiles_across = (t.columns + kTile - 1) / kTile;
  t.tiles = t.tiles_across * ((t.rows + kTile - 1) / kTile);
  int64_t count = t.tiles;
  for (int d = 1; d < args.ndim; ++d) {
    if (d == fast) continue;
    t.batch_shape[t.batch_ndim] = args.shape[d];
    t.batch_out[t.batch_ndim] = args.strides[0][d];
    t.batch_in[t.batch_ndim++] = args.strides[1][d];
    count *= args.shape[d];
  }
  const LaunchSite site(t.out);
  const unsigned blocks = grid_blocks(count);
  body::visit_item(item_size(args.dtype[0]), [&](auto item) {
    launch("copy", transpose_kernel<decltype(item)>, blocks, dim3(kTile, kTileRows), site.stream(),
           t, count);
  });
}

void copy_kernel(const PointwiseArgs& args) {
  const bool arrays = args.ndim <= 1 && is_array(args, 0) && is_array(args, 1);
  if (arrays && args.dtype[0] == args.dtype[1]) {
    const LaunchSite site(args.data[0]);
    const int64_t bytes = args.numel * item_size(args.dtype[0]);
    const DeviceWork work("copy", DeviceType::cuda, site.stream());
    return check_cuda(cudaMemcpyAsync(args.data[0], args.data[1], static_cast<size_t>(bytes),
                                      cudaMemcpyDeviceToDevice, site.stream()),
                      "copy");
  }
  if (arrays) return convert_contiguous(args);
  if (const int fast = transposed_dimension(args)) return copy_transposed(args, fast);
  copy_strided(args);
}

template <class U>
__global__ void __launch_bounds__(kThreads)
    fill_strided_kernel(const __grid_constant__ StridedArgs args, const U value) {
  for (int64_t i = first_item(); i < args.count; i += item_step()) {
    int64_t offset[1];
    args.offsets(static_cast<uint32_t>(i), offset);
    *reinterpret_cast<U*>(args.operand[0].data + offset[0]) = value;
  }
}

/// Writes `value`, 16 bytes a thread.
template <class U>
__global__ void __launch_bounds__(kThreads) fill_kernel_contiguous(U* out, int64_t count, U value) {
  constexpr int V = 16 / sizeof(U);
  Vector<U, V> block;
#pragma unroll
  for (int j = 0; j < V; ++j) block.element[j] = value;
  // Elements before the first aligned place and after the last whole block go one by one.
  const int64_t head =
      min(count, static_cast<int64_t>((-reinterpret_cast<intptr_t>(out) & 15) / sizeof(U)));
  const int64_t blocks = (count - head) / V, tail = head + blocks * V;
  for (int64_t i = first_item(); i < blocks; i += item_step()) {
    reinterpret_cast<Vector<U, V>*>(out + head)[i] = block;
  }
  for (int64_t i = first_item(); i < head; i += item_step()) out[i] = value;
  for (int64_t i = tail + first_item(); i < count; i += item_step()) out[i] = value;
}

// The number lies in args.number[1], in the output's dtype.
void fill_kernel(const PointwiseArgs& args) {
  body::visit_item(item_size(args.dtype[0]), [&](auto item) {
    using U = decltype(item);
    U value;
    std::memcpy(&value, args.number[1], sizeof value);
    if (args.ndim <= 1 && is_array(args, 0)) {
      const LaunchSite site(args.data[0]);
      const unsigned blocks = site.blocks(args.numel * static_cast<int64_t>(sizeof(U)) / 16);
      return launch("fill_", fill_kernel_contiguous<U>, blocks, kThreads, site.stream(),
                    reinterpret_cast<U*>(args.data[0]), args.numel, value);
    }
    for_each_part(args, [&](const PointwiseArgs& part) {
      const LaunchSite site(part.data[0]);
      launch("fill_", fill_strided_kernel<U>, site.blocks(part.numel), kThreads, site.stream(),
             strided_args(part), value);
    });
  });
}

}  // namespace

void register_copy() {
  set_kernel<copy_op, copy_kernel>();
  set_kernel<fill_op, fill_kernel>();
}

}  // namespace aorta::cuda
