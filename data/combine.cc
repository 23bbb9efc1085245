#include <aorta/data/combine.h>
#include <aorta/data/sampler.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace aorta::data {

Subset::Subset(const DatasetPointer& dataset, const List<int64_t>& indices)
    : dataset_(dataset), indices_(indices) {
  check(dataset_ != nullptr, "subset", "there must be a dataset", "none");
  const int64_t size = dataset_->size();
  for (const int64_t index : indices_)
    check(index >= 0 && index < size, "subset", "indices must be in [0, size)", index, " of ",
          size);
}

void Subset::read(int64_t index, Sample& sample, Generator& random) const {
  check(index >= 0 && index < size(), "subset", "index must be in [0, size)", index, " of ",
        size());
  dataset_->read(indices_[static_cast<size_t>(index)], sample, random);
}

std::shared_ptr<const Subset> slice(const DatasetPointer& dataset, std::optional<int64_t> start,
                                    std::optional<int64_t> stop, int64_t step) {
  check(dataset != nullptr, "slice", "there must be a dataset", "none");
  check(step != 0, "slice", "the step can't be 0", step);
  const int64_t size = dataset->size();
  // As Python's slice.indices: where the step is negative, -1 stands before the first element.
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const auto place = [&](std::optional<int64_t> value, int64_t otherwise) {
    if (!value) return otherwise;
    return std::clamp(*value < 0 ? *value + size : *value, low, high);
  };
  const int64_t first = place(start, step > 0 ? low : high);
  const int64_t last = place(stop, step > 0 ? high : low);
  std::vector<int64_t> indices;
  // The distance that is left is compared: first + step could overflow.
  for (int64_t i = first; step > 0 ? i < last : i > last; i += step) {
    indices.push_back(i);
    if (step > 0 ? last - i <= step : last - i >= step) break;
  }
  return make_dataset<Subset>(dataset, indices);
}

ConcatDataset::ConcatDataset(const List<DatasetPointer>& datasets) : datasets_(datasets) {
  const char* op = "concat_dataset";
  check(!datasets_.empty(), op, "datasets should not be empty", "none");
  int64_t size = 0;
  std::vector<std::vector<TensorSpec>> members;
  for (const DatasetPointer& dataset : datasets_) {
    check(dataset != nullptr, op, "each member must be a dataset", "none at ", members.size());
    size += dataset->size();
    cumulative_sizes_.push_back(size);
    members.push_back(dataset->specs());
    if (members.size() == 1) specs_ = members[0];
    const std::vector<TensorSpec>& specs = members.back();
    check(specs.size() == specs_.size(), op, "members must declare the same tensors", specs.size(),
          " and ", specs_.size(), " tensors");
    for (size_t i = 0; i < specs.size(); ++i) {
      TensorSpec& all = specs_[i];
      check(specs[i].name == all.name && specs[i].dtype == all.dtype &&
                specs[i].shape.size() == all.shape.size(),
            op, "members must declare the same tensors", io::quote(specs[i].name), " ",
            specs[i].dtype, " ", specs[i].shape, " and ", io::quote(all.name), " ", all.dtype, " ",
            all.shape);
      for (int d = 0; d < all.shape.size(); ++d)
        all.shape[d] = std::max(all.shape[d], specs[i].shape[d]);
    }
  }
  for (std::vector<TensorSpec>& specs : members) {
    std::erase_if(specs, [&](const TensorSpec& spec) {
      return std::any_of(specs_.begin(), specs_.end(), [&](const TensorSpec& all) {
        return all.name == spec.name && all.shape == spec.shape;
      });
    });
  }
  smaller_specs_ = std::move(members);
}

ConcatDataset::Member ConcatDataset::locate(int64_t index) const {
  check(index >= -size() && index < size(), "concat_dataset", "index must be in [-size, size)",
        index, " of ", size());
  if (index < 0) index += size();
  const auto after = std::upper_bound(cumulative_sizes_.begin(), cumulative_sizes_.end(), index);
  const auto dataset = static_cast<size_t>(after - cumulative_sizes_.begin());
  return {dataset, dataset == 0 ? index : index - cumulative_sizes_[dataset - 1]};
}

void ConcatDataset::read(int64_t index, Sample& sample, Generator& random) const {
  const Member member = locate(index);
  for (const TensorSpec& spec : smaller_specs_[member.dataset])
    sample.resize(spec.name, spec.shape);
  datasets_[member.dataset]->read(member.index, sample, random);
}

namespace {

std::vector<std::pair<std::string, DatasetPointer>> without_names(
    const std::vector<DatasetPointer>& datasets) {
  std::vector<std::pair<std::string, DatasetPointer>> named;
  for (const DatasetPointer& dataset : datasets) named.emplace_back("", dataset);
  return named;
}

}  // namespace

StackDataset::StackDataset(const List<DatasetPointer>& datasets)
    : StackDataset(without_names(datasets)) {}

StackDataset::StackDataset(const List<std::pair<std::string, DatasetPointer>>& datasets) {
  const char* op = "stack_dataset";
  check(!datasets.empty(), op, "at least one dataset should be passed", "none");
  std::vector<TensorSpec> all;
  for (const auto& [name, dataset] : datasets) {
    check(dataset != nullptr, op, "each member must be a dataset", "none at ", datasets_.size());
    if (datasets_.empty()) size_ = dataset->size();
    check(dataset->size() == size_, op, "sizes of datasets must be equal", dataset->size(), " and ",
          size_);
    datasets_.push_back(dataset);
    members_.push_back(checked_specs(dataset->specs()));
    for (TensorSpec spec : *members_.back()) {
      if (!name.empty()) spec.name = name + "." + spec.name;
      for (const TensorSpec& other : all)
        check(other.name != spec.name, op, "names of tensors must differ", io::quote(spec.name),
              " twice");
      all.push_back(std::move(spec));
    }
  }
  specs_ = checked_specs(std::move(all));
}

void StackDataset::read(int64_t index, Sample& sample, Generator& random) const {
  check(index >= 0 && index < size_, "stack_dataset", "index must be in [0, size)", index, " of ",
        size_);
  size_t first = 0;
  for (size_t m = 0; m < datasets_.size(); ++m) {
    const size_t count = members_[m]->size();
    const auto places = sample.tensors().begin() + static_cast<std::ptrdiff_t>(first);
    Sample part(members_[m], {places, places + static_cast<std::ptrdiff_t>(count)});
    part.forward_file_to(sample);
    datasets_[m]->read(index, part, random);
    for (size_t i = 0; i < count; ++i) {
      const Shape& shape = part.tensors()[i].shape();
      if (!(shape == sample.tensors()[first + i].shape()))
        sample.resize((*specs_)[first + i].name, shape);
    }
    first += count;
  }
}

std::vector<std::shared_ptr<const Subset>> random_split(const DatasetPointer& dataset,
                                                        const List<int64_t>& lengths,
                                                        Generator& random) {
  const char* op = "random_split";
  check(dataset != nullptr, op, "there must be a dataset", "none");
  int64_t left = dataset->size();
  for (const int64_t length : lengths) {
    check(length >= 0, op, "lengths can't be negative", length);
    left -= std::min(length, left + 1);  // no overflow: below 0 is wrong already
    if (left < 0) break;
  }
  check(left == 0, op, "lengths must sum to the size of the dataset", io::shape_text(lengths),
        " for ", dataset->size(), " samples");
  const std::vector<int64_t> order = RandomSampler(dataset->size()).indices(0, random);
  std::vector<std::shared_ptr<const Subset>> parts;
  auto at = order.begin();
  for (const int64_t length : lengths) {
    parts.push_back(make_dataset<Subset>(dataset, std::vector<int64_t>(at, at + length)));
    at += length;
  }
  return parts;
}

std::vector<std::shared_ptr<const Subset>> random_split(const DatasetPointer& dataset,
                                                        const List<double>& fractions,
                                                        Generator& random) {
  const char* op = "random_split";
  check(dataset != nullptr, op, "there must be a dataset", "none");
  double sum = 0;
  for (size_t i = 0; i < fractions.size(); ++i) {
    check(fractions[i] >= 0 && fractions[i] <= 1, op, "fractions must be between 0 and 1",
          fractions[i], " at ", i);
    sum += fractions[i];
  }
  // 0.1 ten times is 0.9999999999999999, and 0.7 + 0.2 + 0.1 as much; nothing may be above 1.
  check(sum <= 1 && sum >= 1 - 1e-9, op, "fractions must sum to 1", sum);
  const int64_t size = dataset->size();
  std::vector<int64_t> lengths;
  for (const double fraction : fractions)
    lengths.push_back(static_cast<int64_t>(std::floor(static_cast<double>(size) * fraction)));
  const int64_t remainder = size - std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  for (int64_t i = 0; i < remainder; ++i) ++lengths[static_cast<size_t>(i) % lengths.size()];
  return random_split(dataset, lengths, random);
}

}  // namespace aorta::data
