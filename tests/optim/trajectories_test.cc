// PyTorch's trajectories over 1,000 steps; tests/fixtures/make_optim.py says what runs.
#include <aorta/core/io/load_save.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/optim/optimizers.h>

#include <gtest/gtest.h>

#include <cmath>

namespace aorta::optim {
namespace {

void follow(const std::string& name, const Make& make, const Tensor& expected, DType dtype,
            int64_t steps, const Shape& second) {
  const double tolerance = dtype == DType::f64 ? 1e-11 : 2e-5;
  const Problem problem(dtype, {}, second);
  const auto optimizer = make(problem.groups());
  const std::vector<double> path = expected.to_vector<double>();
  size_t at = 0;
  for (int64_t t = 1; t <= steps; ++t) {
    if (t == 300) {
      for (size_t g = 0; g < 2; ++g) optimizer->set_lr(0.5 * optimizer->lr(g), g);
    }
    problem.set_gradients(t);
    optimizer->step();
    if (t % 100 != 0) continue;
    for (double value : problem.values()) {
      ASSERT_NEAR(value, path[at], tolerance)
          << name << " at step " << t << ", number " << at % problem.values().size();
      ++at;
    }
  }
  EXPECT_EQ(at * 1000, path.size() * static_cast<size_t>(steps));
}

TEST(Trajectories, ArePyTorchs) {
  size_t count = 0;
  const std::string of_matrices = "matrix.";
  for (const auto& [key, expected] : load("tests/fixtures/optim/trajectories.npz")) {
    const bool matrices = key.starts_with(of_matrices);
    const size_t first = matrices ? of_matrices.size() : 0;
    const std::string name = key.substr(first, key.size() - 4 - first);
    const auto& list = matrices ? matrix_runs() : runs();
    ASSERT_TRUE(list.contains(name)) << name;
    const DType dtype = key.ends_with("f64") ? DType::f64 : DType::f32;
    // The iteration of Muon has a slope of 3.4445^5 at 0, so that rounding grows from step to step.
    const int64_t steps = name.starts_with("muon") ? 200 : 1000;
    follow(key, list.at(name), expected, dtype, steps, matrices ? Shape{2, 5} : Shape{5});
    ++count;
  }
  EXPECT_EQ(count, 2 * (runs().size() + matrix_runs().size()));
}

}  // namespace
}  // namespace aorta::optim
