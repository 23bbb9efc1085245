#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/parallel/distributed_data_parallel.h>
#include <aorta/optim/sgd.h>

#include <functional>
#include <memory>
#include <string>

// Whole training steps that tables measure: zero_grad, forward, loss, backward, SGD. Both sides
// start from the same numbers.

namespace aorta::bench {

/// Parameter i becomes make(.., seed i), in +-1 / sqrt(fan_in); vectors are left as they start
/// (norms at 1 and 0), but for biases, which are 0. inputs.py does the same for PyTorch.
void fill(nn::Module& module);

/// A network, its data and its optimizer. Copies share them.
struct Training {
  nn::AnyModule module;
  Tensor input, target;
  std::function<Tensor(const Tensor& output, const Tensor& target)> loss;
  double momentum = 0.9;
  bool bf16 = false;
  /// What is called: the module, unless something is wrapped around it.
  std::function<Tensor(const Tensor& input)> forward = {};
  std::shared_ptr<optim::SGD> optimizer = {};

  /// Fills the parameters, as the peer does, takes all to `device` and makes the optimizer.
  void begin(bool channels_last, Device device = {});
  /// Leaves the part of the batch that is rank `rank`'s of `size`.
  void take_part(int rank, int size);
  /// The loss before the step.
  Tensor step() const { return step(input, target); }
  Tensor step(const Tensor& inputs, const Tensor& targets) const;
};

Training mlp_training(int64_t hidden);
/// ResNet-18 as it is used for images of 32x32: a 3x3 stem and no max pool.
Training resnet_training(int64_t batch, bool bf16);
/// The segmenter: one output, dropout off.
Training deeplab_training(int64_t batch, int64_t size, bool bf16);
/// The segmenter of clips, (batch, 3, frames, size, size).
Training unet_3d_training(int64_t batch, int64_t frames, int64_t size);
/// Two layers of a causal transformer of 4 heads over windows (batch, length) of 65 characters.
Training char_gpt_training(int64_t batch, int64_t length, int64_t width);

/// What PyTorch's peer trains: lines of Python.
struct TorchTraining {
  std::string model;                // statements that leave it in m
  std::string input, target, loss;  // expressions; of `out` and y is the loss
  double momentum = 0.9;
  bool bf16 = false, channels_last = true;
  std::string device = "cpu";
  bool compiled = false;  // by torch.compile
  /// As DistributedDataParallel on this rank's part of the batch; or by fully_shard, each layer of
  /// a transformer by itself.
  bool distributed = false, sharded = false;
};
TorchTraining torch_mlp(int64_t hidden);
TorchTraining torch_resnet(int64_t batch, bool bf16);
TorchTraining torch_deeplab(int64_t batch, int64_t size, bool bf16);
TorchTraining torch_unet_3d(int64_t batch, int64_t frames, int64_t size);
TorchTraining torch_char_gpt(int64_t batch, int64_t length, int64_t width);
/// The setup of torch_side(), which leaves step().
std::string torch_setup(const TorchTraining& training);

}  // namespace aorta::bench
