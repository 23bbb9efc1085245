#include <aorta/core/ops/reduction.h>
#include <aorta/data/datasets/mnist.h>
#include <aorta/data/loader.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <aorta/tests/error_text.h>
#include <aorta/tests/test_folder.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

namespace fs = std::filesystem;

std::string images(int count, char side = 28) {
  std::string file{0, 0, 8, 3, 0, 0, 0, static_cast<char>(count), 0, 0, 0, side, 0, 0, 0, side};
  for (int i = 0; i < count * side * side; ++i) file += static_cast<char>(i % 256);
  return file;
}

std::string labels(std::initializer_list<char> digits) {
  return std::string{0, 0, 8, 1, 0, 0, 0, static_cast<char>(digits.size())} + std::string(digits);
}

TEST(Mnist, ReadsTheLayoutsThatTorchvisionKeeps) {
  for (const char* below : {"", "raw/", "MNIST/raw/"}) {
    const TestFolder folder;
    folder.write(std::string(below) + "t10k-images-idx3-ubyte", images(2));
    folder.write(std::string(below) + "t10k-labels-idx1-ubyte", labels({7, 3}));
    const Mnist digits(folder.str(), Split::test);
    EXPECT_EQ(digits.size(), 2);
    const Sample sample = digits.sample(1);
    EXPECT_EQ(sample["label"].item<int>(), 3);
    EXPECT_EQ(sample["image"].shape(), (Shape{1, 28, 28}));
    for (int i = 0; i < 784; ++i)
      EXPECT_EQ(sample["image"].data<float>()[i], static_cast<float>((784 + i) % 256) / 255.f);
    EXPECT_EQ(digits.images()[1].to_vector<float>(), sample["image"].to_vector<float>());
    EXPECT_EQ(digits.labels().to_vector<int>(), (std::vector<int>{7, 3}));
    const Mnist normal(folder.str(), Split::test, {.mean = 0.1307f, .std = 0.3081f});
    EXPECT_EQ(normal.sample(0)["image"].data<float>()[255], (1.f - 0.1307f) / 0.3081f);
  }
}

TEST(Mnist, SaysWhatIsWrong) {
  const TestFolder folder;
  const std::string path = folder.str();
  EXPECT_EQ(error_of([&] { Mnist{path}; }),
            "mnist: the folder must hold train-images-idx3-ubyte, train-labels-idx1-ubyte, "
            "t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, as they are or .gz (from "
            "https://ossci-datasets.s3.amazonaws.com/mnist/, where torchvision takes them), got no "
            "train-images-idx3-ubyte in " +
                path + ", its raw/ or MNIST/raw/");
  EXPECT_EQ(error_of([&] { Mnist(path, Split::validation); }),
            "mnist: split must be train or test, got validation");
  EXPECT_EQ(error_of([&] { Mnist(path, Split::train, {.std = 0}); }),
            "mnist: std must be positive, got 0");
  const auto text = [&](const std::string& image_file, const std::string& label_file) {
    folder.write("train-images-idx3-ubyte", image_file);
    folder.write("train-labels-idx1-ubyte", label_file);
    return error_of([&] { Mnist{path}; });
  };
  EXPECT_EQ(text(images(2, 27), labels({1, 2})),
            path + "/train-images-idx3-ubyte: images must be u8 (N, 28, 28), got u8 [2,27,27]");
  EXPECT_EQ(text(images(2), labels({1, 2, 3})),
            path +
                "/train-labels-idx1-ubyte: labels must be u8, one an image, got u8 [3] for 2 "
                "images");
  EXPECT_EQ(text(images(2), labels({1, 10})),
            path + "/train-labels-idx1-ubyte: labels must be 0 to 9, got 10 at 1");
  EXPECT_EQ(text(images(2).substr(0, 1000), labels({1, 1})),
            path +
                "/train-images-idx3-ubyte: data must be as long as the shape says, got 984 bytes "
                "for shape [2,28,28] of 1-byte elements");
}

// Sets the variable while it lives.
struct Environment {
  explicit Environment(const char* value) {
    if (const char* old = getenv("AORTA_MNIST")) previous = old;
    value ? setenv("AORTA_MNIST", value, 1) : unsetenv("AORTA_MNIST");
  }
  ~Environment() {
    previous ? setenv("AORTA_MNIST", previous->c_str(), 1) : unsetenv("AORTA_MNIST");
  }
  std::optional<std::string> previous;
};

TEST(Mnist, AsksForTheFolderInTheEnvironment) {
  const std::string start =
      "mnist: the environment variable AORTA_MNIST must name the folder with "
      "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
      "t10k-labels-idx1-ubyte, as they are or .gz (from "
      "https://ossci-datasets.s3.amazonaws.com/mnist/, where torchvision takes them), got ";
  {
    const Environment none(nullptr);
    for (const char* name : {"mnist", ""})
      EXPECT_EQ(error_of([&] { Mnist{name}; }), start + "no such variable");
  }
  const Environment empty("");
  EXPECT_EQ(error_of([] { Mnist(); }), start + "an empty one");
  const TestFolder folder;
  folder.write("train-images-idx3-ubyte", images(1));
  folder.write("train-labels-idx1-ubyte", labels({4}));
  const Environment set(folder.str().c_str());
  EXPECT_EQ(Mnist("mnist", Split::train).size(), 1);
}

class RealMnist : public testing::Test {
 protected:
  void SetUp() override {
    if (getenv("AORTA_MNIST") == nullptr) GTEST_SKIP() << "AORTA_MNIST names no folder";
  }
};

std::vector<int> histogram(const Tensor& labels) {
  std::vector<int> counts(10);
  for (const int64_t label : labels.to_vector<int64_t>()) ++counts.at(static_cast<size_t>(label));
  return counts;
}

// Published: 60,000 and 10,000 digits; their numbers by class; mean 0.1307 and standard deviation
// 0.3081 of the training pixels, as torchvision's users take them.
TEST_F(RealMnist, HasThePublishedNumbers) {
  const Mnist train("mnist", Split::train), test("mnist", Split::test);
  EXPECT_EQ(train.size(), 60000);
  EXPECT_EQ(test.size(), 10000);
  EXPECT_EQ(histogram(train.labels()),
            (std::vector<int>{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}));
  EXPECT_EQ(histogram(test.labels()),
            (std::vector<int>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}));
  const Tensor images = train.images();
  EXPECT_EQ(images.shape(), (Shape{60000, 1, 28, 28}));
  EXPECT_NEAR(mean(images).item<double>(), 0.1307, 5e-5);
  EXPECT_NEAR(std::sqrt(var(images).item<double>()), 0.3081, 5e-5);
  // The first ten of each: 5 0 4 1 9 2 1 3 1 4 and 7 2 1 0 4 1 4 9 5 9.
  EXPECT_EQ(train.labels().narrow(0, 0, 10).to_vector<int>(),
            (std::vector<int>{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}));
  EXPECT_EQ(test.labels().narrow(0, 0, 10).to_vector<int>(),
            (std::vector<int>{7, 2, 1, 0, 4, 1, 4, 9, 5, 9}));
  const Mnist normal("mnist", Split::train, {.mean = 0.1307f, .std = 0.3081f});
  EXPECT_NEAR(mean(normal.images()).item<double>(), 0, 2e-4);
}

TEST_F(RealMnist, ALoaderGivesTheWholeSet) {
  const auto digits = make_dataset<Mnist>("mnist", Split::test);
  DataLoader loader(digits, {.batch_size = 64});
  EXPECT_EQ(loader.size(), 157);
  const Tensor images = digits->images();
  int64_t at = 0;
  for (const auto& batch : loader) {
    const int64_t size = batch["label"].size(0);
    const Tensor expected = images.narrow(0, at, size);
    EXPECT_EQ(
        memcmp(batch["image"].data(), expected.data(), static_cast<size_t>(expected.nbytes())), 0);
    at += size;
  }
  EXPECT_EQ(at, 10000);
}

}  // namespace
}  // namespace aorta::data
