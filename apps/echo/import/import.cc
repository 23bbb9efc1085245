#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/folder_in_making.h>
#include <aorta/apps/echo/import/import.h>
#include <aorta/apps/echo/import/sources.h>
#include <aorta/apps/echo/import/study.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/apps/echo/segment.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/resource_error.h>
#include <aorta/report/progress.h>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

namespace aorta::echo {
namespace {

constexpr double kUntoldRate = 50;  // frames a second, EchoNet's, where a file doesn't say

/// A video that was written.
struct Imported {
  std::string source, name;
  double fps = 0;  // 0 where the file doesn't say
  int64_t frames = 0;
  double spacing = 0;  // millimetres of a pixel of the written video; 0 where it isn't known
  Box crop;
  double coloured = 0;
  uint64_t patient = 0;
  bool is_dicom = false;
  ToldRow told;  // by the table
};

// Attributes that say what pixels mean, and are so kept; all others are left out.
bool is_kept(uint32_t tag) {
  constexpr uint32_t kPixels = 0x7fe00010, kRegions = 0x00186011;
  const uint32_t group = tag >> 16, element = tag & 0xffff;
  const bool picture = group == 0x0028 && element < 0x1300;  // sizes, samples, palettes
  const bool time =
      tag == 0x00181063 || tag == 0x00181065 || tag == 0x00180040 || tag == 0x00082144;
  const bool length = element == 0;  // of a group
  return picture || time || length || tag == kPixels || tag == kRegions || tag == 0x00080060 ||
         tag == 0x00020010;  // Modality and TransferSyntaxUID
}

struct Removed {
  std::string name;
  int64_t videos = 0;
};

std::string removed_table(const std::map<uint32_t, Removed>& removed) {
  std::string text = "Tag,Attribute,Videos\n";
  for (const auto& [tag, one] : removed)
    text += fmt::format("{:04X}{:04X},{},{}\n", tag >> 16, tag & 0xffff, csv_field(one.name),
                        one.videos);
  return text;
}

// Three quarters, an eighth and an eighth: about EchoNet's 7465, 1288 and 1277.
std::string split_by_hash(uint64_t patient) {
  // The upper bits of a product with a constant of Knuth's are even.
  const uint64_t part = (patient * 0x9e3779b97f4a7c15) >> 61;
  return part < 6 ? "TRAIN" : part == 6 ? "VAL" : "TEST";
}

/// Which videos are of one patient, whom files, the table or both may name: a file that the table
/// doesn't name has the patient and the split of one that it does.
class Patients {
 public:
  explicit Patients(const std::vector<Imported>& videos) {
    for (const Imported& one : videos)
      if (one.patient != 0 && !one.told.patient.empty())
        named_.emplace(one.patient, hash_of(one.told.patient));
    for (const Imported& one : videos)
      if (!one.told.split.empty()) splits_.emplace(patient_of(one), one.told.split);
  }

  std::string split_of(const ImportOptions& options, const Imported& video) const {
    if (!video.told.split.empty()) return video.told.split;
    if (options.split != "hash") return io::upper(options.split);
    const uint64_t patient = patient_of(video);
    const auto told = splits_.find(patient);
    return told != splits_.end() ? told->second : split_by_hash(patient);
  }

 private:
  uint64_t patient_of(const Imported& video) const {
    if (!video.told.patient.empty()) return hash_of(video.told.patient);
    if (video.patient == 0) return hash_of(video.name);
    const auto named = named_.find(video.patient);
    return named != named_.end() ? named->second : video.patient;
  }

  std::map<uint64_t, uint64_t> named_;      // of a file's patient, the table's
  std::map<uint64_t, std::string> splits_;  // of a patient, the table's
};

std::string number_or_nothing(double value, const char* format) {
  return value > 0 ? fmt::format(fmt::runtime(format), value) : "";
}

std::string file_row(const std::string& split, const Imported& video) {
  const ToldRow& told = video.told;
  return fmt::format("{},{},{},{},{},{},{},{},{},{}\n", video.name, told.ef, told.esv, told.edv,
                     kEchoNetSide, kEchoNetSide, number_or_nothing(video.fps, "{:.6g}"),
                     video.frames, split, number_or_nothing(video.spacing, "{:.6g}"));
}

// Writes a study's frames as EchoNet's are, and says what they are.
Imported write_study(const std::string& source, const Study& study, const std::string& name,
                     const std::string& path, const std::function<void(int64_t)>& progress) {
  const data::VideoReader& video = study.video;
  const int64_t frames = video.frame_count();
  check(frames >= 2, source, "a video must have two frames at least", frames);
  data::VideoWriter writer(path, {.fps = video.fps() > 0 ? video.fps() : kUntoldRate});
  for (int64_t i = 0; i < frames; ++i) {
    const Tensor frame = video.read(i);
    const bool same = frame.size(1) == kEchoNetSide && frame.size(2) == kEchoNetSide;
    const Tensor resized =
        same ? frame
             : cubic_resized(frame.narrow(0, 0, 1), kEchoNetSide, kEchoNetSide).expand({3, -1, -1});
    with_code(ExitCode::storage, [&] { writer.write(resized); });
    progress(i + 1);
  }
  with_code(ExitCode::storage, [&] { writer.close(); });
  return {.source = source,
          .name = name,
          .fps = video.fps(),
          .frames = frames,
          .spacing = study.millimetres * static_cast<double>(video.height()) / kEchoNetSide,
          .crop = study.crop,
          .coloured = study.coloured,
          .patient = study.patient,
          .is_dicom = study.is_dicom,
          .told = {}};
}

void check_import(const ImportOptions& options) {
  if (options.split != "hash" && options.split != "train" && options.split != "val" &&
      options.split != "test")
    throw Failure(ExitCode::usage,
                  "--split: must be hash, train, val or test, got " + io::quote(options.split));
  check_replaceable(options.output, options.overwrite,
                    {"FileList.csv", "Videos", "removed.csv", "sectors.csv"});
}

/// What an import has come to.
class Import {
 public:
  Import(const ImportOptions& options, const ToldTable& told)
      : options_(options), told_(told), folder_(options.output), bar_({.quiet = options.quiet}) {}

  void take(const Source& source) {
    stop_if_interrupted(options_.output + " is not written");
    try {
      with_code(ExitCode::data, [&] { take_or_throw(source); });
    } catch (const NotUltrasound& failure) {
      if (source.is_found) return pass_over();
      fail(failure);
    } catch (const Failure& failure) {
      if (failure.code() != ExitCode::data) throw;
      fail(failure);
    }
  }
  void pass_over() { ++passed_over_; }

  void finish() {
    bar_.end();
    if (videos_.empty())
      throw Failure(ExitCode::data, failed_ > 0 ? first_failure_
                                                : "import: there must be a video, got none in " +
                                                      io::quote(options_.sources[0]));
    write_tables();
    folder_.commit();
    if (!options_.key.empty()) write_file(options_.key, key_table());
    summarise();
    if (failed_ > 0)
      throw Failure(
          ExitCode::data,
          fmt::format("import: every file must be an ultrasound video, got {} of {} that "
                      "aren't, the first: {}",
                      failed_, failed_ + static_cast<int64_t>(videos_.size()), first_failure_));
  }

 private:
  void fail(const Failure& failure) {
    bar_.end();
    std::fprintf(stderr, "warning: %s\n", printable(failure.what()).c_str());
    if (failed_++ == 0) first_failure_ = failure.what();
  }

  void take_or_throw(const Source& source) {
    const std::string name = fmt::format("0X{:016X}", hash_of_file(source.path));
    const auto known = names_.find(name);
    check(known == names_.end(), source.path, "files must differ",
          known == names_.end() ? "" : "the same as " + known->second);
    const Study study = open_study(source.path);
    bar_.start(stem_of(source.path), study.video.frame_count());
    const std::string file = (folder_.path() / "Videos" / (name + ".avi")).string();
    videos_.push_back(write_study(source.path, study, name, file, [&](int64_t done) {
      bar_.update(done);
      stop_if_interrupted(options_.output + " is not written");
    }));
    videos_.back().told = told_.row_of(source);
    names_.emplace(name, source.path);
    std::set<uint32_t> counted;
    for (const data::DicomAttribute& attribute : study.attributes) {
      if (is_kept(attribute.tag) || !counted.insert(attribute.tag).second) continue;
      Removed& one = removed_[attribute.tag];
      one.name = attribute.name;
      ++one.videos;
    }
    if (!options_.quiet)
      bar_.print(fmt::format("{} -> {}: {} frames, {}", source.path, name, videos_.back().frames,
                             to_string(study)));
  }

  void write_tables() const {
    std::string sectors = "FileName,Left,Top,Width,Height,Coloured\n";
    for (const Imported& one : videos_)
      sectors += fmt::format("{},{},{},{},{},{:.4f}\n", one.name, one.crop.left, one.crop.top,
                             one.crop.width, one.crop.height, one.coloured);
    const auto at = [&](const char* name) { return (folder_.path() / name).string(); };
    write_file(at("sectors.csv"), sectors);
    if (!removed_.empty()) write_file(at("removed.csv"), removed_table(removed_));
    const Patients patients(videos_);
    std::string rows =
        "FileName,EF,ESV,EDV,FrameHeight,FrameWidth,FPS,NumberOfFrames,Split,PixelSpacing\n";
    for (const Imported& one : videos_) rows += file_row(patients.split_of(options_, one), one);
    write_file(at("FileList.csv"), rows);
  }

  std::string key_table() const {
    std::string text = "Source,FileName\n";
    for (const Imported& one : videos_) text += csv_field(one.source) + "," + one.name + "\n";
    return text;
  }

  void summarise() const {
    int64_t unscaled = 0, unknown = 0, untimed = 0;
    for (const Imported& one : videos_) {
      unscaled += one.spacing == 0;
      unknown += one.patient == 0 && one.told.patient.empty() && one.told.split.empty();
      untimed += one.fps == 0;
    }
    const auto note = [](int64_t count, const std::string& text) {
      if (count > 0) fmt::print("{} {}\n", count, text);
    };
    fmt::print("{}: {} videos\n", options_.output, videos_.size());
    note(passed_over_, "files passed over, which aren't ultrasound videos");
    note(unscaled, "without the size of a pixel, so that their volumes have no unit");
    note(untimed, "without the time between frames, taken for 50 a second");
    if (options_.split == "hash")
      note(unknown,
           "of unknown patients, split file by file: videos of one patient may be in two splits "
           "(a column Patient of --table tells)");
    if (!removed_.empty())
      fmt::print("{} attributes left out, PatientName and all identifiers with them: {}\n",
                 removed_.size(), options_.output + "/removed.csv");
    for (const std::string& row : told_.unused())
      fmt::print("no file for \"{}\" of {}\n", row, options_.table);
    fmt::print(
        "what can't be known: whether each shows the four chambers from the apex, which "
        "networks of EchoNet-Dynamic are for\n");
  }

  const ImportOptions& options_;
  const ToldTable& told_;
  FolderInMaking folder_;
  report::ProgressBar bar_;
  std::vector<Imported> videos_;
  std::map<std::string, std::string> names_;  // and their sources
  std::map<uint32_t, Removed> removed_;
  std::string first_failure_;
  int64_t failed_ = 0, passed_over_ = 0;
};

}  // namespace

void import_videos(const ImportOptions& options) {
  check_import(options);
  const ToldTable told = with_code(ExitCode::data, [&] { return ToldTable(options.table); });
  catch_interrupts();
  const SourceList list = with_code(ExitCode::data, [&] { return sources_of(options.sources); });
  Import import(options, told);
  for (int64_t i = 0; i < list.passed_over; ++i) import.pass_over();
  for (const Source& source : list.files) import.take(source);
  import.finish();
}

}  // namespace aorta::echo
