#include <aorta/aorta.h>
#include <aorta/apps/echo/recipe.h>
#include <aorta/apps/echo/run_report.h>
#include <aorta/apps/echo/run_space.h>
#include <aorta/apps/echo/video/clip_evaluation.h>

#include <algorithm>
#include <cmath>

namespace aorta::echo {
namespace {

int64_t bytes_of(const State& state) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : state.tensors()) bytes += tensor.nbytes();
  return bytes;
}

/// Bytes of state that the optimizer comes to have for a byte of parameters: what it has for a
/// small one after a step.
double optimizer_share(const RunOptions& options) {
  const Tensor parameter = zeros({1024}, {.requires_grad = true});
  const auto optimizer = make_optimizer(options, {parameter});
  sum(parameter).backward();
  optimizer->step();
  return static_cast<double>(bytes_of(optimizer->state())) /
         static_cast<double>(parameter.nbytes());
}

// Measures what an epoch's picture of samples takes. Masks of noise, as those of a network that has
// learnt nothing, take the most.
int64_t sample_bytes(const data::Echo& set) {
  constexpr int64_t kShown = 4;
  Generator random(0);  // the run's own numbers stay what they are
  int64_t bytes = 0;
  for (int64_t i = 0; i < std::min(kShown, set.size()); ++i) {
    try {
      const data::VideoReader video(set.path(i));
      for (const data::EchoTrace& trace : {set.large_trace(i), set.small_trace(i)}) {
        const Tensor frame = video.read(trace.frame);
        const Shape shape{frame.size(1), frame.size(2)};
        const Tensor truth = zeros(shape, {.dtype = u8});
        data::fill_polygon(truth, trace.outline);
        const Tensor mask = (rand(shape, {}, &random) > 0.5).to(u8);
        bytes += data::encode_png(sample_picture(frame, mask, truth)).numel();
      }
    } catch (const Error&) {  // the validation says what is wrong with it
    }
  }
  return bytes;
}

int64_t frames_of(const data::Echo& set) {
  int64_t frames = 0;
  for (int64_t i = 0; i < set.size(); ++i) {
    try {
      frames += data::VideoReader(set.path(i)).frame_count();
    } catch (const Error&) {  // segmenting it says so
    }
  }
  return frames;
}

// Measured and rounded up: what a frame of noise takes in an overlay, and a video's rows, plots and
// points.
constexpr int64_t kOverlay = 96 << 10, kVideo = 4 << 10;

}  // namespace

int64_t run_bytes(const RunOptions& options, const TrainingLoop& loop,
                  const RunContents& contents) {
  constexpr int64_t kTraced = 64 << 10;  // what a parameter adds to a profile
  constexpr int64_t kSlack = 2 << 20;    // headers, logs, curves, the report
  constexpr int64_t kMostEpochs = 1000;  // who asks for more means to stop it

  const std::vector<Tensor> parameters = loop.net()->parameters();
  int64_t parameter_bytes = 0;
  for (const Tensor& parameter : parameters) parameter_bytes += parameter.nbytes();
  const int64_t best = bytes_of(loop.network_state());
  const int64_t checkpoint =
      best + std::llround(optimizer_share(options) * static_cast<double>(parameter_bytes));
  const int64_t writing = 3 * checkpoint + best;

  int64_t epochs = std::min(options.num_epochs, kMostEpochs);
  if (options.max_steps) epochs = std::min(epochs, *options.max_steps / loop.steps_per_epoch() + 1);
  int64_t records = kSlack + epochs * (2 * contents.picture + kVideo);  // PNG and event
  records += contents.evaluation;
  if (options.profile) records += static_cast<int64_t>(parameters.size()) * kTraced;
  return std::max(writing, 2 * checkpoint + best + contents.videos) + records;
}

int64_t run_bytes(const TrainOptions& options, const Trainer& trainer) {
  const data::Echo& validation = trainer.validation();
  RunContents contents{
      .picture = sample_bytes(validation), .evaluation = validation.size() * kVideo, .videos = 0};
  if (options.run_test || options.save_video) {
    const auto test = echo_frames(options.data_dir, data::EchoSplit::test);
    contents.evaluation += test->size() * kVideo;
    if (options.save_video) contents.videos = kOverlay * frames_of(*test);
  }
  return run_bytes(options, trainer, contents);
}

int64_t run_bytes(const VideoOptions& options, const ClipTrainer& trainer) {
  constexpr int64_t kClips = 16 << 10;  // rows of a video's clips, points of its plots
  int64_t videos = trainer.validation().size();
  if (options.run_test)
    videos += whole_videos(options.data_dir, data::EchoSplit::test, options.task)->size();
  return run_bytes(options, trainer, {.evaluation = videos * kClips});
}

}  // namespace aorta::echo
