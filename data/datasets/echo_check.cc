#include <aorta/core/resource_error.h>
#include <aorta/data/datasets/echo_tables.h>
#include <aorta/data/video/video.h>

#include <unistd.h>

#include <algorithm>
#include <map>

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

  void inspect() {
    sizes_.resize(tables_.names.size());
    for (size_t i = 0; i < tables_.names.size(); ++i) inspect(i);
    check_sizes();
  }

 private:
  using Size = std::pair<int64_t, int64_t>;  // height, width; 0 x 0 where it isn't known

  std::string path(size_t i) const { return videos_ + "/" + std::string(tables_.names[i]); }

  void inspect(size_t i) {
    check_order(i);
    if (access(path(i).c_str(), F_OK) != 0) return;  // a fault of the table's line already
    try {
      const VideoReader video(path(i), mode_);
      sizes_[i] = {video.height(), video.width()};
      if (!(video.fps() > 0))
        faults_.push_back({path(i), 0, "a video should say its frames a second, got 0", false});
      check_frames(video, i);
    } catch (const ResourceError&) {
      throw;  // no fault of the video's
    } catch (const Error& error) {
      std::string text = error.what();
      if (text.starts_with(path(i) + ": ")) text.erase(0, path(i).size() + 2);
      faults_.push_back({path(i), 0, text});
    }
  }

  // Against the size that most have, of the sizes that are as frequent the first.
  void check_sizes() {
    std::map<Size, int64_t> counts;
    Size usual;
    for (const Size& size : sizes_)
      if (size.first > 0) ++counts[size];
    for (const Size& size : sizes_)
      if (size.first > 0 && (usual.first == 0 || counts[size] > counts[usual])) usual = size;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      const auto [height, width] = sizes_[i];
      if (height == 0) continue;
      if (sizes_[i] == usual)
        check_outlines(i);
      else
        faults_.push_back({path(i), 0,
                           "videos must be of one size, got " + size_text(height, width) +
                               " where most are " + size_text(usual.first, usual.second)});
    }
  }

  // EchoNet's code takes the frame that is traced last for the end of diastole.
  void check_order(size_t i) {
    const EchoTraceRows &large = tables_.large[i], &small = tables_.small[i];
    if (large.frame < 0 || small.frame < 0 || small.line <= large.line) return;
    faults_.push_back({"VolumeTracings.csv", large.line,
                       "the end of systole, the smaller area, must be traced first for EchoNet's "
                       "code, got frame " +
                           std::to_string(large.frame) + " before " + std::to_string(small.frame) +
                           " of " + std::string(tables_.names[i]) + " (here the areas decide)",
                       false});
  }

  void check_outlines(size_t i) {
    const auto [height, width] = sizes_[i];
    for (const EchoTraceRows* rows : {&tables_.large[i], &tables_.small[i]})
      if (auto fault = fault_outside(tables_, i, *rows, height, width))
        faults_.push_back(std::move(*fault));
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
      else if (tables_.frame_counts[i] < 0 || rows->frame < tables_.frame_counts[i])
        faults_.push_back({"VolumeTracings.csv", rows->line,
                           "Frame must be 0 to the number of frames - 1, got " +
                               std::to_string(rows->frame) + " of " + std::to_string(count)});
    }
  }

  const EchoTables& tables_;
  std::string videos_;
  ImageMode mode_;
  std::vector<EchoFault>& faults_;
  std::vector<Size> sizes_;  // of the videos
};

}  // namespace

std::vector<EchoFault> check_echo(const Text& folder, const EchoOptions& options,
                                  bool open_videos) {
  std::vector<EchoFault> faults;
  const std::string place = options.split == EchoSplit::external_test ? "" : echo_folder(folder);
  EchoTables tables;
  try {
    tables = load_echo_tables(place, options, echo_columns(options), faults);
  } catch (const ResourceError&) {
    throw;
  } catch (const Error& error) {
    faults.push_back({place.empty() ? options.external_test_location : place, 0, error.what()});
    return faults;
  }
  if (open_videos) Inspector(tables, echo_videos(place, options), options.mode, faults).inspect();
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
