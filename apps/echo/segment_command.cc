#include <aorta/aorta.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/import/study.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/apps/echo/overlay.h>
#include <aorta/apps/echo/segment.h>
#include <aorta/report/progress.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace aorta::echo {
namespace {

std::string overlay_path(const SegmentOptions& options, const std::string& video,
                         const char* suffix = ".avi") {
  return options.output + "/" + stem_of(video) + "_segmented" + suffix;
}

// Everything that can be known before the first video is segmented.
// What is written of a video has its name without suffix.
void check_name(std::map<std::string, std::string>& names, const std::string& video,
                ExitCode code) {
  const auto [known, added] = names.emplace(stem_of(video), video);
  if (!added)
    throw Failure(code, "segment: names of videos must differ, got " + known->second + " and " +
                            video + ": segment them to two folders");
}

void check_videos(const SegmentOptions& options) {
  if (options.videos.empty())
    throw Failure(ExitCode::usage, "segment: there must be a video, got none");
  check_positive("--batch_size", options.batch_size);
  check_not_negative("--tta", options.tta);
  std::map<std::string, std::string> names;
  for (const std::string& video : options.videos) {
    check_name(names, video, ExitCode::usage);
    with_code(ExitCode::data, [&] { return data::VideoReader(video).height(); });
    for (const char* suffix : {".avi", ".mp4"}) {
      const std::string overlay = overlay_path(options, video, suffix);
      if (options.save_video && !options.overwrite && is_there(overlay))
        throw Failure(ExitCode::storage,
                      overlay +
                          ": is there already; --overwrite replaces it, --output names another "
                          "folder");
    }
  }
}

// Mean and standard deviation of the pixels of up to 16 frames of each video.
data::ChannelStatistics statistics_of(const std::vector<std::string>& videos) {
  constexpr int64_t kMostFrames = 16;
  Tensor means = zeros({3}, {.dtype = f64}), squares = zeros({3}, {.dtype = f64});
  int64_t frames = 0;
  for (const std::string& path : videos) {
    const data::VideoReader video = open_study(path).video;
    const int64_t taken = std::min(video.frame_count(), kMostFrames);
    for (int64_t i = 0; i < taken; ++i, ++frames) {
      const Tensor pixels = video.read(i * video.frame_count() / taken).to(f64);
      means += mean(pixels, {1, 2});
      squares += mean(pixels * pixels, {1, 2});
    }
  }
  data::ChannelStatistics statistics;
  for (int64_t c = 0; c < 3; ++c) {
    const auto count = static_cast<double>(std::max<int64_t>(frames, 1));
    const double centre = means[c].item<double>() / count;
    const double variance = squares[c].item<double>() / count - centre * centre;
    statistics.mean.push_back(static_cast<float>(centre));
    statistics.std.push_back(static_cast<float>(std::sqrt(std::max(variance, 1e-6))));
  }
  return statistics;
}

// frame,area,is_diastole,is_systole,volume,volume_ml
std::string size_table(const VideoSegmentation& found) {
  const auto is = [&](int64_t frame, int64_t Beat::*end) {
    return std::any_of(found.beats.begin(), found.beats.end(),
                       [&](const Beat& beat) { return beat.*end == frame; });
  };
  std::string text = "frame,area,is_diastole,is_systole,volume,volume_ml\n";
  for (size_t i = 0; i < found.areas.size(); ++i) {
    const auto frame = static_cast<int64_t>(i);
    const double ml = found.millilitres(found.volumes[i]);
    text += fmt::format("{},{},{:d},{:d},{:.1f},{}\n", frame, found.areas[i],
                        is(frame, &Beat::diastole), is(frame, &Beat::systole), found.volumes[i],
                        std::isnan(ml) ? "" : fmt::format("{:.1f}", ml));
  }
  return text;
}

// ", EDV 121 mL, ESV 52 mL in its first whole beat", where they are known.
std::string volumes_text(const VideoSegmentation& found) {
  if (found.beats.empty() || !(found.millimetres > 0)) return "";
  const auto whole = std::find_if(found.beats.begin(), found.beats.end(),
                                  [](const Beat& beat) { return !beat.cut; });
  const Beat& beat = whole == found.beats.end() ? found.beats.front() : *whole;
  const auto ml = [&](int64_t frame) {
    return found.millilitres(found.volumes[static_cast<size_t>(frame)]);
  };
  return fmt::format(", EDV {:.0f} mL, ESV {:.0f} mL in its first whole beat", ml(beat.diastole),
                     ml(beat.systole));
}

// beat,diastole,systole,ef,low,high
std::string ef_table(const VideoSegmentation& found) {
  std::string text = "beat,diastole,systole,ef,low,high\n";
  const auto numbers = [](const Interval& ef) {
    std::string row;
    for (const double value : {ef.value, ef.low, ef.high})
      row += std::isnan(value) ? "," : fmt::format(",{:.2f}", value);
    return row + "\n";
  };
  for (size_t i = 0; i < found.beats.size(); ++i)
    text += fmt::format("{},{},{}", i + 1, found.beats[i].diastole, found.beats[i].systole) +
            numbers(mean_of_beats(std::span(&found.views[i], 1)));
  return text + "all,," + numbers(found.ef_range);
}

// Rows of EchoNet's size.csv.
std::string size_rows(const VideoSegmentation& found, const std::string& file_name, int64_t large,
                      int64_t small) {
  std::string text;
  const std::vector<int64_t> systoles = find_systoles(found.areas, found.fps);
  for (size_t i = 0; i < found.areas.size(); ++i) {
    const auto frame = static_cast<int64_t>(i);
    const bool systole = std::binary_search(systoles.begin(), systoles.end(), frame);
    text += fmt::format("{},{},{},{:d},{:d},{:d}\n", csv_field(file_name), frame, found.areas[i],
                        frame == large, frame == small, systole);
  }
  return text;
}

}  // namespace

void segment(const SegmentOptions& options) {
  check_videos(options);
  const Segmenter segmenter = with_code(ExitCode::data, [&] {
    return load_segmenter(
        options.run_or_weights.empty() ? shipped_weights() : options.run_or_weights,
        {.model_name = options.model_name,
         .statistics = [&] { return statistics_of(options.videos); }});
  });
  segmenter.net->to(choose_device(options.device, [&](Device tried) { segmenter.try_on(tried); }));
  for (const char* folder : {"", "/size", "/ef"}) make_folder(options.output + folder);
  catch_interrupts();
  report::ProgressBar bar({.quiet = options.quiet});
  const auto step = [&bar](int64_t done, int64_t) {
    bar.update(done);
    stop_if_interrupted();
  };
  for (const std::string& path : options.videos) {
    const std::string name = stem_of(path), size = options.output + "/size/" + name;
    const Study study = with_code(ExitCode::data, [&] { return open_study(path, segmenter.side); });
    VideoSegmentation found = with_code(ExitCode::data, [&] {
      bar.start(name + " segment", study.video.frame_count());
      return segment_video(
          segmenter, study.video,
          {.batch_size = options.batch_size, .tta = options.tta, .progress = step});
    });
    found.millimetres = study.millimetres;
    write_file(size + ".csv", size_table(found));
    write_file(options.output + "/ef/" + name + ".csv", ef_table(found));
    with_code(ExitCode::storage, [&] { size_plot(found).save(size + ".svg"); });
    std::string shown = size + ".svg";
    if (options.save_video) {
      shown = overlay_path(options, path);
      bar.start(name + " overlay", static_cast<int64_t>(found.areas.size()));
      const std::string film =
          data::mp4_problem().empty() ? overlay_path(options, path, ".mp4") : "";
      with_code(ExitCode::storage,
                [&] { write_overlay(shown, found, study.video, {}, step, film); });
      if (!film.empty()) shown = film;
    }
    bar.end();
    bar.print(fmt::format("{}: {} frames, {}{} -> {}", path, found.areas.size(), to_string(found),
                          volumes_text(found), shown));
  }
  bar.print(
      "not known: whether each shows the four chambers from the apex, without which none of "
      "this is right");
}

std::vector<VideoSegmentation> segment_split(const Segmenter& segmenter,
                                             const SegmentSplitOptions& options) {
  const data::Echo dataset = with_code(ExitCode::data, [&] {
    return data::Echo(options.data_dir, data::EchoOptions::segmentation(options.split));
  });
  std::map<std::string, std::string> names;
  for (int64_t i = 0; i < dataset.size(); ++i)
    check_name(names, dataset.file_name(i), ExitCode::data);
  for (const char* folder : {"", "/size"}) make_folder(options.output + folder);
  if (options.save_video) make_folder(options.output + "/videos");
  std::string table = "Filename,Frame,Size,HumanLarge,HumanSmall,ComputerSmall\n";
  std::vector<VideoSegmentation> all;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const int64_t large = dataset.large_trace(i).frame, small = dataset.small_trace(i).frame;
    const auto step = [&](int64_t, int64_t) {
      if (options.progress) options.progress(i, dataset.size());
    };
    VideoSegmentation found = with_code(ExitCode::data, [&] {
      return segment_video(segmenter, data::VideoReader(dataset.path(i)),
                           {.batch_size = options.batch_size, .side = 0, .progress = step});
    });
    table += size_rows(found, dataset.file_name(i), large, small);
    with_code(ExitCode::storage, [&] {
      size_plot(found).save(options.output + "/size/" + found.name + ".svg");
      if (options.save_video)
        write_overlay(options.output + "/videos/" + found.name + ".avi", found,
                      data::VideoReader(dataset.path(i)), {large, small}, step);
    });
    found.masks = {};
    all.push_back(std::move(found));
    if (options.progress) options.progress(i + 1, dataset.size());
  }
  write_file(options.output + "/size.csv", table);
  return all;
}

}  // namespace aorta::echo
