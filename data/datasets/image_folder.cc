#include <aorta/core/resource_error.h>
#include <aorta/data/datasets/image_folder.h>
#include <aorta/data/images/image.h>
#include <aorta/data/names.h>
#include <aorta/data/stages.h>

#include <algorithm>
#include <filesystem>

namespace aorta::data {
namespace {

namespace fs = std::filesystem;
constexpr const char* kOp = "image_folder";

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

[[noreturn]] void fail_on(const fs::path& path, const std::error_code& error) {
  fail_after_call(error.value(), kOp, "the folder must be readable", path.string(), ": ",
                  errno_text(error.value()));
}

// The names in a folder in their order, folders or others; links are followed.
std::vector<std::string> names_in(const fs::path& folder, bool folders) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) fail_on(folder, error);
  std::vector<std::string> names;
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code ignored;  // a link that leads nowhere is neither
    const bool is_folder = entries->is_directory(ignored);
    if (is_folder == folders) names.push_back(entries->path().filename().string());
  }
  if (error) fail_on(folder, error);
  std::sort(names.begin(), names.end());
  return names;
}

// All folders at and below `below`; `above` are those that hold it, without links. A link to one of
// them would go round for ever.
void collect_folders(const fs::path& root, const std::string& below, std::vector<fs::path>& above,
                     std::vector<std::string>& folders) {
  std::error_code error;
  const fs::path real = fs::canonical(root / below, error);
  if (error) fail_on(root / below, error);
  check(std::find(above.begin(), above.end(), real) == above.end(), kOp,
        "a link may not lead to a folder that holds it", (root / below).string());
  folders.push_back(below);
  above.push_back(real);
  for (const std::string& name : names_in(root / below, true))
    collect_folders(root, below + "/" + name, above, folders);
  above.pop_back();
}

}  // namespace

ImageFolder::ImageFolder(const Text& root, const Transforms& transforms,
                         const ImageFolderOptions& options)
    : root_(root), transforms_(transforms), options_(options) {
  frame_ = transforms_.size_after({-1, -1});
  check(frame_.height >= 0, kOp,
        "transforms must give images of any size one size (RandomResizedCrop, CenterCrop, "
        "RandomCrop or Resize to a size)",
        "none that does");
  check(!options_.extensions.empty(), kOp, "there must be extensions", "none");
  for (std::string& extension : options_.extensions) extension = lower(extension);
  classes_ = names_in(root_, true);
  check(!classes_.empty(), kOp, "couldn't find any class folder", root_);
  std::string empty;
  for (size_t i = 0; i < classes_.size(); ++i) {
    const size_t before = ends_.size();
    add_class(classes_[i]);
    labels_.resize(ends_.size(), static_cast<int32_t>(i));
    if (ends_.size() == before) empty += (empty.empty() ? "" : ", ") + io::quote(classes_[i]);
  }
  std::string extensions;
  for (const std::string& extension : options_.extensions)
    extensions += (extensions.empty() ? "" : ", ") + extension;
  check(empty.empty() || options_.allow_empty, kOp,
        "each class must have a file that ends with " + extensions, "none for ", empty, " in ",
        root_);
  if (options_.mode == ImageMode::gray) channels_ = 1;
  if (options_.mode == ImageMode::unchanged && size() > 0) channels_ = read_image(path(0)).size(0);
}

void ImageFolder::add_class(const std::string& name) {
  std::vector<std::string> folders;
  std::error_code error;
  std::vector<fs::path> above{fs::canonical(root_, error)};
  if (error) fail_on(root_, error);
  collect_folders(root_, name, above, folders);
  std::sort(folders.begin(), folders.end());
  for (const std::string& folder : folders) {
    for (const std::string& file : names_in(fs::path(root_) / folder, false)) {
      const std::string small = lower(file);
      if (std::none_of(options_.extensions.begin(), options_.extensions.end(),
                       [&](const std::string& ending) { return small.ends_with(ending); }))
        continue;
      names_ += folder + "/" + file;
      ends_.push_back(names_.size());
    }
  }
}

std::vector<TensorSpec> ImageFolder::specs() const {
  return {{"image", transforms_.dtype_after(u8), {channels_, frame_.height, frame_.width}},
          {"label", i64, {}}};
}

std::string ImageFolder::path(int64_t index) const {
  check(index >= 0 && index < size(), kOp, "index must be in [0, size)", index, " of ", size());
  const auto i = static_cast<size_t>(index);
  const size_t start = i == 0 ? 0 : ends_[i - 1];
  return root_ + "/" + names_.substr(start, ends_[i] - start);
}

int64_t ImageFolder::label(int64_t index) const {
  check(index >= 0 && index < size(), kOp, "index must be in [0, size)", index, " of ", size());
  return labels_[static_cast<size_t>(index)];
}

int64_t ImageFolder::class_to_index(const Text& name) const {
  const auto place = std::lower_bound(classes_.begin(), classes_.end(), name);
  if (place == classes_.end() || *place != name)
    fail_unknown_name(kOp, name, classes_, [](const std::string& known) { return known; });
  return place - classes_.begin();
}

void ImageFolder::read(int64_t index, Sample& sample, Generator& random) const {
  const std::string file = path(index);
  sample.set_file(file);
  const Tensor image = read_image(file, options_.mode);
  check(image.size(0) == channels_, file, "images must have as many channels as the first",
        image.size(0), " and ", channels_);
  const StageScope scope(Stage::transform);
  transforms_.run({.images = {image}}, random,
                  [&](FrameSize) { return Views{.images = {sample["image"]}}; });
  *sample["label"].data<int64_t>() = label(index);
}

}  // namespace aorta::data
