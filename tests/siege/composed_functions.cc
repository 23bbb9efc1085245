#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/scan.h>
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

}  // namespace

void add_composed(std::vector<Target>& targets) {
  add_joined(targets);
  add_turned(targets);
  add_made(targets);
}

}  // namespace aorta::siege
