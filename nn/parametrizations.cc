#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/linalg_norms.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/nn/conv.h>
#include <aorta/nn/parametrization_list.h>
#include <aorta/nn/parametrizations.h>

#include <fmt/format.h>

namespace aorta::nn {
namespace {

class WeightNorm : public Parametrization {
 public:
  explicit WeightNorm(const std::optional<int64_t>& dim) : dim_(dim) {}

  Tensor compute(const std::vector<Tensor>& originals) const override {
    return originals[1] * (originals[0] / length(originals[1]));
  }
  std::vector<Tensor> right_inverse(const Tensor& value) const override {
    return {length(value), value};
  }
  std::string type_name() const override { return "WeightNorm"; }
  std::string extra_repr() const override {
    return fmt::format("dim={}", dim_ ? std::to_string(*dim_) : "None");
  }

 private:
  Tensor length(const Tensor& v) const {
    if (!dim_) return linalg::vector_norm(v);
    const int kept = wrap_dim("weight_norm", *dim_, v.dim());
    Dims others;
    for (int d = 0; d < v.dim(); ++d)
      if (d != kept) others.push_back(d);
    return others.empty() ? abs(v) : linalg::vector_norm(v, 2, others, true);
  }

  std::optional<int64_t> dim_;
};

class SpectralNorm : public Parametrization {
 public:
  SpectralNorm(const Tensor& weight, const SpectralNormOptions& options)
      : options_(options),
        u_(*this, "_u", weight.dim() > 1 ? direction(rows_of(weight).size(0), weight) : Tensor()),
        v_(*this, "_v", weight.dim() > 1 ? direction(rows_of(weight).size(1), weight) : Tensor()) {
    check(options.n_power_iterations > 0, "spectral_norm", "n_power_iterations must be positive",
          options.n_power_iterations);
    if (u_.defined()) iterate(rows_of(weight), 15);
  }

  Tensor forward(const Tensor& weight) const override {
    if (!u_.defined()) return normalize(weight, 2, 0, options_.eps);
    const Tensor rows = rows_of(weight);
    if (is_training()) iterate(rows, options_.n_power_iterations);
    // The next call changes u and v before this one's gradients may have been computed.
    return weight / dot(u_.clone(), mv(rows, v_.clone()));
  }
  std::string type_name() const override { return "SpectralNorm"; }
  std::string extra_repr() const override {
    return fmt::format("n_power_iterations={}, eps={}", options_.n_power_iterations, options_.eps);
  }

 private:
  Tensor rows_of(const Tensor& weight) const {
    const int dim = wrap_dim("spectral_norm", options_.dim.value_or(0), weight.dim());
    return movedim(weight, dim, 0).flatten(1);
  }
  Tensor direction(int64_t size, const Tensor& like) const {
    return normalize(randn({size}, {.dtype = like.dtype(), .device = like.device()}), 2, 0,
                     options_.eps);
  }
  void iterate(const Tensor& rows, int64_t steps) const {
    const NoGradGuard no_grad;
    for (int64_t i = 0; i < steps; ++i) {
      u_.copy_(normalize(mv(rows, v_), 2, 0, options_.eps));
      v_.copy_(normalize(mv(rows.t(), u_), 2, 0, options_.eps));
    }
  }

  SpectralNormOptions options_;
  Buffer u_, v_;
};

}  // namespace

namespace detail {

void add_weight_norm(Module& module, const WeightNormOptions& options) {
  register_parametrization(module, options.name, WeightNorm(options.dim));
}

void add_spectral_norm(Module& module, const SpectralNormOptions& options) {
  SpectralNormOptions own = options;
  if (!own.dim && dynamic_cast<const ConvTranspose*>(&module)) own.dim = 1;
  const Tensor weight = value_of("spectral_norm", module, options.name).detach();
  register_parametrization(module, options.name, SpectralNorm(weight, own));
}

}  // namespace detail
}  // namespace aorta::nn
