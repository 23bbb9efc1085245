#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/linear.h>

namespace aorta::models {

/// What stands between the layers of an MLP.
enum class MlpActivation : uint8_t { relu, sigmoid, tanh };

/// Linear layers of the given sizes with an activation between them: (*, sizes[0]) -> (*, the last
/// size). `MLP({784, 30, 10})`. Inputs with more dimensions than two are flattened from the second
/// on when that gives sizes[0].
class MLP : public nn::Module {
 public:
  explicit MLP(const List<int64_t>& sizes, MlpActivation activation = MlpActivation::relu);
  MLP(nn::Module& owner, const char* name, const List<int64_t>& sizes,
      MlpActivation activation = MlpActivation::relu)
      : MLP(sizes, activation) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::ModuleList layers{*this, "layers"};
  MlpActivation activation;
};

}  // namespace aorta::models
