// Eigenvalues and eigenvectors of any matrices, in f64 (see linalg_spectra.cc).
#include <aorta/core/cpu/linalg.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <complex>

namespace aorta::cpu {
namespace {

using Values = Eigen::VectorXcd;
using Vectors = Eigen::MatrixXcd;

// Makes the length of each vector 1 and its largest component real, as LAPACK gives them.
void normalize(Vectors& vectors) {
  for (Eigen::Index j = 0; j < vectors.cols(); ++j) {
    auto v = vectors.col(j);
    v /= v.norm();
    if (v.imag().isZero(0)) continue;
    Eigen::Index largest = 0;
    v.cwiseAbs2().maxCoeff(&largest);
    v *= std::conj(v[largest]) / std::abs(v[largest]);
    v[largest] = v[largest].real();
  }
}

// The matrix (n, n) is of numbers S, the results of Complex.
template <class S, class Complex, class Solver>
void decompose(const TwoFactorsArgs& args) {
  using Matrix = Columns<typename Solver::MatrixType::Scalar>;
  each<S>(args, [&](const In<S>& a, int64_t i) {
    const Solver solver(Matrix(a.template cast<typename Matrix::Scalar>()), true);
    if (solver.info() != Eigen::Success) return false;
    const Values values = solver.eigenvalues();
    Vectors vectors = solver.eigenvectors();
    normalize(vectors);
    matrix_of<Complex>(args.first, i, args.n, 1) = values.template cast<Complex>();
    matrix_of<Complex>(args.second, i, args.n, args.n) = vectors.template cast<Complex>();
    return true;
  });
}

void eig(const TwoFactorsArgs& args) {
  using Real = Eigen::EigenSolver<Columns<double>>;
  using Complex = Eigen::ComplexEigenSolver<Columns<std::complex<double>>>;
  try {
    switch (args.dtype) {
      case DType::f64:
        return decompose<double, std::complex<double>, Real>(args);
      case DType::c64:
        return decompose<std::complex<float>, std::complex<float>, Complex>(args);
      case DType::c128:
        return decompose<std::complex<double>, std::complex<double>, Complex>(args);
      default:
        return decompose<float, std::complex<float>, Real>(args);
    }
  } catch (const std::bad_alloc&) {
    fail_for_resources("eig", "there must be memory for the matrices on the way", "a batch of ",
                       args.count, ", ", name(args.dtype));
  }
}

}  // namespace

void register_linalg_eig() { eig_op.set_kernel(DeviceType::cpu, eig); }

}  // namespace aorta::cpu
