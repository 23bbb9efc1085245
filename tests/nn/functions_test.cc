// Functions of several tensors as PyTorch's, in f64, f32 and bf16, and their derivatives.
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/nn/fractional_pooling.h>
#include <aorta/nn/parameter_vector.h>
#include <aorta/nn/unpooling.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/function_cases.h>

#include <set>

namespace aorta::nn {
namespace {

class Functions : public testing::TestWithParam<FunctionCase> {};

TEST_P(Functions, AgreeWithPyTorch) {
  for (const DType dtype : {DType::f64, DType::f32})
    EXPECT_EQ(function_difference(GetParam(), dtype), "") << to_string(dtype);
}

TEST_P(Functions, HalfTypesAreRoundedOnce) {
  const Tensors inputs = leaves_of(GetParam(), DType::bf16);
  Tensors wide;
  for (const Tensor& x : inputs)
    wide.push_back(is_floating(x.dtype()) ? x.detach().to(DType::f64) : x);
  const Tensor wanted = GetParam().call(wide), got = GetParam().call(inputs);
  EXPECT_EQ(got.dtype(), DType::bf16);
  EXPECT_TRUE(near(got.to(DType::f64), wanted, 0.0025));
}

TEST_P(Functions, DerivativesAgreeWithFiniteDifferences) {
  const Tensors data = leaves_of(GetParam(), DType::f64);
  Tensors inputs;
  for (const Tensor& x : data)
    if (x.requires_grad()) inputs.push_back(x);
  // The tensors are moved where they are, so the arguments need not be passed on.
  const auto call = [&](const Tensors&) { return Tensors{GetParam().call(data)}; };
  // Where the nearest position is read, points have a gradient of 0.
  EXPECT_GRADIENTS(call, inputs, {.allow_vacuous = true});
  EXPECT_SECOND_GRADIENTS(call, inputs, {.allow_vacuous = true});
}

INSTANTIATE_TEST_SUITE_P(All, Functions, testing::ValuesIn(function_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(FunctionFixtures, HaveACaseEach) {
  std::set<std::string> names{"inputs"};
  for (const FunctionCase& one : function_cases()) names.insert(one.name);
  for (const auto& [key, value] : function_fixtures())
    EXPECT_TRUE(names.contains(key.substr(0, key.find('/')))) << key;
}

TEST(EmbeddingBags, OfEqualElementsTheFirstIsTheLargest) {
  const Tensor weight = tensor({{1.0, 2.0}, {1.0, 3.0}, {1.0, 3.0}}).requires_grad_();
  const Tensor bag =
      embedding_bag(tensor({{0, 1, 2}, {2, 1, 0}}), weight, {}, {.mode = EmbeddingBagMode::max});
  EXPECT_TRUE(near(bag, tensor({{1.0, 3.0}, {1.0, 3.0}}), 0));
  bag.backward(ones({2, 2}));
  EXPECT_TRUE(near(weight.grad(), tensor({{1.0, 0.0}, {0.0, 1.0}, {1.0, 1.0}}), 0));
  // A bag of paddings alone, and of nothing, is zeros.
  const Tensor rows = embedding_bag(tensor({1, 1, 0}), weight.detach(), tensor({0, 2, 2}),
                                    {.mode = EmbeddingBagMode::max, .padding_idx = 1});
  EXPECT_TRUE(near(rows, tensor({{0.0, 0.0}, {0.0, 0.0}, {1.0, 2.0}}), 0));
  EXPECT_EQ(embedding_bag(zeros({0}).to(DType::i64), weight, tensor({0, 0})).shape(),
            (Shape{2, 2}));
}

TEST(EmbeddingBags, SparseGradientsAreTheDenseOnes) {
  const Tensor input = tensor({{0, 1, 2}, {4, 1, 1}}), factors = tensor({{2.0, -1.0}, {0.5, 3.0}});
  for (const EmbeddingBagMode mode :
       {EmbeddingBagMode::sum, EmbeddingBagMode::mean, EmbeddingBagMode::max}) {
    EmbeddingBag dense(6, 2, {.mode = mode, .padding_idx = 1});
    EmbeddingBag sparse(6, 2, {.mode = mode, .padding_idx = 1, .sparse = true});
    sparse.load_state_dict(dense.state_dict());
    sum(dense(input) * factors).backward();
    sum(sparse(input) * factors).backward();
    const auto rows = autograd::sparse_grad(sparse.weight);
    ASSERT_TRUE(rows);
    EXPECT_EQ(rows->indices.to_vector<int64_t>(), (std::vector<int64_t>{0, 2, 4}));
    EXPECT_TRUE(near(rows->to_dense(), dense.weight.grad(), 0));
    sparse.zero_grad();
    EXPECT_FALSE(autograd::sparse_grad(sparse.weight));
  }
}

TEST(EmbeddingBags, Refuse) {
  const Tensor weight = ones({5, 2}), flat = tensor({1, 2, 7}), offsets = tensor({0, 2});
  const auto bag = [&](const Tensor& input, const Tensor& starts,
                       const EmbeddingBagFunctionOptions& options = {}) {
    return error_of([&] { embedding_bag(input, weight, starts, options); });
  };
  EXPECT_EQ(bag(flat, offsets), "embedding_bag: index must be in [0, V), got 7 at [2], V 5");
  EXPECT_EQ(bag(flat, {}), "embedding_bag: offsets must be (B) where the input is (L), got none");
  EXPECT_EQ(bag(flat, tensor({1, 2})), "embedding_bag: offsets must begin with 0, got 1");
  EXPECT_EQ(bag(flat, tensor({0, 2, 1})), "embedding_bag: offsets must not fall, got a step of -1");
  EXPECT_EQ(bag(flat, tensor({0, 4})),
            "embedding_bag: offsets must be at most the input's length, got 4 for 3");
  EXPECT_EQ(bag(flat, offsets, {.include_last_offset = true}),
            "embedding_bag: the last offset must be the input's length, got 2 for 3");
  EXPECT_EQ(bag(flat, tensor({0.0, 1.0})), "embedding_bag: offsets must be i64 or i32, got f32");
  EXPECT_EQ(bag(ones({1, 2}).to(DType::i64), offsets),
            "embedding_bag: offsets are for an input (L), got [1,2]");
  EXPECT_EQ(bag(flat, offsets, {.per_sample_weights = ones({3})}),
            "embedding_bag: per_sample_weights are for sums alone, got mean");
  EXPECT_EQ(bag(flat, offsets, {.mode = EmbeddingBagMode::sum, .per_sample_weights = ones({2})}),
            "embedding_bag: per_sample_weights must have the input's shape, got [2] for [3]");
  EXPECT_EQ(bag(tensor({1}), offsets, {.padding_idx = 5}),
            "embedding_bag: offsets must be at most the input's length, got 2 for 1");
  EXPECT_EQ(bag(tensor({1, 2}), offsets, {.padding_idx = 5}),
            "embedding_bag: padding_idx must be a row of weight, got 5 for [5,2]");
}

TEST(Embeddings, SparseGradientsAreTheDenseOnes) {
  const Embedding dense(5, 2),
      sparse = Embedding::from_pretrained(dense.weight.detach(), false,
                                          {.padding_idx = 3, .sparse = true});
  EXPECT_EQ(sparse.extra_repr(), "5, 2, padding_idx=3, sparse=True");
  EXPECT_EQ(EmbeddingBag(5, 2, {.sparse = true}).extra_repr(), "5, 2, mode=mean, sparse=True");
  for (const Embedding* layer : {&dense, &sparse})
    sum(square((*layer)(tensor({{4, 0}, {4, 1}})))).backward();
  EXPECT_TRUE(near(autograd::sparse_grad(sparse.weight)->to_dense(), dense.weight.grad(), 1e-6));
}

// PyTorch 2.15's values.
TEST(Embeddings, LimitTheirRowsAndShareTheirGradients) {
  const Tensor table = tensor({{3.0, 4.0}, {1.0, 0.0}, {0.0, -2.0}, {6.0, 8.0}}, {.dtype = f64});
  const Tensor input = tensor({{0, 2, 0}, {1, 0, 2}});
  const Tensor limited = tensor({{0.8999999820000003, 1.1999999760000004},
                                 {1.0, 0.0},
                                 {0.0, -1.4999999250000038},
                                 {6.0, 8.0}},
                                {.dtype = f64});
  const Tensor weights = arange(12, {.dtype = f64}).view(2, 3, 2);
  const Embedding layer = Embedding::from_pretrained(table.clone(), false,
                                                     {.max_norm = 1.5, .scale_grad_by_freq = true});
  const Tensor rows = layer(input);
  EXPECT_TRUE(near(layer.weight, limited, 1e-14));
  EXPECT_TRUE(near(rows, limited.index_select(0, input.flatten()).view(2, 3, 2), 1e-14));
  rows.retain_grad();
  sum(rows * weights).backward();
  EXPECT_TRUE(near(rows.grad(), weights, 0));
  const Tensor shared = tensor({{4.0, 5.0}, {6.0, 7.0}, {6.0, 7.0}, {0.0, 0.0}}, {.dtype = f64});
  EXPECT_TRUE(near(layer.weight.grad(), shared, 1e-14));
  const Embedding sparse = Embedding::from_pretrained(table.clone(), false,
                                                      {.scale_grad_by_freq = true, .sparse = true});
  sum(sparse(input) * weights).backward();
  EXPECT_TRUE(near(autograd::sparse_grad(sparse.weight)->to_dense(), shared, 1e-14));
  const Embedding by_sizes =
      Embedding::from_pretrained(table.clone(), true, {.max_norm = 1.5, .norm_type = 1});
  by_sizes(input);
  EXPECT_TRUE(near(by_sizes.weight,
                   tensor({{0.6428571336734695, 0.8571428448979593},
                           {1.0, 0.0},
                           {0.0, -1.4999999250000038},
                           {6.0, 8.0}},
                          {.dtype = f64}),
                   1e-14));
  const EmbeddingBag bag = EmbeddingBag::from_pretrained(
      table.clone(), false,
      {.mode = EmbeddingBagMode::sum, .max_norm = 1.5, .scale_grad_by_freq = true});
  const Tensor sums = bag(input);
  EXPECT_TRUE(near(bag.weight, limited, 1e-14));
  EXPECT_TRUE(near(
      sums,
      tensor({{1.7999999640000006, 0.900000026999997}, {1.8999999820000002, -0.2999999490000034}},
             {.dtype = f64}),
      1e-14));
  sum(sums * arange(4, {.dtype = f64}).view(2, 2)).backward();
  EXPECT_TRUE(near(bag.weight.grad(),
                   tensor({{2.0 / 3, 5.0 / 3}, {2.0, 3.0}, {1.0, 2.0}, {0.0, 0.0}}, {.dtype = f64}),
                   1e-14));
  const Embedding half = Embedding::from_pretrained(table.to(bf16), true, {.max_norm = 1.5});
  {
    const Autocast scope(bf16);
    half(input);
  }
  EXPECT_TRUE(near(half.weight.to(f64), limited, 1e-2));
  EXPECT_EQ(layer.extra_repr(), "4, 2, max_norm=1.5, scale_grad_by_freq=True");
  EXPECT_EQ(by_sizes.extra_repr(), "4, 2, max_norm=1.5, norm_type=1");
  EXPECT_EQ(bag.extra_repr(), "4, 2, mode=sum, max_norm=1.5, scale_grad_by_freq=True");
  EXPECT_EQ(layer(zeros({0, 2}).to(i64)).shape(), (Shape{0, 2, 2}));
  EXPECT_EQ(error_of([] { Embedding(5, 2, {.max_norm = -1})(tensor({1})); }),
            "embedding: max_norm must not be negative, got -1");
  EXPECT_EQ(error_of([] { Embedding(5, 2, {.max_norm = 1, .norm_type = 0})(tensor({1})); }),
            "embedding: norm_type must be positive, got 0");
  EXPECT_NE(error_of([] { Embedding(5, 2, {.max_norm = 1})(tensor({5})); }), kNoError);
}

TEST(Embeddings, FromPretrained) {
  const Tensor table = tensor({{1.0, 2.0}, {3.0, 4.0}});
  const Embedding frozen = Embedding::from_pretrained(table);
  EXPECT_FALSE(frozen.weight.requires_grad());
  EXPECT_TRUE(frozen.weight.shares_storage(table));
  EXPECT_TRUE(near(frozen(tensor({1})), tensor({{3.0, 4.0}}), 0));
  const Embedding tuned = Embedding::from_pretrained(table, false, {.padding_idx = 1});
  EXPECT_TRUE(tuned.weight.requires_grad());
  EXPECT_FALSE(table.requires_grad());
  sum(tuned(tensor({0, 1}))).backward();
  EXPECT_TRUE(near(tuned.weight.grad(), tensor({{1.0, 1.0}, {0.0, 0.0}}), 0));
  const EmbeddingBag bag =
      EmbeddingBag::from_pretrained(table, true, {.mode = EmbeddingBagMode::sum});
  EXPECT_FALSE(bag.weight.requires_grad());
  EXPECT_TRUE(near(bag(tensor({{0, 1}})), tensor({{4.0, 6.0}}), 0));
  EXPECT_EQ(error_of([] { Embedding::from_pretrained(ones({2})); }),
            "Embedding::from_pretrained: embeddings must be (V, D), got [2]");
}

// The grid of the identity reads the input itself, and PyTorch's border has no slope there.
TEST(GridSample, IdentityAndSpecialPoints) {
  const Tensor image = arange(12, {.dtype = DType::f64}).reshape({1, 1, 3, 4});
  const Tensor theta = tensor({{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}}}, {.dtype = DType::f64});
  for (const bool align : {false, true}) {
    const Tensor grid = affine_grid(theta, image.shape(), align);
    for (const auto mode :
         {GridSampleMode::bilinear, GridSampleMode::nearest, GridSampleMode::bicubic})
      EXPECT_TRUE(
          near(grid_sample(image, grid, {.mode = mode, .align_corners = align}), image, 1e-12));
  }
  const double nan = std::nan(""), inf = INFINITY;
  const Tensor points =
      tensor({{{{nan, 0.0}, {inf, 0.0}, {-1e30, 5.0}, {0.0, 0.0}}}}, {.dtype = DType::f64})
          .requires_grad_();
  for (const auto mode :
       {GridSampleMode::bilinear, GridSampleMode::nearest, GridSampleMode::bicubic}) {
    points.set_grad({});
    const Tensor read = grid_sample(image, points, {.mode = mode, .align_corners = true});
    EXPECT_TRUE(near(read.narrow(3, 0, 3), zeros({1, 1, 1, 3}), 0));
    if (mode == GridSampleMode::bilinear) {
      EXPECT_NEAR(read.at<double>({0, 0, 0, 3}), 5.5, 1e-12);
    }
    sum(read).backward();
    EXPECT_TRUE(near(points.grad().narrow(2, 0, 3), zeros({1, 1, 3, 2}), 0));
  }
  const Tensor at_border = grid_sample(
      image, points.detach(), {.padding_mode = GridSamplePadding::border, .align_corners = true});
  EXPECT_TRUE(near(at_border, tensor({{{{4.0, 7.0, 8.0, 5.5}}}}, {.dtype = DType::f64}), 1e-12));
  // Infinite elements that no point reads stay out of the others' results and gradients.
  const Tensor holes = where(gt(image, 10), inf, image);
  const Tensor outside =
      tensor({{{{1.9, 1.9}, {-1.0, -1.0}}}}, {.dtype = DType::f64}).requires_grad_();
  const Tensor values = grid_sample(holes, outside, {.align_corners = true});
  EXPECT_TRUE(near(values, zeros({1, 1, 1, 2}), 0));
  sum(values).backward();
  EXPECT_TRUE(near(outside.grad().narrow(2, 0, 1), zeros({1, 1, 1, 2}), 0));
}

// Maps come from a convolution in half, points from a product in f32.
TEST(GridSample, UnderAutocast) {
  const Autocast scope(DType::bf16);
  const Tensor y = grid_sample(ones({1, 1, 2, 2}, {.dtype = DType::bf16}), zeros({1, 1, 1, 2}));
  EXPECT_EQ(y.dtype(), DType::f32);
  EXPECT_EQ(y.item<float>(), 1);
}

TEST(GridSample, OfNothing) {
  for (const Shape& image : {Shape{0, 2, 3, 4}, Shape{1, 0, 3, 4}, Shape{1, 2, 3, 4}}) {
    const Tensor x = ones(image).requires_grad_();
    const Tensor grid = zeros({image[0], image[0] > 0 && image[1] > 0 ? 0 : 2, 3, 2});
    const Tensor y = grid_sample(x, grid);
    EXPECT_EQ(y.shape(), (Shape{image[0], image[1], grid.size(1), 3}));
    sum(y).backward();
    EXPECT_TRUE(near(x.grad(), zeros(image), 0));
  }
}

// F.grid_sample(torch.arange(27.).view(1, 1, 3, 3, 3)**2 / 64, grid, mode="bicubic",
// align_corners=False) and the gradient of its sum by the grid.
TEST(GridSample, BicubicOfVolumes) {
  const Tensor x = square(arange(27, {.dtype = DType::f64})).view({1, 1, 3, 3, 3}) / 64;
  const Tensor grid = tensor({0.1, -0.3, 0.5, -1.2, 0.9, 0.0}, {.dtype = DType::f64})
                          .view({1, 1, 1, 2, 3})
                          .requires_grad_();
  const Tensor y = grid_sample(x, grid, {.mode = GridSampleMode::bicubic});
  sum(y).backward();
  const auto expect_near = [](const Tensor& got, const std::vector<double>& wanted) {
    EXPECT_TRUE(near(got.flatten(), tensor(wanted, {.dtype = DType::f64}), 1e-14));
  };
  expect_near(y, {6.927038616602236, 0.42944514843750303});
  expect_near(grid.grad(), {3.3065215002125465, 1.0477032972711313, 5.360713767131206,
                            3.585924030761722, -1.001849765625007, 1.1413368281250078});
  const auto padded = [&](GridSamplePadding padding) {
    return grid_sample(x, grid, {.mode = GridSampleMode::bicubic, .padding_mode = padding});
  };
  expect_near(padded(GridSamplePadding::border), {5.664165936004633, 3.6441161835937543});
  expect_near(padded(GridSamplePadding::reflection), {5.664165936004633, 3.6715277343750032});
}

TEST(GridSample, Refuses) {
  const Tensor image = ones({2, 1, 3, 4}), grid = zeros({2, 1, 1, 2});
  EXPECT_EQ(error_of([&] {
              grid_sample(ones({2, 3, 4}), grid);
            }),
            "grid_sample: input must be (N, C, H, W) or (N, C, D, H, W), got [2,3,4]");
  EXPECT_EQ(error_of([&] {
              grid_sample(image, zeros({2, 1, 1, 3}));
            }),
            "grid_sample: grid must be (N, H', W', 2) or (N, D', H', W', 3), with the input's N, "
            "got [2,1,1,3] for [2,1,3,4]");
  EXPECT_EQ(error_of([&] { grid_sample(image, grid.to(DType::f64)); }),
            "grid_sample: input and grid must have one dtype, got f32 and f64");
  EXPECT_EQ(error_of([&] {
              affine_grid(ones({2, 2, 3}), {2, 1, 3});
            }),
            "affine_grid: size must be (N, C, H, W) or (N, C, D, H, W), got [2,1,3]");
  EXPECT_EQ(error_of([&] {
              affine_grid(ones({2, 2, 3}), {1, 1, 3, 3});
            }),
            "affine_grid: theta must be (N, 2, 3) or (N, 3, 4), with the N of size, got [2,2,3] "
            "for [1,1,3,3]");
}

TEST(MaxPool, LayersTellTheirIndices) {
  const auto expect_same = [](const ValuesIndices& got, const ValuesIndices& want) {
    EXPECT_EQ(got.values.to_vector<float>(), want.values.to_vector<float>());
    EXPECT_EQ(got.indices.to_vector<int64_t>(), want.indices.to_vector<int64_t>());
  };
  const Tensor x = randn({2, 3, 7, 9}), cube = randn({2, 3, 5, 6, 7}), line = randn({2, 3, 11});
  expect_same(MaxPool1d(3, {.stride = 2}).forward_with_indices(line),
              max_pool1d_with_indices(line, 3, {.stride = 2}));
  expect_same(MaxPool2d(3, {.stride = 2, .padding = 1}).forward_with_indices(x),
              max_pool2d_with_indices(x, 3, {.stride = 2, .padding = 1}));
  expect_same(MaxPool3d(2).forward_with_indices(cube), max_pool3d_with_indices(cube, 2));
  expect_same(AdaptiveMaxPool1d(4).forward_with_indices(line),
              adaptive_max_pool1d_with_indices(line, 4));
  expect_same(AdaptiveMaxPool2d({3, 4}).forward_with_indices(x),
              adaptive_max_pool2d_with_indices(x, {3, 4}));
  expect_same(AdaptiveMaxPool3d(2).forward_with_indices(cube),
              adaptive_max_pool3d_with_indices(cube, 2));
  const FractionalMaxPoolOptions options{.output_size = {3, 4},
                                         .random_samples = full({2, 3, 2}, 0.25)};
  expect_same(FractionalMaxPool2d(2, options).forward_with_indices(x),
              fractional_max_pool2d_with_indices(x, 2, options));
  EXPECT_EQ(error_of([&] { AdaptiveAvgPool2d(2).forward_with_indices(x); }),
            "AdaptiveAvgPool2d: a mean has no index, got [2,3,7,9]");
}

TEST(MaxUnpool, IsTheWayBack) {
  const Tensor x = reshape(remainder(arange(35, {.dtype = DType::f64}) * 8, 35), {1, 1, 5, 7});
  const auto [values, indices] = max_pool2d_with_indices(x, 2);
  const Tensor back = max_unpool2d(values, indices, 2, {}, 0, {5, 7});
  EXPECT_EQ(back.shape(), x.shape());
  EXPECT_TRUE(near(max_pool2d(back, 2), values, 0));
  EXPECT_EQ(count_nonzero(back).item<int64_t>(), count_nonzero(values).item<int64_t>());
  EXPECT_EQ(max_unpool2d(values, indices, 2, {}, 0, {1, 1, 5, 6}).shape(), (Shape{1, 1, 5, 6}));
  // Without a batch, of integers.
  const Tensor whole = max_unpool1d(tensor({{5, 7}}), tensor({{1, 2}}), 2);
  EXPECT_EQ(whole.to_vector<int64_t>(), (std::vector<int64_t>{0, 5, 7, 0}));
}

TEST(MaxUnpool, Refuses) {
  const Tensor x = ones({1, 2, 2}), places = zeros({1, 2, 2}).to(DType::i64);
  EXPECT_EQ(error_of([&] { max_unpool2d(x, places + 20, 2); }),
            "max_unpool2d: index out of range, got 20 in dimension 1 of size 16");
  EXPECT_EQ(error_of([&] {
              max_unpool2d(x, places, 2, {}, 0, {7, 4});
            }),
            "max_unpool2d: output_size must be positive and less than a stride away from (in - 1) "
            "stride - 2 padding + kernel_size, got 7 for 4");
  EXPECT_EQ(error_of([&] { max_unpool2d(x, places.to(DType::i32), 2); }),
            "max_unpool2d: indices must be i64, got i32");
  EXPECT_EQ(error_of([&] { max_unpool2d(x, places, 2, {}, 0, {4}); }),
            "max_unpool2d: output_size must have the spatial sizes or all, got [4] for [1,2,2]");
  EXPECT_EQ(error_of([&] { max_unpool3d(x, places, 2); }),
            "max_unpool3d: input must be (N, C, *) or (C, *), got [1,2,2]");
}

TEST(FractionalMaxPool, ReadsWhereItSays) {
  manual_seed(3);
  const Tensor x = randn({2, 3, 9, 8});
  const auto [values, indices] =
      fractional_max_pool2d_with_indices(x, {3, 2}, {.output_ratio = {0.5}});
  EXPECT_EQ(values.shape(), (Shape{2, 3, 4, 4}));
  EXPECT_TRUE(near(gather(x.flatten(2), 2, indices.flatten(2)).reshape(values.shape()), values, 0));
  // Windows differ from channel to channel: of one image they are drawn anew.
  const Tensor ramp = arange(200).to(DType::f32).expand({1, 8, 3, 200});
  const Tensor ends = fractional_max_pool2d(ramp, 1, {.output_size = {3, 60}});
  EXPECT_GT(sum(ne(ends.narrow(1, 0, 1), ends)).item<int64_t>(), 0);
  EXPECT_TRUE(near(ends.select(3, 59), full({1, 8, 3}, 199.0), 0));
  const auto refused = [&](const FractionalMaxPoolOptions& options) {
    return error_of([&] { fractional_max_pool2d(x, 2, options); });
  };
  EXPECT_EQ(refused({}),
            "fractional_max_pool2d: either output_size or output_ratio must be given, got none");
  EXPECT_EQ(refused({.output_ratio = {1.5}}),
            "fractional_max_pool2d: output_ratio must be in (0, 1), got 1.5");
  EXPECT_EQ(refused({.output_size = 9}),
            "fractional_max_pool2d: kernel_size and output_size must be positive, their sum at "
            "most the size plus 1, got 2 and 9 for 9");
  EXPECT_EQ(refused({.output_size = 2, .random_samples = ones({2, 3, 3})}),
            "fractional_max_pool2d: random_samples must be (N, C, n), got [2,3,3] for [2,3,9,8]");
}

TEST(ParameterVector, GoesThereAndBack) {
  const Linear net(3, 2);
  const Tensor vector = parameters_to_vector(net.parameters());
  EXPECT_EQ(vector.shape(), Shape{8});
  EXPECT_TRUE(near(vector.narrow(0, 6, 2), net.bias, 0));
  sum(vector * arange(8)).backward();
  EXPECT_EQ(net.bias.grad().to_vector<float>(), (std::vector<float>{6, 7}));
  vector_to_parameters(arange(8, {.dtype = f32}), net.parameters());
  EXPECT_EQ(net.weight.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(net.weight.requires_grad());
  EXPECT_EQ(error_of([&] { vector_to_parameters(ones({7}), net.parameters()); }),
            "vector_to_parameters: vector must be (N) with the elements of all parameters, got [7] "
            "for 8");
  EXPECT_EQ(error_of([] { parameters_to_vector({}); }),
            "parameters_to_vector: there must be parameters, got none");
}

}  // namespace
}  // namespace aorta::nn
