#include <aorta/autograd/record.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/reduction.h>

namespace aorta::autograd {
namespace {

std::vector<Saved> save_all(std::span<const Tensor> indices) {
  std::vector<Saved> saved;
  for (size_t i = 0; i < indices.size(); ++i)
    saved.emplace_back(indices[i], static_cast<int>(i + 1));
  return saved;
}

// The index tensors as index() takes them: a full slice where a dimension isn't indexed.
std::vector<Index> restore(const std::vector<Saved>& saved, const Gradients& g) {
  std::vector<Index> indices;
  for (const Saved& one : saved) {
    const Tensor tensor = g.saved(one);
    indices.push_back(tensor.defined() ? Index(tensor) : Index(Slice{}));
  }
  return indices;
}

void index_gradient(Tensor& output, const Tensor& input, std::span<const Tensor> indices) {
  record("index", output, {&input}, [places = save_all(indices)](Gradients& g) {
    const Tensor nothing =
        zeros(g.input_shape(), {.dtype = g.output().dtype(), .device = g.output().device()});
    g.input() = index_put_(nothing, restore(places, g), g.output(), true);
  });
}

void index_put_gradient(const Tensor& self, std::span<const Tensor> indices, const Tensor& values,
                        bool accumulate) {
  record("index_put_", self, {&self, &values},
         [places = save_all(indices), accumulate](Gradients& g) {
           const std::vector<Index> where = restore(places, g);
           if (g.wanted(0))
             g.input(0) = accumulate ? g.output()
                                     : index_put(g.output(), where,
                                                 zeros({}, {.dtype = g.output().dtype(),
                                                            .device = g.output().device()}));
           if (g.wanted(1)) g.input(1) = sum_to_size(index(g.output(), where), g.input_shape(1));
         });
}

}  // namespace

void register_advanced_indexing() {
  index_op.set_gradient(index_gradient);
  index_put_op.set_gradient(index_put_gradient);
}

}  // namespace aorta::autograd
