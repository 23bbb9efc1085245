#pragma once

#include <aorta/data/sample.h>

#include <map>

namespace aorta::data {

/// Where a reader of a worker has its samples written. In a batch, what lies beside a tensor is
/// another sample's; here each tensor lies between two pages that can't be touched, so that a write
/// far beyond it ends the worker, and the bytes beside it are watched:
///
///     untouchable | the reader's page | pages of the batch | the reader's page | untouchable
///                   watched [ head          tensor           tail ] watched
///
/// The pages in the middle are the batch's own, which the sample has alone; its two ends, on pages
/// that it shares with others there, are copied. A tensor without such pages is copied as a whole.
class ReadingPlace {
 public:
  /// A place in a process with so many of them, which share its mappings. Throws a ResourceError
  /// where there is no memory for it.
  explicit ReadingPlace(const TensorSpecs& specs, int in_process = 1);

  /// Where the sample is to be written whose tensors in the batch, in shared memory, are `places`.
  const std::vector<Tensor>& take(std::vector<Tensor> places);
  /// Once it is: throws `dataset: read() must write within its tensors, got 4 bytes written before
  /// "image"`.
  void check_edges() const;
  /// Brings to the batch what isn't there yet; what the sample made smaller lies at its place's
  /// beginning.
  void give(const Sample& sample) const;

 private:
  struct Part {
    Tensor tensor;
    std::span<unsigned char> before, behind;  // what is watched
    int64_t head = 0, tail = 0;               // bytes of it that don't lie in the batch
  };

  /// A tensor on pages from `pages` on, `skipped` bytes behind their beginning.
  Part part(size_t i, Ref<Storage> storage, int64_t pages, int64_t skipped, int64_t size) const;
  /// None where a tensor at `place` has too few pages of its own, or can't have them here.
  std::optional<Part> view(size_t i, const char* place) const;

  TensorSpecs specs_;
  Ref<Storage> own_, ends_;  // whole tensors, one after another; two pages for the ends of each
  std::vector<Part> whole_;
  size_t most_views_;
  std::map<const char*, std::optional<Part>> views_;  // by the place in the batch
  std::vector<const Part*> taken_;
  std::vector<Tensor> places_, tensors_;
};

}  // namespace aorta::data
