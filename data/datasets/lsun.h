#pragma once

#include <aorta/data/dataset.h>
#include <aorta/data/images/image_mode.h>
#include <aorta/data/images/transforms.h>

namespace aorta::data {

/// How images are read, and what becomes of labels.
struct LsunOptions {
  /// Three channels unless said; `unchanged` has as many as the first image.
  ImageMode mode = ImageMode::rgb;
  /// The label of a class's number, where it isn't that number.
  int64_t (*target_transform)(int64_t number) = nullptr;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(mode, target_transform);
  }
};

/// LSUN (Yu et al., "LSUN: construction of a large-scale image dataset using deep learning with
/// humans in the loop", 2015), as torchvision's: a folder of LMDB databases,
/// root/bedroom_train_lmdb, root/church_outdoor_val_lmdb, ..., whose values are images, WebP, JPEG
/// or PNG.
///
///     auto set = data::make_dataset<data::LSUN>(
///         "lsun", List<std::string>{"bedroom_train", "kitchen_train"},
///         data::Transforms{data::Resize{.shorter_edge = 64}, data::CenterCrop{64},
///                          data::ToFloat{}});
///
/// A sample is "image", u8 or f32 (C, H, W), and "label", i64 (), the class's number in the list.
/// Samples are in the order of the list and of the databases' keys. Of the keys every 64th is in
/// memory, and nothing of an image until it is read.
///
/// By liblmdb and libwebp, in libaorta_lsun.so, which is loaded when the first such set is made and
/// looked for as libaorta_opencv.so is, at AORTA_LSUN_PLUGIN first. Databases are opened by each
/// process that reads, to read alone and without a lock: what is read must not change meanwhile.
class LSUN : public Dataset {
 public:
  /// Classes are a category and "train", "val" or "test": "bedroom", "bridge", "church_outdoor",
  /// "classroom", "conference_room", "dining_room", "kitchen", "living_room", "restaurant" or
  /// "tower"; or "test" alone. The transforms must give images of any size one size. Throws
  /// `lsun: rule, got values`, also for a database that is absent, damaged or empty: all of its
  /// pages are read here, but those that only images are in.
  LSUN(const Text& root, const List<std::string>& classes, const Transforms& transforms,
       const LsunOptions& options = {});
  /// All ten categories of "train" or of "val"; or "test", which knows none: the label is 0.
  template <std::convertible_to<std::string> Name>
  LSUN(const Text& root, const Name& split, const Transforms& transforms,
       const LsunOptions& options = {})
      : LSUN(root, classes_of(split), transforms, options) {}

  int64_t size() const override { return ends_.back(); }
  std::vector<TensorSpec> specs() const override;
  /// Throws `lsun: rule, got values` with path(index).
  void read(int64_t index, Sample& sample, Generator& random) const override;

  const std::vector<std::string>& classes() const { return classes_; }
  /// These two describe a sample without decoding its image: the database's folder and the key.
  std::string path(int64_t index) const;
  int64_t label(int64_t index) const;

 private:
  class Database;
  struct Place {
    size_t number;  // of the class
    int64_t value;  // of its database
  };

  static List<std::string> classes_of(const Text& split);
  Place place(int64_t index) const;

  Transforms transforms_;
  LsunOptions options_;
  std::vector<std::string> classes_;
  std::vector<std::shared_ptr<const Database>> databases_;  // of each class
  std::vector<int64_t> ends_{0};                            // how many images there are up to each
  FrameSize frame_;
  int64_t channels_ = 3;
};

}  // namespace aorta::data
