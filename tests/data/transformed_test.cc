#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/data/images/transformed.h>
#include <aorta/data/loader.h>

#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

// Frames of 6 x 8 whose pixels are the sample's index, their mask, two points and a number. Odd
// samples are one row shorter.
struct Pictures : Dataset {
  int64_t size() const override { return 10; }
  std::vector<TensorSpec> specs() const override {
    return {{"name", i64, {}},
            {"frame", u8, {3, 6, 8}},
            {"mask", boolean, {6, 8}},
            {"landmarks", f32, {2, 2}}};
  }
  void read(int64_t index, Sample& sample, Generator&) const override {
    const int64_t rows = index % 2 ? 5 : 6;
    sample["name"].fill_(index);
    sample.resize("frame", {3, rows, 8}).fill_(index);
    const Tensor& mask = sample.resize("mask", {rows, 8});
    mask.fill_(false);
    mask[0].fill_(true);
    sample["landmarks"].fill_(2);
  }
};

const Roles kRoles{.images = {"frame"}, .masks = {"mask"}, .points = {"landmarks"}};

TEST(TransformedDataset, DeclaresAndGivesWhatComesOut) {
  const auto set = make_dataset<TransformedDataset>(
      std::shared_ptr<const Dataset>(make_dataset<Pictures>()),
      Transforms{RandomVerticalFlip{.p = 1}, CenterCrop{{4, 4}}, ToFloat{}}, kRoles);
  EXPECT_EQ(set->size(), 10);
  const auto specs = set->specs();
  EXPECT_EQ(specs[1].dtype, f32);
  EXPECT_EQ(specs[1].shape, (Shape{3, 4, 4}));
  EXPECT_EQ(specs[2].dtype, boolean);
  EXPECT_EQ(specs[2].shape, (Shape{4, 4}));
  EXPECT_EQ(specs[3].shape, (Shape{2, 2}));
  for (const auto& batch : DataLoader(set, {.batch_size = 10})) {
    EXPECT_EQ(batch["name"].to_vector<int>(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    for (int64_t i = 0; i < 10; ++i) {
      for (const float value : batch["frame"][i].to_vector<float>())
        EXPECT_EQ(value, static_cast<float>(i) * (1.f / 255));
      // The flip takes row 2 to 6 - 1 - 2 = 3 (5 - 1 - 2 = 2), the crop takes off 1 (0: half of 1,
      // rounded to even) rows and 2 columns.
      EXPECT_EQ(batch["landmarks"][i].to_vector<float>(), (std::vector<float>{0, 2, 0, 2}));
      EXPECT_EQ(sum(batch["mask"][i].to(i64)).item<int>(), 0);
    }
  }
}

TEST(TransformedDataset, KeepsSmallerSamplesSmaller) {
  const TransformedDataset set(make_dataset<Pictures>(), Transforms{Pad{.padding = {1, 0}}},
                               kRoles);
  EXPECT_EQ(set.specs()[1].shape, (Shape{3, 6, 10}));
  EXPECT_EQ(set.sample(2)["frame"].shape(), (Shape{3, 6, 10}));
  EXPECT_EQ(set.sample(3)["frame"].shape(), (Shape{3, 5, 10}));
  EXPECT_EQ(set.sample(3)["mask"].shape(), (Shape{5, 10}));
}

TEST(TransformedDataset, IsAFunctionOfSeedEpochAndSample) {
  const auto set = make_dataset<TransformedDataset>(
      std::shared_ptr<const Dataset>(make_dataset<Pictures>()),
      Transforms{RandomCrop{.size = 4, .padding = 3}, GaussianNoise{}}, kRoles);
  const auto epoch = [&](uint64_t seed, bool shuffle) {
    DataLoader loader(set, {.batch_size = 1, .shuffle = shuffle, .seed = seed});
    std::vector<std::vector<int>> samples(10);
    for (const auto& batch : loader)
      samples[batch["name"].item<size_t>()] = batch["frame"].to_vector<int>();
    return samples;
  };
  EXPECT_EQ(epoch(1, false), epoch(1, true));  // whatever the order
  EXPECT_NE(epoch(1, false), epoch(2, false));
}

TEST(TransformedDataset, SaysWhatIsWrong) {
  const std::shared_ptr<const Dataset> pictures = make_dataset<Pictures>();
  const std::string op = "transformed_dataset: ";
  EXPECT_EQ(error_of([&] { TransformedDataset(pictures, {}, {}); }),
            op + "name must be one of \"name\", \"frame\", \"mask\", \"landmarks\", got \"image\"");
  EXPECT_EQ(error_of([&] {
              TransformedDataset(pictures, {}, {.images = {"frame", "frame"}});
            }),
            op + "a tensor has one role, got \"frame\" twice");
  EXPECT_EQ(error_of([&] { TransformedDataset(pictures, {}, {.images = {}}); }),
            op + "there must be an image or a mask, got none");
  EXPECT_EQ(error_of([&] { TransformedDataset(pictures, {}, {.images = {"name"}}); }),
            op + "images and masks must be (..., H, W), got [] for \"name\"");
  EXPECT_EQ(error_of([&] {
              TransformedDataset(pictures, Transforms{Resize{.shorter_edge = 4}}, kRoles);
            }),
            op + "a crop or a resize to a size must follow where the shorter edge is resized, got "
                 "none");
  EXPECT_EQ(error_of([&] { TransformedDataset(nullptr, {}); }),
            op + "there must be a dataset, got none");
  const TransformedDataset large(pictures, Transforms{RandomCrop{.size = 7}}, kRoles);
  EXPECT_EQ(error_of([&] { large.sample(0); }),
            "random_crop: the size can't be larger than the padded image, got 7 x 7 of 6 x 8");
}

}  // namespace
}  // namespace aorta::data
