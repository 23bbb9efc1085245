// Scatters on a GPU against the CPU, exactly: values are whole numbers whose sums are exact in any
// order. Some elements meet few values, others as many as take several rounds of joining.
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/cuda/gpu.h>

using namespace aorta;
using gpu_test::difference;

namespace {

using CudaScatter = gpu_test::Gpu;

Tensor whole_numbers(int64_t low, int64_t high, const Shape& shape, DType dtype = i64) {
  Generator generator(3);
  return randint(low, high, shape, {.dtype = i64}, &generator).to(dtype);
}

/// Runs `f` on both devices, twice on the GPU, over memory full of NaN.
template <class F>
void expect_same(const F& f) {
  const Tensor wanted = f([](const Tensor& x) { return x; });
  for (int i = 0; i < 2; ++i) {
    gpu_test::poison(1 << 16);
    EXPECT_EQ(difference(f([](const Tensor& x) { return x.cuda(); }), wanted, 0, 0), "");
  }
}

struct Rows {
  int64_t rows, columns, count;
};
// No runs that chunks cut, a chunk's worth and one more, one run through all, many of few values.
constexpr Rows kRows[] = {{500, 3, 90}, {2, 3, 64},   {2, 3, 65},    {1, 1, 9000},
                          {3, 5, 5000}, {65, 2, 700}, {900, 2, 2000}};

}  // namespace

TEST_F(CudaScatter, RowsOfEveryDtype) {
  for (DType dtype : {f32, f64, f16, i64, i32, u8, boolean}) {
    for (const auto& [rows, columns, count] : kRows) {
      if (count > 1000 && dtype != f32) continue;
      SCOPED_TRACE(std::string(name(dtype)) + " rows " + std::to_string(rows));
      const int64_t high = dtype == f16 ? 2 : 4;
      const Tensor x = whole_numbers(0, 2, {rows, columns}, dtype);
      const Tensor values = whole_numbers(0, high, {count, columns}, dtype);
      const Tensor index = whole_numbers(0, rows, {count});
      expect_same([&](auto to) { return index_add(to(x), 0, to(index), to(values)); });
      expect_same([&](auto to) { return index_copy(to(x), 0, to(index), to(values)); });
    }
  }
}

TEST_F(CudaScatter, RunsThroughManyRounds) {
  // 33,000 items: 1,032 parts, 33, and 2.
  for (const int64_t rows : {1, 2, 40}) {
    const Tensor x = whole_numbers(0, 2, {rows}, f32), values = whole_numbers(-3, 4, {33000}, f32);
    const Tensor index = whole_numbers(0, rows, {33000});
    expect_same([&](auto to) { return scatter_add(to(x), 0, to(index), to(values)); });
  }
}

TEST_F(CudaScatter, ReductionsOfEveryKind) {
  for (DType dtype : {f32, i64}) {
    const Tensor x = whole_numbers(1, 9, {3, 30}, dtype);
    const Tensor index = whole_numbers(0, 30, {3, 400});
    const Tensor values = whole_numbers(-90, 90, {3, 400}, dtype);
    const Tensor signs = sub(mul(whole_numbers(0, 2, {3, 400}, dtype), 2), 1);
    for (const ScatterReduce reduce : {ScatterReduce::sum, ScatterReduce::prod, ScatterReduce::amax,
                                       ScatterReduce::amin, ScatterReduce::mean}) {
      const Tensor& source = reduce == ScatterReduce::prod ? signs : values;
      for (const bool self : {true, false})
        expect_same(
            [&](auto to) { return scatter_reduce(to(x), 1, to(index), to(source), reduce, self); });
    }
  }
}

TEST_F(CudaScatter, LayoutsAndSeveralIndices) {
  // The index differs from line to line, or not; the lines lie across; the table is a part.
  const Tensor table = whole_numbers(0, 5, {6, 20, 7}, f32);
  const Tensor values = whole_numbers(0, 5, {6, 200, 7}, f32);
  const Tensor index = whole_numbers(0, 20, {6, 200, 7});
  expect_same([&](auto to) { return scatter_add(to(table), 1, to(index), to(values)); });
  expect_same([&](auto to) {
    return scatter_add(to(table).transpose(0, 2), 1, to(index).transpose(0, 2).slice(0, 0, 5),
                       to(values).transpose(0, 2));
  });
  expect_same([&](auto to) {
    const Tensor part = to(table).clone();
    index_add_(part.slice(2, 1, 6, 2), 1, to(index.select(2, 0).select(0, 0)),
               to(values).slice(2, 0, 3));
    return part;
  });
  const Tensor first = whole_numbers(0, 6, {300}), third = whole_numbers(0, 7, {300});
  const Tensor pairs = whole_numbers(0, 9, {300, 20}, f32);
  for (const bool accumulate : {true, false})
    expect_same([&](auto to) {
      return index_put(to(table), {to(first), Slice{}, to(third)}, to(pairs), accumulate);
    });
}
