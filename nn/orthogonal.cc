#include <aorta/autograd/grad_mode.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/eigen.h>
#include <aorta/core/finfo.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/nn/parametrization_list.h>
#include <aorta/nn/parametrizations.h>

#include <Eigen/QR>

namespace aorta::nn {
namespace {

enum class OrthogonalMap { matrix_exp, cayley, householder };

bool is_wide(const Tensor& x) { return x.size(-2) < x.size(-1); }
Tensor turned(const Tensor& x) { return x.transpose(-2, -1); }
// With as many rows as columns, or more.
Tensor tall(const Tensor& x) { return is_wide(x) ? turned(x) : x; }

// Whether square ones are, up to rounding of their dtype.
bool is_orthogonal(const Tensor& q, DType dtype) {
  const Tensor unit = eye(q.size(-1), {.dtype = q.dtype(), .device = q.device()});
  const double atol = 10 * static_cast<double>(q.size(-1)) * finfo(dtype).eps;
  return allclose(matmul(turned(q), q), unit, {.atol = atol});
}

// A square matrix that begins with the columns of a tall one, made orthogonal: Q of Q R, whose R
// has no negative number on its diagonal.
Tensor base_of(const Tensor& value) {
  const NoGradGuard no_grad;
  const Autocast off(DType::f32);
  Tensor q = tall(value.detach()).to(compute_dtype(value.dtype()));
  const int64_t missing = q.size(-2) - q.size(-1);
  if (missing == 0 && is_orthogonal(q, value.dtype())) return value.detach().clone();
  if (missing > 0) {
    Shape shape = q.shape();
    shape.back() = missing;
    q = cat({q, randn(shape, {.dtype = q.dtype(), .device = q.device()})}, -1);
  }
  const linalg::QR parts = linalg::qr(q);
  return (parts.Q * sign(diagonal(parts.R, 0, -2, -1)).unsqueeze(-2)).to(value.dtype());
}

// Below the diagonal the reflections whose product is Q of value = Q R, above it R, on it the signs
// of R's diagonal, or the other ones where there is no reflection.
void reflect(const Tensor& matrix) {
  auto values = eigen_matrix<double>(matrix);
  const Eigen::MatrixXd whole = values;
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(whole);
  values = qr.matrixQR();
  for (Eigen::Index i = 0; i < values.cols(); ++i) {
    const double r = values(i, i), s = r > 0 ? 1 : r < 0 ? -1 : r;
    values(i, i) = qr.hCoeffs()(i) == 0 ? -s : s;
  }
}

Tensor reflections_of(const Tensor& value) {
  const Tensor given = tall(value);
  const Tensor packed = empty(given.shape(), {.dtype = DType::f64});
  packed.copy_(given);
  if (packed.numel() > 0)
    for (const Tensor& matrix : packed.view({-1, packed.size(-2), packed.size(-1)}).unbind())
      reflect(matrix);
  const Tensor result = is_wide(value) ? turned(packed).contiguous() : packed;
  return result.to({.dtype = value.dtype(), .device = value.device()});
}

class Orthogonal : public Parametrization {
 public:
  Orthogonal(const Tensor& value, OrthogonalMap map, bool use_trivialization)
      : map_(map), base_(*this, "base", use_trivialization ? base_of(value) : Tensor()) {}

  Tensor forward(const Tensor& x) const override {
    const Autocast off(DType::f32);
    Tensor q = map_ == OrthogonalMap::householder ? reflected(tall(x)) : turning(tall(x));
    if (base_.defined()) q = matmul(base_, q);
    return is_wide(x) ? turned(q) : q;
  }
  std::vector<Tensor> right_inverse(const Tensor& value) const override {
    if (base_.defined()) {
      // The map of this is the unit matrix, whichever map it is.
      const Tensor start = zeros_like(value);
      diagonal(start, 0, -2, -1).fill_(-1);
      return {start};
    }
    return {map_ == OrthogonalMap::householder ? reflections_of(value) : value};
  }
  std::string type_name() const override { return "Orthogonal"; }

 private:
  // The orthogonal matrix of a skew-symmetric one, which is made of what is below the diagonal.
  Tensor turning(const Tensor& x) const {
    const int64_t n = x.size(-2), k = x.size(-1);
    const Tensor lower = pad(tril(x), {0, n - k}), a = lower - turned(lower);
    if (map_ == OrthogonalMap::matrix_exp) return narrow(linalg::matrix_exp(a), -1, 0, k);
    const Tensor unit = eye(n, {.dtype = x.dtype(), .device = x.device()}), half = a * 0.5;
    return narrow(linalg::solve(unit - half, unit + half), -1, 0, k);
  }
  static Tensor reflected(const Tensor& x) {
    const Tensor a = tril(x, -1), tau = 2 / (1 + sum(square(a), -2));
    const Tensor signs = diagonal(x.detach(), 0, -2, -1).to(DType::i32).unsqueeze(-2);
    return linalg::householder_product(a, tau) * signs;
  }

  OrthogonalMap map_;
  Buffer base_;
};

OrthogonalMap map_of(const OrthogonalOptions& options, const Tensor& value) {
  const std::string by_default = value.size(-2) == value.size(-1) ? "matrix_exp" : "householder";
  const std::string name = options.orthogonal_map.value_or(by_default);
  check(name == "matrix_exp" || name == "cayley" || name == "householder", "orthogonal",
        "orthogonal_map must be matrix_exp, cayley or householder", name);
  return name == "matrix_exp" ? OrthogonalMap::matrix_exp
         : name == "cayley"   ? OrthogonalMap::cayley
                              : OrthogonalMap::householder;
}

}  // namespace

void detail::add_orthogonal(Module& module, const OrthogonalOptions& options) {
  const char* const op = "orthogonal";
  const Tensor value = value_of(op, module, options.name).detach();
  check(value.dim() >= 2, op, "the member must have 2 dimensions or more", value.shape());
  check(is_floating(value.dtype()), op, "dtype must be floating", value.dtype());
  check(!options.use_trivialization || !is_parametrized(module, options.name), op,
        "use_trivialization must be false where the member is computed already", module.type_name(),
        " and \"", options.name, "\"");
  register_parametrization(module, options.name,
                           Orthogonal(value, map_of(options, value), options.use_trivialization));
}

}  // namespace aorta::nn
