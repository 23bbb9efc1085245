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
/// The options of orthogonal, with PyTorch's names and defaults.
struct OrthogonalOptions {
  std::string name = "weight";
  /// "matrix_exp", "cayley" or "householder"; none: "matrix_exp" of square matrices, "householder"
  /// of others.
  std::optional<std::string> orthogonal_map = {};
  bool use_trivialization = true;
};

namespace detail {
void add_weight_norm(Module& module, const WeightNormOptions& options);
void add_spectral_norm(Module& module, const SpectralNormOptions& options);
void add_orthogonal(Module& module, const OrthogonalOptions& options);
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

/// A matrix (*, m, n) with orthonormal columns, or rows where m < n; below it is tall.
/// `matrix_exp`: the first columns of exp(A), A = L - L^T, where L (*, m, m) is the original's
/// lower triangle and 0; `cayley`: of (1 - A / 2)^-1 (1 + A / 2). `householder`: the product of
/// reflections, whose vectors stand below the original's diagonal, its columns times that
/// diagonal's integers. With use_trivialization (Lezcano-Casado 2019) it is the buffer `base` (*,
/// m, m) times that, and starts at the member's value, made orthogonal where it isn't; so it does
/// of `householder` without. Else the start is the map of the value. Errors:
/// register_parametrization's; the member has less than 2 dimensions or no floating dtype, complex
/// ones among them; another map; use_trivialization of a member that is computed already.
template <class M>
M orthogonal(M&& module, const OrthogonalOptions& options = {}) {
  detail::add_orthogonal(module, options);
  return std::forward<M>(module);
}

}  // namespace aorta::nn
