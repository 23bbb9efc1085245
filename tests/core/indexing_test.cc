#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/core/elements.h>

#include <algorithm>
#include <limits>

namespace aorta {
namespace {

using namespace elements;

struct Along {
  Tensor x, index;
  int dim;
};

// A tensor and an index for it, of random shapes; `distinct` along dim.
Along random_along(Dice& dice, DType dtype) {
  const int n = 1 + static_cast<int>(dice(4));
  const int dim = static_cast<int>(dice(n));
  const Shape shape = dice.shape(n, 5, false);
  Shape index_shape = shape;
  for (int d = 0; d < n; ++d) index_shape[d] = d == dim ? 1 + dice(6) : 1 + dice(shape[d]);
  return {scramble(dice, shape, dtype, kLayouts[dice(4)]),
          random_index(dice, index_shape, shape[dim], dice(3) ? i64 : i32, kLayouts[dice(4)]), dim};
}

Dims moved(const Dims& at, int dim, double to) {
  Dims result = at;
  result[dim] = static_cast<int64_t>(to);
  return result;
}

TEST(Gather, MatchesElementByElementReference) {
  Dice dice(11);
  for (int round = 0; round < 300; ++round) {
    const Along a = random_along(dice, kAllDTypes[static_cast<size_t>(dice(8))]);
    const Tensor want = empty(a.index.shape(), {.dtype = a.x.dtype()});
    for_each_index(want.shape(), [&](const Dims& at) {
      set(want, at, get(a.x, moved(at, a.dim, get(a.index, at))));
    });
    expect_equal(gather(a.x, dice(2) ? a.dim : a.dim - a.x.dim(), a.index), want);
  }
}

// An index that is expanded over a row is one copy a row.
TEST(Gather, TakesExpandedIndices) {
  const Tensor x = arange(24).view({2, 3, 4});
  const Tensor index = tensor({{2}, {0}}).view({2, 1, 1}).expand({2, 1, 4});
  expect_values(gather(x, 1, index), {2, 1, 4}, {8, 9, 10, 11, 12, 13, 14, 15});
  expect_values(gather(tensor(5), 0, tensor({0, 0})), {2}, {5, 5});
  expect_values(gather(tensor(5), 0, tensor(0)), {}, {5});
  EXPECT_EQ(to_string(gather(x, 0, empty({0}, {.dtype = i64})).shape()), "[0]");
}

TEST(Gather, NamesWhatIsWrong) {
  const Tensor x = zeros({4, 5});
  expect_error(
      [&] {
        gather(x, 1, tensor({{0, 7}}));
      },
      "gather: index out of range, got 7 in dimension 1 of size 5");
  expect_error(
      [&] {
        gather(x, 1, tensor({{0, -1}}));
      },
      "gather: index out of range, got -1 in dimension 1 of size 5");
  expect_error([&] { gather(x, 1, tensor({0})); },
               "gather: the index must have as many dimensions as the tensor, got [1] for shape "
               "[4,5]");
  expect_error(
      [&] {
        gather(x, 1, zeros({5, 1}, {.dtype = i64}));
      },
      "gather: the index can't be larger than the tensor but in its dimension, got [5,1] "
      "for shape [4,5] in dimension 1");
  expect_error(
      [&] {
        gather(x, 1, zeros({4, 1}));
      },
      "gather: the index must be i64 or i32, got f32");
  expect_error(
      [&] {
        gather(x, 2, zeros({4, 1}, {.dtype = i64}));
      },
      "gather: dimension out of range, got dim 2 of a 2-d tensor");
  expect_error([&] { gather(zeros({0}), 0, tensor({0})); },
               "gather: index out of range, got 0 in dimension 0 of size 0");
}

double combined(ScatterReduce reduce, DType dtype, double old, double value) {
  if (dtype == boolean) return reduce == ScatterReduce::prod ? old * value : std::max(old, value);
  const double result = reduce == ScatterReduce::prod ? old * value : old + value;
  return dtype == u8 ? static_cast<double>(static_cast<uint8_t>(static_cast<int64_t>(result)))
                     : result;
}

TEST(Scatter, MatchesElementByElementReference) {
  Dice dice(12);
  for (int round = 0; round < 300; ++round) {
    const DType dtype = kAllDTypes[static_cast<size_t>(dice(8))];
    const Along a = random_along(dice, dtype);
    Shape source_shape = a.index.shape();
    for (int64_t& size : source_shape) size += dice(2);
    const Tensor source = scramble(dice, source_shape, dtype, kLayouts[dice(4)]);
    const Tensor assigned = a.x.clone(MemoryFormat::contiguous), sum = assigned.clone();
    const Tensor filled = assigned.clone();
    for_each_index(a.index.shape(), [&](const Dims& at) {
      const Dims to = moved(at, a.dim, get(a.index, at));
      set(assigned, to, get(source, at));
      set(filled, to, 1);
      set(sum, to, combined(ScatterReduce::sum, dtype, get(sum, to), get(source, at)));
    });
    expect_equal(scatter(a.x, a.dim, a.index, source), assigned);
    expect_equal(scatter(a.x, a.dim, a.index, 1), filled);
    expect_equal(scatter_add(a.x, a.dim, a.index, source), sum);
    const uint32_t version = a.x.version();
    EXPECT_TRUE(scatter_add_(a.x, a.dim, a.index, source).is_same(a.x));
    expect_equal(a.x, sum);
    EXPECT_GT(a.x.version(), version);
  }
}

TEST(Scatter, ScalarsAndEmptyIndices) {
  const Tensor x = tensor(5);
  expect_values(scatter_(x, 0, tensor({0, 0}), tensor({7, 8})), {}, {8});
  expect_values(scatter_add_(x, 0, tensor(0), tensor(2)), {}, {10});
  const Tensor y = ones({2, 2});
  expect_equal(scatter_(y, 0, empty({0, 2}, {.dtype = i64}), ones({1, 2})), ones({2, 2}));
  EXPECT_EQ(scatter_(empty({0, 3}), 1, empty({0, 3}, {.dtype = i64}), 2).numel(), 0);
}

TEST(Scatter, WritesNothingWhenAnIndexIsBad) {
  const Tensor x = zeros({2, 3});
  const uint32_t version = x.version();
  expect_error(
      [&] {
        scatter_(x, 1, tensor({{0, 1, 3}}), 1);
      },
      "scatter_: index out of range, got 3 in dimension 1 of size 3");
  expect_error(
      [&] {
        scatter_(x, 1, tensor({{0, -1}}), 1);
      },
      "scatter_: index out of range, got -1 in dimension 1 of size 3");
  expect_error(
      [&] {
        scatter_add_(x, 1, tensor({{0, 1}}), ones({1, 1}));
      },
      "scatter_add_: the index can't be larger than the source, got [1,2] for shape [1,1]");
  expect_error(
      [&] {
        scatter_(x, 1, tensor({{0}}), ones({1, 1}, {.dtype = f64}));
      },
      "scatter_: the source must have the tensor's dtype, got f64 for f32");
  expect_error(
      [&] {
        scatter_add_(x, 0, zeros({2, 4}, {.dtype = i64}), ones({2, 4}));
      },
      "scatter_add_: the index can't be larger than the tensor but in its dimension, got "
      "[2,4] for shape [2,3] in dimension 0");
  expect_error(
      [&] {
        scatter_(ones({3}).expand({2, 3}), 1, tensor({{0}}), 1);
      },
      "scatter_: a tensor whose elements share memory can't be written; clone it first, got "
      "[2,3] with strides [0,1]");
  EXPECT_EQ(x.version(), version);
  expect_equal(x, zeros({2, 3}));
}

TEST(Scatter, TakesSourceAndIndexFromTheTensorItself) {
  const Tensor x = arange(5);
  scatter_(x, 0, tensor({1, 2, 3, 4}), x.narrow(0, 0, 4));
  expect_values(x, {5}, {0, 0, 1, 2, 3});
  scatter_add_(x, 0, x, x);
  // index and source 0 0 1 2 3 into 0 0 1 2 3
  expect_values(x, {5}, {0, 1, 3, 5, 3});
}

TEST(Slices, MatchElementByElementReference) {
  Dice dice(13);
  for (int round = 0; round < 300; ++round) {
    const DType dtype = kAllDTypes[static_cast<size_t>(dice(8))];
    const int n = 1 + static_cast<int>(dice(4)), dim = static_cast<int>(dice(n));
    const Shape shape = dice.shape(n, 5, false);
    const Tensor x = scramble(dice, shape, dtype, kLayouts[dice(4)]);
    const int64_t count = dice(6);
    const Tensor index = random_index(dice, {count}, shape[dim], dice(3) ? i64 : i32);
    Shape slices = shape;
    slices[dim] = count;
    const Tensor source = scramble(dice, slices, dtype, kLayouts[dice(4)]);
    const Tensor selected = empty(slices, {.dtype = dtype});
    const Tensor copied = x.clone(MemoryFormat::contiguous), sum = copied.clone(),
                 filled = copied.clone();
    for_each_index(slices, [&](const Dims& at) {
      const Dims there = moved(at, dim, get(index, {at[dim]}));
      set(selected, at, get(x, there));
      set(copied, there, get(source, at));
      set(filled, there, 1);
      set(sum, there, combined(ScatterReduce::sum, dtype, get(sum, there), get(source, at)));
    });
    expect_equal(index_select(x, dim, index), selected);
    expect_equal(index_copy(x, dim, index, source), copied);
    expect_equal(index_fill(x, dim, index, 1), filled);
    expect_equal(index_add(x, dim, index, source), sum);
    expect_equal(index_copy_(x, dim - n, index, source), copied);
  }
}

// Rows are copied by their size in bytes: here each from 1 to 140, and eight times as many.
TEST(Slices, RowsOfEverySize) {
  Dice dice(14);
  for (const DType dtype : {u8, bf16, f32, f64}) {
    for (int64_t width = 1; width <= 140; ++width) {
      const Tensor x = scramble(dice, {3, 5, width}, dtype, kLayouts[dice(4)]);
      const Tensor index = random_index(dice, {7}, 5);
      const Tensor source = scramble(dice, {3, 7, width}, dtype);
      const Tensor selected = empty({3, 7, width}, {.dtype = dtype});
      const Tensor sum = x.clone(MemoryFormat::contiguous);
      for_each_index(selected.shape(), [&](const Dims& at) {
        const Dims there = moved(at, 1, get(index, {at[1]}));
        set(selected, at, get(x, there));
        set(sum, there, combined(ScatterReduce::sum, dtype, get(sum, there), get(source, at)));
      });
      expect_equal(index_select(x, 1, index), selected);
      expect_equal(index_add(x, 1, index, source), sum);
    }
  }
}

TEST(Slices, ScalarsAlphaAndNegativeFill) {
  const Tensor x = arange(6).view({3, 2});
  expect_values(index_select(x, 0, tensor(2)), {1, 2}, {4, 5});
  expect_values(index_select(tensor(7), 0, tensor({0})), {}, {7});  // as torch.index_select
  expect_values(index_select(tensor(7), 0, tensor(0)), {}, {7});
  expect_values(index_fill(x, 0, tensor({-1}), 9), {3, 2}, {0, 1, 2, 3, 9, 9});
  expect_values(index_add(x, 0, tensor({1, 1}), ones({2, 2}, {.dtype = i64}), -3), {3, 2},
                {0, 1, -4, -3, 4, 5});
  expect_values(index_add(tensor(1), 0, tensor({0, 0}), tensor({2, 3})), {}, {6});
  expect_error(
      [&] {
        index_select(x, 1, tensor({0, 2}));
      },
      "index_select: index out of range, got 2 in dimension 1 of size 2");
  expect_error(
      [&] {
        index_select(tensor(7), 0, tensor({0, 0}));
      },
      "index_select: a 0-d tensor has one slice, got 2");
  expect_error(
      [&] {
        index_add(x, 0, tensor({0}), ones({1, 2}, {.dtype = i64}), 0.5);
      },
      "index_add: alpha must be an integer for integers, got 0.5 for i64");
  expect_error([&] { index_select(x, 0, tensor({{0}})); },
               "index_select: the index must be 0-d or 1-d, got [1,1]");
  expect_error(
      [&] {
        index_add(x, 0, tensor({0, 3}), ones({2, 2}, {.dtype = i64}));
      },
      "index_add: index out of range, got 3 in dimension 0 of size 3");
  expect_error(
      [&] {
        index_add(x, 0, tensor({0}), ones({2, 2}, {.dtype = i64}));
      },
      "index_add: the source must have the shape of the slices, got [2,2] for [1,2]");
  expect_error(
      [&] {
        index_copy(x, 0, tensor({-1}), ones({1, 2}, {.dtype = i64}));
      },
      "index_copy: index out of range, got -1 in dimension 0 of size 3");
  expect_error([&] { index_fill(x, 0, tensor({-4}), 0); },
               "index_fill: index out of range, got -4 in dimension 0 of size 3");
}

TEST(Take, ReadsTheFlattenedTensor) {
  const Tensor x = arange(6).view({2, 3});
  expect_values(take(x, tensor({{5, -6}, {-1, 2}})), {2, 2}, {5, 0, 5, 2});
  expect_values(take(x.t(), tensor({1})), {1}, {3});
  expect_values(take(x, tensor(4)), {}, {4});
  expect_error([&] { take(x, tensor({6})); },
               "take: index out of range, got 6 in dimension 0 of size 6");
}

TEST(TakeAlongDim, BroadcastsBesideTheDimension) {
  const Tensor x = tensor({{10, 30, 20}, {60, 40, 50}});
  expect_values(take_along_dim(x, tensor({{2, 0}}), 1), {2, 2}, {20, 10, 50, 60});
  expect_values(take_along_dim(x, tensor({{-1}, {0}}), 1), {2, 1}, {20, 60});
  expect_values(take_along_dim(x.narrow(0, 0, 1), tensor({{1}, {0}, {2}}), 1), {3, 1},
                {30, 10, 20});
  expect_values(take_along_dim(x, tensor({5, 0})), {2}, {50, 10});
  expect_error([&] { take_along_dim(x, tensor({{3}}), 1); },
               "take_along_dim: index out of range, got 3 in dimension 1 of size 3");
  expect_error([&] { take_along_dim(x, tensor({0}), 1); },
               "take_along_dim: the index must have as many dimensions as the tensor, got [1] for "
               "shape [2,3]");
}

TEST(ScatterReduce, KeepsNaNAndRefusesTheMeanOfBools) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = tensor({nan, 1.0, 2.0}), index = tensor({0, 1, 2});
  const Tensor source = tensor({5.0, nan, 5.0});
  for (ScatterReduce reduce : {ScatterReduce::amax, ScatterReduce::amin}) {
    const std::vector<float> got = scatter_reduce(x, 0, index, source, reduce).to_vector<float>();
    EXPECT_TRUE(got[0] != got[0] && got[1] != got[1]);
    EXPECT_EQ(got[2], reduce == ScatterReduce::amax ? 5 : 2);
  }
  const Tensor flags = tensor({true, true});
  expect_values(
      scatter_reduce(flags, 0, tensor({0, 0}), tensor({false, true}), ScatterReduce::prod), {2},
      {0, 1});
  expect_values(
      scatter_reduce(flags, 0, tensor({0, 0}), tensor({false, false}), ScatterReduce::amax, false),
      {2}, {0, 1});
  expect_error(
      [&] {
        scatter_reduce(flags, 0, tensor({0, 0}), flags, ScatterReduce::mean);
      },
      "scatter_reduce: the mean needs numbers, got bool");
  expect_values(scatter_reduce(tensor({7, 7}), 0, tensor({1, 1}), tensor({-3, 0}),
                               ScatterReduce::mean, false),
                {2}, {7, -2});
}

// The bodies that a GPU runs give what the CPU's row loops give.
TEST(Bodies, GatherAndScatter) {
  Dice dice(14);
  const Tensor x = scramble(dice, {4, 3, 5}, f32, Layout::permuted);
  const Tensor index = random_index(dice, {4, 6, 5}, 3);
  const Tensor got = empty({4, 6, 5});
  body::IndexedArgs args;
  args.ndim = 3;
  args.indices = 1;
  args.numel = 120;
  args.index[0] = index.data<int64_t>();
  args.step[0] = x.strides()[1];
  args.values = got.data();
  args.table = x.data();
  for (int d = 0; d < 3; ++d) {
    const int i = 2 - d;
    args.shape[d] = index.shape()[i];
    args.values_strides[d] = args.index_strides[0][d] = got.strides()[i];
    args.table_strides[d] = i == 1 ? 0 : x.strides()[i];
  }
  const body::GatherBody<uint32_t> read{args};
  for (int64_t i = 0; i < 120; ++i) read(i);
  expect_equal(got, gather(x, 1, index));

  const Tensor want = scatter_add(x, 1, index, got);
  const body::ScatterBody<float> write{args, body::ScatterMode::sum};
  ASSERT_EQ(write.free_count(), 20);
  ASSERT_EQ(write.ordered_count(), 6);
  for (int64_t i = 19; i >= 0; --i) write(i);  // in any order
  expect_equal(x, want);
}

TEST(Scatter, IntegersWrapAround) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const Tensor x = tensor({most, int64_t{5}}), index = tensor({0, 0}), values = tensor({2, 3});
  expect_equal(scatter_add(x, 0, index, values), tensor({-most + 3, int64_t{5}}));
  expect_equal(index_add(x, 0, index, values), scatter_add(x, 0, index, values));
  const auto reduce = [&](ScatterReduce kind) {
    return scatter_reduce(x, 0, index, values, kind).to_vector<int64_t>();
  };
  using Numbers = std::vector<int64_t>;
  // As numpy has it: 2^63 - 1 + 5 is -2^63 + 4, and (2^63 - 1) 6 is -6.
  EXPECT_EQ(reduce(ScatterReduce::sum), (Numbers{-most + 3, 5}));
  EXPECT_EQ(reduce(ScatterReduce::prod), (Numbers{-6, 5}));
  EXPECT_EQ(reduce(ScatterReduce::mean), (Numbers{(-most + 3) / 3 - 1, 5}));
}

TEST(IndexSelect, IndicesAreCheckedWhereNothingIsRead) {
  const Tensor none = empty({2, 0, 3});
  EXPECT_EQ(to_string(index_select(none, 0, tensor({1, 0, 1})).shape()), "[3,0,3]");
  expect_error(
      [&] {
        index_select(none, 0, tensor({0, 2}));
      },
      "index_select: index out of range, got 2 in dimension 0 of size 2");
}

}  // namespace
}  // namespace aorta
