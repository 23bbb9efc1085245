#pragma once

#include <aorta/core/io/tensors.h>
#include <aorta/core/random.h>
#include <aorta/data/recipe.h>
#include <aorta/data/sample.h>

namespace aorta::data {

/// Which part of a dataset.
enum class Split { train, validation, test };
/// "train", "validation" or "test".
std::string to_string(Split split);

/// Samples by number. A dataset of one's own:
///
///     struct Squares : data::Dataset {
///       int64_t size() const override { return 100; }
///       std::vector<data::TensorSpec> specs() const override {
///         return {{"x", f32, {}}, {"y", f32, {}}};
///       }
///       void read(int64_t index, data::Sample& sample, Generator& random) const override {
///         const double x = static_cast<double>(index) + random.next_uniform();
///         sample["x"].fill_(x);
///         sample["y"].fill_(x * x);
///       }
///     };
///
/// A sample is written into its place in a batch, or in a worker into memory from which the worker
/// copies it there.
class Dataset : public Source {
 public:
  virtual int64_t size() const = 0;
  /// Names, dtypes and largest shapes of a sample's tensors; the same at each call.
  virtual std::vector<TensorSpec> specs() const = 0;
  /// Writes every element of every tensor of sample `index`, 0 <= index < size(). What is random in
  /// it is drawn from `random` (which is the default generator, too, while read runs): its numbers
  /// are a function of the loader's seed, the epoch and `index`, whoever reads the sample and when.
  /// Worker processes call it on datasets of their own; no two calls at once on one.
  virtual void read(int64_t index, Sample& sample, Generator& random) const = 0;

  /// One sample in memory of its own: `dataset.sample(3)["image"]`.
  Sample sample(int64_t index, Generator& random = default_generator()) const;
};

/// Where a stream of an IterableDataset stands: its samples one after another.
class SampleStream {
 public:
  virtual ~SampleStream() = default;
  /// Writes the next sample, as Dataset::read does; false when there is none.
  virtual bool next(Sample& sample, Generator& random) = 0;
};

/// Samples one after another, where their number or order isn't known before. Each worker process
/// reads a stream of its own, so the streams must share the samples out among them:
///
///     std::unique_ptr<SampleStream> stream(int64_t epoch) const override {
///       const auto* worker = data::worker_info();  // null without workers
///       return std::make_unique<Lines>(path, worker ? worker->id : 0,
///                                      worker ? worker->num_workers : 1);
///     }
class IterableDataset : public Source {
 public:
  virtual std::vector<TensorSpec> specs() const = 0;
  virtual std::unique_ptr<SampleStream> stream(int64_t epoch) const = 0;
  /// How many samples all streams give together, where that is known; a loader says so once when
  /// there are more.
  virtual std::optional<int64_t> size() const { return {}; }
};

/// The streams of several datasets of the same specs, one after another.
class ChainDataset : public IterableDataset {
 public:
  explicit ChainDataset(const List<std::shared_ptr<const IterableDataset>>& datasets);
  std::vector<TensorSpec> specs() const override { return datasets_.front()->specs(); }
  std::unique_ptr<SampleStream> stream(int64_t epoch) const override;
  /// The sum, where all of them have a size.
  std::optional<int64_t> size() const override;

 private:
  std::vector<std::shared_ptr<const IterableDataset>> datasets_;
};

/// In a worker process: which one it is.
struct WorkerInfo {
  int id = 0;
  int num_workers = 0;
  uint64_t seed = 0;  // of this worker's default generator, outside of Dataset::read
};
/// What a worker process calls before it reads.
using WorkerInit = void (*)(const WorkerInfo&);
/// Null in a process that isn't a worker.
const WorkerInfo* worker_info();

/// Tensors in memory as a dataset: sample i is the i-th part of each along its first dimension.
///
///     auto points = data::make_dataset<data::TensorDataset>(NamedTensors{{"x", x}, {"y", y}});
class TensorDataset : public Dataset {
 public:
  /// CPU tensors of one first size.
  explicit TensorDataset(const NamedTensors& tensors);

  int64_t size() const override { return size_; }
  std::vector<TensorSpec> specs() const override;
  void read(int64_t index, Sample& sample, Generator& random) const override;

 private:
  NamedTensors tensors_;
  int64_t size_ = 0;
};

}  // namespace aorta::data
