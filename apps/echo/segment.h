#pragma once

#include <aorta/apps/echo/frame_view.h>
#include <aorta/apps/echo/measure/beats.h>
#include <aorta/apps/echo/measure/volume.h>
#include <aorta/apps/echo/segmenter.h>
#include <aorta/data/datasets/echo.h>
#include <aorta/data/video/video.h>
#include <aorta/report/plot.h>

#include <functional>
#include <optional>

namespace aorta::echo {

/// What a segmenter finds in a video.
struct VideoSegmentation {
  std::string name;  // without folder and suffix
  int64_t height = 0, width = 0;
  double fps = 0;             // 0 where the file doesn't say
  int64_t side = 0;           // of the network's pictures
  MaskList masks;             // (side, side), a frame each
  std::vector<double> areas;  // of the mask of each frame, in pixels of the video
  /// The areas of the masks' largest parts, which are what is measured, in the network's pixels: by
  /// them beats are found.
  std::vector<double> ventricles;
  std::vector<double> volumes;  // by the method of disks, in the network's pixels^3
  double millimetres = 0;       // of a pixel of the video; 0 where it isn't known
  std::vector<Chord> axes;      // the long axis from base to apex, in pixels of the video
  std::vector<Beat> beats;
  /// The ejection fractions of each beat, in percent: of the frames as they are, and of each view
  /// of the test-time augmentation.
  std::vector<std::vector<double>> views;
  std::vector<double> beat_efs;  // of each beat, in percent
  double ef = 0;                 // their mean, without beats that are cut; NaN without a beat
  Interval ef_range;             // `ef` and where it lies (mean_of_beats())

  FrameView view() const { return {height, width, side}; }
  /// Millilitres of a volume in the network's pixels^3; NaN where the size of a pixel isn't known.
  double millilitres(double volume) const;
};

struct SegmentSettings {
  int64_t batch_size = 20;
  /// The edge of the square that frames are fitted into; 0 is the frames' own longer edge, and
  /// nothing the segmenter's.
  std::optional<int64_t> side = std::nullopt;
  /// Views of each beat's two frames besides the frames themselves (views.h).
  int64_t tta = 0;
  /// Called now and then with how many of how many frames are done.
  std::function<void(int64_t done, int64_t count)> progress = nullptr;
};

/// Every frame of a video, a batch at a time: memory for one batch and a bit a pixel of the
/// network's masks, however long the video is.
VideoSegmentation segment_video(const Segmenter& segmenter, const data::VideoReader& video,
                                const SegmentSettings& settings = {});

/// The area frame by frame with its beats.
report::Plot size_plot(const VideoSegmentation& segmentation);
/// "3 beats, EF 61.2 % (58.9 to 63.1; beats 59.8, 61.0, 62.7)", or that there are none.
std::string to_string(const VideoSegmentation& segmentation);

struct SegmentOptions {
  /// A run's folder (its best.safetensors) or a file of weights; empty: shipped_weights().
  std::string run_or_weights = {};
  /// The network of weights that don't name theirs; its input is normalised with the pixels of the
  /// videos.
  std::string model_name = {};
  /// Files of any format that VideoReader reads, their names different. Of those that aren't as
  /// large as what the network was trained on (112 x 112: EchoNet's) the sector is looked at
  /// (import/study.h).
  std::vector<std::string> videos = {};
  /// The folder for NAME_segmented.avi and, where OpenCV is, .mp4, which browsers play;
  /// size/NAME.csv (frame,area,is_diastole,is_systole,volume,volume_ml, the last where a pixel's
  /// size is known), size/NAME.svg and ef/NAME.csv (beat,diastole,systole,ef,low,high; the last
  /// row, "all", is the video's); made where it isn't there.
  std::string output = "segmented";
  std::string device = "auto";
  int64_t batch_size = 20;
  int64_t tta = 8;
  bool save_video = true;
  /// Replaces overlay videos that are there already, which else is a Failure.
  bool overwrite = false;
  bool quiet = false;  // no progress bar
};

/// The command: prints a line and the beats of each video. Throws Failure: all videos are opened
/// before the first is segmented.
void segment(const SegmentOptions& options);

struct SegmentSplitOptions {
  std::string data_dir = {};  // empty: what AORTA_ECHO names
  data::EchoSplit split = data::EchoSplit::test;
  /// The folder for size.csv (Filename,Frame,Size,HumanLarge,HumanSmall,ComputerSmall, as
  /// EchoNet's), size/NAME.svg and videos/NAME.avi.
  std::string output = {};
  int64_t batch_size = 20;
  bool save_video = true;
  /// Called now and then inside of a video, and after each, with how many of how many are done.
  std::function<void(int64_t done, int64_t count)> progress = nullptr;
};

/// Segments the videos of a data set, as EchoNet's save_video does. What it returns has no masks.
std::vector<VideoSegmentation> segment_split(const Segmenter& segmenter,
                                             const SegmentSplitOptions& options);

}  // namespace aorta::echo
