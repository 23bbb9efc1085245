#include <aorta/core/check.h>
#include <aorta/data/datasets/echo_tables.h>
#include <aorta/data/video/video.h>

namespace aorta::data {
namespace {

std::string size_text(int64_t height, int64_t width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

// Compares the videos with the tables and with each other.
class Inspector {
 public:
  Inspector(const EchoTables& tables, std::string videos, ImageMode mode,
            std::vector<EchoFault>& faults)
      : tables_(tables), videos_(std::move(videos)), mode_(mode), faults_(faults) {}

  void inspect(size_t i) {
    const std::string path = videos_ + "/" + std::string(tables_.names[i]);
    try {
      const VideoReader video(path, mode_);
      check_size(video);
      check_frames(video, i);
    } catch (const Error& error) {
      std::string text = error.what();
      if (text.starts_with(path + ": ")) text.erase(0, path.size() + 2);
      faults_.push_back({path, 0, text});
    }
  }

 private:
  void check_size(const VideoReader& video) {
    if (height_ == 0) {
      height_ = video.height();
      width_ = video.width();
    }
    if (video.height() != height_ || video.width() != width_)
      faults_.push_back({video.path(), 0,
                         "videos must be of one size, got " +
                             size_text(video.height(), video.width()) + " where the first is " +
                             size_text(height_, width_)});
  }

  void check_frames(const VideoReader& video, size_t i) {
    const int64_t count = video.frame_count();
    if (tables_.frame_counts[i] >= 0 && tables_.frame_counts[i] != count)
      faults_.push_back({"FileList.csv", tables_.lines[i],
                         "NumberOfFrames must be the file's, got " +
                             std::to_string(tables_.frame_counts[i]) + " for " +
                             std::to_string(count) + " frames",
                         false});
    for (const EchoTraceRows* rows : {&tables_.large[i], &tables_.small[i]}) {
      if (rows->frame < 0) continue;
      if (rows->frame < count)
        video.read(rows->frame);  // throws where its pixels are damaged
      else
        faults_.push_back({"VolumeTracings.csv", rows->line,
                           "Frame must be 0 to the number of frames - 1, got " +
                               std::to_string(rows->frame) + " of " + std::to_string(count)});
    }
  }

  const EchoTables& tables_;
  std::string videos_;
  ImageMode mode_;
  std::vector<EchoFault>& faults_;
  int64_t height_ = 0;
  int64_t width_ = 0;
};

}  // namespace

std::vector<EchoFault> check_echo(const std::string& folder, const EchoOptions& options,
                                  bool open_videos) {
  std::vector<EchoFault> faults;
  const std::string place = options.split == EchoSplit::external_test ? "" : echo_folder(folder);
  EchoTables tables;
  try {
    tables = load_echo_tables(place, options, echo_columns(options), faults);
  } catch (const Error& error) {
    faults.push_back({place.empty() ? options.external_test_location : place, 0, error.what()});
    return faults;
  }
  Inspector inspector(tables, echo_videos(place, options), options.mode, faults);
  for (size_t i = 0; open_videos && i < tables.names.size(); ++i) inspector.inspect(i);
  return faults;
}

std::string to_string(EchoSplit split) {
  switch (split) {
    case EchoSplit::train:
      return "train";
    case EchoSplit::val:
      return "val";
    case EchoSplit::test:
      return "test";
    case EchoSplit::all:
      return "all";
    case EchoSplit::external_test:
      return "external_test";
    case EchoSplit::clinical_test:
      return "clinical_test";
  }
  return "?";
}

std::string to_string(const EchoFault& fault) {
  return fault.file + (fault.line > 0 ? ":" + std::to_string(fault.line) : "") + ": " + fault.text;
}

}  // namespace aorta::data
