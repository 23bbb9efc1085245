#pragma once

#include <aorta/nn/parametrize.h>

#include <optional>
#include <utility>

// Reparametrizations of weights, as torch.nn.utils.parametrizations has them. Each changes the
// module that it is given and gives it back: `nn::weight_norm(net.hidden);`, or of one that is just
// made `nn::Sequential(nn::weight_norm(nn::Linear(20, 40)), nn::ReLU())`.

namespace aorta::nn {

/// The options of weight_norm, with PyTorch's names and defaults.
struct WeightNormOptions {
  std::string name = "weight";
  /// Slices along this dimension have a length each; none: the whole has one.
  std::optional<int64_t> dim = 0;
};
/// The options of spectral_norm, with PyTorch's names and defaults.
struct SpectralNormOptions {
  std::string name = "weight";
  int64_t n_power_iterations = 1;
  double eps = 1e-12;
  /// The dimension that is a matrix's rows; none: 0, but 1 of transposed convolutions.
  std::optional<int64_t> dim = {};
};

namespace detail {
void add_weight_norm(Module& module, const WeightNormOptions& options);
void add_spectral_norm(Module& module, const SpectralNormOptions& options);
}  // namespace detail

/// g v / |v|, the norm of each slice along dim: trained are the lengths g, original0 of size 1 but
/// along dim (a scalar without dim), and the directions v, original1. Salimans, Kingma 2016.
/// Errors: register_parametrization's; dim isn't one of the weight's.
template <class M>
M weight_norm(M&& module, const WeightNormOptions& options = {}) {
  detail::add_weight_norm(module, options);
  return std::forward<M>(module);
}

/// The weight divided by its largest singular value, as a matrix with the rows of dim: u W v with
/// the buffers _u (rows) and _v (columns), which each call in training brings nearer by
/// n_power_iterations steps of the power method, after 15 at the start. A vector is divided by its
/// norm. Miyato et al. 2018. Errors: register_parametrization's; dim isn't one of the weight's;
/// n_power_iterations < 1.
template <class M>
M spectral_norm(M&& module, const SpectralNormOptions& options = {}) {
  detail::add_spectral_norm(module, options);
  return std::forward<M>(module);
}

}  // namespace aorta::nn
