#include <aorta/core/ops/pointwise.h>
#include <aorta/models/lenet.h>

namespace aorta::models {

Tensor LeNet5::forward(const Tensor& input) const {
  const Tensor maps = pool(relu(conv2(pool(relu(conv1(input))))));
  return fc3(relu(fc2(relu(fc1(maps.flatten(-3))))));
}

}  // namespace aorta::models
