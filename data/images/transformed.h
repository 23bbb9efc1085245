#pragma once

#include <aorta/data/dataset.h>
#include <aorta/data/images/transforms.h>

namespace aorta::data {

/// Which tensors of a sample transforms see, by name.
struct Roles {
  List<std::string> images = {"image"};
  List<std::string> masks = {}, points = {};
  template <class Visit>
  void fields(Visit&& visit) {
    visit(images, masks, points);
  }
};

/// A dataset whose samples are transformed: images, masks and points by one set of random numbers,
/// other tensors as they are. The result is written into its place in the batch.
class TransformedDataset : public Dataset {
 public:
  /// Throws `transformed_dataset: ...` for a name that the dataset doesn't declare, or where
  /// nothing fixes the size after Resize{.shorter_edge}.
  TransformedDataset(const std::shared_ptr<const Dataset>& dataset, const Transforms& transforms,
                     const Roles& roles = {});

  int64_t size() const override { return dataset_->size(); }
  std::vector<TensorSpec> specs() const override { return specs_; }
  void read(int64_t index, Sample& sample, Generator& random) const override;

 private:
  std::shared_ptr<const Dataset> dataset_;
  Transforms transforms_;
  Roles roles_;
  TensorSpecs inner_;
  std::vector<TensorSpec> specs_;
  std::vector<size_t> images_, masks_, points_, others_;  // places among the specs
};

}  // namespace aorta::data
