#pragma once

#include <aorta/apps/echo/frame_view.h>
#include <aorta/core/io/state.h>
#include <aorta/data/batch.h>
#include <aorta/data/datasets/echo.h>
#include <aorta/data/images/statistics.h>
#include <aorta/nn/module.h>

#include <functional>

namespace aorta::echo {

/// A network that finds the left ventricle, and what its input is normalised with.
struct Segmenter {
  std::string model_name;
  nn::AnyModule net;             // (N, 3, H, W) -> (N, 1, H, W), or of clips with T before H
  std::vector<float> mean, std;  // of pixels 0 to 255, one a channel
  int64_t frames = 1;            // of a clip; 1 of a network of frames
  int64_t period = 1;            // of the video's frames from one of a clip to the next
  int64_t side = kEchoNetSide;   // the longer edge of the frames that it was trained on

  /// Whether it finds a frame's mask in a clip around it, of `frames`, that frame number frames / 2
  /// of them: its input is (N, 3, frames, H, W) wherever (N, 3, H, W) is said below.
  bool takes_clips() const;
  /// u8 (N, 3, H, W) of one size -> f32 (sum of N, 3, H, W), channels_last: (pixel - mean) / std,
  /// the parts after one another.
  Tensor normalised(std::initializer_list<Tensor> parts) const;
  /// normalised() frames (N, 3, H, W) -> f32 (N, H, W), in the network's mode and with a graph.
  Tensor logits(const Tensor& input) const;
  /// The logits of what the network has computed.
  static Tensor logits_of(const Tensor& output);
  /// u8 (N, 3, H, W) -> f32 (N, H, W): without a graph, in eval mode, and the network's mode is
  /// what it was.
  Tensor found(const Tensor& frames) const;
  /// The masks found, u8: 1 where a pixel belongs to the ventricle, a logit above 0. Those of
  /// videos, for networks of clips too, are VideoMasks' (video_masks.h).
  Tensor masks(const Tensor& frames) const;
  /// The masks of normalised() frames.
  Tensor masks_of_input(const Tensor& input) const;

  /// Takes the network to a device and finds a small mask there: for choose_device().
  void try_on(Device device) const;

  /// "model.*" and "segmenter.*".
  State state() const;
};

/// A batch of frames_options() and what the network is given, written once where the batch lies:
///   "input"   f32 (2 B, 3, H, W) or of clips (2 B, 3, T, H, W), channels_last, normalised: ends of
///             diastole, then of systole
data::Batch with_input(const data::Batch& batch, const Segmenter& segmenter);

/// Where its network lies.
Device device_of(const Segmenter& segmenter);

/// Frames of a clip and how far apart they are, where nothing else is said, and the most.
inline constexpr int64_t kClipFrames = 3, kClipPeriod = 4, kMostClipFrames = 64;

/// A network of random weights; throws for a name that isn't one of segmenter_names(), and for
/// frames and period, which are those of a network of clips alone, that no clip has.
Segmenter make_segmenter(const std::string& model_name, std::vector<float> mean,
                         std::vector<float> std, int64_t frames = kClipFrames,
                         int64_t period = kClipPeriod);
/// EchoNet's samples of a split as the segmenter takes them: LargeFrame and SmallFrame are frames,
/// or clips around them. Frames where there is none.
data::EchoOptions frames_options(data::EchoSplit split, const Segmenter* segmenter);
/// The networks of models/ that segment.
std::vector<std::string> segmenter_names();
/// Whether one of them takes clips.
bool takes_clips(const std::string& model_name);

/// From a state that has what Segmenter::state() gives, or what `export` writes.
Segmenter segmenter_of(const State& state, const std::string& name);

/// What a file of tensors alone, as PyTorch writes, doesn't say: the network, and what its input is
/// normalised with.
struct PlainWeights {
  std::string model_name = {};
  std::function<data::ChannelStatistics()> statistics = nullptr;
};
/// From best.safetensors or checkpoint.safetensors, from the best of a run's folder, from what
/// `export` wrote, or from tensors alone.
Segmenter load_segmenter(const std::string& run_or_file, const PlainWeights& plain = {});

/// The file of the segmenter that comes with the program (docs/shipped_segmenter.md): it lies
/// beside it, or, where it is installed, in ../share/aorta. Throws Failure(environment) where it
/// doesn't.
std::string shipped_weights();

/// The file that is meant: of a run's folder its best.safetensors. Throws for one of PyTorch's, and
/// says how to convert it.
std::string weights_file(const std::string& run_or_file);
/// Whether segmenter_of() can make a segmenter of it.
bool names_its_network(const std::string& file);
/// Tensors alone, by the network's names: without DataParallel's "module.", and without the
/// auxiliary head of torchvision's networks.
NamedTensors plain_weights(const std::string& file);

}  // namespace aorta::echo
