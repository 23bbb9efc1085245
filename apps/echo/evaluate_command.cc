#include <aorta/apps/echo/console.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/evaluate.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/apps/echo/segment.h>
#include <aorta/apps/echo/trainer.h>
#include <aorta/apps/echo/video/clip_report.h>
#include <aorta/core/io/bytes.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

namespace aorta::echo {
namespace {

std::string dice_row(const char* name, const Interval& interval) {
  return fmt::format("  {:<8} {:.4f}  ({:.4f} to {:.4f})\n", name, interval.value, interval.low,
                     interval.high);
}

std::string ef_row(const char* name, const Agreement& ef, size_t videos) {
  if (ef.count == 0)
    return fmt::format("  {:<8} none of {} videos has an ejection fraction\n", name, videos);
  std::string text =
      fmt::format("  {:<8} MAE {:.2f}, R2 {}, bias {:+.2f}, limits of agreement {} to {}", name,
                  ef.mae, agreement_text("{:.3f}", ef.r2), ef.bias,
                  agreement_text("{:+.2f}", ef.low), agreement_text("{:+.2f}", ef.high));
  if (ef.count < static_cast<int64_t>(videos))
    text += fmt::format(" ({} of {} videos)", ef.count, videos);
  return text + "\n";
}

// The folder that the files go to when none is named: that of the weights.
std::string folder_of(const std::string& run_or_weights) {
  if (is_folder(run_or_weights)) return run_or_weights;
  const std::string folder = std::filesystem::path(run_or_weights).parent_path();
  return folder.empty() ? "." : folder;
}

bool tells_a_number(const std::string& run_or_weights) {
  const std::string file = weights_file(run_or_weights);
  return names_its_network(file) && State::load(file).contains("regressor.model_name");
}

void write_predictions(const EvaluateOptions& options, std::span<const std::string> names,
                       std::span<const double> efs) {
  if (options.predictions.empty()) return;
  write_file(options.predictions, predictions_table(names, efs));
  std::printf("wrote %s\n", options.predictions.c_str());
}

// Does the same for weights of `aorta-echo video`.
void evaluate_regressor(const EvaluateOptions& options, data::EchoSplit split,
                        const std::string& data_dir) {
  if (options.save_video)
    throw Failure(ExitCode::usage,
                  "--save_video: needs weights of a segmenter, got those of `aorta-echo video`");
  const Regressor regressor =
      with_code(ExitCode::data, [&] { return load_regressor(options.run_or_weights); });
  if (!options.predictions.empty() && regressor.task != "EF")
    throw Failure(ExitCode::usage,
                  "--predictions: needs weights that tell EF, got " + io::quote(regressor.task));
  const Device device =
      choose_device(options.device, [&](Device tried) { regressor.try_on(tried); });
  regressor.net->to(ToOptions{.device = device, .memory_format = MemoryFormat::channels_last});
  const std::string folder =
      options.output.empty() ? folder_of(options.run_or_weights) : options.output;
  make_folder(folder);
  catch_interrupts();
  report::ProgressBar bar({.quiet = options.quiet});
  const ClipEvaluation evaluation = with_code(ExitCode::data, [&] {
    return evaluate_clips(regressor, data_dir, split,
                          {.batch_size = options.batch_size,
                           .num_workers = options.num_workers,
                           .progress = progress_on(bar, "evaluate " + options.split)});
  });
  std::fputs(to_string(evaluation).c_str(), stdout);
  write_clip_evaluation(evaluation, folder);
  std::vector<std::string> names;
  std::vector<double> efs;
  for (const RegressedVideo& video : evaluation.videos) {
    names.push_back(video.file_name);
    efs.push_back(video.found);
  }
  write_predictions(options, names, efs);
  std::printf("%s\n", last_line(evaluation).c_str());
}

}  // namespace

std::string predictions_table(std::span<const std::string> names, std::span<const double> efs) {
  check(names.size() == efs.size(), "predictions", "there must be a number a video", efs.size(),
        " for ", names.size());
  std::string text = "FileName,EF_pred\n";
  for (size_t i = 0; i < names.size(); ++i)
    text += csv_field(stem_of(names[i])) + "," +
            (std::isfinite(efs[i]) ? fmt::format("{:.4f}", efs[i]) : "") + "\n";
  return text;
}

data::EchoSplit split_of(const std::string& name) {
  for (const data::EchoSplit split :
       {data::EchoSplit::train, data::EchoSplit::val, data::EchoSplit::test, data::EchoSplit::all})
    if (data::to_string(split) == name) return split;
  throw Failure(ExitCode::usage,
                "--split: must be train, val, test or all, got " + io::quote(name));
}

std::string to_string(const Evaluation& evaluation) {
  std::string text =
      fmt::format("{}: {} videos\nDice      (5th to 95th percentile of a bootstrap over videos)\n",
                  evaluation.split, evaluation.videos.size());
  text += dice_row("overall", evaluation.dice.overall);
  text += dice_row("large", evaluation.dice.large);
  text += dice_row("small", evaluation.dice.small);
  text += "EF in percent of the traced frames, by the method of disks, against FileList.csv\n";
  text += ef_row("network", evaluation.ef, evaluation.videos.size());
  text += ef_row("tracings", evaluation.traced_ef, evaluation.videos.size());
  return text;
}

std::string dice_line(const Evaluation& evaluation) {
  return fmt::format("dice overall {:.4f} large {:.4f} small {:.4f}", evaluation.dice.overall.value,
                     evaluation.dice.large.value, evaluation.dice.small.value);
}

std::string ef_line(const Evaluation& evaluation) {
  const Agreement& ef = evaluation.ef;
  return fmt::format("ef mae {} bias {} r2 {}", agreement_text("{:.2f}", ef.mae),
                     agreement_text("{:+.2f}", ef.bias), agreement_text("{:.3f}", ef.r2));
}

std::vector<std::string> write_evaluation(const Evaluation& evaluation, const std::string& folder) {
  std::string dice = "Filename,Overall,Large,Small\n";
  std::string ef = "Filename,EF,FoundEF,TracedEF,LargeVolume,SmallVolume\n";
  std::vector<double> told, found;
  for (const EvaluatedVideo& video : evaluation.videos) {
    const std::string name = csv_field(video.file_name);
    dice += fmt::format("{},{},{},{}\n", name, video.overlap.dice(), video.overlap.large.dice(),
                        video.overlap.small.dice());
    ef += fmt::format("{},{:.4f},{:.4f},{:.4f},{:.1f},{:.1f}\n", name, video.told_ef,
                      video.found_ef, video.traced_ef, video.large_volume, video.small_volume);
    told.push_back(video.told_ef);
    found.push_back(video.found_ef);
  }
  const std::string start = folder + "/" + evaluation.split;
  const std::vector<std::string> files = {start + "_dice.csv", start + "_ef.csv", start + "_ef.svg",
                                          start + "_bland_altman.svg"};
  write_file(files[0], dice);
  write_file(files[1], ef);
  with_code(ExitCode::storage, [&] {
    plot_scatter(files[2], "ejection fraction", "%", told, found);
    plot_bland_altman(files[3], "ejection fraction", "%", told, found);
  });
  return files;
}

void evaluate(EvaluateOptions options) {
  const data::EchoSplit split = split_of(options.split);
  check_positive("--batch_size", options.batch_size);
  check_workers("--num_workers", options.num_workers);
  const std::string data_dir = data_folder(options.data_dir);
  if (options.run_or_weights.empty()) {
    options.run_or_weights = shipped_weights();
    if (options.output.empty()) options.output = "evaluated";
  }
  if (with_code(ExitCode::data, [&] { return tells_a_number(options.run_or_weights); }))
    return evaluate_regressor(options, split, data_dir);
  const Segmenter segmenter = with_code(ExitCode::data, [&] {
    return load_segmenter(options.run_or_weights,
                          {.model_name = options.model_name,
                           .statistics = [&] { return pixel_statistics(data_dir, 0); }});
  });
  segmenter.net->to(choose_device(options.device, [&](Device tried) { segmenter.try_on(tried); }));
  const std::string folder =
      options.output.empty() ? folder_of(options.run_or_weights) : options.output;
  make_folder(folder);
  catch_interrupts();
  report::ProgressBar bar({.quiet = options.quiet});
  const Evaluation evaluation = with_code(ExitCode::data, [&] {
    return evaluate(segmenter, data_dir, split,
                    {.batch_size = options.batch_size,
                     .num_workers = options.num_workers,
                     .progress = progress_on(bar, "evaluate " + options.split)});
  });
  std::fputs(to_string(evaluation).c_str(), stdout);
  for (const std::string& file : write_evaluation(evaluation, folder))
    std::printf("wrote %s\n", file.c_str());
  std::vector<std::string> names;
  std::vector<double> efs;
  for (const EvaluatedVideo& video : evaluation.videos) {
    names.push_back(video.file_name);
    efs.push_back(video.found_ef);
  }
  write_predictions(options, names, efs);
  if (options.save_video) {
    segment_split(segmenter, {.data_dir = data_dir,
                              .split = split,
                              .output = folder,
                              .batch_size = options.batch_size,
                              .progress = progress_on(bar, "segment " + options.split)});
    std::printf("wrote %s/size.csv, size/*.svg, videos/*.avi\n", folder.c_str());
  }
  std::printf("%s\n%s\n", ef_line(evaluation).c_str(), dice_line(evaluation).c_str());
}

}  // namespace aorta::echo
