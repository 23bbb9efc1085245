#include <aorta/core/ops/linalg_norms.h>
#include <aorta/tests/siege/targets.h>

#include <iterator>

// Decompositions, and what is composed of them.
namespace aorta::siege {

using T = Tensor;
using Place = std::optional<int64_t>;

void add_linalg(std::vector<Target>& targets) {
  using namespace linalg;
  const auto order = [](int64_t which) {
    static const MatrixOrder kOrders[] = {"fro", "nuc", "", 1, -1, 2, -2, 3};
    return kOrders[static_cast<uint64_t>(which) % std::size(kOrders)];
  };
  static const auto order_of = order;
  targets.insert(
      targets.end(),
      {
          of<T, const T&, bool>("cholesky", cholesky),
          of(
              "qr", +[](const T& a) { return qr(a).R; }),
          of(
              "svd", +[](const T& a, bool full) { return svd(a, full).S; }),
          of<T, const T&>("svdvals", svdvals),
          of(
              "eigh", +[](const T& a, bool up) { return eigh(a, up ? "U" : "L").eigenvectors; }),
          of(
              "lu", +[](const T& a) { return lu(a).U; }),
          of(
              "lu_solve",
              +[](const T& factors, const T& pivots, const T& b, bool left, bool adjoint) {
                return lu_solve(factors, pivots, b, left, adjoint);
              }),
          of(
              "ldl_factor", +[](const T& a) { return ldl_factor(a).LD; }),
          of<T, const T&, const T&, const T&>("ldl_solve", ldl_solve),
          of<T, const T&, const T&>("householder_product", householder_product),
          of<T, const T&, const T&, bool>("solve", solve),
          of<T, const T&, const T&, const TriangularOptions&>("solve_triangular", solve_triangular),
          of<T, const T&>("inv", inv),
          of<T, const T&>("det", det),
          of(
              "slogdet", +[](const T& a) { return slogdet(a).logabsdet; }),
          of<T, const T&, const RankTolerance&>("pinv", pinv),
          of<T, const T&, const RankTolerance&>("matrix_rank", matrix_rank),
          of(
              "lstsq", +[](const T& a, const T& b) { return lstsq(a, b).solution; }),
          of<T, const T&>("matrix_exp", matrix_exp),
          of<T, const T&, int64_t>("matrix_power", matrix_power),
          of(
              "matrix_norm",
              +[](const T& a, int64_t which, const Dims& dims, bool keepdim) {
                return matrix_norm(a, order_of(which), dims, keepdim);
              }),
          of(
              "norm",
              +[](const T& a, int64_t which, const Dims& dims, bool keepdim) {
                return linalg::norm(a, order_of(which), dims, keepdim);
              }),
          of(
              "cond", +[](const T& a, int64_t which) { return cond(a, order_of(which)); }),
          of<T, const List<T>&>("multi_dot", multi_dot),
          of<T, const T&, const T&, int64_t>("vecdot", vecdot),
          of<T, const T&, const T&, int64_t>("cross", cross),
          of<T, const T&, Place>("vander", vander),
          of<T, const T&, int64_t>("tensorinv", tensorinv),
          of<T, const T&, const T&>("tensorsolve", tensorsolve),
      });
}

}  // namespace aorta::siege
