// The oracle of L-BFGS: it follows its closed forms, and every wrong one is found out.
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/optim/lbfgs.h>
#include <aorta/optim/oracle_gtest.h>

#include <algorithm>

#include <aorta/tests/error_text.h>

namespace aorta::optim {
namespace {

using oracle::MakeOptimizer;
using oracle::maker;

TEST(Oracle, LbfgsFollowsItsForms) {
  for (const LBFGSOptions& o :
       std::vector<LBFGSOptions>{{.max_iter = 1},
                                 {.lr = 0.5, .max_iter = 1, .history_size = 1},
                                 {.lr = 1.5, .max_iter = 1, .maximize = true},
                                 {.lr = 0.1, .max_iter = 1, .tolerance_grad = 1e-3}}) {
    EXPECT_OPTIMIZER_RULE(maker<LBFGS>(o), o) << o.lr;
  }
  EXPECT_EQ(error_of([] { oracle::trajectories(LBFGSOptions{}); }),
            "oracle: L-BFGS must make one direction a step, without a search, to have a closed "
            "form, got 20 and none");
}

// L-BFGS by the matrix H of the BFGS formula, right and wrong: its state lasts as long as it does.
struct LbfgsParts {
  bool shortened = true, always = false, scaled = true, inverted = false;
  bool learns = true, swapped = false, one_sided = false;
  double sign = 1;
};
struct LrOptions {
  double lr = 0.1;
  void fields(Fields& f) { f("lr", lr); }
  void check() const {}
};
struct WrittenLbfgs : OptimizerOf<LrOptions> {
  WrittenLbfgs(std::vector<Tensor> parameters, const LrOptions& o, const LbfgsParts& parts)
      : OptimizerOf(std::move(parameters), o), c(parts) {}
  void step_group(size_t) override {
    std::vector<Tensor> parts;
    for (const Tensor& p : parameters()) parts.push_back(p.grad());
    const Tensor g = c.sign * cat(parts), eye_ = eye(g.numel(), {.dtype = f64});
    if (before.defined() && c.learns) {
      const Tensor y = c.swapped ? step : g - before, s = c.swapped ? g - before : step;
      const double curvature = dot(s, y).item<double>(), square_ = dot(y, y).item<double>();
      if (curvature > 1e-10) {  // the only pair of these problems, or one along all others
        const double start = c.inverted ? square_ / curvature : curvature / square_;
        const Tensor left = eye_ - outer(s, y) / curvature;
        h = matmul((c.scaled ? start : 1) * eye_, left.t());
        if (!c.one_sided) h = matmul(left, h) + outer(s, s) / curvature;
      }
    }
    if (!h.defined()) h = eye_;
    const double first = std::min(1.0, 1 / sum(abs(g)).item<double>());
    const bool is_short = (!before.defined() && c.shortened) || c.always;
    step = -options().lr * (is_short ? first : 1) * matmul(h, g);
    before = g;
    int64_t at = 0;
    for (const Tensor& p : parameters()) {
      add_(p, step.narrow(0, at, p.numel()));
      at += p.numel();
    }
  }

 private:
  LbfgsParts c;
  Tensor before, step, h;
};

TEST(Oracle, NamesTheMistakeOfEveryWrongLbfgs) {
  struct WrongLbfgs {
    LbfgsParts parts;
    const char* words;
  };
  const LBFGSOptions options{.lr = 0.5, .max_iter = 1, .tolerance_grad = 0, .tolerance_change = 0};
  for (const WrongLbfgs& wrong : std::vector<WrongLbfgs>{
           {{}, ""},
           {{.shortened = false}, "the first step not shortened"},
           {{.always = true}, "every step shortened"},
           {{.scaled = false}, "an inverse Hessian that starts from I"},
           {{.inverted = true}, "an inverse Hessian that starts from y.y / s.y"},
           {{.learns = false}, "no inverse Hessian"},
           {{.swapped = true}, "steps and changes of the gradient exchanged"},
           {{.one_sided = true}, "no second loop over the pairs"},
           {{.sign = -1}, "maximize the wrong way round"},
       }) {
    const MakeOptimizer make = [&](std::vector<Tensor> p) -> std::unique_ptr<Optimizer> {
      return std::make_unique<WrittenLbfgs>(std::move(p), LrOptions{0.5}, wrong.parts);
    };
    const oracle::Result result = oracle::check_rule(make, options);
    EXPECT_EQ(bool(result), !*wrong.words) << wrong.words << ": " << result.message;
    EXPECT_NE(result.message.find(wrong.words), std::string::npos) << result.message;
  }
}

}  // namespace
}  // namespace aorta::optim
