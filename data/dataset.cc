#include <aorta/core/ops/creation.h>
#include <aorta/data/dataset.h>

#include <cstring>

namespace aorta::data {

std::string to_string(Split split) {
  constexpr const char* kNames[] = {"train", "validation", "test"};
  return kNames[static_cast<int>(split)];
}

Sample Dataset::sample(int64_t index, Generator& random) const {
  check(index >= 0 && index < size(), "dataset", "index must be in [0, size)", index, " of ",
        size());
  Sample result(checked_specs(specs()));
  DefaultGeneratorScope scope(random);
  read(index, result, random);
  return result;
}

TensorDataset::TensorDataset(const NamedTensors& tensors) {
  io::check_names(tensors, "tensor_dataset");
  check(!tensors.empty(), "tensor_dataset", "there must be a tensor at least", "none");
  for (const auto& [name, tensor] : tensors) {
    check(tensor.dim() > 0 && tensor.device().is_cpu(), "tensor_dataset",
          "tensors must be on the CPU and have a first dimension, the samples", tensor.shape(),
          " on ", tensor.device(), " for ", io::quote(name));
    if (tensors_.empty()) size_ = tensor.size(0);
    check(tensor.size(0) == size_, "tensor_dataset", "first sizes must be equal", tensor.size(0),
          " of ", io::quote(name), " and ", size_, " of ", io::quote(tensors[0].first));
    tensors_.emplace_back(name, io::to_host(tensor));
  }
}

std::vector<TensorSpec> TensorDataset::specs() const {
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors_) {
    Shape shape = tensor.shape();
    shape.erase(0);
    specs.push_back({name, tensor.dtype(), shape});
  }
  return specs;
}

void TensorDataset::read(int64_t index, Sample& sample, Generator&) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& place = sample.tensors()[i];
    const auto bytes = static_cast<size_t>(place.nbytes());
    if (bytes == 0) continue;
    const auto* from = static_cast<const char*>(tensors_[i].second.data());
    std::memcpy(place.data(), from + static_cast<size_t>(index) * bytes, bytes);
  }
}

ChainDataset::ChainDataset(const List<std::shared_ptr<const IterableDataset>>& datasets)
    : datasets_(datasets) {
  check(!datasets.empty(), "chain_dataset", "there must be a dataset", "none");
  for (const auto& dataset : datasets) {
    check(dataset != nullptr, "chain_dataset", "a dataset must be there", "none");
    const auto specs = dataset->specs(), first = datasets.front()->specs();
    check(specs.size() == first.size(), "chain_dataset", "members must declare as many tensors",
          specs.size(), " and ", first.size());
    for (size_t i = 0; i < specs.size(); ++i)
      check(specs[i].name == first[i].name && specs[i].dtype == first[i].dtype &&
                specs[i].shape == first[i].shape,
            "chain_dataset", "members must declare the same tensors", io::quote(specs[i].name), " ",
            specs[i].dtype, specs[i].shape, " and ", io::quote(first[i].name), " ", first[i].dtype,
            first[i].shape);
  }
}

std::unique_ptr<SampleStream> ChainDataset::stream(int64_t epoch) const {
  struct Chain : SampleStream {
    std::vector<std::shared_ptr<const IterableDataset>> datasets;
    int64_t epoch = 0;
    size_t at = 0;
    std::unique_ptr<SampleStream> stream;
    bool next(Sample& sample, Generator& random) override {
      for (; at < datasets.size(); ++at, stream = nullptr) {
        if (!stream) {
          stream = datasets[at]->stream(epoch);
          check(stream != nullptr, "chain_dataset", "there must be a stream", "none of dataset ",
                at);
        }
        if (stream->next(sample, random)) return true;
      }
      return false;
    }
  };
  auto chain = std::make_unique<Chain>();
  chain->datasets = datasets_;
  chain->epoch = epoch;
  return chain;
}

std::optional<int64_t> ChainDataset::size() const {
  int64_t sum = 0;
  for (const auto& dataset : datasets_) {
    const auto size = dataset->size();
    if (!size) return {};
    check(*size >= 0 && *size <= INT64_MAX - sum, "chain_dataset",
          "sizes must not be negative, and sum to less than 2^63", sum, " and ", *size);
    sum += *size;
  }
  return sum;
}

}  // namespace aorta::data
