#pragma once

#include <aorta/data/sample.h>

namespace aorta::data {

/// Where a reader of a worker has its samples written, before it copies each to its place in a
/// batch: in the batch, what lies beside a tensor is another sample's. Here each tensor lies
/// between two pages that can't be touched, so that a write far beyond it ends the worker, and the
/// bytes between the pages and the tensor are watched.
class ReadingPlace {
 public:
  /// Throws a ResourceError where there is no memory for it.
  explicit ReadingPlace(const TensorSpecs& specs);

  /// One a spec, of its dtype and shape.
  const std::vector<Tensor>& tensors() const { return tensors_; }

  /// To be called before a sample is read.
  void prepare();
  /// After it: throws `dataset: read() must write within its tensors, got 4 bytes written before
  /// "image"`.
  void check_edges() const;

 private:
  struct Edges {
    std::span<unsigned char> before, behind;
  };

  TensorSpecs specs_;
  std::vector<Tensor> tensors_;
  std::vector<Edges> edges_;  // of each tensor
};

/// Copies what the sample's tensors hold to places of the declared shapes; what was made smaller
/// lies at the place's beginning.
void copy_to(const std::vector<Tensor>& places, const Sample& sample);

}  // namespace aorta::data
