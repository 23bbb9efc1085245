#pragma once

#include <aorta/apps/echo/run_options.h>

namespace aorta::echo {

/// What `video` is told. Names, meanings and defaults down to RunOptions::seed are those of
/// `echonet video`. Without `output`: output/video/MODEL_FRAMES_PERIOD_pretrained (or _random).
struct VideoOptions : RunOptions {
  VideoOptions() {
    model_name = "r2plus1d_18";
    pretrained = true;
    num_epochs = 45;
    weight_decay = 1e-4;
    lr_step_period = 15;
  }

  std::string task = "EF";  // a column of FileList.csv
  int64_t frames = 32;      // of a clip
  int64_t period = 2;       // of the video's frames from one of a clip to the next

  /// visit(group, name, field, description) for everything that a run is repeated with, in the
  /// order of args.yaml.
  template <class Visit>
  void settings(Visit&& visit) {
    common_settings(visit);
    visit("Model", "model_name", model_name, "r2plus1d_18, mc3_18 or r3d_18");
    visit("Model", "task", task, "what is learnt: EF, EDV, ESV or any column of numbers");
    visit("Model", "frames", frames, "frames of a clip, 250 at most");
    visit("Model", "period", period, "frames of the video from one of a clip to the next");
    visit("Training", "lr", lr, "learning rate, for the mean squared error");
    visit("Training", "batch_size", batch_size, "clips a step, each of another video");
  }
};

}  // namespace aorta::echo
