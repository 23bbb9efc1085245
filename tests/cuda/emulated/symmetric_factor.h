#pragma once

#include <Eigen/LU>

#include <cmath>

// Bunch's and Kaufman's factors, as cuSOLVER's sytrf of a lower triangle gives them: A = P1 L1 P2
// L2
// ... D ..., with the columns of L below the blocks of D.

namespace aorta::emulated {

/// 0, or the number of the first column, from 1, of which nothing but zeros is left.
inline int factor_symmetric(Eigen::MatrixXd& lower, int* pivots) {
  const Eigen::Index n = lower.rows();
  const double bound = (1 + std::sqrt(17.0)) / 8;
  Eigen::MatrixXd a = lower.selfadjointView<Eigen::Lower>();
  int zero = 0;
  for (Eigen::Index k = 0, step = 1; k < n; k += step) {
    step = 1;
    Eigen::Index row = 0, ignored = 0;
    const double own = std::abs(a(k, k));
    const double column = k + 1 < n ? a.col(k).tail(n - k - 1).cwiseAbs().maxCoeff(&row) : 0.0;
    row += k + 1;
    Eigen::Index from = k;
    if (own < bound * column) {
      Eigen::VectorXd others = a.col(row).tail(n - k).cwiseAbs();
      others(row - k) = 0;
      const double most = others.maxCoeff(&ignored);
      if (own * most < bound * column * column) {
        from = row;
        if (std::abs(a(row, row)) < bound * most) step = 2;
      }
    }
    const Eigen::Index place = k + step - 1, rest = n - k - step;
    const int stored = static_cast<int>(from) + 1;
    pivots[k] = step == 1 ? stored : -stored;
    if (step == 2) pivots[k + 1] = -stored;
    a.bottomRows(n - k).row(place - k).swap(a.bottomRows(n - k).row(from - k));
    a.rightCols(n - k).col(place - k).swap(a.rightCols(n - k).col(from - k));
    const Eigen::MatrixXd block = a.block(k, k, step, step);
    if (own == 0 && column == 0) {
      if (zero == 0) zero = static_cast<int>(k) + 1;
      continue;
    }
    const Eigen::MatrixXd below = a.block(k + step, k, rest, step);
    const Eigen::MatrixXd multipliers = below * block.inverse();
    a.bottomRightCorner(rest, rest) -= multipliers * below.transpose();
    lower.block(k, k, step, step).triangularView<Eigen::Lower>() = block;
    lower.block(k + step, k, rest, step) = multipliers;
  }
  return zero;
}

}  // namespace aorta::emulated
