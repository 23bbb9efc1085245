#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tests/core/elements.h>
#include <aorta/tests/same_bits.h>

namespace aorta {
namespace {

using namespace elements;

// Numbers whose sum depends on the order.
Tensor uneven(Dice& dice, const Shape& shape) {
  const Tensor x = empty(shape);
  float* const data = x.data<float>();
  for (int64_t i = 0; i < x.numel(); ++i)
    data[i] = (static_cast<float>(dice(20000)) - 10000) * (dice(2) ? 1e-4f : 1e3f);
  return x;
}

// Row-major order, one addition after another: what the header promises.
Tensor sum_in_order(const Shape& table, const Tensor& places, const Tensor& source) {
  const Tensor sum = zeros(table);
  const int64_t width = source.numel() / places.numel();
  for (int64_t i = 0; i < places.numel(); ++i) {
    float* const to = sum.data<float>() + places.data<int64_t>()[i] * width;
    for (int64_t j = 0; j < width; ++j) to[j] += source.data<float>()[i * width + j];
  }
  return sum;
}

// Sums have the same bits for any number of threads, and those of the sequential sum.
TEST(IndexingThreads, SumsAreTheSameBits) {
  Dice dice(21);
  const int before = get_num_threads();
  for (int64_t width : {1, 3, 64, 200}) {
    const int64_t rows = 150000 / width;
    const Tensor places = random_index(dice, {rows}, 50);
    const Tensor source = uneven(dice, {rows, width});
    const Tensor want = sum_in_order({50, width}, places, source);
    for (int threads : {1, 2, 3, 7}) {
      set_num_threads(threads);
      EXPECT_TRUE(same_bits(index_add(zeros({50, width}), 0, places, source), want));
      EXPECT_TRUE(same_bits(index_put(zeros({50, width}), {places}, source, true), want));
      const Tensor wide = places.unsqueeze(1).expand({rows, width}).contiguous();
      EXPECT_TRUE(same_bits(scatter_add(zeros({50, width}), 0, wide, source), want));
      const Tensor columns = scatter_add(zeros({width, 50}), 1, wide.t(), source.t());
      EXPECT_TRUE(same_bits(columns.t().contiguous(), want));
    }
  }
  set_num_threads(before);
}

// What was there and all that is added to it, summed in f64 and rounded once: `places` (n) of rows
// of `table`, and `source` (n, ...).
Tensor half_sum(const Tensor& table, const Tensor& places, const Tensor& source) {
  const Tensor sum = table.to(f64), addends = source.to(f64);
  const int64_t width = source.numel() / places.numel(), rows = table.shape()[0];
  for (int64_t i = 0; i < places.numel(); ++i) {
    const int64_t place = places.data<int64_t>()[i];
    double* const to = sum.data<double>() + (place < 0 ? place + rows : place) * width;
    for (int64_t j = 0; j < width; ++j) to[j] += addends.data<double>()[i * width + j];
  }
  return sum.to(table.dtype());
}

// Sums of quarters that f32 and f64 hold without a rounding, whether few or many elements of a
// table are met: a table of 4,000 rows has few of them met by 300 places, one of 80 all.
TEST(IndexingThreads, SumsOfHalfTypesAreRoundedOnce) {
  Dice dice(23);
  const int before = get_num_threads();
  for (const DType dtype : {f16, bf16}) {
    for (const int64_t rows : {4000, 80}) {
      for (const int64_t width : {1, 5, 64}) {
        const Tensor table = (uneven(dice, {rows, width}).to(i32) % 40).to(dtype) / 4;
        const Tensor places = random_index(dice, {300}, 80);
        places.narrow(0, 0, 200).fill_(7);  // bf16 can't count so far
        const Tensor source = (uneven(dice, {300, width}).to(i32) % 40).to(dtype) / 4 + 5;
        const Tensor want = half_sum(table, places, source);
        const Tensor wide = places.unsqueeze(1).expand({300, width}).contiguous();
        const Tensor columns = arange(width).unsqueeze(0);
        for (const int threads : {1, 3}) {
          set_num_threads(threads);
          EXPECT_TRUE(same_bits(index_add(table, 0, places, source), want));
          EXPECT_TRUE(same_bits(scatter_add(table, 0, wide, source), want));
          EXPECT_TRUE(same_bits(index_put(table, {places - rows}, source, true), want));
          EXPECT_TRUE(same_bits(index_put(table, {wide, columns}, source, true), want));
          const Tensor turned = table.t().clone(MemoryFormat::contiguous).t();
          EXPECT_TRUE(same_bits(index_put_(turned, {places}, source, true).contiguous(), want));
          const Tensor part = zeros({rows, 2 * width}, {.dtype = dtype}).slice(1, 0, width);
          part.copy_(table);
          EXPECT_TRUE(same_bits(scatter_add_(part, 0, wide, source).contiguous(), want));
        }
        const Tensor none = places.narrow(0, 0, 0);
        EXPECT_TRUE(same_bits(index_add(table, 0, none, source.narrow(0, 0, 0)), table));
        EXPECT_TRUE(same_bits(index_put(table, {none}, source.narrow(0, 0, 0), true), table));
      }
    }
  }
  set_num_threads(before);
}

// A sum counts as a write, whichever way it is taken.
TEST(IndexingThreads, SumsOfHalfTypesAreWrites) {
  for (const int64_t size : {1000, 2}) {
    const Tensor x = zeros({size}, {.dtype = bf16}), one = ones({1}, {.dtype = bf16});
    const auto before = x.version();
    scatter_add_(x, 0, tensor({1}), one);
    const auto between = x.version();
    index_put_(x, {tensor({1})}, one, true);
    EXPECT_GT(between, before);
    EXPECT_GT(x.version(), between);
  }
}

TEST(IndexingThreads, ReadsAndSearchesAreWhole) {
  Dice dice(22);
  const int before = get_num_threads();
  const Tensor table = arange(3000 * 40).view({3000, 40});
  const Tensor places = random_index(dice, {5000}, 3000);
  const Tensor flat = random_index(dice, {300000}, 120000);
  for (int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    const Tensor rows = index_select(table, 0, places);
    const int64_t* const at = places.data<int64_t>();
    for (int64_t i = 0; i < 5000; i += 7) ASSERT_EQ(rows.at<int64_t>({i, 39}), at[i] * 40 + 39);
    const Tensor taken = take(table, flat);
    EXPECT_TRUE(same_bits(taken, flat));  // an arange holds its own places
    const Tensor found = nonzero(table);
    ASSERT_EQ(found.shape()[0], 3000 * 40 - 1);
    for (int64_t i = 0; i < found.shape()[0]; i += 11) {
      const int64_t place = found.at<int64_t>({i, 0}) * 40 + found.at<int64_t>({i, 1});
      ASSERT_EQ(place, i + 1);
    }
    const Tensor bad = flat.clone();
    bad.at<int64_t>({250000}) = 120000;
    bad.at<int64_t>({299999}) = 999999;
    expect_error([&] { gather(table.view({-1}), 0, bad); },
                 "gather: index out of range, got 120000 in dimension 0 of size 120000");
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace aorta
