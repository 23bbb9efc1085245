#include <aorta/core/cpu/linalg.h>

#include <cmath>
#include <cstdlib>
#include <utility>

namespace aorta::cpu {
namespace {

// One matrix, in place of its lower triangle: LAPACK's sytf2 ("Diagonal pivoting").
template <class T>
class Ldl {
 public:
  Ldl(Out<T> a, int32_t* pivots) : a_(a), n_(a.rows()), pivots_(pivots) {}

  /// False where D is singular.
  bool factor() {
    for (Eigen::Index k = 0; k < n_;) {
      const auto [row, step] = pivot(k);
      if (row < 0) return false;
      exchange(k, row, step);
      step == 1 ? eliminate_one(k) : eliminate_two(k);
      const auto stored = static_cast<int32_t>(row + 1);
      pivots_[k] = step == 1 ? stored : -stored;
      if (step == 2) pivots_[k + 1] = -stored;
      k += step;
    }
    return true;
  }

 private:
  using Index = Eigen::Index;
  struct Pivot {
    Index row;
    int step;
  };

  T size(Index i, Index j) const { return std::abs(i >= j ? a_(i, j) : a_(j, i)); }

  // The largest of row `i`'s elements from column `k` on, but for the diagonal's, and its place.
  std::pair<T, Index> largest(Index i, Index k) const {
    std::pair<T, Index> found(0, i);
    for (Index j = k; j < n_; ++j)
      if (j != i && size(i, j) > found.first) found = {size(i, j), j};
    return found;
  }

  Pivot pivot(Index k) const {
    const T bound = static_cast<T>((1 + std::sqrt(17.0)) / 8), own = size(k, k);
    const auto [column, other] = largest(k, k);
    if (std::max(own, column) == 0) return {-1, 1};
    if (own >= bound * column) return {k, 1};
    const T row = largest(other, k).first;
    if (own >= bound * column * (column / row)) return {k, 1};
    if (size(other, other) >= bound * row) return {other, 1};
    return {other, 2};
  }

  // Swaps a row and a column of what is left.
  void exchange(Index k, Index row, int step) {
    const Index own = k + step - 1;
    if (row == own) return;
    for (Index i = row + 1; i < n_; ++i) std::swap(a_(i, own), a_(i, row));
    for (Index i = own + 1; i < row; ++i) std::swap(a_(i, own), a_(row, i));
    std::swap(a_(own, own), a_(row, row));
    if (step == 2) std::swap(a_(k + 1, k), a_(row, k));
  }

  void eliminate_one(Index k) {
    const T inverse = 1 / a_(k, k);
    for (Index j = k + 1; j < n_; ++j)
      for (Index i = j; i < n_; ++i) a_(i, j) -= inverse * a_(j, k) * a_(i, k);
    for (Index i = k + 1; i < n_; ++i) a_(i, k) *= inverse;
  }

  void eliminate_two(Index k) {
    const T between = a_(k + 1, k);
    const T first = a_(k + 1, k + 1) / between, second = a_(k, k) / between;
    const T factor = 1 / (first * second - 1) / between;
    for (Index j = k + 2; j < n_; ++j) {
      const T x = factor * (first * a_(j, k) - a_(j, k + 1));
      const T y = factor * (second * a_(j, k + 1) - a_(j, k));
      for (Index i = j; i < n_; ++i) a_(i, j) -= a_(i, k) * x + a_(i, k + 1) * y;
      a_(j, k) = x;
      a_(j, k + 1) = y;
    }
  }

  Out<T> a_;
  Index n_;
  int32_t* pivots_;
};

void ldl_factor(const TwoFactorsArgs& args) {
  in_dtype(args, [&]<class T>(T) {
    each<T>(args, [&](const In<T>& a, int64_t i) {
      Out<T> factors = matrix_of<T>(args.first, i, args.n, args.n);
      factors.setZero();
      factors.template triangularView<Eigen::Lower>() = a;
      return Ldl<T>(factors, static_cast<int32_t*>(args.second) + i * args.n).factor();
    });
  });
}

}  // namespace

void register_ldl() { ldl_factor_op.set_kernel(DeviceType::cpu, ldl_factor); }

}  // namespace aorta::cpu
