#include <aorta/core/io/file.h>
#include <aorta/core/ops/creation.h>
#include <aorta/data/datasets/cifar10.h>
#include <aorta/data/stages.h>

#include <algorithm>
#include <filesystem>

namespace aorta::data {
namespace {

constexpr int64_t kCifarSide = 32, kCifarPixels = 3 * kCifarSide * kCifarSide,
                  kCifarRecord = 1 + kCifarPixels;

std::string folder_with(const std::string& folder, const std::string& name) {
  for (const char* below : {"", "/cifar-10-batches-bin"}) {
    std::error_code ignored;
    if (std::filesystem::exists(folder + below + "/" + name, ignored)) return folder + below;
  }
  fail("cifar10",
       "the folder must hold data_batch_1.bin to data_batch_5.bin and test_batch.bin (the binary "
       "version, from https://www.cs.toronto.edu/~kriz/cifar.html)",
       "no ", name, " in ", folder, " or its cifar-10-batches-bin/");
}

}  // namespace

Cifar10::Cifar10(const Text& folder, Split split, const Transforms& transforms)
    : transforms_(transforms) {
  check(split != Split::validation, "cifar10", "split must be train or test", to_string(split));
  std::vector<std::string> names{"test_batch.bin"};
  if (split == Split::train) {
    names.clear();
    for (char batch = '1'; batch <= '5'; ++batch)
      names.push_back(std::string("data_batch_") + batch + ".bin");
  }
  const std::string place = folder_with(folder, names[0]);
  for (const std::string& name : names) {
    const auto file = io::FileBytes::map(place + "/" + name);
    const auto bytes = static_cast<int64_t>(file->size());
    check(bytes % kCifarRecord == 0, file->name(), "an image must have 3073 bytes", bytes,
          " in all");
    for (int64_t at = 0; at < bytes; at += kCifarRecord)
      check(static_cast<size_t>(file->data()[at]) < classes().size(), file->name(),
            "classes must be 0 to 9", int{static_cast<uint8_t>(file->data()[at])}, " of image ",
            at / kCifarRecord);
    files_.push_back(file);
    ends_.push_back(ends_.back() + bytes / kCifarRecord);
  }
}

std::vector<TensorSpec> Cifar10::specs() const {
  const FrameSize size = transforms_.size_after({kCifarSide, kCifarSide});
  return {{"image", transforms_.dtype_after(u8), {3, size.height, size.width}}, {"label", i64, {}}};
}

void Cifar10::read(int64_t index, Sample& sample, Generator& random) const {
  const auto end = std::upper_bound(ends_.begin() + 1, ends_.end(), index);
  const auto& file = files_[static_cast<size_t>(end - ends_.begin() - 1)];
  std::byte* const record = file->data() + (index - end[-1]) * kCifarRecord;
  const Tensor image = from_blob(record + 1, {3, kCifarSide, kCifarSide}, {.dtype = u8});
  const StageScope scope(Stage::transform);
  transforms_.run({.images = {image}}, random,
                  [&](FrameSize) { return Views{.images = {sample["image"]}}; });
  *sample["label"].data<int64_t>() = static_cast<int64_t>(*record);
}

const std::vector<std::string>& Cifar10::classes() {
  static const std::vector<std::string> names{"airplane", "automobile", "bird",  "cat",  "deer",
                                              "dog",      "frog",       "horse", "ship", "truck"};
  return names;
}

}  // namespace aorta::data
