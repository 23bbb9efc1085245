#include <aorta/autograd/backward.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/gradcheck.h>
#include <aorta/autograd/history.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace aorta::autograd {
namespace {

constexpr double kNearZero = 1e-9;
// Left and right derivatives that differ by more than this share stand at a kink.
constexpr double kKink = 1e-3;
constexpr int kDirections = 4;

using Tensors = std::vector<Tensor>;

// A numeric derivative, with what rounding of the function's values may add to it. It is smooth
// where left and right agree, and so do two steps: elsewhere (kinks, jumps, poles near by) it says
// nothing.
struct Difference {
  double value = 0;
  double noise = 0;
  bool smooth = true;
};

// A function's weighted values: their sum, and that of their magnitudes.
struct WeightedSum {
  double sum = 0;
  double magnitude = 0;
};

class Check {
 public:
  Check(const DifferentiableFunction& function, const Tensors& inputs,
        const GradcheckOptions& options)
      : function_(function), inputs_(inputs), options_(options), generator_(options.seed, 0x6772) {}

  std::string run() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].defined() || !inputs_[i].requires_grad()) continue;
      check(inputs_[i].dtype() == DType::f64, "gradcheck",
            "inputs that require a gradient must be f64", "input ", i, ": ", inputs_[i].dtype());
      check(inputs_[i].is_leaf(), "gradcheck", "inputs that require a gradient must be leaves",
            "input ", i);
      checked_.push_back(i);
      originals_.push_back(inputs_[i].detach().clone());
    }
    check(!checked_.empty(), "gradcheck", "an input must require a gradient", inputs_.size(),
          " inputs");
    const Tensors outputs = call();
    std::vector<size_t> differentiable;
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!outputs[k].defined() || !is_floating(outputs[k].dtype())) continue;
      if (!outputs[k].requires_grad())
        return "output " + std::to_string(k) + " requires no gradient though an input does";
      differentiable.push_back(k);
    }
    if (!options_.full_jacobian) return check_directions(differentiable);
    for (size_t k : differentiable) {
      const std::string wrong = check_jacobian(k);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  Tensors call() const {
    const EnableGradGuard recording;
    return outputs();
  }

  // The function's, of complex ones their parts.
  Tensors outputs() const {
    Tensors result = function_(inputs_);
    for (Tensor& output : result)
      if (output.defined() && output.is_complex()) output = view_as_real(output);
    return result;
  }

  // The sum of <weights[k], output k> without recording; an undefined weight leaves an output out.
  WeightedSum value(const Tensors& weights) const {
    const NoGradGuard no_grad;
    const Tensors outputs = this->outputs();
    WeightedSum total;
    for (size_t k = 0; k < weights.size(); ++k) {
      if (!weights[k].defined()) continue;
      const Tensor weighted = (outputs[k] * weights[k]).to(DType::f64);
      total.sum += sum(weighted).item<double>();
      total.magnitude += sum(abs(weighted)).item<double>();
    }
    return total;
  }

  // Computes the weighted sum with input `checked_[i]` moved by `step` along `direction`.
  WeightedSum moved(const Tensors& weights, size_t i, const Tensor& direction, double step) const {
    const Tensor elements = inputs_[checked_[i]].detach();
    elements.copy_(originals_[i] + direction * step);
    const WeightedSum result = value(weights);
    elements.copy_(originals_[i]);
    return result;
  }

  Difference differentiate(const Tensors& weights, size_t i, const Tensor& direction) const {
    const double h = options_.step;
    double noise = 0;
    const auto at = [&](double steps) {
      const WeightedSum found = moved(weights, i, direction, steps * h);
      noise = std::max(noise, 4 * std::numeric_limits<double>::epsilon() * found.magnitude / h);
      return found.sum;
    };
    const double center = at(0), right = at(1), right2 = at(2), left = at(-1), left2 = at(-2);
    const double from_right = (-3 * center + 4 * right - right2) / (2 * h);
    const double from_left = (3 * center - 4 * left + left2) / (2 * h);
    const double scale = std::max({std::abs(from_right), std::abs(from_left), 1e-3});
    const double wide = (8 * (right - left) - (right2 - left2)) / (12 * h);
    Difference result{(8 * (at(0.5) - at(-0.5)) - (right - left)) / (6 * h), noise};
    result.smooth =
        std::abs(from_right - from_left) <= kKink * scale + noise && agree(wide, result);
    return result;
  }

  bool agree(double analytic, const Difference& numeric) const {
    const double allowed = options_.atol + options_.rtol * std::abs(numeric.value) + numeric.noise;
    return std::isfinite(numeric.value) && std::abs(analytic - numeric.value) <= allowed;
  }

  Tensor random_like(const Tensor& like) {
    Tensor result = uniform_(empty(like.shape(), {.dtype = DType::f64}), 0.5, 1.5, &generator_);
    const Tensor sign = bernoulli_(empty_like(result), 0.5, &generator_) * 2 - 1;
    return (result * sign).to(like.dtype());
  }

  // The gradients with respect to the checked inputs; zeros where none arrive.
  Tensors analytic(const Tensors& outputs, const Tensors& weights) const {
    Tensors wanted, used, used_weights;
    for (size_t i : checked_) wanted.push_back(inputs_[i]);
    for (size_t k = 0; k < weights.size(); ++k) {
      if (!weights[k].defined()) continue;
      used.push_back(outputs[k]);
      used_weights.push_back(weights[k]);
    }
    Tensors gradients =
        grad(used, wanted, used_weights, {.retain_graph = true, .allow_unused = true});
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) gradients[i] = zeros_like(originals_[i]);
    }
    return gradients;
  }

  // Which of several outputs is wrong is asked when one is.
  std::string check_directions(const std::vector<size_t>& differentiable) {
    Tensors outputs = call();
    Tensors weights(outputs.size());
    int64_t size = 0;
    for (size_t k : differentiable) {
      weights[k] = random_like(outputs[k]);
      size += outputs[k].numel();
    }
    const Tensors gradients = analytic(outputs, weights);
    for (size_t i = 0; i < checked_.size(); ++i) {
      if (originals_[i].numel() == 0 || size == 0) continue;
      bool seen = false;
      for (int turn = 0; turn < kDirections && !seen; ++turn) {
        const Tensor direction = random_like(originals_[i]);
        const double expected = sum(gradients[i] * direction).item<double>();
        const Difference numeric = differentiate(weights, i, direction);
        seen = std::abs(numeric.value) > kNearZero;
        if (numeric.smooth && agree(expected, numeric)) continue;
        const std::string wrong = check_elements(differentiable, weights, i);
        if (!wrong.empty()) return wrong;
        seen = true;
      }
      if (!seen && !options_.allow_vacuous) return near_zero(outputs[differentiable[0]], i);
    }
    return "";
  }

  // Input i element by element, output by output.
  std::string check_elements(const std::vector<size_t>& differentiable, const Tensors& weights,
                             size_t i) {
    Elements all;
    for (size_t k : differentiable) {
      const Tensors outputs = call();
      Tensors one(weights.size());
      one[k] = weights[k];
      const Elements elements = compare(one, i, analytic(outputs, one)[i]);
      if (elements.worst_place >= 0) return mismatch(k, outputs[k], i, elements);
      all.smooth += elements.smooth;
      all.largest = std::max(all.largest, elements.largest);
    }
    const Tensor output = call()[differentiable[0]];
    if (options_.allow_vacuous) return "";
    if (all.smooth == 0)
      return "every element of input " + std::to_string(checked_[i]) + " lies at a kink" +
             of(output);
    return all.largest <= kNearZero ? near_zero(output, i) : "";
  }

  std::string check_jacobian(size_t k) {
    const Tensors outputs = call();
    std::vector<Tensors> rows, jacobian;
    for (int64_t element = 0; element < outputs[k].numel(); ++element) {
      Tensors row(outputs.size());
      row[k] = zeros(outputs[k].shape(), {.dtype = outputs[k].dtype()});
      row[k].view({-1}).select(0, element).fill_(1);
      jacobian.push_back(analytic(outputs, row));
      rows.push_back(std::move(row));
    }
    for (size_t row = 0; row < rows.size(); ++row) {
      for (size_t i = 0; i < checked_.size(); ++i) {
        const Elements elements = compare(rows[row], i, jacobian[row][i]);
        if (elements.worst_place >= 0) return mismatch(k, outputs[k], i, elements);
      }
    }
    return "";
  }

  // What a comparison of all elements of an input finds.
  struct Elements {
    int64_t smooth = 0;        // elements that aren't at a kink
    double largest = 0;        // numeric derivative, in magnitude
    int64_t worst_place = -1;  // of those that don't agree
    double analytic = 0, numeric = 0;
  };

  Elements compare(const Tensors& weights, size_t i, const Tensor& gradient) const {
    const int64_t count = originals_[i].numel();
    const Tensor flat = gradient.reshape({-1});
    Elements result;
    double worst = 0;
    for (int64_t e = 0; e < count; ++e) {
      const Tensor direction = zeros({count}, {.dtype = DType::f64});
      direction.select(0, e).fill_(1);
      const Difference numeric = differentiate(weights, i, direction.view(originals_[i].shape()));
      if (!numeric.smooth) continue;
      const double mine = flat.select(0, e).item<double>();
      ++result.smooth;
      result.largest = std::max(result.largest, std::abs(numeric.value));
      const double error = std::abs(mine - numeric.value);
      if (agree(mine, numeric) || (result.worst_place >= 0 && error <= worst)) continue;
      worst = error;
      result.worst_place = e;
      result.analytic = mine;
      result.numeric = numeric.value;
    }
    return result;
  }

  static std::string of(const Tensor& output) {
    const Edge edge = edge_of(output);
    return edge.node ? " of " + edge.node->description() : "";
  }

  std::string near_zero(const Tensor& output, size_t i) const {
    return "the gradient of input " + std::to_string(checked_[i]) + of(output) +
           " is 0 in every direction tried, so that a wrong one would not be seen (allow_vacuous "
           "admits it)";
  }

  std::string mismatch(size_t k, const Tensor& output, size_t i, const Elements& found) const {
    const Shape& shape = originals_[i].shape();
    Dims index = shape;
    int64_t place = found.worst_place;
    for (int d = shape.size() - 1; d >= 0; --d) {
      index[d] = place % shape[d];
      place /= shape[d];
    }
    char values[96];
    std::snprintf(values, sizeof values, "analytic %.9g, numeric %.9g", found.analytic,
                  found.numeric);
    return "the gradient of input " + std::to_string(checked_[i]) + of(output) + " (output " +
           std::to_string(k) + ") is wrong; worst at element " + to_string(index) + " of " +
           to_string(shape) + ": " + values;
  }

  const DifferentiableFunction& function_;
  const Tensors& inputs_;
  const GradcheckOptions& options_;
  Generator generator_;
  std::vector<size_t> checked_;  // inputs that require a gradient
  Tensors originals_;            // their elements
};

}  // namespace

GradcheckResult gradcheck(const DifferentiableFunction& function, const List<Tensor>& inputs,
                          const GradcheckOptions& options) {
  return {Check(function, inputs, options).run()};
}

GradcheckResult gradgradcheck(const DifferentiableFunction& function, const List<Tensor>& inputs,
                              const GradcheckOptions& options, const List<Tensor>& grad_outputs) {
  Tensors all = inputs;
  std::vector<size_t> outputs_used;
  {
    const EnableGradGuard recording;
    const Tensors outputs = function(inputs);
    Generator generator(options.seed, 0x6767);
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!outputs[k].defined() || !outputs[k].requires_grad()) continue;
      const Tensor given = outputs_used.size() < grad_outputs.size()
                               ? grad_outputs[outputs_used.size()]
                               : uniform_(empty_like(outputs[k].detach()), 0.5, 1.5, &generator);
      all.push_back(given.detach().clone().requires_grad_());
      outputs_used.push_back(k);
    }
  }
  const size_t count = inputs.size();
  const DifferentiableFunction gradients = [&](const Tensors& given) -> Tensors {
    const EnableGradGuard recording;
    const Tensors arguments(given.begin(), given.begin() + static_cast<ptrdiff_t>(count));
    const Tensors outputs = function(arguments);
    Tensors used, wanted;
    for (size_t k : outputs_used) used.push_back(outputs[k]);
    for (const Tensor& argument : arguments) {
      if (argument.defined() && argument.requires_grad()) wanted.push_back(argument);
    }
    const std::span<const Tensor> weights(given.data() + count, given.size() - count);
    Tensors result = grad(used, wanted, weights, {.create_graph = true, .allow_unused = true});
    for (size_t i = 0; i < result.size(); ++i) {
      if (!result[i].defined()) result[i] = zeros_like(wanted[i].detach());
      // A gradient that depends on nothing is still compared: with finite differences of 0.
      if (!result[i].requires_grad()) result[i] = result[i] + wanted[i] * 0;
    }
    return result;
  };
  GradcheckOptions second = options;
  second.allow_vacuous = true;  // linear in one input, say
  GradcheckResult result = gradcheck(gradients, all, second);
  if (!result) result.message = "second derivative: " + result.message;
  return result;
}

}  // namespace aorta::autograd
