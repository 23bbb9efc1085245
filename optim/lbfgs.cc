#include <aorta/optim/lbfgs.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/shard.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/optim/wolfe.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace aorta::optim {
namespace {

constexpr const char* kLbfgs = "lbfgs";
constexpr const char* kLoadState = "load_state_dict";
constexpr const char* kPrefix = "state.0.";
constexpr double kLeastCurvature = 1e-10;

double product(const Tensor& a, const Tensor& b) { return dot(a, b).item<double>(); }
double largest(const Tensor& x) { return max(abs(x)).item<double>(); }

void check_group_count(size_t count) {
  check(count == 1, kLbfgs, "there must be one group", count);
}

}  // namespace

void LBFGSOptions::complete() {
  if (max_eval.is_named()) return;
  // A negative one is refused by check().
  const int64_t quarter = std::max<int64_t>(0, max_iter) / 4;
  const int64_t most = std::numeric_limits<int64_t>::max();
  max_eval = Default(max_iter > most - quarter ? most : max_iter + quarter);
}

void LBFGSOptions::check() const {
  aorta::check(lr > 0 && std::isfinite(lr), kLbfgs, "lr must be above 0 and finite", lr);
  aorta::check(max_iter >= 1, kLbfgs, "max_iter must be at least 1", max_iter);
  aorta::check(max_eval >= 1, kLbfgs, "max_eval must be at least 1", max_eval);
  aorta::check(tolerance_grad >= 0, kLbfgs, "tolerance_grad must be at least 0", tolerance_grad);
  aorta::check(tolerance_change >= 0, kLbfgs, "tolerance_change must be at least 0",
               tolerance_change);
  aorta::check(history_size >= 1, kLbfgs, "history_size must be at least 1", history_size);
  const std::string& search = line_search_fn;
  aorta::check(search == "none" || search == "strong_wolfe", kLbfgs,
               "line_search_fn must be none or strong_wolfe", io::quote(search));
}

LBFGS::LBFGS(List<Tensor> parameters, const LBFGSOptions& options)
    : LBFGS(std::vector<Group>{{std::move(parameters), options}}, options) {}
LBFGS::LBFGS(List<Group> groups, const LBFGSOptions& options)
    : OptimizerOf((check_group_count(groups.size()), std::move(groups)), options) {
  LBFGS::check_options(0);
}

void LBFGS::add_param_group(List<Tensor>, LBFGSOptions) { check_group_count(group_count() + 1); }

void LBFGS::check_options(size_t group) const {
  OptimizerOf::check_options(group);
  check_group_count(group_count());
  const std::vector<Tensor>& all = parameters();
  for (const Tensor& p : all) {
    autograd::check_whole(kLbfgs, p);
    check(p.dtype() == all[0].dtype(), kLbfgs, "parameters must be of one dtype", all[0].dtype(),
          " and ", p.dtype());
    check(p.device() == all[0].device(), kLbfgs, "parameters must be on one device",
          all[0].device(), " and ", p.device());
  }
}

void LBFGS::step_group(size_t) {
  fail(kLbfgs, "a step must have a closure that computes the loss again", "none");
}

int64_t LBFGS::numel() const {
  int64_t count = 0;
  for (const Tensor& p : parameters()) count += p.numel();
  return count;
}

// The parameters along one direction, and what the closure says of where they are.
class LBFGS::Course {
 public:
  Course(const LBFGS& self, const std::function<Tensor()>& closure)
      : parameters_(self.parameters()),
        closure_(closure),
        sign_(self.options().maximize ? -1 : 1),
        dtype_(compute_dtype(parameters_[0].dtype())) {
    settle();
    first_ = start_;
  }

  /// Where the next moves start: here.
  void settle() {
    start_.clear();
    for (const Tensor& p : parameters_) start_.push_back(p.detach().to(dtype_).clone());
  }
  /// To start + t d.
  void move(double t, const Tensor& d) const {
    int64_t offset = 0;
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Tensor part = d.narrow(0, offset, start_[i].numel()).view(start_[i].shape());
      parameters_[i].copy_(add(start_[i], part, t));
      offset += start_[i].numel();
    }
  }
  /// To where the step began.
  void go_back() const {
    for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(first_[i]);
  }

  /// Loss and gradient here; t and the slope are the caller's.
  wolfe::Trial evaluate() {
    {
      const EnableGradGuard recording;
      last_loss = closure_();
    }
    check(last_loss.defined(), kLbfgs, "the closure must return the loss", "nothing");
    check(last_loss.numel() == 1, kLbfgs, "the loss must be one number", last_loss.shape());
    ++evaluations;
    std::vector<Tensor> parts;
    for (const Tensor& p : parameters_) {
      const Tensor g = p.grad();
      parts.push_back(g.defined() ? g.detach().to(dtype_).reshape({-1})
                                  : zeros({p.numel()}, {.dtype = dtype_, .device = p.device()}));
    }
    wolfe::Trial here;
    here.loss = sign_ * last_loss.detach().item<double>();
    here.gradient = sign_ * cat(parts);
    here.largest = largest(here.gradient);
    return here;
  }
  /// Evaluates where there is no way around a place that isn't finite.
  wolfe::Trial evaluate_finite() {
    wolfe::Trial here = evaluate();
    check(here.is_finite(), kLbfgs, "the loss and its gradient must be finite", sign_ * here.loss,
          " with a gradient of up to ", here.largest, " in evaluation ", evaluations);
    return here;
  }

  Tensor last_loss;
  int64_t evaluations = 0;

 private:
  const std::vector<Tensor>& parameters_;
  const std::function<Tensor()>& closure_;
  double sign_;
  DType dtype_;
  std::vector<Tensor> start_, first_;
};

namespace {

// -H g by the two loops over the pairs, from the newest and from the oldest.
Tensor direction(const Tensor& gradient, const std::vector<Tensor>& ys,
                 const std::vector<Tensor>& ss, const std::vector<double>& ro, double scale) {
  const Tensor r = -gradient;
  std::vector<double> alphas(ys.size());
  for (size_t i = ys.size(); i-- > 0;) {
    alphas[i] = product(ss[i], r) * ro[i];
    add_(r, ys[i], -alphas[i]);
  }
  mul_(r, scale);
  for (size_t i = 0; i < ys.size(); ++i) add_(r, ss[i], alphas[i] - product(ys[i], r) * ro[i]);
  return r;
}

}  // namespace

Tensor LBFGS::step(const std::function<Tensor()>& closure) {
  check(bool(closure), "optimizer", "the closure must be a function", "an empty one");
  const ProfilerRange range("optimizer step");
  const NoGradGuard no_grad;
  check_options(0);
  const LBFGSOptions& o = options();
  if (numel() == 0) {
    const EnableGradGuard recording;
    return closure();
  }
  Course course(*this, closure);
  Memory m = converted(memory_);
  Tensor first_loss;
  try {
    wolfe::Trial here = course.evaluate_finite();
    first_loss = course.last_loss;
    bool done = here.largest <= o.tolerance_grad;
    for (int64_t i = 1; !done; ++i) {
      ++m.n_iter;
      if (m.n_iter == 1) {
        m.d = -here.gradient;
        m.H_diag = 1;
        m.t = std::min(1.0, 1 / sum(abs(here.gradient)).item<double>()) * o.lr;
      } else {
        const Tensor y = here.gradient - m.prev_flat_grad, s = m.d * m.t;
        const double curvature = product(y, s);
        if (curvature > kLeastCurvature) {
          m.old_dirs.push_back(y);
          m.old_stps.push_back(s);
          m.ro.push_back(1 / curvature);
          m.H_diag = curvature / product(y, y);
        }
        while (static_cast<int64_t>(m.ro.size()) > o.history_size) {
          m.old_dirs.erase(m.old_dirs.begin());
          m.old_stps.erase(m.old_stps.begin());
          m.ro.erase(m.ro.begin());
        }
        m.d = direction(here.gradient, m.old_dirs, m.old_stps, m.ro, m.H_diag);
        m.t = o.lr;
      }
      m.prev_flat_grad = here.gradient;
      m.prev_loss = here.loss;
      here.t = 0;
      here.slope = product(here.gradient, m.d);
      if (here.slope > -o.tolerance_change) break;

      course.settle();
      if (static_cast<const std::string&>(o.line_search_fn) == "strong_wolfe") {
        const auto trial = [&](double t) {
          course.move(t, m.d);
          wolfe::Trial there = course.evaluate();
          there.t = t;
          there.slope = product(there.gradient, m.d);
          return there;
        };
        here = wolfe::search(trial, here, m.t, o.max_eval - course.evaluations, largest(m.d),
                             o.tolerance_change);
        m.t = here.t;
        course.move(m.t, m.d);
      } else {
        course.move(m.t, m.d);
        if (i < o.max_iter) here = course.evaluate_finite();
      }
      done = i >= o.max_iter || course.evaluations >= o.max_eval ||
             here.largest <= o.tolerance_grad || largest(m.d * m.t) <= o.tolerance_change ||
             std::fabs(here.loss - m.prev_loss) < o.tolerance_change;
    }
  } catch (...) {
    course.go_back();
    throw;
  }
  m.func_evals += course.evaluations;
  memory_ = std::move(m);
  return first_loss;
}

LBFGS::Memory LBFGS::converted(const Memory& memory) const {
  Memory m = memory;
  const Tensor& p = parameters()[0];
  const auto convert = [&](Tensor& x) {
    if (x.defined()) x = x.to(compute_dtype(p.dtype())).to(p.device());
  };
  convert(m.d);
  convert(m.prev_flat_grad);
  for (Tensor& y : m.old_dirs) convert(y);
  for (Tensor& s : m.old_stps) convert(s);
  return m;
}

State LBFGS::state() const {
  State result = OptimizerOf::state();
  const Memory& m = memory_;
  if (m.func_evals == 0) return result;
  const auto set = [&](const char* name, const auto& entry) {
    result.set(kPrefix + std::string(name), entry);
  };
  set("func_evals", State::Value(m.func_evals));
  set("n_iter", State::Value(m.n_iter));
  if (m.n_iter == 0) return result;
  set("d", m.d);
  set("prev_flat_grad", m.prev_flat_grad);
  set("t", State::Value(m.t));
  set("H_diag", State::Value(m.H_diag));
  set("prev_loss", State::Value(m.prev_loss));
  if (m.ro.empty()) return result;
  set("old_dirs", stack(std::vector<Tensor>(m.old_dirs.begin(), m.old_dirs.end())));
  set("old_stps", stack(std::vector<Tensor>(m.old_stps.begin(), m.old_stps.end())));
  set("ro", State::Value(std::vector<double>(m.ro.begin(), m.ro.end())));
  return result;
}

LBFGS::Memory LBFGS::read_memory(const State& state) const {
  Memory m;
  if (state.empty()) return m;
  std::vector<std::string> names = {"func_evals", "n_iter"};
  m.func_evals = state.get<int64_t>("func_evals");
  m.n_iter = state.get<int64_t>("n_iter");
  check(m.func_evals >= 1 && m.n_iter >= 0, kLoadState,
        "func_evals must be at least 1 and n_iter at least 0", m.func_evals, " and ", m.n_iter);
  const auto tensor_of = [&](const char* name, const Shape& shape) {
    const Tensor& tensor = state.tensor(name);
    check(tensor.shape() == shape, kLoadState, "state must have the shape that the rule gives it",
          io::quote(std::string(kPrefix) + name), " of ", tensor.shape(), " for ", shape);
    check(is_floating(tensor.dtype()), kLoadState, "state must be of a floating dtype",
          io::quote(std::string(kPrefix) + name), " of ", tensor.dtype());
    return tensor.detach().clone();
  };
  if (m.n_iter > 0) {
    names.insert(names.end(), {"d", "prev_flat_grad", "t", "H_diag", "prev_loss"});
    m.d = tensor_of("d", {numel()});
    m.prev_flat_grad = tensor_of("prev_flat_grad", {numel()});
    m.t = state.get<double>("t");
    m.H_diag = state.get<double>("H_diag");
    m.prev_loss = state.get<double>("prev_loss");
  }
  if (m.n_iter > 0 && state.contains("ro")) {
    names.insert(names.end(), {"old_dirs", "old_stps", "ro"});
    const auto ro = state.get<std::vector<double>>("ro");
    m.ro.assign(ro.begin(), ro.end());
    const auto pairs = static_cast<int64_t>(ro.size());
    const Tensor ys = tensor_of("old_dirs", {pairs, numel()}),
                 ss = tensor_of("old_stps", {pairs, numel()});
    for (int64_t i = 0; i < pairs; ++i) {
      m.old_dirs.push_back(ys[i].clone());
      m.old_stps.push_back(ss[i].clone());
    }
  }
  state.check_names(names);
  return m;
}

void LBFGS::restore(const State& state) {
  const NoGradGuard no_grad;
  State rest;
  for (const auto& [name, tensor] : state.tensors())
    if (!name.starts_with(kPrefix)) rest.set(name, tensor);
  for (const auto& [name, value] : state.values())
    if (!name.starts_with(kPrefix)) rest.set(name, value);
  Memory memory = read_memory(state.with_prefix(kPrefix));
  if (numel() > 0) memory = converted(memory);
  OptimizerOf::restore(rest);
  memory_ = std::move(memory);
}

}  // namespace aorta::optim
