#pragma once

#include <aorta/apps/echo/measure/agreement.h>
#include <aorta/apps/echo/measure/dice.h>
#include <aorta/apps/echo/segmenter.h>
#include <aorta/data/datasets/echo.h>

#include <functional>
#include <span>

namespace aorta::echo {

/// What was found in a video's two traced frames.
struct EvaluatedVideo {
  std::string file_name;
  VideoOverlap overlap;
  double told_ef = 0;    // FileList.csv's, in percent
  double found_ef = 0;   // of the network's masks by the method of disks; NaN where there is none
  double traced_ef = 0;  // of the tracings' masks by the same method
  double large_volume = 0, small_volume = 0;  // of the network's masks, in pixels^3
};

struct Evaluation {
  std::string split;
  std::vector<EvaluatedVideo> videos;  // in the order of the data set
  DiceScores dice;
  Agreement ef;         // found against told
  Errors ef_errors;     // of the same
  Agreement traced_ef;  // traced against told: what perfect masks would reach
};

/// A pass over a data set.
struct EvaluationSettings {
  int64_t batch_size = 20;
  int num_workers = 4;
  double timeout = 300;    // seconds to wait for a batch of the workers; 0: for ever
  bool pin_memory = true;  // page-locked memory for what goes to a GPU
  BootstrapOptions bootstrap = {};
  /// Called after each batch, with how many of how many videos are done.
  std::function<void(int64_t done, int64_t count)> progress = nullptr;
};

/// The segmenter on the traced frames of a split, where its network lies: batches go there as those
/// of training do. Throws what the data set
/// and its loader throw.
Evaluation evaluate(const Segmenter& segmenter, const std::string& data_dir, data::EchoSplit split,
                    const EvaluationSettings& settings = {});

/// Writes {split}_dice.csv (Filename,Overall,Large,Small), {split}_ef.csv, {split}_ef.svg and
/// {split}_bland_altman.svg into a folder that is there; the names of the files.
std::vector<std::string> write_evaluation(const Evaluation& evaluation, const std::string& folder);

/// The table that people read; without the last line.
std::string to_string(const Evaluation& evaluation);
/// "dice overall 0.9012 large 0.9150 small 0.8821".
std::string dice_line(const Evaluation& evaluation);
/// "ef mae 3.92 bias -1.10 r2 0.853"; "-" for what isn't defined.
std::string ef_line(const Evaluation& evaluation);

/// "FileName,EF_pred" and a row a video, the names without suffix as EchoNet's table has them; the
/// columns of CardioBench (github.com/BioMedIA-MBZUAI/CardioBench, evaluation/echonet_dynamic.py).
/// No number where none was found.
std::string predictions_table(std::span<const std::string> names, std::span<const double> efs);

/// The two traced frames of a video with its traces and the network's masks, to look at.
struct EvaluatedFrames {
  size_t video = 0;                 // in Evaluation::videos
  Tensor large_frame, small_frame;  // u8 (3, H, W)
  Tensor large_trace, small_trace;  // u8 (H, W)
  Tensor large_mask, small_mask;
};
/// Returns the frames of the videos with the highest, the middle and the lowest Dice; fewer for
/// fewer videos.
std::vector<EvaluatedFrames> best_median_worst(const Segmenter& segmenter,
                                               const std::string& data_dir, data::EchoSplit split,
                                               const Evaluation& evaluation);

/// train, val, test or all; throws a Failure for another name.
data::EchoSplit split_of(const std::string& name);

struct EvaluateOptions {
  /// A run's folder (its best.safetensors) or a file of weights; empty: shipped_weights().
  std::string run_or_weights = {};
  /// The network of weights that don't name theirs; its input is normalised with the
  /// pixel_statistics() of the data.
  std::string model_name = {};
  std::string data_dir = {};  // empty: what AORTA_ECHO names
  std::string split = "test";
  /// The folder for the files, made where it isn't there; empty: the run's, or "evaluated" of the
  /// weights that come with the program.
  std::string output = {};
  /// A table besides, of FileName and EF_pred, which CardioBench's scripts read; empty: none.
  std::string predictions = {};
  std::string device = "auto";
  int64_t batch_size = 20;
  int num_workers = 4;
  /// Overlay videos, size.csv and size/*.svg of the split, too (segment.h).
  bool save_video = false;
  bool quiet = false;  // no progress bar
};

/// The command: prints the table, writes the files and ends with the lines of EF and of Dice, or
/// for weights of `aorta-echo video` with that of its errors. Throws Failure.
void evaluate(EvaluateOptions options);

}  // namespace aorta::echo
