// Datasets of tables: CSV and npz.
#include <aorta/core/io/npz.h>
#include <aorta/core/ops/creation.h>
#include <aorta/data/datasets/csv_dataset.h>
#include <aorta/data/datasets/npz_dataset.h>
#include <aorta/data/loader.h>
#include <unistd.h>

#include <fstream>

#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

// A file of its own that goes away.
struct File {
  explicit File(const std::string& ending, const std::string& text = "")
      : path(testing::TempDir() + "/" + std::to_string(getpid()) + "_table" + ending) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~File() { unlink(path.c_str()); }
  std::string path;
};

const char* const kFlowers =
    "length,width,species,row\n5.1,3.5,setosa,1\n7,3.25,versicolor,2\n-6.5,1e1,setosa,30\n";

TEST(CsvDataset, GivesFeaturesAndClasses) {
  const File file(".csv", kFlowers);
  const auto flowers =
      make_dataset<CsvDataset>(file.path, CsvDatasetOptions{.features = {"width", "length"},
                                                            .targets = {"species"},
                                                            .classes = {"setosa", "versicolor"}});
  EXPECT_EQ(flowers->size(), 3);
  DataLoader loader(flowers, {.batch_size = 3});
  const Batch batch = *loader.begin();
  EXPECT_EQ(batch["features"].shape(), (Shape{3, 2}));
  EXPECT_EQ(batch["features"].to_vector<float>(),
            (std::vector<float>{3.5f, 5.1f, 3.25f, 7, 10, -6.5f}));
  EXPECT_EQ(batch["target"].dtype(), i64);
  EXPECT_EQ(batch["target"].to_vector<int>(), (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(flowers->targets().shape(), Shape{3});
}

TEST(CsvDataset, TakesAllOtherColumnsAsFeatures) {
  const File file(".csv", "a;b;c;d\n1;2;3;4\n5;6;7;8\n");
  const CsvDataset two(file.path, {.targets = {"d", "a"}, .delimiter = ';'});
  const Sample sample = two.sample(1);
  EXPECT_EQ(sample["features"].to_vector<float>(), (std::vector<float>{6, 7}));
  EXPECT_EQ(sample["target"].dtype(), f32);
  EXPECT_EQ(sample["target"].to_vector<float>(), (std::vector<float>{8, 5}));
}

TEST(CsvDataset, ReadsFilesWithoutHeaderAndWithoutTargets) {
  const File file(".csv", "1,2\n3,4\n");
  const CsvDataset all(file.path, {.header = false});
  EXPECT_EQ(all.specs().size(), 1u);
  EXPECT_FALSE(all.targets().defined());
  EXPECT_EQ(all.features().to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  const CsvDataset one(file.path, {.targets = {"1"}, .target_dtype = i64, .header = false});
  EXPECT_EQ(one.sample(1)["target"].item<int64_t>(), 4);
  const File none(".csv", "a,b\n");
  EXPECT_EQ(CsvDataset(none.path).size(), 0);
}

TEST(CsvDataset, NamesTheLineThatIsWrong) {
  const File file(".csv", kFlowers);
  const auto text = [&](const CsvDatasetOptions& options) {
    const std::string message = error_of([&] { CsvDataset(file.path, options); });
    const size_t at = message.find(file.path);
    return at == std::string::npos ? message
                                   : message.substr(0, at) + message.substr(at + file.path.size());
  };
  EXPECT_EQ(text({}), "read_csv: :2: species must be a finite number, got \"setosa\"");
  EXPECT_EQ(text({.targets = {"species"}, .classes = {"versicolor", "virginica"}}),
            "read_csv: :2: a class must be one of \"versicolor\", \"virginica\", got \"setosa\"");
  EXPECT_TRUE(text({.features = {"height"}}).starts_with("read_csv: :1: a column must be called"));
  EXPECT_EQ(text({.targets = {"row", "width"}, .classes = {"a"}}),
            "csv_dataset: classes are of one target column, got 2 target columns");
  EXPECT_EQ(text({.targets = {"row"}, .target_dtype = u8}),
            "csv_dataset: target_dtype must be f32 or i64, got u8");
}

TEST(NpzDataset, GivesTheRowsOfItsArrays) {
  const File file(".npz");
  for (const bool compress : {false, true}) {
    npz::save({{"x", arange(12).reshape({4, 3}).to(f32)}, {"y", arange(4)}}, file.path, compress);
    const auto set = make_dataset<NpzDataset>(file.path);
    EXPECT_EQ(set->size(), 4);
    EXPECT_EQ(set->sample(2)["x"].to_vector<int>(), (std::vector<int>{6, 7, 8}));
    EXPECT_EQ(set->sample(3)["y"].item<int>(), 3);
    const NpzDataset one(file.path, {.arrays = {"y"}, .verify = false});
    EXPECT_EQ(one.specs().size(), 1u);
    Sample sample(checked_specs(one.specs()));
    one.read(0, sample, default_generator());
    EXPECT_EQ(sample.file(), file.path);
  }
}

// Bytes of this process that are its own: neither of a file nor shared.
int64_t anonymous_kilobytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8));
  return -1;
}

TEST(NpzDataset, LeavesItsArraysInTheFile) {
  const File file(".npz");
  constexpr int64_t kRows = 4096, kColumns = 4096;  // 64 MB
  npz::save({{"x", full({kRows, kColumns}, 3.f)}}, file.path);
  const int64_t before = anonymous_kilobytes();
  ASSERT_GT(before, 0);
  const NpzDataset set(file.path, {.verify = false});
  for (int64_t i = 0; i < kRows; i += 16) EXPECT_EQ(set.sample(i)["x"].at<float>({7}), 3);
  EXPECT_LT(anonymous_kilobytes() - before, 8 * 1024);
}

TEST(NpzDataset, SaysWhatIsWrong) {
  const File file(".npz");
  npz::save({{"x", zeros({4, 3})}, {"y", zeros({5})}, {"z", zeros({})}}, file.path);
  EXPECT_EQ(error_of([&] { NpzDataset{file.path}; }),
            file.path + ": first sizes of arrays must be equal, got 5 of \"y\" and 4 of \"x\"");
  EXPECT_EQ(error_of([&] { NpzDataset(file.path, {.arrays = {"z"}}); }),
            file.path + ": arrays must have a first dimension, the samples, got [] for \"z\"");
  EXPECT_EQ(error_of([&] { NpzDataset(file.path, {.arrays = {"w"}}); }),
            file.path + ": array must be in the file, got \"w\"");
}

}  // namespace
}  // namespace aorta::data
