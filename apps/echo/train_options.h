#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace aorta::echo {

/// What `train` is told. Names, meanings and defaults down to `seed` are those of
/// `echonet segmentation`.
struct TrainOptions {
  std::string data_dir;  // empty: what AORTA_ECHO names
  std::string output;    // empty: output/segmentation/MODEL_random (or _pretrained)
  std::string model_name = "deeplabv3_resnet50";
  bool pretrained = false;
  std::string weights;
  bool run_test = false;
  bool save_video = false;
  int64_t num_epochs = 50;
  double lr = 1e-5;
  double weight_decay = 0;
  std::optional<int64_t> lr_step_period;
  std::optional<int64_t> num_train_patients;  // videos, drawn at random
  int num_workers = 4;
  int64_t batch_size = 20;
  std::string device = "auto";
  std::string devices;                 // several that share each batch: "cuda:0,cuda:1"
  std::optional<int64_t> batch_parts;  // of a batch that are normalised apart; else one a device
  uint64_t seed = 0;

  std::string optimizer = "sgd";
  std::string schedule = "step";
  bool amp = false;
  bool augment = false;
  bool pin_memory = false;
  double timeout = 300;  // seconds to wait for a batch of the workers; 0: for ever
  bool deterministic = true;
  std::optional<int64_t> max_steps;
  double save_every = 10;  // minutes between checkpoints inside an epoch

  bool resume = false;
  bool allow_changed_data = false;  // of a run that is resumed
  bool overwrite = false;
  bool profile = false;
  bool quiet = false;

  /// visit(group, name, field, description) for everything that a run is repeated with, in the
  /// order of args.yaml.
  template <class Visit>
  void settings(Visit&& visit) {
    visit("Data", "data_dir", data_dir, "folder with FileList.csv, VolumeTracings.csv and Videos");
    visit(
        "Model", "model_name", model_name,
        "deeplabv3_resnet50, deeplabv3_resnet101, fcn_resnet50, fcn_resnet101, unet or unet_small");
    visit("Model", "pretrained", pretrained, "start from torchvision's weights");
    visit("Model", "weights", weights, "a run, or a file of weights, to start from");
    visit("Output", "run_test", run_test,
          "evaluate the best weights on TEST, too, not on VAL alone");
    visit("Output", "save_video", save_video, "segment the videos of TEST at the end");
    visit("Training", "num_epochs", num_epochs, "epochs");
    visit("Training", "lr", lr, "learning rate, for losses summed over pixels and samples");
    visit("Training", "weight_decay", weight_decay, "added to gradients: weight_decay x weights");
    visit("Training", "lr_step_period", lr_step_period,
          "epochs after which the learning rate is x 0.1");
    visit("Data", "num_train_patients", num_train_patients,
          "train on so many videos, drawn at random");
    visit("Data", "num_workers", num_workers, "processes that read; 0: none");
    visit("Training", "batch_size", batch_size, "videos a step; each gives its two traced frames");
    visit("Training", "device", device, "auto, cpu, cuda or cuda:N");
    visit("Training", "devices", devices,
          "several that share each batch, as cuda:0,cuda:1 or cpu:0,cpu:1; instead of --device");
    visit("Training", "batch_parts", batch_parts,
          "normalise a batch in so many parts, as so many devices do; default: one a device");
    visit("Training", "seed", seed, "of everything random");
    visit("Training", "optimizer", optimizer,
          "sgd, nesterov, adagrad, adadelta, rmsprop, adam, adamw, nadam, adamax");
    visit("Training", "schedule", schedule, "step, cosine or poly an epoch, onecycle a step");
    visit("Training", "amp", amp, "compute in bf16 where it is safe");
    visit("Data", "augment", augment,
          "turn, shift, scale and change the brightness of samples at random");
    visit("Data", "timeout", timeout, "seconds to wait for a batch of the workers; 0: for ever");
    visit("Data", "pin_memory", pin_memory, "batches in page-locked memory");
    visit("Training", "deterministic", deterministic,
          "same seed, same bits (always so on the CPU)");
    visit("Training", "max_steps", max_steps, "stop after so many steps");
    visit("Output", "save_every", save_every, "minutes between checkpoints inside an epoch");
  }
};

}  // namespace aorta::echo
