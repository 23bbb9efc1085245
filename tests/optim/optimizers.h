#pragma once

// Every optimizer by name, the problem of the fixtures, and what several tests use besides.

#include <aorta/optim/adadelta.h>
#include <aorta/optim/adafactor.h>
#include <aorta/optim/adagrad.h>
#include <aorta/optim/adam.h>
#include <aorta/optim/adamax.h>
#include <aorta/optim/asgd.h>
#include <aorta/optim/muon.h>
#include <aorta/optim/nadam.h>
#include <aorta/optim/radam.h>
#include <aorta/optim/rmsprop.h>
#include <aorta/optim/rprop.h>
#include <aorta/optim/sgd.h>

#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <map>

namespace aorta::optim {

/// Makes the optimizer on groups, each with its learning rate times its factor.
struct Given {
  std::vector<Tensor> parameters;
  double lr_factor = 1;
};
using Make = std::function<std::unique_ptr<Optimizer>(const std::vector<Given>& groups)>;

template <class T>
Make optimizer_maker(const typename T::Options& options) {
  return [options](const std::vector<Given>& given) -> std::unique_ptr<Optimizer> {
    std::vector<typename T::Group> groups;
    for (const Given& g : given) {
      groups.push_back({g.parameters, options});
      groups.back().options.lr *= g.lr_factor;
    }
    return std::make_unique<T>(std::move(groups));
  };
}

/// The runs of tests/fixtures/make_optim.py.
inline const std::map<std::string, Make>& runs() {
  static const std::map<std::string, Make> map = {
      {"sgd", optimizer_maker<SGD>({.lr = 0.01})},
      {"sgd_decay", optimizer_maker<SGD>({.lr = 0.01, .weight_decay = 0.1})},
      {"sgd_momentum", optimizer_maker<SGD>({.lr = 0.01, .momentum = 0.9})},
      {"sgd_dampening",
       optimizer_maker<SGD>({.lr = 0.01, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.05})},
      {"sgd_nesterov",
       optimizer_maker<SGD>({.lr = 0.01, .momentum = 0.8, .weight_decay = 0.05, .nesterov = true})},
      {"sgd_maximize",
       optimizer_maker<SGD>({.lr = 0.0002, .momentum = 0.5, .weight_decay = 2, .maximize = true})},
      {"adagrad", optimizer_maker<Adagrad>({.lr = 0.1, .eps = 1e-10})},
      {"adagrad_all", optimizer_maker<Adagrad>({.lr = 0.1,
                                                .lr_decay = 0.01,
                                                .weight_decay = 0.1,
                                                .initial_accumulator_value = 0.2,
                                                .eps = 1e-3})},
      {"adagrad_maximize",
       optimizer_maker<Adagrad>({.lr = 0.001, .weight_decay = 0.3, .maximize = true})},
      {"adadelta", optimizer_maker<Adadelta>({})},
      {"adadelta_all",
       optimizer_maker<Adadelta>({.lr = 0.5, .rho = 0.8, .eps = 1e-4, .weight_decay = 0.1})},
      {"adadelta_maximize", optimizer_maker<Adadelta>({.lr = 0.01, .maximize = true})},
      {"adam", optimizer_maker<Adam>({.lr = 0.01})},
      {"adam_all",
       optimizer_maker<Adam>({.lr = 0.01, .betas = {0.8, 0.95}, .eps = 1e-3, .weight_decay = 0.1})},
      {"adam_amsgrad", optimizer_maker<Adam>({.lr = 0.01, .betas = {0.9, 0.9}, .amsgrad = true})},
      {"adam_maximize",
       optimizer_maker<Adam>({.lr = 0.001, .weight_decay = 0.1, .maximize = true})},
      {"adam_decoupled",
       optimizer_maker<Adam>({.lr = 0.01, .weight_decay = 0.3, .decoupled_weight_decay = true})},
      {"adamw", optimizer_maker<AdamW>({.lr = 0.01})},
      {"adamw_amsgrad",
       optimizer_maker<AdamW>(
           {.lr = 0.01, .betas = {0.7, 0.9}, .weight_decay = 0.3, .amsgrad = true})},
      {"adamw_maximize", optimizer_maker<AdamW>({.lr = 0.001, .maximize = true})},
      {"rmsprop", optimizer_maker<RMSprop>({.lr = 0.01})},
      {"rmsprop_all", optimizer_maker<RMSprop>({.lr = 0.005,
                                                .alpha = 0.9,
                                                .eps = 1e-3,
                                                .weight_decay = 0.1,
                                                .momentum = 0.5,
                                                .centered = true})},
      {"rmsprop_centered",
       optimizer_maker<RMSprop>({.lr = 0.005, .alpha = 0.95, .centered = true})},
      {"rmsprop_momentum", optimizer_maker<RMSprop>({.lr = 0.005, .momentum = 0.9})},
      {"rmsprop_maximize", optimizer_maker<RMSprop>({.lr = 0.0005, .maximize = true})},
      {"adamax", optimizer_maker<Adamax>({.lr = 0.01})},
      {"adamax_all", optimizer_maker<Adamax>(
                         {.lr = 0.01, .betas = {0.8, 0.95}, .eps = 1e-2, .weight_decay = 0.1})},
      {"adamax_maximize", optimizer_maker<Adamax>({.lr = 0.001, .maximize = true})},
      {"nadam", optimizer_maker<NAdam>({.lr = 0.01})},
      {"nadam_all", optimizer_maker<NAdam>({.lr = 0.01,
                                            .betas = {0.8, 0.95},
                                            .eps = 1e-3,
                                            .weight_decay = 0.1,
                                            .momentum_decay = 0.01})},
      {"nadam_decoupled",
       optimizer_maker<NAdam>({.lr = 0.01, .weight_decay = 0.1, .decoupled_weight_decay = true})},
      {"nadam_maximize", optimizer_maker<NAdam>({.lr = 0.001, .maximize = true})},
      {"radam", optimizer_maker<RAdam>({.lr = 0.01})},
      {"radam_all", optimizer_maker<RAdam>(
                        {.lr = 0.01, .betas = {0.8, 0.95}, .eps = 1e-3, .weight_decay = 0.1})},
      {"radam_decoupled",
       optimizer_maker<RAdam>({.lr = 0.01, .weight_decay = 0.1, .decoupled_weight_decay = true})},
      {"radam_never", optimizer_maker<RAdam>({.lr = 0.01, .betas = {0.9, 0.6}})},
      {"radam_maximize", optimizer_maker<RAdam>({.lr = 0.001, .maximize = true})},
      {"rprop", optimizer_maker<Rprop>({})},
      {"rprop_all",
       optimizer_maker<Rprop>({.lr = 0.1, .etas = {0.3, 1.5}, .step_sizes = {1e-3, 0.2}})},
      {"rprop_maximize",
       optimizer_maker<Rprop>({.lr = 1e-4, .step_sizes = {1e-6, 1e-3}, .maximize = true})},
      {"asgd", optimizer_maker<ASGD>({.lr = 0.01})},
      {"asgd_all", optimizer_maker<ASGD>(
                       {.lr = 0.05, .lambd = 0.1, .alpha = 0.5, .t0 = 100, .weight_decay = 0.1})},
      {"asgd_maximize", optimizer_maker<ASGD>({.lr = 0.0002, .lambd = 0.5, .maximize = true})},
  };
  return map;
}

/// The optimizers whose rule sees a parameter as a whole, and takes temporary memory: the runs of
/// make_optim.py that have two matrices, the second one wide.
inline const std::map<std::string, Make>& matrix_runs() {
  static const std::map<std::string, Make> map = {
      {"adafactor", optimizer_maker<Adafactor>({})},
      {"adafactor_all",
       optimizer_maker<Adafactor>(
           {.lr = 0.05, .beta2_decay = -0.5, .eps = {1e-4, 1e-2}, .d = 1.5, .weight_decay = 0.1})},
      {"adafactor_maximize", optimizer_maker<Adafactor>({.lr = 0.001, .maximize = true})},
      {"muon_f64", optimizer_maker<Muon>({.lr = 0.01, .bf16 = false})},
      {"muon_f64_all", optimizer_maker<Muon>({.lr = 0.01,
                                              .weight_decay = 0.3,
                                              .momentum = 0.8,
                                              .nesterov = false,
                                              .ns_coefficients = {2, -1.5, 0.5},
                                              .ns_steps = 7,
                                              .adjust_lr_fn = "match_rms_adamw",
                                              .bf16 = false})},
      {"muon_f64_spectral",
       optimizer_maker<Muon>({.lr = 0.01, .adjust_lr_fn = "spectral_unclamped", .bf16 = false})},
      {"muon", optimizer_maker<Muon>({.lr = 0.01})},
  };
  return map;
}

/// The problem of the fixtures: two groups, gradients of a quadratic with noise.
class Problem {
 public:
  explicit Problem(DType dtype, const std::function<Tensor(const Tensor&)>& lay_out = {},
                   const Shape& second = {5}) {
    int64_t first = 0;
    for (const Shape& shape : {Shape{4, 3}, second}) {
      Part part;
      for (int64_t i = first; i < first + shape.numel(); ++i) {
        const double x = static_cast<double>(i);
        part.curvature.push_back(0.5 + 0.1 * x);
        part.minimum.push_back(1 - 0.15 * x);
        part.start.push_back(std::cos(x));
        part.index.push_back(x);
      }
      Tensor parameter = tensor(part.start, shape).to(dtype);
      if (lay_out) parameter = lay_out(parameter);
      part.parameter = parameter.requires_grad_();
      parts_.push_back(part);
      first += shape.numel();
    }
  }

  std::vector<Given> groups() const {
    return {{{parts_[0].parameter}, 1}, {{parts_[1].parameter}, 0.5}};
  }
  const Tensor& parameter(size_t i) const { return parts_[i].parameter; }

  /// Gradients of step t; the second group has none in every fifth.
  void set_gradients(int64_t t, const std::function<Tensor(const Tensor&)>& lay_out = {}) const {
    for (const Part& part : parts_) {
      const Tensor& p = part.parameter;
      p.set_grad({});
      if (&part == &parts_[1] && t % 5 == 0) continue;
      std::vector<double> noise;
      for (double i : part.index)
        noise.push_back(0.5 * std::sin(12.9898 * (i + 1) + 78.233 * static_cast<double>(t)));
      const auto constant = [&](const std::vector<double>& values) {
        return tensor(values, p.shape()).to(p.dtype());
      };
      const Tensor gradient =
          constant(part.curvature) * (p.detach() - constant(part.minimum)) + constant(noise);
      p.set_grad(lay_out ? lay_out(gradient) : gradient);
    }
  }
  /// All parameters, row-major.
  std::vector<double> values() const {
    std::vector<double> all;
    for (const Part& part : parts_) {
      const std::vector<double> values = part.parameter.to_vector<double>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

 private:
  struct Part {
    std::vector<double> index, curvature, minimum, start;
    Tensor parameter;
  };
  std::vector<Part> parts_;
};

inline Tensor leaf(const std::vector<double>& values, DType dtype = DType::f64) {
  return tensor(values).to(dtype).requires_grad_();
}

inline void expect_same_bits(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  ASSERT_EQ(a.dtype(), b.dtype()) << what;
  const Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  EXPECT_EQ(std::memcmp(x.data(), y.data(), static_cast<size_t>(x.nbytes())), 0) << what;
}

}  // namespace aorta::optim
