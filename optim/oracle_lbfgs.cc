// L-BFGS with one direction a step and no search: its closed forms in long double, and a plain
// simulation, by the matrix of the inverse Hessian, with the mistakes that people make.
#include <aorta/optim/oracle_mistakes.h>

#include <algorithm>
#include <cmath>

namespace aorta::optim::oracle {
namespace lbfgs {
namespace {

using Real = long double;
using Reals = std::vector<Real>;

constexpr int64_t kSteps = 40;
constexpr int64_t kPulse = 12;

Real product(const Reals& a, const Reals& b) {
  Real sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
Real size_of(const Reals& x) {  // |x|_1
  Real sum = 0;
  for (Real value : x) sum += std::fabs(value);
  return sum;
}
Reals combined(Real a, const Reals& x, Real b, const Reals& y) {
  Reals result;
  for (size_t i = 0; i < x.size(); ++i) result.push_back(a * x[i] + b * y[i]);
  return result;
}
std::vector<double> rounded(const Reals& x) { return {x.begin(), x.end()}; }

Real lr_at(const Rule& rule, const Problem& problem, int64_t step) {
  return Real(rule.lr) * Real(problem.lr_factor_at(step));
}

// H g, with H the inverse Hessian of one pair: (I - s y'/c) h (I - y s'/c) + s s'/c, c = s.y,
// h = c / y.y.
Reals of_one_pair(const Reals& s, const Reals& y, const Reals& g) {
  const Real c = product(s, y), h = c / product(y, y);
  const Reals inner = combined(1, g, -product(s, g) / c, y);
  return combined(1, combined(h, inner, -h * product(y, inner) / c, s), product(s, g) / c, s);
}

// A gradient G that becomes G' after the pulse: only that step has a change of the gradient.
Trajectory of_slopes(const Rule& rule, const Problem& problem) {
  const Real sign = rule.maximize ? -1 : 1;
  const auto gradient = [&](int64_t step) {
    Reals g;
    for (size_t i = 0; i < problem.size(); ++i) g.push_back(sign * problem.slope_at(step, i));
    return g;
  };
  Trajectory result{problem, {}};
  Reals x(problem.start.begin(), problem.start.end());
  const Reals before = gradient(1), after = gradient(kSteps);
  const Reals y = combined(1, after, -1, before);
  const Reals s = combined(-lr_at(rule, problem, std::min(problem.pulse, kSteps)), before, 0, y);
  for (int64_t step = 1; step <= kSteps; ++step) {
    const Real first = step == 1 ? std::min(Real(1), 1 / size_of(before)) : 1;
    const Reals d = step > problem.pulse ? of_one_pair(s, y, after) : before;
    x = combined(1, x, -first * lr_at(rule, problem, step), d);
    result.positions.push_back(rounded(x));
  }
  return result;
}

// f = a |x|^2 / 2 + slope.x: the first pair gives H = I / a, so that each later step takes the
// distance e to the minimum times 1 - lr, until a tolerance ends it.
Trajectory of_one_curvature(const Rule& rule) {
  const double sign = rule.maximize ? -1 : 1, a = 0.8;
  Problem problem{.name = "one curvature",
                  .start = {1, -0.5, 2, 0.3},
                  .curvature = std::vector<double>(4, sign * a),
                  .slope = {sign, sign * -0.25, sign * 3, sign * 0.01}};
  Reals minimum, e;
  for (size_t i = 0; i < 4; ++i) {
    minimum.push_back(-Real(problem.slope[i]) / Real(problem.curvature[i]));
    e.push_back(Real(problem.start[i]) - minimum[i]);
  }
  Trajectory result{problem, {}};
  const Real lr = rule.lr, curvature = a;
  for (int64_t step = 1; step <= kSteps; ++step) {
    Real largest = 0;
    for (Real value : e) largest = std::max(largest, std::fabs(curvature * value));
    const Real scale = step == 1 ? curvature : 1;  // the first direction is the gradient itself
    const bool ends =
        largest <= rule.tolerance_grad || scale * curvature * product(e, e) < rule.tolerance_change;
    const Real first = step == 1 ? std::min(Real(1), 1 / (curvature * size_of(e))) : 1;
    if (!ends) e = combined(1 - lr * first * scale, e, 0, e);
    result.positions.push_back(rounded(combined(1, minimum, 1, e)));
  }
  return result;
}

struct Variant {
  Rule rule;
  bool whole_first = false, always_short = false, unscaled = false, inverted = false;
  bool forgets = false, swapped = false, one_sided = false;
};

struct Simulation {
  const Variant& v;
  size_t n;
  std::vector<Reals> ys = {}, ss = {};
  Reals before = {}, last = {};
  Real scale = 1;

  // The product with H of the first `count` pairs.
  Reals times(size_t count, const Reals& g) const {
    if (count == 0) return combined(scale, g, 0, g);
    const Reals &y = ys[count - 1], &s = ss[count - 1];
    const Real c = product(s, y);
    const Reals inner = times(count - 1, combined(1, g, -product(s, g) / c, y));
    if (v.one_sided) return inner;
    return combined(1, inner, (product(s, g) - product(y, inner)) / c, s);
  }
  Reals step(const Reals& g, int64_t number, Real lr) {
    if (number > 1 && !v.forgets) {
      Reals y = combined(1, g, -1, before), s = last;
      if (v.swapped) std::swap(y, s);
      const Real c = product(s, y);
      if (c > 1e-10L) {
        ys.push_back(y);
        ss.push_back(s);
        scale = v.unscaled ? 1 : v.inverted ? product(y, y) / c : c / product(y, y);
      }
    }
    before = g;
    const bool is_short = (number == 1 && !v.whole_first) || v.always_short;
    last = combined(-lr * (is_short ? std::min(Real(1), 1 / size_of(g)) : 1), times(ys.size(), g),
                    0, g);
    return last;
  }
};

struct Mistake {
  const char* words;
  void (*make)(Variant&);
};
const Mistake kMistakes[] = {
    {"maximize the wrong way round", [](Variant& v) { v.rule.maximize = !v.rule.maximize; }},
    {"the first step not shortened by 1 / |g|_1", [](Variant& v) { v.whole_first = true; }},
    {"every step shortened by 1 / |g|_1", [](Variant& v) { v.always_short = true; }},
    {"an inverse Hessian that starts from I", [](Variant& v) { v.unscaled = true; }},
    {"an inverse Hessian that starts from y.y / s.y", [](Variant& v) { v.inverted = true; }},
    {"no inverse Hessian, the gradient itself", [](Variant& v) { v.forgets = true; }},
    {"steps and changes of the gradient exchanged", [](Variant& v) { v.swapped = true; }},
    {"no second loop over the pairs", [](Variant& v) { v.one_sided = true; }},
};

// As far as no tolerance ends it: up to the first step that stays.
bool leads_to(const Variant& variant, const Problem& problem,
              const std::vector<std::vector<double>>& positions) {
  Simulation simulation{variant, problem.size()};
  Reals x(problem.start.begin(), problem.start.end());
  for (size_t k = 0; k < positions.size(); ++k) {
    if (k > 0 && positions[k] == positions[k - 1]) return true;
    const int64_t step = static_cast<int64_t>(k) + 1;
    Reals g;
    for (size_t i = 0; i < x.size(); ++i) {
      const Real slope = problem.slope_at(step, i), curvature = problem.curvature[i];
      g.push_back((variant.rule.maximize ? -1 : 1) * (curvature * x[i] + slope));
    }
    x = combined(1, x, 1, simulation.step(g, step, lr_at(variant.rule, problem, step)));
    for (size_t i = 0; i < x.size(); ++i) {
      const Real got = positions[k][i];
      if (!is_within(x[i], got, Real(1e-9L))) return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace lbfgs

std::vector<Trajectory> lbfgs_trajectories(const Rule& rule) {
  Problem problem{.name = "constant gradient",
                  .start = {1, -0.5, 2, 0.3},
                  .curvature = std::vector<double>(4),
                  .slope = {1, -0.25, 3, 0.01}};
  std::vector<Trajectory> all = {lbfgs::of_slopes(rule, problem)};
  problem.name = "lr halved after step 20";
  problem.lr_step = 20;
  problem.lr_factor = 0.5;
  all.push_back(lbfgs::of_slopes(rule, problem));
  problem.name = "gradient that changes after 12 steps";
  problem.lr_step = Problem::kNever;
  problem.pulse = lbfgs::kPulse;
  problem.later = {0.5, 0.75, -1, 0.25};
  all.push_back(lbfgs::of_slopes(rule, problem));
  all.push_back(lbfgs::of_one_curvature(rule));
  return all;
}

std::string find_lbfgs_mistake(const Rule& rule, const Problem& problem,
                               const std::vector<std::vector<double>>& positions) {
  if (lbfgs::leads_to({rule}, problem, positions)) return "";
  for (const lbfgs::Mistake& mistake : lbfgs::kMistakes) {
    lbfgs::Variant variant{rule};
    mistake.make(variant);
    if (lbfgs::leads_to(variant, problem, positions)) return mistake.words;
  }
  return "";
}

}  // namespace aorta::optim::oracle
