#pragma once

#include <aorta/data/dataset.h>
#include <aorta/data/images/transforms.h>

namespace aorta::io {
class FileBytes;
}

namespace aorta::data {

/// CIFAR-10 (Krizhevsky, "Learning multiple layers of features from tiny images", 2009): 50,000
/// colour images to train and 10,000 to test with, of ten classes.
///
///     auto set = data::make_dataset<data::Cifar10>(
///         "cifar-10-batches-bin", data::Split::train,
///         data::Transforms{data::RandomCrop{.size = 32, .padding = 4},
///                          data::RandomHorizontalFlip{}, data::ToFloat{}});
///
/// A sample is "image", what the transforms make of u8 (3, 32, 32), and "label", i64 (), the
/// class's number. The files are mapped into memory, and nothing of an image is read until it is
/// asked for.
class Cifar10 : public Dataset {
 public:
  /// `folder` holds the binary version, data_batch_1.bin to data_batch_5.bin and test_batch.bin, or
  /// the folder cifar-10-batches-bin with them. Each file may have any number of images, of 3073
  /// bytes: the class, then 1024 of red, of green and of blue. Throws `cifar10: ...` with what to
  /// do where they're not there; there is no validation split.
  explicit Cifar10(const Text& folder, Split split = Split::train,
                   const Transforms& transforms = {ToFloat()});

  int64_t size() const override { return ends_.back(); }
  std::vector<TensorSpec> specs() const override;
  void read(int64_t index, Sample& sample, Generator& random) const override;

  /// "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck".
  static const std::vector<std::string>& classes();

 private:
  Transforms transforms_;
  std::vector<std::shared_ptr<const io::FileBytes>> files_;
  std::vector<int64_t> ends_{0};  // how many images are in the files up to each
};

}  // namespace aorta::data
