#include <aorta/aorta.h>
#include <aorta/apps/echo/data_facts.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/trainer.h>
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

std::shared_ptr<const data::Dataset> training_set(const TrainOptions& options,
                                                  std::shared_ptr<const data::Dataset> set) {
  if (options.num_train_patients) {
    const int64_t wanted = *options.num_train_patients;
    if (wanted < 1 || wanted > set->size())
      throw Failure(ExitCode::usage, "--num_train_patients: must be 1 to the number of videos, " +
                                         std::to_string(set->size()) + ", got " +
                                         std::to_string(wanted));
    Generator random(options.seed, 1);
    const Tensor order = randperm(set->size(), {}, &random);
    const int64_t* first = order.data<int64_t>();
    set = data::make_dataset<data::Subset>(set, std::vector<int64_t>(first, first + wanted));
  }
  if (options.augment)
    set = data::make_dataset<data::TransformedDataset>(
        set, augmentation(),
        data::Roles{.images = {"LargeFrame", "SmallFrame"}, .masks = {"LargeTrace", "SmallTrace"}});
  return set;
}

Segmenter initial_segmenter(const TrainOptions& options, const State* checkpoint) {
  if (checkpoint) return segmenter_of(*checkpoint, "checkpoint");
  manual_seed(options.seed);
  const data::ChannelStatistics statistics = pixel_statistics(options.data_dir, options.seed);
  Segmenter segmenter = with_code(ExitCode::usage, [&] {
    return make_segmenter(options.model_name, statistics.mean, statistics.std);
  });
  if (!options.weights.empty()) {
    load_initial_weights(segmenter, options.weights);
  } else if (options.pretrained) {
    load_initial_weights(segmenter, pretrained_weights(options.model_name));
  }
  return segmenter;
}

data::DataLoaderOptions loader_options(const TrainOptions& options, Device device,
                                       const Segmenter& segmenter, bool training) {
  return {.batch_size = options.batch_size,
          .shuffle = training,
          .num_workers = options.num_workers,
          .pin_memory = options.pin_memory,
          .drop_last = training,
          .timeout = options.num_workers > 0 ? options.timeout : 0,
          .persistent_workers = options.num_workers > 0,
          .seed = options.seed,
          .device = device.type == DeviceType::cpu ? std::nullopt : std::optional(device),
          .batch_transform = [segmenter](const data::Batch& batch) {
            return with_inputs(batch, segmenter);
          }};
}

std::vector<Device> devices_of(const TrainOptions& options) {
  if (options.devices.empty()) return {choose_device(options.device)};
  if (options.device != "auto")
    throw Failure(ExitCode::usage,
                  "--devices: goes without --device, got --device " + io::quote(options.device));
  return choose_devices(options.devices);
}

// Ends of diastole and then of systole (2 B, *): part by part both phases of B / parts videos.
Tensor split_phases(const Tensor& input, int64_t parts) {
  const int64_t videos = input.size(0) / 2, step = videos / parts;
  std::vector<Tensor> pieces;
  for (int64_t part = 0; part < parts; ++part)
    for (const int64_t phase : {0, 1})
      pieces.push_back(input.narrow(0, phase * videos + part * step, step));
  return cat(pieces);
}

// Undoes split_phases.
Tensor join_phases(const Tensor& output, int64_t parts) {
  const int64_t step = output.size(0) / 2 / parts;
  std::vector<Tensor> pieces;
  for (const int64_t phase : {0, 1})
    for (int64_t part = 0; part < parts; ++part)
      pieces.push_back(output.narrow(0, (2 * part + phase) * step, step));
  return cat(pieces);
}

void count(const Tensor& logits, const Tensor& truth, Totals& totals) {
  const NoGradGuard no_grad;
  const Tensor found = logits.detach() > 0, there = truth > 0;
  const auto add = [&](Overlap& overlap, int64_t half) {
    const int64_t size = found.size(0) / 2;
    const Tensor a = found.narrow(0, half * size, size), b = there.narrow(0, half * size, size);
    overlap.intersection += sum(logical_and(a, b)).item<int64_t>();
    overlap.either += sum(logical_or(a, b)).item<int64_t>();
  };
  add(totals.large, 0);
  add(totals.small, 1);
}

/// Twice the training loss: summed over pixels, samples and both passes.
Tensor loss_of(const Tensor& logits, const Tensor& truth) {
  return binary_cross_entropy_with_logits(logits, truth, {.reduction = Reduction::sum});
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

constexpr const char* kNumbers[] = {
    "samples",     "pixels", "large.intersection", "large.either", "small.intersection",
    "small.either"};

}  // namespace

int64_t batch_parts_of(const TrainOptions& options) {
  check_positive("--batch_size", options.batch_size);
  const auto count = static_cast<int64_t>(devices_of(options).size());
  const int64_t parts = options.batch_parts.value_or(count);
  check_positive("--batch_parts", parts);
  const auto multiple = [](const std::string& flag, int64_t value, const std::string& of,
                           int64_t factor) {
    if (value % factor != 0)
      throw Failure(ExitCode::usage, flag + ": must be a multiple of " + of + ", got " +
                                         std::to_string(value) + " for " + std::to_string(factor));
  };
  multiple("--batch_parts", parts, "the number of --devices", count);
  multiple("--batch_size", options.batch_size,
           options.batch_parts ? "--batch_parts" : "the number of --devices", parts);
  return parts;
}

double Totals::dice() const {
  return Overlap{large.intersection + small.intersection, large.either + small.either}.dice();
}

std::shared_ptr<const data::Echo> echo_frames(const std::string& data_dir, data::EchoSplit split) {
  data::EchoOptions options = data::EchoOptions::segmentation(split);
  options.targets.insert(options.targets.begin(), "Filename");
  options.targets.push_back("EF");  // that evaluation needs at the end
  return with_code(ExitCode::data,
                   [&] { return data::make_dataset<data::Echo>(data_dir, options); });
}

data::ChannelStatistics pixel_statistics(const std::string& data_dir, uint64_t seed) {
  return with_code(ExitCode::data, [&] {
    const data::Echo clips(data_dir, data::EchoOptions{});
    return data::mean_and_std(clips, "video", {.samples = 128, .seed = seed, .parallel = true});
  });
}

Trainer::Trainer(const TrainOptions& options, const State* checkpoint)
    : options_(options),
      devices_(devices_of(options)),
      parts_(batch_parts_of(options)),
      segmenter_(initial_segmenter(options, checkpoint)) {
  const auto videos = echo_frames(options.data_dir, data::EchoSplit::train);
  notes_ = videos->notes();
  validation_ = echo_frames(options.data_dir, data::EchoSplit::val);
  data_.add("train.", data_facts(*videos));
  data_.add("val.", data_facts(*validation_));
  if (checkpoint) compare_data(*checkpoint);
  const auto train = training_set(options, videos);
  train_size_ = train->size();
  if (options.batch_size > train_size_)
    throw Failure(ExitCode::usage,
                  "--batch_size: must be at most the number of training videos (the last batch is "
                  "left out when it isn't full), got " +
                      std::to_string(options.batch_size) + " of " + std::to_string(train_size_));
  for (const data::EchoFault& note : validation_->notes())
    if (note.file == "FileList.csv") notes_.push_back(note);  // of the tracings they are the same
  segmenter_.net->to(
      ToOptions{.device = devices_[0], .memory_format = MemoryFormat::channels_last});
  const int64_t devices = static_cast<int64_t>(devices_.size());
  nn::set_statistic_groups(*segmenter_.net, 2 * parts_ / devices);
  if (devices > 1)
    parallel_ = std::make_unique<nn::DataParallel<nn::AnyModule>>(segmenter_.net, devices_);
  optimizer_ = make_optimizer(options, segmenter_.net->parameters());
  with_code(ExitCode::usage, [&] {
    loader_ = std::make_unique<data::DataLoader>(
        train, loader_options(options, devices_[0], segmenter_, true));
    validation_loader_ = std::make_unique<data::DataLoader>(
        validation_, loader_options(options, devices_[0], segmenter_, false));
  });
  schedule_ = make_schedule(options, *optimizer_, loader_->size());
  segmenter_.net->train();
  if (checkpoint) restore(*checkpoint);
}

data::Batch with_inputs(const data::Batch& batch, const Segmenter& segmenter) {
  const Tensor &large = batch["LargeTrace"], &small = batch["SmallTrace"];
  const int64_t half = large.size(0);
  const Tensor truth =
      empty({2 * half, large.size(1), large.size(2)}, {.dtype = f32, .device = large.device()});
  truth.narrow(0, 0, half).copy_(large);
  truth.narrow(0, half, half).copy_(small);
  data::Batch both = batch;
  both.add("input", segmenter.normalised({batch["LargeFrame"], batch["SmallFrame"]}));
  both.add("truth", truth);
  return both;
}

Tensor Trainer::logits(const data::Batch& batch) const {
  const Autocast autocast(options_.amp ? bf16 : f32);
  const Tensor& input = batch["input"];
  const auto computed = [&](const Tensor& frames) {
    return parallel_ ? segmenter_.logits_of((*parallel_)(frames)) : segmenter_.logits(frames);
  };
  // In eval mode each frame is by itself, and the last batch may be of any size.
  if (parts_ == 1 || !segmenter_.net->is_training()) return computed(input);
  return join_phases(computed(split_phases(input, parts_)), parts_);
}

bool Trainer::step() {
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
  const Tensor& truth = batch["truth"];
  before_ = {.buffers = {}, .random = default_generator().state()};
  for (const Tensor& buffer : segmenter_.net->buffers()) before_.buffers.push_back(buffer.clone());
  Tensor output, loss;
  double value = 0;
  {
    const Stopwatch running(times_.forward);
    output = logits(batch);
    loss = loss_of(output, truth) / 2;
    value = loss.item<double>();
    if (!std::isfinite(value)) diverge(batch, value);
  }
  {
    const Stopwatch running(times_.backward);
    loss.backward();
  }
  {
    const Stopwatch running(times_.update);
    optimizer_->step();
    optimizer_->zero_grad();  // here, so that gradients are gone when the next step begins
    if (schedule_.every_step) schedule_.schedule->step();
  }
  totals_.loss += value;
  totals_.samples += batch["LargeFrame"].size(0);
  totals_.pixels += truth.numel() / 2;
  count(output, truth, totals_);
  ++steps_;
  ++in_epoch_;
  in_step_ = false;
  return true;
}

std::optional<Totals> Trainer::validate(const std::function<bool(const Totals&)>& go_on) {
  Totals totals;
  {
    const Stopwatch whole(totals.seconds);
    const Stopwatch running(times_.validate);
    const NoGradGuard no_grad;
    segmenter_.net->eval();
    bool ended = false;
    for (const data::Batch& batch : *validation_loader_) {
      const Tensor& truth = batch["truth"];
      const Tensor output = logits(batch);
      totals.loss += loss_of(output, truth).item<double>() / 2;
      totals.samples += batch["LargeFrame"].size(0);
      totals.pixels += truth.numel() / 2;
      count(output, truth, totals);
      if (go_on && !go_on(totals)) {
        ended = true;
        break;
      }
    }
    segmenter_.net->train();
    if (ended) return {};
  }
  return totals;
}

void Trainer::end_epoch() {
  if (!schedule_.every_step) schedule_.schedule->step();
  ++epoch_;
  in_epoch_ = 0;
  totals_ = {};
  batches_.reset();
}

void Trainer::go_back() {
  const NoGradGuard no_grad;
  const std::vector<Tensor> buffers = segmenter_.net->buffers();
  for (size_t i = 0; i < buffers.size(); ++i) Tensor(buffers[i]).copy_(before_.buffers[i]);
  default_generator().restore(before_.random);
}

std::string Trainer::first_layer_not_finite(const data::Batch& batch) {
  const NoGradGuard no_grad;
  std::string first;
  std::vector<HookHandle> hooks;
  for (auto& [name, module] : segmenter_.net->named_modules()) {
    if (!module->named_children().empty()) continue;
    hooks.push_back(module->register_forward_hook(
        [&first, path = name](const nn::Module&, const std::vector<Tensor>&,
                              std::vector<Tensor>& outputs) {
          if (first.empty() && !all(isfinite(outputs[0])).item<bool>()) first = path;
        }));
  }
  // On one device, where layers run one after another, with the same parts.
  const int64_t groups = 2 * parts_ / static_cast<int64_t>(devices_.size());
  auto parallel = std::move(parallel_);
  nn::set_statistic_groups(*segmenter_.net, 2 * parts_);
  logits(batch);
  nn::set_statistic_groups(*segmenter_.net, groups);
  parallel_ = std::move(parallel);
  for (HookHandle& hook : hooks) hook.remove();
  return first;
}

void Trainer::diverge(const data::Batch& batch, double loss) {
  const std::vector<std::string> names = file_names(batch);
  std::string list;
  for (size_t i = 0; i < names.size() && i < 5; ++i) list += (i ? ", " : "") + names[i];
  if (names.size() > 5) list += " and " + std::to_string(names.size() - 5) + " more";
  go_back();
  const std::string layer = first_layer_not_finite(batch);
  go_back();
  replay_ = State();
  replay_.add("", segmenter_.state());
  replay_.set("replay.frames", cat({batch["LargeFrame"], batch["SmallFrame"]}));
  replay_.set("replay.truth", batch["truth"]);
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

State Trainer::state() const {
  State state;
  state.add("", segmenter_.state());
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
  const int64_t numbers[] = {totals_.samples,
                             totals_.pixels,
                             totals_.large.intersection,
                             totals_.large.either,
                             totals_.small.intersection,
                             totals_.small.either};
  for (size_t i = 0; i < std::size(numbers); ++i)
    state.set(std::string("progress.") + kNumbers[i], numbers[i]);
  return state;
}

void Trainer::compare_data(const State& checkpoint) {
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
        data_difference(before.with_prefix(prefix), data_.with_prefix(prefix), split);
    if (!part.empty()) changed_data_ += (changed_data_.empty() ? "" : "; ") + part;
  }
  if (changed_data_.empty()) return;
  changed_data_ = "the data must be those that the run began with, got others: " + changed_data_;
  if (!options_.allow_changed_data)
    throw Failure(ExitCode::data,
                  "--resume: " + changed_data_ + "; --allow_changed_data takes them all the same");
  changed_data_ += "; going on with them";
}

void Trainer::restore(const State& state) {
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
  int64_t* const numbers[] = {&totals_.samples,
                              &totals_.pixels,
                              &totals_.large.intersection,
                              &totals_.large.either,
                              &totals_.small.intersection,
                              &totals_.small.either};
  for (size_t i = 0; i < std::size(numbers); ++i)
    *numbers[i] = state.get<int64_t>(std::string("progress.") + kNumbers[i]);
  if (in_epoch_ == 0) return;
  if (state.get<int64_t>("loader.samples") == train_size_)
    return loader_->restore(state.with_prefix("loader."));
  // Its place means nothing among more or fewer videos: the epoch begins anew.
  in_epoch_ = 0;
  totals_ = {};
}

}  // namespace aorta::echo
