#pragma once

#include <aorta/optim/adadelta.h>
#include <aorta/optim/adafactor.h>
#include <aorta/optim/adagrad.h>
#include <aorta/optim/adam.h>
#include <aorta/optim/adamax.h>
#include <aorta/optim/asgd.h>
#include <aorta/optim/lbfgs.h>
#include <aorta/optim/muon.h>
#include <aorta/optim/nadam.h>
#include <aorta/optim/radam.h>
#include <aorta/optim/rmsprop.h>
#include <aorta/optim/rprop.h>
#include <aorta/optim/sgd.h>
#include <aorta/optim/sparse_adam.h>

#include <string>

// Where an optimizer must be after t steps, known without running one: closed forms in long double
// (geometric sums, roots of recurrences), and a harness that holds any optimizer to them. See
// oracle_gtest.h for GoogleTest, and docs/optimizers.md for the forms.

namespace aorta::optim::oracle {

/// A separable problem with a known gradient: element i of the parameters has
/// f_i(x) = curvature_i x^2 / 2 + slope_i x; after step `pulse` the slope is 0, or `later_i`. Past
/// step `lr_step` the learning rate is multiplied by `lr_factor`.
struct Problem {
  static constexpr int64_t kNever = INT64_MAX;

  std::string name;
  std::vector<double> start, curvature, slope;
  int64_t pulse = kNever;
  int64_t lr_step = kNever;
  double lr_factor = 1;
  std::vector<double> later = {};
  /// The columns of a matrix, whose elements stand row by row; with 0 the elements are two vectors,
  /// of which the last element has one alone.
  size_t columns = 0;
  /// The periods of sparse gradients: element i is in those of steps that period[i] divides, as a
  /// row that comes twice, each time with half of the gradient. `columns` is 1 then.
  std::vector<int64_t> period = {};

  size_t size() const { return start.size(); }
  double slope_at(int64_t step, size_t i) const {
    return step <= pulse ? slope[i] : later.empty() ? 0 : later[i];
  }
  bool is_there(int64_t step, size_t i) const { return period.empty() || step % period[i] == 0; }
  /// The analytic gradient of element i at x, in step 1, 2, ...
  double gradient(int64_t step, size_t i, double x) const {
    return is_there(step, i) ? curvature[i] * x + slope_at(step, i) : 0;
  }
  double lr_factor_at(int64_t step) const { return step > lr_step ? lr_factor : 1; }
};

/// A problem, and the position of each element after step 1, 2, ...
struct Trajectory {
  Problem problem;
  std::vector<std::vector<double>> positions;
};

/// The rules that the oracle knows; AdamW is Adam with decoupled decay.
enum class Kind : uint8_t {
  sgd,
  adagrad,
  adadelta,
  rmsprop,
  adam,
  sparse_adam,
  adamax,
  nadam,
  radam,
  rprop,
  asgd,
  adafactor,
  muon,
  lbfgs,
};

/// A rule with its numbers: any optimizer's options become one.
struct Rule {
  Rule(const SGDOptions& options);         // NOLINT: implicit, as all of these
  Rule(const AdagradOptions& options);     // NOLINT
  Rule(const AdadeltaOptions& options);    // NOLINT
  Rule(const RMSpropOptions& options);     // NOLINT
  Rule(const AdamOptions& options);        // NOLINT
  Rule(const AdamWOptions& options);       // NOLINT
  Rule(const SparseAdamOptions& options);  // NOLINT
  Rule(const AdamaxOptions& options);      // NOLINT
  Rule(const NAdamOptions& options);       // NOLINT
  Rule(const RAdamOptions& options);       // NOLINT
  Rule(const RpropOptions& options);       // NOLINT
  Rule(const ASGDOptions& options);        // NOLINT
  /// The rules of Adafactor, and of Muon, whose iteration must not be rounded to bf16.
  Rule(const AdafactorOptions& options);  // NOLINT
  Rule(const MuonOptions& options);       // NOLINT
  /// The rule of one direction a step, max_iter = 1, without a search.
  Rule(const LBFGSOptions& options);  // NOLINT

  Kind kind;
  std::string name;
  bool paper = false, maximize = false, nesterov = false, amsgrad = false, centered = false;
  bool decoupled = false;  // weight decay
  double lr = 0, weight_decay = 0, eps = 0;
  double momentum = 0, dampening = 0;
  double beta1 = 0, beta2 = 0;  // beta2: also rho and alpha
  double lr_decay = 0, accumulator = 0, momentum_decay = 0;
  double eta_minus = 0, eta_plus = 0, smallest = 0, largest = 0;  // rprop
  double lambd = 0, alpha = 0;                                    // asgd
  double beta2_decay = 0, eps1 = 0, clip = 0;                     // adafactor; eps is eps2
  std::array<double, 3> coefficients = {};                        // muon
  int64_t iterations = 0;
  std::string adjust_lr;
  double tolerance_grad = 0, tolerance_change = 0;  // lbfgs
};

/// The closed forms of a rule: a constant gradient; one that stops (a pulse); a learning rate that
/// is halved; for SGD quadratics with real and complex roots, and for Rprop one; for Adafactor and
/// Muon matrices whose gradient changes once; for L-BFGS that too, and a quadratic of one
/// curvature; for SparseAdam rows that come in every step and in some. Coupled weight decay is met
/// by a problem whose curvature takes it back, so that the rule still sees a constant gradient.
/// Errors: a learning rate of 0; rules that diverge have no use here.
std::vector<Trajectory> trajectories(const Rule& rule);

/// Makes the optimizer under test on f64 parameters, which lie on the device that a check is given.
using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(std::vector<Tensor> parameters)>;

/// Empty and true, or what is wrong: the step, the element, expected and got, and the mistake that
/// moves the same way, where one is known.
struct Result {
  std::string message;
  explicit operator bool() const { return message.empty(); }
};

/// Runs the optimizer on the problem, with gradients from autograd (which are compared with the
/// analytic ones), and compares every position: |got - expected| <= tolerance * max(1, |expected|).
Result check_trajectory(const MakeOptimizer& make, const Trajectory& trajectory,
                        double tolerance = 1e-12, Device device = {});

/// The optimizer follows every trajectory of the rule.
Result check_rule(const MakeOptimizer& make, const Rule& rule, double tolerance = 1e-12,
                  Device device = {});

/// What every optimizer must keep, whatever its rule: gradients aren't written; a parameter without
/// a gradient doesn't move, and its first step is as if it had been the optimizer's first; versions
/// of changed parameters move on; state() and restore() go on bit for bit; zero_grad() works.
Result check_conduct(const MakeOptimizer& make, Device device = {});

/// The maker of a T with the same options for all parameters.
template <class T>
MakeOptimizer maker(const typename T::Options& options) {
  return [options](std::vector<Tensor> parameters) -> std::unique_ptr<Optimizer> {
    return std::make_unique<T>(std::move(parameters), options);
  };
}

}  // namespace aorta::optim::oracle
