// The closed forms. Everything is long double, so that what is compared is the optimizer's
// rounding.
#include <aorta/optim/oracle.h>

#include <aorta/optim/oracle_mistakes.h>

#include <algorithm>
#include <cmath>
#include <complex>

namespace aorta::optim::oracle {
namespace {

using Real = long double;
using Complex = std::complex<Real>;

constexpr int64_t kSteps = 60;

// The gradients that the rule sees, and the elements' starts.
constexpr double kGradients[] = {1, -0.25, 3, 0.01};
constexpr double kStarts[] = {1, -0.5, 2, 0.3};
// Learning rate times curvature, of quadratics: 2^-t without momentum; real and complex roots.
constexpr double kSlopes[] = {0.5, 0.001, 0.05, 0.9};

template <class T>
T power(T base, int64_t exponent) {
  T result(1);
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) result *= base;
  }
  return result;
}

// What a running average of `beta` makes of a gradient of 1 that stops after `pulse` steps.
Real average(Real beta, int64_t step, int64_t pulse) {
  const int64_t on = std::min(step, pulse);
  return power(beta, step - on) * (1 - power(beta, on));
}
// 1 + beta + ... + beta^(count - 1)
Real geometric(Real beta, int64_t count) {
  return beta == 1 ? static_cast<Real>(count) : (1 - power(beta, count)) / (1 - beta);
}

struct Forms {
  const Rule& rule;
  const Problem& problem;
  Real gradient;  // that the rule sees while the pulse lasts
  int64_t period = 1;

  int64_t on(int64_t step) const { return std::min(step, problem.pulse); }
  bool is_on(int64_t step) const { return step <= problem.pulse; }
  Real lr(int64_t step) const { return Real(rule.lr) * Real(problem.lr_factor_at(step)); }

  // What is subtracted in a step.
  Real decrement(int64_t t) const {
    switch (rule.kind) {
      case Kind::sgd:
        return sgd(t);
      case Kind::adagrad:
        return adagrad(t);
      case Kind::adadelta:
        return adadelta(t);
      case Kind::rmsprop:
        return rmsprop(t);
      case Kind::adam:
        return adam(t);
      case Kind::sparse_adam:
        return sparse_adam(t);
      case Kind::adamax:
        return adamax(t);
      case Kind::radam:
        return radam(t);
      case Kind::rprop:
        return rprop(t);
      case Kind::asgd:
        return is_on(t) ? eta(t) * gradient : Real(0);
      default:
        break;
    }
    return nadam(t);
  }
  // By what a step decays the parameter before.
  Real decay(int64_t t) const {
    if (rule.kind == Kind::asgd) return eta(t) * Real(rule.lambd);
    return rule.decoupled ? lr(t) * Real(rule.weight_decay) : Real(0);
  }

  // The velocity: a geometric sum, dampened but for its first term.
  Real velocity(int64_t t) const {
    const Real mu = rule.momentum;
    const int64_t k = on(t);
    return gradient * power(mu, t - k) *
           (power(mu, k - 1) + (1 - Real(rule.dampening)) * geometric(mu, k - 1));
  }
  Real sgd(int64_t t) const {
    const Real g = is_on(t) ? gradient : Real(0);
    if (rule.momentum == 0) return lr(t) * g;
    if (!rule.paper)
      return lr(t) * (rule.nesterov ? g + Real(rule.momentum) * velocity(t) : velocity(t));
    // v_t = sum over k of mu^(t - k) alpha_k g_k: a geometric sum for each learning rate.
    const Real mu = rule.momentum;
    const int64_t k = on(t), early = std::min(k, problem.lr_step);
    return gradient * power(mu, t - k) *
           (lr(1) * power(mu, k - early) * geometric(mu, early) + lr(k) * geometric(mu, k - early));
  }

  Real adagrad(int64_t t) const {
    if (!is_on(t)) return 0;
    const Real sum = Real(rule.accumulator) + static_cast<Real>(t) * gradient * gradient;
    const Real root =
        rule.paper ? std::sqrt(sum + Real(rule.eps)) : std::sqrt(sum) + Real(rule.eps);
    return lr(t) / (1 + static_cast<Real>(t - 1) * Real(rule.lr_decay)) * gradient / root;
  }

  // w = u + eps follows w_t = w_{t-1} (rho + (1 - rho) q_t) + eps (1 - rho), q_t = g^2 / (v_t +
  // eps): linear, so w is a sum of products.
  Real adadelta(int64_t t) const {
    if (!is_on(t)) return 0;
    const Real rho = rule.beta2, eps = rule.eps, squared = gradient * gradient;
    const auto ratio = [&](int64_t k) { return squared / (squared * (1 - power(rho, k)) + eps); };
    Real w = eps;
    for (int64_t k = 1; k < t; ++k) w = w * (rho + (1 - rho) * ratio(k)) + eps * (1 - rho);
    return lr(t) * std::copysign(std::sqrt(w * ratio(t)), gradient);
  }

  Real rmsprop(int64_t t) const {
    const auto step = [&](int64_t k) {
      const Real alpha_k = power(Real(rule.beta2), k);
      const Real square = rule.centered ? alpha_k * (1 - alpha_k) : 1 - alpha_k;
      return gradient / (std::fabs(gradient) * std::sqrt(square) + Real(rule.eps));
    };
    if (rule.momentum == 0) return is_on(t) ? lr(t) * step(t) : Real(0);
    Real velocity = 0;
    for (int64_t k = 1; k <= on(t); ++k) velocity += power(Real(rule.momentum), t - k) * step(k);
    return lr(t) * velocity;
  }

  // The root of the bias-corrected second moment, and eps.
  Real adam_root(int64_t t) const {
    const Real beta = rule.beta2;
    const Real square =
        rule.amsgrad ? average(beta, on(t), problem.pulse) : average(beta, t, problem.pulse);
    return std::fabs(gradient) * std::sqrt(square / (1 - power(beta, t))) + Real(rule.eps);
  }
  Real adam(int64_t t) const {
    const Real beta = rule.beta1;
    const Real moment = gradient * average(beta, t, problem.pulse) / (1 - power(beta, t));
    return lr(t) * moment / adam_root(t);
  }
  // Moments of the steps that the row was in, corrected by all.
  Real sparse_adam(int64_t t) const {
    if (t % period != 0) return 0;
    const int64_t pulse = problem.pulse / period;
    const Real moment = gradient * average(rule.beta1, t / period, pulse);
    const Real root = std::fabs(gradient) * std::sqrt(average(rule.beta2, t / period, pulse));
    return lr(t) * std::sqrt(1 - power(Real(rule.beta2), t)) / (1 - power(Real(rule.beta1), t)) *
           moment / (root + Real(rule.eps));
  }
  Real adamax(int64_t t) const {
    const Real beta = rule.beta1, eps = rule.eps;
    const Real moment = gradient * average(beta, t, problem.pulse) / (1 - power(beta, t));
    const Real largest =
        std::max(power(Real(rule.beta2), t - on(t)) * (std::fabs(gradient) + eps), eps);
    return lr(t) * moment / largest;
  }
  Real nadam(int64_t t) const {
    const auto mu = [&](int64_t k) {
      return Real(rule.beta1) *
             (1 -
              Real(0.5) * std::pow(Real(0.96), static_cast<Real>(k) * Real(rule.momentum_decay)));
    };
    Real product = 1;
    for (int64_t k = 1; k <= t; ++k) product *= mu(k);
    const Real moment = gradient * average(rule.beta1, t, problem.pulse);
    const Real g = is_on(t) ? gradient : Real(0);
    return lr(t) *
           (mu(t + 1) * moment / (1 - product * mu(t + 1)) + (1 - mu(t)) * g / (1 - product)) /
           adam_root(t);
  }
  // The step isn't divided by the root while the length of its average is at most 5.
  Real radam(int64_t t) const {
    const Real beta = rule.beta2, correction = 1 - power(beta, t);
    const Real length = 2 / (1 - beta) - 1;
    const Real now = length - 2 * static_cast<Real>(t) * power(beta, t) / correction;
    const Real moment =
        gradient * average(rule.beta1, t, problem.pulse) / (1 - power(Real(rule.beta1), t));
    if (now <= 5) return lr(t) * moment;
    const Real known =
        std::sqrt((now - 4) * (now - 2) * length / ((length - 4) * (length - 2) * now));
    const Real root =
        std::fabs(gradient) * std::sqrt(average(beta, t, problem.pulse)) + Real(rule.eps);
    return lr(t) * known * moment * std::sqrt(correction) / root;
  }
  // The gradient never turns, so that the step size is a power until it is the largest.
  Real rprop(int64_t t) const {
    if (!is_on(t)) return 0;
    Real size = rule.lr;
    if (t > 1) size *= power(Real(rule.eta_plus), t - 1);
    size = std::clamp(size, Real(rule.smallest), Real(rule.largest));
    return std::copysign(size, gradient);
  }
  // The learning rate, from that of the step before.
  Real eta(int64_t t) const {
    if (t == 1) return lr(1);
    const Real before = lr(t - 1);
    return before /
           std::pow(1 + Real(rule.lambd) * before * static_cast<Real>(t - 1), Real(rule.alpha));
  }
};

// How many gradients show the rule: of a centered RMSprop's variance, alpha^t (1 - alpha^t) of the
// squared gradient, rounding takes more the smaller alpha^t is, and above 1e-3 no 1e-12.
int64_t telling_steps(const Rule& rule) {
  if (!rule.centered) return kSteps;
  int64_t t = 1;
  while (t < kSteps && power(Real(rule.beta2), t + 1) > Real(1e-3)) ++t;
  return t;
}

// The start, shrunk by decoupled decay, less each step's decrement, shrunk since.
Trajectory follow(const Rule& rule, Problem problem, int64_t steps = kSteps) {
  const size_t n = std::size(kGradients);
  const double sign = rule.maximize ? -1 : 1;
  const double taken_back = rule.decoupled ? 0 : rule.weight_decay;
  problem.start.assign(std::begin(kStarts), std::end(kStarts));
  for (double g : kGradients) {
    problem.slope.push_back(sign * g);
    problem.curvature.push_back(-sign * taken_back);
  }
  Trajectory result{problem, {}};
  std::vector<Real> x(problem.start.begin(), problem.start.end());
  for (int64_t t = 1; t <= steps; ++t) {
    result.positions.emplace_back();
    for (size_t i = 0; i < n; ++i) {
      const Forms forms{rule, problem, Real(kGradients[i]),
                        problem.period.empty() ? 1 : problem.period[i]};
      x[i] *= 1 - forms.decay(t);
      x[i] -= forms.decrement(t);
      result.positions.back().push_back(static_cast<double>(x[i]));
    }
  }
  return result;
}

// x_{t+1} = p x_t + q x_{t-1}, from x_0 and x_1: powers of the roots of r^2 = p r + q.
Real recurrence(Real p, Real q, Real x0, Real x1, int64_t t) {
  if (t == 0) return x0;
  const Complex root = std::sqrt(Complex(p * p + 4 * q));
  const Complex high = (p + root) / Real(2), low = (p - root) / Real(2);
  const auto chain = [&](int64_t k) -> Complex {  // (high^k - low^k) / (high - low)
    if (std::abs(root) < Real(1e-12)) return static_cast<Real>(k) * power(high, k - 1);
    return (power(high, k) - power(low, k)) / root;
  };
  const Complex before = t == 1 ? Complex(0) : chain(t - 1);
  return (x1 * chain(t) + q * x0 * before).real();
}

// SGD on a x^2 / 2, h = lr (a + weight decay).
Trajectory quadratic(const Rule& rule) {
  const double sign = rule.maximize ? -1 : 1;
  Problem problem{.name = "quadratic", .start = {}, .curvature = {}, .slope = {}};
  problem.start.assign(std::begin(kStarts), std::end(kStarts));
  problem.slope.assign(problem.start.size(), 0);
  for (double h : kSlopes) problem.curvature.push_back(sign * (h / rule.lr - rule.weight_decay));
  Trajectory result{problem, {}};
  const Real mu = rule.momentum, tau = rule.momentum == 0 ? 0 : rule.dampening;
  for (int64_t t = 1; t <= kSteps; ++t) {
    result.positions.emplace_back();
    for (size_t i = 0; i < problem.size(); ++i) {
      const Real x0 = problem.start[i];
      // From the very numbers that the optimizer gets.
      const Real h = Real(rule.lr) * (sign * Real(problem.curvature[i]) + Real(rule.weight_decay));
      Real p = 1 + mu - (1 - tau) * h, q = -mu, x1 = (1 - h) * x0;
      if (rule.nesterov) {
        p = (1 + mu) * (1 - h);
        q = -mu * (1 - h);
        if (!rule.paper) x1 = (1 - h * (1 + mu)) * x0;
      }
      result.positions.back().push_back(static_cast<double>(recurrence(p, q, x0, x1, t)));
    }
  }
  return result;
}

// Rprop on x^2 / 2, whose gradient turns where x does: legs of one sign, whose step sizes are
// powers of eta+; a turn costs a step in which x stands, and the leg back begins with its step size
// times eta-.
Trajectory turns(const Rule& rule) {
  const double sign = rule.maximize ? -1 : 1;
  Problem problem{.name = "quadratic", .start = {}, .curvature = {}, .slope = {}};
  problem.start.assign(std::begin(kStarts), std::end(kStarts));
  problem.slope.assign(problem.start.size(), 0);
  problem.curvature.assign(problem.start.size(), sign);
  Trajectory result{problem, std::vector<std::vector<double>>(kSteps)};
  for (size_t i = 0; i < problem.size(); ++i) {
    Real start = problem.start[i], first = rule.lr;  // of the leg
    const auto size = [&](int64_t step) {
      return std::min(first * power(Real(rule.eta_plus), step - 1), Real(rule.largest));
    };
    const auto sum = [&](int64_t steps) {
      Real way = 0;
      for (int64_t step = 1; step <= steps; ++step) way += size(step);
      return way;
    };
    int64_t k = 0;  // steps of the leg
    for (int64_t t = 1; t <= kSteps; ++t) {
      const Real way = start > 0 ? -1 : 1;
      ++k;
      Real x = start + way * sum(k);
      const Real before = start + way * sum(k - 1);
      if (k > 1 && before * way > 0) {  // it has turned: this step stands
        first = std::max(size(k - 1) * Real(rule.eta_minus), Real(rule.smallest));
        x = start = before;
        k = 0;
      }
      result.positions[static_cast<size_t>(t - 1)].push_back(static_cast<double>(x));
    }
  }
  return result;
}

void set_common(Rule& rule, double lr, double weight_decay, bool maximize) {
  rule.lr = lr;
  rule.weight_decay = weight_decay;
  rule.maximize = maximize;
}
template <class O>
void set_adam(Rule& rule, const O& o) {
  set_common(rule, o.lr, o.weight_decay, o.maximize);
  rule.beta1 = o.betas[0];
  rule.beta2 = o.betas[1];
  rule.eps = o.eps;
}

}  // namespace

Rule::Rule(const SGDOptions& o)
    : kind(Kind::sgd),
      name(o.dialect == Dialect::paper ? "sgd, the paper's" : "sgd"),
      paper(o.dialect == Dialect::paper),
      nesterov(o.nesterov),
      momentum(o.momentum),
      dampening(o.dampening) {
  set_common(*this, o.lr, o.weight_decay, o.maximize);
}
Rule::Rule(const AdagradOptions& given) : kind(Kind::adagrad) {
  AdagradOptions o = given;
  o.complete();
  paper = o.dialect == Dialect::paper;
  name = paper ? "adagrad, the paper's" : "adagrad";
  set_common(*this, o.lr, o.weight_decay, o.maximize);
  eps = o.eps;
  lr_decay = o.lr_decay;
  accumulator = o.initial_accumulator_value;
}
Rule::Rule(const AdadeltaOptions& o)
    : kind(Kind::adadelta),
      name(o.dialect == Dialect::paper ? "adadelta, the paper's" : "adadelta"),
      paper(o.dialect == Dialect::paper),
      eps(o.eps),
      beta2(o.rho) {
  set_common(*this, o.lr, o.weight_decay, o.maximize);
}
Rule::Rule(const RMSpropOptions& o)
    : kind(Kind::rmsprop),
      name("rmsprop"),
      centered(o.centered),
      eps(o.eps),
      momentum(o.momentum),
      beta2(o.alpha) {
  set_common(*this, o.lr, o.weight_decay, o.maximize);
}
Rule::Rule(const AdamOptions& o)
    : kind(Kind::adam), name("adam"), amsgrad(o.amsgrad), decoupled(o.decoupled_weight_decay) {
  set_adam(*this, o);
}
Rule::Rule(const AdamWOptions& o)
    : kind(Kind::adam), name("adamw"), amsgrad(o.amsgrad), decoupled(true) {
  set_adam(*this, o);
}
Rule::Rule(const SparseAdamOptions& o)
    : kind(Kind::sparse_adam),
      name("sparse_adam"),
      eps(o.eps),
      beta1(o.betas[0]),
      beta2(o.betas[1]) {
  set_common(*this, o.lr, 0, o.maximize);
}
Rule::Rule(const AdamaxOptions& o) : kind(Kind::adamax), name("adamax") { set_adam(*this, o); }
Rule::Rule(const NAdamOptions& o)
    : kind(Kind::nadam),
      name("nadam"),
      decoupled(o.decoupled_weight_decay),
      momentum_decay(o.momentum_decay) {
  set_adam(*this, o);
}

Rule::Rule(const RAdamOptions& o)
    : kind(Kind::radam), name("radam"), decoupled(o.decoupled_weight_decay) {
  set_adam(*this, o);
}
Rule::Rule(const RpropOptions& o)
    : kind(Kind::rprop),
      name("rprop"),
      eta_minus(o.etas[0]),
      eta_plus(o.etas[1]),
      smallest(o.step_sizes[0]),
      largest(o.step_sizes[1]) {
  set_common(*this, o.lr, 0, o.maximize);
}
Rule::Rule(const ASGDOptions& o) : kind(Kind::asgd), name("asgd"), lambd(o.lambd), alpha(o.alpha) {
  set_common(*this, o.lr, o.weight_decay, o.maximize);
}
Rule::Rule(const AdafactorOptions& o)
    : kind(Kind::adafactor),
      name("adafactor"),
      decoupled(true),
      eps(o.eps[1]),
      beta2_decay(o.beta2_decay),
      eps1(o.eps[0] == kMachineEpsilon ? 0x1p-52 : o.eps[0]),
      clip(o.d) {
  set_common(*this, o.lr, o.weight_decay, o.maximize);
}
Rule::Rule(const MuonOptions& o)
    : kind(Kind::muon),
      name("muon"),
      nesterov(o.nesterov),
      decoupled(true),
      eps(o.eps),
      momentum(o.momentum),
      coefficients(o.ns_coefficients),
      iterations(o.ns_steps),
      adjust_lr(o.adjust_lr_fn) {
  check(!o.bf16, "oracle", "Muon must not be rounded to bf16 to have a closed form", "bf16");
  set_common(*this, o.lr, o.weight_decay, false);
}
Rule::Rule(const LBFGSOptions& o)
    : kind(Kind::lbfgs),
      name("lbfgs"),
      tolerance_grad(o.tolerance_grad),
      tolerance_change(o.tolerance_change) {
  const std::string& search = o.line_search_fn;
  check(o.max_iter == 1 && search == "none", "oracle",
        "L-BFGS must make one direction a step, without a search, to have a closed form",
        o.max_iter, " and ", search);
  set_common(*this, o.lr, 0, o.maximize);
}

std::vector<Trajectory> trajectories(const Rule& rule) {
  check(rule.lr > 0, "oracle", "the rule must have an lr above 0", rule.lr);
  if (rule.kind == Kind::adafactor || rule.kind == Kind::muon) return matrix_trajectories(rule);
  if (rule.kind == Kind::lbfgs) return lbfgs_trajectories(rule);
  std::vector<Trajectory> all;
  const int64_t steps = telling_steps(rule);
  const int64_t pulse = std::min<int64_t>(12, steps), halved = std::min<int64_t>(20, steps / 2);
  Problem problem{.name = "constant gradient", .start = {}, .curvature = {}, .slope = {}};
  if (rule.kind == Kind::sparse_adam) {
    problem.columns = 1;
    problem.period = {1, 2, 3, 5};
  }
  all.push_back(follow(rule, problem, steps));
  problem.name = "gradient of " + std::to_string(pulse) + " steps";
  problem.pulse = pulse;
  all.push_back(follow(rule, problem));
  const bool has_lr = rule.kind != Kind::rprop && !(rule.kind == Kind::adadelta && rule.paper);
  if (has_lr) {
    problem.name = "lr halved after step " + std::to_string(halved);
    problem.pulse = Problem::kNever;
    problem.lr_step = halved;
    problem.lr_factor = 0.5;
    all.push_back(follow(rule, problem, steps));
  }
  if (rule.kind == Kind::sgd) all.push_back(quadratic(rule));
  if (rule.kind == Kind::rprop) all.push_back(turns(rule));
  return all;
}

}  // namespace aorta::optim::oracle
