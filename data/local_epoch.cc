#include <aorta/core/clock.h>
#include <aorta/data/epoch.h>
#include <aorta/data/reading.h>
#include <aorta/data/sample_error.h>
#include <aorta/data/sample_random.h>
#include <aorta/data/stages.h>

#include <utility>

namespace aorta::data {
namespace {

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

std::shared_ptr<Epoch> start_local_epoch(std::shared_ptr<LoaderSettings> settings, int64_t epoch,
                                         int64_t skip) {
  if (settings->dataset) return std::make_shared<LocalMapEpoch>(settings, epoch, skip);
  return std::make_shared<LocalStreamEpoch>(settings, epoch);
}

}  // namespace aorta::data
