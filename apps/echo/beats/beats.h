#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aorta::echo {

struct BeatsOptions {
  /// Weights of the segmenter, which finds the beats: a run's folder or a file of weights.
  std::string run_or_weights = {};
  /// Weights of a network that has learnt EF of clips: a run of `video`.
  std::string video_weights = {};
  /// Files of any format that `segment` takes; without any, a split of a data set.
  std::vector<std::string> videos = {};
  std::string data_dir = {};  // empty: what AORTA_ECHO names
  std::string split = "test";
  /// The folder for beats.csv (FileName,Beat,Diastole,Systole,Clip,EF,SegmentedEF), videos.csv
  /// (FileName,Beats,EF,Deviation,Low,High,SegmentedEF,ToldEF), beats/NAME.svg, size/NAME.svg and
  /// report.html; made where it isn't there.
  std::string output = "beats";
  std::string device = "auto";
  int64_t batch_size = 20;
  bool overwrite = false;  // replaces what is there already, which else is a Failure
  bool quiet = false;      // no progress bar, and no line a video
};

/// The command: the ejection fraction of each beat, its mean and its spread, of videos or of a
/// split, whose last line then says how far the means are off. Throws Failure.
void beats(const BeatsOptions& options);

}  // namespace aorta::echo
