#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tests/core/elements.h>

#include <cstring>
#include <limits>

namespace aorta {
namespace {

using namespace elements;

int64_t wrap(int64_t i, int64_t n) { return ((i % n) + n) % n; }

// Every element of the output from the place that `source_of` names; {} is `fill`.
Tensor remap_reference(const Tensor& input, const Shape& shape,
                       const std::function<std::optional<Dims>(const Dims&)>& source_of,
                       double fill = 0) {
  const Tensor want = empty(shape, {.dtype = input.dtype()});
  for_each_index(shape, [&](const Dims& at) {
    const std::optional<Dims> from = source_of(at);
    set(want, at, from ? get(input, *from) : fill);
  });
  return want;
}

TEST(Flip, MatchesElementByElementReference) {
  Dice dice(2);
  for (int round = 0; round < 200; ++round) {
    const int n = static_cast<int>(dice(5));
    const Tensor x = scramble(dice, dice.shape(n, 6), kAllDTypes[static_cast<size_t>(dice(8))],
                              kLayouts[dice(4)]);
    Dims dims;
    for (int d = 0; d < n; ++d) {
      if (dice(2)) dims.push_back(dice(2) ? d : d - n);
    }
    const Tensor want = remap_reference(x, x.shape(), [&](const Dims& at) {
      Dims from = at;
      for (int64_t d : dims) {
        const int k = static_cast<int>(d < 0 ? d + n : d);
        from[k] = x.shape()[k] - 1 - at[k];
      }
      return from;
    });
    expect_equal(flip(x, dims), want);
  }
  for (DType dtype : kAllDTypes) {  // rows of several vectors
    const Tensor x = scramble(dice, {3, 151}, dtype);
    const Tensor want = remap_reference(x, x.shape(), [](const Dims& at) {
      return Dims{at[0], 150 - at[1]};
    });
    expect_equal(flip(x, {1}), want);
  }
  expect_error([] { flip(ones({2, 3}), {0, -2}); }, "flip: each dimension once, got [0,-2]");
}

TEST(Roll, MatchesElementByElementReference) {
  Dice dice(3);
  for (int round = 0; round < 200; ++round) {
    const int n = 1 + static_cast<int>(dice(4));
    const Tensor x = scramble(dice, dice.shape(n, 6), kAllDTypes[static_cast<size_t>(dice(8))],
                              kLayouts[dice(4)]);
    Dims dims, shifts;
    for (int k = 0; k < 3; ++k) {  // a dimension may come twice
      dims.push_back(dice(n));
      shifts.push_back(dice(30) - 15);
    }
    const Tensor want = remap_reference(x, x.shape(), [&](const Dims& at) {
      Dims from = at;
      for (int k = 0; k < 3; ++k) {
        const int d = static_cast<int>(dims[k]);
        from[d] = wrap(from[d] - shifts[k], x.shape()[d]);
      }
      return from;
    });
    expect_equal(roll(x, shifts, dims), want);
  }
}

// Values from the documentation of torch.roll.
TEST(Roll, WithoutDimensionsTakesTheTensorAsOneRow) {
  const Tensor x = arange(1, 9).view({4, 2});
  expect_values(roll(x, 1), {4, 2}, {8, 1, 2, 3, 4, 5, 6, 7});
  expect_values(roll(x, 1, 0), {4, 2}, {7, 8, 1, 2, 3, 4, 5, 6});
  expect_values(roll(x, -1, 0), {4, 2}, {3, 4, 5, 6, 7, 8, 1, 2});
  expect_values(roll(x, {2, 1}, {0, 1}), {4, 2}, {6, 5, 8, 7, 2, 1, 4, 3});
  expect_values(roll(x, std::numeric_limits<int64_t>::min(), 0), {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_values(roll(tensor(3), 5), {}, {3});
  EXPECT_EQ(roll(empty({0, 3}), 2).numel(), 0);
  expect_error(
      [&] {
        roll(x, {1, 2}, {0});
      },
      "roll: one shift a dimension, got [1,2] for dimensions [0]");
}

std::optional<int64_t> padded_from(PadMode mode, int64_t j, int64_t n) {
  if (j >= 0 && j < n) return j;
  switch (mode) {
    case PadMode::constant:
      return {};
    case PadMode::replicate:
      return j < 0 ? 0 : n - 1;
    case PadMode::circular:
      return wrap(j, n);
    case PadMode::reflect:
      break;
  }
  return j < 0 ? -j : 2 * (n - 1) - j;
}

TEST(Pad, MatchesElementByElementReference) {
  Dice dice(4);
  for (int round = 0; round < 400; ++round) {
    const PadMode mode = static_cast<PadMode>(dice(4));
    const int n = 1 + static_cast<int>(dice(4));
    const DType dtype = kAllDTypes[static_cast<size_t>(dice(8))];
    const Shape size = dice.shape(n, 6, mode == PadMode::constant);
    const Tensor x = scramble(dice, size, dtype, kLayouts[dice(4)]);
    Dims padding;
    Shape shape = size;
    const int padded = static_cast<int>(dice(n + 1));
    for (int k = 0; k < 2 * padded; ++k) {
      const int d = n - 1 - k / 2;
      const int64_t most = mode == PadMode::reflect    ? size[d]
                           : mode == PadMode::circular ? size[d] + 1
                                                       : 5;
      padding.push_back(dice(most));
      shape[d] += padding[k];
    }
    const Tensor want = remap_reference(
        x, shape,
        [&](const Dims& at) -> std::optional<Dims> {
          Dims from = at;
          for (int k = 0; k < 2 * padded; k += 2) {
            const int d = n - 1 - k / 2;
            const std::optional<int64_t> j = padded_from(mode, at[d] - padding[k], size[d]);
            if (!j) return {};
            from[d] = *j;
          }
          return from;
        },
        1);
    expect_equal(pad(x, padding, mode, 1), want,
                 to_string(size) + " by " + to_string(padding) + " mode " +
                     std::to_string(static_cast<int>(mode)));
  }
}

// What torch.nn.functional.pad gives for arange(6).view(2, 3).
TEST(Pad, CropsWhereNegativeAndTakesTheLastDimensionFirst) {
  const Tensor x = arange(6).view({2, 3});
  expect_values(pad(x, {1, -1}, PadMode::constant, 9), {2, 3}, {9, 0, 1, 9, 3, 4});
  expect_values(pad(x, {0, 0, -1, 1}, PadMode::constant, 9), {2, 3}, {3, 4, 5, 9, 9, 9});
  expect_values(pad(x, {-2, -1}), {2, 0}, {});
  expect_values(pad(x, {2, 1}, PadMode::reflect), {2, 6}, {2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4});
  expect_values(pad(x, {1, 2}, PadMode::replicate), {2, 6}, {0, 0, 1, 2, 2, 2, 3, 3, 4, 5, 5, 5});
  expect_values(pad(x, {1, 2}, PadMode::circular), {2, 6}, {2, 0, 1, 2, 0, 1, 5, 3, 4, 5, 3, 4});
  expect_values(pad(empty({0}), {1, 1}, PadMode::constant, 7), {2}, {7, 7});
  // F.pad(tensor([[1, 2, 4, 8]]), (2, -2), "reflect") and so on: the whole line is mirrored, and
  // its edges are those of the whole, whatever is cropped.
  const Tensor line = tensor({1, 2, 4, 8}).view({1, 4});
  expect_values(pad(line, {2, -2}, PadMode::reflect), {1, 4}, {4, 2, 1, 2});
  expect_values(pad(line, {-3, 3}, PadMode::reflect), {1, 4}, {8, 4, 2, 1});
  expect_values(pad(line, {3, -2}, PadMode::replicate), {1, 5}, {1, 1, 1, 1, 2});
  expect_values(pad(line, {-4, 2}, PadMode::replicate), {1, 2}, {8, 8});
  EXPECT_TRUE(pad(ones({1, 3, 2, 2}).contiguous(MemoryFormat::channels_last), {1, 1, 1, 1})
                  .is_contiguous(MemoryFormat::channels_last));
}

TEST(Pad, NamesWhatIsWrong) {
  const Tensor x = ones({2, 3});
  expect_error([&] { pad(x, {1}); },
               "pad: two numbers a dimension, last dimension first, got [1] for shape [2,3]");
  expect_error(
      [&] {
        pad(x, {1, 1, 1, 1, 1, 1});
      },
      "pad: two numbers a dimension, last dimension first, got [1,1,1,1,1,1] for shape "
      "[2,3]");
  expect_error(
      [&] {
        pad(x, {3, 0}, PadMode::reflect);
      },
      "pad: reflect needs padding smaller than the size, got 3 in dimension 1 of size 3");
  expect_error(
      [&] {
        pad(x, {0, 4}, PadMode::circular);
      },
      "pad: circular needs padding no larger than the size, got 4 in dimension 1 of size "
      "3");
  expect_error(
      [] {
        pad(ones({2, 0}), {1, 0}, PadMode::replicate);
      },
      "pad: there must be something to replicate, got dimension 1 of size 0");
  expect_error(
      [&] {
        pad(x, {-2, -2});
      },
      "pad: a size can't become negative, got [-2,-2] for shape [2,3]");
  expect_error(
      [&] {
        pad(x, {INT64_MAX, 1});
      },
      "pad: the number of elements must fit in 63 bits, got [9223372036854775807,1]");
  expect_error(
      [&] {
        pad(x, {INT64_MIN, INT64_MIN});
      },
      "pad: a size can't become negative, got "
      "[-9223372036854775808,-9223372036854775808] for shape [2,3]");
}

TEST(Triangles, MatchElementByElementReference) {
  Dice dice(5);
  for (int round = 0; round < 200; ++round) {
    const int n = 2 + static_cast<int>(dice(3));
    const Tensor x = scramble(dice, dice.shape(n, 6), kAllDTypes[static_cast<size_t>(dice(8))],
                              kLayouts[dice(4)]);
    const int64_t diagonal = dice(15) - 7;
    const auto part = [&](bool upper) {
      return remap_reference(x, x.shape(), [&](const Dims& at) -> std::optional<Dims> {
        const int64_t above = at[n - 1] - at[n - 2];
        const bool keep = upper ? above >= diagonal : above <= diagonal;
        return keep ? std::optional<Dims>(at) : std::nullopt;
      });
    };
    const Tensor lower = part(false), upper = part(true);
    expect_equal(tril(x, diagonal), lower);
    expect_equal(triu(x, diagonal), upper);
    const Tensor copy = blank(x.shape(), x.dtype(), kLayouts[dice(4)]);
    copy.copy_(x);
    const uint32_t version = copy.version();
    expect_equal(triu_(copy, diagonal), upper);
    EXPECT_EQ(copy.version(), version + 1);
    expect_equal(tril_(copy.copy_(x), diagonal), lower);
  }
}

TEST(Triangles, TakeAnyDiagonalAndRefuseVectors) {
  const Tensor x = ones({2, 3});
  expect_equal(tril(x, INT64_MAX), x);
  expect_equal(triu(x, INT64_MAX), zeros({2, 3}));
  expect_equal(tril(x, INT64_MIN), zeros({2, 3}));
  expect_equal(triu(x, INT64_MIN), x);
  expect_error([] { tril(ones({3})); }, "tril: at least 2 dimensions, got [3]");
  expect_error(
      [] {
        triu_(ones({3, 1}).expand({3, 3}));
      },
      "triu_: a tensor whose elements share memory can't be written; clone it first, got "
      "[3,3] with strides [1,0]");
}

TEST(Repeat, MatchesElementByElementReference) {
  Dice dice(6);
  for (int round = 0; round < 200; ++round) {
    const int n = static_cast<int>(dice(4)), lead = static_cast<int>(dice(3));
    const Tensor x = scramble(dice, dice.shape(n, 4), kAllDTypes[static_cast<size_t>(dice(8))],
                              kLayouts[dice(4)]);
    Dims repeats;
    Shape shape;
    for (int d = 0; d < lead + n; ++d) {
      repeats.push_back(dice(4));
      shape.push_back(repeats[d] * (d < lead ? 1 : x.shape()[d - lead]));
    }
    const Tensor want = remap_reference(x, shape, [&](const Dims& at) {
      Dims from;
      for (int d = 0; d < n; ++d) from.push_back(at[lead + d] % x.shape()[d]);
      return from;
    });
    expect_equal(repeat(x, repeats), want);
    expect_equal(tile(x, repeats), want);
  }
  const Tensor x = tensor({1, 2});
  EXPECT_FALSE(repeat(x, {1}).shares_storage(x));
  expect_values(tile(arange(4).view({2, 2}), {2}), {2, 4}, {0, 1, 0, 1, 2, 3, 2, 3});
  expect_error(
      [&] {
        repeat(ones({2, 2}), {2});
      },
      "repeat: a number for each dimension, got [2] for shape [2,2]");
  expect_error([&] { repeat(x, {-1}); }, "repeat: numbers can't be negative, got [-1]");
  expect_error([&] { repeat(x, {INT64_MAX}); },
               "repeat: the number of elements must fit in 63 bits, got [9223372036854775807] for "
               "shape [2]");
}

// More dimensions than can each be cut in two.
TEST(Repeat, TakesTwelveDimensions) {
  const Tensor x = arange(4096).view(Dims::filled(12, 2));
  Dims repeats = Dims::filled(12, 1);
  repeats[0] = repeats[5] = repeats[11] = 2;
  const Tensor got = repeat(x, repeats);
  Shape shape = x.shape();
  for (int d : {0, 5, 11}) shape[d] = 4;
  const Tensor want = remap_reference(x, shape, [&](const Dims& at) {
    Dims from = at;
    for (int64_t& i : from) i %= 2;
    return from;
  });
  expect_equal(got, want);
}

TEST(RepeatInterleave, RepeatsEachElement) {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  expect_values(repeat_interleave(x, 2), {8}, {1, 1, 2, 2, 3, 3, 4, 4});
  expect_values(repeat_interleave(x, 2, 1), {2, 4}, {1, 1, 2, 2, 3, 3, 4, 4});
  expect_values(repeat_interleave(x, 2, 0), {4, 2}, {1, 2, 1, 2, 3, 4, 3, 4});
  expect_values(repeat_interleave(x, tensor({1, 2}), 0), {3, 2}, {1, 2, 3, 4, 3, 4});
  expect_values(repeat_interleave(x, tensor({0, 3, 0, 1})), {4}, {2, 2, 2, 4});
  expect_values(repeat_interleave(x, tensor({2}), -1), {2, 4}, {1, 1, 2, 2, 3, 3, 4, 4});
  expect_values(repeat_interleave(tensor(5), tensor({3})), {3}, {5, 5, 5});
  // Nothing of 2^38 columns takes no time: there is no index of them.
  EXPECT_EQ(repeat_interleave(empty({0, int64_t{1} << 38}), tensor(2), 1).shape(),
            Shape({0, int64_t{1} << 39}));
  expect_values(repeat_interleave(tensor(5), 3), {3}, {5, 5, 5});
  expect_values(repeat_interleave(x, 0), {0}, {});
  expect_error([&] { repeat_interleave(x, -1); },
               "repeat_interleave: repeats can't be negative, got -1");
  expect_error(
      [&] {
        repeat_interleave(x, tensor({1, 2, 3}), 0);
      },
      "repeat_interleave: repeats must have the dimension's size, or 1, got [3] for 2");
  expect_error(
      [&] {
        repeat_interleave(x, tensor({1, -2}), 0);
      },
      "repeat_interleave: repeats can't be negative, got -2");
}

TEST(Meshgrid, VariesAlongOneDimension) {
  const Tensor a = tensor({1, 2}), b = tensor({3, 4, 5});
  const std::vector<Tensor> ij = meshgrid({a, b}), xy = meshgrid({a, b}, "xy");
  expect_values(ij[0], {2, 3}, {1, 1, 1, 2, 2, 2});
  expect_values(ij[1], {2, 3}, {3, 4, 5, 3, 4, 5});
  expect_values(xy[0], {3, 2}, {1, 2, 1, 2, 1, 2});
  expect_values(xy[1], {3, 2}, {3, 3, 4, 4, 5, 5});
  expect_error([&] { meshgrid({a}, "yx"); }, "meshgrid: indexing must be ij or xy, got \"yx\"");
}

// The bodies that a GPU runs give what the CPU's row loops give.
TEST(Bodies, GiveWhatTheKernelsGive) {
  Dice dice(7);
  const Tensor x = scramble(dice, {3, 4, 5}, f32, Layout::permuted);
  body::RemapArgs args;
  args.ndim = 3;
  args.item_size = 4;
  const float fill = 7;
  std::memcpy(args.fill, &fill, 4);
  const Tensor got = empty({5, 4, 8});
  const body::Edge edges[] = {body::Edge::reflect, body::Edge::flip, body::Edge::constant};
  const int64_t before[] = {2, 0, 1};
  for (int d = 0; d < 3; ++d) {
    const int i = 2 - d;
    args.dims[d] = {got.shape()[i],   x.shape()[i],   before[d],
                    got.strides()[i], x.strides()[i], edges[d]};
  }
  args.numel = got.numel();
  args.source = x.data();
  args.output = got.data();
  const body::RemapBody<uint32_t> remap{args};
  for (int64_t i = 0; i < got.numel(); ++i) remap(i);
  expect_equal(got, pad(pad(flip(x, {1}), {2, 1}, PadMode::reflect), {0, 0, 0, 0, 1, 1},
                        PadMode::constant, 7));

  const Tensor lower = empty({3, 4, 5});
  body::TriangleArgs triangle;
  triangle.numel = 60;
  triangle.rows = 4;
  triangle.columns = 5;
  triangle.row_stride = 5;
  triangle.column_stride = 1;
  triangle.source_row_stride = x.strides()[1];
  triangle.source_column_stride = x.strides()[2];
  triangle.batch_dims = 1;
  triangle.batch_shape[0] = 3;
  triangle.batch_strides[0] = 20;
  triangle.source_batch_strides[0] = x.strides()[0];
  triangle.diagonal = 1;
  triangle.source = x.data();
  triangle.output = lower.data();
  const body::TriangleBody<uint32_t> keep{triangle};
  for (int64_t i = 0; i < 60; ++i) keep(i);
  expect_equal(lower, tril(x, 1));
}

// Long enough for several threads, in one row and in many.
TEST(Rearrange, LargeTensors) {
  const Tensor x = arange(200001);
  const Tensor flipped = flip(x, {0});
  EXPECT_EQ(flipped.at<int64_t>({0}), 200000);
  expect_equal(flip(flipped, {0}).narrow(0, 199990, 11), x.narrow(0, 199990, 11));
  const Tensor rolled = roll(x, 5);
  EXPECT_EQ(rolled.at<int64_t>({5}), 0);
  EXPECT_EQ(rolled.at<int64_t>({100000}), 99995);
  EXPECT_EQ(rolled.at<int64_t>({4}), 200000);
  const Tensor y = arange(300 * 400).view({300, 400});
  const Tensor padded = pad(y, {3, 4, 5, 6}, PadMode::constant, -1);
  EXPECT_EQ(padded.at<int64_t>({5, 3}), 0);
  EXPECT_EQ(padded.at<int64_t>({304, 402}), 300 * 400 - 1);
  EXPECT_EQ(padded.at<int64_t>({305, 402}), -1);
  EXPECT_EQ(padded.at<int64_t>({304, 403}), -1);
  EXPECT_EQ(triu(y).at<int64_t>({299, 299}), 299 * 400 + 299);
  EXPECT_EQ(triu(y).at<int64_t>({299, 298}), 0);
}

}  // namespace
}  // namespace aorta
