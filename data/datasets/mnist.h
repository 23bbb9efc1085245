#pragma once

#include <aorta/data/dataset.h>

namespace aorta::data {

/// The pixels become (value - mean) / std. PyTorch's example takes .mean = 0.1307, .std = 0.3081,
/// those of the training set.
struct MnistOptions {
  float mean = 0;
  float std = 1;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(mean, std);
  }
};

/// The MNIST digits: 60,000 to train and 10,000 to test with. A sample is
///
///     "image"  f32 (1, 28, 28), 0 the paper and 1 the ink unless options say otherwise
///     "label"  i64 (), the digit
///
/// Data of the same layout serve as well: Fashion-MNIST, say. The files are read whole.
class Mnist : public Dataset {
 public:
  /// `folder` holds the four files of the database, as torchvision keeps them: in it, in raw/ or in
  /// MNIST/raw/, gzipped or not. "mnist" or nothing: the folder that the environment's AORTA_MNIST
  /// names. Throws `mnist: ...` with what to do where they're not there; there is no validation
  /// split.
  explicit Mnist(const Text& folder = "mnist", Split split = Split::train,
                 const MnistOptions& options = {});

  int64_t size() const override { return pixels_.size(0); }
  std::vector<TensorSpec> specs() const override;
  void read(int64_t index, Sample& sample, Generator& random) const override;

  /// All of them at once, f32 (N, 1, 28, 28) and i64 (N); made at each call.
  Tensor images() const;
  Tensor labels() const;

 private:
  void convert(const uint8_t* from, float* to, int64_t count) const;

  Tensor pixels_;  // u8 (N, 28, 28)
  Tensor digits_;  // u8 (N)
  float values_[256];
};

}  // namespace aorta::data
