#pragma once

#include <aorta/data/dataset.h>

#include <optional>
#include <type_traits>

// Datasets made of datasets. Each is made with make_dataset, like any other:
//
//     auto some = data::make_dataset<data::Subset>(digits, std::vector<int64_t>{5, 0, 4});
//     auto parts = data::random_split(digits, {0.8, 0.2}, generator);

namespace aorta::data {

namespace detail {
template <class T>
concept Arithmetic = std::is_arithmetic_v<T>;
}  // namespace detail

/// A dataset that others are made of; they share it.
using DatasetPointer = std::shared_ptr<const Dataset>;

/// The samples of a dataset at some indices, in their order; an index may come more than once.
/// What is random in a sample follows its index here.
class Subset : public Dataset {
 public:
  /// Throws `subset: indices must be in [0, size), ...`.
  Subset(const DatasetPointer& dataset, const List<int64_t>& indices);

  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  std::vector<TensorSpec> specs() const override { return dataset_->specs(); }
  void read(int64_t index, Sample& sample, Generator& random) const override;

  const std::vector<int64_t>& indices() const { return indices_; }
  const DatasetPointer& dataset() const { return dataset_; }

 private:
  DatasetPointer dataset_;
  std::vector<int64_t> indices_;
};

/// Elements start, start + step, ... before stop of a dataset, as a Subset. Negative start and
/// stop count from the end, and both are clamped, as in Python; the step isn't 0.
std::shared_ptr<const Subset> slice(const DatasetPointer& dataset,
                                    std::optional<int64_t> start = {},
                                    std::optional<int64_t> stop = {}, int64_t step = 1);

/// The samples of one dataset after those of another. The members declare tensors of the same
/// names, order, dtypes and dimensions; the largest sizes are declared here. Empty members are
/// skipped.
class ConcatDataset : public Dataset {
 public:
  /// Throws `concat_dataset: ...` without members, or where declarations differ.
  explicit ConcatDataset(const List<DatasetPointer>& datasets);

  int64_t size() const override { return cumulative_sizes_.back(); }
  std::vector<TensorSpec> specs() const override { return specs_; }
  void read(int64_t index, Sample& sample, Generator& random) const override;

  /// The sizes of the first, of the first two, ...
  const std::vector<int64_t>& cumulative_sizes() const { return cumulative_sizes_; }
  /// Which member holds a sample, and the sample's index there; negative counts from the end.
  /// Throws `concat_dataset: index must be in [-size, size), ...`.
  struct Member {
    size_t dataset;
    int64_t index;
  };
  Member locate(int64_t index) const;

 private:
  std::vector<DatasetPointer> datasets_;
  std::vector<int64_t> cumulative_sizes_;
  std::vector<TensorSpec> specs_;                       // the largest shapes of any member
  std::vector<std::vector<TensorSpec>> smaller_specs_;  // a member's, where they are smaller
};

/// Several datasets of one size side by side: sample i has the tensors of sample i of each.
///
///     make_dataset<StackDataset>(std::vector<DatasetPointer>{images, targets});
///     make_dataset<StackDataset>(std::vector<std::pair<std::string, DatasetPointer>>{
///         {"left", a}, {"right", b}});    // "left.image", "right.image"
class StackDataset : public Dataset {
 public:
  /// Tensors keep their names, which must differ. Throws `stack_dataset: ...` without members, or
  /// where sizes differ.
  explicit StackDataset(const List<DatasetPointer>& datasets);
  /// A tensor's name starts with its dataset's and a dot.
  explicit StackDataset(const List<std::pair<std::string, DatasetPointer>>& datasets);

  int64_t size() const override { return size_; }
  std::vector<TensorSpec> specs() const override { return *specs_; }
  void read(int64_t index, Sample& sample, Generator& random) const override;

 private:
  std::vector<DatasetPointer> datasets_;
  std::vector<TensorSpecs> members_;  // of each dataset, under its own names
  TensorSpecs specs_;
  int64_t size_ = 0;
};

/// Parts of a dataset that share no sample and leave none out, drawn from `random`. Lengths sum to
/// its size: `random_split(digits, {50000, 10000})`.
std::vector<std::shared_ptr<const Subset>> random_split(const DatasetPointer& dataset,
                                                        const List<int64_t>& lengths,
                                                        Generator& random = default_generator());
/// Fractions sum to 1, and each part has floor(fraction * size) samples; those that remain go one
/// each to the first parts. Throws `random_split: fractions must be between 0 and 1, ...`.
std::vector<std::shared_ptr<const Subset>> random_split(const DatasetPointer& dataset,
                                                        const List<double>& fractions,
                                                        Generator& random = default_generator());
/// `random_split(dataset, {0.8, 0.2})`, `random_split(dataset, {4, 6})`.
template <detail::Arithmetic Number>
std::vector<std::shared_ptr<const Subset>> random_split(const DatasetPointer& dataset,
                                                        std::initializer_list<Number> parts,
                                                        Generator& random = default_generator()) {
  using Element = std::conditional_t<std::is_floating_point_v<Number>, double, int64_t>;
  return random_split(dataset, std::vector<Element>(parts.begin(), parts.end()), random);
}

}  // namespace aorta::data
