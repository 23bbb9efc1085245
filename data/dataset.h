#pragma once

#include <aorta/core/io/tensors.h>
#include <aorta/core/random.h>
#include <aorta/data/sample.h>

namespace aorta::data {

/// Which part of a dataset.
enum class Split { train, validation, test };
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
/// A sample is written straight into its place in a batch: nothing is copied afterwards.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;
  /// Names, dtypes and largest shapes of a sample's tensors; the same at each call.
  virtual std::vector<TensorSpec> specs() const = 0;
  /// Writes every element of every tensor of sample `index`, 0 <= index < size(). What is random in
  /// it is drawn from `random` (which is the default generator, too, while read runs): its numbers
  /// are a function of the loader's seed, the epoch and `index`, whoever reads the sample and when.
  virtual void read(int64_t index, Sample& sample, Generator& random) const = 0;

  /// One sample in memory of its own: `dataset.sample(3)["image"]`.
  Sample sample(int64_t index, Generator& random = default_generator()) const;
};

/// A dataset to share: `make_dataset<Mnist>("mnist", Split::train)`. It is made from the type and
/// plain arguments, so that another process can make the same one.
template <class T, class... Arguments>
std::shared_ptr<T> make_dataset(const Arguments&... arguments) {
  return std::make_shared<T>(arguments...);
}

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
