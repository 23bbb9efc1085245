#include <aorta/core/ops/join.h>
#include <aorta/core/resource_error.h>
#include <aorta/tests/core/elements.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/forked.h>

#include <sys/resource.h>

namespace aorta {
namespace {

using namespace elements;

TEST(Cat, MatchesElementByElementReference) {
  Dice dice(1);
  for (int round = 0; round < 200; ++round) {
    const int n = 1 + static_cast<int>(dice(4));
    const Shape shape = dice.shape(n, 5);
    const int dim = static_cast<int>(dice(n));
    const DType dtype = kAllDTypes[static_cast<size_t>(dice(8))];
    std::vector<Tensor> parts;
    Shape whole = shape;
    whole[dim] = 0;
    for (int64_t i = 0, count = 1 + dice(4); i < count; ++i) {
      Shape part = shape;
      part[dim] = dice(4);
      if (n == 1 && part[0] == 0) part[0] = 1;
      parts.push_back(scramble(dice, part, dtype, kLayouts[dice(4)]));
      whole[dim] += part[dim];
    }
    const Tensor want = empty(whole, {.dtype = dtype});
    int64_t start = 0;
    for (const Tensor& part : parts) {
      for_each_index(part.shape(), [&](const Dims& at) {
        Dims to = at;
        to[dim] += start;
        set(want, to, get(part, at));
      });
      start += part.shape()[dim];
    }
    expect_equal(cat(parts, dice(2) ? dim : dim - n), want);
  }
}

TEST(Cat, PromotesAndConverts) {
  const Tensor a = tensor({1, 2}), b = tensor({0.5}), c = tensor({true, false});
  const Tensor joined = cat({a, b, c});
  EXPECT_EQ(joined.dtype(), f32);
  expect_values(joined, {5}, {1, 2, 0.5, 1, 0});
  EXPECT_EQ(cat({b.to(f16), b.to(bf16)}).dtype(), f32);
  EXPECT_EQ(cat({a.to(u8), a.to(i32)}).dtype(), i32);
}

// As torch.block_diag: a number's dtype counts for its kind alone.
TEST(Cat, BlocksPromoteAsOperandsDo) {
  const Tensor blocks = block_diag({ones({2}, {.dtype = f16}), tensor(2.0, {.dtype = f64})});
  EXPECT_EQ(blocks.dtype(), f16);
  EXPECT_EQ(blocks.to_vector<double>(), (std::vector<double>{1, 1, 0, 0, 0, 2}));
  EXPECT_EQ(block_diag({ones({2}, {.dtype = i64}), tensor(2.0)}).dtype(), f32);
}

TEST(Cat, LeavesLegacyEmptyTensorsOut) {
  const Tensor nothing = empty({0}), matrix = ones({2, 3});
  expect_equal(cat({nothing, matrix, nothing, matrix}, 1), ones({2, 6}));
  expect_equal(cat({nothing, nothing}), nothing);
  expect_equal(cat({matrix, nothing}, -1), matrix);
  // It still takes part in promotion.
  EXPECT_EQ(cat({empty({0}, {.dtype = f64}), matrix}).dtype(), f64);
}

TEST(Cat, KeepsChannelsLast) {
  const Tensor a = ones({2, 3, 4, 5}).contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(cat({a, a}, 1).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(cat({a, a}, 2).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(cat({a, ones({2, 3, 4, 5})}, 1).is_contiguous());
  EXPECT_TRUE(cat({ones({2, 1, 4, 5}), ones({2, 1, 4, 5})}, 1).is_contiguous());
}

TEST(Cat, JoinsViewsOfOneTensorOnALogicalDevice) {
  const Tensor x = arange(6).view({2, 3}).to(Device("cpu:1"));
  const Tensor joined = cat({x, x.narrow(1, 1, 2)}, 1);
  EXPECT_EQ(joined.device(), Device("cpu:1"));
  expect_values(joined, {2, 5}, {0, 1, 2, 1, 2, 3, 4, 5, 4, 5});
}

TEST(Cat, NamesWhatIsWrong) {
  expect_error([] { cat({}); }, "cat: there must be a tensor, got none");
  expect_error(
      [] {
        cat({ones({2, 3}), ones({3, 3})}, 1);
      },
      "cat: sizes must match but in the joined dimension, got [2,3] and [3,3] in "
      "dimension 1");
  expect_error(
      [] {
        cat({ones({2, 3}), ones({2})});
      },
      "cat: tensors must have one number of dimensions, got [2,3] and [2]");
  expect_error(
      [] {
        cat({ones({}), ones({})});
      },
      "cat: 0-d tensors can't be joined; use stack, got []");
  expect_error(
      [] {
        cat({ones({2}), ones({2}, {.device = "cpu:1"})});
      },
      "cat: tensors must be on one device, got cpu and cpu:1");
  expect_error([] { cat({ones({2})}, 1); },
               "cat: dimension out of range, got dim 1 of a 1-d tensor");
  const Tensor huge = zeros({1, 1}).expand({int64_t{1} << 40, int64_t{1} << 20});
  expect_error(
      [&] {
        cat({huge, huge}, 1);
      },
      "cat: the number of bytes must fit in 63 bits, got [1099511627776,2097152]");
}

TEST(Stack, AddsADimension) {
  const Tensor a = tensor({1, 2}), b = tensor({3, 4});
  expect_values(stack({a, b}), {2, 2}, {1, 2, 3, 4});
  expect_values(stack({a, b}, 1), {2, 2}, {1, 3, 2, 4});
  expect_values(stack({a, b}, -1), {2, 2}, {1, 3, 2, 4});
  expect_values(stack({tensor(1), tensor(2)}), {2}, {1, 2});
  EXPECT_EQ(to_string(stack({empty({0}), empty({0})}).shape()), "[2,0]");
  expect_error([&] { stack({a, tensor({1})}); }, "stack: shapes must be equal, got [2] and [1]");
  expect_error([] { stack({}); }, "stack: there must be a tensor, got none");
}

std::vector<int64_t> sizes_of(const std::vector<Tensor>& parts, int dim) {
  std::vector<int64_t> sizes;
  for (const Tensor& part : parts) sizes.push_back(part.shape()[dim]);
  return sizes;
}

using Sizes = std::vector<int64_t>;

// Sizes as torch.split, chunk and tensor_split give them.
TEST(Split, CutsWhereToldAndShares) {
  const Tensor x = arange(14).view({7, 2});
  EXPECT_EQ(sizes_of(split(x, 3), 0), (Sizes{3, 3, 1}));
  EXPECT_EQ(sizes_of(split(x, 10), 0), (Sizes{7}));
  EXPECT_EQ(sizes_of(split(x, {2, 0, 5}), 0), (Sizes{2, 0, 5}));
  EXPECT_EQ(sizes_of(split(x, {7}), 0), (Sizes{7}));
  EXPECT_EQ(sizes_of(chunk(x, 3), 0), (Sizes{3, 3, 1}));
  EXPECT_EQ(sizes_of(chunk(x, 5), 0), (Sizes{2, 2, 2, 1}));
  EXPECT_EQ(sizes_of(chunk(empty({0, 2}), 3), 0), (Sizes{0, 0, 0}));
  EXPECT_EQ(sizes_of(split(empty({0, 2}), 3), 0), (Sizes{0}));
  EXPECT_EQ(sizes_of(tensor_split(x, 3), 0), (Sizes{3, 2, 2}));
  EXPECT_EQ(sizes_of(tensor_split(x, 9), 0), (Sizes{1, 1, 1, 1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(sizes_of(tensor_split(x, {2, 5}), 0), (Sizes{2, 3, 2}));
  EXPECT_EQ(sizes_of(tensor_split(x, {5, 2, 9}), 0), (Sizes{5, 0, 5, 0}));
  EXPECT_EQ(sizes_of(tensor_split(x, {-2}), 0), (Sizes{5, 2}));
  const std::vector<Tensor> parts = split(x, {1, 6});
  EXPECT_TRUE(parts[1].shares_storage(x));
  expect_values(parts[1][0], {2}, {2, 3});
  expect_equal(cat(split(x, 2)), x);
  expect_equal(stack(unbind(x, 1), 1), x);
  EXPECT_EQ(unbind(x).size(), 7u);
}

TEST(Split, TakesApartSoManyParts) {
  const Tensor x = arange(14).view({7, 2});
  const auto [left, right] = x.chunk<2>(1);
  expect_equal(left, x.narrow(1, 0, 1));
  expect_equal(right, x.narrow(1, 1, 1));
  EXPECT_TRUE(right.shares_storage(x));
  const auto [first, second, third] = x.chunk<3>();
  EXPECT_EQ(sizes_of({first, second, third}, 0), (Sizes{3, 3, 1}));
  const auto [head, tail] = x.split<2>({2, 5});
  EXPECT_EQ(sizes_of({head, tail}, 0), (Sizes{2, 5}));
  const auto [four, three] = split<2>(x, 4);
  EXPECT_EQ(sizes_of({four, three}, 0), (Sizes{4, 3}));
  const auto [column, other] = unbind<2>(x, 1);
  expect_equal(other, x.select(1, 1));
  expect_equal(column, x.unbind<2>(1)[0]);
  // PyTorch gives fewer parts, of which a tuple of five can't be taken apart either.
  expect_error([&] { x.chunk<5>(); },
               "chunk: there must be as many parts as are taken apart, got 4 for 5");
  expect_error([&] { x.split<2>(2); },
               "split: there must be as many parts as are taken apart, got 4 for 2");
  expect_error([&] { x.unbind<2>(); },
               "unbind: there must be as many parts as are taken apart, got 7 for 2");
}

TEST(Split, NamesWhatIsWrong) {
  const Tensor x = ones({7, 2});
  expect_error([&] { split(x, 0); }, "split: split_size must be positive, got 0");
  expect_error(
      [&] {
        split(x, {3, 3});
      },
      "split: sizes must add up to the dimension's, got 6 for 7");
  expect_error(
      [&] {
        split(x, {3, 5});
      },
      "split: sizes must add up to the dimension's, got more than 7");
  expect_error(
      [&] {
        split(x, {8, -1});
      },
      "split: sizes must add up to the dimension's, got more than 7");
  expect_error([&] { split(x, {-1, 8}); }, "split: sizes can't be negative, got -1");
  expect_error([&] { chunk(x, 0); }, "chunk: the number of chunks must be positive, got 0");
  expect_error([&] { unbind(ones({})); }, "unbind: a 0-d tensor has no parts, got []");
  // An empty tensor's other sizes may be any.
  const Tensor wide = empty({0, int64_t{1} << 43});
  const std::string got = ": there must be memory for the list of parts, got 8796093022208 parts";
  EXPECT_THROW(unbind(wide, 1), ResourceError);
  expect_error([&] { unbind(wide, 1); }, "unbind" + got);
  expect_error([&] { split(wide, 1, 1); }, "split" + got);
  expect_error([&] { chunk(wide, int64_t{1} << 43, 1); }, "chunk" + got);
  expect_error([&] { tensor_split(wide, int64_t{1} << 43, 1); }, "tensor_split" + got);
  expect_error([&] { chunk(empty({0}), INT64_MAX); },
               "chunk: there must be memory for the list of parts, got 9223372036854775807 parts");
  expect_error([&] { split(ones({}), 1); }, "split: a 0-d tensor can't be split, got []");
}

TEST(Split, SaysThatTheListIsTooLargeAlsoWhenItsPartsAre) {
#ifndef __SANITIZE_ADDRESS__  // which reserves terabytes
  const int status = forked([] {
    const rlimit limit{int64_t{1} << 30, int64_t{1} << 30};
    setrlimit(RLIMIT_AS, &limit);
    const Tensor wide = empty({0, int64_t{1} << 24});  // a list of 128 MB, views of 4 GB
    EXPECT_EQ(error_of([&] { unbind(wide, 1); }),
              "unbind: there must be memory for the list of parts, got 16777216 parts");
    return Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(status, 0);
#else
  GTEST_SKIP() << "the address sanitizer has no limit of memory";
#endif
}

}  // namespace
}  // namespace aorta
