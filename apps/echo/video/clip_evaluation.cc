#include <aorta/aorta.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/video/clip_evaluation.h>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace aorta::echo {
namespace {

constexpr double kThresholds[] = {35, 40, 50};  // of EF, in percent

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.) / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  const double centre = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

std::string interval_row(const char* name, const Interval& interval, int digits) {
  const auto text = [&](double value) {
    return std::isnan(value) ? std::string("-") : fmt::format("{:.{}f}", value, digits);
  };
  return fmt::format("  {:<8} {}  ({} to {})\n", name, text(interval.value), text(interval.low),
                     text(interval.high));
}

std::string error_rows(const Errors& errors) {
  return interval_row("MAE", errors.mae, 2) + interval_row("RMSE", errors.rmse, 2) +
         interval_row("R2", errors.r2, 3);
}

}  // namespace

std::string unit_of(const std::string& task) {
  return task == "EF" ? "%" : task == "EDV" || task == "ESV" ? "mL" : "";
}

data::EchoOptions clip_options(const std::string& data_dir, data::EchoSplit split) {
  data::EchoOptions options;
  options.split = split;
  options.require_traces = has_tracings(data_dir);
  return options;
}

std::shared_ptr<const data::Echo> whole_videos(const std::string& data_dir, data::EchoSplit split,
                                               const std::string& task) {
  data::EchoOptions options = clip_options(data_dir, split);
  options.targets = {task};
  options.length = 0;
  options.max_length = 0;
  options.period = 1;
  return data::make_dataset<data::Echo>(data_dir, options);
}

ClipEvaluation evaluate_clips(const Regressor& regressor, const std::string& data_dir,
                              data::EchoSplit split, const ClipEvaluationSettings& settings) {
  // The whole video is read once; its clips are made of it.
  const auto dataset = whole_videos(data_dir, split, regressor.task);
  const Device device = device_of(regressor);
  data::DataLoader loader(dataset, {.batch_size = 1,
                                    .num_workers = settings.num_workers,
                                    .pin_memory = settings.pin_memory && device.is_cuda(),
                                    .timeout = settings.num_workers > 0 ? settings.timeout : 0,
                                    .device = loader_device(device)});
  ClipEvaluation evaluation{.split = data::to_string(split), .task = regressor.task};
  Generator random(settings.seed, 2);
  for (const data::Batch& batch : loader) {
    const Tensor video = batch["video"][0];
    const int64_t places = regressor.places(video.size(1));
    RegressedVideo one{.file_name =
                           dataset->file_name(static_cast<int64_t>(evaluation.videos.size()))};
    one.told = batch[regressor.task][0].item<double>();
    one.clips = regressor.predict(video, 0, places, settings.batch_size).to_vector<double>();
    one.found = mean_of(one.clips);
    one.one_clip = one.clips[static_cast<size_t>(random.next_below(places))];
    evaluation.videos.push_back(std::move(one));
    if (settings.progress)
      settings.progress(static_cast<int64_t>(evaluation.videos.size()), dataset->size());
  }
  measure_errors(evaluation, settings.bootstrap);
  return evaluation;
}

void measure_errors(ClipEvaluation& evaluation, const BootstrapOptions& bootstrap) {
  std::vector<double> told, found, one_clip;
  for (const RegressedVideo& video : evaluation.videos) {
    told.push_back(video.told);
    found.push_back(video.found);
    one_clip.push_back(video.one_clip);
  }
  evaluation.all_clips = bootstrapped_errors(told, found, bootstrap);
  evaluation.one_clip = bootstrapped_errors(told, one_clip, bootstrap);
  evaluation.agreement = agreement(told, found);
  evaluation.rocs.clear();
  if (evaluation.task == "EF")
    for (const double threshold : kThresholds)
      evaluation.rocs.push_back(roc(told, found, threshold, bootstrap));
}

void write_clip_evaluation(const ClipEvaluation& evaluation, const std::string& folder) {
  std::string clips = "FileName,Clip,Value\n", values = "FileName,Told,Found,Clips,Deviation\n";
  std::vector<double> told, found;
  for (const RegressedVideo& video : evaluation.videos) {
    const std::string name = csv_field(video.file_name);
    for (size_t i = 0; i < video.clips.size(); ++i)
      clips += fmt::format("{},{},{:.4f}\n", name, i, video.clips[i]);
    values += fmt::format("{},{:.4f},{:.4f},{},{:.4f}\n", name, video.told, video.found,
                          video.clips.size(), deviation_of(video.clips));
    told.push_back(video.told);
    found.push_back(video.found);
  }
  const std::string start = folder + "/" + evaluation.split;
  const std::string quantity = evaluation.task == "EF" ? "ejection fraction" : evaluation.task;
  const std::string unit = unit_of(evaluation.task);
  write_file(start + "_predictions.csv", clips);
  write_file(start + "_values.csv", values);
  with_code(ExitCode::storage, [&] {
    plot_scatter(start + "_scatter.svg", quantity, unit, told, found, "clips");
    plot_bland_altman(start + "_bland_altman.svg", quantity, unit, told, found, "clips");
    if (!evaluation.rocs.empty()) plot_roc(start + "_roc.svg", evaluation.rocs);
  });
}

std::string to_string(const ClipEvaluation& evaluation) {
  std::string text = fmt::format(
      "{}: {} of {} videos (5th to 95th percentile of a bootstrap over videos)\n"
      "mean of all clips\n",
      evaluation.split, evaluation.task, evaluation.videos.size());
  text += error_rows(evaluation.all_clips);
  text +=
      fmt::format("  {:<8} {:+.2f}, limits of agreement {} to {}\n", "bias",
                  evaluation.agreement.bias, agreement_text("{:+.2f}", evaluation.agreement.low),
                  agreement_text("{:+.2f}", evaluation.agreement.high));
  for (const Roc& one : evaluation.rocs) {
    if (std::isnan(one.area.value))
      text += fmt::format("  AUC {:g} -: {} of {} videos have at most {:g}\n", one.threshold,
                          one.low, one.low + one.high, one.threshold);
    else
      text += interval_row(fmt::format("AUC {:g}", one.threshold).c_str(), one.area, 3);
  }
  return text + "one clip of each\n" + error_rows(evaluation.one_clip);
}

}  // namespace aorta::echo
