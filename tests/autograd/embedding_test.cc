#include <aorta/autograd/anomaly.h>
#include <aorta/autograd/backward.h>
#include <aorta/autograd/sparse_gradient.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/parallel_for.h>

#include <gtest/gtest.h>

#include <cmath>

#include <aorta/tests/error_text.h>

namespace {

using namespace aorta;

TEST(EmbeddingGradients, SameBitsForAnyNumberOfThreads) {
  const int before = get_num_threads();
  const Tensor places = remainder(arange(40000) * 7919, 97);
  const Tensor factors = sin(arange(40000, {.dtype = f64}) * 12.9898).to(f32).unsqueeze(1);
  std::vector<float> first;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    const Tensor weight = ones({97, 33}).requires_grad_();
    sum(embedding(places, weight) * factors).backward();
    const std::vector<float> bits = weight.grad().to_vector<float>();
    if (threads == 1) first = bits;
    EXPECT_TRUE(bits == first);
  }
  set_num_threads(before);
}

// 1000 uses of a row are 1000, also in a type that holds no 257.
TEST(EmbeddingGradients, HalfTypesAreAddedInFullPrecision) {
  const Tensor weight = ones({3, 2}, {.dtype = bf16}).requires_grad_();
  sum(embedding(zeros({1000}, {.dtype = i64}), weight)).backward();
  EXPECT_EQ(weight.grad().to_vector<float>(), (std::vector<float>{1000, 1000, 0, 0, 0, 0}));
}

TEST(EmbeddingGradients, ThePaddingRowGetsNone) {
  for (const int64_t padding : {1, -2}) {
    const Tensor weight = ones({3, 2}).requires_grad_();
    sum(embedding(tensor({{0, 1}, {1, 2}}), weight, padding)).backward();
    EXPECT_EQ(weight.grad().to_vector<float>(), (std::vector<float>{1, 1, 0, 0, 1, 1}));
  }
}

// ---- Sparse ones.

using autograd::sparse_grad;

TEST(SparseEmbeddingGradients, AreTheRowsThatWereRead) {
  const Tensor weight = ones({5, 2}).requires_grad_();
  const Tensor factors = tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}, {.dtype = f32});
  sum(embedding(tensor({4, 1, 4}), weight, {}, true) * factors).backward();
  const auto rows = sparse_grad(weight);
  ASSERT_TRUE(rows);
  EXPECT_FALSE(rows->coalesced);
  EXPECT_EQ(rows->shape, weight.shape());
  EXPECT_EQ(rows->indices.to_vector<int64_t>(), (std::vector<int64_t>{4, 1, 4}));
  EXPECT_EQ(rows->values.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const auto sums = rows->coalesce();
  EXPECT_TRUE(sums.coalesced);
  EXPECT_EQ(sums.indices.to_vector<int64_t>(), (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(sums.values.to_vector<float>(), (std::vector<float>{3, 4, 6, 8}));
  for (const auto& gradient : {*rows, sums})
    EXPECT_EQ(gradient.to_dense().to_vector<float>(),
              (std::vector<float>{0, 0, 3, 4, 0, 0, 0, 0, 6, 8}));
  EXPECT_EQ(error_of([&] { weight.grad(); }),
            "grad: a sparse gradient is had from autograd::sparse_grad(), got [3,2] of [5,2]");
}

TEST(SparseEmbeddingGradients, KeepTheirPlaces) {
  const Tensor weight = ones({5, 2}).requires_grad_();
  const Tensor places = tensor({4, 1});
  sum(embedding(places, weight, {}, true)).backward();
  places.fill_(0);  // the next batch
  EXPECT_EQ(sparse_grad(weight)->indices.to_vector<int64_t>(), (std::vector<int64_t>{4, 1}));
}

// Whatever is read how often, sparse or not, the sum is that of dense gradients.
TEST(SparseEmbeddingGradients, AddUpWithOthers) {
  const auto gradient_of = [](const std::vector<std::vector<bool>>& passes) {
    const Tensor weight = ones({4, 2}, {.dtype = f64}).requires_grad_();
    int64_t use = 0;
    for (const auto& uses : passes) {
      Tensor loss = zeros({}, {.dtype = f64});
      for (const bool sparse : uses) {
        const Tensor rows = remainder(arange(3) * ++use, 4);
        loss = loss + sum(embedding(rows, weight, {}, sparse) * static_cast<double>(use));
      }
      loss.backward();
    }
    const auto rows = sparse_grad(weight);
    bool all = true;
    for (const auto& uses : passes)
      for (const bool sparse : uses) all &= sparse;
    EXPECT_EQ(rows.has_value(), all);
    return (rows ? rows->to_dense() : weight.grad()).to_vector<double>();
  };
  const auto two = gradient_of({{false, false}});
  EXPECT_EQ(gradient_of({{true, true}}), two);
  EXPECT_EQ(gradient_of({{true, false}}), two);
  EXPECT_EQ(gradient_of({{false, true}}), two);
  EXPECT_EQ(gradient_of({{true}, {true}}), two);
  EXPECT_EQ(gradient_of({{true}, {false}}), two);
  EXPECT_EQ(gradient_of({{false}, {true}}), two);
  EXPECT_EQ(gradient_of({{true, true}, {true}}), gradient_of({{false, false}, {false}}));
}

// Memory that somebody else holds isn't taken over.
TEST(SparseEmbeddingGradients, KeepTheirValues) {
  const Tensor weight = ones({3, 2}).requires_grad_();
  const Tensor given = full({2, 2}, 7.0f);
  embedding(tensor({0, 1}), weight, {}, true).backward(given);
  given.zero_();
  EXPECT_EQ(sparse_grad(weight)->values.to_vector<float>(), (std::vector<float>{7, 7, 7, 7}));
  const auto first = *sparse_grad(weight);
  sum(embedding(tensor({2}), weight, {}, true)).backward();
  EXPECT_EQ(first.values.shape(), (Shape{2, 2}));
  EXPECT_EQ(sparse_grad(weight)->values.shape(), (Shape{3, 2}));
}

TEST(SparseEmbeddingGradients, HaveNoRowOfPadding) {
  for (const int64_t padding : {1, -2}) {
    const Tensor weight = ones({3, 2}).requires_grad_();
    sum(embedding(tensor({{0, 1}, {1, 2}}), weight, padding, true)).backward();
    EXPECT_EQ(sparse_grad(weight)->indices.to_vector<int64_t>(), (std::vector<int64_t>{0, 2}));
    EXPECT_EQ(sparse_grad(weight)->values.to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  }
}

TEST(SparseEmbeddingGradients, GoAway) {
  const Tensor weight = ones({3, 2}).requires_grad_();
  const auto give = [&] { sum(embedding(tensor({0, 1}), weight, {}, true)).backward(); };
  give();
  weight.set_grad({});
  EXPECT_FALSE(sparse_grad(weight));
  EXPECT_FALSE(weight.grad().defined());
  give();
  autograd::zero_grad(weight);
  EXPECT_FALSE(sparse_grad(weight));
  give();
  autograd::zero_grad(weight, false);
  EXPECT_EQ(sparse_grad(weight)->values.shape(), (Shape{0, 2}));
  weight.set_grad(ones({3, 2}));
  EXPECT_FALSE(sparse_grad(weight));
  autograd::zero_grad(weight, false);
  EXPECT_EQ(weight.grad().to_vector<float>(), std::vector<float>(6));
}

TEST(SparseEmbeddingGradients, RunTheHooksForAfter) {
  const Tensor weight = ones({3, 2}).requires_grad_();
  int count = 0;
  auto hook = weight.register_post_accumulate_grad_hook([&](const Tensor& leaf) {
    ++count;
    EXPECT_EQ(sparse_grad(leaf)->indices.numel(), 3);
  });
  const Tensor loss = sum(embedding(tensor({0, 1}), weight, {}, true)) +
                      sum(embedding(tensor({2}), weight, {}, true));
  loss.backward();
  EXPECT_EQ(count, 1);
}

TEST(SparseEmbeddingGradients, Refuse) {
  const Tensor weight = ones({3, 2}).requires_grad_(), rows = tensor({0, 1});
  EXPECT_EQ(error_of([&] { embedding(rows, weight * 2, {}, true); }),
            "embedding: a weight with a sparse gradient must be a leaf, got the result of mul");
  const Tensor loss = sum(embedding(rows, weight, {}, true));
  EXPECT_EQ(error_of([&] { loss.backward({}, true, true); }),
            "embedding: a sparse gradient has no gradient of its own, got create_graph");
  const char* wanted =
      "embedding: a sparse gradient is accumulated and no more: not for hooks, grad(), inputs by "
      "name and OrderedBackward, got one of [3,2]";
  EXPECT_EQ(error_of([&] { autograd::grad({loss}, {weight}, {}, {.retain_graph = true}); }),
            wanted);
  EXPECT_EQ(error_of([&] {
              autograd::backward({&loss, 1}, {}, {.retain_graph = true, .inputs = {&weight, 1}});
            }),
            wanted);
  EXPECT_EQ(error_of([&] {
              autograd::OrderedBackward passes;
              passes.backward(0, sum(embedding(rows, weight, {}, true)));
            }),
            wanted);
  {
    auto hook = weight.register_hook([](const Tensor& gradient) { return gradient; });
    EXPECT_EQ(error_of([&] { loss.backward({}, true); }), wanted);
    hook.remove();
  }
  EXPECT_FALSE(sparse_grad(weight));
  loss.backward();
  EXPECT_TRUE(sparse_grad(weight));
  // The gradient of a tensor beside the embedding's table is as ever.
  const Tensor x = ones({2, 2}).requires_grad_();
  const Tensor product = sum(embedding(rows, weight, {}, true) * x);
  EXPECT_EQ(autograd::grad({product}, {x})[0].to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));

  const auto set = [&](const Tensor& indices, const Tensor& values, const Shape& shape) {
    return error_of([&] { autograd::set_sparse_grad(weight, {indices, values, shape}); });
  };
  EXPECT_EQ(set(rows, ones({2, 2}), {3, 3}),
            "set_sparse_grad: the gradient must have the tensor's shape, got [3,3] for [3,2]");
  EXPECT_EQ(set(rows + 2, ones({2, 2}), {3, 2}),
            "set_sparse_grad: indices must be rows of the tensor, got 3 for [3,2]");
  EXPECT_EQ(set(rows, ones({3, 2}), {3, 2}),
            "set_sparse_grad: values must have a row an index, got [3,2] for [2,2]");
  EXPECT_EQ(set(rows.to(i32), ones({2, 2}), {3, 2}),
            "set_sparse_grad: indices must be (n) of i64, got i32 [2]");
  EXPECT_EQ(set(rows, ones({2, 2}, {.dtype = f64}), {3, 2}),
            "set_sparse_grad: the gradient must have the tensor's dtype, got f64 for f32");
  EXPECT_EQ(error_of([&] {
              autograd::set_sparse_grad(weight * 2, {rows, ones({2, 2}), {3, 2}});
            }),
            "set_sparse_grad: only a leaf has a sparse gradient, got [3,2]");
  EXPECT_EQ(error_of([&] {
              const autograd::DetectAnomaly detect;
              sum(embedding(rows, weight, {}, true) * std::nan("")).backward();
            }).substr(0, 41),
            "mul: a gradient must not be NaN, got inpu");
}

}  // namespace
