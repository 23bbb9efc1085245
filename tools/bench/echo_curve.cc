// The losses of the main job's first steps, for echo.py: the weights of a file, all videos of TRAIN
// in one batch, no dropout, since that is random in ways of its own on each side.
//
//     echo_curve FOLDER MODEL WEIGHTS STEPS LEARNING_RATE
//
// Prints the mean and the standard deviation that pixels are normalised with, then a loss a line.
#include <aorta/apps/echo/trainer.h>
#include <aorta/core/process/init.h>
#include <aorta/nn/dropout.h>

#include <cstdio>
#include <string>

using namespace aorta;

int main(int argc, char** argv) try {
  init(argc, argv);
  if (argc != 6) {
    std::fprintf(stderr, "usage: echo_curve FOLDER MODEL WEIGHTS STEPS LEARNING_RATE\n");
    return 2;
  }
  echo::TrainOptions options;
  options.data_dir = argv[1];
  options.model_name = argv[2];
  options.weights = argv[3];
  options.lr = std::stod(argv[5]);
  options.num_workers = 0;
  options.batch_size = echo::echo_frames(options.data_dir, data::EchoSplit::train)->size();
  echo::Trainer trainer(options);
  for (auto& [name, module] : trainer.segmenter().net->named_modules())
    if (auto* dropout = dynamic_cast<nn::Dropout*>(module)) dropout->options.p = 0;
  std::printf("%.9g\n%.9g\n", trainer.segmenter().mean[0], trainer.segmenter().std[0]);
  for (int step = std::stoi(argv[4]); step > 0; --step) {
    trainer.step();
    std::printf("%.9g\n", trainer.totals().mean_loss());
    std::fflush(stdout);
    trainer.end_epoch();
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "echo_curve: %s\n", error.what());
  return 1;
}
