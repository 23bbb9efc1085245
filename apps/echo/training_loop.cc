#include <aorta/aorta.h>
#include <aorta/apps/echo/data_facts.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/recipe.h>
#include <aorta/apps/echo/training_loop.h>
#include <aorta/core/clock.h>
#include <aorta/core/io/bytes.h>

#include <bit>
#include <cmath>

namespace aorta::echo {
namespace {

/// Adds the time while it lives to `seconds`.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds) {}
  ~Stopwatch() { seconds_ += seconds_now() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  const double start_ = seconds_now();
};

/// So many of the videos as `--num_train_patients` says, drawn at random.
std::shared_ptr<const data::Dataset> chosen_videos(const RunOptions& options,
                                                   std::shared_ptr<const data::Dataset> set) {
  if (!options.num_train_patients) return set;
  const int64_t wanted = *options.num_train_patients;
  if (wanted < 1 || wanted > set->size())
    throw Failure(ExitCode::usage, "--num_train_patients: must be 1 to the number of videos, " +
                                       std::to_string(set->size()) + ", got " +
                                       std::to_string(wanted));
  Generator random(options.seed, 1);
  const Tensor order = randperm(set->size(), {}, &random);
  const int64_t* first = order.data<int64_t>();
  return data::make_dataset<data::Subset>(set, std::vector<int64_t>(first, first + wanted));
}

data::DataLoaderOptions loader_options(
    const RunOptions& options, Device device,
    const std::function<data::Batch(const data::Batch&)>& prepare, bool training) {
  return {.batch_size = options.batch_size,
          .shuffle = training,
          .num_workers = options.num_workers,
          .pin_memory = options.pin_memory,
          .drop_last = training,
          .timeout = options.num_workers > 0 ? options.timeout : 0,
          .persistent_workers = options.num_workers > 0,
          .seed = options.seed,
          .device = device.type == DeviceType::cpu ? std::nullopt : std::optional(device),
          .batch_transform = prepare};
}

std::vector<std::string> file_names(const data::Batch& batch) {
  const Tensor& names = batch["Filename"];
  std::vector<std::string> list;
  for (int64_t i = 0; i < names.size(0); ++i) {
    const auto* text = reinterpret_cast<const char*>(names[i].data<uint8_t>());
    list.emplace_back(text, strnlen(text, static_cast<size_t>(names.size(1))));
  }
  return list;
}

}  // namespace

data::ChannelStatistics pixel_statistics(const std::string& data_dir, uint64_t seed) {
  return with_code(ExitCode::data, [&] {
    const data::Echo clips(data_dir, data::EchoOptions{});
    return data::mean_and_std(clips, "video", {.samples = 128, .seed = seed, .parallel = true});
  });
}

TrainingLoop::TrainingLoop(const RunOptions& options, std::vector<Device> devices)
    : options_(options), devices_(std::move(devices)) {
  backends::cudnn::set_deterministic(options.deterministic);
}

void TrainingLoop::begin(Data data, const State* checkpoint) {
  check_positive("--batch_size", options_.batch_size);
  notes_ = data.train->notes();
  validation_ = data.validation;
  data_.add("train.", data.facts(*data.train));
  data_.add("val.", data.facts(*validation_));
  if (checkpoint) compare_data(*checkpoint, data.fact);
  auto train = chosen_videos(options_, data.train);
  if (data.augment) train = data.augment(train);
  train_size_ = train->size();
  if (options_.batch_size > train_size_)
    throw Failure(ExitCode::usage,
                  "--batch_size: must be at most the number of training videos (the last batch is "
                  "left out when it isn't full), got " +
                      std::to_string(options_.batch_size) + " of " + std::to_string(train_size_));
  for (const data::EchoFault& note : validation_->notes())
    if (note.file == "FileList.csv") notes_.push_back(note);  // of the tracings they are the same
  net()->to(ToOptions{.device = devices_[0], .memory_format = MemoryFormat::channels_last});
  optimizer_ = make_optimizer(options_, net()->parameters());
  with_code(ExitCode::usage, [&] {
    loader_ = std::make_unique<data::DataLoader>(
        train, loader_options(options_, devices_[0], data.prepare, true));
    validation_loader_ = std::make_unique<data::DataLoader>(
        validation_, loader_options(options_, devices_[0], data.prepare, false));
  });
  schedule_ = make_schedule(options_, *optimizer_, loader_->size());
  net()->train();
  if (checkpoint) restore(*checkpoint);
}

std::string TrainingLoop::device_names() const {
  std::string names;
  for (const Device device : devices_) names += (names.empty() ? "" : ",") + to_string(device);
  return names;
}

Tensor TrainingLoop::computed(const data::Batch& batch) const {
  const Autocast autocast(options_.amp ? bf16 : f32);
  return output(batch);
}

bool TrainingLoop::step() {
  const Stopwatch whole(totals_.seconds);
  {
    const Stopwatch waiting(times_.wait);
    if (batches_) {
      ++*batches_;
    } else if (in_epoch_ == steps_per_epoch()) {
      return false;  // the epoch's end was found before, and its validation stopped
    } else {
      if (in_epoch_ == 0) loader_->set_epoch(epoch_);  // else restore() has set the place
      batches_ = loader_->begin();
    }
    if (*batches_ == loader_->end()) {
      batches_.reset();
      return false;
    }
    **batches_;  // waits for the batch, so that the stopwatch has all of the waiting
  }
  in_step_ = true;
  const data::Batch& batch = **batches_;
  before_ = {.buffers = {}, .random = default_generator().state()};
  for (const Tensor& buffer : net()->buffers()) before_.buffers.push_back(buffer.clone());
  Tensor found, error;
  double value = 0;
  {
    const Stopwatch running(times_.forward);
    found = computed(batch);
    error = loss(found, batch);
    value = error.item<double>();
    if (!std::isfinite(value)) diverge(batch, value);
  }
  {
    const Stopwatch running(times_.backward);
    error.backward();
  }
  {
    const Stopwatch running(times_.update);
    optimizer_->step();
    optimizer_->zero_grad();  // here, so that gradients are gone when the next step begins
    if (schedule_.every_step) schedule_.schedule->step();
  }
  {
    const NoGradGuard no_grad;
    count(found.detach(), batch, value, totals_);
  }
  ++steps_;
  ++in_epoch_;
  in_step_ = false;
  return true;
}

std::optional<Totals> TrainingLoop::validate(const std::function<bool(const Totals&)>& go_on) {
  Totals totals;
  {
    const Stopwatch whole(totals.seconds);
    const Stopwatch running(times_.validate);
    const NoGradGuard no_grad;
    net()->eval();
    bool ended = false;
    for (const data::Batch& batch : *validation_loader_) {
      const Tensor found = computed(batch);
      count(found, batch, loss(found, batch).item<double>(), totals);
      if (go_on && !go_on(totals)) {
        ended = true;
        break;
      }
    }
    net()->train();
    if (ended) return {};
  }
  return totals;
}

void TrainingLoop::end_epoch() {
  if (!schedule_.every_step) schedule_.schedule->step();
  ++epoch_;
  in_epoch_ = 0;
  totals_ = {};
  batches_.reset();
}

void TrainingLoop::go_back() {
  const NoGradGuard no_grad;
  const std::vector<Tensor> buffers = net()->buffers();
  for (size_t i = 0; i < buffers.size(); ++i) Tensor(buffers[i]).copy_(before_.buffers[i]);
  default_generator().restore(before_.random);
}

std::string TrainingLoop::first_layer_not_finite(const data::Batch& batch) {
  const NoGradGuard no_grad;
  std::string first;
  std::vector<HookHandle> hooks;
  for (auto& [name, module] : net()->named_modules()) {
    if (!module->named_children().empty()) continue;
    hooks.push_back(module->register_forward_hook(
        [&first, path = name](const nn::Module&, const std::vector<Tensor>&,
                              std::vector<Tensor>& outputs) {
          if (first.empty() && !all(isfinite(outputs[0])).item<bool>()) first = path;
        }));
  }
  const Autocast autocast(options_.amp ? bf16 : f32);
  output_of_one_device(batch);
  for (HookHandle& hook : hooks) hook.remove();
  return first;
}

void TrainingLoop::diverge(const data::Batch& batch, double loss) {
  const std::vector<std::string> names = file_names(batch);
  std::string list;
  for (size_t i = 0; i < names.size() && i < 5; ++i) list += (i ? ", " : "") + names[i];
  if (names.size() > 5) list += " and " + std::to_string(names.size() - 5) + " more";
  go_back();
  const std::string layer = first_layer_not_finite(batch);
  go_back();
  replay_ = State();
  replay_.add("", network_state());
  add_samples(batch, replay_);
  // A state's texts are UTF-8; names of files are any bytes.
  std::vector<std::string> texts = names;
  for (std::string& text : texts)
    if (!io::is_utf8(text)) text = io::quote(text);
  replay_.set("replay.files", texts);
  replay_.set("replay.step", steps_ + 1);
  throw Failure(ExitCode::diverged,
                "the loss must be finite, got " + std::string(std::isnan(loss) ? "nan" : "inf") +
                    " at step " + std::to_string(steps_ + 1) + " (epoch " +
                    std::to_string(epoch_ + 1) + ") of " + list + "; " +
                    (layer.empty() ? "every layer's output is finite"
                                   : "the first output that isn't is that of " + layer));
}

State TrainingLoop::state() const {
  State state;
  state.add("", network_state());
  state.add("data.", data_);
  state.add("optimizer.", optimizer_->state());
  state.add("schedule.", schedule_.schedule->state());
  // In the middle of an epoch; else the next one starts by its number.
  if (in_epoch_ > 0) state.add("loader.", loader_->state());
  const GeneratorState random = default_generator().state();
  state.set("random.seed", std::bit_cast<int64_t>(random.seed));
  state.set("random.stream", std::bit_cast<int64_t>(random.stream));
  state.set("random.position", std::bit_cast<int64_t>(random.position));
  state.set("progress.epoch", epoch_);
  state.set("progress.steps", steps_);
  state.set("progress.epoch_steps", in_epoch_);
  state.set("progress.loss", totals_.loss);
  state.set("progress.seconds", totals_.seconds);
  state.set("progress.samples", totals_.samples);
  state.set("progress.count", totals_.count);
  state.set("progress.sums", totals_.sums);
  return state;
}

void TrainingLoop::compare_data(const State& checkpoint, const std::string& fact) {
  const State before = checkpoint.with_prefix("data.");
  if (before.empty()) {
    changed_data_ =
        "the checkpoint, of an older version, doesn't say its data; that they are the same isn't "
        "known";
    return;
  }
  for (const char* split : {"train", "val"}) {
    const std::string prefix = std::string(split) + ".";
    const std::string part =
        data_difference(before.with_prefix(prefix), data_.with_prefix(prefix), split, fact);
    if (!part.empty()) changed_data_ += (changed_data_.empty() ? "" : "; ") + part;
  }
  if (changed_data_.empty()) return;
  changed_data_ = "the data must be those that the run began with, got others: " + changed_data_;
  if (!options_.allow_changed_data)
    throw Failure(ExitCode::data,
                  "--resume: " + changed_data_ + "; --allow_changed_data takes them all the same");
  changed_data_ += "; going on with them";
}

void TrainingLoop::restore(const State& state) {
  const State facts = state.with_prefix("data.train.");
  const int64_t size_before =
      facts.empty() || options_.num_train_patients ? train_size_ : facts.tensor("numbers").size(0);
  if (schedule_.every_step && size_before != train_size_)
    throw Failure(ExitCode::usage,
                  "--allow_changed_data: a schedule of steps, as " + options_.schedule +
                      ", needs as many training videos as before, got " +
                      std::to_string(train_size_) + " after " + std::to_string(size_before));
  optimizer_->restore(state.with_prefix("optimizer."));
  schedule_.schedule->restore(state.with_prefix("schedule."));
  const auto word = [&](const char* name) {
    return std::bit_cast<uint64_t>(state.get<int64_t>(name));
  };
  default_generator().restore(
      {word("random.seed"), word("random.stream"), word("random.position")});
  epoch_ = state.get<int64_t>("progress.epoch");
  steps_ = state.get<int64_t>("progress.steps");
  in_epoch_ = state.get<int64_t>("progress.epoch_steps");
  totals_.loss = state.get<double>("progress.loss");
  totals_.seconds = state.get<double>("progress.seconds");
  totals_.samples = state.get<int64_t>("progress.samples");
  totals_.count = state.get<int64_t>("progress.count");
  totals_.sums = state.get<std::vector<double>>("progress.sums");
  if (in_epoch_ == 0) return;
  if (state.get<int64_t>("loader.samples") == train_size_)
    return loader_->restore(state.with_prefix("loader."));
  // Its place means nothing among more or fewer videos: the epoch begins anew.
  in_epoch_ = 0;
  totals_ = {};
}

}  // namespace aorta::echo
