// Adafactor and Muon, whose rules see a parameter as a whole: their closed forms in long double,
// and a plain simulation with the mistakes that people make.
#include <aorta/optim/oracle_mistakes.h>

#include <algorithm>
#include <cmath>

namespace aorta::optim::oracle {
namespace matrix {
namespace {

using Real = long double;
using Reals = std::vector<Real>;

constexpr int64_t kSteps = 60;
constexpr int64_t kPulse = 12;

struct Part {
  size_t first, count, columns;  // columns 0: a vector
};
std::vector<Part> parts_of(const Problem& problem) {
  const size_t n = problem.size();
  if (problem.columns > 0) return {{0, n, problem.columns}};
  if (n == 1) return {{0, 1, 0}};
  return {{0, n - 1, 0}, {n - 1, 1, 0}};
}

Real root_mean_square(const Reals& x) {
  Real sum = 0;
  for (Real value : x) sum += value * value;
  return std::sqrt(sum / static_cast<Real>(x.size()));
}

// What a statistic of gradients is at step t when its terms are `early` up to the pulse and then
// `late`: s_t moves by t^beta2_decay, so that the early share is a product.
Real moved_share(const Rule& rule, int64_t t, int64_t pulse) {
  Real share = 1;
  for (int64_t k = pulse + 1; k <= t; ++k)
    share *= 1 - std::pow(static_cast<Real>(k), Real(rule.beta2_decay));
  return share;
}

// The average of squares of element (i, j) of a matrix, or of element j of a vector.
struct Squares {
  const Part& part;
  Reals early, late;  // gradients of the part
  Real share;         // of the early ones
  Real floor;         // eps1

  Real mixed(Real before, Real after) const { return after + share * (before - after); }
  Real mean_of(size_t first, size_t step, size_t count) const {
    Real before = 0, after = 0;
    for (size_t k = 0; k < count; ++k) {
      before += early[first + k * step] * early[first + k * step];
      after += late[first + k * step] * late[first + k * step];
    }
    return mixed(before, after) / static_cast<Real>(count);
  }
  Real at(size_t place) const {
    if (part.columns == 0) return mixed(early[place] * early[place], late[place] * late[place]);
    const size_t columns = part.columns, rows = part.count / columns;
    const Real row = mean_of(place / columns * columns, 1, columns);
    const Real column = mean_of(place % columns, columns, rows);
    return row * column / std::max(mean_of(0, 1, part.count), floor);
  }
};

// The step of a part, which stands at x.
Reals adafactor_step(const Rule& rule, const Problem& problem, const Part& part, int64_t t,
                     const Reals& x) {
  const Real sign = rule.maximize ? -1 : 1;
  const auto gradients = [&](int64_t step) {
    Reals g;
    for (size_t i = 0; i < part.count; ++i)
      g.push_back(sign * Real(problem.slope_at(step, part.first + i)));
    return g;
  };
  const int64_t pulse = std::min(problem.pulse, kSteps);
  const Squares squares{part, gradients(1), gradients(pulse + 1),
                        t <= pulse ? Real(1) : moved_share(rule, t, pulse), Real(rule.eps1)};
  Reals step = gradients(t);
  for (size_t i = 0; i < part.count; ++i) {
    const Real floor = Real(rule.eps1) * Real(rule.eps1);
    step[i] /= std::sqrt(std::max(squares.at(i), floor));
  }
  const Real lr = Real(rule.lr) * Real(problem.lr_factor_at(t));
  const Real relative = std::min(lr, 1 / std::sqrt(static_cast<Real>(t)));
  const Real size = std::max(Real(rule.eps), root_mean_square(x)) * relative /
                    std::max(Real(1), root_mean_square(step) / Real(rule.clip));
  for (size_t i = 0; i < part.count; ++i)
    step[i] = x[i] * (1 - lr * Real(rule.weight_decay)) - size * step[i];
  return step;
}

// For gradients whose elements off the diagonal are 0, the iteration is a polynomial of each
// singular value.
Reals muon_step(const Rule& rule, const Problem& problem, const Part& part, int64_t t,
                const Reals& x) {
  const Real mu = rule.momentum;
  const auto power = [](Real base, int64_t exponent) {
    return std::pow(base, static_cast<Real>(exponent));
  };
  const int64_t on = std::min(t, problem.pulse);
  Reals step(part.count);
  Real norm = 0;
  for (size_t i = 0; i < part.count; ++i) {
    const Real early = problem.slope_at(1, i), g = problem.slope_at(t, i);
    const Real late = t > problem.pulse ? g : Real(0);
    const Real average =
        early * power(mu, t - on) * (1 - power(mu, on)) + late * (1 - power(mu, t - on));
    step[i] = rule.nesterov ? g + mu * (average - g) : average;
    norm += step[i] * step[i];
  }
  norm = std::max(std::sqrt(norm), Real(rule.eps));
  const Real rows = static_cast<Real>(part.count / part.columns);
  const Real lr = Real(rule.lr) * Real(problem.lr_factor_at(t));
  const Real size = lr * Real(muon_adjustment(rule, static_cast<double>(rows),
                                              static_cast<double>(part.columns)));
  for (size_t i = 0; i < part.count; ++i) {
    Real s = step[i] / norm;
    for (int64_t k = 0; k < rule.iterations; ++k) {
      const Real square = s * s;
      s *= Real(rule.coefficients[0]) +
           square * (Real(rule.coefficients[1]) + square * Real(rule.coefficients[2]));
    }
    step[i] = x[i] * (1 - lr * Real(rule.weight_decay)) - size * s;
  }
  return step;
}

Trajectory trajectory_of(const Rule& rule, const Problem& problem) {
  Trajectory result{problem, {}};
  std::vector<Reals> at;
  for (const Part& part : parts_of(problem)) {
    at.emplace_back();
    for (size_t i = 0; i < part.count; ++i) at.back().push_back(problem.start[part.first + i]);
  }
  for (int64_t t = 1; t <= kSteps; ++t) {
    result.positions.emplace_back();
    for (size_t k = 0; k < at.size(); ++k) {
      const auto step = rule.kind == Kind::muon ? muon_step : adafactor_step;
      at[k] = step(rule, problem, parts_of(problem)[k], t, at[k]);
      for (Real value : at[k]) result.positions.back().push_back(static_cast<double>(value));
    }
  }
  return result;
}

// ---- The simulation.

struct Variant {
  Rule rule;
  bool absolute = false, uncapped = false, unclipped = false, size_after_decay = false;
  bool eps1_unsquared = false, unfactored = false, sums = false;
  bool decay_without_lr = false;
  bool unadjusted = false, accumulated = false;
};

using Numbers = std::vector<double>;

double size_of(const Numbers& x, double count) {
  double sum = 0;
  for (double value : x) sum += value * value;
  return std::sqrt(sum / count);
}

// One parameter.
struct Simulation {
  const Variant& v;
  Part part;
  Numbers rows, columns, average;

  void decay(Numbers& x, double lr) const {
    if (!v.rule.decoupled) return;
    for (double& value : x) value *= 1 - (v.decay_without_lr ? 1 : lr) * v.rule.weight_decay;
  }
  void step(Numbers& x, Numbers g, int64_t t, double lr) {
    const Rule& r = v.rule;
    for (size_t i = 0; i < g.size(); ++i) {
      if (r.maximize) g[i] = -g[i];
      if (!r.decoupled) g[i] += r.weight_decay * x[i];
    }
    if (r.kind == Kind::muon)
      muon(x, g, lr);
    else
      adafactor(x, g, static_cast<double>(t), lr);
  }

  void adafactor(Numbers& x, const Numbers& g, double t, double lr) {
    const Rule& r = v.rule;
    const double n = static_cast<double>(x.size()), share = std::pow(t, r.beta2_decay);
    const double before = size_of(x, n);
    decay(x, lr);
    const double relative = v.uncapped ? lr : std::min(lr, 1 / std::sqrt(t));
    const double size =
        v.absolute ? relative
                   : relative * std::max(r.eps, v.size_after_decay ? size_of(x, n) : before);
    Numbers update = squares(g, share);
    const double floor = v.eps1_unsquared ? r.eps1 : r.eps1 * r.eps1;
    for (size_t i = 0; i < g.size(); ++i) update[i] = g[i] / std::sqrt(std::max(update[i], floor));
    const double limit = v.unclipped ? 1 : std::max(1.0, size_of(update, n) / r.clip);
    for (size_t i = 0; i < g.size(); ++i) x[i] -= size / limit * update[i];
  }
  Numbers squares(const Numbers& g, double share) {
    const size_t n = g.size();
    average.resize(n);
    if (part.columns == 0 || v.unfactored) {
      for (size_t i = 0; i < n; ++i) average[i] += share * (g[i] * g[i] - average[i]);
      return average;
    }
    const size_t width = part.columns, height = n / width;
    rows.resize(height), columns.resize(width);
    Numbers of_rows(height), of_columns(width);
    for (size_t i = 0; i < n; ++i) {
      of_rows[i / width] += g[i] * g[i] / (v.sums ? 1 : static_cast<double>(width));
      of_columns[i % width] += g[i] * g[i] / (v.sums ? 1 : static_cast<double>(height));
    }
    double mean = 0;
    for (size_t i = 0; i < height; ++i) {
      rows[i] += share * (of_rows[i] - rows[i]);
      mean += rows[i] / static_cast<double>(height);
    }
    for (size_t j = 0; j < width; ++j) columns[j] += share * (of_columns[j] - columns[j]);
    Numbers all(n);
    for (size_t i = 0; i < n; ++i)
      all[i] = rows[i / width] * columns[i % width] / std::max(mean, v.rule.eps1);
    return all;
  }

  void muon(Numbers& x, const Numbers& g, double lr) {
    const Rule& r = v.rule;
    const double share = v.accumulated ? 1 : 1 - r.momentum;
    average.resize(g.size());
    Numbers update(g.size());
    for (size_t i = 0; i < g.size(); ++i) {
      average[i] = r.momentum * average[i] + share * g[i];
      update[i] = r.nesterov ? g[i] + r.momentum * (average[i] - g[i]) : average[i];
    }
    const double norm = std::max(size_of(update, 1), r.eps);
    for (double& s : update) {
      s /= norm;
      for (int64_t k = 0; k < r.iterations; ++k)
        s *= r.coefficients[0] + s * s * (r.coefficients[1] + s * s * r.coefficients[2]);
    }
    decay(x, lr);
    const double height = static_cast<double>(g.size() / part.columns);
    const double size =
        lr * (v.unadjusted ? 1 : muon_adjustment(r, height, static_cast<double>(part.columns)));
    for (size_t i = 0; i < g.size(); ++i) x[i] -= size * update[i];
  }
};

struct Mistake {
  const char* words;
  void (*make)(Variant& v);
};

constexpr Mistake kMistakes[] = {
    {"a step that isn't relative to the parameter's size", [](Variant& v) { v.absolute = true; }},
    {"a relative step above 1 / sqrt(t)", [](Variant& v) { v.uncapped = true; }},
    {"no clipping of the update", [](Variant& v) { v.unclipped = true; }},
    {"the parameter's size after its decay", [](Variant& v) { v.size_after_decay = true; }},
    {"eps1 not squared", [](Variant& v) { v.eps1_unsquared = true; }},
    {"no eps", [](Variant& v) { v.rule.eps = 0; }},
    {"squares not factored", [](Variant& v) { v.unfactored = true; }},
    {"sums of squares instead of means", [](Variant& v) { v.sums = true; }},
    {"the newest squares alone", [](Variant& v) { v.rule.beta2_decay = 0; }},
    {"no weight decay", [](Variant& v) { v.rule.weight_decay = 0; }},
    {"weight decay coupled instead of decoupled", [](Variant& v) { v.rule.decoupled = false; }},
    {"weight decay without the learning rate", [](Variant& v) { v.decay_without_lr = true; }},
    {"maximize the wrong way round", [](Variant& v) { v.rule.maximize = !v.rule.maximize; }},
    {"no momentum", [](Variant& v) { v.rule.momentum = 0; }},
    {"plain momentum instead of Nesterov's", [](Variant& v) { v.rule.nesterov = false; }},
    {"Nesterov's momentum instead of plain", [](Variant& v) { v.rule.nesterov = true; }},
    {"Nesterov's momentum of a sum instead of an average",
     [](Variant& v) { v.accumulated = true; }},
    {"no adjustment to the matrix's shape", [](Variant& v) { v.unadjusted = true; }},
    {"an iteration too few", [](Variant& v) { --v.rule.iterations; }},
    {"an iteration too many", [](Variant& v) { ++v.rule.iterations; }},
};

bool simulation_leads_to(const Variant& variant, const Problem& problem,
                         const std::vector<std::vector<double>>& positions) {
  for (const Part& part : parts_of(problem)) {
    Simulation simulation{variant, part, {}, {}, {}};
    const auto first = static_cast<int64_t>(part.first), count = static_cast<int64_t>(part.count);
    Numbers x(problem.start.begin() + first, problem.start.begin() + first + count);
    for (size_t k = 0; k < positions.size(); ++k) {
      const int64_t t = static_cast<int64_t>(k) + 1;
      Numbers g;
      for (size_t i = 0; i < part.count; ++i)
        g.push_back(problem.gradient(t, part.first + i, x[i]));
      simulation.step(x, g, t, variant.rule.lr * problem.lr_factor_at(t));
      for (size_t i = 0; i < part.count; ++i) {
        const double got = positions[k][part.first + i];
        if (!is_within(x[i], got, 1e-11)) return false;
      }
    }
  }
  return true;
}

}  // namespace
}  // namespace matrix

double muon_adjustment(const Rule& rule, double rows, double columns) {
  if (rule.adjust_lr == "match_rms_adamw") return 0.2 * std::sqrt(std::max(rows, columns));
  const double ratio = rows / columns;
  return std::sqrt(rule.adjust_lr == "original" ? std::max(1.0, ratio) : ratio);
}

std::vector<Trajectory> matrix_trajectories(const Rule& rule) {
  std::vector<Trajectory> all;
  const auto add = [&](Problem problem) {
    problem.curvature.assign(problem.start.size(), 0);
    all.push_back(matrix::trajectory_of(rule, problem));
  };
  for (const size_t columns : {2, 3}) {
    Problem problem{.name = columns == 2 ? "tall matrix" : "wide matrix",
                    .start = {1, -0.5, 2, 0.3, -1, 0.25},
                    .curvature = {},
                    .slope = {1, -0.25, 3, 0.01, 0.5, -2},
                    .pulse = matrix::kPulse,
                    .later = {0.5, 1, -0.125, 2, 0.25, -1},
                    .columns = columns};
    if (rule.kind == Kind::muon) {  // elements (0, 0) and (1, 1) alone
      problem.slope.assign(6, 0), problem.later.assign(6, 0);
      problem.slope[0] = 1, problem.slope[columns + 1] = -0.25;
      problem.later[0] = 0.5, problem.later[columns + 1] = 2;
    }
    add(problem);
    problem.name += ", lr halved";
    problem.lr_step = 20;
    problem.lr_factor = 0.5;
    add(problem);
  }
  if (rule.kind == Kind::muon) return all;
  Problem vectors{.name = "vectors",
                  .start = {1, -0.5, 2, 0.3},
                  .curvature = {},
                  .slope = {1, -0.25, 3, 0.01},
                  .pulse = matrix::kPulse,
                  .later = {0.5, 1, -0.125, 2}};
  add(vectors);
  vectors.later.clear();
  vectors.name = "vectors, gradient of 12 steps";
  add(vectors);
  return all;
}

std::string find_matrix_mistake(const Rule& rule, const Problem& problem,
                                const std::vector<std::vector<double>>& positions) {
  if (matrix::simulation_leads_to({rule}, problem, positions)) return "";
  for (const matrix::Mistake& mistake : matrix::kMistakes) {
    matrix::Variant variant{rule};
    mistake.make(variant);
    if (matrix::simulation_leads_to(variant, problem, positions)) return mistake.words;
  }
  return "";
}

}  // namespace aorta::optim::oracle
