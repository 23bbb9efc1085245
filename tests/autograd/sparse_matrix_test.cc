#include <aorta/autograd/backward.h>
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/sparse.h>

#include <gtest/gtest.h>

namespace aorta {
namespace {

const Tensor& places() {
  static const Tensor all = tensor({{0, 2, 0, 1, 2}, {1, 0, 1, 3, 2}});
  return all;
}

SparseTensor matrix(const Tensor& values) {
  return sparse_coo_tensor(places(), values, Shape{3, 4});
}

TEST(SparseGradients, AreThoseOfDifferences) {
  manual_seed(4);
  const Tensor values = randn({5}, {.dtype = f64}).requires_grad_();
  const Tensor x = randn({4, 3}, {.dtype = f64}).requires_grad_();
  using Inputs = std::vector<Tensor>;
  EXPECT_GRADIENTS([](const Inputs& in) { return sparse::mm(matrix(in[0]), in[1]); }, {values, x});
  EXPECT_GRADIENTS([](const Inputs& in) { return matrix(in[0]).coalesce().values; }, {values});
  EXPECT_GRADIENTS([](const Inputs& in) { return matrix(in[0]).to_dense(); }, {values});
  EXPECT_GRADIENTS([](const Inputs& in) { return sparse::sum(matrix(in[0]), 1); }, {values});
  EXPECT_GRADIENTS([](const Inputs& in) { return sparse::softmax(matrix(in[0]), 1).values; },
                   {values});
  EXPECT_GRADIENTS([](const Inputs& in) { return to_sparse(in[0]).values; }, {x});
}

// Distances by a product against those of the differences themselves.
TEST(DistanceGradients, ByProductAndByDifferences) {
  manual_seed(5);
  const Tensor x = (randn({2, 30, 7}, {.dtype = f64}) + 100).requires_grad_();
  const Tensor y = (randn({28, 7}, {.dtype = f64}) + 100).requires_grad_();
  const Tensor g = randn({2, 30, 28}, {.dtype = f64});
  const auto both = [&](const char* mode) {
    const Tensor d = cdist(x, y, 2, mode);
    std::vector<Tensor> results = autograd::grad({d}, {x, y}, {g});
    results.push_back(d.detach());
    return results;
  };
  const std::vector<Tensor> exact = both("donot_use_mm_for_euclid_dist");
  for (const char* mode : {"use_mm_for_euclid_dist", "use_mm_for_euclid_dist_if_necessary"}) {
    const std::vector<Tensor> found = both(mode);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(allclose(found[i], exact[i], 1e-10, 1e-10)) << mode << " " << i;
      EXPECT_FALSE(equal(found[i], exact[i])) << "the mode does nothing";
    }
  }
}

// Equal rows have a distance of about 0, and no gradient from it that isn't a number.
TEST(DistanceGradients, OfEqualRowsAreNumbers) {
  const Tensor x = zeros({30, 3}).requires_grad_();
  const Tensor d = cdist(x, x);
  EXPECT_EQ(max(d).item<float>(), 0);
  sum(d).backward();
  EXPECT_EQ(max(abs(x.grad())).item<float>(), 0);
}

// x^3 is two products, with the gradients of a power.
TEST(PowerGradients, OfAThirdPower) {
  manual_seed(6);
  const Tensor x = randn({40}, {.dtype = f64}).requires_grad_();
  EXPECT_GRADIENTS([](const std::vector<Tensor>& in) { return pow(in[0], 3); }, {x});
  EXPECT_TRUE(allclose(pow(x, 3), pow(x, 3.0 + zeros_like(x)), 1e-15, 0));
  EXPECT_EQ(pow(tensor({-2.0f, 0.5f, -INFINITY}), 3).to_vector<float>(),
            (std::vector<float>{-8, 0.125f, -INFINITY}));
}

}  // namespace
}  // namespace aorta
