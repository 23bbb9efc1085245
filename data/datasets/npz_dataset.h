#pragma once

#include <aorta/data/dataset.h>

namespace aorta::data {

/// Which arrays of the file a sample has, and whether they are verified.
struct NpzDatasetOptions {
  /// The arrays by name; none: all of the file.
  List<std::string> arrays = {};
  /// Compares every array with its checksum first, which reads all of it once.
  bool verify = true;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(arrays, verify);
  }
};

/// The arrays of an .npz file, as numpy.savez writes it, with one first size: sample i is the i-th
/// part of each. Arrays that aren't compressed stay in the file, mapped: processes share what the
/// system keeps of it, and a set may be larger than memory. Compressed ones are inflated.
class NpzDataset : public TensorDataset {
 public:
  /// Throws `path: ...` for a file or an array that isn't sound or isn't there.
  explicit NpzDataset(const Text& path, const NpzDatasetOptions& options = {});

  void read(int64_t index, Sample& sample, Generator& random) const override;

 private:
  std::string path_;
};

}  // namespace aorta::data
