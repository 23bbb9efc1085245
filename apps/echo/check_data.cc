#include <aorta/apps/echo/check_data.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/resource_error.h>
#include <aorta/data/csv.h>
#include <aorta/data/datasets/echo.h>
#include <aorta/data/video/video.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <tuple>

namespace aorta::echo {
namespace {

using data::EchoFault;
using data::EchoSplit;

// Least and most of what was seen.
struct Spread {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::string text(int digits) const {
    if (low > high) return "-";
    return low == high ? shown(low, digits) : shown(low, digits) + " to " + shown(high, digits);
  }
  // As many digits as fit in the table, of a fault's number too.
  static std::string shown(double value, int digits) {
    if (std::abs(value) < 1e5) return fmt::format("{:.{}f}", value, digits);
    return fmt::format("{:.{}e}", value, digits);
  }
};

struct SplitInfo {
  explicit SplitInfo(std::string split) : name(std::move(split)) {}
  std::string name;
  int64_t listed = 0, traced = 0, readable = 0;
  Spread ef, frames, fps;
  std::set<std::pair<int64_t, int64_t>> sizes;
};

std::string without_avi(std::string_view name) {
  if (name.ends_with(".avi")) name.remove_suffix(4);
  return std::string(name);
}

// The videos that VolumeTracings.csv has rows of, as far as it can be read.
std::set<std::string> traced_videos(const std::string& folder) {
  std::set<std::string> names;
  try {
    data::CsvReader rows(folder + "/VolumeTracings.csv");
    const int name = rows.column("FileName");
    while (rows.next()) names.insert(without_avi(rows.text(name)));
  } catch (const ResourceError&) {
    throw;
  } catch (const Error&) {
  }
  return names;
}

// What a video's file says; nothing of one that can't be read, which is a fault of its own.
void look_into(const std::string& folder, const std::string& name,
               const std::vector<SplitInfo*>& splits) {
  const std::string path = folder + "/Videos/" + name;
  try {
    const data::VideoReader video(access(path.c_str(), F_OK) == 0 ? path : path + ".avi");
    for (SplitInfo* info : splits) {
      ++info->readable;
      info->frames.add(static_cast<double>(video.frame_count()));
      info->fps.add(video.fps());
      info->sizes.insert({video.height(), video.width()});
    }
  } catch (const ResourceError&) {
    throw;
  } catch (const Error&) {
  }
}

// TRAIN, VAL, TEST and all.
struct Look {
  std::vector<SplitInfo> splits;
  bool whole = true;  // false: a row that is no record ended the table
};

Look look(const std::string& folder, bool open_videos) {
  Look result;
  std::vector<SplitInfo>& splits = result.splits;
  for (const char* name : {"TRAIN", "VAL", "TEST", "all"}) splits.emplace_back(name);
  data::CsvReader rows(folder + "/FileList.csv");
  const int name = rows.column("FileName"), split = rows.column("Split");
  const int ef = rows.find_column("EF");
  const std::set<std::string> traced = traced_videos(folder);
  const auto next = [&] {
    try {
      return rows.next();
    } catch (const ResourceError&) {
      throw;
    } catch (const Error&) {
      result.whole = false;
      return false;
    }
  };
  while (next()) {
    std::vector<SplitInfo*> mine{&splits.back()};
    for (SplitInfo& info : splits)
      if (info.name == io::upper(rows.text(split))) mine.push_back(&info);
    for (SplitInfo* info : mine) {
      ++info->listed;
      info->traced += traced.contains(without_avi(rows.text(name)));
      try {
        if (ef >= 0) info->ef.add(rows.number(ef));
      } catch (const Error&) {
      }
    }
    if (open_videos) look_into(folder, std::string(rows.text(name)), mine);
  }
  return result;
}

std::string sizes_text(const SplitInfo& info) {
  if (info.sizes.empty()) return "-";
  const auto [height, width] = *info.sizes.begin();
  std::string text = fmt::format("{} x {}", height, width);
  if (info.sizes.size() > 1) text += fmt::format(" and {} more", info.sizes.size() - 1);
  return text;
}

// `opened`: whether the videos were looked into.
void print_info(const std::string& folder, const std::vector<SplitInfo>& splits, bool opened) {
  std::fputs(fmt::format("{}\n{:<7}{:>8}{:>8}{:>10}  {:<16}{:<13}{:<18}{}\n", folder, "split",
                         "videos", "traced", "readable", "EF (%)", "frames", "size", "frames/s")
                 .c_str(),
             stdout);
  for (const SplitInfo& info : splits)
    std::fputs(fmt::format("{:<7}{:>8}{:>8}{:>10}  {:<16}{:<13}{:<18}{}\n", info.name, info.listed,
                           info.traced, opened ? std::to_string(info.readable) : "-",
                           info.ef.text(1), info.frames.text(0), sizes_text(info), info.fps.text(0))
                   .c_str(),
               stdout);
}

// Files without the folder, which stands above the table; a table that can't be read with its line.
void tidy(EchoFault& fault, const std::string& folder) {
  const std::string prefix = folder + "/";
  if (fault.file.starts_with(prefix)) fault.file.erase(0, prefix.size());
  if (fault.file != folder) return;
  std::string text = fault.text;
  if (text.starts_with("read_csv: ")) text.erase(0, 10);
  const std::string said = printable(prefix);  // as an error has it
  if (!text.starts_with(said)) return;
  text.erase(0, said.size());
  fault.file = text.substr(0, text.find(": "));
  fault.text = text.substr(std::min(text.find(": "), text.size() - 2) + 2);
}

void add_empty_splits(const std::vector<SplitInfo>& splits, std::vector<EchoFault>& faults) {
  if (splits.back().listed == 0) return;  // a fault of the table already
  for (const SplitInfo& info : splits)
    if (info.listed == 0)
      faults.push_back({"FileList.csv", 0, "no video has Split " + info.name, info.name != "TEST"});
}

}  // namespace

void data_info(const CheckDataOptions& options) {
  const std::string folder = data_folder(options.data_dir);
  print_info(folder,
             with_code(ExitCode::data, [&] { return look(folder, options.open_videos).splits; }),
             options.open_videos);
}

void check_data(const CheckDataOptions& options) {
  const std::string folder = data_folder(options.data_dir);
  data::EchoOptions echo = data::EchoOptions::segmentation(EchoSplit::all);
  echo.targets.push_back("EF");
  std::vector<EchoFault> faults = data::check_echo(folder, echo, options.open_videos);
  try {
    const Look found = look(folder, options.open_videos);
    print_info(folder, found.splits, options.open_videos);
    if (found.whole) add_empty_splits(found.splits, faults);
  } catch (const ResourceError&) {
    throw;
  } catch (const Error&) {
    // It can't be read at all, which check_echo has said.
  }
  for (EchoFault& fault : faults) tidy(fault, folder);
  std::stable_sort(faults.begin(), faults.end(), [](const EchoFault& a, const EchoFault& b) {
    return std::tuple(!a.fatal, a.file, a.line) < std::tuple(!b.fatal, b.file, b.line);
  });
  const auto fatal = std::count_if(faults.begin(), faults.end(),
                                   [](const EchoFault& fault) { return fault.fatal; });
  for (const EchoFault& fault : faults)
    std::printf("%s %s\n", fault.fatal ? "FAULT" : "note ",
                printable(data::to_string(fault)).c_str());
  const auto counted = [](ptrdiff_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  const ptrdiff_t notes = std::ssize(faults) - fatal;
  std::printf("%s, %s\n", counted(fatal, "fault").c_str(), counted(notes, "note").c_str());
  if (fatal > 0) throw Failure(ExitCode::data, folder + ": " + counted(fatal, "fault"));
}

}  // namespace aorta::echo
