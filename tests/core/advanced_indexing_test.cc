#include <aorta/core/io/npz.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/core/elements.h>

#include <limits>

namespace aorta {
namespace {

using namespace elements;

const npz::Reader& fixtures() {
  static const npz::Reader reader("tests/fixtures/core/advanced_indexing.npz");
  return reader;
}

std::string case_name(const char* prefix, int i) {
  const std::string digits = std::to_string(i);
  return prefix + std::string(3 - digits.size(), '0') + digits + "/";
}

// The encoding stands in make_advanced_indexing_fixtures.py.
std::vector<Index> decode(const std::string& name) {
  const Tensor spec = fixtures().tensor(name + "spec");
  const auto part = [](int64_t value) {
    return value == INT64_MAX ? std::nullopt : std::optional<int64_t>(value);
  };
  std::vector<Index> indices;
  for (int64_t i = 0; i < spec.shape()[0]; ++i) {
    const std::vector<int64_t> row = spec[i].to_vector<int64_t>();
    switch (row[0]) {
      case 0:
        indices.emplace_back(row[1]);
        break;
      case 1:
        indices.emplace_back(Slice{part(row[1]), part(row[2]), row[3]});
        break;
      case 2:
        indices.emplace_back(None);
        break;
      case 3:
        indices.emplace_back(Ellipsis);
        break;
      case 4:
        indices.emplace_back(row[1] != 0);
        break;
      default:
        indices.emplace_back(fixtures().tensor(name + "t" + std::to_string(row[1])));
    }
  }
  return indices;
}

TEST(Index, GivesWhatPyTorchGives) {
  for (int i = 0; i < 200; ++i) {
    const std::string name = case_name("", i);
    const Shape shape = fixtures().tensor(name + "shape").to_vector<int64_t>();
    const std::vector<Index> indices = decode(name);
    const Tensor x = arange(shape.numel()).view(shape);
    const Tensor out = fixtures().tensor(name + "out");
    for (Layout layout : kLayouts) {
      const Tensor y = blank(shape, i64, layout).copy_(x);
      expect_equal(index(y, indices), out, name);
      const Tensor values = arange(out.numel()).view(out.shape());
      index_put_(y, indices, values, true);
      expect_equal(y, fixtures().tensor(name + "put"), name + "put");
      // Reading back what was put: every place has one value, whatever came twice.
      const Tensor z = x.clone();
      index_put_(z, indices, mul(out, -2));
      expect_equal(index(z, indices), mul(out, -2), name + "assign");
    }
  }
}

TEST(ScatterReduce, GivesWhatPyTorchGives) {
  for (int i = 0; i < 40; ++i) {
    const std::string name = case_name("s", i);
    const std::vector<int64_t> how = fixtures().tensor(name + "how").to_vector<int64_t>();
    const Tensor x = fixtures().tensor(name + "x"), source = fixtures().tensor(name + "source");
    const Tensor index = fixtures().tensor(name + "index"), out = fixtures().tensor(name + "out");
    const auto reduce = static_cast<ScatterReduce>(how[1]);
    const auto run = [&](DType dtype) {
      return scatter_reduce(x.to(dtype), how[0], index, source.to(dtype), reduce, how[2] != 0);
    };
    expect_equal(run(f64), out, name);
    for (DType dtype : {f32, f16, bf16}) {
      // Rounded once, from f32; products of up to 5 factors of at most 4 are exact there.
      if (reduce == ScatterReduce::mean) {
        const Tensor error = abs(sub(run(dtype).to(f64), out));
        const double unit = dtype == f32 ? 0x1p-22 : dtype == f16 ? 0x1p-9 : 0x1p-6;
        for (double e : error.to_vector<double>()) EXPECT_LT(e, unit);
      } else {
        expect_equal(run(dtype), out.to(dtype), name + to_string(dtype));
      }
    }
    const Tensor whole = floor(out);
    if (reduce == ScatterReduce::mean) {
      expect_equal(run(i32), whole.to(i32), name + "i32");
    } else {
      expect_equal(run(i64), out.to(i64), name + "i64");
    }
    const Tensor y = x.clone();
    expect_equal(scatter_reduce_(y, how[0], index, source, reduce, how[2] != 0), out, name);
  }
}

// numpy's and PyTorch's rule, on shapes that tell.
TEST(Index, PutsTheIndexedDimensionsInTheirPlaceOrFirst) {
  const Tensor x = zeros({2, 3, 4, 5});
  const Tensor i = tensor({0, 1, 1}), j = zeros({7, 1}, {.dtype = i64});
  const auto shape = [&](const std::vector<Index>& indices) {
    return to_string(index(x, indices).shape());
  };
  EXPECT_EQ(shape({Slice{}, i, i}), "[2,3,5]");
  EXPECT_EQ(shape({Slice{}, i, j}), "[2,7,3,5]");
  EXPECT_EQ(shape({i, Slice{}, i}), "[3,3,5]");
  EXPECT_EQ(shape({Slice{}, i, Slice{}, j}), "[7,3,2,4]");
  EXPECT_EQ(shape({Slice{}, i, None, j}), "[7,3,2,1,5]");
  EXPECT_EQ(shape({0, Slice{}, i}), "[3,3,5]");  // an integer selects first, as in PyTorch
  EXPECT_EQ(shape({Ellipsis, j}), "[2,3,4,7,1]");
  EXPECT_EQ(shape({true}), "[1,2,3,4,5]");
  EXPECT_EQ(shape({false}), "[0,2,3,4,5]");
  EXPECT_EQ(shape({zeros({2, 3}, {.dtype = boolean})}), "[0,4,5]");
  EXPECT_EQ(shape({empty({0}, {.dtype = i64})}), "[0,3,4,5]");
  EXPECT_EQ(shape({}), "[2,3,4,5]");
}

TEST(Index, SharesMemoryWithoutIndexTensors) {
  const Tensor x = arange(12).view({3, 4});
  EXPECT_TRUE(index(x, {1, Slice{0, 2}}).shares_storage(x));
  EXPECT_TRUE(index(x, {tensor(1)}).shares_storage(x));  // a 0-d integer tensor is an integer
  EXPECT_FALSE(index(x, {tensor({1})}).shares_storage(x));
  expect_values(index(x, {-1, Slice{1, {}, 2}}), {2}, {9, 11});
  index_put_(x, {Slice{}, 0}, 7);
  expect_values(index(x, {Slice{}, 0}), {3}, {7, 7, 7});
  index_put_(x, {Ellipsis, Slice{1, 3}}, tensor({1, 2}), true);
  expect_values(index(x, {0}), {4}, {7, 2, 4, 3});
}

TEST(Index, KeepsTheStrideOrderOfARowSelection) {
  const Tensor x = ones({4, 3, 2, 2}).contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(index(x, {tensor({2, 0})}).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(index_select(x, 0, tensor({2, 0})).is_contiguous(MemoryFormat::channels_last));
}

TEST(Index, NamesIndexBoundAndDimension) {
  const Tensor x = zeros({4, 5});
  expect_error(
      [&] {
        index(x, {tensor({0, 1}), tensor({2, 7})});
      },
      "index: index out of range, got 7 in dimension 1 of size 5");
  expect_error(
      [&] {
        index(x, {Slice{}, tensor({-6, 2})});
      },
      "index: index out of range, got -6 in dimension 1 of size 5");
  expect_error(
      [&] {
        index(x, {1, 5});
      },
      "index: index out of range, got 5 in dimension 1 of size 5");
  expect_error(
      [&] {
        index(x, {None, 1, tensor({9})});
      },
      "index: index out of range, got 9 in dimension 1 of size 5");
  expect_error([&] { index(x, {0, 0, 0}); }, "index: too many indices, got 3 for shape [4,5]");
  expect_error([&] { index(x, {Ellipsis, Ellipsis}); }, "index: at most one Ellipsis, got 2");
  expect_error(
      [&] {
        index(x, {tensor({0, 1}), tensor({0, 1, 2})});
      },
      "index: shapes must broadcast, got [2] and [3]");
  expect_error(
      [&] {
        index(x, {tensor({true, false})});
      },
      "index: a mask must have the shape of what it indexes, got [2] at dimension 0 of "
      "[4,5]");
  expect_error([&] { index(x, {tensor({0.5})}); },
               "index: an index tensor must be i64, i32 or bool, got f32");
  expect_error([&] { index(x, {tensor({1}).to(u8)}); },
               "index: an index tensor must be i64, i32 or bool, got u8");
  expect_error([&] { index(x, {tensor({1}).to(Device("cpu:1"))}); },
               "index: tensors must be on one device, got cpu and cpu:1");
  expect_error([&] { index(x, {Slice{0, 2, 0}}); }, "index: step must be positive, got 0");
}

TEST(IndexPut, WritesNothingWhenAnIndexIsBad) {
  const Tensor x = zeros({4, 5});
  const uint32_t version = x.version();
  expect_error(
      [&] {
        index_put_(x, {tensor({0, 1, 4})}, 1);
      },
      "index_put_: index out of range, got 4 in dimension 0 of size 4");
  expect_error(
      [&] {
        index_put_(x, {tensor({0, 1})}, ones({3, 5}));
      },
      "index_put_: shapes must broadcast, got [2,5] and [3,5]");
  expect_error(
      [&] {
        index_put_(x, {tensor({0, 1})}, ones({2, 2, 5}));
      },
      "index_put_: values must broadcast to the indexed shape, got [2,2,5] for [2,5]");
  expect_error([&] { index_put_(x, {tensor({0})}, ones({5}, {.dtype = f64})); },
               "index_put_: values must have the tensor's dtype, got f64 for f32");
  expect_error(
      [&] {
        index_put_(ones({1, 5}).expand({4, 5}), {tensor({0})}, 1);
      },
      "index_put_: a tensor whose elements share memory can't be written; clone it first, "
      "got [4,5] with strides [0,1]");
  EXPECT_EQ(x.version(), version);
  expect_equal(x, zeros({4, 5}));
}

TEST(IndexPut, TakesValuesIndicesAndMasksFromTheTensorItself) {
  const Tensor x = arange(6);
  index_put_(x, {arange(1, 6)}, x.narrow(0, 0, 5));
  expect_values(x, {6}, {0, 0, 1, 2, 3, 4});
  const Tensor y = tensor({3, 0, 1, 2});
  index_put_(y, {y}, arange(4));  // the inverse permutation
  expect_values(y, {4}, {1, 2, 3, 0});
  const Tensor z = tensor({true, false, true});
  index_put_(z, {z}, false);
  expect_values(z, {3}, {0, 0, 0});
}

TEST(IndexPut, AccumulatesEveryDType) {
  const Tensor places = tensor({1, 1, 1, 0});
  for (DType dtype : kAllDTypes) {
    const Tensor x = zeros({3}, {.dtype = dtype});
    index_put_(x, {places}, ones({4}, {.dtype = dtype}), true);
    expect_equal(x, tensor({1, dtype == boolean ? 1 : 3, 0}).to(dtype), to_string(dtype));
  }
  // 4096 ones don't get stuck at 256, where bf16 has no odd numbers.
  const Tensor sum = zeros({2}, {.dtype = bf16});
  index_put_(sum, {zeros({4096}, {.dtype = i64})}, ones({}, {.dtype = bf16}), true);
  expect_values(sum, {2}, {4096, 0});
}

TEST(IndexPut, LastOfDuplicatesStays) {
  const Tensor x = zeros({2});
  index_put_(x, {zeros({100000}, {.dtype = i64})}, arange(100000).to(f32));
  expect_values(x, {2}, {99999, 0});
}

TEST(Nonzero, FindsPositionsInRowMajorOrder) {
  const Tensor x = tensor({{0, 2}, {3, 0}});
  expect_values(nonzero(x), {2, 2}, {0, 1, 1, 0});
  expect_values(nonzero(x.t()), {2, 2}, {0, 1, 1, 0});
  for (DType dtype : kAllDTypes) expect_values(nonzero(x.to(dtype)), {2, 2}, {0, 1, 1, 0});
  EXPECT_EQ(to_string(nonzero(tensor(5)).shape()), "[1,0]");
  EXPECT_EQ(to_string(nonzero(tensor(0)).shape()), "[0,0]");
  EXPECT_EQ(to_string(nonzero(empty({2, 0, 3})).shape()), "[0,3]");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (DType dtype : {f32, f64, f16, bf16})
    expect_values(nonzero(tensor({nan, 0.0, -0.0}, {.dtype = dtype})), {1, 1}, {0});
  const std::vector<Tensor> along = where(ne(x, 0));
  expect_values(along[0], {2}, {0, 1});
  expect_values(along[1], {2}, {1, 0});
  expect_values(where(tensor(3))[0], {1}, {0});
}

TEST(MaskedSelect, BroadcastsAndKeepsOrder) {
  const Tensor x = arange(6).view({2, 3});
  expect_values(masked_select(x, gt(x, 2)), {3}, {3, 4, 5});
  expect_values(masked_select(x, tensor({true, false, true})), {4}, {0, 2, 3, 5});
  expect_values(masked_select(x.t(), tensor({true, false})), {3}, {0, 1, 2});
  expect_values(masked_select(tensor(7), tensor({true, false, true})), {2}, {7, 7});
  expect_values(masked_select(x, tensor(false)), {0}, {});
  expect_error([&] { masked_select(x, x); }, "masked_select: the mask must be bool, got i64");
  expect_error(
      [&] {
        masked_select(x, tensor({true, false}));
      },
      "masked_select: shapes must broadcast, got [2,3] and [2]");
}

TEST(MaskedScatter, TakesTheSourceInOrder) {
  const Tensor x = zeros({2, 3}, {.dtype = i64});
  expect_values(masked_scatter(x, tensor({true, false, true}), arange(1, 7)), {2, 3},
                {1, 0, 2, 3, 0, 4});
  expect_values(masked_scatter_(tensor(5), tensor(true), tensor({9})), {}, {9});
  expect_error([&] { masked_scatter(x, tensor(true), arange(5)); },
               "masked_scatter: the source must have an element for each place, got 5 for 6");
  expect_error(
      [&] {
        masked_scatter_(x, zeros({2, 2, 3}, {.dtype = boolean}), arange(5));
      },
      "masked_scatter_: the mask must broadcast to the tensor, got [2,2,3] for shape [2,3]");
}

TEST(OneHot, SetsTheClass) {
  expect_values(one_hot(tensor({0, 2}), 3), {2, 3}, {1, 0, 0, 0, 0, 1});
  expect_values(one_hot(tensor({{1}, {0}})), {2, 1, 2}, {0, 1, 1, 0});
  expect_values(one_hot(tensor(1), 2), {2}, {0, 1});
  expect_values(one_hot(tensor({1}).to(i32)), {1, 2}, {0, 1});
  EXPECT_EQ(one_hot(tensor({1})).dtype(), i64);
  EXPECT_EQ(to_string(one_hot(empty({0}, {.dtype = i64}), 4).shape()), "[0,4]");
  expect_error([] { one_hot(tensor({3}), 3); },
               "one_hot: index out of range, got 3 in dimension 1 of size 3");
  expect_error([] { one_hot(tensor({-1, 2})); }, "one_hot: classes can't be negative, got -1");
  expect_error([] { one_hot(tensor({-1})); }, "one_hot: classes can't be negative, got -1");
  expect_error([] { one_hot(tensor({1.0})); }, "one_hot: classes must be i64 or i32, got f32");
  expect_error([] { one_hot(empty({0}, {.dtype = i64})); },
               "one_hot: num_classes can't be inferred from no classes, got [0]");
  expect_error([] { one_hot(tensor({INT64_MAX})); },
               "one_hot: the number of classes must fit in 63 bits, got 9223372036854775807 as the "
               "largest");
}

}  // namespace
TEST(MaskedScatter, BroadcastsTheInput) {
  const Tensor mask = tensor({{true, false}, {false, true}});
  expect_values(masked_scatter(tensor({5.0, 6.0}), mask, tensor({1.0, 2.0})), {2, 2}, {1, 6, 5, 2});
  expect_values(masked_scatter(tensor(5.0), mask, tensor({1.0, 2.0})), {2, 2}, {1, 5, 5, 2});
  expect_error(
      [&] {
        masked_scatter_(tensor({5.0, 6.0}), mask, tensor({1.0, 2.0}));
      },
      "masked_scatter_: the mask must broadcast to the tensor, got [2,2] for shape [2]");
}

}  // namespace aorta
