#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of LBFGS, with PyTorch's names and defaults.
struct LBFGSOptions {
  Option<double> lr = Default(1.0);        // the step, or the line search's first trial
  Option<int64_t> max_iter = Default(20);  // directions of a step()
  Option<int64_t> max_eval = Default(25);  // closures of a step(): max_iter * 5 / 4 if not named
  Option<double> tolerance_grad = Default(1e-7);    // stops at max |g|
  Option<double> tolerance_change = Default(1e-9);  // stops at a change of the loss or parameters
  Option<int64_t> history_size = Default(100);      // pairs that are kept
  Option<std::string> line_search_fn = Default("none");  // or "strong_wolfe"
  Option<bool> maximize = Default(false);
  void fields(Fields& f) {
    f("lr", lr), f("max_iter", max_iter), f("max_eval", max_eval),
        f("tolerance_grad", tolerance_grad), f("tolerance_change", tolerance_change),
        f("history_size", history_size), f("line_search_fn", line_search_fn),
        f("maximize", maximize);
  }
  void complete();  // gives max_eval its default
  void check() const;
};

/// L-BFGS (Nocedal and Wright, Numerical Optimization, 2nd ed., algorithms 7.4 and 7.5), for losses
/// of whole batches: a step is up to max_iter directions d = -H g over all N parameters as one
/// vector. H is the inverse Hessian that the last history_size pairs of steps s and changes y of
/// the gradient make of (s·y / y·y) I; a pair with s·y <= 1e-10 isn't kept. The first step ever is
/// lr min(1, 1 / |g|_1) long, later ones lr; with "strong_wolfe" that is the first trial of a
/// search with c1 = 1e-4 and c2 = 0.9 (algorithms 3.5 and 3.6, cubic interpolation).
///
///     optim::LBFGS optimizer(net.parameters(), {.line_search_fn = "strong_wolfe"});
///     optimizer.step([&] {
///       optimizer.zero_grad();
///       const Tensor loss = loss_of(net);
///       loss.backward();
///       return loss;
///     });
///
/// The closure runs several times, with the parameters at each trial. A parameter without a
/// gradient counts as one with zeros. State, of the first parameter: d, prev_flat_grad (N), y and s
/// as old_dirs, old_stps (pairs, N), ro = 1 / s·y, t, H_diag, prev_loss, n_iter, func_evals.
/// Errors: no closure; several groups; parameters of several dtypes or devices; a loss that isn't
/// one number; a loss or gradient that isn't finite, where no line search can avoid it. A step that
/// throws leaves parameters and state as they were.
class LBFGS : public OptimizerOf<LBFGSOptions> {
 public:
  explicit LBFGS(List<Tensor> parameters, const LBFGSOptions& options = {});
  explicit LBFGS(List<Group> groups, const LBFGSOptions& options = {});
  /// Throws: there is one group.
  void add_param_group(List<Tensor> parameters, LBFGSOptions options = {});

  /// Returns the loss of the first evaluation.
  Tensor step(const std::function<Tensor()>& closure) override;

  State state() const override;
  void restore(const State& state) override;

 protected:
  void step_group(size_t group) override;
  void check_options(size_t group) const override;

 private:
  struct Memory {
    Tensor d, prev_flat_grad;
    std::vector<Tensor> old_dirs, old_stps;
    std::vector<double> ro;
    double t = 0, H_diag = 1, prev_loss = 0;
    int64_t n_iter = 0, func_evals = 0;
  };
  class Course;

  Memory read_memory(const State& state) const;
  /// The memory in the dtype and on the device of the parameters.
  Memory converted(const Memory& memory) const;
  int64_t numel() const;

  Memory memory_;
};

}  // namespace aorta::optim
