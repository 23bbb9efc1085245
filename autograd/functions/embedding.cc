#include <aorta/core/ops/embedding.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>

namespace aorta::autograd {
namespace {

// Rows are added up where they were read; the padding row's sum isn't wanted.
void embedding_gradient(Tensor& output, const Tensor& weight, const Tensor& indices,
                        int64_t padding) {
  record("embedding", output, {&weight}, [padding, places = Saved(indices, 1)](Gradients& g) {
    const Tensor& gradient = g.output();
    const Tensor sums =
        zeros(g.input_shape(), {.dtype = gradient.dtype(), .device = gradient.device()});
    const Tensor where = g.saved(places);
    index_add_(sums, 0, where, gradient.reshape({where.numel(), g.input_shape()[1]}));
    if (padding >= 0) sums.select(0, padding).zero_();
    g.input() = sums;
  });
}

}  // namespace

void register_embedding() { embedding_op.set_gradient(embedding_gradient); }

}  // namespace aorta::autograd
