// Programs with control of their own: REINFORCE on a cart with a pole, and L-BFGS by hand.
#include <aorta/tests/programs/program.h>

#include <algorithm>
#include <cmath>
#include <deque>

namespace aorta::programs {
namespace {

/// A pole that stands on a cart, pushed to the left or right (Barto, Sutton and Anderson 1983).
class CartPole {
 public:
  explicit CartPole(std::vector<double> start) : state_(std::move(start)) {}
  const std::vector<double>& state() const { return state_; }
  /// True when it has fallen, or 100 steps are over.
  bool step(bool right) {
    const double x = state_[0], v = state_[1], angle = state_[2], w = state_[3];
    const double force = right ? 10 : -10, c = std::cos(angle), s = std::sin(angle);
    const double q = (force + 0.05 * w * w * s) / 1.1;
    const double turn = (9.8 * s - c * q) / (0.5 * (4.0 / 3 - 0.1 * c * c / 1.1));
    const double push = q - 0.05 * turn * c / 1.1;
    state_ = {x + 0.02 * v, v + 0.02 * push, angle + 0.02 * w, w + 0.02 * turn};
    return std::abs(state_[0]) > 2.4 || std::abs(state_[2]) > 0.2095 || ++time_ >= 100;
  }

 private:
  std::vector<double> state_;
  int time_ = 0;
};

/// torch.optim.LBFGS without line search.
class Lbfgs {
 public:
  Lbfgs(std::vector<Tensor> parameters, int max_iterations, size_t history)
      : parameters_(std::move(parameters)), max_iterations_(max_iterations), history_(history) {}

  double step(const std::function<Tensor()>& closure) {
    double loss = closure().item<double>();
    const double first = loss;
    Tensor g = gradient();
    if (max(abs(g)).item<double>() <= 1e-7) return first;
    for (int n = 1; n <= max_iterations_; ++n) {
      direct(g);
      before_ = g.clone();
      const double loss_before = loss;
      if (dot(g, direction_).item<double>() > -1e-9) break;
      move();
      if (n == max_iterations_) break;
      loss = closure().item<double>();
      g = gradient();
      if (max(abs(g)).item<double>() <= 1e-7 ||
          max(abs(direction_ * length_)).item<double>() <= 1e-9 ||
          std::abs(loss - loss_before) < 1e-9)
        break;
    }
    return first;
  }

 private:
  Tensor gradient() const {
    std::vector<Tensor> flat;
    for (const Tensor& p : parameters_) flat.push_back(p.grad().reshape({-1}));
    return cat(flat);
  }

  void direct(const Tensor& g) {
    if (iterations_++ == 0) {
      direction_ = -g;
      length_ = std::min(1.0, 1 / sum(abs(g)).item<double>());
      return;
    }
    const Tensor y = g - before_, s = direction_ * length_;
    const double ys = dot(y, s).item<double>();
    if (ys > 1e-10) {
      if (pairs_.size() == history_) pairs_.pop_front();
      pairs_.push_back({y, s, 1 / ys});
      scale_ = ys / dot(y, y).item<double>();
    }
    std::vector<double> alpha(pairs_.size());
    Tensor q = -g;
    for (size_t i = pairs_.size(); i-- > 0;) {
      alpha[i] = dot(pairs_[i].s, q).item<double>() * pairs_[i].rho;
      add_(q, pairs_[i].y, -alpha[i]);
    }
    direction_ = q * scale_;
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const double beta = dot(pairs_[i].y, direction_).item<double>() * pairs_[i].rho;
      add_(direction_, pairs_[i].s, alpha[i] - beta);
    }
    length_ = 1;
  }

  void move() {
    const NoGradGuard no_grad;
    int64_t at = 0;
    for (const Tensor& p : parameters_) {
      add_(p, direction_.slice(0, at, at + p.numel()).view(p.shape()), length_);
      at += p.numel();
    }
  }

  struct Pair {
    Tensor y, s;
    double rho;
  };
  std::vector<Tensor> parameters_;
  int max_iterations_;
  size_t history_;
  std::deque<Pair> pairs_;
  Tensor direction_, before_;
  double length_ = 1, scale_ = 1;
  int iterations_ = 0;
};

}  // namespace

Losses reinforce(DType dtype) {
  nn::Sequential net{nn::Linear(4, 32), nn::ReLU(), nn::Linear(32, 2)};
  set_weights(net, dtype);
  const Tensor starts = 0.05 * data("reinforce.starts", {kSteps, 4}, DType::f64);
  const Tensor chances = data("reinforce.chances", {kSteps, 100}, DType::f64);
  optim::Adam optimizer(net.parameters(), {.lr = 1e-2});
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    CartPole pole(starts[i].to_vector<double>());
    const std::vector<double> chance = chances[i].to_vector<double>();
    std::vector<Tensor> chosen;
    for (bool done = false; !done;) {
      const Tensor log_p = log_softmax(net(tensor(pole.state(), {1, 4}).to(dtype)), 1);
      const bool right = (chance[chosen.size()] + 1) / 2 < std::exp(log_p[0][1].item<double>());
      chosen.push_back(log_p[0][right ? 1 : 0]);
      done = pole.step(right);
    }
    std::vector<double> returns(chosen.size());
    double total = 0;
    for (size_t k = returns.size(); k-- > 0;) returns[k] = total = 1 + 0.99 * total;
    Tensor r = tensor(returns).to(dtype);
    r = (r - mean(r)) / (aorta::std(r) + 1e-6);
    const Tensor loss = -sum(stack(chosen) * r);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

Losses lbfgs(DType dtype) {
  nn::Linear net(50, 1);
  set_weights(net, dtype);
  const Tensor x =
      data("lbfgs.inputs", {200, 50}, dtype) * pow(10, linspace(0, 1.5, 50, {.dtype = dtype}));
  const Tensor y =
      matmul(x, data("lbfgs.weights", {50, 1}, dtype)) + 0.1 * data("lbfgs.noise", {200, 1}, dtype);
  Lbfgs optimizer(net.parameters(), 5, 10);
  Losses losses;
  for (int i = 0; i < kSteps; ++i) {
    losses.push_back(optimizer.step([&] {
      net.zero_grad();
      const Tensor loss = nn::mse_loss(net(x), y);
      loss.backward();
      return loss;
    }));
  }
  return losses;
}

}  // namespace aorta::programs
