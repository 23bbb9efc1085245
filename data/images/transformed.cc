#include <aorta/data/images/transformed.h>
#include <aorta/data/names.h>
#include <aorta/data/stages.h>

#include <cstring>

namespace aorta::data {
namespace {

// A dataset may give smaller frames than it declares; where the shorter edge decides the size, its
// largest can't be told from the largest frame.
FrameSize declared_size(const Transforms& transforms, FrameSize size) {
  for (const Transform& transform : transforms.list()) {
    const auto* resize = std::get_if<Resize>(&transform.any);
    const Transforms one{transform};
    size = resize && resize->shorter_edge > 0 ? FrameSize(-1, -1) : one.size_after(size);
  }
  check(size.height >= 0, "transformed_dataset",
        "a crop or a resize to a size must follow where the shorter edge is resized", "none");
  return size;
}

}  // namespace

TransformedDataset::TransformedDataset(const std::shared_ptr<const Dataset>& dataset,
                                       const Transforms& transforms, const Roles& roles)
    : dataset_(dataset), transforms_(transforms), roles_(roles) {
  const char* op = "transformed_dataset";
  check(dataset_ != nullptr, op, "there must be a dataset", "none");
  inner_ = checked_specs(dataset_->specs());
  specs_ = *inner_;
  std::vector<bool> seen(specs_.size());
  const auto find = [&](const std::vector<std::string>& names) {
    std::vector<size_t> places;
    for (const std::string& name : names) {
      size_t i = 0;
      while (i < specs_.size() && specs_[i].name != name) ++i;
      if (i == specs_.size())
        fail_unknown_name(op, name, specs_, [](const TensorSpec& spec) { return spec.name; });
      check(!seen[i], op, "a tensor has one role", io::quote(name), " twice");
      seen[i] = true;
      places.push_back(i);
    }
    return places;
  };
  images_ = find(roles_.images);
  masks_ = find(roles_.masks);
  points_ = find(roles_.points);
  for (size_t i = 0; i < specs_.size(); ++i)
    if (!seen[i]) others_.push_back(i);
  check(!images_.empty() || !masks_.empty(), op, "there must be an image or a mask", "none");
  for (const auto* list : {&images_, &masks_}) {
    for (const size_t i : *list) {
      TensorSpec& spec = specs_[i];
      check(spec.shape.size() >= 2, op, "images and masks must be (..., H, W)", spec.shape, " for ",
            io::quote(spec.name));
      const int rows = spec.shape.size() - 2, columns = rows + 1;
      const FrameSize size = declared_size(transforms_, {spec.shape[rows], spec.shape[columns]});
      spec.shape[rows] = size.height;
      spec.shape[columns] = size.width;
      if (list == &images_) spec.dtype = transforms_.dtype_after(spec.dtype);
    }
  }
}

void TransformedDataset::read(int64_t index, Sample& sample, Generator& random) const {
  Sample inner(inner_);
  inner.forward_file_to(sample);
  dataset_->read(index, inner, random);
  const StageScope stage(Stage::transform);
  const auto of = [&](const std::vector<size_t>& places) {
    std::vector<Tensor> tensors;
    for (const size_t i : places) tensors.push_back(inner.tensors()[i]);
    return tensors;
  };
  // The sample's tensor, of the shape that this sample has.
  const auto place = [&](size_t i, const Shape& shape) {
    if (shape == sample.tensors()[i].shape()) return sample.tensors()[i];
    return sample.resize(specs_[i].name, shape);
  };
  transforms_.run({of(images_), of(masks_), of(points_)}, random, [&](FrameSize size) {
    Views out;
    const auto framed = [&](const std::vector<size_t>& places, std::vector<Tensor>& list) {
      for (const size_t i : places) {
        Shape shape = inner.tensors()[i].shape();
        shape[shape.size() - 2] = size.height;
        shape[shape.size() - 1] = size.width;
        list.push_back(place(i, shape));
      }
    };
    framed(images_, out.images);
    framed(masks_, out.masks);
    for (const size_t i : points_) out.points.push_back(place(i, inner.tensors()[i].shape()));
    return out;
  });
  for (const size_t i : others_) {
    const Tensor& from = inner.tensors()[i];
    const Tensor to = place(i, from.shape());
    if (from.nbytes() > 0) std::memcpy(to.data(), from.data(), static_cast<size_t>(from.nbytes()));
  }
}

}  // namespace aorta::data
