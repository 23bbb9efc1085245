// The harness: runs an optimizer on a problem and says what is wrong.
#include <aorta/optim/oracle.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/optim/oracle_mistakes.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace aorta::optim::oracle {
namespace {

std::string text(double value) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.17g", value);
  return buffer;
}
std::string brief(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.3g", value);
  return buffer;
}

// The elements of a problem as two parameters, the last one alone in the second.
class Elements {
 public:
  Elements(const Problem& problem, Device device) : problem_(problem), device_(device) {
    const size_t n = problem.size();
    check(n >= 1 && problem.curvature.size() == n && problem.slope.size() == n, "oracle",
          "a problem must have a start, a curvature and a slope for each element", n, ", ",
          problem.curvature.size(), " and ", problem.slope.size());
    split_ = n > 1 && problem.columns == 0 ? n - 1 : n;
    for (const auto& [first, end] : parts()) {
      parameters_.push_back(part(problem.start, first, end).requires_grad_());
    }
  }

  const std::vector<Tensor>& parameters() const { return parameters_; }
  std::vector<double> values(bool gradients) const {
    std::vector<double> all;
    for (const Tensor& parameter : parameters_) {
      const auto sparse = autograd::sparse_grad(parameter);
      const Tensor tensor = !gradients ? parameter.detach()
                            : sparse   ? sparse->to_dense()
                                       : parameter.grad();
      for (double value : tensor.to_vector<double>()) all.push_back(value);
    }
    return all;
  }
  // Through autograd; returns the loss.
  Tensor compute_gradients(int64_t step) const {
    std::vector<double> slopes;
    for (size_t i = 0; i < problem_.size(); ++i) slopes.push_back(problem_.slope_at(step, i));
    size_t k = 0;
    Tensor loss = zeros({}, {.dtype = DType::f64, .device = device_});
    const EnableGradGuard recording;
    for (const auto& [first, end] : parts()) {
      const Tensor& x = parameters_[k++];
      if (!problem_.period.empty()) {
        loss = loss + of_rows(x, slopes, step);
        continue;
      }
      loss = loss + sum(part(problem_.curvature, first, end) * square(x) * 0.5 +
                        part(slopes, first, end) * x);
    }
    loss.backward();
    return loss;
  }

 private:
  // The loss of the rows that are there, each of which comes twice, with half of it.
  Tensor of_rows(const Tensor& x, const std::vector<double>& slopes, int64_t step) const {
    std::vector<int64_t> there;
    for (size_t i = 0; i < 2 * problem_.size(); ++i) {
      const size_t row = i % problem_.size();
      if (problem_.is_there(step, row)) there.push_back(static_cast<int64_t>(row));
    }
    const Tensor rows = tensor(there).to(device_);
    const auto of = [&](const std::vector<double>& values) {
      return embedding(rows, part(values, 0, values.size()));
    };
    const Tensor y = embedding(rows, x, {}, true);
    return 0.5 * sum(of(problem_.curvature) * square(y) * 0.5 + of(slopes) * y);
  }
  std::vector<std::pair<size_t, size_t>> parts() const {
    if (split_ == problem_.size()) return {{0, split_}};
    return {{0, split_}, {split_, problem_.size()}};
  }
  Tensor part(const std::vector<double>& values, size_t first, size_t end) const {
    const Tensor all = tensor(std::vector<double>(values.begin() + static_cast<int64_t>(first),
                                                  values.begin() + static_cast<int64_t>(end)))
                           .to(device_);
    return problem_.columns == 0 ? all : all.view({-1, static_cast<int64_t>(problem_.columns)});
  }

  const Problem& problem_;
  const Device device_;
  size_t split_ = 0;
  std::vector<Tensor> parameters_;
};

// The first position that is wrong, in words; all that the optimizer reached.
struct Run {
  std::string wrong;
  std::vector<std::vector<double>> positions;
};

std::string wrong_position(int64_t step, size_t i, double expected, double got, double tolerance) {
  return "step " + std::to_string(step) + ", element " + std::to_string(i) + ": expected " +
         text(expected) + ", got " + text(got) + " (off by " + brief(std::fabs(got - expected)) +
         ", tolerance " + brief(tolerance) + ")";
}

std::string wrong_gradient(const Problem& problem, int64_t step, const std::vector<double>& x,
                           const std::vector<double>& gradients) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = problem.gradient(step, i, x[i]);
    if (is_within(gradients[i], expected, 1e-14)) continue;
    return "step " + std::to_string(step) + ", element " + std::to_string(i) + ": gradient " +
           text(gradients[i]) + " from autograd, " + text(expected) + " analytic";
  }
  return "";
}

Run run(const MakeOptimizer& make, const Trajectory& trajectory, double tolerance, Device device) {
  const Problem& problem = trajectory.problem;
  const Elements elements(problem, device);
  const auto optimizer = make(elements.parameters());
  check(optimizer != nullptr, "oracle", "the maker must make an optimizer", "none");
  Run result;
  for (size_t k = 0; k < trajectory.positions.size(); ++k) {
    const int64_t step = static_cast<int64_t>(k) + 1;
    if (step - 1 == problem.lr_step) {
      if (!optimizer->fields(0).find<double>("lr")) {
        result.wrong = "step " + std::to_string(step) + ": there is no field \"lr\" to change";
        return result;
      }
      for (size_t g = 0; g < optimizer->group_count(); ++g)
        optimizer->set_lr(optimizer->lr(g) * problem.lr_factor, g);
    }
    optimizer->step([&] {
      optimizer->zero_grad();
      const std::vector<double> at = elements.values(false);
      const Tensor loss = elements.compute_gradients(step);
      if (result.wrong.empty())
        result.wrong = wrong_gradient(problem, step, at, elements.values(true));
      return loss;
    });
    result.positions.push_back(elements.values(false));
    const std::vector<double>& expected = trajectory.positions[k];
    check(expected.size() == problem.size(), "oracle",
          "a position must have a number for each element", expected.size(), " for ",
          problem.size());
    for (size_t i = 0; i < expected.size() && result.wrong.empty(); ++i) {
      const double got = result.positions[k][i];
      const double allowed = tolerance * std::max(1.0, std::fabs(expected[i]));
      if (!is_within(got, expected[i], tolerance))
        result.wrong = wrong_position(step, i, expected[i], got, allowed);
    }
  }
  return result;
}

// ---- Conduct.

struct Pair {
  Tensor first, second;  // (3, 2) and (4)
};

Pair make_pair(Device device) {
  const TensorOptions options{.dtype = DType::f64, .device = device};
  return {tensor({{0.5, -1.0}, {2.0, 0.25}, {-0.75, 1.5}}, options).requires_grad_(),
          tensor({1.0, -2.0, 0.125, 3.0}, options).requires_grad_()};
}
// A gradient that depends on the step and the place.
Tensor gradient_of(const Tensor& parameter, int64_t step) {
  std::vector<double> values = parameter.detach().to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = 0.3 * values[i] + std::sin(static_cast<double>(step) + static_cast<double>(2 * i));
  return tensor(values, parameter.shape()).to(parameter.device());
}

// Gives the parameter a gradient of the kind that the optimizer takes; returns its elements.
Tensor give(const Optimizer& optimizer, const Tensor& parameter, const Tensor& gradient) {
  if (optimizer.gradient_kinds(0) != GradientKinds::sparse) {
    parameter.set_grad(gradient);
    return gradient;
  }
  // Two rows, the last one twice.
  const Tensor rows = tensor({2, 0, 2}).to(parameter.device());
  const Tensor values = index_select(gradient, 0, rows);
  autograd::set_sparse_grad(parameter, {rows, values, parameter.shape()});
  return values;
}

void take_step(Optimizer& optimizer, const std::vector<Tensor>& parameters, int64_t step) {
  optimizer.look_ahead();
  for (const Tensor& parameter : parameters)
    give(optimizer, parameter, gradient_of(parameter, step));
  optimizer.step();
}

bool has_gradient(const Tensor& parameter) {
  return autograd::sparse_grad(parameter) || parameter.grad().defined();
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const auto x = a.detach().to_vector<double>(), y = b.detach().to_vector<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] == y[i]) && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
  }
  return x.size() == y.size();
}

std::string find_gradient_misuse(const MakeOptimizer& make, Device device) {
  const Pair p = make_pair(device);
  const auto optimizer = make({p.first, p.second});
  for (int64_t step = 1; step <= 3; ++step) {
    optimizer->look_ahead();
    const Tensor gradient = give(*optimizer, p.first, gradient_of(p.first, step));
    const Tensor before = gradient.clone();
    give(*optimizer, p.second, gradient_of(p.second, step));
    const uint32_t version = p.first.version();
    optimizer->step();
    if (!same_bits(gradient, before) || !has_gradient(p.first))
      return "step " + std::to_string(step) + " wrote the gradient, which it may only read";
    if (p.first.version() == version) {
      return "step " + std::to_string(step) +
             " didn't bump the parameter's version: a graph that needs its old values won't know";
    }
  }
  optimizer->zero_grad();
  if (has_gradient(p.first) || has_gradient(p.second)) return "zero_grad() left a gradient";
  return "";
}

std::string find_missing_misuse(const MakeOptimizer& make, Device device) {
  const Pair p = make_pair(device), fresh = make_pair(device);
  const auto optimizer = make({p.first, p.second});
  const Tensor before = p.second.detach().clone();
  for (int64_t step = 1; step <= 3; ++step) take_step(*optimizer, {p.first}, step);
  if (!same_bits(p.second, before)) return "a parameter without a gradient moved";
  p.first.set_grad({});
  take_step(*optimizer, {p.second}, 4);
  const auto other = make({fresh.first, fresh.second});
  take_step(*other, {fresh.second}, 4);
  if (!same_bits(p.second, fresh.second)) {
    return "the first gradient of a parameter after three steps without one isn't taken as a first "
           "step: steps without a gradient must not count";
  }
  return "";
}

std::string find_state_misuse(const MakeOptimizer& make, Device device) {
  const Pair p = make_pair(device), q = make_pair(device);
  const auto optimizer = make({p.first, p.second});
  for (int64_t step = 1; step <= 4; ++step) take_step(*optimizer, {p.first, p.second}, step);
  const auto other = make({q.first, q.second});
  {
    const NoGradGuard no_grad;
    q.first.copy_(p.first);
    q.second.copy_(p.second);
  }
  other->restore(optimizer->state());
  for (int64_t step = 5; step <= 8; ++step) {
    take_step(*optimizer, {p.first, p.second}, step);
    take_step(*other, {q.first, q.second}, step);
    if (!same_bits(p.first, q.first) || !same_bits(p.second, q.second)) {
      return "state() after step 4, restored into a new optimizer, goes another way at step " +
             std::to_string(step) + ": the state doesn't hold everything";
    }
  }
  return "";
}

}  // namespace

Result check_trajectory(const MakeOptimizer& make, const Trajectory& trajectory, double tolerance,
                        Device device) {
  const Run got = run(make, trajectory, tolerance, device);
  if (got.wrong.empty()) return {};
  return {"the optimizer leaves the trajectory \"" + trajectory.problem.name + "\" at " +
          got.wrong};
}

Result check_rule(const MakeOptimizer& make, const Rule& rule, double tolerance, Device device) {
  for (const Trajectory& trajectory : trajectories(rule)) {
    const Run got = run(make, trajectory, tolerance, device);
    if (got.wrong.empty()) continue;
    const std::string mistake = find_mistake(rule, trajectory.problem, got.positions);
    return {"the optimizer doesn't follow " + rule.name + " on the problem \"" +
            trajectory.problem.name + "\": " + got.wrong +
            (mistake.empty() ? "" : "; it moves as with this mistake: " + mistake)};
  }
  return {};
}

Result check_conduct(const MakeOptimizer& make, Device device) {
  for (const auto find : {find_gradient_misuse, find_missing_misuse, find_state_misuse}) {
    const std::string wrong = find(make, device);
    if (!wrong.empty()) return {wrong};
  }
  return {};
}

}  // namespace aorta::optim::oracle
