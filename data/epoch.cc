#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/data/clock.h>
#include <aorta/data/epoch.h>

#include <cstdio>
#include <utility>

namespace aorta::data {
namespace {

[[noreturn]] void fail_on_shapes(const std::string& name, const Shape& first, const Shape& other) {
  fail("collate", "samples of a batch must have one shape; give the loader a collate of your own",
       first, " and ", other, " for ", io::quote(name));
}

void add_stages(StallAccount& account, const StageTimes& times) {
  account.open += 1e-9 * static_cast<double>(times.nanoseconds[0]);
  account.read += 1e-9 * static_cast<double>(times.nanoseconds[1]);
  account.decode += 1e-9 * static_cast<double>(times.nanoseconds[2]);
  account.transform += 1e-9 * static_cast<double>(times.nanoseconds[3]);
}

// Memory for a batch that the iterating thread reads, and its samples' places in it.
struct Places {
  Places(const LoaderSettings& settings, int64_t count) {
    for (const TensorSpec& spec : *settings.specs) {
      Shape shape = spec.shape;
      shape.insert(0, count);
      whole.push_back(settings.empty(shape, spec.dtype));
    }
    for (int64_t i = 0; i < count; ++i) {
      std::vector<Tensor> places;
      for (const Tensor& tensor : whole) places.push_back(tensor[i]);
      samples.emplace_back(settings.specs, std::move(places));
    }
  }
  std::vector<Tensor> whole;
  std::vector<Sample> samples;
};

// Reading by the thread that iterates.
class LocalEpoch : public Epoch {
 protected:
  LocalEpoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch)
      : Epoch(std::move(settings), epoch) {}

  template <class Read>
  auto timed(const Read& read) {
    const double start = seconds_now();
    const StageTimes before = stage_times();
    struct Book {
      LocalEpoch& epoch;
      double start;
      StageTimes before;
      ~Book() {
        epoch.busy_ += seconds_now() - start;
        const StageTimes after = stage_times();
        for (int i = 0; i < kStages; ++i)
          epoch.times_.nanoseconds[i] += after.nanoseconds[i] - before.nanoseconds[i];
      }
    } book{*this, start, before};
    return read();
  }

  Batch assemble(Places& places) {
    if (settings().options.collate) return collate(places.samples);
    std::vector<Shape> shapes;
    for (size_t i = 0; i < places.whole.size(); ++i) {
      shapes.push_back(places.samples[0].tensors()[i].shape());
      for (const Sample& sample : places.samples)
        if (sample.tensors()[i].shape() != shapes[i])
          fail_on_shapes((*settings().specs)[i].name, shapes[i], sample.tensors()[i].shape());
    }
    return batch_in_place(places.whole, shapes);
  }

  void add_reading(StallAccount& account) const override {
    add_stages(account, times_);
    account.other = busy_ - account.open - account.read - account.decode - account.transform;
  }

 private:
  StageTimes times_;
  double busy_ = 0;
};

class LocalMapEpoch final : public LocalEpoch {
 public:
  LocalMapEpoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch, int64_t skip)
      : LocalEpoch(std::move(settings), epoch), next_(static_cast<size_t>(skip)) {
    Generator random = order_generator(this->settings().seed, epoch);
    batches_ = this->settings().batch_sampler()->batches(epoch, random);
  }

 protected:
  std::optional<Batch> load() override {
    const std::vector<int64_t>& indices = batches_.at(next_++);
    check(!indices.empty(), "data_loader", "a batch must have samples", "none in batch ",
          next_ - 1);
    Places places(settings(), static_cast<int64_t>(indices.size()));
    timed([&] {
      for (size_t i = 0; i < indices.size(); ++i)
        read_sample(*settings().dataset, indices[i], settings().seed, epoch(), places.samples[i]);
    });
    return assemble(places);
  }
  void skip_batch() override { ++next_; }
  std::optional<int64_t> count() const override { return static_cast<int64_t>(batches_.size()); }

 private:
  std::vector<std::vector<int64_t>> batches_;
  size_t next_;
};

class LocalStreamEpoch final : public LocalEpoch {
 public:
  LocalStreamEpoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch)
      : LocalEpoch(std::move(settings), epoch) {}

 protected:
  std::optional<Batch> load() override {
    const LoaderSettings& settings = this->settings();
    if (ended_) return {};
    Places places(settings, settings.options.batch_size);
    const int64_t count = read(places);
    if (count == 0 || (ended_ && settings.options.drop_last)) return {};
    places.samples.erase(places.samples.begin() + count, places.samples.end());
    for (Tensor& tensor : places.whole) tensor = tensor.narrow(0, 0, count);
    return assemble(places);
  }
  void skip_batch() override {
    Places places(settings(), settings().options.batch_size);
    try {
      if (!ended_) read(places);
    } catch (const SampleError&) {
      // It is skipped.
    }
  }
  std::optional<int64_t> count() const override { return {}; }

 private:
  // Reads a batch; how many samples the stream had for it.
  int64_t read(Places& places) {
    const LoaderSettings& settings = this->settings();
    if (!stream_) {
      ended_ = true;  // unless it can be opened
      stream_ = open_stream(*settings.iterable, settings.seed, epoch(), 0);
      ended_ = false;
    }
    int64_t count = 0;
    timed([&] {
      for (; count < settings.options.batch_size; ++count, ++read_) {
        Generator random = stream_generator(settings.seed, epoch(), 0, read_);
        if (!read_next(*stream_, places.samples[static_cast<size_t>(count)], random)) {
          ended_ = true;
          break;
        }
      }
    });
    return count;
  }

  std::unique_ptr<SampleStream> stream_;
  bool ended_ = false;
  int64_t read_ = 0;
};

}  // namespace

Batch default_collate(std::span<const Sample> samples) {
  check(!samples.empty(), "collate", "there must be samples", "none");
  Batch batch;
  const std::vector<TensorSpec>& specs = samples[0].specs();
  for (size_t i = 0; i < specs.size(); ++i) {
    std::vector<Tensor> parts;
    for (const Sample& sample : samples) {
      parts.push_back(sample.tensors().at(i));
      if (parts.back().shape() != parts[0].shape())
        fail_on_shapes(specs[i].name, parts[0].shape(), parts.back().shape());
    }
    batch.add(specs[i].name, stack(parts));
  }
  return batch;
}

Tensor LoaderSettings::empty(const Shape& shape, DType dtype) const {
  if (!pinned) return aorta::empty(shape, {.dtype = dtype});
  const int64_t bytes = checked_numel("data_loader", shape, item_size(dtype)) *
                        static_cast<int64_t>(item_size(dtype));
  return Tensor(Storage::allocate_pinned(bytes), dtype, shape, contiguous_strides(shape));
}

std::shared_ptr<const BatchSampler> LoaderSettings::batch_sampler() const {
  if (options.batch_sampler) return options.batch_sampler;
  std::shared_ptr<const Sampler> sampler = options.sampler;
  // Made anew each epoch: the dataset may have grown.
  if (!sampler && options.shuffle)
    sampler = std::make_shared<RandomSampler>(dataset->size());
  else if (!sampler)
    sampler = std::make_shared<SequentialSampler>(dataset->size());
  return std::make_shared<BatchSampler>(sampler, options.batch_size, options.drop_last);
}

std::shared_ptr<Epoch> Epoch::start(std::shared_ptr<LoaderSettings> settings, int64_t epoch,
                                    int64_t skip) {
  std::shared_ptr<Epoch> made;
  if (settings->options.num_workers > 0)
    made = start_worker_epoch(settings, epoch, skip);
  else if (settings->dataset)
    made = std::make_shared<LocalMapEpoch>(settings, epoch, skip);
  else
    made = std::make_shared<LocalStreamEpoch>(settings, epoch);
  if (settings->iterable)
    for (int64_t i = 0; i < skip; ++i) made->skip_batch();
  made->given_ = skip;
  return made;
}

Epoch::Epoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch)
    : settings_(std::move(settings)), epoch_(epoch), started_(seconds_now()) {
  account_.workers = settings_->options.num_workers;
  const auto& device = settings_->options.device;
  if (device) stager_.emplace(*device);
}

bool Epoch::done() {
  const auto all = count();
  if (!current_ && all) return ended_ = given_ >= *all;
  look();
  return ended_ = !current_->batch && !current_->error;
}

const Batch& Epoch::batch() {
  check(!done(), "data_loader", "an iterator at the end has no batch");
  look();
  if (current_->error) std::rethrow_exception(current_->error);
  return *current_->batch;
}

void Epoch::advance() {
  check(!done(), "data_loader", "an iterator at the end can't be moved on");
  if (current_) {
    current_.reset();
    return;
  }
  if (ahead_)
    ahead_.reset();
  else
    skip_batch();
  ++given_;
}

Epoch::Loaded Epoch::load_and_stage() {
  Loaded loaded;
  const double start = seconds_now();
  if (stager_) stager_->let_go_of_finished();  // load() copies what too many batches keep from it
  try {
    loaded.batch = load();
    if (!loaded.batch) return loaded;
    const double loaded_at = seconds_now();
    const auto& transform = settings_->options.batch_transform;
    if (stager_)
      loaded.batch = stager_->stage(*loaded.batch, transform, loaded.ticket);
    else if (transform)
      loaded.batch = transform(*loaded.batch);
    account_.copy += seconds_now() - loaded_at;
  } catch (const TimeoutError&) {  // it is still to come
    account_.wait += seconds_now() - start;
    left_ = seconds_now();
    throw;
  } catch (...) {
    loaded.batch.reset();
    loaded.error = std::current_exception();
  }
  return loaded;
}

void Epoch::look() {
  if (current_) return;
  const double start = seconds_now();
  if (left_ > 0) account_.compute += start - left_;
  const double copied = account_.copy;
  if (ahead_)
    current_ = std::exchange(ahead_, std::nullopt);
  else
    current_ = load_and_stage();
  account_.wait += seconds_now() - start - (account_.copy - copied);
  if (current_->batch || current_->error) ++given_;
  if (current_->batch) {
    if (stager_) stager_->deliver(*current_->batch, current_->ticket);
    ++account_.batches;
    const auto& tensors = current_->batch->tensors();
    const bool many = !settings_->unbatched && !tensors.empty() && tensors[0].second.dim() > 0;
    account_.samples += many ? tensors[0].second.size(0) : 1;
    say_when_there_are_too_many();
  }
  // The copy of the next batch runs beside the program's work on this one.
  const auto all = count();
  if (stager_ && current_->batch && (!all || given_ < *all) && ready()) ahead_ = load_and_stage();
  left_ = seconds_now();
}

void Epoch::say_when_there_are_too_many() {
  if (!settings_->iterable || said_size_) return;
  const auto size = settings_->iterable->size();
  if (!size || account_.samples <= *size) return;
  said_size_ = true;
  std::fprintf(
      stderr,
      "aorta: data_loader: the dataset says that it has %lld samples, and gives more; with "
      "workers each stream must be a part of it\n",
      static_cast<long long>(*size));
}

StallAccount Epoch::account() const {
  StallAccount account = account_;
  account.total = (left_ > 0 ? left_ : seconds_now()) - started_;
  add_reading(account);
  return account;
}

Batch Epoch::batch_in_place(const std::vector<Tensor>& whole,
                            const std::vector<Shape>& shapes) const {
  Batch batch;
  const std::vector<TensorSpec>& specs = *settings_->specs;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (shapes[i] == specs[i].shape) {
      batch.add(specs[i].name, settings_->unbatched ? whole[i][0] : whole[i]);
      continue;
    }
    // Smaller than declared: samples keep the distance of the largest.
    Shape all = shapes[i];
    all.insert(0, whole[i].size(0));
    Strides strides = contiguous_strides(shapes[i]);
    strides.insert(0, whole[i].stride(0));
    const Tensor tensor(whole[i].storage(), whole[i].dtype(), all, strides,
                        whole[i].storage_offset());
    batch.add(specs[i].name, settings_->unbatched ? tensor[0] : tensor);
  }
  return batch;
}

Batch Epoch::collate(std::span<const Sample> samples) {
  const double start = seconds_now();
  const Collate& collate = settings_->options.collate;
  Batch batch = collate ? collate(samples) : default_collate(samples);
  account_.copy += seconds_now() - start;
  return batch;
}

}  // namespace aorta::data
