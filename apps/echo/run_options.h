#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace aorta::echo {

/// What every run is told, `train`'s and `video`'s. Their defaults are those structs' own.
struct RunOptions {
  std::string data_dir;  // empty: what AORTA_ECHO names
  std::string output;    // empty: a folder named after the network
  std::string model_name;
  bool pretrained = false;
  std::string weights;
  bool run_test = false;
  int64_t num_epochs = 1;
  double lr = 1e-4;
  double weight_decay = 0;
  std::optional<int64_t> lr_step_period;
  std::optional<int64_t> num_train_patients;  // videos, drawn at random
  int num_workers = 4;
  int64_t batch_size = 20;
  std::string device = "auto";
  std::string devices;  // several that share each batch: "cuda:0,cuda:1"
  uint64_t seed = 0;

  std::string optimizer = "sgd";
  std::string schedule = "step";
  bool amp = false, tf32 = false;
  std::optional<int64_t> pretrain_epochs;  // before the others, without labels
  bool zero = false;                       // optimizer state divided among processes
  bool pin_memory = true;
  double timeout = 300;  // seconds to wait for a batch of the workers; 0: for ever
  bool deterministic = true;
  std::optional<int64_t> max_steps;
  double save_every = 10;  // minutes between checkpoints inside an epoch

  bool resume = false;
  bool allow_changed_data = false;  // of a run that is resumed
  bool overwrite = false;
  bool profile = false;
  bool quiet = false;

  /// visit(group, name, field, description) for what all runs are repeated with, but for the
  /// network's name.
  template <class Visit>
  void common_settings(Visit&& visit) {
    visit("Data", "data_dir", data_dir, "folder with FileList.csv, VolumeTracings.csv and Videos");
    visit("Model", "pretrained", pretrained, "start from torchvision's weights");
    visit("Model", "weights", weights, "a run, or a file of weights, to start from");
    visit("Output", "run_test", run_test,
          "evaluate the best weights on TEST, too, not on VAL alone");
    visit("Training", "num_epochs", num_epochs, "epochs");
    visit("Training", "weight_decay", weight_decay, "added to gradients: weight_decay x weights");
    visit("Training", "lr_step_period", lr_step_period,
          "epochs after which the learning rate is x 0.1");
    visit("Data", "num_train_patients", num_train_patients,
          "train on so many videos, drawn at random");
    visit("Data", "num_workers", num_workers, "processes that read; 0: none");
    visit("Training", "device", device, "auto, cpu, cuda or cuda:N");
    visit("Training", "seed", seed, "of everything random");
    visit("Training", "optimizer", optimizer,
          "sgd, nesterov, adagrad, adadelta, rmsprop, adam, adamw, nadam, adamax");
    visit("Training", "schedule", schedule, "step, cosine or poly an epoch, onecycle a step");
    visit("Training", "amp", amp, "compute in bf16 where it is safe");
    visit("Training", "tf32", tf32,
          "round what a GPU multiplies in f32 to TF32, as PyTorch's convolutions do");
    visit("Data", "timeout", timeout, "seconds to wait for a batch of the workers; 0: for ever");
    visit("Data", "pin_memory", pin_memory, "page-locked memory for what goes to a GPU");
    visit("Training", "deterministic", deterministic,
          "same seed, same bits (always so on the CPU)");
    visit("Training", "max_steps", max_steps, "stop after so many steps");
    visit("Output", "save_every", save_every, "minutes between checkpoints inside an epoch");
  }
};

}  // namespace aorta::echo
