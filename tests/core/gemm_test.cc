// The matrix kernels of every instruction set that this CPU has.

#include <aorta/core/cpu/gemm.h>
#include <aorta/tests/core/matrices.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace aorta {
namespace {

struct Kernels {
  const char* name;
  cpu::Isa isa;
  const cpu::GemmLoops& loops;
};
const Kernels kKernels[] = {{"v2", cpu::Isa::v2, cpu::v2::gemm_loops},
                            {"v3", cpu::Isa::v3, cpu::v3::gemm_loops},
                            {"v4", cpu::Isa::v4, cpu::v4::gemm_loops}};

// Lays out all panels of one side, as the driver does.
std::vector<char> packed(const Kernels& kernels, cpu::GemmKind kind, const Tensor& x, int line_dim,
                         int panel, int padding) {
  const int64_t lines = x.size(line_dim), k = x.size(1 - line_dim);
  const int64_t depth = kind == cpu::GemmKind::bf16 ? (k + 1) / 2 : k;
  const int64_t bytes = kernels.loops.tile(kind).bytes;
  std::vector<char> result(static_cast<size_t>((lines + panel) * depth * bytes), char(0x7f));
  for (int64_t first = 0; first < lines; first += panel) {
    cpu::GemmPack pack;
    pack.kind = kind;
    pack.dtype = x.dtype();
    const int64_t item = item_size(x.dtype());
    pack.line_stride = x.stride(line_dim) * item;
    pack.k_stride = x.stride(1 - line_dim) * item;
    pack.source = static_cast<const char*>(x.data()) + first * pack.line_stride;
    pack.lines = std::min<int64_t>(panel, lines - first);
    pack.padded = (pack.lines + padding - 1) / padding * padding;
    pack.k = k;
    pack.packed = result.data() + first * depth * bytes;
    kernels.loops.pack(pack);
  }
  return result;
}

// c in a wider block of sevens, of which nothing else may change.
template <class T>
struct Block {
  int64_t m, n, ldc;
  std::vector<T> data;
  Block(int64_t rows, int64_t columns)
      : m(rows), n(columns), ldc(columns + 5), data(static_cast<size_t>((rows + 2) * ldc), T(7)) {}
  T* first() { return data.data() + ldc + 2; }
  void expect(const Reference& expected, double alpha, double added) const {
    for (int64_t i = -1; i <= m; ++i) {
      for (int64_t j = -2; j < n + 3; ++j) {
        const bool inside = i >= 0 && i < m && j >= 0 && j < n;
        const double value = data[static_cast<size_t>((i + 1) * ldc + j + 2)];
        const double wanted =
            inside ? alpha * expected.sum[static_cast<size_t>(i * n + j)] + added : 7;
        ASSERT_EQ(value, wanted) << i << " " << j;
      }
    }
  }
};

template <class T>
void check_kernels(const Kernels& kernels, DType dtype, cpu::GemmKind kind, const Sizes& sizes,
                   bool accumulate) {
  const auto [m, n, k] = sizes;
  const Tensor a = integers({m, k}, dtype), b = integers({k, n}, dtype);
  const Reference expected = reference(a, b);
  const double alpha = accumulate ? -2 : 1, added = accumulate ? 7 : 0;
  const cpu::GemmTile tile = kernels.loops.tile(kind);
  for (int layouts = 0; layouts < 16; ++layouts) {
    const Tensor x = laid_out(a, static_cast<MatrixLayout>(layouts % 4));
    const Tensor y = laid_out(b, static_cast<MatrixLayout>(layouts / 4));
    SCOPED_TRACE(std::string(kernels.name) + " " + name(dtype) + " " +
                 to_string(Dims{m, n, k, layouts, accumulate}));
    const std::vector<char> left = packed(kernels, kind, x, 0, tile.rows, 1);
    const std::vector<char> right = packed(kernels, kind, y, 1, tile.columns, tile.columns / 2);
    Block<T> c(m, n);
    cpu::GemmBlock block;
    block.kind = kind;
    block.m = m;
    block.n = n;
    block.k = block.b_depth = kind == cpu::GemmKind::bf16 ? (k + 1) / 2 : k;
    const cpu::GemmRun run{0, block.k};
    block.runs = &run;
    block.run_count = 1;
    block.a = left.data();
    block.b = right.data();
    block.c = c.first();
    block.ldc = c.ldc;
    block.alpha = alpha;
    block.accumulate = accumulate;
    kernels.loops.block(block);
    c.expect(expected, alpha, added);
    if (testing::Test::HasFatalFailure()) continue;
    cpu::Gemm gemm{.dtype = dtype,
                   .m = m,
                   .n = n,
                   .k = k,
                   .a = x.data(),
                   .a_row = x.stride(0),
                   .a_column = x.stride(1),
                   .b = y.data(),
                   .b_row = y.stride(0),
                   .b_column = y.stride(1),
                   .ldc = c.ldc,
                   .alpha = alpha,
                   .accumulate = accumulate};
    if (y.stride(1) == 1) {
      Block<T> direct(m, n);
      gemm.c = direct.first();
      kernels.loops.direct(gemm);
      direct.expect(expected, alpha, added);
    }
    if (x.stride(1) == 1 && y.stride(0) == 1) {
      Block<T> dots(m, n);
      gemm.c = dots.first();
      (kind == cpu::GemmKind::bf16 ? kernels.loops.pair_dots : kernels.loops.dots)(gemm);
      dots.expect(expected, alpha, added);
    }
  }
}

// The weight gradient of a layer for one sample: a dot product of length 1 an element takes twenty
// times as long.
TEST(Gemm, AnOuterProductIsNoDotProducts) {
  for (const int64_t rows : {2, 30, 100}) {
    cpu::Gemm gemm{.m = rows, .n = 784, .k = 1, .a_row = 1, .a_column = rows, .b_row = 784};
    gemm.b_column = 1;
    EXPECT_NE(cpu::gemm_path(gemm), cpu::GemmPath::dots) << rows;
    gemm.k = 2;
    gemm.b_row = 1, gemm.b_column = 2, gemm.a_row = 2, gemm.a_column = 1;
    EXPECT_EQ(cpu::gemm_path(gemm) == cpu::GemmPath::dots, rows <= 30) << rows;
  }
}

TEST(Gemm, FewRowsOfHalvesAreNotPacked) {
  for (const DType dtype : {f16, bf16}) {
    cpu::Gemm gemm{.dtype = dtype, .m = 8, .n = 784, .k = 64, .a_row = 64, .a_column = 1};
    gemm.b_row = 784, gemm.b_column = 1;
    EXPECT_EQ(cpu::gemm_path(gemm), cpu::GemmPath::direct) << name(dtype);
    gemm.b_row = 1, gemm.b_column = 64;
    EXPECT_EQ(cpu::gemm_path(gemm), cpu::GemmPath::dots) << name(dtype);
    std::swap(gemm.m, gemm.n);
    EXPECT_EQ(cpu::gemm_path(gemm), cpu::GemmPath::dots) << name(dtype);
    gemm.n = 64;
    EXPECT_EQ(cpu::gemm_path(gemm), cpu::GemmPath::packed) << name(dtype);
  }
}

// One of each number of H: 1 x (1, 65536).
template <class H>
void check_numbers(const Kernels& kernels, DType dtype) {
  constexpr int64_t kCount = 1 << 16;
  const H one(1.0f);
  std::vector<H> halves(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    halves[static_cast<size_t>(i)].bits = static_cast<uint16_t>(i);
  std::vector<float> c(kCount), d(kCount);
  cpu::Gemm gemm{.dtype = dtype, .m = 1, .n = kCount, .k = 1, .a = &one, .a_row = 1, .a_column = 1};
  gemm.b = halves.data();
  gemm.b_row = kCount, gemm.b_column = 1;
  gemm.c = c.data();
  gemm.ldc = kCount;
  kernels.loops.direct(gemm);
  gemm.b_row = gemm.b_column = 1;
  gemm.c = d.data();
  kernels.loops.dots(gemm);
  for (size_t i = 0; i < c.size(); ++i) {
    const float wanted = halves[i];
    ASSERT_TRUE(std::isnan(wanted) ? std::isnan(c[i]) && std::isnan(d[i])
                                   : c[i] == wanted && d[i] == wanted)
        << kernels.name << " " << name(dtype) << " " << wanted << " " << c[i] << " " << d[i];
  }
}

TEST(Gemm, KernelsWidenEveryHalf) {
  for (const Kernels& kernels : kKernels) {
    if (kernels.isa > cpu::isa()) continue;
    check_numbers<Half>(kernels, f16);
    check_numbers<BFloat16>(kernels, bf16);
  }
}

}  // namespace

TEST(Gemm, KernelsOfEveryInstructionSetAreExactOnSmallIntegers) {
  // Every height of a tile, every width of its last vector, and k around a step.
  std::vector<Sizes> sizes;
  for (int64_t m = 1; m <= 25; ++m) sizes.push_back({m, 1 + m * 7 % 37, 1 + m * 5 % 23});
  for (int64_t n = 1; n <= 70; ++n) sizes.push_back({1 + n * 5 % 13, n, 1 + n * 11 % 59});
  for (const Kernels& kernels : kKernels) {
    if (kernels.isa > cpu::isa()) continue;
    for (const Sizes& s : sizes) {
      const bool accumulate = (s.m + s.n) % 2 == 0;
      check_kernels<float>(kernels, f32, cpu::GemmKind::f32, s, accumulate);
      check_kernels<double>(kernels, f64, cpu::GemmKind::f64, s, accumulate);
      check_kernels<float>(kernels, f16, cpu::GemmKind::f32, s, accumulate);
      check_kernels<float>(kernels, bf16, cpu::GemmKind::f32, s, accumulate);
      if (kernels.isa == cpu::Isa::v4 && cpu::has_bf16())
        check_kernels<float>(kernels, bf16, cpu::GemmKind::bf16, s, accumulate);
      if (HasFailure()) return;
    }
  }
}

}  // namespace aorta
