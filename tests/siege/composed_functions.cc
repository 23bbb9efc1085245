#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/searchsorted.h>
#include <aorta/core/ops/sparse.h>
#include <aorta/core/ops/statistics.h>
#include <aorta/core/ops/view.h>

#include <aorta/tests/siege/targets.h>

// Functions of core/ops that are composed of others, by numpy's names first.
namespace aorta::siege {
namespace {

using T = Tensor;
using Place = std::optional<int64_t>;

void add_joined(std::vector<Target>& targets) {
  targets.insert(targets.end(), {
                                    of<T, const List<T>&>("hstack", hstack),
                                    of<T, const List<T>&>("vstack", vstack),
                                    of<T, const List<T>&>("dstack", dstack),
                                    of<T, const List<T>&>("column_stack", column_stack),
                                    of<Tensors, const T&, int64_t>("hsplit", hsplit),
                                    of<Tensors, const T&, const List<int64_t>&>("hsplit", hsplit),
                                    of<Tensors, const T&, int64_t>("vsplit", vsplit),
                                    of<Tensors, const T&, const List<int64_t>&>("vsplit", vsplit),
                                    of<Tensors, const T&, int64_t>("dsplit", dsplit),
                                    of<Tensors, const T&, const List<int64_t>&>("dsplit", dsplit),
                                    of<T, const T&>("atleast_1d", atleast_1d),
                                    of<T, const T&>("atleast_2d", atleast_2d),
                                    of<T, const T&>("atleast_3d", atleast_3d),
                                });
}

void add_turned(std::vector<Target>& targets) {
  targets.insert(targets.end(), {
                                    of<T, const T&>("fliplr", fliplr),
                                    of<T, const T&>("flipud", flipud),
                                    of<T, const T&, int64_t, const Dims&>("rot90", rot90),
                                    product_of<T, const T&, Place, bool>("vander", vander),
                                });
}

void add_made(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<T, const Scalar&, const Scalar&, int64_t, double, const TensorOptions&>("logspace",
                                                                                     logspace),
          of<T, int64_t, int64_t, int64_t, const TensorOptions&>("tril_indices", tril_indices),
          of<T, int64_t, int64_t, int64_t, const TensorOptions&>("triu_indices", triu_indices),
      });
}

void add_products(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<T, const T&, const T&, const T&, const AddmmOptions&>("addbmm", addbmm),
          of<T, const T&, const T&, const T&, const AddmmOptions&>("addmv", addmv),
          of<T, const T&, const T&, const T&, const AddmmOptions&>("addr", addr),
          of<T, const T&, const T&>("inner", inner),
          of(
              "cdist", +[](const T& x, const T& y, double p) { return cdist(x, y, p); }),
          of(
              "cdist",
              +[](const T& x, const T& y) { return cdist(x, y, 2, "use_mm_for_euclid_dist"); }),
      });
}

// A matrix's places and values, whatever they are, and a dense one beside it. Its zeros have no
// memory, and what has is small.
void add_sparse(std::vector<Target>& targets) {
  std::vector<Target> of_sparse{of(
                                    "sparse_coo_tensor",
                                    +[](const T& places, const T& values, const T& x) {
                                      const SparseTensor a = sparse_coo_tensor(places, values);
                                      return Tensors{a.coalesce().values, sparse::mm(a, x)};
                                    }),
                                of(
                                    "to_sparse",
                                    +[](const T& x, int64_t dim) {
                                      const SparseTensor a = to_sparse(x);
                                      return Tensors{a.t().to_dense(), sparse::sum(a, dim)};
                                    }),
                                of(
                                    "sparse.softmax", +[](const T& x, int64_t dim) {
                                      return sparse::softmax(to_sparse(x), dim).to_dense();
                                    })};
  for (Target& target : of_sparse) {
    target.functions = {"sparse_coo_tensor", "to_sparse",  "coalesce",      "to_dense",
                        "sparse.mm",         "sparse.sum", "sparse.softmax"};
    targets.push_back(std::move(target));
  }
}

void add_reduced(std::vector<Target>& targets) {
  targets.insert(
      targets.end(),
      {
          of<MinMax, const T&, Place, bool>("aminmax", aminmax),
          of<StdMean, const T&, const ReduceDims&, double, bool>("std_mean", std_mean),
          of<T, const T&, const Scalar&, int64_t>("trapezoid", trapezoid),
          of<T, const T&, const T&, int64_t>("trapezoid", trapezoid),
          of<T, const T&, const Scalar&, int64_t>("cumulative_trapezoid", cumulative_trapezoid),
          of<T, const T&, const T&, int64_t>("cumulative_trapezoid", cumulative_trapezoid),
          of<T, const Operand&, const Operand&, bool>("isin", isin),
          of<Tensors, const T&, const Dims&>("unravel_index", unravel_index),
      });
}

void add_rounded(std::vector<Target>& targets) {
  const auto mode = [](bool down) { return down ? "floor" : "trunc"; };
  static const auto mode_of = mode;
  targets.insert(targets.end(),
                 {
                     of(
                         "div", +[](const Operand& a, const Operand& b,
                                    bool down) { return div(a, b, mode_of(down)); }),
                     of(
                         "div_", +[](const T& a, const Operand& b,
                                     bool down) { return div_(a, b, mode_of(down)); }),
                     of<T, const T&, int64_t>("round", round),
                     of<T, const T&, int64_t>("round_", round_),
                     of<T, const Operand&, const Operand&>("float_power", float_power),
                     of<T, const T&, const Operand&>("float_power_", float_power_),
                     of<T, const T&, int64_t, int64_t, int64_t>("narrow_copy", narrow_copy),
                     random_of<T, const T&, const T&, Generator*>("normal", normal),
                     random_of<T, const T&, double, Generator*>("normal", normal),
                     random_of<T, double, const T&, Generator*>("normal", normal),
                     random_of<T, double, double, const Dims&, const TensorOptions&, Generator*>(
                         "normal", normal),
                     random_of<T, const T&, Generator*>("poisson", poisson),
                 });
}

}  // namespace

void add_composed(std::vector<Target>& targets) {
  add_joined(targets);
  add_turned(targets);
  add_made(targets);
  add_products(targets);
  add_sparse(targets);
  add_reduced(targets);
  add_rounded(targets);
}

}  // namespace aorta::siege
