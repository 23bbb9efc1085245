#pragma once

#include <aorta/data/datasets/echo.h>
#include <aorta/data/images/polygon.h>

#include <limits>
#include <optional>

/// The tables behind the Echo dataset, as flat arrays: 10,000 videos take a few megabytes.
namespace aorta::data {

/// Many strings in one.
class StringPool {
 public:
  void add(std::string_view text) {
    pool_ += text;
    ends_.push_back(static_cast<uint32_t>(pool_.size()));
  }
  size_t size() const { return ends_.size(); }
  std::string_view operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(pool_).substr(begin, ends_[i] - begin);
  }
  void shrink() {
    pool_.shrink_to_fit();
    ends_.shrink_to_fit();
  }

 private:
  std::string pool_;
  std::vector<uint32_t> ends_;
};

/// What VolumeTracings.csv says of one frame: pairs of points, rounded to pixels.
struct EchoTraceRows {
  int32_t frame = -1;  // -1: there is none
  uint32_t first = 0;  // of its rows in EchoTables::rows
  uint32_t count = 0;
  uint32_t line = 0;  // of VolumeTracings.csv
};

struct EchoRow {
  int16_t x1, y1, x2, y2;
  uint32_t line;  // of VolumeTracings.csv
};

struct EchoTables {
  StringPool names;                   // files' names
  std::vector<uint32_t> lines;        // in FileList.csv
  std::vector<int32_t> frame_counts;  // NumberOfFrames; -1 where the column isn't there
  std::vector<double> values;         // of the columns that are targets, video by video
  std::vector<EchoTraceRows> large;   // the traced frame of the largest area of each video
  std::vector<EchoTraceRows> small;   // and of the smallest
  std::vector<EchoRow> rows;
  std::vector<EchoFault> notes;  // what isn't an error

  void shrink();
};

/// The outline that EchoNet draws: x1, y1 of the rows after the first (the long axis), then x2, y2
/// of them from the last to the first.
void outline(const EchoTables& tables, const EchoTraceRows& trace, std::vector<Point>& points);

/// The fault of a trace that leaves frames of that size by more than the pixel that rounding may
/// add; nothing of one that doesn't.
std::optional<EchoFault> fault_outside(const EchoTables& tables, size_t video,
                                       const EchoTraceRows& trace, int64_t height, int64_t width);

/// The tables of the videos that `options` ask for; `columns` are those of FileList.csv to keep.
/// What is wrong is added to `faults`.
EchoTables load_echo_tables(const std::string& folder, const EchoOptions& options,
                            const std::vector<std::string>& columns,
                            std::vector<EchoFault>& faults);

/// What a name in EchoOptions::targets stands for.
enum class EchoTarget { file_name, value, index, frame, trace };
EchoTarget echo_target(const std::string& target);
/// The targets that are columns of FileList.csv.
std::vector<std::string> echo_columns(const EchoOptions& options);

/// Where the videos of a split lie.
std::string echo_videos(const std::string& folder, const EchoOptions& options);
/// `folder`, or what AORTA_ECHO says.
std::string echo_folder(const std::string& folder);

}  // namespace aorta::data
