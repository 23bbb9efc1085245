#include <aorta/aorta.h>
#include <aorta/apps/echo/data_facts.h>
#include <aorta/apps/echo/device.h>
#include <aorta/apps/echo/failure.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/interrupt.h>
#include <aorta/apps/echo/ranks.h>
#include <aorta/apps/echo/recipe.h>
#include <aorta/apps/echo/training_loop.h>
#include <aorta/core/clock.h>
#include <aorta/core/io/bytes.h>

#include <algorithm>
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

std::vector<std::string> file_names(const data::Batch& batch) {
  const Tensor names = batch["Filename"].cpu();
  std::vector<std::string> list;
  for (int64_t i = 0; i < names.size(0); ++i) {
    const auto* text = reinterpret_cast<const char*>(names[i].data<uint8_t>());
    list.emplace_back(text, strnlen(text, static_cast<size_t>(names.size(1))));
  }
  return list;
}

// What Totals::sums holds at most.
constexpr size_t kMostSums = 8;

// The state of a loader, whose batches are `size` samples as it is told.
State with_batch_size(const State& loader, int64_t size) {
  State state;
  for (const auto& [name, value] : loader.values())
    state.set(name, name == "batch_size" ? State::Value(size) : value);
  return state;
}

}  // namespace

void Totals::add(const Totals& other) {
  loss += other.loss;
  count += other.count;
  samples += other.samples;
  sums.resize(std::max(sums.size(), other.sums.size()));
  for (size_t i = 0; i < other.sums.size(); ++i) sums[i] += other.sums[i];
}

int64_t longer_edge(const data::Echo& videos) {
  int64_t edge = 0;
  for (const data::TensorSpec& spec : videos.specs())
    if (spec.name == "LargeFrame" || spec.name == "video")
      edge = std::max(spec.shape.back(), spec.shape[spec.shape.size() - 2]);
  check(edge > 0, "longer_edge", "samples must have frames", edge);
  return edge;
}

data::ChannelStatistics pixel_statistics(const std::string& data_dir, uint64_t seed) {
  return with_code(ExitCode::data, [&] {
    data::EchoOptions options;
    options.require_traces = has_tracings(data_dir);
    const data::Echo clips(data_dir, options);
    return data::mean_and_std(clips, "video", {.samples = 128, .seed = seed, .parallel = true});
  });
}

TrainingLoop::TrainingLoop(const RunOptions& options, std::vector<Device> devices)
    : options_(options), devices_(std::move(devices)) {
  backends::cudnn::set_deterministic(options.deterministic);
  backends::cudnn::set_allow_tf32(options.tf32);
  backends::cuda::matmul::set_allow_tf32(options.tf32);
}

data::DataLoaderOptions TrainingLoop::loader_options(
    const std::function<data::Batch(const data::Batch&)>& prepare, int64_t size,
    bool training) const {
  const Device device = devices_[0];
  data::DataLoaderOptions options{.batch_size = options_.batch_size,
                                  .shuffle = training,
                                  .num_workers = options_.num_workers,
                                  .pin_memory = options_.pin_memory && device.is_cuda(),
                                  .drop_last = training,
                                  .timeout = options_.num_workers > 0 ? options_.timeout : 0,
                                  .persistent_workers = options_.num_workers > 0,
                                  .seed = options_.seed,
                                  .device = loader_device(device),
                                  .batch_transform = prepare};
  if (const Communicator* group = rank_group()) {
    std::shared_ptr<const data::Sampler> order;
    if (training)
      order = std::make_shared<data::RandomSampler>(size);
    else
      order = std::make_shared<data::SequentialSampler>(size);
    options.batch_sampler = std::make_shared<data::DistributedBatchSampler>(
        std::make_shared<data::BatchSampler>(order, options_.batch_size, training), group->size(),
        group->rank(), training ? data::BatchShare::part_of_each : data::BatchShare::every_nth);
    options.batch_size = 1;
    options.shuffle = options.drop_last = false;
  }
  return options;
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
  with_code(ExitCode::usage, [&] {
    loader_ =
        std::make_unique<data::DataLoader>(train, loader_options(data.prepare, train_size_, true));
    validation_loader_ = std::make_unique<data::DataLoader>(
        validation_, loader_options(data.prepare, validation_->size(), false));
  });
  if (checkpoint && checkpoint->contains("progress.pretrained"))
    pretrained_ = checkpoint->get<int64_t>("progress.pretrained");
  begin_steps();
  net()->train();
  if (checkpoint) restore(*checkpoint);
}

void TrainingLoop::begin_steps() {
  before_.buffers.clear();
  captured_.reset();
  if (options_.zero && rank_group())
    sharded_ = std::make_unique<optim::ZeroRedundancyOptimizer>(
        net()->parameters(), *rank_group(),
        [&](const std::vector<Tensor>& mine) { return make_optimizer(options_, mine); });
  else
    optimizer_ = make_optimizer(options_, net()->parameters());
  RunOptions options = options_;
  if (pretraining())
    options.num_epochs = *options_.pretrain_epochs;
  else if (options.max_steps)
    options.max_steps = std::max<int64_t>(*options.max_steps - pretrained_ * loader_->size(), 1);
  schedule_ = make_schedule(options, sharded_ ? sharded_->own() : *optimizer_, loader_->size());
}

std::string TrainingLoop::device_names() const {
  std::string names;
  for (const Device device : devices_) names += (names.empty() ? "" : ",") + to_string(device);
  return names;
}

Tensor TrainingLoop::computed(const data::Batch& batch) const {
  const Autocast autocast(options_.amp ? bf16 : f32);
  if (!net()->is_training()) return output(batch);
  const RankRandom random;
  return output(batch);
}

std::vector<Tensor> TrainingLoop::learn(const data::Batch& batch) {
  before_.buffers.clear();
  for (const Tensor& buffer : net()->buffers()) before_.buffers.push_back(buffer.clone());
  if (sharded_)
    sharded_->zero_grad();
  else
    optimizer_->zero_grad();
  Tensor found, error;
  {
    const distributed::ActivityScope activity("in the forward pass");
    const Stopwatch running(times_.forward);
    found = computed(batch);
    error = loss(found, batch);
  }
  {
    const distributed::ActivityScope activity("in the backward pass");
    const Stopwatch running(times_.backward);
    // The loss is a sum over the batch, and gradients come to their mean over the ranks.
    (rank_count() == 1 ? error : error * static_cast<double>(rank_count())).backward();
  }
  {
    const Stopwatch running(times_.update);
    if (!sharded_)
      optimizer_->step_if_finite(error);
    else if (std::isfinite(error.item<double>()))
      sharded_->step();
  }
  return {sums(found.detach(), batch), error.detach()};
}

std::vector<Tensor> TrainingLoop::learn_on_device(const data::Batch& batch) {
  const bool captures = devices_.size() == 1 && devices_[0].is_cuda() && rank_count() == 1 &&
                        !options_.profile;  // which shows the ops of a step
  if (!captures) return learn(batch);
  const auto [first, second] = tensors_of_a_step();
  if (!captured_) {
    captured_.emplace([this, first, second](const Tensor& a, const Tensor& b) {
      return learn(NamedTensors{{first, a}, {second, b}});
    });
  }
  return (*captured_)(batch[first], batch[second]);
}

Totals TrainingLoop::totals_of(const Tensor& sums, double loss, const data::Batch& batch) const {
  Totals totals{.sums = sums.to_vector<double>()};
  count(batch, loss, totals);
  return totals;
}

double TrainingLoop::finite_loss(const Tensor& loss, const data::Batch& batch) {
  const auto value = loss.item<double>();
  if (!std::isfinite(value)) diverge(batch, value);
  return value;
}

bool TrainingLoop::step() {
  const Stopwatch whole(totals_.seconds);
  {
    const distributed::ActivityScope activity("waiting for a batch");
    const Stopwatch waiting(times_.wait);
    if (batches_) {
      ++*batches_;
    } else if (in_epoch_ == steps_per_epoch()) {
      return false;  // the epoch's end was found before, and its validation stopped
    } else {
      if (in_epoch_ == 0)
        loader_->set_epoch(pretrained_ + epoch_);  // else restore() has set the place
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
  before_.random = default_generator().state();
  const std::vector<Tensor> results = learn_on_device(batch);
  batches_->prefetch();  // beside the device's work on this one
  double value = 0;
  {
    const distributed::ActivityScope activity("in the backward pass");
    const Stopwatch running(times_.backward);
    value = finite_loss(results[1], batch);  // a GPU has all of its work by then
  }
  if (schedule_.every_step) schedule_.schedule->step();
  const Totals mine = totals_of(results[0], value, batch);
  ++steps_;
  ++in_epoch_;
  add_of_all_ranks(mine, totals_);
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
    // With the first rank's running statistics, which are those that are saved.
    if (Communicator* group = rank_group()) {
      for (const Tensor& buffer : net()->buffers()) group->broadcast(buffer);
    }
    bool ended = false;
    const distributed::ActivityScope activity("in the validation");
    // A round is a batch a rank; in the last one the last ranks may have none.
    const int64_t in_round = options_.batch_size * rank_count(), size = validation_->size();
    validation_loader_->set_epoch(0);  // the same clips each time, in a resumed run too
    auto batch = validation_loader_->begin();
    for (int64_t round = 0; round * in_round < size; ++round) {
      Totals mine;
      if (batch != validation_loader_->end()) {
        const Tensor found = computed(*batch), error = loss(found, *batch);
        mine = totals_of(sums(found, *batch), error.item<double>(), *batch);
        ++batch;
      }
      add_of_all_ranks(mine, totals);
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

void TrainingLoop::add_of_all_ranks(const Totals& mine, Totals& totals) {
  if (!rank_group()) return totals.add(mine);
  std::vector<double> numbers = {static_cast<double>(interrupted()),
                                 static_cast<double>(wishes_to_save_),
                                 mine.loss,
                                 static_cast<double>(mine.count),
                                 static_cast<double>(mine.samples),
                                 static_cast<double>(mine.sums.size())};
  numbers.insert(numbers.end(), mine.sums.begin(), mine.sums.end());
  numbers.resize(6 + kMostSums);
  const std::vector<std::vector<double>> all = gathered(numbers);
  save_is_wished_ = all[0][1] != 0;
  for (const std::vector<double>& row : all) {
    if (stop_signal_ == 0) stop_signal_ = static_cast<int>(row[0]);
    const auto sums = row.begin() + 6;
    totals.add({.loss = row[2],
                .count = static_cast<int64_t>(row[3]),
                .samples = static_cast<int64_t>(row[4]),
                .sums = {sums, sums + static_cast<std::ptrdiff_t>(row[5])}});
  }
}

int TrainingLoop::stop_signal() const { return rank_group() ? stop_signal_ : interrupted(); }

State TrainingLoop::loader_state() const {
  return with_batch_size(loader_->state(), options_.batch_size);
}

void TrainingLoop::restore_loader(const State& state) {
  loader_->restore(rank_group() ? with_batch_size(state, 1) : state);
}

void TrainingLoop::end_epoch() {
  if (!schedule_.every_step) schedule_.schedule->step();
  const bool was_pretraining = pretraining();
  ++(was_pretraining ? pretrained_ : epoch_);
  if (was_pretraining && !pretraining()) begin_steps();
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
  const RankRandom random;
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
    if (!is_utf8(text)) text = io::quote(text);
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
  state.add("optimizer.", sharded_ ? sharded_->state() : optimizer_->state());
  state.add("schedule.", schedule_.schedule->state());
  // In the middle of an epoch; else the next one starts by its number.
  if (in_epoch_ > 0) state.add("loader.", loader_state());
  const GeneratorState random = default_generator().state();
  state.set("random.seed", std::bit_cast<int64_t>(random.seed));
  state.set("random.stream", std::bit_cast<int64_t>(random.stream));
  state.set("random.position", std::bit_cast<int64_t>(random.position));
  state.set("progress.epoch", epoch_);
  state.set("progress.pretrained", pretrained_);
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
  const State of_optimizer = state.with_prefix("optimizer.");
  if (sharded_)
    sharded_->restore(of_optimizer);
  else
    optimizer_->restore(of_optimizer);
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
    return restore_loader(state.with_prefix("loader."));
  // Its place means nothing among more or fewer videos: the epoch begins anew.
  in_epoch_ = 0;
  totals_ = {};
}

}  // namespace aorta::echo
