#include <aorta/aorta.h>
#include <aorta/apps/echo/beats/beats.h>
#include <aorta/apps/echo/beats/beats_report.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/evaluate.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/import/study.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/apps/echo/measure/agreement.h>
#include <aorta/apps/echo/report_parts.h>
#include <aorta/core/io/bytes.h>
#include <aorta/report/progress.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace aorta::echo {
namespace {

/// A video that is meant, and what the table tells of it (NaN without).
struct Meant {
  std::string path;
  double told = std::numeric_limits<double>::quiet_NaN();
};

std::vector<Meant> videos_of_split(const BeatsOptions& options) {
  data::EchoOptions echo;
  echo.split = split_of(options.split);
  echo.targets = {"EF"};
  echo.video = false;
  const std::string folder = data_folder(options.data_dir);
  echo.require_traces = has_tracings(folder);
  return with_code(ExitCode::data, [&] {
    const data::Echo dataset(folder, echo);
    data::Sample sample(std::make_shared<const std::vector<data::TensorSpec>>(dataset.specs()));
    Generator random;
    std::vector<Meant> all;
    for (int64_t i = 0; i < dataset.size(); ++i) {
      dataset.read(i, sample, random);
      all.push_back({dataset.path(i), sample["EF"].item<double>()});
    }
    return all;
  });
}

std::vector<Meant> meant_videos(const BeatsOptions& options) {
  if (options.videos.empty()) return videos_of_split(options);
  std::vector<Meant> all;
  std::map<std::string, std::string> names;
  for (const std::string& path : options.videos) {
    const auto [known, added] = names.emplace(stem_of(path), path);
    if (!added)
      throw Failure(ExitCode::usage,
                    "beats: names of videos must differ, got " + known->second + " and " + path);
    with_code(ExitCode::data, [&] { return data::VideoReader(path).height(); });
    all.push_back({.path = path});
  }
  return all;
}

Regressor load_ef_network(const std::string& run_or_file) {
  Regressor regressor = with_code(ExitCode::data, [&] { return load_regressor(run_or_file); });
  if (regressor.task != "EF")
    throw Failure(ExitCode::usage, "--video_weights: must be of a network that tells EF, got " +
                                       io::quote(regressor.task));
  return regressor;
}

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.4f}", value) : "";
}

double mean_of_masks(const BeatToBeat& video) { return video.segmentation.ef; }

void write_beat_tables(const std::vector<BeatToBeat>& videos, const std::string& folder) {
  std::string beats = "FileName,Beat,Diastole,Systole,Clip,EF,SegmentedEF\n";
  std::string table = "FileName,Beats,EF,Deviation,Low,High,SegmentedEF,ToldEF\n";
  for (const BeatToBeat& video : videos) {
    const std::string name = csv_field(video.segmentation.name);
    for (size_t i = 0; i < video.beats.size(); ++i) {
      const MeasuredBeat& beat = video.beats[i];
      beats += fmt::format("{},{},{},{},{},{},{}\n", name, i + 1, beat.diastole, beat.systole,
                           beat.clip, number(beat.ef), number(beat.segmented_ef));
    }
    table += fmt::format("{},{},{},{},{},{},{},{}\n", name, video.beats.size(), number(video.mean),
                         number(video.deviation), number(video.low), number(video.high),
                         number(mean_of_masks(video)), number(video.told));
  }
  write_file(folder + "/beats.csv", beats);
  write_file(folder + "/videos.csv", table);
}

// The videos with beats, the nearest to what is told first; of videos that nobody told of, those
// whose beats agree most.
std::vector<size_t> by_error(const std::vector<BeatToBeat>& videos) {
  std::vector<size_t> order;
  for (size_t i = 0; i < videos.size(); ++i)
    if (!videos[i].beats.empty()) order.push_back(i);
  const auto error = [&](size_t i) {
    const BeatToBeat& video = videos[i];
    if (std::isfinite(video.told)) return std::abs(video.mean - video.told);
    return std::isfinite(video.deviation) ? video.deviation : 0;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return error(a) < error(b); });
  return order;
}

// The last line of a split: how far the means of beats are off.
std::string beats_line(const std::vector<BeatToBeat>& videos) {
  std::vector<double> told, found;
  int64_t beats = 0;
  for (const BeatToBeat& video : videos) {
    told.push_back(video.told);
    found.push_back(video.mean);
    beats += std::ssize(video.beats);
  }
  const Agreement result = agreement(told, found);
  return fmt::format("beats EF MAE {} RMSE {} R2 {} of {} of {} videos, {} beats",
                     agreement_text("{:.2f}", result.mae), agreement_text("{:.2f}", result.rmse),
                     agreement_text("{:.3f}", result.r2), result.count, videos.size(), beats);
}

// Best, median and worst as films and curves; then all others' lines.
void write_beats_report(const BeatsOptions& options, const std::vector<Meant>& meant,
                        const std::vector<BeatToBeat>& videos, const Segmenter& segmenter) {
  report::Page page("Ejection fraction, beat by beat",
                    fmt::format("{} finds the beats, {} tells each its ejection fraction",
                                options.run_or_weights, options.video_weights));
  const auto total =
      std::accumulate(videos.begin(), videos.end(), size_t{0},
                      [](size_t sum, const BeatToBeat& video) { return sum + video.beats.size(); });
  page.highlights(
      {{"videos", fmt::format("{}", videos.size())}, {"beats", fmt::format("{}", total)}});
  if (const std::string plot = interval_plot(videos); !plot.empty())
    page.section("Against the table")
        .paragraph(beats_line(videos))
        .figure(plot, "The mean of each video's beats, and its 95 % interval by Student's t.");
  const std::vector<size_t> order = by_error(videos);
  if (!order.empty()) {
    page.section("Best, median and worst");
    std::vector<report::Page::Film> films;
    std::vector<size_t> chosen;
    for (const size_t place : {size_t{0}, order.size() / 2, order.size() - 1})
      if (chosen.empty() || chosen.back() != order[place]) chosen.push_back(order[place]);
    for (const size_t i : chosen) {
      const Study study = open_study(meant[i].path, segmenter.side);
      BeatToBeat seen = videos[i];  // without masks, which all together would fill the memory
      seen.segmentation.masks =
          segment_video(segmenter, study.video, {.batch_size = options.batch_size}).masks;
      films.push_back(beat_film(study.video, seen, seen.beats.size() / 2,
                                videos[i].segmentation.name + ": " + verdict(videos[i])));
    }
    page.paragraph("A beat of each: the ventricle's edge as the segmenter sees it, in blue.")
        .films(films);
    for (const size_t i : chosen) {
      const std::string& name = videos[i].segmentation.name;
      page.figure(beat_plot(videos[i]), "The ejection fraction of each beat of " + name + ".")
          .figure(text_of(options.output + "/size/" + name + ".svg"),
                  "Its ventricle's area, which tells the beats.");
    }
  }
  std::vector<report::Page::Row> rows;
  for (const BeatToBeat& video : videos)
    rows.push_back({video.segmentation.name, fmt::format("{}", video.beats.size()),
                    agreement_text("{:.1f}", video.mean), agreement_text("{:.1f}", video.deviation),
                    agreement_text("{:.1f}", video.segmentation.ef),
                    agreement_text("{:.1f}", video.told)});
  page.section("Videos").table({"video", "beats", "EF", "deviation", "by the masks", "told"}, rows);
  page.section("What isn't known")
      .paragraph(
          "Whether a video shows the four chambers from the apex, for which these networks are "
          "made; nothing here recognises a view. The interval tells how much the beats of one "
          "video differ, not how far the networks are off. None of this is a medical device.");
  page.save(options.output + "/report.html");
}

void check_output(const BeatsOptions& options) {
  if (!options.overwrite && is_there(options.output + "/beats.csv"))
    throw Failure(ExitCode::storage,
                  options.output +
                      "/beats.csv: is there already; --overwrite replaces it, --output names "
                      "another folder");
}

}  // namespace

void beats(const BeatsOptions& options) {
  check_positive("--batch_size", options.batch_size);
  if (!options.videos.empty() && !options.data_dir.empty())
    throw Failure(ExitCode::usage, "--data_dir: goes without videos, got both");
  check_output(options);
  const std::vector<Meant> meant = meant_videos(options);
  const Regressor regressor = load_ef_network(options.video_weights);
  const Segmenter segmenter =
      with_code(ExitCode::data, [&] { return load_segmenter(options.run_or_weights); });
  const Device device = choose_device(options.device, [&](Device tried) {
    segmenter.try_on(tried);
    regressor.try_on(tried);
  });
  segmenter.net->to(device);
  regressor.net->to(ToOptions{.device = device, .memory_format = MemoryFormat::channels_last});
  for (const char* folder : {"", "/beats", "/size"}) make_folder(options.output + folder);
  catch_interrupts();
  report::ProgressBar bar({.quiet = options.quiet});
  std::vector<BeatToBeat> videos;
  for (const Meant& one : meant) {
    const auto step = [&](int64_t done, int64_t) {
      bar.update(done);
      stop_if_interrupted();
    };
    videos.push_back(with_code(ExitCode::data, [&] {
      const Study study = open_study(one.path, segmenter.side);
      bar.start(stem_of(one.path), study.video.frame_count());
      BeatToBeat found = measure_beats(segmenter, regressor, study.video,
                                       {.batch_size = options.batch_size, .progress = step});
      found.told = one.told;
      found.segmentation.millimetres = study.millimetres;
      return found;
    }));
    const BeatToBeat& found = videos.back();
    const std::string name = "/" + found.segmentation.name + ".svg";
    write_file(options.output + "/beats" + name, beat_plot(found));
    with_code(ExitCode::storage,
              [&] { size_plot(found.segmentation).save(options.output + "/size" + name); });
    if (!options.quiet) bar.print(one.path + ": " + to_string(found));
    videos.back().segmentation.masks = {};
  }
  bar.end();
  with_code(ExitCode::storage, [&] { write_beats_report(options, meant, videos, segmenter); });
  write_beat_tables(videos, options.output);
  fmt::print("wrote {0}/beats.csv, videos.csv, beats/*.svg, size/*.svg, report.html\n{1}\n",
             options.output, beats_line(videos));
}

}  // namespace aorta::echo
