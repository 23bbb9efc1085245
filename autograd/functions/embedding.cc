#include <aorta/core/ops/embedding.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexed_plan.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/recording.h>

namespace aorta::autograd {
namespace {

// The rows themselves, without those of padding.
void give_rows(Gradients& g, const Saved& places, int64_t padding) {
  const char* const op = "embedding";
  check(!grad_enabled(), op, "a sparse gradient has no gradient of its own", "create_graph");
  refuse_in_capture(op, "a captured step takes dense gradients", "sparse");
  Tensor indices = g.saved(places);
  Tensor values = g.output().reshape({indices.numel(), g.input_shape()[1]});
  if (padding >= 0) {
    const Tensor kept = nonzero(ne(indices, padding)).select(1, 0);
    indices = index_select(indices, 0, kept);
    values = index_select(values, 0, kept);
  }
  g.sparse_input() = SparseGradient{indices, values, g.input_shape()};
}

// Rows are added up where they were read; the padding row's sum isn't wanted.
void embedding_gradient(Tensor& output, const Tensor& weight, const Tensor& indices,
                        int64_t padding, bool sparse) {
  if (sparse) {
    check(weight.is_leaf(), "embedding", "a weight with a sparse gradient must be a leaf",
          "the result of ", weight.grad_fn());
    return record(
        "embedding", output, {&weight},
        [padding, places = Saved(indices, 1)](Gradients& g) { give_rows(g, places, padding); });
  }
  record("embedding", output, {&weight}, [padding, places = Saved(indices, 1)](Gradients& g) {
    const Tensor& gradient = g.output();
    const Tensor sums =
        zeros(g.input_shape(), {.dtype = gradient.dtype(), .device = gradient.device()});
    const Tensor where = g.saved(places);
    add_rows(sums, where, gradient.reshape({where.numel(), g.input_shape()[1]}));
    if (padding >= 0) sums.select(0, padding).zero_();
    g.input() = sums;
  });
}

}  // namespace

void register_embedding() { embedding_op.set_gradient(embedding_gradient); }

}  // namespace aorta::autograd
