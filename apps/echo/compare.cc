#include <aorta/apps/echo/compare.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/apps/echo/trainer.h>
#include <aorta/core/clock.h>
#include <aorta/core/device.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace aorta::echo {
namespace {

struct Epoch {
  double seconds = 0;      // on average
  int64_t recordings = 0;  // that were read: the last batch is left out when it isn't full
};

/// Nothing when a signal came.
std::optional<Epoch> time_epochs(const TrainOptions& options, int64_t epochs) {
  Trainer trainer(options);
  Epoch epoch;
  double start = 0;
  for (int64_t i = 0; i <= epochs; ++i) {  // the first one warms up
    if (i == 1) start = seconds_now();
    while (trainer.step()) {
      if (interrupted()) return {};
    }
    epoch.recordings = trainer.totals().samples;
    trainer.end_epoch();
  }
  epoch.seconds = (seconds_now() - start) / static_cast<double>(epochs);
  return epoch;
}

}  // namespace

int compare(const CompareOptions& options) {
  catch_interrupts();
  check_positive("--epochs", options.epochs);
  check_positive("--recordings", options.recordings);
  for (const int workers : options.workers) check_workers("--workers", workers);
  const std::string data_dir = data_folder(options.train.data_dir);
  const int64_t there = echo_frames(data_dir, data::EchoSplit::train)->size();
  const int64_t recordings = std::min(options.recordings, there);
  std::vector<std::string> devices = {"cpu"};
  const auto tried = [&](Device device) { try_step(options.train, device); };
  if (choose_device("auto", tried).is_cuda()) devices.push_back("cuda");
  if (options.train.device != "auto") devices = {options.train.device};
  for (const std::string& device : devices) choose_device(device, tried);
  fmt::print("average time of an epoch, {} recordings{}, {}, batch {}, {} epoch{}\n\n", recordings,
             recordings < options.recordings ? " (all there are)" : "", options.train.model_name,
             options.train.batch_size, options.epochs, options.epochs == 1 ? "" : "s");
  fmt::print("{:>8} {:>8} {:>11} {:>12} {:>13}\n", "device", "workers", "pin_memory", "epoch (s)",
             "recordings/s");
  for (const std::string& device : devices)
    for (const int workers : options.workers)
      for (const bool pin : {false, true}) {
        if (pin && !cuda::is_available()) {
          fmt::print("{:>8} {:>8} {:>11} {:>12} {:>13}\n", device, workers, "on", "-",
                     "needs a GPU");
          continue;
        }
        TrainOptions one = options.train;
        one.data_dir = data_dir;
        one.num_train_patients = recordings;
        one.num_workers = workers;
        one.pin_memory = pin;
        one.device = device;
        const std::optional<Epoch> epoch = time_epochs(one, options.epochs);
        if (!epoch) stop_if_interrupted("the table isn't whole");
        fmt::print("{:>8} {:>8} {:>11} {:>12.2f} {:>13.1f}\n", device, workers, pin ? "on" : "off",
                   epoch->seconds, static_cast<double>(epoch->recordings) / epoch->seconds);
        std::fflush(stdout);
      }
  return 0;
}

}  // namespace aorta::echo
