#include <aorta/core/ops/creation.h>
#include <aorta/core/parallel_for.h>
#include <aorta/data/datasets/mnist.h>
#include <aorta/data/idx.h>
#include <sys/stat.h>

#include <cstdlib>

namespace aorta::data {
namespace {

constexpr int64_t kSide = 28;
constexpr const char* kWhere =
    "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
    "t10k-labels-idx1-ubyte, as they are or .gz (from "
    "https://ossci-datasets.s3.amazonaws.com/mnist/, where torchvision takes them)";

bool is_there(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

std::string folder_of(const std::string& asked) {
  if (asked != "mnist" && !asked.empty()) return asked;
  const char* folder = std::getenv("AORTA_MNIST");
  check(folder != nullptr && *folder != '\0', "mnist",
        std::string("the environment variable AORTA_MNIST must name the folder with ") + kWhere,
        folder == nullptr ? "no such variable" : "an empty one");
  return folder;
}

std::string find_file(const std::string& folder, const std::string& name) {
  for (const char* below : {"/", "/raw/", "/MNIST/raw/"})
    for (const char* ending : {"", ".gz"})
      if (const std::string path = folder + below + name + ending; is_there(path)) return path;
  fail("mnist", std::string("the folder must hold ") + kWhere, "no ", name, " in ", folder,
       ", its raw/ or MNIST/raw/");
}

}  // namespace

Mnist::Mnist(const Text& folder, Split split, const MnistOptions& options) {
  check(split != Split::validation, "mnist", "split must be train or test", to_string(split));
  check(options.std > 0, "mnist", "std must be positive", options.std);
  const std::string place = folder_of(folder);
  const std::string start = split == Split::train ? "train" : "t10k";
  const std::string images = find_file(place, start + "-images-idx3-ubyte");
  const std::string labels = find_file(place, start + "-labels-idx1-ubyte");
  pixels_ = load_idx(images);
  digits_ = load_idx(labels);
  check(pixels_.dtype() == u8 && pixels_.dim() == 3 && pixels_.size(1) == kSide &&
            pixels_.size(2) == kSide,
        images, "images must be u8 (N, 28, 28)", pixels_.dtype(), " ", pixels_.shape());
  check(digits_.dtype() == u8 && digits_.shape() == Shape{pixels_.size(0)}, labels,
        "labels must be u8, one an image", digits_.dtype(), " ", digits_.shape(), " for ",
        pixels_.size(0), " images");
  for (int64_t i = 0; i < digits_.numel(); ++i)
    check(digits_.data<uint8_t>()[i] < 10, labels, "labels must be 0 to 9",
          int{digits_.data<uint8_t>()[i]}, " at ", i);
  // Rounded as torchvision does: to_tensor, then normalize, in f32.
  for (int value = 0; value < 256; ++value)
    values_[value] = (static_cast<float>(value) / 255.f - options.mean) / options.std;
}

std::vector<TensorSpec> Mnist::specs() const {
  return {{"image", f32, {1, kSide, kSide}}, {"label", i64, {}}};
}

void Mnist::convert(const uint8_t* from, float* to, int64_t count) const {
  for (int64_t i = 0; i < count; ++i) to[i] = values_[from[i]];
}

void Mnist::read(int64_t index, Sample& sample, Generator&) const {
  constexpr int64_t kPixels = kSide * kSide;
  convert(pixels_.data<uint8_t>() + index * kPixels, sample["image"].data<float>(), kPixels);
  *sample["label"].data<int64_t>() = digits_.data<uint8_t>()[index];
}

Tensor Mnist::images() const {
  Tensor images = empty({size(), 1, kSide, kSide});
  const auto* from = pixels_.data<uint8_t>();
  float* to = images.data<float>();
  parallel_for(0, images.numel(), 1 << 18,
               [&](int64_t begin, int64_t end) { convert(from + begin, to + begin, end - begin); });
  return images;
}

Tensor Mnist::labels() const { return digits_.to(i64); }

}  // namespace aorta::data
