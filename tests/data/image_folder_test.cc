#include <aorta/core/ops/creation.h>
#include <aorta/data/datasets/image_folder.h>
#include <aorta/data/images/png.h>
#include <aorta/data/loader.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

namespace fs = std::filesystem;

// Pictures of one colour, the class's number and the file's.
struct Pictures {
  Pictures() {
    add("dog/b.png", 20, 10);
    add("dog/a.PNG", 10, 20);
    add("dog/deep/z.png", 30, 12);
    add("cat/10.png", 12, 12);
    add("cat/9.png", 40, 40);
    write("cat/notes.txt", "no picture");
    write("readme.png", "not in a class");
  }
  ~Pictures() { fs::remove_all(root); }
  void add(const std::string& name, int64_t height, int64_t width) const {
    fs::create_directories((root / name).parent_path());
    write_png(full({3, height, width}, static_cast<double>(name.size()), {.dtype = u8}),
              root / name);
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root / name).parent_path());
    std::ofstream(root / name) << text;
  }
  fs::path root = fs::path(testing::TempDir()) / ("pictures_" + std::to_string(getpid()));
};

const Transforms kSmall{Resize{.shorter_edge = 9}, CenterCrop{8}};

TEST(ImageFolder, ListsClassesAndFilesInOrder) {
  const Pictures pictures;
  const std::string root = pictures.root;
  const auto set = make_dataset<ImageFolder>(root, kSmall);
  EXPECT_EQ(set->classes(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(set->class_to_index("dog"), 1);
  ASSERT_EQ(set->size(), 5);
  const char* files[] = {"/cat/10.png", "/cat/9.png", "/dog/a.PNG", "/dog/b.png",
                         "/dog/deep/z.png"};
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(set->path(i), root + files[i]);
    EXPECT_EQ(set->label(i), i >= 2);
    Sample sample(checked_specs(set->specs()));
    set->read(i, sample, default_generator());
    EXPECT_EQ(sample.file(), root + files[i]);
    EXPECT_EQ(sample["label"].item<int>(), i >= 2);
    EXPECT_EQ(sample["image"].to_vector<int>(),
              std::vector<int>(192, static_cast<int>(std::string(files[i]).size()) - 1));
  }
}

TEST(ImageFolder, GivesBatchesOfPicturesOfAnySize) {
  const Pictures pictures;
  const std::string root = pictures.root;
  const auto set = make_dataset<ImageFolder>(
      root, Transforms{RandomResizedCrop{.size = {6, 7}}, RandomHorizontalFlip{}, ToFloat{}},
      ImageFolderOptions{.mode = ImageMode::gray});
  DataLoader loader(set, {.batch_size = 5});
  const Batch batch = *loader.begin();
  EXPECT_EQ(batch["image"].shape(), (Shape{5, 1, 6, 7}));
  EXPECT_EQ(batch["image"].at<float>({0, 0, 0, 0}), 10.f * (1.f / 255));
  EXPECT_EQ(batch["label"].to_vector<int>(), (std::vector<int>{0, 0, 1, 1, 1}));
}

TEST(ImageFolder, SaysWhatIsWrong) {
  const Pictures pictures;
  const std::string root = pictures.root;
  const std::string op = "image_folder: ";
  EXPECT_EQ(error_of([&] { ImageFolder(root, {RandomHorizontalFlip{}}); }),
            op + "transforms must give images of any size one size (RandomResizedCrop, CenterCrop, "
                 "RandomCrop or Resize to a size), got none that does");
  EXPECT_EQ(error_of([&] { ImageFolder(root + "/dog/deep", kSmall); }),
            op + "couldn't find any class folder, got " + root + "/dog/deep");
  EXPECT_EQ(error_of([&] { ImageFolder(root + "/nowhere", kSmall); }),
            op + "the folder must be readable, got " + root +
                "/nowhere: ENOENT (No such file or directory)");
  EXPECT_EQ(error_of([&] { ImageFolder(root, kSmall).class_to_index("cow"); }),
            op + "name must be one of \"cat\", \"dog\", got \"cow\"");
  fs::create_directories(pictures.root / "bird/none");
  EXPECT_EQ(error_of([&] { ImageFolder(root, kSmall); }),
            op +
                "each class must have a file that ends with .jpg, .jpeg, .png, .ppm, .pgm, got "
                "none for \"bird\" in " +
                root);
  const ImageFolder allowed(root, kSmall, {.allow_empty = true});
  EXPECT_EQ(allowed.classes().size(), 3u);
  EXPECT_EQ(allowed.label(0), 1);
  pictures.write("cat/1.png", "\x89PNG, nearly");
  const ImageFolder damaged(root, kSmall, {.allow_empty = true});
  EXPECT_EQ(
      error_of([&] { damaged.sample(0); }).rfind(root + "/cat/1.png: PNG image must be sound", 0),
      0u);
  fs::create_directory_symlink("..", pictures.root / "dog/round");
  EXPECT_EQ(error_of([&] { ImageFolder(root, kSmall); }),
            op + "a link may not lead to a folder that holds it, got " + root + "/dog/round");
}

TEST(ImageFolder, KeepsTheChannelsOfTheFirst) {
  const Pictures pictures;
  const ImageFolder set(pictures.root, kSmall, {.mode = ImageMode::unchanged});
  EXPECT_EQ(set.specs()[0].shape, (Shape{3, 8, 8}));
  write_png(zeros({9, 9}, {.dtype = u8}), pictures.root / "cat/9.png");
  EXPECT_EQ(error_of([&] { set.sample(1); }),
            (pictures.root / "cat/9.png").string() +
                ": images must have as many channels as the first, got 1 and 3");
}

}  // namespace
}  // namespace aorta::data
