#include <aorta/core/process/limits.h>
#include <aorta/data/epoch.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>

namespace aorta::data {
namespace {

void check_options(const DataLoaderOptions& options) {
  const char* op = "data_loader";
  const bool unbatched = options.batch_size == kUnbatched;
  check(options.batch_size >= 1 || unbatched, op, "batch_size must be at least 1",
        options.batch_size);
  check(!unbatched || (!options.drop_last && !options.batch_sampler), op,
        "samples by themselves have no drop_last or batch_sampler", "one of them");
  check(options.num_workers >= 0 || options.num_workers == kAutoWorkers, op,
        "num_workers can't be negative", options.num_workers);
  check(options.reads_in_flight >= 1, op, "reads_in_flight must be at least 1",
        options.reads_in_flight);
  check(int64_t{options.num_workers} * options.reads_in_flight <= Ring::kMaxReaders, op,
        "num_workers x reads_in_flight must be at most 65520", options.num_workers, " x ",
        options.reads_in_flight);
  check(int64_t{std::max(options.num_workers, 1)} * options.prefetch_factor.value_or(2) <= 65536,
        op, "num_workers x prefetch_factor must be at most 65536", options.num_workers, " x ",
        options.prefetch_factor.value_or(2));
  check(!(options.sampler && options.shuffle), op, "sampler and shuffle exclude each other",
        "both");
  check(!options.batch_sampler ||
            (options.batch_size == 1 && !options.shuffle && !options.sampler && !options.drop_last),
        op, "batch_sampler excludes batch_size, shuffle, sampler and drop_last", "both");
  check(options.timeout >= 0 && std::isfinite(options.timeout), op,
        "timeout must be a number of seconds from 0", options.timeout);
  check(!options.prefetch_factor || *options.prefetch_factor >= 1, op,
        "prefetch_factor must be at least 1", int64_t{options.prefetch_factor.value_or(1)});
  check(!(options.seed && options.generator), op, "seed and generator exclude each other", "both");
  if (options.num_workers != 0) return;
  const char* rule =
      "timeout, prefetch_factor, persistent_workers and reads_in_flight are for num_workers > 0";
  check(options.timeout == 0 && !options.prefetch_factor && !options.persistent_workers &&
            options.reads_in_flight == 1,
        op, rule, "num_workers 0");
}

void say_once(std::atomic_flag& said, const std::string& text) {
  if (!said.test_and_set()) std::fprintf(stderr, "aorta: data_loader: %s\n", text.c_str());
}

LoaderSettings make_settings(std::shared_ptr<const Source> source,
                             const DataLoaderOptions& options) {
  check_options(options);
  LoaderSettings settings;
  settings.source = std::move(source);
  settings.dataset = dynamic_cast<const Dataset*>(settings.source.get());
  settings.iterable = dynamic_cast<const IterableDataset*>(settings.source.get());
  settings.options = options;
  settings.specs =
      checked_specs(settings.dataset ? settings.dataset->specs() : settings.iterable->specs());
  if (options.seed) {
    settings.seed = *options.seed;
  } else {
    Generator& random = options.generator ? *options.generator : default_generator();
    const uint64_t high = random.next_u32();
    settings.seed = high << 32 | random.next_u32();
  }
  settings.unbatched = options.batch_size == kUnbatched;
  if (settings.unbatched) settings.options.batch_size = 1;
  settings.options.generator = nullptr;  // it may be gone when the next epoch begins

  const int cpus = available_cpus();
  int& workers = settings.options.num_workers;
  if (workers == kAutoWorkers) workers = std::max(1, cpus - 1);
  static std::atomic_flag said_workers, said_pinned;
  if (workers > cpus)
    say_once(said_workers, std::to_string(workers) + " workers for " + std::to_string(cpus) +
                               " CPUs may be slower than " + std::to_string(cpus));
  settings.pinned = options.pin_memory && cuda::is_available();
  if (options.pin_memory && !settings.pinned)
    say_once(said_pinned, "pin_memory must have a GPU to copy to, got none; it changes nothing");
  return settings;
}

}  // namespace

const Batch& DataLoader::Iterator::operator*() const { return epoch_->batch(); }

DataLoader::Iterator& DataLoader::Iterator::operator++() {
  epoch_->advance();
  return *this;
}

void DataLoader::Iterator::prefetch() { epoch_->prefetch(); }

bool DataLoader::Iterator::operator==(std::default_sentinel_t) const { return epoch_->done(); }

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, const DataLoaderOptions& options) {
  check(dataset != nullptr, "data_loader", "there must be a dataset", "none");
  settings_ = std::make_shared<LoaderSettings>(make_settings(std::move(dataset), options));
}

DataLoader::DataLoader(std::shared_ptr<const IterableDataset> dataset,
                       const DataLoaderOptions& options) {
  check(dataset != nullptr, "data_loader", "there must be a dataset", "none");
  check(!options.shuffle && !options.sampler && !options.batch_sampler, "data_loader",
        "an iterable dataset has an order of its own: no shuffle, sampler or batch_sampler",
        "one of them");
  check(options.reads_in_flight == 1, "data_loader",
        "a stream is read one sample after another: reads_in_flight must be 1",
        options.reads_in_flight);
  settings_ = std::make_shared<LoaderSettings>(make_settings(std::move(dataset), options));
}

DataLoader::Iterator DataLoader::begin() {
  latest_ = Epoch::start(settings_, epoch_, skip_);
  moved_ = false;
  skip_ = 0;
  ++epoch_;
  // The last copy of the iterator ends the iteration; its account and its place stay known.
  return Iterator(
      std::shared_ptr<Epoch>(latest_.get(), [epoch = latest_](Epoch*) { epoch->close(); }));
}

int64_t DataLoader::size() const {
  if (settings_->dataset) return settings_->batch_sampler()->size();
  const auto samples = settings_->iterable->size();
  check(samples.has_value(), "data_loader", "the dataset must have a size", "an iterable without");
  const int64_t batch_size = settings_->options.batch_size;
  return *samples / batch_size + (!settings_->options.drop_last && *samples % batch_size != 0);
}

void DataLoader::set_epoch(int64_t epoch) {
  check(epoch >= 0, "data_loader", "epoch can't be negative", epoch);
  epoch_ = epoch;
  skip_ = 0;
  moved_ = true;
}

uint64_t DataLoader::seed() const { return settings_->seed; }

const Dataset& DataLoader::dataset() const {
  check(settings_->dataset != nullptr, "data_loader", "the dataset must be a map", "an iterable");
  return *settings_->dataset;
}

StallAccount DataLoader::stall_account() const {
  return latest_ ? latest_->account() : StallAccount();
}

State DataLoader::state() const {
  const bool inside = latest_ && !latest_->ended() && !moved_;
  State state;
  state.set("seed", static_cast<int64_t>(settings_->seed));
  state.set("epoch", inside ? latest_->epoch() : epoch_);
  state.set("batches", inside ? latest_->given() : skip_);
  state.set("batch_size", settings_->options.batch_size);
  if (settings_->dataset)
    state.set("samples", settings_->dataset->size());
  else
    state.set("streams", settings_->streams());
  return state;
}

void DataLoader::restore(const State& state) {
  const bool map = settings_->dataset != nullptr;
  state.check_names({"batch_size", "batches", "epoch", map ? "samples" : "streams", "seed"});
  const auto epoch = state.get<int64_t>("epoch");
  const auto batches = state.get<int64_t>("batches");
  check(epoch >= 0 && batches >= 0, "data_loader", "a state must be one of a loader", "epoch ",
        epoch, ", batches ", batches);
  const auto batch_size = state.get<int64_t>("batch_size");
  check(batch_size == settings_->options.batch_size, "data_loader",
        "a state must be of the same batch_size", batch_size, " for ",
        settings_->options.batch_size);
  if (map) {
    const auto samples = state.get<int64_t>("samples");
    check(samples == settings_->dataset->size(), "data_loader",
          "a state must be of a dataset of the same size", samples, " samples for ",
          settings_->dataset->size());
    check(batches <= size(), "data_loader", "a state must be of the same batches", batches,
          " of them for ", size());
  } else {
    const auto streams = state.get<int64_t>("streams");
    check(streams == settings_->streams(), "data_loader",
          "a state of an iterable dataset must be of as many workers", streams, " for ",
          settings_->streams());
  }
  auto settings = std::make_shared<LoaderSettings>(*settings_);
  settings->idle = nullptr;
  settings->seed = static_cast<uint64_t>(state.get<int64_t>("seed"));
  settings_ = std::move(settings);
  epoch_ = epoch;
  skip_ = batches;
  moved_ = false;
  latest_ = nullptr;
}

}  // namespace aorta::data
