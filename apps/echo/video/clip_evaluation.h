#pragma once

#include <aorta/apps/echo/measure/agreement.h>
#include <aorta/apps/echo/measure/roc.h>
#include <aorta/apps/echo/video/regressor.h>
#include <aorta/data/datasets/echo.h>

#include <functional>
#include <memory>

namespace aorta::echo {

/// What a regressor says of a video.
struct RegressedVideo {
  std::string file_name = {};
  double told = 0;                 // FileList.csv's
  std::vector<double> clips = {};  // the value of each clip, in the order of their first frames
  double found = 0;                // their mean
  double one_clip = 0;             // that of a clip from a random place
};

struct ClipEvaluation {
  std::string split = {}, task = {};
  std::vector<RegressedVideo> videos = {};  // in the order of the data set
  Errors all_clips = {}, one_clip = {};     // of the means, and of a clip of each video
  Agreement agreement = {};                 // of the means
  /// For EF alone: videos of 35, 40 and 50 % at most told from the others.
  std::vector<Roc> rocs = {};
};

/// A pass over a data set.
struct ClipEvaluationSettings {
  int64_t batch_size = 20;  // clips
  int num_workers = 4;
  double timeout = 300;    // seconds to wait for a video of the workers; 0: for ever
  bool pin_memory = true;  // page-locked memory for what goes to a GPU
  uint64_t seed = 0;       // of the one clip's place
  BootstrapOptions bootstrap = {};
  /// Called after each video, with how many of how many are done.
  std::function<void(int64_t done, int64_t count)> progress = nullptr;
};

/// The videos of a split: those that are traced alone, as in EchoNet, but all of a folder that has
/// no VolumeTracings.csv.
data::EchoOptions clip_options(const std::string& data_dir, data::EchoSplit split);

/// These videos whole, each with its value of the task.
std::shared_ptr<const data::Echo> whole_videos(const std::string& data_dir, data::EchoSplit split,
                                               const std::string& task);

/// Every clip of every video of a split, where the regressor's network lies: videos go there as the
/// clips of training do. Throws what the data
/// set and its loader throw.
ClipEvaluation evaluate_clips(const Regressor& regressor, const std::string& data_dir,
                              data::EchoSplit split, const ClipEvaluationSettings& settings = {});
/// The rest of an evaluation whose split, task and videos are there.
void measure_errors(ClipEvaluation& evaluation, const BootstrapOptions& bootstrap = {});

/// Writes {split}_predictions.csv (FileName,Clip,Value, the columns of EchoNet's, which has no
/// header), {split}_values.csv (FileName,Told,Found,Clips,Deviation), {split}_scatter.svg,
/// {split}_bland_altman.svg and, of EF, {split}_roc.svg into a folder that is there.
void write_clip_evaluation(const ClipEvaluation& evaluation, const std::string& folder);

/// The table that people read.
std::string to_string(const ClipEvaluation& evaluation);
/// "%" of EF, "mL" of EDV and ESV, nothing of what isn't known.
std::string unit_of(const std::string& task);

}  // namespace aorta::echo
