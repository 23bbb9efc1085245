// PyTorch's trajectories over 1,000 steps; tests/fixtures/make_optim.py says what runs.
#include <aorta/core/io/load_save.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>

#include <gtest/gtest.h>

#include <cmath>

#include "optimizers.h"

namespace aorta::optim {
namespace {

void follow(const std::string& name, const Make& make, const Tensor& expected, DType dtype) {
  const double tolerance = dtype == DType::f64 ? 1e-11 : 2e-5;
  const Problem problem(dtype);
  const auto optimizer = make(problem.groups());
  const std::vector<double> path = expected.to_vector<double>();
  size_t at = 0;
  for (int64_t t = 1; t <= 1000; ++t) {
    if (t == 300) {
      for (size_t g = 0; g < 2; ++g) optimizer->set_lr(0.5 * optimizer->lr(g), g);
    }
    problem.set_gradients(t);
    optimizer->step();
    if (t % 100 != 0) continue;
    for (double value : problem.values()) {
      ASSERT_NEAR(value, path[at], tolerance) << name << " at step " << t << ", number " << at % 17;
      ++at;
    }
  }
  EXPECT_EQ(at, path.size());
}

TEST(Trajectories, ArePyTorchs) {
  size_t count = 0;
  for (const auto& [key, expected] : load("tests/fixtures/optim/trajectories.npz")) {
    const std::string name = key.substr(0, key.size() - 4);
    ASSERT_TRUE(runs().contains(name)) << name;
    follow(key, runs().at(name), expected, key.ends_with("f64") ? DType::f64 : DType::f32);
    ++count;
  }
  EXPECT_EQ(count, 2 * runs().size());
}

}  // namespace
}  // namespace aorta::optim
