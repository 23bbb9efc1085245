// Bugs inside kernels. The numbers are those of the list of cases in README.md.
#include <aorta/tests/cuda/emulated/planted.h>
#include <mma.h>

namespace aorta::emulated {
namespace {

using PlantedKernels = Planted;

// Each block adds up neighbours through shared memory, tile after tile.
__global__ void sum_tiles(const float* in, float* out, int tiles, bool barrier) {
  AORTA_SHARED(float, tile, [64]);
  float sum = 0;
  for (int t = 0; t < tiles; ++t) {
    tile[threadIdx.x] = in[t * 64 + threadIdx.x];
    __syncthreads();
    sum += tile[63 - threadIdx.x];
    if (barrier) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// A tile is read the other way round, and then written anew; one block lacks the barrier between.
__global__ void turn_tile(float* out, unsigned without) {
  AORTA_SHARED(float, tile, [64]);
  tile[threadIdx.x] = 1;
  __syncthreads();
  const float turned = tile[63 - threadIdx.x];
  if (blockIdx.x != without) __syncthreads();
  tile[threadIdx.x] = turned;
  out[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];
}

__global__ void meet_apart(float* out, bool apart) {
  if (apart && threadIdx.x >= 32) {
    __syncthreads();
  } else if (apart) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}

__global__ void leave_early(float* out, bool early) {
  if (early && threadIdx.x == 5) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

__global__ void shuffle_with(float* out, unsigned mask) {
  out[threadIdx.x] = __shfl_xor_sync(mask, static_cast<float>(threadIdx.x), 1);
}

// A sum over a warp through shared memory; `sync`: with what lockstep gave for nothing once.
__global__ void sum_of_warp(float* out, bool sync) {
  AORTA_SHARED(float, part, [32]);
  part[threadIdx.x] = 1;
  for (unsigned step = 16; step > 0; step /= 2) {
    if (sync) __syncwarp();
    const float other = threadIdx.x < step ? part[threadIdx.x + step] : 0;
    if (sync) __syncwarp();
    part[threadIdx.x] += other;
  }
  if (threadIdx.x == 0) *out = part[0];
}

struct alignas(16) Four {
  float x[4];
};
__global__ void copy_four(const float* in, float* out) {
  const Four four = *reinterpret_cast<const Four*>(in);
  for (int i = 0; i < 4; ++i) out[i] = four.x[i];
}

// Rows 2^17 apart, of 2^15 elements: in 32 bits they are the same place.
__global__ void write_rows(float* out, bool narrow) {
  const uint64_t row = uint64_t{threadIdx.x} << 17, width = 1 << 15;
  const uint64_t place = narrow ? static_cast<uint32_t>(row * width) : row * width;
  if (narrow || threadIdx.x == 0) out[place] = 1;
}

__global__ void copy_one(const float* in, float* out) { *out = *in; }
__global__ void write_at(float* out, int64_t place) { out[place] = 1; }
__global__ void count_up(unsigned* out, bool atomically) {
  if (atomically) {
    atomicAdd(out, 1u);
  } else {
    *out += 1;
  }
}
// Each thread writes a byte of one word, all as a word or not at all before, and thread 0 reads
// from it after, with a barrier or without.
__global__ void write_bytes(unsigned char* bytes, unsigned* out, bool whole, bool barrier,
                            int read) {
  auto* word = reinterpret_cast<unsigned*>(bytes);
  if (whole && threadIdx.x == 0) *word = 0;
  __syncthreads();
  bytes[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
  if (barrier) __syncthreads();
  if (threadIdx.x == 0) *out = read < 0 ? *word : bytes[read];
}
__global__ void shared_past_end(float* out) {
  AORTA_SHARED(float, tile, [32]);
  tile[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + 1];
}
// out = a b of 16 x 16, by a warp: from `shift` elements into shared memory on, by `lanes` lanes.
__global__ void multiply_tiles(const __half* a, const __half* b, float* out, int shift, int lanes,
                               int apart) {
  using namespace nvcuda::wmma;
  struct alignas(32) Tile {
    __half x[2][256 + 32];
    float sums[256];
  };
  AORTA_SHARED(Tile, tile, [1]);
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += 32) {
    tile[0].x[0][shift + i] = a[i];
    tile[0].x[1][i] = b[i];
  }
  __syncthreads();
  fragment<matrix_a, 16, 16, 16, __half, row_major> left;
  fragment<matrix_b, 16, 16, 16, __half, col_major> right;
  fragment<accumulator, 16, 16, 16, float> sums;
  fill_fragment(sums, 1.0f);
  if (static_cast<int>(threadIdx.x) >= lanes) return;
  const int off = static_cast<int>(threadIdx.x) == apart ? 16 : 0;
  load_matrix_sync(left, &tile[0].x[0][shift + off], 16);
  load_matrix_sync(right, &tile[0].x[1][0], 16);
  mma_sync(sums, left, right, sums);
  store_matrix_sync(tile[0].sums, sums, 16, mem_row_major);
  __syncwarp();
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += 32) out[i] = tile[0].sums[i];
}
__global__ void share_too_much(float* out) {
  AORTA_SHARED(float, large, [12289]);
  large[threadIdx.x] = 1;
  out[threadIdx.x] = large[threadIdx.x];
}
__global__ void shuffle_in_places(float* out) {
  const float own = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = threadIdx.x < 16 ? __shfl_xor_sync(0xffffffffu, own, 1)
                                      : __shfl_xor_sync(0xffffffffu, own, 1);
}
__global__ void shuffle_apart(float* out, int bits, int width) {
  out[threadIdx.x] = __shfl_xor_sync(0x3u, static_cast<float>(threadIdx.x), bits, width);
}
// Half of a warp waits for a shuffle, and the other half for a barrier.
__global__ void wait_apart(float* out) {
  if (threadIdx.x < 16) {
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1.0f, 1);
  } else {
    __syncthreads();
  }
}
__global__ void count_at_odd_places(char* out) {
  atomicAdd(reinterpret_cast<unsigned*>(out + 2), 1u);
}
struct Wide {
  char bytes[32760];
};
__global__ void take_much(const Wide, float* out) { *out = 1; }
__global__ void shared_never_written(float* out) {
  AORTA_SHARED(float, tile, [32]);
  out[threadIdx.x] = tile[threadIdx.x];
}

}  // namespace

// 15: shared memory that is written again while another thread may still read it.
TEST_F(PlantedKernels, SharedMemoryUsedAgainWithoutABarrier) {
  const float* in = on_device(std::vector<float>(256, 1));
  float* out = on_device(std::vector<float>(64));
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    settings().order = order;
    start(sum_tiles, 1, 64, nullptr, in, out, 4, false);
    EXPECT_TRUE(finds("a barrier lies between one thread's write and another's access"));
    start(sum_tiles, 1, 64, nullptr, in, out, 4, true);
    EXPECT_EQ(found(), "");
    EXPECT_EQ(on_host(out, 64), std::vector<float>(64, 4));
  }
}

// Blocks have the same shared memory one after another, and what one did there hides nothing of the
// next: here the second alone reads without a barrier before the write.
TEST_F(PlantedKernels, SharedMemoryOfALaterBlock) {
  float* out = on_device(std::vector<float>(128));
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    settings().order = order;
    start(turn_tile, 2, 64, nullptr, out, 1u);
    EXPECT_TRUE(finds("a barrier lies between one thread's write and another's access"));
    start(turn_tile, 2, 64, nullptr, out, 2u);
    EXPECT_EQ(found(), "");
  }
}

// 16: some threads at one barrier and the others at another, or nowhere.
TEST_F(PlantedKernels, DivergentBarriers) {
  float* out = on_device(std::vector<float>(64));
  start(meet_apart, 1, 64, nullptr, out, true);
  EXPECT_TRUE(finds("all threads of a block come to the same barrier"));
  start(meet_apart, 1, 64, nullptr, out, false);
  EXPECT_EQ(found(), "");
  start(leave_early, 1, 64, nullptr, out, true);
  EXPECT_TRUE(finds("all threads of a block come to a barrier, or none"));
  start(leave_early, 1, 64, nullptr, out, false);
  EXPECT_EQ(found(), "");
}

// 17: masks that name lanes which aren't there, or not the caller; lockstep that nobody gives.
TEST_F(PlantedKernels, WrongMasksAndLockstep) {
  float* out = on_device(std::vector<float>(64));
  start(shuffle_with, 1, 20, nullptr, out, 0xffffffffu);
  EXPECT_TRUE(finds("every lane that the mask names takes part"));
  start(shuffle_with, 1, 32, nullptr, out, 0x0000ffffu);
  EXPECT_TRUE(finds("the mask of a shuffle names the caller"));
  start(shuffle_with, 1, 64, nullptr, out, 0xffffffffu);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(on_host(out, 3), (std::vector<float>{1, 0, 3}));
  start(sum_of_warp, 1, 32, nullptr, out, false);
  EXPECT_TRUE(finds("memory is written before it is read, got a read of 4 bytes of shared memory"));
  start(sum_of_warp, 1, 32, nullptr, out, true);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(on_host(out, 1), std::vector<float>{32});
}

// Tensor cores: a matrix at an odd place, and lanes that stay away.
TEST_F(PlantedKernels, MatricesOfAWarp) {
  std::vector<__half> a(256), b(256);
  std::vector<float> wanted(256, 1);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      a[static_cast<size_t>(i * 16 + j)] = __float2half_rn(static_cast<float>(i - 2 * j));
      b[static_cast<size_t>(i * 16 + j)] = __float2half_rn(static_cast<float>(3 * i + j - 20));
    }
  }
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      for (int k = 0; k < 16; ++k)
        wanted[static_cast<size_t>(i * 16 + j)] +=
            static_cast<float>((i - 2 * k) * (3 * j + k - 20));
    }
  }
  const __half *left = on_device(a), *right = on_device(b);
  float* out = on_device(std::vector<float>(256));
  start(multiply_tiles, 1, 32, nullptr, left, right, out, 0, 32, -1);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(on_host(out, 256), wanted);
  start(multiply_tiles, 1, 32, nullptr, left, right, out, 8, 32, -1);
  EXPECT_TRUE(finds("a matrix lies at a multiple of 32 bytes, its rows at multiples of 16"));
  start(multiply_tiles, 1, 32, nullptr, left, right, out, 0, 31, -1);
  EXPECT_TRUE(finds("every lane that the mask names takes part"));
  start(multiply_tiles, 1, 32, nullptr, left, right, out, 0, 32, 5);
  EXPECT_TRUE(finds("all lanes of a warp give the same matrix"));
}

TEST_F(PlantedKernels, ShufflesApart) {
  float* out = on_device(std::vector<float>(64));
  start(shuffle_in_places, 1, 32, nullptr, out);
  EXPECT_TRUE(finds("lanes that shuffle do so in the same place, with the same mask"));
  start(shuffle_apart, 1, 2, nullptr, out, 2, 32);
  EXPECT_TRUE(finds("the lane that a shuffle reads takes part in it"));
  start(shuffle_apart, 1, 2, nullptr, out, 1, 3);
  EXPECT_TRUE(finds("the width of a shuffle is a power of two up to 32"));
  start(shuffle_apart, 1, 2, nullptr, out, 1, 32);
  EXPECT_EQ(found(), "");
  start(wait_apart, 1, 32, nullptr, out);
  EXPECT_TRUE(finds("a thread waits for those that come"));
}

// 18: a vector read at an odd place.
TEST_F(PlantedKernels, MisalignedVectors) {
  const float* in = on_device(std::vector<float>(8, 1));
  float* out = on_device(std::vector<float>(4));
  start(copy_four, 1, 1, nullptr, in + 1, out);
  EXPECT_TRUE(finds("a vector is aligned to its size"));
  start(count_at_odd_places, 1, 1, nullptr, on_device(std::vector<char>(8)));
  EXPECT_TRUE(finds("an access is aligned to its size"));
  start(copy_four, 1, 1, nullptr, in + 4, out);
  EXPECT_EQ(found(), "");
}

// 19: an index that doesn't fit 32 bits falls on another's place.
TEST_F(PlantedKernels, IndicesThatWrap) {
  float* out = on_device(std::vector<float>(64));
  start(write_rows, 1, 2, nullptr, out, true);
  EXPECT_TRUE(finds("a barrier lies between one thread's write and another's access"));
  start(write_rows, 1, 2, nullptr, out, false);
  EXPECT_EQ(found(), "");
}

// What memcheck, initcheck and racecheck of NVIDIA's compute-sanitizer look for.
TEST_F(PlantedKernels, MemoryThatIsNotTheKernels) {
  float host = 1;
  float* out = on_device(std::vector<float>(4));
  start(copy_one, 1, 1, nullptr, static_cast<const float*>(&host), out);
  EXPECT_TRUE(
      finds("a kernel touches memory of the device or page-locked memory, got a read of 4 bytes of "
            "pageable host memory"));
  start(write_at, 1, 1, nullptr, out, int64_t{4});
  EXPECT_TRUE(finds("got a write of 4 bytes of memory of cuda:0, 16 bytes into a block of 16"));
  float* freed = on_device(std::vector<float>(4));
  cudaFree(freed);
  start(copy_one, 1, 1, nullptr, static_cast<const float*>(freed), out);
  EXPECT_TRUE(finds("freed memory of cuda:0"));
  void* empty = nullptr;
  cudaMalloc(&empty, 16);
  start(copy_one, 1, 1, nullptr, static_cast<const float*>(empty), out);
  EXPECT_TRUE(finds("memory is written before it is read"));
  start(write_at, 1, 1, nullptr, static_cast<float*>(empty), int64_t{0});
  start(copy_one, 1, 1, nullptr, static_cast<const float*>(empty), out);
  EXPECT_EQ(found(), "");
  void* pinned = nullptr;
  cudaHostAlloc(&pinned, 16, cudaHostAllocPortable);
  start(copy_one, 1, 1, nullptr, static_cast<const float*>(pinned), out);
  EXPECT_EQ(found(), "");
  cudaFreeHost(pinned);
}

TEST_F(PlantedKernels, SharedMemoryOutOfBoundsOrUnwritten) {
  float* out = on_device(std::vector<float>(32));
  start(shared_past_end, 1, 32, nullptr, out);
  EXPECT_TRUE(finds("an index lies inside the array of shared memory"));
  start(share_too_much, 1, 32, nullptr, out);
  EXPECT_TRUE(finds("a block has at most 48 KiB of static shared memory"));
  start(shared_never_written, 1, 32, nullptr, out);
  EXPECT_TRUE(finds("memory is written before it is read"));
}

// Lanes of a warp that are ordered by nothing, seen whatever their order.
TEST_F(PlantedKernels, SumsWithoutAtomics) {
  unsigned* out = on_device(std::vector<unsigned>(1));
  start(count_up, 2, 1, nullptr, out, false);
  EXPECT_TRUE(finds("two blocks of a launch don't touch what one of them writes"));
  start(count_up, 1, 2, nullptr, out, false);
  EXPECT_TRUE(finds("a barrier lies between"));
  start(count_up, 2, 32, nullptr, out, true);
  EXPECT_EQ(found(), "");
}

// Bytes of one word are their threads' own; who reads another's, alone or with the word, races.
TEST_F(PlantedKernels, BytesOfAWord) {
  auto* bytes = on_device(std::vector<unsigned char>(4));
  unsigned* out = on_device(std::vector<unsigned>(1));
  for (const bool whole : {false, true}) {
    for (const int read : {-1, 0, 3}) {
      start(write_bytes, 1, 4, nullptr, bytes, out, whole, true, read);
      EXPECT_EQ(found(), "");
      start(write_bytes, 1, 4, nullptr, bytes, out, whole, false, read);
      if (read == 0) {
        EXPECT_EQ(found(), "");
      } else {
        EXPECT_TRUE(finds("a barrier lies between")) << whole << read;
      }
    }
  }
  // Whole words again, by another thread each time.
  start(write_bytes, 2, 4, nullptr, bytes, out, true, true, 0);
  EXPECT_TRUE(finds("two blocks of a launch don't touch what one of them writes"));
}

// 20, 21: launches of nothing, and of too much.
TEST_F(PlantedKernels, LaunchesBeyondTheLimits) {
  float* out = on_device(std::vector<float>(1));
  const struct {
    dim3 grid, block;
    const char* rule;
  } cases[] = {
      {dim3(0), dim3(1), "a grid has 1 to 2^31-1 blocks"},
      {dim3(1), dim3(0), "a block has 1 to 1024 threads"},
      {dim3(1), dim3(1025), "a block has 1 to 1024 threads"},
      {dim3(1), dim3(1, 1, 65), "a block has 1 to 1024 threads"},
      {dim3(1), dim3(512), "a block has no more threads than the kernel's __launch_bounds__"},
      {dim3(1, 65536), dim3(1), "a grid has 1 to 2^31-1 blocks"},
      {dim3(1, 1, 65536), dim3(1), "a grid has 1 to 2^31-1 blocks"},
      {dim3(1u << 31), dim3(1), "a grid has 1 to 2^31-1 blocks"}};
  for (const auto& c : cases) {
    EXPECT_EQ(start(write_at, c.grid, c.block, nullptr, out, int64_t{0}), cudaErrorInvalidValue);
    EXPECT_TRUE(finds(c.rule));
  }
  EXPECT_EQ(start(take_much, 1, 1, nullptr, Wide{}, out), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("parameters take at most 32764 bytes, got 32768"));
  cudaLaunchConfig_t config{};
  config.dynamicSmemBytes = (48 << 10) + 1;
  EXPECT_EQ(cudaLaunchKernelEx(&config, write_at, out, int64_t{0}), cudaErrorInvalidValue);
  EXPECT_TRUE(finds("dynamic shared memory is at most 48 KiB"));
  const cudaStream_t stream = new_stream();
  cudaStreamDestroy(stream);
  EXPECT_EQ(start(write_at, 1, 1, stream, out, int64_t{0}), cudaErrorInvalidResourceHandle);
  EXPECT_TRUE(finds("the stream must be one that was made and not destroyed, got a destroyed one"));
}

// 22: another device is current than the one that the tensors lie on.
TEST_F(PlantedKernels, AnotherDeviceIsCurrent) {
  float* out = on_device(std::vector<float>(1));
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  cudaSetDevice(1);
  EXPECT_EQ(start(write_at, 1, 1, stream, out, int64_t{0}), cudaErrorInvalidResourceHandle);
  EXPECT_TRUE(finds("the stream is of the current device"));
  start(write_at, 1, 1, nullptr, out, int64_t{0});
  EXPECT_TRUE(finds("a kernel touches its own device's memory"));
  cudaDeviceEnablePeerAccess(0, 0);
  start(write_at, 1, 1, nullptr, out, int64_t{0});
  EXPECT_EQ(found(), "");
  Memory::get().peer_access[1][0] = false;
}

TEST_F(PlantedKernels, HostCodeTouchesDeviceMemory) {
  float* data = on_device(std::vector<float>(64));
  EXPECT_DEATH(*data = 1,
               "host code: device memory is for kernels and copies alone, got memory of "
               "cuda:0, 0 bytes into a block of 256");
}

}  // namespace aorta::emulated
