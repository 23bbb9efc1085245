#pragma once

#include <aorta/apps/echo/frame_view.h>
#include <aorta/core/io/state.h>
#include <aorta/data/images/statistics.h>
#include <aorta/nn/module.h>

namespace aorta::echo {

/// A network that tells a number of a clip, and how clips are made for it.
struct Regressor {
  std::string model_name;
  nn::AnyModule net;             // (N, 3, T, H, W) -> (N, 1)
  std::vector<float> mean, std;  // of pixels 0 to 255, one a channel
  std::string task;              // the column of FileList.csv that it has learnt
  int64_t frames = 0;            // of a clip
  int64_t period = 0;            // of the video's frames from one of a clip to the next
  int64_t side = kEchoNetSide;   // the longer edge of the frames that it was trained on

  /// u8 (N, 3, T, H, W) -> f32 of the same shape, channels_last: (pixel - mean) / std.
  Tensor normalised(const Tensor& clips) const;
  /// normalised() clips -> f32 (N), in the network's mode and with a graph.
  Tensor values(const Tensor& input) const;
  /// How many places a clip has in a video of so many frames; a video that is too short is filled
  /// up to frames x period, as EchoNet's.
  int64_t places(int64_t video_frames) const;
  /// A video u8 (3, F, H, W) -> f32 (`count`) on the CPU: the values of the clips that begin at
  /// frames first, first + 1, ... Frames beyond the end have the mean colour. `batch_size` clips
  /// are computed at a time, where the network lies, without a graph and in eval mode.
  Tensor predict(const Tensor& video, int64_t first, int64_t count, int64_t batch_size) const;

  /// Takes the network to a device and tells the number of a small clip there: for choose_device().
  void try_on(Device device) const;

  /// "model.*" and "regressor.*".
  State state() const;
};

/// Where its network lies.
Device device_of(const Regressor& regressor);

/// The networks of models/ that take clips.
std::vector<std::string> regressor_names();
/// Throws for a name that isn't one of regressor_names(), and for frames and period that no clip
/// has.
void check_regressor(const std::string& model_name, int64_t frames, int64_t period);
/// A network of random weights whose output begins near 55.6, EchoNet's mean EF. Throws what
/// check_regressor() throws.
Regressor make_regressor(const std::string& model_name, const data::ChannelStatistics& pixels,
                         const std::string& task, int64_t frames, int64_t period);

/// From a state that has what Regressor::state() gives.
Regressor regressor_of(const State& state, const std::string& name);
/// From best.safetensors or checkpoint.safetensors, or from the best of a run's folder.
Regressor load_regressor(const std::string& run_or_file);
/// Loads a run's best weights or a file of tensors with torchvision's names into a network that
/// begins; a head of other classes, as that of Kinetics, is left out. Throws Failure(data).
void load_initial_weights(Regressor& regressor, const std::string& run_or_file);

}  // namespace aorta::echo
