#pragma once

#include <aorta/core/io/tensors.h>
#include <aorta/data/sample.h>

#include <span>
#include <string_view>

namespace aorta::data {

/// What a loader gives: tensors by name, the first dimension of each the samples of the batch.
/// `batch["image"]` is (B, 1, 28, 28). Copying a Batch copies handles.
class Batch {
 public:
  Batch() = default;
  Batch(NamedTensors tensors);  // NOLINT: implicit, for what collates

  /// The tensor of that name; throws `batch: name must be one of "image", "label", got "images"`.
  const Tensor& operator[](std::string_view name) const;
  bool contains(std::string_view name) const;
  /// Adds a tensor; throws `batch: names must differ, got "image" twice`.
  void add(const Text& name, const Tensor& tensor);

  /// All of them, in the order of the dataset's declaration.
  const NamedTensors& tensors() const { return tensors_; }
  /// Every tensor on `device`; see Tensor::to.
  Batch to(Device device, bool non_blocking = false) const;

 private:
  NamedTensors tensors_;
};

/// Each tensor is the samples' stacked along a new first dimension: (B, ...). Throws where shapes
/// of one tensor differ between samples. A loader's default gives the same without the copy.
Batch default_collate(std::span<const Sample> samples);
/// How it refuses samples of two shapes; `name` is the tensor's.
[[noreturn]] void fail_on_shapes(const std::string& name, const Shape& first, const Shape& other);

}  // namespace aorta::data
