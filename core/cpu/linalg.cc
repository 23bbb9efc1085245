#include <aorta/core/cpu/linalg.h>
#include <aorta/core/cpu/lu.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <cmath>
#include <vector>

namespace aorta::cpu {
namespace {

void cholesky(const TwoFactorsArgs& args) {
  in_dtype(args, [&]<class T>(T) {
    each<T>(args, [&](const In<T>& a, int64_t i) {
      const Eigen::LLT<Columns<T>> llt(a);
      if (llt.info() != Eigen::Success) return false;
      matrix_of<T>(args.first, i, args.n, args.n) = llt.matrixL();
      return true;
    });
  });
}

void qr(const TwoFactorsArgs& args) {
  in_dtype(args, [&]<class T>(T) {
    each<T>(args, [&](const In<T>& a, int64_t i) {
      // Eigen's reflections square what they are given: that may vanish, or overflow.
      const T largest = a.size() > 0 ? a.cwiseAbs().maxCoeff() : T(0);
      const int power = largest > 0 ? std::ilogb(largest) : 0;
      const auto scaled = [](int by) { return [by](T x) { return std::ldexp(x, by); }; };
      const Eigen::HouseholderQR<Columns<T>> qr(Columns<T>(a.unaryExpr(scaled(-power))));
      matrix_of<T>(args.first, i, args.m, args.q) =
          qr.householderQ() * Columns<T>::Identity(args.m, args.q);
      Out<T> r = matrix_of<T>(args.second, i, args.q, args.n);
      r.setZero();
      const int64_t k = std::min(args.m, args.n);
      r.topRows(k) = qr.matrixQR().topRows(k).template triangularView<Eigen::Upper>();
      r = r.unaryExpr(scaled(power)).eval();
      return true;
    });
  });
}

template <class T>
MatrixPart<T> part_of(void* data, int64_t i, int64_t rows, int64_t columns) {
  return {static_cast<T*>(data) + i * rows * columns, rows, columns, columns};
}

void lu_factor(const TwoFactorsArgs& args) {
  in_dtype(args, [&]<class T>(T) {
    each<T>(args, [&](const In<T>& a, int64_t i) {
      matrix_of<T>(args.first, i, args.m, args.n) = a;
      lu_factor(part_of<T>(args.first, i, args.m, args.n),
                static_cast<int32_t*>(args.second) + i * std::min(args.m, args.n));
      return true;
    });
  });
}

void solve(const SolveArgs& args) {
  in_dtype(args, [&]<class T>(T) {
    each<T>(args, [&](const In<T>& a, int64_t i) {
      Rows<T> lu = a;
      std::vector<int32_t> pivots(static_cast<size_t>(args.n));
      const MatrixPart<T> factors = part_of<T>(lu.data(), 0, args.n, args.n);
      lu_factor(factors, pivots.data());
      if ((lu.diagonal().array() == T(0)).any()) return false;
      matrix_of<T>(args.x, i, args.n, args.c) = matrix_of<T>(args.b, i, args.n, args.c);
      const MatrixPart<T> x = part_of<T>(args.x, i, args.n, args.c);
      exchange_rows(x, pivots.data(), args.n);
      solve_lower(factors, x);
      solve_upper(factors, x);
      return true;
    });
  });
}

void solve_triangular(const SolveArgs& args) {
  in_dtype(args, [&]<class T>(T) {
    const int64_t grain =
        std::max<int64_t>(16384 / std::max<int64_t>(args.n * args.n * args.c, 1), 1);
    parallel_for(0, args.count, grain, [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) {
        const In<T> a = matrix_of<T>(args.a, i, args.n, args.n);
        Out<T> x = matrix_of<T>(args.x, i, args.n, args.c);
        x = matrix_of<T>(args.b, i, args.n, args.c);
        const auto solve = [&]<unsigned mode>() {
          const auto triangle = a.template triangularView<mode>();
          const bool finite = Rows<T>(triangle).allFinite();
          args.states[i] = !finite ? MatrixState::not_finite
                           : !args.unitriangular && (a.diagonal().array() == T(0)).any()
                               ? MatrixState::failed
                               : MatrixState::fine;
          if (args.states[i] == MatrixState::fine) triangle.solveInPlace(x);
        };
        if (args.upper)
          args.unitriangular ? solve.template operator()<Eigen::UnitUpper>()
                             : solve.template operator()<Eigen::Upper>();
        else
          args.unitriangular ? solve.template operator()<Eigen::UnitLower>()
                             : solve.template operator()<Eigen::Lower>();
      }
    });
  });
}

}  // namespace

void register_linalg() {
  cholesky_op.set_kernel(DeviceType::cpu, cholesky);
  qr_op.set_kernel(DeviceType::cpu, qr);
  lu_factor_op.set_kernel(DeviceType::cpu, lu_factor);
  solve_op.set_kernel(DeviceType::cpu, solve);
  solve_triangular_op.set_kernel(DeviceType::cpu, solve_triangular);
  det_op.link();
  inv_op.link();
  pinv_op.link();
  slogdet_op.link();
}

}  // namespace aorta::cpu
