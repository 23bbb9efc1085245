#include <aorta/core/ops/pointwise.h>
#include <aorta/models/mlp.h>

namespace aorta::models {

MLP::MLP(const List<int64_t>& sizes, MlpActivation between) : activation(between) {
  check(sizes.size() >= 2, "MLP", "sizes must be those of input and output, and between them",
        static_cast<int64_t>(sizes.size()), " of them");
  for (size_t i = 1; i < sizes.size(); ++i) layers.push_back(nn::Linear(sizes[i - 1], sizes[i]));
}

Tensor MLP::forward(const Tensor& input) const {
  check_given({{"input", input}});
  const int64_t features = layers[0].as<nn::Linear>().in_features;
  const bool flat = input.dim() <= 2 || input.size(-1) == features;
  Tensor x = flat ? input : input.flatten(1);
  for (size_t i = 0; i < layers.size(); ++i) {
    if (i > 0) {
      x = activation == MlpActivation::relu      ? relu(x)
          : activation == MlpActivation::sigmoid ? sigmoid(x)
                                                 : tanh(x);
    }
    x = layers[static_cast<int64_t>(i)](x);
  }
  return x;
}

}  // namespace aorta::models
