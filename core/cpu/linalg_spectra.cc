// Singular values (small matrices by Jacobi's rotations) and eigenvalues. f32 is computed in f64:
// a second copy of these templates would double the time to compile, which is a minute.
#include <aorta/core/cpu/linalg.h>

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

namespace aorta::cpu {
namespace {

void svd(const SvdArgs& args) {
  const auto part = [](int64_t wanted, int64_t all, int full, int thin) {
    return wanted == all ? full : thin;
  };
  const unsigned what =
      !args.u ? 0
              : static_cast<unsigned>(
                    part(args.u_columns, args.m, Eigen::ComputeFullU, Eigen::ComputeThinU) |
                    part(args.vh_rows, args.n, Eigen::ComputeFullV, Eigen::ComputeThinV));
  in_dtype(args, [&]<class T>(T) {
    each<T>(args, [&](const In<T>& a, int64_t i) {
      const Eigen::BDCSVD<Columns<double>> solver(a.template cast<double>(), what);
      if (solver.info() != Eigen::Success) return false;
      matrix_of<T>(args.s, i, std::min(args.m, args.n), 1) =
          solver.singularValues().template cast<T>();
      if (!args.u) return true;
      matrix_of<T>(args.u, i, args.m, args.u_columns) = solver.matrixU().template cast<T>();
      matrix_of<T>(args.vh, i, args.vh_rows, args.n) =
          solver.matrixV().transpose().template cast<T>();
      return true;
    });
  });
}

void eigh(const TwoFactorsArgs& args) {
  in_dtype(args, [&]<class T>(T) {
    each<T>(args, [&](const In<T>& a, int64_t i) {
      const Eigen::SelfAdjointEigenSolver<Columns<double>> solver(a.template cast<double>());
      if (solver.info() != Eigen::Success) return false;
      matrix_of<T>(args.first, i, args.n, 1) = solver.eigenvalues().template cast<T>();
      matrix_of<T>(args.second, i, args.n, args.n) = solver.eigenvectors().template cast<T>();
      return true;
    });
  });
}

}  // namespace

void register_linalg_spectra() {
  svd_op.set_kernel(DeviceType::cpu, svd);
  eigh_op.set_kernel(DeviceType::cpu, eigh);
}

}  // namespace aorta::cpu
