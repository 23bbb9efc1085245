// The oracle: every optimizer follows its closed forms, and every wrong one is found out.
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/optim/oracle_gtest.h>

#include <algorithm>
#include <cmath>

#include <aorta/tests/error_text.h>

namespace aorta::optim {
namespace {

using oracle::MakeOptimizer;
using oracle::maker;

TEST(Oracle, SgdFollowsItsForms) {
  for (const double weight_decay : {0.0, 0.02})
    for (const double momentum : {0.0, 0.5, 0.9})
      for (const double dampening : {0.0, 0.3})
        for (const bool nesterov : {false, true})
          for (const bool maximize : {false, true})
            for (const Dialect dialect : {Dialect::pytorch, Dialect::paper}) {
              const SGDOptions o{.lr = 0.05,
                                 .momentum = momentum,
                                 .dampening = dampening,
                                 .weight_decay = weight_decay,
                                 .nesterov = nesterov,
                                 .maximize = maximize,
                                 .dialect = dialect};
              if (nesterov && (momentum == 0 || dampening > 0)) continue;
              if (dialect == Dialect::paper && dampening > 0) continue;
              EXPECT_OPTIMIZER_RULE(maker<SGD>(o), o)
                  << momentum << " " << dampening << " " << weight_decay << nesterov << maximize;
              EXPECT_OPTIMIZER_CONDUCT(maker<SGD>(o));
            }
}

template <class T>
void expect_follows(const std::vector<typename T::Options>& grid) {
  for (size_t i = 0; i < grid.size(); ++i) {
    EXPECT_OPTIMIZER_RULE(maker<T>(grid[i]), grid[i]) << i;
    EXPECT_OPTIMIZER_CONDUCT(maker<T>(grid[i])) << i;
  }
}

TEST(Oracle, AdaptiveOnesFollowTheirForms) {
  expect_follows<Adagrad>({{},
                           {.lr = 0.1, .lr_decay = 0.02, .weight_decay = 0.1},
                           {.initial_accumulator_value = 0.5, .eps = 0.1, .maximize = true},
                           {.dialect = Dialect::paper},
                           {.eps = 0.3, .dialect = Dialect::paper}});
  expect_follows<Adadelta>({{},
                            {.lr = 0.5, .rho = 0.95, .eps = 1e-2, .weight_decay = 0.1},
                            {.lr = 0.3, .maximize = true},
                            {.dialect = Dialect::paper}});
  expect_follows<RMSprop>({{},
                           {.alpha = 0.9, .eps = 0.1, .weight_decay = 0.1},
                           {.momentum = 0.9},
                           {.centered = true},
                           {.momentum = 0.5, .centered = true, .maximize = true}});
  expect_follows<Adam>({{},
                        {.lr = 0.1, .betas = {0.8, 0.9}, .eps = 0.1, .weight_decay = 0.1},
                        {.amsgrad = true},
                        {.weight_decay = 0.2, .amsgrad = true, .maximize = true},
                        {.weight_decay = 0.5, .decoupled_weight_decay = true}});
  expect_follows<AdamW>({{},
                         {.lr = 0.1, .betas = {0.8, 0.9}, .eps = 0.1, .weight_decay = 0.5},
                         {.weight_decay = 0.3, .amsgrad = true, .maximize = true}});
  expect_follows<Adamax>(
      {{}, {.lr = 0.1, .betas = {0.8, 0.7}, .eps = 0.1, .weight_decay = 0.1}, {.maximize = true}});
  expect_follows<NAdam>({{},
                         {.lr = 0.1, .betas = {0.8, 0.9}, .eps = 0.1, .weight_decay = 0.1},
                         {.weight_decay = 0.3, .momentum_decay = 0.1},
                         {.weight_decay = 0.3, .decoupled_weight_decay = true, .maximize = true}});
  expect_follows<RAdam>({{},
                         {.lr = 0.1, .betas = {0.8, 0.9}, .eps = 0.1, .weight_decay = 0.1},
                         {.betas = {0.9, 0.6}},
                         {.weight_decay = 0.3, .decoupled_weight_decay = true, .maximize = true}});
  expect_follows<Rprop>({{},
                         {.lr = 0.17, .etas = {0.3, 1.5}, .step_sizes = {0.05, 0.4}},
                         {.lr = 0.1, .maximize = true}});
  expect_follows<ASGD>({{},
                        {.lr = 0.1, .lambd = 0.2, .alpha = 0.5, .weight_decay = 0.1},
                        {.lambd = 0.5, .t0 = 5, .maximize = true}});
}

TEST(Oracle, AdafactorAndMuonFollowTheirForms) {
  expect_follows<Adafactor>(
      {{},
       {.lr = 0.2, .beta2_decay = -0.5, .eps = {0.5, 0.1}, .d = 2, .weight_decay = 0.1},
       {.maximize = true}});
  for (const MuonOptions& o : std::vector<MuonOptions>{
           {.bf16 = false},
           {.lr = 0.1, .weight_decay = 0.3, .momentum = 0.5, .nesterov = false, .bf16 = false},
           {.ns_coefficients = {2, -1.5, 0.5},
           .ns_steps = 10,
           .adjust_lr_fn = "match_rms_adamw",
           .bf16 = false},
           {.eps = 2, .adjust_lr_fn = "spectral_unclamped", .bf16 = false}}) {
    EXPECT_OPTIMIZER_RULE(maker<Muon>(o), o);
  }
  EXPECT_EQ(error_of([] { oracle::trajectories(MuonOptions{}); }),
            "oracle: Muon must not be rounded to bf16 to have a closed form, got bf16");
}

// The forms against numbers that stand in a textbook or are exact.
// Their variance is a difference that vanishes as alpha^t.
TEST(Oracle, CenteredRmspropOfAnyAlpha) {
  for (const double alpha : {0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99})
    for (const double momentum : {0.0, 0.5, 0.9})
      for (const double weight_decay : {0.0, 0.1})
        for (const double eps : {1e-8, 1e-2}) {
          const RMSpropOptions o{.alpha = alpha,
                                 .eps = eps,
                                 .weight_decay = weight_decay,
                                 .momentum = momentum,
                                 .centered = true,
                                 .maximize = eps > 1e-3};
          EXPECT_OPTIMIZER_RULE(maker<RMSprop>(o), o)
              << alpha << " " << momentum << " " << weight_decay << " " << eps;
          RMSpropOptions wrong = o;
          wrong.centered = false;
          EXPECT_FALSE(oracle::check_rule(maker<RMSprop>(wrong), o)) << alpha;
        }
}

TEST(Oracle, FormsHaveTheirKnownValues) {
  const auto halves = oracle::trajectories(SGDOptions{.lr = 0.05});
  const auto& quadratic = halves.back();
  ASSERT_EQ(quadratic.problem.name, "quadratic");
  for (size_t t = 0; t < 20; ++t)
    EXPECT_NEAR(quadratic.positions[t][0], std::ldexp(1.0, -static_cast<int>(t) - 1), 1e-15);
  // The first step of Adadelta from g = 1: sqrt(eps) / sqrt(0.1 + eps).
  const auto adadelta = oracle::trajectories(AdadeltaOptions{});
  EXPECT_NEAR(1 - adadelta[0].positions[0][0], 0.0031622618488986, 1e-15);
  // Adam's first step is lr, whatever the gradient.
  const auto adam = oracle::trajectories(AdamOptions{.eps = 0});
  EXPECT_NEAR(adam[0].positions[0][0], 1 - 1e-3, 1e-15);
  EXPECT_NEAR(adam[0].positions[0][1], -0.5 + 1e-3, 1e-15);
  EXPECT_EQ(error_of([] { oracle::trajectories(SGDOptions{.lr = 0}); }),
            "oracle: the rule must have an lr above 0, got 0");
}

// ---- Optimizers written with tensor ops, right and wrong.

struct LrOptions {
  double lr = 0.1;
  void fields(Fields& f) { f("lr", lr); }
  void check() const {}
};
using Body = std::function<void(Slot& s, double lr)>;
struct Written : CustomOptimizer<LrOptions> {
  Written(std::vector<Tensor> parameters, const LrOptions& o, Body body)
      : CustomOptimizer(std::move(parameters), o), body_(std::move(body)) {}
  void update(Slot& slot, const LrOptions& o) override { body_(slot, o.lr); }

 private:
  Body body_;
};
MakeOptimizer written(double lr, const Body& body) {
  return [=](std::vector<Tensor> parameters) -> std::unique_ptr<Optimizer> {
    return std::make_unique<Written>(std::move(parameters), LrOptions{lr}, body);
  };
}

struct SgdParts {
  double first_share = 1, share = 0.7, decay = 0.02;
  bool nesterov = false, lr_inside = false;
};
Body sgd_body(const SgdParts& c) {
  return [=](Slot& s, double lr) {
    const Tensor g = s.gradient + c.decay * s.parameter, b = s.state("b");
    b.copy_(0.9 * b + (s.step == 1 ? c.first_share : c.share) * (c.lr_inside ? lr : 1.0) * g);
    const Tensor d = c.nesterov ? g + 0.9 * b : b;
    sub_(s.parameter, (c.lr_inside ? 1.0 : lr) * d);
  };
}

struct AdamParts {
  double decay = 0, shrink = 0;
  bool corrected = true, eps_in_root = false, eps_first = false, amsgrad = false, max_hat = false;
  double eps = 1e-8, beta1 = 0.9, beta2 = 0.999;
  int64_t late = 0;
  double sign = 1;
};
Body adam_body(const AdamParts& c) {
  return [=](Slot& s, double lr) {
    const Tensor g = c.sign * s.gradient + c.decay * s.parameter;
    const Tensor m = s.state("m"), v = s.state("v");
    m.copy_(c.beta1 * m + (1 - c.beta1) * g);
    v.copy_(c.beta2 * v + (1 - c.beta2) * square(g));
    const double t = static_cast<double>(s.step - c.late);
    const double b1 = c.corrected ? 1 - std::pow(c.beta1, t) : 1;
    const double b2 = c.corrected ? 1 - std::pow(c.beta2, t) : 1;
    Tensor v_hat = v / b2;
    if (c.amsgrad) {
      const Tensor largest = s.state("largest");
      largest.copy_(maximum(largest, c.max_hat ? v_hat : v));
      v_hat = c.max_hat ? largest.clone() : largest / b2;
    }
    Tensor divisor = sqrt(v_hat) + c.eps;
    if (c.eps_in_root) divisor = sqrt(v_hat + c.eps);
    if (c.eps_first) divisor = (sqrt(v) + c.eps) / std::sqrt(b2);
    s.parameter.copy_(s.parameter * (1 - lr * c.shrink) - lr * (m / b1) / divisor);
  };
}

struct OtherParts {
  bool inside = false, accumulate_scaled = false;
  double eps = 1e-6, start = 0, decay_offset = -1, lr_decay = 0;
};
Body adagrad_body(const OtherParts& c) {
  return [=](Slot& s, double lr) {
    const Tensor sum = s.state("sum", c.start);
    sum.copy_(sum + square(s.gradient));
    const double age = static_cast<double>(s.step) + c.decay_offset;
    const Tensor root = c.inside ? sqrt(sum + c.eps) : sqrt(sum) + c.eps;
    sub_(s.parameter, lr / (1 + age * c.lr_decay) * s.gradient / root);
  };
}
Body adadelta_body(const OtherParts& c) {
  return [=](Slot& s, double lr) {
    const Tensor v = s.state("v"), u = s.state("u");
    v.copy_(0.9 * v + 0.1 * square(s.gradient));
    const auto root = [&](const Tensor& x) { return c.inside ? sqrt(x + c.eps) : sqrt(x) + c.eps; };
    const Tensor delta = root(u) / root(v) * s.gradient;
    u.copy_(0.9 * u + 0.1 * square(c.accumulate_scaled ? lr * delta : delta));
    sub_(s.parameter, lr * delta);
  };
}
Body rmsprop_body(bool centered, bool inside, bool lr_inside) {
  return [=](Slot& s, double lr) {
    const Tensor v = s.state("v"), a = s.state("a"), b = s.state("b");
    v.copy_(0.99 * v + 0.01 * square(s.gradient));
    a.copy_(0.99 * a + 0.01 * s.gradient);
    const Tensor square_ = centered ? v - square(a) : v.clone();
    const Tensor root = inside ? sqrt(square_ + 1e-8) : sqrt(square_) + 1e-8;
    b.copy_(0.5 * b + (lr_inside ? lr : 1.0) * s.gradient / root);
    sub_(s.parameter, (lr_inside ? 1.0 : lr) * b);
  };
}
Body adamax_body(double eps_inside, double eps_outside, bool corrected) {
  return [=](Slot& s, double lr) {
    const Tensor m = s.state("m"), u = s.state("u");
    m.copy_(0.9 * m + 0.1 * s.gradient);
    u.copy_(maximum(0.999 * u, abs(s.gradient) + eps_inside));
    const double b1 = corrected ? 1 - std::pow(0.9, static_cast<double>(s.step)) : 1;
    sub_(s.parameter, lr / b1 * m / (u + eps_outside));
  };
}
Body nadam_body(double psi, bool next) {
  return [=](Slot& s, double lr) {
    const Tensor m = s.state("m"), v = s.state("v");
    m.copy_(0.9 * m + 0.1 * s.gradient);
    v.copy_(0.999 * v + 0.001 * square(s.gradient));
    const double t = static_cast<double>(s.step);
    const auto mu = [&](double k) { return 0.9 * (1 - 0.5 * std::pow(0.96, k * psi)); };
    double& product = s.value("product", 1);
    product *= mu(t);
    const double ahead = next ? mu(t + 1) : mu(t);
    const Tensor root = sqrt(v / (1 - std::pow(0.999, t))) + 1e-8;
    sub_(
        s.parameter,
        lr * (ahead * m / (1 - product * ahead) + (1 - mu(t)) * s.gradient / (1 - product)) / root);
  };
}

struct RadamParts {
  bool rectified = true, always = false, corrected = true;
};
Body radam_body(const RadamParts& c) {
  return [=](Slot& s, double lr) {
    const Tensor m = s.state("m"), v = s.state("v");
    m.copy_(0.9 * m + 0.1 * s.gradient);
    v.copy_(0.999 * v + 0.001 * square(s.gradient));
    const double t = static_cast<double>(s.step), b1 = 1 - std::pow(0.9, t);
    const double b2 = 1 - std::pow(0.999, t), rho = 1999, now = rho - 2 * t * (1 - b2) / b2;
    const Tensor moment = c.corrected ? m / b1 : m.clone();
    if (!c.always && (!c.rectified || now <= 5)) return void(sub_(s.parameter, lr * moment));
    const double r =
        c.always ? 1 : std::sqrt((now - 4) * (now - 2) * rho / ((rho - 4) * (rho - 2) * now));
    sub_(s.parameter, lr * r * std::sqrt(b2) * moment / (sqrt(v) + 1e-8));
  };
}
struct RpropParts {
  double minus = 0.5, plus = 1.2, largest = 50;
  bool back = false, remembers = false, sized = false;
};
Body rprop_body(const RpropParts& c) {
  return [=](Slot& s, double lr) {
    const Tensor before = s.state("before"), size = s.state("size", lr);
    const Tensor turn = s.gradient * before;
    const Tensor factor = where(turn > 0, c.plus, where(turn < 0, c.minus, ones_like(turn)));
    size.copy_(clamp(size * factor, 1e-6, c.largest));
    const Tensor g = c.back ? s.gradient.clone() : where(turn < 0, 0, s.gradient);
    before.copy_(c.remembers ? s.gradient : g);
    sub_(s.parameter, size * (c.sized ? g : sign(g)));
  };
}
Body asgd_body(double lambd, double alpha, bool early) {
  return [=](Slot& s, double lr) {
    const double t = static_cast<double>(s.step);
    const auto fallen = [&](double k) { return lr / std::pow(1 + lambd * lr * k, alpha); };
    double& kept = s.value("eta", lr);
    const double eta = early ? fallen(t) : kept;
    kept = fallen(t);
    s.parameter.copy_(s.parameter * (1 - lambd * eta) - eta * s.gradient);
  };
}
struct AdafactorParts {
  bool relative = true, capped = true, clipped = true, factored = true, early = true;
  double decay = 0.1, power = -0.8, sign = 1;
};
Body adafactor_body(const AdafactorParts& c) {
  return [=](Slot& s, double lr) {
    const Tensor g = c.sign * s.gradient;
    Tensor p = s.parameter.detach().clone();
    const double t = static_cast<double>(s.step), share = std::pow(t, c.power);
    const double root = std::sqrt(static_cast<double>(p.numel()));
    const auto size_of = [&](const Tensor& x) { return norm(x).item<double>() / root; };
    const double before = size_of(p);
    p = p * (1 - lr * c.decay);
    double alpha = c.capped ? std::min(lr, 1 / std::sqrt(t)) : lr;
    if (c.relative) alpha *= std::max(1e-3, c.early ? before : size_of(p));
    Tensor v;
    if (g.dim() < 2 || !c.factored) {
      v = lerp_(s.state("v"), square(g), share);
    } else {  // of the parameter's shape, every column the same
      const Tensor rows = s.state("rows"), columns = s.state("columns");
      lerp_(rows, mean(square(g), {1}, true).expand(g.shape()).contiguous(), share);
      lerp_(columns, mean(square(g), {0}, true).expand(g.shape()).contiguous(), share);
      v = rows * columns / mean(rows);
    }
    const Tensor update = g / sqrt(clamp_min(v, 0x1p-104));
    s.parameter.copy_(p - alpha / (c.clipped ? std::max(1.0, size_of(update) / 1.0) : 1) * update);
  };
}
struct MuonParts {
  double momentum = 0.95, decay = 0.1;
  bool nesterov = true, adjusted = true, average = true;
  int steps = 5;
};
Body muon_body(const MuonParts& c) {
  return [=](Slot& s, double lr) {
    const Tensor& g = s.gradient;
    const Tensor b = s.state("b");
    b.copy_(c.momentum * b + (c.average ? 1 - c.momentum : 1) * g);
    Tensor x = c.nesterov ? g + c.momentum * (b - g) : b.clone();
    x = x / norm(x);
    for (int i = 0; i < c.steps; ++i) {
      const Tensor a = matmul(x, x.t());
      x = 3.4445 * x + matmul(-4.775 * a + 2.0315 * matmul(a, a), x);
    }
    const double rows = static_cast<double>(g.size(0)), columns = static_cast<double>(g.size(1));
    const double size = lr * (c.adjusted ? std::sqrt(std::max(1.0, rows / columns)) : 1);
    s.parameter.copy_(s.parameter * (1 - lr * c.decay) - size * x);
  };
}

struct Case {
  const char* name;
  oracle::Rule rule;
  Body body;
  const char* words;  // that the message must hold; empty: the optimizer is right
};

const SGDOptions kSgd{.lr = 0.05, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.02};
const SGDOptions kNesterov{.lr = 0.05, .momentum = 0.9, .weight_decay = 0.02, .nesterov = true};
const SGDOptions kPaper{.lr = 0.05, .momentum = 0.9, .dialect = Dialect::paper};

const AdafactorOptions kAdafactor{.lr = 0.3, .weight_decay = 0.1};
const MuonOptions kMuon{.lr = 0.05, .bf16 = false};

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"sgd", kSgd, sgd_body({}), ""},
      {"sgd: no dampening", kSgd, sgd_body({.share = 1}), "no dampening"},
      {"sgd: dampened first", kSgd, sgd_body({.first_share = 0.7}), "dampening of the first step"},
      {"sgd: no decay", kSgd, sgd_body({.decay = 0}), "no weight decay"},
      {"sgd: decay times lr", kSgd, sgd_body({.decay = 0.02 * 0.05}), "decay times the learning"},
      {"nesterov", kNesterov, sgd_body({.share = 1, .nesterov = true}), ""},
      {"nesterov: plain", kNesterov, sgd_body({.share = 1}), "plain momentum"},
      {"paper momentum", kPaper, sgd_body({.share = 1, .decay = 0, .lr_inside = true}), ""},
      {"paper momentum: PyTorch's", kPaper, sgd_body({.share = 1, .decay = 0}),
       "the paper's rule instead of PyTorch's"},
      {"momentum: the paper's", SGDOptions{.lr = 0.05, .momentum = 0.9},
       sgd_body({.share = 1, .decay = 0, .lr_inside = true}),
       "the paper's rule instead of PyTorch's"},
      {"momentum: none", SGDOptions{.lr = 0.05, .momentum = 0.9},
       [](Slot& s, double lr) { sub_(s.parameter, lr * s.gradient); }, "no momentum"},
      {"sgd: ascends", SGDOptions{.lr = 0.05},
       [](Slot& s, double lr) { add_(s.parameter, lr * s.gradient); }, "maximize the wrong way"},
      {"adam", AdamOptions{.weight_decay = 0.1}, adam_body({.decay = 0.1}), ""},
      {"adam: no correction", AdamOptions{}, adam_body({.corrected = false}), "no bias correction"},
      {"adam: late correction", AdamOptions{}, adam_body({.late = 1}),
       "the bias correction of the step before"},
      {"adam: eps in root", AdamOptions{}, adam_body({.eps_in_root = true}), "eps inside the root"},
      {"adam: eps before", AdamOptions{}, adam_body({.eps_first = true}),
       "eps added before the bias"},
      {"adam: no eps", AdamOptions{}, adam_body({.eps = 0}), "no eps"},
      {"adam: eps 1e-7", AdamOptions{}, adam_body({.eps = 1e-7}), "step 1, element 0"},
      {"adam: decoupled", AdamOptions{.weight_decay = 0.1}, adam_body({.shrink = 0.1}),
       "coupled instead of decoupled, or the other"},
      {"adam: betas swapped", AdamOptions{}, adam_body({.beta1 = 0.999, .beta2 = 0.9}),
       "decayed by beta2"},
      {"adam: amsgrad", AdamOptions{.amsgrad = true}, adam_body({.amsgrad = true}), ""},
      {"adam: no amsgrad", AdamOptions{.amsgrad = true}, adam_body({}), "no amsgrad"},
      {"adam: amsgrad of v_hat", AdamOptions{.amsgrad = true},
       adam_body({.amsgrad = true, .max_hat = true}), "amsgrad of the corrected"},
      {"adam: maximize after decay", AdamOptions{.weight_decay = 0.1, .maximize = true},
       adam_body({.decay = -0.1, .sign = -1}), "weight decay before the sign"},
      {"adam: maximize ignored", AdamOptions{.maximize = true}, adam_body({}),
       "maximize the wrong"},
      {"adam: decoupled as asked", AdamOptions{.weight_decay = 0.1, .decoupled_weight_decay = true},
       adam_body({.shrink = 0.1}), ""},
      {"adamw", AdamWOptions{.weight_decay = 0.1}, adam_body({.shrink = 0.1}), ""},
      {"adamw: coupled", AdamWOptions{.weight_decay = 0.1}, adam_body({.decay = 0.1}),
       "coupled instead of decoupled"},
      {"adagrad", AdagradOptions{.lr_decay = 0.1, .initial_accumulator_value = 0.5},
       adagrad_body({.eps = 1e-10, .start = 0.5, .lr_decay = 0.1}), ""},
      {"adagrad: late lr_decay", AdagradOptions{.lr_decay = 0.1},
       adagrad_body({.eps = 1e-10, .decay_offset = 0, .lr_decay = 0.1}), "lr_decay from the first"},
      {"adagrad: no start", AdagradOptions{.initial_accumulator_value = 0.5},
       adagrad_body({.eps = 1e-10}), "no initial accumulator"},
      {"adagrad: eps in root", AdagradOptions{}, adagrad_body({.inside = true, .eps = 1e-10}),
       "the paper's rule instead"},
      {"paper adagrad: eps outside", AdagradOptions{.dialect = Dialect::paper},
       adagrad_body({.eps = 1e-8}), "or the other way round"},
      {"adadelta", AdadeltaOptions{.lr = 0.5}, adadelta_body({.inside = true}), ""},
      {"adadelta: eps outside", AdadeltaOptions{}, adadelta_body({}), "eps outside the root"},
      {"adadelta: scaled", AdadeltaOptions{.lr = 0.5},
       adadelta_body({.inside = true, .accumulate_scaled = true}),
       "accumulated after the learning"},
      {"rmsprop", RMSpropOptions{.momentum = 0.5, .centered = true},
       rmsprop_body(true, false, false), ""},
      {"rmsprop: not centered", RMSpropOptions{.momentum = 0.5, .centered = true},
       rmsprop_body(false, false, false), "not centered"},
      {"rmsprop: eps in root", RMSpropOptions{.momentum = 0.5}, rmsprop_body(false, true, false),
       "eps inside the root"},
      {"rmsprop: lr inside", RMSpropOptions{.momentum = 0.5}, rmsprop_body(false, false, true),
       "the learning rate inside the velocity"},
      {"adamax", AdamaxOptions{}, adamax_body(1e-8, 0, true), ""},
      {"adamax: eps outside", AdamaxOptions{}, adamax_body(0, 1e-8, true), "added to the maximum"},
      {"adamax: no correction", AdamaxOptions{}, adamax_body(1e-8, 0, false), "no bias correction"},
      {"nadam", NAdamOptions{}, nadam_body(4e-3, true), ""},
      {"nadam: no momentum decay", NAdamOptions{}, nadam_body(0, true), "no momentum decay"},
      {"nadam: this step's mu", NAdamOptions{}, nadam_body(4e-3, false), "step 1, element 0"},
      {"radam", RAdamOptions{}, radam_body({}), ""},
      {"radam: no rectification", RAdamOptions{}, radam_body({.always = true}), "no rectification"},
      {"radam: never divided", RAdamOptions{}, radam_body({.rectified = false}),
       "never divided by the root"},
      {"radam: no correction", RAdamOptions{}, radam_body({.corrected = false}),
       "no bias correction"},
      {"rprop", RpropOptions{}, rprop_body({}), ""},
      {"rprop: steps back", RpropOptions{}, rprop_body({.back = true}), "a step back where"},
      {"rprop: remembers", RpropOptions{}, rprop_body({.remembers = true}), "of a turn remembered"},
      {"rprop: sized", RpropOptions{}, rprop_body({.sized = true}), "the size of the gradient"},
      {"rprop: one step size", RpropOptions{}, rprop_body({.minus = 1, .plus = 1}),
       "no step size but the first"},
      {"rprop: no largest", RpropOptions{.step_sizes = {1e-6, 0.1}}, rprop_body({.largest = 1e300}),
       "no largest step size"},
      {"asgd", ASGDOptions{.lambd = 0.1}, asgd_body(0.1, 0.75, false), ""},
      {"asgd: no fall", ASGDOptions{.lambd = 0.1}, asgd_body(0.1, 0, false),
       "no fall of the learning rate"},
      {"asgd: early", ASGDOptions{.lambd = 0.1}, asgd_body(0.1, 0.75, true),
       "the learning rate of the next step"},
      {"asgd: no lambd", ASGDOptions{.lambd = 0.1}, asgd_body(0, 0.75, false), "no decay lambd"},
      {"adafactor", kAdafactor, adafactor_body({}), ""},
      {"adafactor: absolute", kAdafactor, adafactor_body({.relative = false}),
       "isn't relative to the parameter's size"},
      {"adafactor: uncapped", kAdafactor, adafactor_body({.capped = false}), "above 1 / sqrt(t)"},
      {"adafactor: unclipped", kAdafactor, adafactor_body({.clipped = false}),
       "no clipping of the update"},
      {"adafactor: not factored", kAdafactor, adafactor_body({.factored = false}),
       "squares not factored"},
      {"adafactor: late size", kAdafactor, adafactor_body({.early = false}),
       "the parameter's size after its decay"},
      {"adafactor: no decay", kAdafactor, adafactor_body({.decay = 0}), "no weight decay"},
      {"adafactor: newest squares", kAdafactor, adafactor_body({.power = 0}),
       "the newest squares alone"},
      {"adafactor: ascends", kAdafactor, adafactor_body({.sign = -1}), "maximize the wrong way"},
      {"muon", kMuon, muon_body({}), ""},
      {"muon: plain", kMuon, muon_body({.nesterov = false}), "plain momentum instead"},
      {"muon: no momentum", kMuon, muon_body({.momentum = 0}), "no momentum"},
      {"muon: a sum", kMuon, muon_body({.average = false}), "of a sum instead of an average"},
      {"muon: no decay", kMuon, muon_body({.decay = 0}), "no weight decay"},
      {"muon: unadjusted", kMuon, muon_body({.adjusted = false}), "no adjustment"},
      {"muon: four steps", kMuon, muon_body({.steps = 4}), "an iteration too few"},
  };
  return list;
}

TEST(Oracle, NamesTheMistakeOfEveryWrongOptimizer) {
  for (const Case& c : cases()) {
    const oracle::Result result = check_rule(written(c.rule.lr, c.body), c.rule);
    if (!*c.words) {
      EXPECT_TRUE(result) << c.name << ": " << result.message;
    } else {
      EXPECT_NE(result.message.find(c.words), std::string::npos)
          << c.name << ": " << result.message;
      EXPECT_NE(result.message.find("doesn't follow " + c.rule.name), std::string::npos) << c.name;
    }
  }
}

TEST(Oracle, SaysWhatIsWrong) {
  const auto wrong = written(
      0.05, [](Slot& s, double lr) { sub_(s.parameter, (s.step < 3 ? lr : 2 * lr) * s.gradient); });
  EXPECT_EQ(
      oracle::check_rule(wrong, SGDOptions{.lr = 0.05}).message,
      "the optimizer doesn't follow sgd on the problem \"constant gradient\": step 3, element "
      "0: expected 0.84999999999999998, got 0.79999999999999993 (off by 0.05, tolerance "
      "1e-12)");
  // A trajectory of one's own: the sign of the gradient, from 1 on.
  oracle::Trajectory mine{{.name = "by signs", .start = {1}, .curvature = {0}, .slope = {3}},
                          {{0.9}, {0.8}, {0.7}}};
  const auto signs =
      written(0.1, [](Slot& s, double lr) { sub_(s.parameter, lr * sign(s.gradient)); });
  EXPECT_OPTIMIZER_TRAJECTORY(signs, mine);
  mine.positions[1][0] = 0.81;
  EXPECT_EQ(check_trajectory(signs, mine).message,
            "the optimizer leaves the trajectory \"by signs\" at step 2, element 0: expected "
            "0.81000000000000005, got 0.80000000000000004 (off by 0.01, tolerance 1e-12)");
  // A share of infinity would be any number.
  mine.positions[1][0] = INFINITY;
  EXPECT_EQ(check_trajectory(signs, mine).message,
            "the optimizer leaves the trajectory \"by signs\" at step 2, element 0: expected inf, "
            "got 0.80000000000000004 (off by inf, tolerance inf)");
}

struct RateOptions {
  double rate = 0.05;
  void fields(Fields& f) { f("rate", rate); }
  void check() const {}
};
struct RateSgd : CustomOptimizer<RateOptions> {
  using CustomOptimizer::CustomOptimizer;
  void update(Slot& slot, const RateOptions& o) override {
    sub_(slot.parameter, o.rate * slot.gradient);
  }
};

TEST(Oracle, SaysWhenTheLearningRateHasAnotherName) {
  EXPECT_EQ(oracle::check_rule(maker<RateSgd>({}), SGDOptions{.lr = 0.05}).message,
            "the optimizer doesn't follow sgd on the problem \"lr halved after step 20\": step 21: "
            "there is no field \"lr\" to change");
}

TEST(Oracle, FindsBadConduct) {
  const auto message = [](const Body& body) {
    return oracle::check_conduct(written(0.1, body)).message;
  };
  EXPECT_EQ(message([](Slot& s, double lr) {
              mul_(s.gradient, lr);
              sub_(s.parameter, s.gradient);
            }),
            "step 1 wrote the gradient, which it may only read");
  EXPECT_EQ(
      message([count = std::make_shared<int>(0)](Slot& s, double lr) {
        sub_(s.parameter, lr / ++*count * s.gradient);
      }),
      "the first gradient of a parameter after three steps without one isn't taken as a first "
      "step: steps without a gradient must not count");
  EXPECT_EQ(message([](Slot&, double) {}),
            "step 1 didn't bump the parameter's version: a graph that needs its old values won't "
            "know");
  // A velocity that lives outside the state: found by the restored optimizer.
  const auto hidden = [](std::vector<Tensor> parameters) -> std::unique_ptr<Optimizer> {
    auto velocity = std::make_shared<std::map<void*, Tensor>>();
    return std::make_unique<Written>(std::move(parameters), LrOptions{}, [=](Slot& s, double lr) {
      Tensor& v = (*velocity)[s.parameter.data()];
      if (!v.defined()) v = zeros_like(s.gradient);
      v = 0.9 * v + s.gradient;
      sub_(s.parameter, lr * v);
    });
  };
  EXPECT_EQ(oracle::check_conduct(hidden).message,
            "state() after step 4, restored into a new optimizer, goes another way at step 5: the "
            "state doesn't hold everything");
  EXPECT_OPTIMIZER_CONDUCT(written(0.1, sgd_body({})));
}

}  // namespace
}  // namespace aorta::optim
