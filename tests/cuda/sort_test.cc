// Sorting on a GPU against the CPU, exactly: lines of one tile and of many, and equals, which stay
// in their order.
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/cuda/gpu.h>

using namespace aorta;
using gpu_test::difference;
using gpu_test::random_values;

namespace {

using CudaSort = gpu_test::Gpu;

constexpr DType kSortedDTypes[] = {f32, f64, f16, bf16, i64, i32, u8, boolean};

void expect_same(const ValuesIndices& result, const ValuesIndices& wanted) {
  EXPECT_EQ(difference(result.values, wanted.values, 0, 0), "");
  EXPECT_EQ(difference(result.indices, wanted.indices, 0, 0), "");
}

/// Numbers of which many are equal, NaN, infinities and both zeros among them.
Tensor with_equals(const Shape& shape, DType dtype) {
  if (is_floating(dtype)) return random_values(shape, dtype, 1, true);
  Generator generator(2);
  return randint(0, dtype == boolean ? 2 : 100, shape, {.dtype = i64}, &generator).to(dtype);
}

}  // namespace

TEST_F(CudaSort, LinesOfEveryLength) {
  for (DType dtype : kSortedDTypes) {
    for (const int64_t length : {1, 2, 31, 300, 1024, 1025, 2500}) {
      // Keys of 32 bits and of 64 are sorted by kernels of their own; dtypes give keys alone.
      if (length > 1000 && dtype != f32 && dtype != i64) continue;
      SCOPED_TRACE(std::string(name(dtype)) + " " + std::to_string(length));
      const Tensor x = with_equals({2, length}, dtype);
      gpu_test::poison(2 * length * 8);
      expect_same(sort(x.cuda()), sort(x));
      expect_same(sort(x.cuda(), -1, true), sort(x, -1, true));
    }
  }
}

TEST_F(CudaSort, LinesThatLieAcross) {
  for (DType dtype : {f32, i64}) {
    const Tensor x = with_equals({2, 1030, 3}, dtype);
    for (int64_t dim = 0; dim < 3; ++dim) expect_same(sort(x.cuda(), dim), sort(x, dim));
    expect_same(topk(x.cuda(), 7, 1), topk(x, 7, 1));
  }
}

TEST_F(CudaSort, FewOfManyInOrderOrInPlace) {
  for (DType dtype : {bf16, f64}) {
    const Tensor x = with_equals({2, 2500}, dtype);
    for (const int64_t k : {1, 10, 1500, 2500}) {
      SCOPED_TRACE(std::string(name(dtype)) + " k " + std::to_string(k));
      for (const bool sorted : {true, false})
        expect_same(topk(x.cuda(), k, -1, k != 10, sorted), topk(x, k, -1, k != 10, sorted));
    }
  }
}

TEST_F(CudaSort, UniqueElements) {
  for (DType dtype : kSortedDTypes) {
    for (const int64_t length : {0, 1, 300, 5000}) {
      if (length > 1000 && dtype != f32) continue;  // more than one chunk of results
      SCOPED_TRACE(std::string(name(dtype)) + " " + std::to_string(length));
      const Tensor x = with_equals({length}, dtype);
      const Unique result = unique(x.cuda(), true, true, true),
                   wanted = unique(x, true, true, true);
      EXPECT_EQ(difference(result.values, wanted.values, 0, 0), "");
      EXPECT_EQ(difference(result.inverse, wanted.inverse, 0, 0), "");
      EXPECT_EQ(difference(result.counts, wanted.counts, 0, 0), "");
    }
  }
}

TEST_F(CudaSort, UniqueRows) {
  Generator generator(5);
  for (DType dtype : {i64, f32}) {
    const Tensor x = randint(0, 4, {2, 1100, 2}, {.dtype = i64}, &generator).to(dtype);
    for (int64_t dim : {0, 1}) {
      const Unique result = unique_dim(x.cuda(), dim, true, true, true);
      const Unique wanted = unique_dim(x, dim, true, true, true);
      EXPECT_EQ(difference(result.values, wanted.values, 0, 0), "");
      EXPECT_EQ(difference(result.inverse, wanted.inverse, 0, 0), "");
      EXPECT_EQ(difference(result.counts, wanted.counts, 0, 0), "");
    }
  }
}
