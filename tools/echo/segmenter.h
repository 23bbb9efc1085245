#pragma once

#include <aorta/core/state.h>
#include <aorta/nn/module.h>

namespace aorta::echo {

/// A network that finds the left ventricle, and what its input is normalised with.
struct Segmenter {
  std::string model_name;
  nn::AnyModule net;             // (N, 3, H, W) -> (N, 1, H, W)
  std::vector<float> mean, std;  // of pixels 0 to 255, one a channel

  /// u8 (N, 3, H, W) -> f32 (N, 3, H, W), channels_last: (pixel - mean) / std.
  Tensor normalised(const Tensor& frames) const;
  /// u8 (N, 3, H, W) -> f32 (N, H, W), in the network's mode and with a graph.
  Tensor logits(const Tensor& frames) const;
  /// u8 (N, 3, H, W) -> u8 (N, H, W): 1 where a pixel belongs to the ventricle, a logit above 0.
  /// Without a graph, in eval mode, and the network's mode is what it was.
  Tensor masks(const Tensor& frames) const;

  /// "model.*" and "segmenter.*".
  State state() const;
};

/// A network of random weights; throws for a name that isn't one of segmenter_names().
Segmenter make_segmenter(const std::string& model_name, std::vector<float> mean,
                         std::vector<float> std);
/// The networks of models/ that segment.
std::vector<std::string> segmenter_names();

/// From a state that has what Segmenter::state() gives.
Segmenter segmenter_of(const State& state, const std::string& name);
/// From best.safetensors or checkpoint.safetensors, or from the best of a run's folder.
Segmenter load_segmenter(const std::string& path);

}  // namespace aorta::echo
