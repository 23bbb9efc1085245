#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/gamma.h>
#include <aorta/distributions/wishart.h>

#include <numbers>

namespace aorta::distributions {
namespace {

// log |L L^T| of triangular L.
Tensor log_determinant(const Tensor& tril) { return 2 * sum(log(diagonal(tril, 0, -2, -1)), {-1}); }

// x for a matrix each.
Tensor of_matrices(const Tensor& x) { return x.unsqueeze(-1).unsqueeze(-1); }

}  // namespace

Wishart::Wishart(const Parameter& df, const CovarianceOptions& options)
    : DistributionOf("Wishart") {
  NamedMatrix given = given_of(name(), options);
  const Shape shape = given.matrix.shape();
  check(shape.size() >= 2 && shape[shape.size() - 1] == shape[shape.size() - 2], name(),
        std::string(given.name) + " must be (*, n, n)", shape);
  check(shape[shape.size() - 1] > 0, name(), std::string(given.name) + " must have rows", shape);
  // A number of each matrix brings its batch and dtype to df.
  const Tensor first = given.matrix.select(-1, 0).select(-1, 0);
  df_ = broadcast_parameters(name(), {{"df", df}, {given.name, first}})[0];
  set_shapes(df_.shape(), last(shape, 2));
  require(name(), "df", df_,
          {"be greater than n - 1", [n = size()](const Tensor& x) { return gt(x, n - 1); }});
  tril_ = scale_tril_of(name(), {given.name, given.matrix.to(df_.dtype())});
  expand_to(batch_shape());
}

Tensor Wishart::scale_tril() const { return tril_; }
Tensor Wishart::covariance_matrix() const { return covariance_of(tril_); }
Tensor Wishart::precision_matrix() const { return precision_of(tril_); }
Tensor Wishart::mean() const { return of_matrices(df_) * covariance_matrix(); }

Tensor Wishart::mode() const {
  const Tensor factor = df_ - (size() + 1);
  return of_matrices(where(gt(factor, 0), factor, NAN)) * covariance_matrix();
}

Tensor Wishart::variance() const {
  const Tensor v = covariance_matrix(), own = diagonal(v, 0, -2, -1);
  return of_matrices(df_) * (square(v) + own.unsqueeze(-1) * own.unsqueeze(-2));
}

Tensor Wishart::log_constant() const {
  return -0.5 * df_ * (size() * std::numbers::ln2 + log_determinant(tril_)) -
         mvlgamma(0.5 * df_, event_shape()[0]);
}

Tensor Wishart::log_prob(const Tensor& value) const {
  check_value(value);
  const CalledOp called(name());
  const Tensor root = linalg::cholesky(value);
  const Tensor trace =
      sum(square(linalg::solve_triangular(tril_, root, {.upper = false})), {-2, -1});
  return log_constant() + 0.5 * ((df_ - (size() + 1)) * log_determinant(root) - trace);
}

Tensor Wishart::mean_log_determinant() const {
  const Tensor halves = 0.5 * (df_.unsqueeze(-1) - arange(event_shape()[0], options_of(df_)));
  return sum(digamma(halves), {-1}) + size() * std::numbers::ln2 + log_determinant(tril_);
}

Tensor Wishart::mean_log_prob(const Wishart& p) const {
  const Tensor trace =
      sum(square(linalg::solve_triangular(tril_, p.tril_, {.upper = false})), {-2, -1});
  return log_constant() + 0.5 * ((df_ - (size() + 1)) * p.mean_log_determinant() - p.df_ * trace);
}

Tensor Wishart::entropy() const {
  return 0.5 * (df_ * size() - (df_ - (size() + 1)) * mean_log_determinant()) - log_constant();
}

// Bartlett 1933: of n independent chi-square numbers and normal ones below them.
Tensor Wishart::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor noise = randn(extended(sample_shape), options_of(tril_), generator);
  const Tensor counts = df_.unsqueeze(-1) - arange(event_shape()[0], options_of(df_));
  const Tensor squares = Chi2(counts).rsample(sample_shape, generator);
  return covariance_of(matmul(tril_, tril(noise, -1) + diag_embed(sqrt(squares))));
}

void Wishart::expand_to(const Shape& batch_shape) {
  df_ = df_.expand(batch_shape);
  tril_ = tril_.expand(joined(batch_shape, event_shape()));
}

}  // namespace aorta::distributions
