#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace aorta {
namespace {

using Values = std::vector<int64_t>;

Values values(const Tensor& x) { return x.to_vector<int64_t>(); }

TEST(View, SharesStorageAndVersion) {
  const Tensor x = arange(24).view({2, 3, 4});
  for (const Tensor& y : {x.view({6, 4}), x.reshape({-1}), x.flatten(1), x.permute({2, 0, 1}),
                          x.transpose(0, 2), x.unsqueeze(1), x.unsqueeze(0).squeeze(0),
                          x.slice(2, 1, 3), x.narrow(1, 1, 2), x.select(0, 1), x[1], diagonal(x),
                          movedim(x, 0, 2), x.select(0, 0).expand({5, 3, 4}), x.detach()}) {
    EXPECT_TRUE(y.shares_storage(x));
    EXPECT_EQ(y.storage()->data(), x.storage()->data());
    const uint32_t version = x.version();
    y.bump_version();
    EXPECT_EQ(x.version(), version + 1);
  }
  EXPECT_FALSE(x.transpose(0, 1).reshape({-1}).shares_storage(x));
}

TEST(View, OfEveryFactorisation) {
  const Tensor x = arange(24).view({4, 6});
  for (const Shape& shape : {Shape{24}, Shape{2, 12}, Shape{2, 2, 6}, Shape{4, 3, 2},
                             Shape{1, 24, 1}, Shape{-1, 3}, Shape{4, 1, 6}, Shape{2, -1, 2, 1}}) {
    EXPECT_EQ(values(x.view(shape)), values(x));
  }
  EXPECT_EQ(tensor(3).view({}).dim(), 0);
  EXPECT_EQ(tensor({3}).view({}).dim(), 0);
  EXPECT_EQ(tensor(3).view({1, 1}).shape(), (Shape{1, 1}));
}

TEST(View, Errors) {
  const Tensor x = arange(6).view({2, 3});
  EXPECT_EQ(error_of([&] { x.view({4}); }),
            "view: the number of elements must stay, got [4] for a tensor of shape [2,3]");
  EXPECT_EQ(error_of([&] {
              x.view({-1, 4});
            }),
            "view: the number of elements must stay, got [-1,4] for a tensor of shape [2,3]");
  EXPECT_EQ(error_of([&] { x.view({-1, -1}); }), "view: only one size can be -1, got [-1,-1]");
  EXPECT_EQ(error_of([&] { x.view({-2, 3}); }), "view: sizes can't be negative, got [-2,3]");
  EXPECT_EQ(error_of([&] { x.reshape({7}); }),
            "reshape: the number of elements must stay, got [7] for a tensor of shape [2,3]");
  EXPECT_EQ(error_of([&] { x.t().view({6}); }),
            "view: shape must be compatible with the strides; use reshape, got [6] for a tensor of "
            "shape [3,2] with "
            "strides [1,3]");
  EXPECT_EQ(error_of([] {
              zeros({0}).view({-1, 0});
            }),
            "view: the number of elements must stay, got [-1,0] for a tensor of shape [0]");
  EXPECT_EQ(error_of([&] {
              x.view({int64_t{1} << 62, 4});
            }),
            "view: the number of elements must stay, got [4611686018427387904,4] for a tensor of "
            "shape [2,3]");
}

// view of a strided tensor, where it is allowed, has the elements of a copy's view; where it isn't,
// no view could have them.
TEST(View, RandomStridedTensors) {
  std::mt19937 random(1);
  const auto pick = [&](int n) {
    return static_cast<int64_t>(random() % static_cast<unsigned>(n));
  };
  int allowed = 0, refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Tensor x = arange(720).view({2, 3, 4, 5, 6});
    for (int step = 0; step < 3; ++step) {
      switch (pick(5)) {
        case 0:
          x = x.transpose(pick(x.dim()), pick(x.dim()));
          break;
        case 1:
          x = x.slice(pick(x.dim()), pick(2), {}, 1 + pick(2));
          break;
        case 2:
          x = x.unsqueeze(pick(x.dim() + 1));
          break;
        case 3:
          if (x.size(0) == 1)
            x = x.expand([&] {
              Shape s = x.shape();
              s[0] = 3;
              return s;
            }());
          break;
        default:
          if (x.dim() > 1) x = x.select(pick(x.dim()), 0);
      }
    }
    Shape shape;  // a random factorisation of numel
    for (int64_t left = x.numel(); left > 1 && shape.size() < 6;) {
      int64_t factor = 1 + pick(6);
      if (shape.size() == 5) factor = left;
      if (left % factor != 0) continue;
      shape.push_back(factor);
      left /= factor;
      if (left == 1) break;
    }
    if (shape.numel() != x.numel()) continue;
    const Tensor copy = x.contiguous().view(shape);
    EXPECT_EQ(values(x.reshape(shape)), values(copy));
    try {
      const Tensor view = x.view(shape);
      ASSERT_TRUE(view.shares_storage(x));
      ASSERT_EQ(values(view), values(copy))
          << to_string(x.shape()) << to_string(x.strides()) << to_string(shape);
      ++allowed;
    } catch (const Error&) {
      // The offset must be linear in every index.
      bool linear = true;
      for (int d = 0; d < shape.size() && linear; ++d) {
        if (shape[d] < 2) continue;
        for (int64_t i = 0; i + 1 < shape[d] && linear; ++i) {
          const Tensor a = copy.select(d, i), b = copy.select(d, i + 1);
          const Tensor first = copy.select(d, 0), second = copy.select(d, 1);
          linear = values(b - a) == values(second - first) &&
                   values(b - a) == Values(static_cast<size_t>(a.numel()), values(b - a)[0]);
        }
      }
      ASSERT_FALSE(linear) << to_string(x.shape()) << to_string(x.strides()) << to_string(shape);
      ++refused;
    }
  }
  EXPECT_GT(allowed, 500);
  EXPECT_GT(refused, 100);
}

TEST(Flatten, DimensionsAndScalars) {
  const Tensor x = arange(24).view({2, 3, 4});
  EXPECT_EQ(x.flatten().shape(), Shape{24});
  EXPECT_EQ(x.flatten(1).shape(), (Shape{2, 12}));
  EXPECT_EQ(x.flatten(0, 1).shape(), (Shape{6, 4}));
  EXPECT_EQ(x.flatten(-2, -1).shape(), (Shape{2, 12}));
  EXPECT_EQ(x.flatten(1, 1).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(tensor(1).flatten().shape(), Shape{1});
  EXPECT_EQ(zeros({2, 0, 3}).flatten(1).shape(), (Shape{2, 0}));
  EXPECT_EQ(error_of([&] { x.flatten(2, 1); }),
            "flatten: start_dim can't come after end_dim, got 2 and 1");
  EXPECT_EQ(error_of([&] { x.flatten(0, 3); }),
            "flatten: dimension out of range, got dim 3 of a 3-d tensor");
}

TEST(Unflatten, IsFlattensInverse) {
  const Tensor x = arange(24).view({2, 12});
  EXPECT_EQ(x.unflatten(1, {3, 4}).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(x.unflatten(-1, {3, -1}).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(x.unflatten(0, {1, 2, 1}).shape(), (Shape{1, 2, 1, 12}));
  EXPECT_TRUE(x.unflatten(1, {2, 2, -1}).shares_storage(x));
  EXPECT_EQ(unflatten(x, 1, {3, 4}).at<int64_t>({1, 2, 1}), 12 + 2 * 4 + 1);
  // One dimension gives a view whatever the strides are.
  const Tensor turned = x.t().unflatten(0, {4, 3});
  EXPECT_TRUE(turned.shares_storage(x));
  EXPECT_EQ(turned.at<int64_t>({3, 1, 1}), 12 + 10);
  EXPECT_EQ(zeros({0, 3}).unflatten(0, {4, 0}).shape(), (Shape{4, 0, 3}));
  EXPECT_EQ(error_of([&] {
              x.unflatten(1, {5, -1});
            }),
            "unflatten: sizes must multiply to the dimension's, got [5,-1] for 12");
  EXPECT_EQ(error_of([&] { x.unflatten(1, {-1, -1, 4}); }).substr(0, 10), "unflatten:");
  EXPECT_EQ(error_of([&] { x.unflatten(0, {}); }),
            "unflatten: sizes must multiply to the dimension's, got [] for 2");
  EXPECT_EQ(error_of([&] { tensor(1).unflatten(0, {1}); }).substr(0, 10), "unflatten:");
}

TEST(Permute, OrderAndErrors) {
  const Tensor x = arange(6).view({1, 2, 3});
  EXPECT_EQ(x.permute({2, 0, 1}).shape(), (Shape{3, 1, 2}));
  EXPECT_EQ(values(x.permute({-1, 0, 1})), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(x.transpose(-1, -2).shape(), (Shape{1, 3, 2}));
  EXPECT_EQ(tensor(1).transpose(0, -1).dim(), 0);
  EXPECT_EQ(tensor(1).permute({}).dim(), 0);
  EXPECT_EQ(tensor({1, 2}).t().shape(), Shape{2});
  EXPECT_EQ(error_of([&] {
              x.permute({0, 1});
            }),
            "permute: one entry a dimension, got [0,1] for shape [1,2,3]");
  EXPECT_EQ(error_of([&] { x.permute({0, 1, 1}); }), "permute: each dimension once, got [0,1,1]");
  EXPECT_EQ(error_of([&] { x.permute({0, 1, -2}); }), "permute: each dimension once, got [0,1,-2]");
  EXPECT_EQ(error_of([&] {
              x.permute({0, 1, 3});
            }),
            "permute: dimension out of range, got dim 3 of a 3-d tensor");
  EXPECT_EQ(error_of([&] { x.t(); }), "t: at most 2 dimensions, got [1,2,3]");
  EXPECT_EQ(movedim(x, 0, -1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(movedim(x, -1, 0).shape(), (Shape{3, 1, 2}));
  // PyTorch's: torch.zeros(2, 3, 4, 5).movedim((0, 2), (3, 0)).shape
  const Tensor wide = zeros({2, 3, 4, 5});
  EXPECT_EQ(movedim(wide, {0, 2}, {3, 0}).shape(), (Shape{4, 3, 5, 2}));
  EXPECT_EQ(movedim(wide, {-1, 1, 0}, {1, 0, -1}).shape(), (Shape{3, 5, 4, 2}));
  EXPECT_TRUE(movedim(wide, {}, {}).shape() == wide.shape());
  EXPECT_EQ(zeros({1, 2, 1, 1}).squeeze({0, -1}).shape(), (Shape{2, 1}));
  EXPECT_EQ(zeros({1, 2, 1, 1}).squeeze({3, 1, 2}).shape(), (Shape{1, 2}));
  EXPECT_EQ(squeeze(zeros({}), Dims{}).shape(), Shape());
  EXPECT_EQ(error_of([&] {
              movedim(wide, {0, 1}, {2});
            }),
            "movedim: source and destination must be as many dimensions, got [0,1] and [2]");
  EXPECT_EQ(error_of([&] {
              movedim(wide, {0, -4}, {2, 3});
            }),
            "movedim: each dimension at most once, got [0,-4] of 4");
}

TEST(Squeeze, Sizes) {
  const Tensor x = zeros({1, 2, 1, 3});
  EXPECT_EQ(x.squeeze().shape(), (Shape{2, 3}));
  EXPECT_EQ(x.squeeze(0).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(x.squeeze(-2).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(x.squeeze(1).shape(), x.shape());
  EXPECT_EQ(tensor(1).squeeze().dim(), 0);
  EXPECT_EQ(tensor(1).squeeze(0).dim(), 0);
  EXPECT_EQ(x.unsqueeze(-1).shape(), (Shape{1, 2, 1, 3, 1}));
  EXPECT_EQ(tensor(1).unsqueeze(0).shape(), Shape{1});
  EXPECT_EQ(error_of([&] { x.unsqueeze(5); }),
            "unsqueeze: dimension out of range, got dim 5 of a 5-d tensor");
  EXPECT_EQ(error_of([&] { x.unsqueeze(-6); }),
            "unsqueeze: dimension out of range, got dim -6 of a 5-d tensor");
}

TEST(Expand, SizesAndErrors) {
  const Tensor x = tensor({{1}, {2}});
  EXPECT_EQ(values(x.expand({2, 3})), (Values{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(values(x.expand({2, -1, 2})), (Values{1, 1, 2, 2, 1, 1, 2, 2}));
  EXPECT_EQ(x.expand({-1, 4}).strides(), (Strides{1, 0}));
  EXPECT_EQ(tensor(1).expand({0, 2}).shape(), (Shape{0, 2}));
  EXPECT_EQ(zeros({1}).expand({0}).numel(), 0);
  EXPECT_EQ(error_of([&] {
              x.expand({3, 3});
            }),
            "expand: sizes must match or be 1, got [3,3] for shape [2,1]");
  EXPECT_EQ(error_of([&] { x.expand({2}); }),
            "expand: as many dimensions or more, got [2] for shape [2,1]");
  EXPECT_EQ(error_of([&] {
              x.expand({-1, 2, 1});
            }),
            "expand: sizes must match or be 1, got [-1,2,1] for shape [2,1]");
  EXPECT_EQ(error_of([&] { tensor(1).expand({int64_t{1} << 62}); }),
            "expand: the number of bytes must fit in 63 bits, got [4611686018427387904]");
}

TEST(Slice, AsPython) {
  const Tensor x = arange(10);
  EXPECT_EQ(values(x.slice(0, 2, 5)), (Values{2, 3, 4}));
  EXPECT_EQ(values(x.slice(0, -3)), (Values{7, 8, 9}));
  EXPECT_EQ(values(x.slice(0, {}, -8)), (Values{0, 1}));
  EXPECT_EQ(values(x.slice(0, 1, 9, 3)), (Values{1, 4, 7}));
  EXPECT_EQ(values(x.slice(0, -100, 100, 4)), (Values{0, 4, 8}));
  EXPECT_EQ(values(x.slice(0, 0, 10, INT64_MAX)), Values{0});
  EXPECT_EQ(x.slice(0, 5, 2).shape(), Shape{0});
  EXPECT_EQ(x.slice(0, 10).shape(), Shape{0});
  EXPECT_EQ(x.slice(0, INT64_MIN, INT64_MAX).shape(), Shape{10});
  EXPECT_EQ(x.slice(-1, 9).shape(), Shape{1});
  EXPECT_EQ(error_of([&] { x.slice(0, 0, 1, 0); }), "slice: step must be positive, got 0");
  EXPECT_EQ(error_of([&] { x.slice(0, 0, 1, -1); }), "slice: step must be positive, got -1");
  EXPECT_EQ(error_of([&] { x.slice(1); }),
            "slice: dimension out of range, got dim 1 of a 1-d tensor");
  EXPECT_EQ(error_of([] { tensor(1).slice(0); }), "slice: a 0-d tensor can't be sliced, got []");
  // Every start, end and step of a small tensor, against the definition.
  for (int64_t start = -6; start <= 6; ++start) {
    for (int64_t end = -6; end <= 6; ++end) {
      for (int64_t step = 1; step <= 4; ++step) {
        Values wanted;
        const auto wrap = [](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + 5 : i, 0, 5); };
        for (int64_t i = wrap(start); i < wrap(end); i += step) wanted.push_back(i);
        ASSERT_EQ(values(arange(5).slice(0, start, end, step)), wanted)
            << start << ":" << end << ":" << step;
      }
    }
  }
}

TEST(Select, IndicesAndErrors) {
  const Tensor x = arange(6).view({2, 3});
  EXPECT_EQ(values(x[-1]), (Values{3, 4, 5}));
  EXPECT_EQ(values(x.select(-1, -3)), (Values{0, 3}));
  EXPECT_EQ(x[1][2].item<int>(), 5);
  EXPECT_EQ(values(x.narrow(1, -2, 2)), (Values{1, 2, 4, 5}));
  EXPECT_EQ(x.narrow(0, 2, 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(error_of([&] { x[2]; }), "select: index out of range, got 2 in a dimension of size 2");
  EXPECT_EQ(error_of([&] { x.select(1, -4); }),
            "select: index out of range, got -4 in a dimension of size 3");
  EXPECT_EQ(error_of([] { tensor(1)[0]; }), "select: a 0-d tensor has no index, got []");
  EXPECT_EQ(error_of([] { zeros({0})[0]; }),
            "select: index out of range, got 0 in a dimension of size 0");
  EXPECT_EQ(error_of([&] { x.narrow(0, 1, 2); }),
            "narrow: start and length must lie in the dimension, got start 1, length 2 in a "
            "dimension of size 2");
  EXPECT_EQ(error_of([&] { x.narrow(0, 0, -1); }),
            "narrow: start and length must lie in the dimension, got start 0, length -1 in a "
            "dimension of size 2");
  EXPECT_EQ(error_of([&] { x.narrow(0, 1, INT64_MAX); }),
            "narrow: start and length must lie in the dimension, got start 1, length "
            "9223372036854775807 in a "
            "dimension of size 2");
}

TEST(Diagonal, OffsetsAndDimensions) {
  const Tensor x = arange(12).view({3, 4});
  EXPECT_EQ(values(diagonal(x)), (Values{0, 5, 10}));
  EXPECT_EQ(values(diagonal(x, 1)), (Values{1, 6, 11}));
  EXPECT_EQ(values(diagonal(x, -2)), (Values{8}));
  EXPECT_EQ(values(diagonal(x, 3)), Values{3});
  EXPECT_EQ(diagonal(x, 4).shape(), Shape{0});
  EXPECT_EQ(diagonal(x, INT64_MAX).shape(), Shape{0});
  EXPECT_EQ(diagonal(x, INT64_MIN).shape(), Shape{0});
  EXPECT_EQ(values(diagonal(x, 1, 1, 0)), (Values{4, 9}));
  EXPECT_EQ(diagonal(zeros({2, 3, 4}), 0, 0, 2).shape(), (Shape{3, 2}));
  EXPECT_EQ(error_of([&] { diagonal(x, 0, 0, -2); }),
            "diagonal: two different dimensions, got 0 and -2 of shape [3,4]");
}

TEST(AsStrided, StaysInside) {
  const Tensor x = arange(6);
  EXPECT_EQ(values(as_strided(x, {2, 2}, {3, 1}, 1)), (Values{1, 2, 4, 5}));
  EXPECT_EQ(as_strided(x, {0, 9}, {1, 1}, 0).numel(), 0);
  EXPECT_EQ(error_of([&] {
              as_strided(x, {2, 2}, {3, 1}, 2);
            }),
            "as_strided: every element must lie inside the storage, got shape [2,2], strides "
            "[3,1], offset 2 in a "
            "storage of 6 elements");
  EXPECT_EQ(error_of([&] { as_strided(x, {1}, {1}, -1); }),
            "as_strided: every element must lie inside the storage, got shape [1], strides [1], "
            "offset -1 in a storage "
            "of 6 elements");
  EXPECT_NE(error_of([&] { as_strided(x, {3}, {INT64_MAX / 2}, 5); }), "no error");
  EXPECT_NE(error_of([&] { as_strided(x, {2, 2}, {1}, 0); }), "no error");
}

TEST(Writing, ThroughViews) {
  const Tensor x = zeros({3, 4}, {.dtype = i64});
  x[1].fill_(5);
  x.slice(1, 0, {}, 2).copy_(ones({3, 2}));
  diagonal(x).fill_(9);
  EXPECT_EQ(values(x), (Values{9, 0, 1, 0, 1, 9, 1, 5, 1, 0, 9, 0}));
  add_(x.t(), tensor({10, 20, 30}));
  EXPECT_EQ(values(x[2]), (Values{31, 30, 39, 30}));
}

}  // namespace
}  // namespace aorta
