#include <aorta/core/io/bytes.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/byte_source.h>
#include <aorta/data/csv.h>
#include <aorta/data/datasets/echo_tables.h>
#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <numeric>

namespace aorta::data {
namespace {

constexpr const char* kFileList = "FileList.csv";
constexpr const char* kTracings = "VolumeTracings.csv";

// os.path.splitext: what follows the last point, unless the name starts with it.
bool has_suffix(std::string_view name) {
  const size_t point = name.rfind('.');
  return point != std::string_view::npos && point > 0 && name.find_first_not_of('.') < point;
}

std::vector<std::string> names_in(const std::string& folder) {
  DIR* directory = ::opendir(folder.c_str());
  if (directory == nullptr)
    fail_after_call(errno, "echo", "the folder of videos must be readable", folder, ": ",
                    errno_text(errno));
  std::vector<std::string> names;
  errno = 0;  // as readdir leaves it at the end
  while (const dirent* entry = ::readdir(directory))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  const int error = errno;
  ::closedir(directory);
  if (error != 0)
    fail_after_call(error, "echo", "the folder of videos must be readable", folder, ": ",
                    errno_text(error));
  std::sort(names.begin(), names.end());
  return names;
}

std::string name_of(EchoSplit split) { return io::upper(to_string(split)); }

// ", but there is a.mp4": a file of the same name with another suffix, or in other letters.
std::string like(const std::vector<std::string>& files, const std::string& name) {
  const auto stem = [](const std::string& file) {
    return io::upper(file.substr(0, file.rfind('.')));
  };
  for (const std::string& file : files)
    if (file != name && stem(file) == stem(name)) return ", but there is " + io::quote(file);
  return "";
}

// A table of the folder. When it isn't there, a file that is nearly called so is named.
std::shared_ptr<const ByteSource> open_table(const std::string& folder, const char* name) {
  try {
    return ByteSource::open(folder + "/" + name);
  } catch (const ResourceError&) {
    throw;
  } catch (const Error& error) {
    std::string other;
    try {
      other = like(names_in(folder), name);
    } catch (const Error&) {  // there is no such folder, which the first error says
    }
    throw Error(error.what() + other);
  }
}

bool uses_traces(const EchoOptions& options) {
  return std::any_of(options.targets.begin(), options.targets.end(), [](const std::string& target) {
    const EchoTarget kind = echo_target(target);
    return kind != EchoTarget::value && kind != EchoTarget::file_name;
  });
}

// Reads the two tables for one EchoTables.
class TableReader {
  struct Trace {
    uint32_t video = 0;
    EchoTraceRows rows;
  };

 public:
  TableReader(const std::string& folder, const EchoOptions& options,
              const std::vector<std::string>& columns, std::vector<EchoFault>& faults)
      : folder_(folder), options_(options), columns_(columns), faults_(faults) {}

  EchoTables load() {
    if (options_.split == EchoSplit::external_test) {
      for (const std::string& name : names_in(echo_videos(folder_, options_))) {
        tables_.names.add(name);
        tables_.lines.push_back(0);
        tables_.frame_counts.push_back(-1);
      }
      tables_.values.assign(tables_.names.size() * columns_.size(), 0);
      tables_.large.resize(tables_.names.size());
      tables_.small.resize(tables_.names.size());
      return std::move(tables_);
    }
    read_file_list();
    if (options_.require_traces || uses_traces(options_)) read_tracings();
    choose_frames();
    keep_split();
    return std::move(tables_);
  }

 private:
  void add(const char* file, int64_t line, const std::string& text, bool fatal = true) {
    faults_.push_back({file, line, text, fatal});
  }

  // Runs `body` and keeps what it throws as a fault.
  template <class Body>
  bool guarded(const char* file, const CsvReader& rows, const Body& body) {
    try {
      body();
      return true;
    } catch (const ResourceError&) {
      throw;  // no fault of the table's
    } catch (const Error& error) {
      // `read_csv: PATH:LINE: text`
      std::string text = error.what();
      const std::string start =
          "read_csv: " + rows.name() + ":" + std::to_string(rows.line()) + ": ";
      if (text.starts_with(start)) text.erase(0, start.size());
      add(file, rows.line(), text);
      return false;
    }
  }

  // A field that numbers or counts frames.
  static int32_t frame_number(const CsvReader& rows, int column) {
    const int64_t number = rows.integer(column);
    const std::string& name = rows.columns()[static_cast<size_t>(column)];
    constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
    if (number < 0) rows.fail_here(name + " must not be negative", std::to_string(number));
    if (number > kMost)
      rows.fail_here(name + " must be at most " + std::to_string(kMost), std::to_string(number));
    return static_cast<int32_t>(number);
  }

  // A field that becomes a sample's f32.
  static double sample_number(const CsvReader& rows, int column) {
    const double value = rows.number(column);
    const std::string& name = rows.columns()[static_cast<size_t>(column)];
    if (name == "EF" && !(value >= 0 && value <= 100))  // in percent
      rows.fail_here("EF must be 0 to 100", io::quote(rows.text(column)));
    if ((name == "EDV" || name == "ESV") && !(value >= 0))  // in ml
      rows.fail_here(name + " must not be negative", io::quote(rows.text(column)));
    if (std::abs(value) > std::numeric_limits<float>::max())
      rows.fail_here(name + " must be a finite number of 32 bits", io::quote(rows.text(column)));
    return value;
  }

  void read_file_list();
  void read_row(const CsvReader& rows, int name, int split, int frames,
                const std::vector<int>& wanted);
  void check_there(const std::string& videos);
  void sort_names();
  int64_t find(std::string_view name) const;
  void read_tracings();
  std::vector<EchoTraceRows> frames_of(std::span<const Trace> pieces);
  void check_frame(uint32_t video, const EchoTraceRows& frame);
  void choose_frames();
  void keep_split();

  const std::string& folder_;
  const EchoOptions& options_;
  const std::vector<std::string>& columns_;
  std::vector<EchoFault>& faults_;
  EchoTables tables_;            // of all videos of FileList.csv
  std::vector<uint8_t> wanted_;  // 1 for those of the split
  std::vector<uint8_t> traced_;  // traced frames, 2 for more
  std::vector<uint32_t> by_name_;
  std::vector<Trace> traces_;
  bool whole_ =
      true;  // false: a record that is none ended a table, and what counts rows is unknown
};

void TableReader::read_file_list() {
  CsvReader rows(open_table(folder_, kFileList));
  const int name = rows.column("FileName");
  const int split = rows.column("Split");
  const int frames = rows.find_column("NumberOfFrames");
  std::vector<int> wanted;
  for (const std::string& column : columns_)
    wanted.push_back(options_.split == EchoSplit::clinical_test ? -1 : rows.column(column));
  for (;;) {
    bool more = false;
    // After a record that isn't one, no next line is known.
    whole_ = guarded(kFileList, rows, [&] { more = rows.next(); });
    if (!more) break;
    read_row(rows, name, split, frames, wanted);
  }
  if (tables_.names.size() == 0 && faults_.empty())
    add(kFileList, 0, "there must be a video, got 0 rows");
  sort_names();
  for (size_t i = 1; i < by_name_.size(); ++i) {
    const uint32_t first = by_name_[i - 1], second = by_name_[i];
    if (tables_.names[first] == tables_.names[second])
      add(kFileList, tables_.lines[second],
          "a video must be listed once, got " + io::quote(tables_.names[second]) + " on line " +
              std::to_string(tables_.lines[first]) + " too");
  }
  check_there(echo_videos(folder_, options_));
}

void TableReader::read_row(const CsvReader& rows, int name, int split, int frames,
                           const std::vector<int>& wanted) {
  const std::string of = io::upper(rows.text(split));
  const std::string chosen = name_of(options_.split);
  if (of != "TRAIN" && of != "VAL" && of != "TEST" && of != chosen) {
    add(kFileList, rows.line(),
        "Split must be TRAIN, VAL or TEST, got " + io::quote(rows.text(split)));
  }
  if (rows.text(name).empty()) {
    add(kFileList, rows.line(), "FileName must not be empty, got \"\"");
    return;
  }
  const bool keep = options_.split == EchoSplit::all || of == chosen;
  const std::string_view file = rows.text(name);
  if (file.find('/') != std::string_view::npos) {
    add(kFileList, rows.line(), "FileName must be a name without a folder, got " + io::quote(file));
    return;
  }
  tables_.names.add(has_suffix(file) ? std::string(file) : std::string(file) + ".avi");
  tables_.lines.push_back(static_cast<uint32_t>(rows.line()));
  wanted_.push_back(keep);
  int32_t count = -1;
  if (frames >= 0 && keep) guarded(kFileList, rows, [&] { count = frame_number(rows, frames); });
  tables_.frame_counts.push_back(count);
  for (const int column : wanted) {
    double value = 0;
    if (column >= 0 && keep) guarded(kFileList, rows, [&] { value = sample_number(rows, column); });
    tables_.values.push_back(value);
  }
}

// A name as a message shows it.
std::string shown(std::string_view name) {
  const std::string quoted = io::quote(name);
  return quoted.size() == name.size() + 2 ? std::string(name) : quoted;
}

// Every wanted video must be a file of the folder; a name whose last part only looks like a suffix
// gets the true one.
void TableReader::check_there(const std::string& videos) {
  const std::vector<std::string> files = names_in(videos);
  const auto is_there = [&](const std::string& name) {
    return std::binary_search(files.begin(), files.end(), name);
  };
  StringPool names;
  bool changed = false;
  for (size_t i = 0; i < tables_.names.size(); ++i) {
    std::string name(tables_.names[i]);
    if (wanted_[i] && !is_there(name)) {
      if (is_there(name + ".avi")) {
        name += ".avi";
        changed = true;
      } else {
        add(kFileList, tables_.lines[i],
            videos.substr(videos.rfind('/') + 1) + "/" + shown(name) + " must be there" +
                like(files, name));
      }
    }
    names.add(name);
  }
  if (!changed) return;
  tables_.names = std::move(names);
  sort_names();
}

void TableReader::sort_names() {
  by_name_.resize(tables_.names.size());
  std::iota(by_name_.begin(), by_name_.end(), 0u);
  std::stable_sort(by_name_.begin(), by_name_.end(),
                   [&](uint32_t a, uint32_t b) { return tables_.names[a] < tables_.names[b]; });
}

// The video of that name, with or without suffix, or -1.
int64_t TableReader::find(std::string_view name) const {
  for (const std::string& full : {std::string(name), std::string(name) + ".avi"}) {
    const auto found = std::lower_bound(
        by_name_.begin(), by_name_.end(), std::string_view(full),
        [&](uint32_t video, std::string_view text) { return tables_.names[video] < text; });
    if (found != by_name_.end() && tables_.names[*found] == full) return *found;
  }
  return -1;
}

void TableReader::read_tracings() {
  constexpr uint64_t kShortestRow = 40;  // that is usual: a name and five numbers, in bytes
  const auto file = open_table(folder_, kTracings);
  // Address space for all of them, so that growing leaves no memory behind; rows touch what they
  // use.
  tables_.rows.reserve(static_cast<size_t>(file->size() / kShortestRow));
  CsvReader rows(file);
  const int columns[] = {rows.column("X1"), rows.column("Y1"), rows.column("X2"),
                         rows.column("Y2")};
  const int name = rows.column("FileName"), frame = rows.column("Frame");
  std::string last;  // rows of one video follow each other, mostly
  int64_t video = -1;
  uint32_t present = 0xffffffff;  // the trace that rows are added to
  for (;;) {
    bool more = false;
    whole_ &= guarded(kTracings, rows, [&] { more = rows.next(); });
    if (!more) break;
    if (last.empty() || rows.text(name) != last) {
      last = rows.text(name);
      video = find(last);
      present = 0xffffffff;
      if (video < 0 && whole_)
        add(kTracings, rows.line(),
            "FileName must be one of FileList.csv's, got " + io::quote(last), false);
    }
    if (video < 0 || !wanted_[static_cast<size_t>(video)]) continue;
    int32_t number = -1;
    EchoRow row{};
    const bool sound = guarded(kTracings, rows, [&] {
      number = frame_number(rows, frame);
      int16_t* to[] = {&row.x1, &row.y1, &row.x2, &row.y2};
      for (int i = 0; i < 4; ++i) {
        const double value = rows.number(columns[i]);
        if (std::abs(value) > 32767)
          rows.fail_here("coordinates must lie within 32767 of 0",
                         io::quote(rows.text(columns[i])));
        *to[i] = static_cast<int16_t>(round_coordinate(value));
      }
    });
    if (!sound) continue;
    if (present == 0xffffffff || traces_[present].rows.frame != number) {
      present = static_cast<uint32_t>(traces_.size());
      traces_.push_back({static_cast<uint32_t>(video),
                         {number, static_cast<uint32_t>(tables_.rows.size()), 0,
                          static_cast<uint32_t>(rows.line())}});
    }
    row.line = static_cast<uint32_t>(rows.line());
    tables_.rows.push_back(row);
    ++traces_[present].rows.count;
  }
}

// The traced frames of one video, in the order in which they appear; pieces of a trace whose rows
// stand apart in the file are brought together.
std::vector<EchoTraceRows> TableReader::frames_of(std::span<const Trace> pieces) {
  std::vector<EchoTraceRows> frames;
  for (const Trace& each : pieces) {
    const EchoTraceRows& piece = each.rows;
    const auto known = std::find_if(frames.begin(), frames.end(), [&](const EchoTraceRows& frame) {
      return frame.frame == piece.frame;
    });
    if (known == frames.end()) {
      frames.push_back(piece);
      continue;
    }
    const auto first = static_cast<uint32_t>(tables_.rows.size());
    for (const EchoTraceRows& part : {*known, piece})
      for (uint32_t k = 0; k < part.count; ++k)
        tables_.rows.push_back(EchoRow(tables_.rows[part.first + k]));
    known->first = first;
    known->count += piece.count;
  }
  return frames;
}

void TableReader::check_frame(uint32_t video, const EchoTraceRows& frame) {
  if (frame.count < 3)
    add(kTracings, frame.line,
        "a trace must have 3 rows at least, got " + std::to_string(frame.count));
  const int32_t length = tables_.frame_counts[video];
  if (length >= 0 && frame.frame >= length)
    add(kTracings, frame.line,
        "Frame must be 0 to the video's NumberOfFrames - 1 (" + std::string(kFileList) + ":" +
            std::to_string(tables_.lines[video]) + "), got " + std::to_string(frame.frame) +
            " of " + std::to_string(length));
}

// The frames of the largest and of the smallest area of each video.
void TableReader::choose_frames() {
  const size_t count = tables_.names.size();
  tables_.large.resize(count);
  tables_.small.resize(count);
  traced_.resize(count);
  std::stable_sort(traces_.begin(), traces_.end(),
                   [](const Trace& a, const Trace& b) { return a.video < b.video; });
  std::vector<Point> points;
  for (size_t begin = 0, end = 0; begin < traces_.size(); begin = end) {
    const uint32_t video = traces_[begin].video;
    while (end < traces_.size() && traces_[end].video == video) ++end;
    const auto frames = frames_of(std::span(traces_).subspan(begin, end - begin));
    traced_[video] = static_cast<uint8_t>(std::min<size_t>(frames.size(), 2));
    double largest = -1, smallest = -1;
    for (const EchoTraceRows& frame : frames) {
      if (whole_) check_frame(video, frame);
      outline(tables_, frame, points);
      const double area = polygon_area(points);
      if (area == 0 && frame.count >= 3 && whole_)
        add(kTracings, frame.line, "a trace must enclose an area, got a line");
      // Among equal areas EchoNet's order decides: the first is the small one, the last the large.
      if (smallest < 0 || area < smallest) {
        smallest = area;
        tables_.small[video] = frame;
      }
      if (area >= largest) {
        largest = area;
        tables_.large[video] = frame;
      }
    }
  }
}

// Leaves out what the split doesn't have.
void TableReader::keep_split() {
  EchoTables kept;
  const bool needed = options_.require_traces || uses_traces(options_);
  const size_t width = columns_.size();
  for (size_t video = 0; video < tables_.names.size(); ++video) {
    if (!wanted_[video]) continue;
    if (needed && traced_[video] < 2) {
      if (!whole_) continue;
      add(kFileList, tables_.lines[video],
          shown(tables_.names[video]) + " is left out: it must have two traced frames, got " +
              std::to_string(int{traced_[video]}),
          false);
      continue;
    }
    kept.names.add(tables_.names[video]);
    kept.lines.push_back(tables_.lines[video]);
    kept.frame_counts.push_back(tables_.frame_counts[video]);
    for (size_t k = 0; k < width; ++k) kept.values.push_back(tables_.values[video * width + k]);
    kept.large.push_back(tables_.large[video]);
    kept.small.push_back(tables_.small[video]);
  }
  kept.rows = std::move(tables_.rows);  // of the split alone already
  kept.shrink();
  tables_ = std::move(kept);
}

}  // namespace

EchoTarget echo_target(const std::string& target) {
  if (target == "Filename") return EchoTarget::file_name;
  if (target == "LargeIndex" || target == "SmallIndex") return EchoTarget::index;
  if (target == "LargeFrame" || target == "SmallFrame") return EchoTarget::frame;
  if (target == "LargeTrace" || target == "SmallTrace") return EchoTarget::trace;
  return EchoTarget::value;
}

std::vector<std::string> echo_columns(const EchoOptions& options) {
  std::vector<std::string> columns;
  for (const std::string& target : options.targets)
    if (echo_target(target) == EchoTarget::value) columns.push_back(target);
  return columns;
}

void EchoTables::shrink() {
  names.shrink();
  lines.shrink_to_fit();
  frame_counts.shrink_to_fit();
  values.shrink_to_fit();
  large.shrink_to_fit();
  small.shrink_to_fit();
}

std::string echo_folder(const std::string& folder) {
  if (folder != "echo" && !folder.empty()) return folder;
  const char* place = std::getenv("AORTA_ECHO");
  check(
      place != nullptr && *place != '\0', "echo",
      "the environment variable AORTA_ECHO must name a folder with FileList.csv, "
      "VolumeTracings.csv and Videos/ (EchoNet-Dynamic's, from https://echonet.github.io/dynamic)",
      place == nullptr ? "no such variable" : "an empty one");
  return place;
}

std::string echo_videos(const std::string& folder, const EchoOptions& options) {
  if (options.split == EchoSplit::external_test) {
    check(!options.external_test_location.empty(), "echo",
          "external_test_location must name the folder of the external videos", "nothing");
    return options.external_test_location;
  }
  return folder +
         (options.split == EchoSplit::clinical_test ? "/ProcessedStrainStudyA4c" : "/Videos");
}

void outline(const EchoTables& tables, const EchoTraceRows& trace, std::vector<Point>& points) {
  points.clear();
  for (uint32_t i = 1; i < trace.count; ++i) {
    const EchoRow& row = tables.rows[trace.first + i];
    points.push_back({row.x1, row.y1});
  }
  for (uint32_t i = trace.count; i-- > 1;) {
    const EchoRow& row = tables.rows[trace.first + i];
    points.push_back({row.x2, row.y2});
  }
}

std::optional<EchoFault> fault_outside(const EchoTables& tables, size_t video,
                                       const EchoTraceRows& trace, int64_t height, int64_t width) {
  if (trace.frame < 0) return {};
  std::vector<Point> points;
  outline(tables, trace, points);
  const auto outside = [&](const Point& point) {
    return point.x < -1 || point.y < -1 || point.x > width || point.y > height;
  };
  const auto first = std::find_if(points.begin(), points.end(), outside);
  if (first == points.end()) return {};
  const auto more = std::count_if(first + 1, points.end(), outside);
  // Down the first points of the rows behind the long axis, and up their second ones.
  const auto at = static_cast<uint32_t>(first - points.begin()), chords = trace.count - 1;
  const uint32_t row = 1 + (at < chords ? at : 2 * chords - 1 - at);
  return EchoFault{kTracings, tables.rows[trace.first + row].line,
                   "a trace must lie inside the frame of " + std::to_string(height) + " x " +
                       std::to_string(width) + ", got pixel (" + std::to_string(first->x) + ", " +
                       std::to_string(first->y) + ")" +
                       (more > 0 ? " and " + std::to_string(more) + " more outside" : "") +
                       " in frame " + std::to_string(trace.frame) + " of " +
                       std::string(tables.names[video])};
}

EchoTables load_echo_tables(const std::string& folder, const EchoOptions& options,
                            const std::vector<std::string>& columns,
                            std::vector<EchoFault>& faults) {
  return TableReader(folder, options, columns, faults).load();
}

}  // namespace aorta::data
