#include <aorta/core/module_path.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/data/loader.h>

#include <atomic>
#include <cstdio>

namespace aorta::data {
namespace {

// Streams of the seed: each epoch has 2^40, the first for its order, the others for its samples.
constexpr int64_t kStreams = int64_t{1} << 40;

Generator order_generator(uint64_t seed, int64_t epoch) {
  return Generator(seed, static_cast<uint64_t>(epoch) * kStreams);
}

Generator sample_generator(uint64_t seed, int64_t epoch, int64_t index) {
  return Generator(seed,
                   static_cast<uint64_t>(epoch) * kStreams + static_cast<uint64_t>(index) + 1);
}

void say_once_that_there_are_no_workers(int num_workers) {
  static std::atomic_flag said;
  if (num_workers == 0 || said.test_and_set()) return;
  std::fprintf(stderr,
               "aorta: data_loader: worker processes aren't there yet; num_workers = %d reads "
               "samples in the thread that iterates (num_workers = 0 is silent)\n",
               num_workers);
}

[[noreturn]] void fail_on_shapes(const std::string& name, const Shape& first, const Shape& other) {
  fail("collate", "samples of a batch must have one shape; give the loader a collate of your own",
       first, " and ", other, " for ", io::quote(name));
}

// The batch whose samples already lie in `whole`, one tensor a spec.
Batch collate_in_place(std::span<const Sample> samples, const std::vector<Tensor>& whole) {
  Batch batch;
  const std::vector<TensorSpec>& specs = samples[0].specs();
  for (size_t i = 0; i < specs.size(); ++i) {
    const Shape& shape = samples[0].tensors()[i].shape();
    for (const Sample& sample : samples)
      if (sample.tensors()[i].shape() != shape)
        fail_on_shapes(specs[i].name, shape, sample.tensors()[i].shape());
    if (shape == specs[i].shape) {
      batch.add(specs[i].name, whole[i]);
      continue;
    }
    // Smaller than declared: samples keep the distance of the largest.
    Shape all = shape;
    all.insert(0, static_cast<int64_t>(samples.size()));
    Strides strides = contiguous_strides(shape);
    strides.insert(0, whole[i].stride(0));
    batch.add(specs[i].name, Tensor(whole[i].storage(), whole[i].dtype(), all, strides));
  }
  return batch;
}

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

struct DataLoader::Settings {
  std::shared_ptr<const Dataset> dataset;
  DataLoaderOptions options;
  TensorSpecs specs;
  uint64_t seed = 0;

  std::shared_ptr<const BatchSampler> batch_sampler() const {
    if (options.batch_sampler) return options.batch_sampler;
    std::shared_ptr<const Sampler> sampler = options.sampler;
    // Made anew each epoch: the dataset may have grown.
    if (!sampler && options.shuffle)
      sampler = std::make_shared<RandomSampler>(dataset->size());
    else if (!sampler)
      sampler = std::make_shared<SequentialSampler>(dataset->size());
    return std::make_shared<BatchSampler>(sampler, options.batch_size, options.drop_last);
  }
};

class DataLoader::Epoch {
 public:
  Epoch(std::shared_ptr<const Settings> settings, int64_t epoch)
      : settings_(std::move(settings)), epoch_(epoch) {
    Generator random = order_generator(settings_->seed, epoch);
    batches_ = settings_->batch_sampler()->batches(epoch, random);
  }

  bool done() const { return next_ == batches_.size(); }
  void advance() {
    check(!done(), "data_loader", "an iterator at the end can't be moved on");
    ++next_;
    loaded_ = false;
    batch_ = Batch();
  }
  const Batch& batch() {
    check(!done(), "data_loader", "an iterator at the end has no batch");
    if (!loaded_) batch_ = load(batches_[next_]);
    loaded_ = true;
    return batch_;
  }

 private:
  Batch load(const std::vector<int64_t>& indices) const {
    const Settings& settings = *settings_;
    check(!indices.empty(), "data_loader", "a batch must have samples", "none in batch ", next_);
    std::vector<Tensor> whole;
    for (const TensorSpec& spec : *settings.specs) {
      Shape shape = spec.shape;
      shape.insert(0, static_cast<int64_t>(indices.size()));
      whole.push_back(empty(shape, {.dtype = spec.dtype}));
    }
    std::vector<Sample> samples;
    samples.reserve(indices.size());
    for (size_t i = 0; i < indices.size(); ++i) {
      std::vector<Tensor> places;
      for (const Tensor& tensor : whole) places.push_back(tensor[static_cast<int64_t>(i)]);
      samples.emplace_back(settings.specs, std::move(places));
      read(indices[i], samples.back());
    }
    if (!settings.options.collate) return collate_in_place(samples, whole);
    return settings.options.collate(samples);
  }

  void read(int64_t index, Sample& sample) const {
    const int64_t size = settings_->dataset->size();
    check(index >= 0 && index < size, "data_loader", "a sampler's indices must be in [0, size)",
          index, " of ", size);
    const ModuleScope in("sample " + std::to_string(index));  // what errors start with
    Generator random = sample_generator(settings_->seed, epoch_, index);
    DefaultGeneratorScope scope(random);
    settings_->dataset->read(index, sample, random);
  }

  std::shared_ptr<const Settings> settings_;
  int64_t epoch_;
  std::vector<std::vector<int64_t>> batches_;
  size_t next_ = 0;
  bool loaded_ = false;
  Batch batch_;
};

const Batch& DataLoader::Iterator::operator*() const { return epoch_->batch(); }

DataLoader::Iterator& DataLoader::Iterator::operator++() {
  epoch_->advance();
  return *this;
}

bool DataLoader::Iterator::operator==(std::default_sentinel_t) const { return epoch_->done(); }

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, const DataLoaderOptions& options) {
  const char* op = "data_loader";
  check(dataset != nullptr, op, "there must be a dataset", "none");
  check(options.batch_size >= 1, op, "batch_size must be at least 1", options.batch_size);
  check(options.num_workers >= 0, op, "num_workers can't be negative", options.num_workers);
  check(!(options.sampler && options.shuffle), op, "sampler and shuffle exclude each other",
        "both");
  check(!options.batch_sampler ||
            (options.batch_size == 1 && !options.shuffle && !options.sampler && !options.drop_last),
        op, "batch_sampler excludes batch_size, shuffle, sampler and drop_last", "both");
  Settings settings{dataset, options, checked_specs(dataset->specs())};
  if (options.seed) {
    settings.seed = *options.seed;
  } else {
    Generator& random = default_generator();
    const uint64_t high = random.next_u32();
    settings.seed = high << 32 | random.next_u32();
  }
  say_once_that_there_are_no_workers(options.num_workers);
  settings_ = std::make_shared<const Settings>(std::move(settings));
}

DataLoader::Iterator DataLoader::begin() {
  auto epoch = std::make_shared<Epoch>(settings_, epoch_);
  ++epoch_;
  return Iterator(std::move(epoch));
}

int64_t DataLoader::size() const { return settings_->batch_sampler()->size(); }

void DataLoader::set_epoch(int64_t epoch) {
  check(epoch >= 0, "data_loader", "epoch can't be negative", epoch);
  epoch_ = epoch;
}

uint64_t DataLoader::seed() const { return settings_->seed; }
const Dataset& DataLoader::dataset() const { return *settings_->dataset; }

}  // namespace aorta::data
