#pragma once

#include <aorta/core/random.h>
#include <aorta/core/tensor.h>
#include <aorta/data/images/image_transforms.h>

#include <concepts>
#include <variant>

// What is done to a sample's images on their way into a batch, with torchvision's names, defaults
// and meanings (torchvision.transforms.v2). One set of random numbers moves the images, masks and
// points of a sample together.
//
//     const data::Transforms augment{
//         data::RandomAffine{.degrees = {-10, 10}, .scale = {0.9, 1.1}},
//         data::RandomCrop{.size = 112, .padding = 12},
//         data::RandomHorizontalFlip{},
//         data::ToFloat{},
//         data::Normalize{.mean = {0.5}, .std = {0.25}},
//     };
//     auto set = data::make_dataset<data::TransformedDataset>(
//         frames, augment, data::Roles{.images = {"frame"}, .masks = {"mask"}, .points =
//         {"apex"}});
//
// An image is u8 or f32, (H, W), (C, H, W) or (C, T, H, W): a video. A mask is of any dtype, its
// last two dimensions (H, W); its values are never mixed. Points are f32 or f64 (..., 2): x to the
// right and y down in pixels, (0, 0) the centre of the first pixel; those that leave the image stay
// what they are, outside of it.

namespace aorta::data {

/// Any transform of image_transforms.h.
struct Transform {
  using Any = std::variant<CenterCrop, RandomCrop, Pad, RandomHorizontalFlip, RandomVerticalFlip,
                           Affine, RandomAffine, Resize, RandomResizedCrop, ToFloat, Normalize,
                           ColorJitter, RandomGamma, GaussianNoise, SpeckleNoise>;
  Any any;

  Transform() = default;
  template <std::convertible_to<Any> T>
  Transform(const T& transform) : any(transform) {}  // NOLINT: implicit

  template <class Visit>
  void fields(Visit&& visit) {
    auto which = static_cast<int64_t>(any.index());
    visit(which);
    become(which);
    std::visit([&](auto& transform) { visit(transform); }, any);
  }

 private:
  /// One of that kind, unless it is so already.
  void become(int64_t which);
};

/// The tensors of a sample that transforms see.
struct Views {
  std::vector<Tensor> images = {}, masks = {}, points = {};
};

/// Transforms that run one after another.
class Transforms {
 public:
  Transforms() = default;
  /// Throws `random_crop: ...` and the like for parameters out of range.
  Transforms(std::initializer_list<Transform> list) : Transforms(List<Transform>(list)) {}
  explicit Transforms(List<Transform> list);

  /// New tensors. Images and masks of one call have one height and width.
  Views operator()(const Views& in, Generator& random = default_generator()) const;
  /// Transforms one image.
  Tensor operator()(const Tensor& image, Generator& random = default_generator()) const;
  /// Transforms into given memory, contiguous: the Views that `place(size)` gives once the size is
  /// known.
  template <class Place>
  void run(const Views& in, Generator& random, const Place& place) const {
    run(in, random, &place, [](const void* asked, FrameSize size) {
      return (*static_cast<const Place*>(asked))(size);
    });
  }

  /// The size of a transformed frame; -1 x -1 for one that isn't known, given or returned.
  FrameSize size_after(FrameSize size) const;
  /// The dtype of a transformed image.
  DType dtype_after(DType dtype) const;
  const std::vector<Transform>& list() const { return list_; }

  template <class Visit>
  void fields(Visit&& visit) {
    visit(list_);
  }

 private:
  void run(const Views& in, Generator& random, const void* asked,
           Views (*place)(const void* asked, FrameSize size)) const;

  std::vector<Transform> list_;
};

}  // namespace aorta::data
