#pragma once

#include <aorta/nn/conv.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/pooling.h>

namespace aorta::models {

/// LeNet-5 (LeCun et al. 1998) in today's form, with ReLU and max pooling: images (N, 1, 28, 28) ->
/// (N, classes).
struct LeNet5 : nn::Module {
  explicit LeNet5(int64_t num_classes = 10) : fc3(*this, "fc3", 84, num_classes) {}
  LeNet5(nn::Module& owner, const char* name, int64_t num_classes = 10) : LeNet5(num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Conv2d conv1{*this, "conv1", 1, 6, 5, {.padding = 2}};
  nn::Conv2d conv2{*this, "conv2", 6, 16, 5};
  nn::MaxPool2d pool{*this, "pool", 2};
  nn::Linear fc1{*this, "fc1", 400, 120};
  nn::Linear fc2{*this, "fc2", 120, 84};
  nn::Linear fc3;
};

}  // namespace aorta::models
