#pragma once

#include <aorta/apps/echo/run_options.h>

namespace aorta::echo {

/// What `train` is told. Names, meanings and defaults down to RunOptions::seed are those of
/// `echonet segmentation`. Without `output`: output/segmentation/MODEL_random (or _pretrained).
struct TrainOptions : RunOptions {
  TrainOptions() {
    model_name = "deeplabv3_resnet50";
    num_epochs = 50;
    lr = 1e-5;
  }

  std::optional<int64_t> frames, period;  // of clips; else 3 and 4
  std::optional<int64_t> batch_parts;     // normalised apart; else one a device or process
  double rank_timeout = 10;               // seconds to wait for other processes; 0: for ever
  bool bf16_gradients = false;
  bool save_video = false;
  bool augment = false;

  /// visit(group, name, field, description) for everything that a run is repeated with, in the
  /// order of args.yaml.
  template <class Visit>
  void settings(Visit&& visit) {
    common_settings(visit);
    visit(
        "Model", "model_name", model_name,
        "deeplabv3_resnet50, deeplabv3_resnet101, fcn_resnet50, fcn_resnet101, unet, unet_small or "
        "unet_3d, which sees clips");
    visit("Model", "frames", frames,
          "frames that unet_3d sees to outline one of them, 64 at most; default: 3");
    visit("Model", "period", period,
          "frames of the video from one of those to the next; default: 4");
    visit("Training", "pretrain_epochs", pretrain_epochs,
          "epochs before the others in which unet_3d learns to fill in frames that it isn't shown");
    visit("Training", "lr", lr, "learning rate, for losses summed over pixels and samples");
    visit("Training", "batch_size", batch_size, "videos a step; each gives its two traced frames");
    visit("Training", "devices", devices,
          "several that share each batch, as cuda:0,cuda:1 or cpu:0,cpu:1; instead of --device");
    visit("Training", "batch_parts", batch_parts,
          "normalise a batch in so many parts, as so many devices do; default: one a device or "
          "process");
    visit("Training", "zero", zero,
          "divide the optimizer's state among processes of mpirun: less memory, the same numbers");
    visit("Training", "bf16_gradients", bf16_gradients,
          "processes of mpirun send each other gradients of half the bytes");
    visit("Training", "rank_timeout", rank_timeout,
          "seconds that processes of mpirun wait for one another; 0: for ever");
    visit("Output", "save_video", save_video, "segment the videos of TEST at the end");
    visit("Data", "augment", augment,
          "turn, shift, scale and change the brightness of samples at random");
  }
};

}  // namespace aorta::echo
