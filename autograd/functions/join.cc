#include <aorta/autograd/record.h>
#include <aorta/core/ops/join.h>

namespace aorta::autograd {
namespace {

void cat_gradient(Tensor& output, std::span<const Tensor> tensors, int dim) {
  std::vector<const Tensor*> inputs;
  std::vector<int64_t> sizes;
  for (const Tensor& tensor : tensors) {
    inputs.push_back(&tensor);
    sizes.push_back(tensor.size(dim));
  }
  set_history(output, make_node("cat", inputs, 1, [dim, sizes](Gradients& g) {
                int64_t start = 0;
                for (size_t i = 0; i < sizes.size(); ++i) {
                  if (g.wanted(i)) g.input(i) = g.output().narrow(dim, start, sizes[i]);
                  start += sizes[i];
                }
              }));
}

}  // namespace

void register_join() { cat_op.set_gradient(cat_gradient); }

}  // namespace aorta::autograd
