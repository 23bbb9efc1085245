#include <aorta/core/ops/creation.h>
#include <aorta/data/names.h>
#include <aorta/data/sample.h>

#include <algorithm>

namespace aorta::data {

TensorSpecs checked_specs(std::vector<TensorSpec> specs) {
  check(!specs.empty(), "dataset", "samples must have a tensor at least", "none");
  for (size_t i = 0; i < specs.size(); ++i) {
    const TensorSpec& spec = specs[i];
    check(!spec.name.empty(), "dataset", "tensors must have names", "none for tensor ", i);
    for (size_t j = 0; j < i; ++j)
      check(specs[j].name != spec.name, "dataset", "names must differ", io::quote(spec.name),
            " twice");
    check(spec.shape.size() < kMaxDims, "dataset", "a sample must have at most 11 dimensions",
          spec.shape, " of ", io::quote(spec.name));
    checked_numel("dataset", spec.shape, item_size(spec.dtype));
  }
  return std::make_shared<const std::vector<TensorSpec>>(std::move(specs));
}

Sample::Sample(TensorSpecs specs, std::vector<Tensor> places, std::span<char> file_place)
    : specs_(std::move(specs)), places_(std::move(places)), file_place_(file_place) {
  check(places_.size() == specs_->size(), "sample", "each tensor must have a place", places_.size(),
        " for ", specs_->size());
  for (size_t i = 0; i < places_.size(); ++i) {
    const TensorSpec& spec = (*specs_)[i];
    const Tensor& place = places_[i];
    check(place.dtype() == spec.dtype && place.shape() == spec.shape && place.is_contiguous(),
          "sample", "a place must be row-major, of the declared dtype and shape", place.dtype(),
          " ", place.shape(), " for ", io::quote(spec.name));
  }
  tensors_ = places_;
}

Sample::Sample(TensorSpecs specs)
    : Sample(specs, [&] {
        std::vector<Tensor> places;
        for (const TensorSpec& spec : *specs)
          places.push_back(empty(spec.shape, {.dtype = spec.dtype}));
        return places;
      }()) {}

size_t Sample::find(std::string_view name) const {
  for (size_t i = 0; i < specs_->size(); ++i)
    if ((*specs_)[i].name == name) return i;
  fail_unknown_name("sample", name, *specs_, [](const TensorSpec& spec) { return spec.name; });
}

const Tensor& Sample::resize(std::string_view name, const Shape& shape) {
  const size_t i = find(name);
  const Shape& largest = places_[i].shape();
  bool fits = shape.size() == largest.size();
  for (int d = 0; fits && d < shape.size(); ++d) fits = shape[d] >= 0 && shape[d] <= largest[d];
  check(fits, "sample", "a tensor must fit its declared shape", shape, " for ", io::quote(name),
        " of at most ", largest);
  return tensors_[i] = Tensor(places_[i].storage(), places_[i].dtype(), shape,
                              contiguous_strides(shape), places_[i].storage_offset());
}

void Sample::set_file(std::string_view path) {
  file_ = path;
  if (outer_) outer_->set_file(path);
  if (file_place_.empty()) return;
  path = path.substr(path.size() - std::min(path.size(), file_place_.size() - 1));
  *std::copy(path.begin(), path.end(), file_place_.begin()) = '\0';
}

}  // namespace aorta::data
