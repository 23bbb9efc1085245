#pragma once

#include <aorta/data/dataset.h>
#include <aorta/data/images/jpeg.h>
#include <aorta/data/images/polygon.h>

namespace aorta::data {

struct EchoTables;
struct EchoTraceRows;

/// The videos of FileList.csv's TRAIN, VAL or TEST, all of them, those of a folder without tables,
/// or CLINICAL_TEST, which lie in ProcessedStrainStudyA4c.
enum class EchoSplit { train, val, test, all, external_test, clinical_test };
/// "train", "val", "test", "all", "external_test" or "clinical_test".
std::string to_string(EchoSplit split);

/// EchoNet's names, meanings and defaults, but for the dtype.
struct EchoOptions {
  EchoSplit split = EchoSplit::train;
  /// What a sample has besides the clip, each a tensor of this name:
  ///   "Filename"                   u8 (longest name), padded with zeros
  ///   "EF", "EDV", "ESV" or any column of FileList.csv that holds numbers   f32 (); 0 in a split
  ///                                without tables
  ///   "LargeIndex", "SmallIndex"   i64 (), the traced frame of the largest area (end of diastole)
  ///                                and of the smallest (end of systole)
  ///   "LargeFrame", "SmallFrame"   (C, H, W), that frame; with around_traces a clip
  ///   "LargeTrace", "SmallTrace"   (H, W), 1 inside its trace and 0 outside
  List<std::string> targets = {"EF"};
  /// The clip, "video": (C, length, H, W), with clips != 1 (clips, C, length, H, W).
  bool video = true;
  /// Frames of a clip, `period` apart, here and around traces. Of "video" 0: as many as the video
  /// has; at most max_length, if that isn't 0. Videos that are too short for it are filled up with
  /// the mean colour.
  int64_t length = 16;
  int64_t period = 2;
  int64_t max_length = 250;
  /// Clips from random places; 0: from every place.
  int64_t clips = 1;
  /// LargeFrame and SmallFrame are clips around the traced frame, (C, length, H, W), that frame
  /// number length / 2 of them. The video's first and last frame stand for those that it lacks.
  bool around_traces = false;
  /// The clip is padded with so many pixels of the mean colour and cut back at a random place.
  int64_t pad = 0;
  /// The part of each frame's pixels that are made black, at random.
  double noise = 0;
  /// One for all channels, or one a channel.
  List<float> mean = {0};
  List<float> std = {1};
  /// u8: pixels as they are. f32: (pixel - mean) / std, and traces too in f32.
  DType dtype = DType::u8;
  /// gray: one channel, else three.
  ImageMode mode = ImageMode::rgb;
  /// The folder of EchoSplit::external_test.
  Text external_test_location;
  /// Leaves videos out that have fewer than two traced frames, as EchoNet does whatever the
  /// targets.
  bool require_traces = true;

  /// A segmentation sample: two frames and their traces, for which two frames are decoded.
  static EchoOptions segmentation(EchoSplit split = EchoSplit::train);

  template <class Visit>
  void fields(Visit&& visit) {
    visit(split, targets, video, length, period, max_length, clips, around_traces, pad, noise, mean,
          std, dtype, mode, external_test_location, require_traces);
  }
};

/// Something about the files of a dataset.
struct EchoFault {
  std::string file;  // FileList.csv, VolumeTracings.csv or a video
  int64_t line = 0;  // of a table, from 1; 0 for a video
  std::string text;
  bool fatal = true;  // false: the dataset works, and leaves something out
};
/// "FileList.csv:17: Videos/a.avi must be there".
std::string to_string(const EchoFault& fault);

/// A traced frame.
struct EchoTrace {
  int64_t frame = 0;
  std::vector<Point> outline;
};

/// Echocardiograms in the layout of EchoNet-Dynamic (Ouyang et al., "Video-based AI for
/// beat-to-beat assessment of cardiac function", Nature 2020), as its `Echo` reads them:
///
///     FileList.csv        FileName, EF, ESV, EDV, ..., Split
///     VolumeTracings.csv  FileName, X1, Y1, X2, Y2, Frame
///     Videos/             the files, all of one size
///
/// Names may lack ".avi" in either table. Which of the traced frames is large and which small is
/// decided by the area inside their traces, not by the order of rows. Frames are decoded one by
/// one, so that a sample without clip costs two of them, and nothing of a video stays in memory.
///
/// What check_echo calls fatal is refused: the tables' faults when the dataset is made, those of a
/// video when it is read. A trace may lie a pixel outside of the frame, as rounding puts it, and is
/// cut off there.
class Echo : public Dataset {
 public:
  /// "echo" or nothing: the folder that the environment's AORTA_ECHO names. Throws one error that
  /// lists what is missing or wrong, with file and line. Videos are not opened, but for the first.
  explicit Echo(const Text& folder = "echo", const EchoOptions& options = {});
  ~Echo() override;

  int64_t size() const override;
  std::vector<TensorSpec> specs() const override;
  void read(int64_t index, Sample& sample, Generator& random) const override;

  const EchoOptions& options() const { return options_; }
  std::string file_name(int64_t index) const;
  std::string path(int64_t index) const;
  EchoTrace large_trace(int64_t index) const;
  EchoTrace small_trace(int64_t index) const;
  /// Videos that were left out, and the like.
  const std::vector<EchoFault>& notes() const;

 private:
  struct Reading;
  size_t checked(int64_t index) const;
  EchoTrace trace(int64_t index, bool large) const;
  int64_t clip_length(int64_t frames) const;
  void require_frame(size_t index, const EchoTraceRows& rows, int64_t frames) const;
  void read_clip(Reading& reading, const Tensor& place) const;
  void draw(size_t index, bool large, const Tensor& place) const;

  std::string folder_;
  std::string videos_;
  EchoOptions options_;
  std::shared_ptr<const EchoTables> tables_;
  std::vector<std::string> columns_;
  int64_t height_ = 0;
  int64_t width_ = 0;
  int64_t longest_name_ = 0;
  int64_t longest_video_ = 0;  // in frames; 0 where the table doesn't say
};

/// Everything that is wrong with the files of a dataset, and what is odd: missing and damaged
/// videos, videos shorter than their traces, rows that can't be read. `open_videos` looks into
/// every file; without it the tables and the folder are looked at.
std::vector<EchoFault> check_echo(const Text& folder, const EchoOptions& options = {},
                                  bool open_videos = true);

}  // namespace aorta::data
