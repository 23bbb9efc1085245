// Samplers, combinations, transforms and the datasets of files, read by worker processes.
#include <aorta/core/io/npz.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/random.h>
#include <aorta/data/combine.h>
#include <aorta/data/datasets/csv_dataset.h>
#include <aorta/data/datasets/image_folder.h>
#include <aorta/data/datasets/npz_dataset.h>
#include <aorta/data/distributed_sampler.h>
#include <aorta/data/images/png.h>
#include <aorta/data/images/transformed.h>
#include <aorta/data/loader.h>
#include <aorta/data/random_samplers.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace aorta::data {
namespace {

namespace fs = std::filesystem;

// The bytes of two epochs, batch by batch.
std::vector<std::string> bytes_of(const DatasetPointer& dataset, const DataLoaderOptions& options) {
  std::vector<std::string> bytes;
  DataLoader loader(dataset, options);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const auto& batch : loader) {
      bytes.emplace_back();
      for (const auto& [name, tensor] : batch.tensors()) {
        const Tensor whole = tensor.contiguous();
        bytes.back() += name + to_string(whole.shape()) + to_string(whole.dtype());
        bytes.back().append(static_cast<const char*>(whole.data()),
                            static_cast<size_t>(whole.nbytes()));
      }
    }
  }
  return bytes;
}

void expect_same_in_workers(const DatasetPointer& dataset, DataLoaderOptions options) {
  ASSERT_NE(dataset->recipe(), nullptr);
  ArgumentWriter writer;
  dataset->recipe()->write(writer);
  EXPECT_EQ(writer.refusal(), "");  // so workers make datasets of their own
  options.seed = 11;
  options.num_workers = 0;
  const std::vector<std::string> alone = bytes_of(dataset, options);
  EXPECT_GE(alone.size(), 2u);
  for (const int workers : {1, 2}) {
    options.num_workers = workers;
    EXPECT_EQ(bytes_of(dataset, options), alone) << workers;
  }
}

DatasetPointer pictures() {
  Generator random(1);
  return make_dataset<TensorDataset>(
      NamedTensors{{"image", randint(0, 256, {24, 3, 20, 22}, {.dtype = u8}, &random)},
                   {"mask", randint(0, 2, {24, 20, 22}, {.dtype = u8}, &random)},
                   {"points", rand({24, 4, 2}, {}, &random)}});
}

TEST(WorkerSets, TransformsAreTheSame) {
  const Transforms augment{RandomAffine{.degrees = {-20, 20}, .scale = {0.9, 1.1}},
                           RandomCrop{.size = 16, .padding = 2},
                           RandomHorizontalFlip{},
                           ColorJitter{.brightness = {0.5, 1.5},
                                       .contrast = {0.5, 1.5},
                                       .saturation = {0.5, 1.5},
                                       .hue = {-0.1, 0.1}},
                           SpeckleNoise{},
                           ToFloat{},
                           Normalize{{0.5}, {0.25}},
                           GaussianNoise{.clip = false}};
  const auto set = make_dataset<TransformedDataset>(pictures(), augment,
                                                    Roles{.masks = {"mask"}, .points = {"points"}});
  expect_same_in_workers(set, {.batch_size = 5, .shuffle = true});
}

TEST(WorkerSets, CombinationsAreTheSame) {
  const DatasetPointer all = pictures();
  Generator random(3);
  const auto parts = random_split(all, {0.7, 0.3}, random);
  const auto joined =
      make_dataset<ConcatDataset>(std::vector<DatasetPointer>{parts[1], slice(all, {}, {}, -3)});
  const auto names = make_dataset<TensorDataset>(NamedTensors{{"name", arange(joined->size())}});
  const auto stack = make_dataset<StackDataset>(
      std::vector<std::pair<std::string, DatasetPointer>>{{"picture", joined}, {"", names}});
  expect_same_in_workers(stack,
                         {.batch_size = 4,
                          .sampler = std::make_shared<WeightedRandomSampler>(
                              std::vector<double>(static_cast<size_t>(stack->size()), 0.5), 19)});
  expect_same_in_workers(
      parts[0], {.batch_size = 4,
                 .sampler = std::make_shared<DistributedSampler>(
                     parts[0]->size(), DistributedSamplerOptions{.num_replicas = 2, .rank = 1})});
}

TEST(WorkerSets, FilesAreTheSame) {
  const fs::path folder =
      fs::path(testing::TempDir()) / ("worker_sets_" + std::to_string(getpid()));
  fs::create_directories(folder / "images/a");
  fs::create_directories(folder / "images/b");
  Generator random(1);
  for (int i = 0; i < 8; ++i)
    write_png(randint(0, 256, {3, 12 + i, 20}, {.dtype = u8}, &random),
              folder / "images" / (i % 2 ? "a" : "b") / (std::to_string(i) + ".png"));
  expect_same_in_workers(
      make_dataset<ImageFolder>((folder / "images").string(),
                                Transforms{RandomResizedCrop{.size = 8}, RandomVerticalFlip{}}),
      {.batch_size = 3});
  std::ofstream(folder / "table.csv") << "x,y,kind\n1,2,one\n3,4,two\n5,6,one\n7,8,two\n";
  expect_same_in_workers(
      make_dataset<CsvDataset>((folder / "table.csv").string(),
                               CsvDatasetOptions{.targets = {"kind"}, .classes = {"one", "two"}}),
      {.batch_size = 3, .shuffle = true});
  npz::save({{"x", rand({9, 4}, {}, &random)}}, folder / "arrays.npz");
  expect_same_in_workers(make_dataset<NpzDataset>((folder / "arrays.npz").string()),
                         {.batch_size = 2, .shuffle = true});
  // What goes wrong in a worker names the file.
  std::ofstream(folder / "images/b/2.png") << "\x89PNG, nearly";
  const auto damaged = make_dataset<ImageFolder>((folder / "images").string(),
                                                 Transforms{RandomResizedCrop{.size = 8}});
  DataLoader loader(damaged, {.batch_size = 8, .num_workers = 1});
  std::string text;
  try {
    for (const auto& batch : loader) text = to_string(batch["label"]);
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_NE(text.find("images/b/2.png: PNG image must be sound"), std::string::npos) << text;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace aorta::data
