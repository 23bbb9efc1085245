// A plain simulation of each rule with the mistakes that people make in it, to name the one that
// was made. What is right is not decided here: the closed forms do that.
#include <aorta/optim/oracle_mistakes.h>

#include <algorithm>
#include <cmath>

namespace aorta::optim::oracle {
namespace {

struct Variant {
  Rule rule;
  bool no_bias_correction = false, correction_late = false;
  bool eps_in_root = false, eps_before_correction = false, eps_outside_root = false;
  bool dampened_from_first = false, lr_inside = false;
  bool scaled_delta = false, decay_times_lr = false, decay_before_sign = false;
  bool max_of_corrected = false, late_lr_decay = false;
  bool always_rectified = false, never_rectified = false;
  bool steps_back = false, remembers_turn = false, sized_by_gradient = false;
  bool eta_early = false;
  bool every_row = false, own_steps = false, twice = false, once = false;
};

// One element.
struct Simulation {
  const Variant& v;
  double velocity = 0, first = 0, second = 0, largest = 0, product = 1, eta = 0;
  int64_t own = 0;  // steps of the element

  double ahead(double x) const {
    return v.rule.kind == Kind::sgd && v.rule.paper && v.rule.nesterov
               ? x - v.rule.momentum * velocity
               : x;
  }
  double decayed(double x, double g, double lr) const {
    const Rule& r = v.rule;
    const double decay = r.weight_decay * (v.decay_times_lr ? lr : 1);
    if (r.decoupled) return r.maximize ? -g : g;
    if (v.decay_before_sign) return r.maximize ? -(g + decay * x) : g + decay * x;
    return (r.maximize ? -g : g) + decay * x;
  }
  // `g` is the problem's gradient, taken at ahead(x).
  double step(double x, double g, int64_t step, double lr) {
    const Rule& r = v.rule;
    ++own;
    if (v.own_steps) step = own;
    g = decayed(ahead(x), g, lr);
    if (r.decoupled) x *= 1 - lr * r.weight_decay;
    const double t = static_cast<double>(v.correction_late ? step - 1 : step);
    switch (r.kind) {
      case Kind::sgd:
        return x - sgd(g, step, lr);
      case Kind::adagrad: {
        if (step == 1) second = r.accumulator;
        second += g * g;
        const double age = static_cast<double>(v.late_lr_decay ? step : step - 1);
        return x - lr / (1 + age * r.lr_decay) * g / root(second, r.paper);
      }
      case Kind::adadelta: {
        second = r.beta2 * second + (1 - r.beta2) * g * g;
        const double delta =
            root(first, !v.eps_outside_root) / root(second, !v.eps_outside_root) * g;
        const double kept = v.scaled_delta ? lr * delta : delta;
        first = r.beta2 * first + (1 - r.beta2) * kept * kept;
        return x - lr * delta;
      }
      case Kind::rmsprop: {
        second = r.beta2 * second + (1 - r.beta2) * g * g;
        first = r.beta2 * first + (1 - r.beta2) * g;
        const double square = r.centered ? second - first * first : second;
        velocity = r.momentum * velocity + (v.lr_inside ? lr : 1) * g / root(square, v.eps_in_root);
        return x - (v.lr_inside ? 1 : lr) * velocity;
      }
      case Kind::adamax:
        first = r.beta1 * first + (1 - r.beta1) * g;
        second = std::max(r.beta2 * second, std::fabs(g) + (v.eps_outside_root ? 0 : r.eps));
        return x - lr * first / corrected(r.beta1, t) / (second + (v.eps_outside_root ? r.eps : 0));
      case Kind::rprop:
        return x - rprop(g, step, lr);
      case Kind::asgd: {
        const double t_now = static_cast<double>(step);
        const auto fallen = [&](double t_eta) {
          return lr / std::pow(1 + r.lambd * lr * t_eta, r.alpha);
        };
        const double now = v.eta_early ? fallen(t_now) : step == 1 ? lr : eta;
        eta = fallen(t_now);
        return x * (1 - r.lambd * now) - now * g;
      }
      case Kind::radam:
        return x - radam(g, t, lr);
      default:
        break;
    }
    return adam(x, g, step, t, lr);
  }

  double sgd(double g, int64_t step, double lr) {
    const Rule& r = v.rule;
    if (r.momentum == 0) return lr * g;
    const double share = step == 1 && !v.dampened_from_first ? 1 : 1 - r.dampening;
    if (r.paper) return velocity = r.momentum * velocity + share * lr * g;
    velocity = r.momentum * velocity + share * g;
    return lr * (r.nesterov ? g + r.momentum * velocity : velocity);
  }
  // `first` is the gradient before, `second` the step size.
  double rprop(double g, int64_t step, double lr) {
    const Rule& r = v.rule;
    if (step == 1) second = lr;
    const double turn = g * first;
    if (turn != 0) second *= turn > 0 ? r.eta_plus : r.eta_minus;
    second = std::clamp(second, r.smallest, std::max(r.smallest, r.largest));
    const double before = g;
    if (turn < 0 && !v.steps_back) g = 0;
    first = v.remembers_turn ? before : g;
    if (g == 0) return 0;
    return v.sized_by_gradient ? second * g : std::copysign(second, g);
  }
  double radam(double g, double t, double lr) {
    const Rule& r = v.rule;
    first = r.beta1 * first + (1 - r.beta1) * g;
    second = r.beta2 * second + (1 - r.beta2) * g * g;
    const double power = std::pow(r.beta2, t), correction = 1 - power;
    const double length = 2 / (1 - r.beta2) - 1, now = length - 2 * t * power / correction;
    const double moment = first / corrected(r.beta1, t);
    if (v.never_rectified || (now <= 5 && !v.always_rectified)) return lr * moment;
    double known = std::sqrt((now - 4) * (now - 2) * length / ((length - 4) * (length - 2) * now));
    if (v.always_rectified) known = 1;
    const double divisor = v.eps_before_correction
                               ? std::sqrt(second / correction) + r.eps
                               : (std::sqrt(second) + r.eps) / std::sqrt(correction);
    return lr * known * moment / divisor;
  }
  double root(double square, bool inside) const {
    return inside ? std::sqrt(square + v.rule.eps) : std::sqrt(square) + v.rule.eps;
  }
  double corrected(double beta, double t) const {
    return v.no_bias_correction ? 1 : 1 - std::pow(beta, t);
  }
  double adam(double x, double g, int64_t step, double t, double lr) {
    const Rule& r = v.rule;
    first = r.beta1 * first + (1 - r.beta1) * g;
    second = r.beta2 * second + (1 - r.beta2) * g * g;
    const double correction = corrected(r.beta2, t);
    double square = second;
    if (r.amsgrad) {
      largest = std::max(largest, v.max_of_corrected ? second / correction : second);
      square = v.max_of_corrected ? largest * correction : largest;
    }
    const bool sparse = r.kind == Kind::sparse_adam;
    double divisor = std::sqrt(square / correction) + r.eps;
    if (v.eps_before_correction != sparse)
      divisor = (std::sqrt(square) + r.eps) / std::sqrt(correction);
    if (v.eps_in_root) divisor = std::sqrt(square / correction + r.eps);
    if (r.kind == Kind::adam || sparse) return x - lr * first / corrected(r.beta1, t) / divisor;
    const auto mu = [&](double k) {
      return r.beta1 * (1 - 0.5 * std::pow(0.96, k * r.momentum_decay));
    };
    const double k = static_cast<double>(step);
    product *= mu(k);
    return x -
           lr * (mu(k + 1) * first / (1 - product * mu(k + 1)) + (1 - mu(k)) * g / (1 - product)) /
               divisor;
  }
};

struct Mistake {
  const char* words;
  void (*make)(Variant& v);
};

constexpr Mistake kMistakes[] = {
    {"no bias correction", [](Variant& v) { v.no_bias_correction = true; }},
    {"the bias correction of the step before", [](Variant& v) { v.correction_late = true; }},
    {"eps inside the root", [](Variant& v) { v.eps_in_root = true; }},
    {"eps outside the root, or added to the maximum",
     [](Variant& v) { v.eps_outside_root = true; }},
    {"eps added before the bias correction, or after it",
     [](Variant& v) { v.eps_before_correction = true; }},
    {"no eps", [](Variant& v) { v.rule.eps = 0; }},
    {"no dampening", [](Variant& v) { v.rule.dampening = 0; }},
    {"dampening of the first step too", [](Variant& v) { v.dampened_from_first = true; }},
    {"no momentum", [](Variant& v) { v.rule.momentum = 0; }},
    {"plain momentum instead of Nesterov's", [](Variant& v) { v.rule.nesterov = false; }},
    {"Nesterov's momentum instead of plain", [](Variant& v) { v.rule.nesterov = true; }},
    {"the paper's rule instead of PyTorch's, or the other way round",
     [](Variant& v) { v.rule.paper = !v.rule.paper; }},
    {"the learning rate inside the velocity", [](Variant& v) { v.lr_inside = true; }},
    {"no weight decay", [](Variant& v) { v.rule.weight_decay = 0; }},
    {"weight decay coupled instead of decoupled, or the other way round",
     [](Variant& v) { v.rule.decoupled = !v.rule.decoupled; }},
    {"weight decay times the learning rate", [](Variant& v) { v.decay_times_lr = true; }},
    {"weight decay before the sign of maximize", [](Variant& v) { v.decay_before_sign = true; }},
    {"maximize the wrong way round", [](Variant& v) { v.rule.maximize = !v.rule.maximize; }},
    {"no amsgrad", [](Variant& v) { v.rule.amsgrad = false; }},
    {"amsgrad of the corrected average", [](Variant& v) { v.max_of_corrected = true; }},
    {"not centered", [](Variant& v) { v.rule.centered = false; }},
    {"no lr_decay", [](Variant& v) { v.rule.lr_decay = 0; }},
    {"lr_decay from the first step on", [](Variant& v) { v.late_lr_decay = true; }},
    {"no initial accumulator value", [](Variant& v) { v.rule.accumulator = 0; }},
    {"steps accumulated after the learning rate", [](Variant& v) { v.scaled_delta = true; }},
    {"no momentum decay", [](Variant& v) { v.rule.momentum_decay = 0; }},
    {"no rectification: Adam from the first step on",
     [](Variant& v) { v.always_rectified = true; }},
    {"never divided by the root", [](Variant& v) { v.never_rectified = true; }},
    {"a step back where the gradient turns", [](Variant& v) { v.steps_back = true; }},
    {"the gradient of a turn remembered", [](Variant& v) { v.remembers_turn = true; }},
    {"the size of the gradient counted", [](Variant& v) { v.sized_by_gradient = true; }},
    {"no step size but the first", [](Variant& v) { v.rule.eta_plus = v.rule.eta_minus = 1; }},
    {"no largest step size", [](Variant& v) { v.rule.largest = INFINITY; }},
    {"no fall of the learning rate", [](Variant& v) { v.rule.alpha = 0; }},
    {"the learning rate of the next step", [](Variant& v) { v.eta_early = true; }},
    {"moments of rows that aren't there moved too", [](Variant& v) { v.every_row = true; }},
    {"steps of each row counted for itself", [](Variant& v) { v.own_steps = true; }},
    {"a step for each time that a row comes", [](Variant& v) { v.twice = true; }},
    {"a row that comes twice taken once", [](Variant& v) { v.once = true; }},
    {"no decay lambd", [](Variant& v) { v.rule.lambd = 0; }},
    {"the first moment decayed by beta2 and the second by beta1",
     [](Variant& v) { std::swap(v.rule.beta1, v.rule.beta2); }},
};

bool leads_to(const Variant& variant, const Problem& problem,
              const std::vector<std::vector<double>>& positions) {
  for (size_t i = 0; i < problem.size(); ++i) {
    Simulation simulation{variant};
    double x = problem.start[i];
    for (size_t k = 0; k < positions.size(); ++k) {
      const int64_t step = static_cast<int64_t>(k) + 1;
      double g = problem.gradient(step, i, simulation.ahead(x));
      const double lr = variant.rule.lr * problem.lr_factor_at(step);
      const bool moves = problem.is_there(step, i) || variant.every_row;
      if (variant.twice || variant.once) g /= 2;
      if (moves && variant.twice) x = simulation.step(x, g, step, lr);
      if (moves) x = simulation.step(x, g, step, lr);
      const double got = positions[k][i];
      if (!is_within(x, got, 1e-11)) return false;
    }
  }
  return true;
}

}  // namespace

std::string find_mistake(const Rule& rule, const Problem& problem,
                         const std::vector<std::vector<double>>& positions) {
  if (rule.kind == Kind::adafactor || rule.kind == Kind::muon)
    return find_matrix_mistake(rule, problem, positions);
  if (rule.kind == Kind::lbfgs) return find_lbfgs_mistake(rule, problem, positions);
  if (leads_to({rule}, problem, positions)) return "";
  for (const Mistake& mistake : kMistakes) {
    Variant variant{rule};
    mistake.make(variant);
    if (leads_to(variant, problem, positions)) return mistake.words;
  }
  return "";
}

}  // namespace aorta::optim::oracle
