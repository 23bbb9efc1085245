#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/parallel_for.h>

#include <gtest/gtest.h>

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

}  // namespace
