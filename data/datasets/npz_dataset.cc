#include <aorta/core/io/npz.h>
#include <aorta/data/datasets/npz_dataset.h>

namespace aorta::data {
namespace {

NamedTensors arrays_of(const std::string& path, const NpzDatasetOptions& options) {
  const npz::Reader file(path, {.verify = options.verify});
  const List<std::string> names =
      options.arrays.empty() ? List<std::string>(file.names()) : options.arrays;
  check(!names.empty(), path, "there must be an array at least", "none");
  NamedTensors tensors;
  for (const std::string& name : names) {
    const Tensor tensor = file.tensor(name);
    check(tensor.dim() > 0, path, "arrays must have a first dimension, the samples", tensor.shape(),
          " for ", io::quote(name));
    if (!tensors.empty())
      check(tensor.size(0) == tensors[0].second.size(0), path,
            "first sizes of arrays must be equal", tensor.size(0), " of ", io::quote(name), " and ",
            tensors[0].second.size(0), " of ", io::quote(tensors[0].first));
    tensors.emplace_back(name, tensor);
  }
  return tensors;
}

}  // namespace

NpzDataset::NpzDataset(const Text& path, const NpzDatasetOptions& options)
    : TensorDataset(arrays_of(path, options)), path_(path) {}

void NpzDataset::read(int64_t index, Sample& sample, Generator& random) const {
  sample.set_file(path_);
  TensorDataset::read(index, sample, random);
}

}  // namespace aorta::data
