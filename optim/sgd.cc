#include <aorta/optim/sgd.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/optim/group.h>

#include <algorithm>

namespace aorta::optim {

namespace {

constexpr const char* kSgd = "sgd";
constexpr StateName kVelocity{"momentum_buffer"};
// Where a parameter was before look_ahead().
constexpr StateName kOrigin{"origin", 0, false};

bool looks_ahead(const SGDOptions& o) { return o.dialect == Dialect::paper && o.nesterov; }

UpdateNumbers<double> numbers_of(const SGDOptions& o, const Progress& progress) {
  UpdateNumbers<double> n;
  n.step_size = o.lr;
  n.sign = o.maximize ? -1 : 1;
  n.weight_decay = o.weight_decay;
  n.momentum = o.momentum;
  n.mix = progress.first ? 1 : 1 - o.dampening;
  return n;
}

UpdateRule rule_of(const SGDOptions& o) {
  if (o.momentum == 0) return UpdateRule::sgd;
  if (o.dialect == Dialect::paper)
    return o.nesterov ? UpdateRule::paper_nesterov : UpdateRule::paper_momentum;
  return o.nesterov ? UpdateRule::sgd_nesterov : UpdateRule::sgd_momentum;
}

}  // namespace

void SGDOptions::check() const {
  aorta::check(lr >= 0, kSgd, "lr must be at least 0", lr);
  aorta::check(momentum >= 0, kSgd, "momentum must be at least 0", momentum);
  aorta::check(weight_decay >= 0, kSgd, "weight_decay must be at least 0", weight_decay);
  aorta::check(!nesterov || (momentum > 0 && dampening == 0), kSgd,
               "nesterov needs momentum above 0 and no dampening", "momentum ", momentum,
               ", dampening ", dampening);
  aorta::check(dialect == Dialect::pytorch || dampening == 0, kSgd,
               "the paper's rule has no dampening", dampening);
}

GradientKinds SGD::gradient_kinds(size_t group) const {
  const SGDOptions& o = options(group);
  return o.momentum == 0 && o.weight_decay == 0 ? GradientKinds::any : GradientKinds::dense;
}

void SGD::look_ahead() {
  check(ahead_.empty(), kSgd, "look_ahead must be followed by step or look_back",
        "a second look_ahead");
  const NoGradGuard no_grad;
  for (size_t g = 0; g < group_count(); ++g) {
    const SGDOptions& o = options(g);
    if (!looks_ahead(o)) continue;
    o.check();
    ahead_.push_back(g);
    data(g).fused_step(
        UpdateRule::paper_look_ahead, {kVelocity, kOrigin},
        [&](const Progress& progress) { return numbers_of(o, progress); }, nullptr, false);
  }
}

void SGD::look_back() {
  const NoGradGuard no_grad;
  for (size_t g : ahead_) {
    GroupData& group = data(g);
    const StateKind& origin = group.kind(kOrigin);
    for (size_t i = 0; i < group.parameters.size(); ++i)
      group.parameters[i].copy_(group.state_of(origin, i));
  }
  ahead_.clear();
}

void SGD::step_group(size_t g) {
  const SGDOptions& o = options(g);
  GroupData& group = data(g);
  const auto ahead = std::find(ahead_.begin(), ahead_.end(), g);
  check(looks_ahead(o) == (ahead != ahead_.end()), kSgd,
        looks_ahead(o)
            ? "the paper's Nesterov takes its gradient at theta - mu v: call look_ahead() before "
              "the forward pass, or step(closure)"
            : "the dialect and nesterov must stay between look_ahead and step",
        "group ", g);
  const UpdateRule rule = rule_of(o);
  const auto numbers = [&](const Progress& progress) { return numbers_of(o, progress); };
  if (rule == UpdateRule::sgd) {
    group.fused_step(rule, {}, numbers);
  } else if (rule != UpdateRule::paper_nesterov) {
    group.fused_step(rule, {kVelocity}, numbers);
  } else {
    group.fused_step(rule, {kVelocity, kOrigin}, numbers);
    const StateKind& origin = group.kind(kOrigin);
    for (size_t i = 0; i < group.parameters.size(); ++i) {
      if (!group.parameters[i].grad().defined())
        group.parameters[i].copy_(group.state_of(origin, i));
    }
    ahead_.erase(ahead);
  }
}

StateNames SGD::state_names(size_t) const { return {.optional = {kVelocity.name}}; }

void SGD::check_at_rest(const char* op) const {
  check(ahead_.empty(), op, "parameters must be where the last step left them",
        "a look_ahead without step or look_back");
}

}  // namespace aorta::optim
