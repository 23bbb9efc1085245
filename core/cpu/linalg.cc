#include <aorta/core/cpu/linalg.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
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

// Row by row, for matrices that aren't square.
template <class M>
void eliminate(M& lu, int32_t* pivots) {
  const int64_t k = std::min(lu.rows(), lu.cols());
  for (int64_t j = 0; j < k; ++j) {
    Eigen::Index place = 0;
    const auto largest = lu.col(j).tail(lu.rows() - j).cwiseAbs().maxCoeff(&place);
    place += j;
    pivots[j] = static_cast<int32_t>(place) + 1;
    if (largest == 0) continue;
    if (place != j) lu.row(j).swap(lu.row(place));
    const int64_t rest = lu.rows() - j - 1;
    lu.col(j).tail(rest) /= lu(j, j);
    lu.bottomRightCorner(rest, lu.cols() - j - 1).noalias() -=
        lu.col(j).tail(rest) * lu.row(j).tail(lu.cols() - j - 1);
  }
}

void lu_factor(const TwoFactorsArgs& args) {
  in_dtype(args, [&]<class T>(T) {
    each<T>(args, [&](const In<T>& a, int64_t i) {
      const int64_t k = std::min(args.m, args.n);
      int32_t* const pivots = static_cast<int32_t*>(args.second) + i * k;
      Out<T> out = matrix_of<T>(args.first, i, args.m, args.n);
      if (args.m != args.n || args.n == 0) {
        Columns<T> lu = a;
        eliminate(lu, pivots);
        out = lu;
        return true;
      }
      const Eigen::PartialPivLU<Columns<T>> lu(a);
      out = lu.matrixLU();
      // Eigen gives the permutation; LAPACK's pivots are the swaps that make it.
      const auto& order = lu.permutationP().indices();  // row i goes to order[i]
      std::vector<int32_t> row_at(static_cast<size_t>(k)), place_of(static_cast<size_t>(k));
      for (int64_t r = 0; r < k; ++r) row_at[static_cast<size_t>(r)] = static_cast<int32_t>(r);
      place_of = row_at;
      std::vector<int32_t> wanted(static_cast<size_t>(k));
      for (int64_t r = 0; r < k; ++r)
        wanted[static_cast<size_t>(order[r])] = static_cast<int32_t>(r);
      for (int64_t j = 0; j < k; ++j) {
        const auto at = static_cast<size_t>(j);
        const int32_t row = wanted[at], place = place_of[static_cast<size_t>(row)];
        pivots[j] = place + 1;
        std::swap(place_of[static_cast<size_t>(row_at[at])], place_of[static_cast<size_t>(row)]);
        std::swap(row_at[at], row_at[static_cast<size_t>(place)]);
      }
      return true;
    });
  });
}

void solve(const SolveArgs& args) {
  in_dtype(args, [&]<class T>(T) {
    each<T>(args, [&](const In<T>& a, int64_t i) {
      const Eigen::PartialPivLU<Columns<T>> lu(a);
      if ((lu.matrixLU().diagonal().array() == T(0)).any()) return false;
      matrix_of<T>(args.x, i, args.n, args.c) = lu.solve(matrix_of<T>(args.b, i, args.n, args.c));
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
  pinv_op.link();
  slogdet_op.link();
}

}  // namespace aorta::cpu
