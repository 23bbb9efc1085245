#include <aorta/data/datasets/cifar10.h>
#include <aorta/data/loader.h>

#include <aorta/tests/error_text.h>
#include <aorta/tests/test_folder.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

constexpr int kPixels = 3 * 32 * 32;

// Pixel i of the image is 7 i + 31 class + `shift`, modulo 256.
std::string record(int label, int shift) {
  std::string bytes(1, static_cast<char>(label));
  for (int i = 0; i < kPixels; ++i) bytes += static_cast<char>(7 * i + 31 * label + shift);
  return bytes;
}

int pixel(int label, int shift, int channel, int row, int column) {
  return (7 * (channel * 1024 + row * 32 + column) + 31 * label + shift) % 256;
}

void write_batches(const TestFolder& folder, const std::string& below) {
  folder.write(below + "test_batch.bin", record(9, 1) + record(0, 2));
  for (int batch = 1; batch <= 5; ++batch) {
    std::string bytes;
    for (int i = 0; i < batch; ++i) bytes += record(batch, i);
    folder.write(below + "data_batch_" + std::to_string(batch) + ".bin", bytes);
  }
}

TEST(Cifar10, ReadsTheBinaryVersion) {
  for (const char* below : {"", "cifar-10-batches-bin/"}) {
    const TestFolder folder;
    write_batches(folder, below);
    const Cifar10 train(folder.str()), test(folder.str(), Split::test);
    ASSERT_EQ(train.size(), 15);
    ASSERT_EQ(test.size(), 2);
    EXPECT_EQ(test.sample(0)["label"].item<int>(), 9);
    int64_t index = 0;
    for (int batch = 1; batch <= 5; ++batch)
      for (int i = 0; i < batch; ++i, ++index) {
        const Sample sample = train.sample(index);
        EXPECT_EQ(sample["label"].item<int>(), batch);
        ASSERT_EQ(sample["image"].shape(), (Shape{3, 32, 32}));
        for (const auto& [channel, row, column] :
             {std::array{0, 0, 0}, {0, 31, 2}, {1, 5, 31}, {2, 31, 31}})
          EXPECT_EQ(sample["image"].at<float>({channel, row, column}),
                    static_cast<float>(pixel(batch, i, channel, row, column)) * (1.f / 255));
      }
    EXPECT_EQ(Cifar10::classes().at(9), "truck");
  }
}

TEST(Cifar10, IsTransformedAndLoaded) {
  const TestFolder folder;
  write_batches(folder, "");
  const auto mirrored = make_dataset<Cifar10>(
      folder.str(), Split::test, Transforms{RandomHorizontalFlip{.p = 1}, CenterCrop{.size = 30}});
  DataLoader loader(mirrored, {.batch_size = 2, .num_workers = 1});
  int batches = 0;
  for (const Batch& batch : loader) {
    ++batches;
    EXPECT_EQ(batch["label"].to_vector<int>(), (std::vector<int>{9, 0}));
    const Tensor image = batch["image"];
    ASSERT_EQ(image.shape(), (Shape{2, 3, 30, 30}));
    ASSERT_EQ(image.dtype(), u8);
    EXPECT_EQ(image.at<uint8_t>({1, 2, 0, 4}), pixel(0, 2, 2, 1, 26));
  }
  EXPECT_EQ(batches, 1);
}

TEST(Cifar10, SaysWhatIsWrong) {
  const TestFolder folder;
  const std::string path = folder.str();
  const std::string needed =
      "cifar10: the folder must hold data_batch_1.bin to data_batch_5.bin and test_batch.bin (the "
      "binary version, from https://www.cs.toronto.edu/~kriz/cifar.html), got no ";
  EXPECT_EQ(error_of([&] { Cifar10{path}; }),
            needed + "data_batch_1.bin in " + path + " or its cifar-10-batches-bin/");
  EXPECT_EQ(error_of([&] { Cifar10(path, Split::validation); }),
            "cifar10: split must be train or test, got validation");
  const auto error = [&](const std::string& bytes) {
    folder.write("test_batch.bin", bytes);
    return error_of([&] { Cifar10(path, Split::test); });
  };
  EXPECT_EQ(error(record(1, 0) + "x"),
            path + "/test_batch.bin: an image must have 3073 bytes, got 3074 in all");
  EXPECT_EQ(error(record(1, 0) + record(10, 0)),
            path + "/test_batch.bin: classes must be 0 to 9, got 10 of image 1");
  EXPECT_EQ(error(record(1, 0) + record(255, 0)),
            path + "/test_batch.bin: classes must be 0 to 9, got 255 of image 1");
  EXPECT_EQ(error(""), "no error");
  EXPECT_EQ(Cifar10(path, Split::test).size(), 0);
  folder.write("data_batch_1.bin", record(3, 0));
  EXPECT_NE(error_of([&] { Cifar10{path}; }).find("data_batch_2.bin"), std::string::npos);
}

}  // namespace
}  // namespace aorta::data
