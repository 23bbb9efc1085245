#pragma once

#include <aorta/data/dataset.h>
#include <aorta/data/images/image_mode.h>
#include <aorta/data/images/transforms.h>

namespace aorta::data {

/// Which files of the folders are samples, and how they are read.
struct ImageFolderOptions {
  /// Three channels unless said; `unchanged` has as many as the first file.
  ImageMode mode = ImageMode::rgb;
  /// What a file's name ends with, in capitals or not.
  List<std::string> extensions = {".jpg", ".jpeg", ".png", ".ppm", ".pgm"};
  /// A class without images is an error unless said.
  bool allow_empty = false;
  template <class Visit>
  void fields(Visit&& visit) {
    visit(mode, extensions, allow_empty);
  }
};

/// Images by folder, as torchvision's ImageFolder: root/cat/1.png, root/cat/more/2.jpg,
/// root/dog/... A class is a folder in `root`; classes, and the files of one, are in the order of
/// their names.
///
///     auto set = data::make_dataset<data::ImageFolder>(
///         "pets", data::Transforms{data::RandomResizedCrop{.size = 224},
///                                  data::RandomHorizontalFlip{}, data::ToFloat{}});
///
/// A sample is "image", u8 or f32 (C, H, W), and "label", i64 (), the class's number. Names are
/// kept in one string, and nothing of an image until it is read.
class ImageFolder : public Dataset {
 public:
  /// The transforms must give images of any size one size. Throws `image_folder: ...`: no class, an
  /// empty one, a folder that can't be read.
  explicit ImageFolder(const Text& root, const Transforms& transforms,
                       const ImageFolderOptions& options = {});

  int64_t size() const override { return static_cast<int64_t>(ends_.size()); }
  std::vector<TensorSpec> specs() const override;
  void read(int64_t index, Sample& sample, Generator& random) const override;

  const std::vector<std::string>& classes() const { return classes_; }
  /// Throws `image_folder: name must be one of "cat", "dog", got "cow"`.
  int64_t class_to_index(const Text& name) const;
  /// These two describe a sample without reading its image.
  std::string path(int64_t index) const;
  int64_t label(int64_t index) const;

 private:
  void add_class(const std::string& name);

  std::string root_;
  Transforms transforms_;
  ImageFolderOptions options_;
  std::vector<std::string> classes_;
  std::string names_;            // of the files below root, one after another
  std::vector<uint64_t> ends_;   // where each ends
  std::vector<int32_t> labels_;  // of each
  FrameSize frame_;
  int64_t channels_ = 3;
};

}  // namespace aorta::data
