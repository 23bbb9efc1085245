#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/random.h>
#include <aorta/data/loader.h>

#include <algorithm>
#include <numeric>

#include <aorta/tests/data/indices.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

// Sample i: "index" i, "noise" two numbers of its generator, "pair" {i, 10 i} as f64.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  std::vector<TensorSpec> specs() const override {
    return {{"index", i64, {}}, {"noise", f64, {2}}, {"pair", f64, {2}}};
  }
  void read(int64_t index, Sample& sample, Generator& random) const override {
    check(index != refused, "numbers", "index must be readable", index);
    *sample["index"].data<int64_t>() = index;
    auto* noise = sample["noise"].data<double>();
    noise[0] = random.next_uniform();
    noise[1] = rand({}, {.dtype = f64}).item<double>();  // of the default generator
    auto* pair = sample["pair"].data<double>();
    pair[0] = static_cast<double>(index);
    pair[1] = 10 * pair[0];
  }

  int64_t refused = -1;

 private:
  int64_t size_;
};

// Sample i is of length i % 4 at first, or 3 throughout.
class Clips : public Dataset {
 public:
  explicit Clips(int64_t length = -1) : length_(length) {}
  int64_t size() const override { return 8; }
  std::vector<TensorSpec> specs() const override { return {{"clip", f32, {5, 2}}}; }
  void read(int64_t index, Sample& sample, Generator&) const override {
    const Tensor& clip = sample.resize("clip", {length_ < 0 ? index % 4 : length_, 2});
    for (int64_t i = 0; i < clip.numel(); ++i)
      clip.data<float>()[i] = static_cast<float>(100 * index + i);
  }

 private:
  int64_t length_;
};

Indices indices_of(DataLoader& loader) {
  Indices all;
  for (const Batch& batch : loader)
    for (const int64_t index : batch["index"].to_vector<int64_t>()) all.push_back(index);
  return all;
}

TEST(DataLoader, GivesBatchesInOrder) {
  DataLoader loader(make_dataset<Numbers>(10), {.batch_size = 4});
  EXPECT_EQ(loader.size(), 3);
  std::vector<Indices> batches;
  for (const auto& batch : loader) {
    batches.push_back(batch["index"].to_vector<int64_t>());
    const auto size = static_cast<int64_t>(batches.back().size());
    EXPECT_EQ(batch["pair"].shape(), (Shape{size, 2}));
    EXPECT_TRUE(batch["pair"].is_contiguous());
    for (int64_t i = 0; i < size; ++i) {
      EXPECT_EQ(batch["pair"].at<double>({i, 1}), 10. * batch["index"].at<int64_t>({i}));
    }
  }
  EXPECT_EQ(batches, (std::vector<Indices>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}}));
}

TEST(DataLoader, DropsTheLastBatchWhenAsked) {
  DataLoader loader(make_dataset<Numbers>(10), {.batch_size = 4, .drop_last = true});
  EXPECT_EQ(loader.size(), 2);
  EXPECT_EQ(indices_of(loader), first(8));
  DataLoader whole(make_dataset<Numbers>(8), {.batch_size = 4, .drop_last = true});
  EXPECT_EQ(indices_of(whole), first(8));
  DataLoader none(make_dataset<Numbers>(3), {.batch_size = 4, .drop_last = true});
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(indices_of(none), Indices{});
}

TEST(DataLoader, AnEmptyDatasetHasNoBatches) {
  for (const bool shuffle : {false, true}) {
    DataLoader loader(make_dataset<Numbers>(0), {.shuffle = shuffle});
    EXPECT_EQ(loader.size(), 0);
    EXPECT_EQ(indices_of(loader), Indices{});
  }
}

TEST(DataLoader, ShufflesByItsSeedAndEpoch) {
  DataLoader loader(make_dataset<Numbers>(100), {.batch_size = 7, .shuffle = true, .seed = 5});
  const Indices epoch0 = indices_of(loader), epoch1 = indices_of(loader);
  EXPECT_EQ(loader.epoch(), 2);
  EXPECT_NE(epoch0, epoch1);
  for (Indices order : {epoch0, epoch1}) {
    EXPECT_NE(order, first(100));
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, first(100));
  }
  DataLoader again(make_dataset<Numbers>(100), {.batch_size = 100, .shuffle = true, .seed = 5});
  again.set_epoch(1);
  EXPECT_EQ(indices_of(again), epoch1);
  again.set_epoch(0);
  EXPECT_EQ(indices_of(again), epoch0);
  DataLoader other(make_dataset<Numbers>(100), {.batch_size = 7, .shuffle = true, .seed = 6});
  EXPECT_NE(indices_of(other), epoch0);
}

TEST(DataLoader, TakesItsSeedFromTheDefaultGenerator) {
  const auto make = [] { return DataLoader(make_dataset<Numbers>(50), {.shuffle = true}); };
  manual_seed(3);
  DataLoader a = make(), b = make();
  manual_seed(3);
  DataLoader c = make();
  EXPECT_EQ(a.seed(), c.seed());
  EXPECT_NE(a.seed(), b.seed());
  EXPECT_EQ(indices_of(a), indices_of(c));
}

// By index: the sample's random numbers in an epoch.
std::vector<std::vector<double>> noise_of(DataLoader& loader) {
  std::vector<std::vector<double>> noise(static_cast<size_t>(loader.dataset().size()));
  for (const auto& batch : loader) {
    for (int64_t i = 0; i < batch["index"].numel(); ++i)
      noise[static_cast<size_t>(batch["index"].at<int64_t>({i}))] =
          batch["noise"][i].to_vector<double>();
  }
  return noise;
}

TEST(DataLoader, RandomNumbersAreTheSamplesOwn) {
  const auto numbers = make_dataset<Numbers>(20);
  DataLoader in_order(numbers, {.batch_size = 3, .seed = 8});
  DataLoader shuffled(numbers, {.batch_size = 20, .shuffle = true, .seed = 8});
  manual_seed(1);
  const auto epoch0 = noise_of(in_order);
  const double after = rand({}).item<double>();
  EXPECT_EQ(noise_of(shuffled), epoch0);
  const auto epoch1 = noise_of(in_order);
  EXPECT_EQ(noise_of(shuffled), epoch1);
  manual_seed(1);
  EXPECT_EQ(rand({}).item<double>(), after);  // reading drew nothing from the program's generator

  std::vector<double> all;
  for (const auto& epoch : {epoch0, epoch1})
    for (const auto& pair : epoch) all.insert(all.end(), pair.begin(), pair.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(DataLoader, TwoIterationsAtOnceKeepApart) {
  DataLoader loader(make_dataset<Numbers>(30), {.batch_size = 4, .shuffle = true, .seed = 1});
  const Indices epoch0 = indices_of(loader), epoch1 = indices_of(loader);
  loader.set_epoch(0);
  auto a = loader.begin();
  auto b = loader.begin();
  Indices from_a, from_b;
  for (; a != loader.end(); ++a, ++b) {
    for (const int64_t index : (*a)["index"].to_vector<int64_t>()) from_a.push_back(index);
    for (const int64_t index : b->operator[]("index").to_vector<int64_t>()) from_b.push_back(index);
  }
  EXPECT_EQ(from_a, epoch0);
  EXPECT_EQ(from_b, epoch1);
}

TEST(DataLoader, BatchesStayWhenTheLoopGoesOn) {
  DataLoader loader(make_dataset<Numbers>(6), {.batch_size = 2});
  std::vector<Batch> kept;
  for (const auto& batch : loader) kept.push_back(batch);
  EXPECT_EQ(kept[0]["index"].to_vector<int64_t>(), (Indices{0, 1}));
  EXPECT_EQ(kept[2]["index"].to_vector<int64_t>(), (Indices{4, 5}));
}

TEST(DataLoader, TakesSamplersAndBatchSamplers) {
  const auto numbers = make_dataset<Numbers>(9);
  struct Backwards : Sampler {
    int64_t size() const override { return 3; }
    Indices indices(int64_t epoch, Generator&) const override { return {8, 7, 6 - epoch}; }
  };
  DataLoader loader(numbers, {.batch_size = 2, .sampler = std::make_shared<Backwards>()});
  EXPECT_EQ(loader.size(), 2);
  EXPECT_EQ(indices_of(loader), (Indices{8, 7, 6}));
  EXPECT_EQ(indices_of(loader), (Indices{8, 7, 5}));

  struct Ragged : BatchSampler {
    int64_t size() const override { return 2; }
    std::vector<Indices> batches(int64_t, Generator&) const override { return {{3}, {1, 1, 2}}; }
  };
  DataLoader ragged(numbers, {.batch_sampler = std::make_shared<Ragged>()});
  EXPECT_EQ(ragged.size(), 2);
  EXPECT_EQ(indices_of(ragged), (Indices{3, 1, 1, 2}));
}

TEST(DataLoader, AnErrorNamesTheSampleAndTheNextBatchStillComes) {
  const auto numbers = std::make_shared<Numbers>(6);
  numbers->refused = 3;
  DataLoader loader(numbers, {.batch_size = 2});
  auto it = loader.begin();
  EXPECT_EQ((*it)["index"].to_vector<int64_t>(), (Indices{0, 1}));
  ++it;
  const std::string text = "sample 3: numbers: index must be readable, got 3";
  EXPECT_EQ(error_of([&] { *it; }), text);
  EXPECT_EQ(error_of([&] { *it; }), text);
  ++it;
  EXPECT_EQ((*it)["index"].to_vector<int64_t>(), (Indices{4, 5}));
  ++it;
  EXPECT_TRUE(it == loader.end());
  EXPECT_EQ(error_of([&] { *it; }),
            "data_loader: an iterator at the end has no batch, got a read of one");
  EXPECT_EQ(error_of([&] { ++it; }),
            "data_loader: an iterator at the end can't be moved on, got an increment");
  EXPECT_EQ(error_of([&] { indices_of(loader); }), text);
}

TEST(DataLoader, SamplesOfOtherSizes) {
  DataLoader same(make_dataset<Clips>(3), {.batch_size = 2});
  const Batch batch = *++same.begin();
  EXPECT_EQ(batch["clip"].shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(batch["clip"].to_vector<float>(),
            (std::vector<float>{200, 201, 202, 203, 204, 205, 300, 301, 302, 303, 304, 305}));

  const auto ragged = make_dataset<Clips>();
  DataLoader loader(ragged, {.batch_size = 2});
  EXPECT_EQ(error_of([&] { *loader.begin(); }),
            "collate: samples of a batch must have one shape; give the loader a collate of your "
            "own, got [0,2] and [1,2] for \"clip\"");
  EXPECT_EQ(
      error_of([&] {
        ragged->sample(0).resize("clip", {6, 2});
      }),
      "sample: a tensor must fit its declared shape, got [6,2] for \"clip\" of at most [5,2]");
  EXPECT_EQ(error_of([&] { ragged->sample(0).resize("clip", {5}); }),
            "sample: a tensor must fit its declared shape, got [5] for \"clip\" of at most [5,2]");
}

TEST(DataLoader, CollatesAsAsked) {
  const Collate longest = [](std::span<const Sample> samples) {
    int64_t length = 0;
    for (const Sample& sample : samples) length = std::max(length, sample["clip"].size(0));
    const Tensor padded = zeros({static_cast<int64_t>(samples.size()), length, 2});
    for (size_t i = 0; i < samples.size(); ++i) {
      const Tensor& clip = samples[i]["clip"];
      padded[static_cast<int64_t>(i)].narrow(0, 0, clip.size(0)).copy_(clip);
    }
    return Batch({{"padded", padded}});
  };
  DataLoader loader(make_dataset<Clips>(), {.batch_size = 3, .collate = longest});
  const Batch batch = *loader.begin();
  EXPECT_EQ(batch["padded"].to_vector<float>(),
            (std::vector<float>{0, 0, 0, 0, 100, 101, 0, 0, 200, 201, 202, 203}));

  const auto numbers = make_dataset<Numbers>(5);
  DataLoader stacked(numbers, {.batch_size = 3, .collate = default_collate, .seed = 2});
  DataLoader in_place(numbers, {.batch_size = 3, .seed = 2});
  auto b = in_place.begin();
  for (const auto& a : stacked) {
    for (const char* name : {"index", "noise", "pair"}) {
      EXPECT_EQ(a[name].shape(), (*b)[name].shape());
      EXPECT_EQ(a[name].to_vector<double>(), (*b)[name].to_vector<double>());
    }
    ++b;
  }
}

TEST(DataLoader, FollowsADatasetThatGrows) {
  struct Growing : Numbers {
    Growing() : Numbers(0) {}
    int64_t size() const override { return length; }
    int64_t length = 2;
  };
  const auto growing = std::make_shared<Growing>();
  DataLoader loader(growing);
  EXPECT_EQ(indices_of(loader), first(2));
  growing->length = 5;
  EXPECT_EQ(loader.size(), 5);
  EXPECT_EQ(indices_of(loader), first(5));
}

TEST(DataLoader, SaysWhatIsWrong) {
  const auto numbers = make_dataset<Numbers>(4);
  const auto text = [&](const DataLoaderOptions& options) {
    return error_of([&] { DataLoader(numbers, options); });
  };
  const auto sampler = std::make_shared<SequentialSampler>(5);
  EXPECT_EQ(text({.batch_size = 0}), "data_loader: batch_size must be at least 1, got 0");
  EXPECT_EQ(text({.num_workers = -2}), "data_loader: num_workers can't be negative, got -2");
  EXPECT_EQ(text({.shuffle = true, .sampler = sampler}),
            "data_loader: sampler and shuffle exclude each other, got both");
  EXPECT_EQ(
      text({.batch_size = 2, .batch_sampler = std::make_shared<BatchSampler>(sampler, 1, false)}),
      "data_loader: batch_sampler excludes batch_size, shuffle, sampler and drop_last, got "
      "both");
  EXPECT_EQ(error_of([] { DataLoader(std::shared_ptr<const Dataset>()); }),
            "data_loader: there must be a dataset, got none");
  DataLoader loader(numbers, {.batch_size = 5, .sampler = sampler});
  EXPECT_EQ(error_of([&] { indices_of(loader); }),
            "sample 4: data_loader: a sampler's indices must be in [0, size), got 4 of 4");
  EXPECT_EQ(error_of([&] { loader.set_epoch(-1); }),
            "data_loader: epoch can't be negative, got -1");
}

TEST(Batch, NamesWhatItHas) {
  const Batch batch({{"image", zeros({2, 3})}, {"label", zeros({2}, {.dtype = i64})}});
  EXPECT_EQ(batch["label"].dtype(), i64);
  EXPECT_TRUE(batch.contains("image"));
  EXPECT_FALSE(batch.contains("images"));
  EXPECT_EQ(error_of([&] { batch["images"]; }),
            "batch: name must be one of \"image\", \"label\", got \"images\"");
  EXPECT_EQ(error_of([] { Batch()["x"]; }), "batch: there must be tensors to name, got \"x\"");
  EXPECT_EQ(error_of([] {
              Batch({{"a", zeros({1})}, {"a", zeros({1})}});
            }),
            "batch: names must differ, got \"a\" twice");
  EXPECT_EQ(error_of([] {
              Batch({{"a", Tensor()}});
            }),
            "batch: \"a\" must be defined, got an undefined tensor");
  const Batch moved = batch.to("cpu:1");
  EXPECT_EQ(moved["label"].device(), Device("cpu:1"));
  EXPECT_EQ(moved.tensors()[0].first, "image");
}

TEST(Dataset, GivesOneSample) {
  const Sample sample = make_dataset<Numbers>(4)->sample(3);
  EXPECT_EQ(sample["index"].item<int64_t>(), 3);
  EXPECT_EQ(error_of([&] { sample["idx"]; }),
            "sample: name must be one of \"index\", \"noise\", \"pair\", got \"idx\"");
  EXPECT_EQ(error_of([] { Numbers(4).sample(4); }),
            "dataset: index must be in [0, size), got 4 of 4");
  EXPECT_EQ(error_of([] { Numbers(4).sample(-1); }),
            "dataset: index must be in [0, size), got -1 of 4");
}

TEST(Dataset, ItsDeclarationIsChecked) {
  EXPECT_EQ(error_of([] { checked_specs({}); }),
            "dataset: samples must have a tensor at least, got none");
  EXPECT_EQ(error_of([] {
              checked_specs({{"a", f32, {}}, {"", f32, {}}});
            }),
            "dataset: tensors must have names, got none for tensor 1");
  EXPECT_EQ(error_of([] {
              checked_specs({{"a", f32, {}}, {"a", f32, {}}});
            }),
            "dataset: names must differ, got \"a\" twice");
  EXPECT_EQ(error_of([] {
              checked_specs({{"a", f32, {2, -1}}});
            }),
            "dataset: sizes can't be negative, got [2,-1]");
  EXPECT_EQ(error_of([] {
              checked_specs({{"a", f32, Dims::filled(12, 1)}});
            }),
            "dataset: a sample must have at most 11 dimensions, got [1,1,1,1,1,1,1,1,1,1,1,1] of "
            "\"a\"");
}

TEST(TensorDataset, GivesRowsOfTensors) {
  const Tensor x = arange(12, {.dtype = f32}).view({3, 4}).t();  // (4, 3), not row-major
  const Tensor y = tensor({true, false, true, true});
  const auto dataset = make_dataset<TensorDataset>(NamedTensors{{"x", x}, {"y", y}});
  EXPECT_EQ(dataset->size(), 4);
  EXPECT_EQ(dataset->sample(1)["x"].to_vector<float>(), (std::vector<float>{1, 5, 9}));
  DataLoader loader(dataset, {.batch_size = 3});
  auto it = loader.begin();
  EXPECT_EQ((*it)["x"].to_vector<float>(), (std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10}));
  ++it;
  EXPECT_EQ((*it)["y"].shape(), Shape{1});
  EXPECT_EQ((*it)["y"].dtype(), boolean);
  EXPECT_EQ(error_of([&] {
              TensorDataset({{"x", x}, {"y", y.narrow(0, 0, 3)}});
            }),
            "tensor_dataset: first sizes must be equal, got 3 of \"y\" and 4 of \"x\"");
  EXPECT_EQ(error_of([] { TensorDataset({}); }),
            "tensor_dataset: there must be a tensor at least, got none");
  EXPECT_EQ(error_of([] {
              TensorDataset({{"x", zeros({})}});
            }),
            "tensor_dataset: tensors must be on the CPU and have a first dimension, the samples, "
            "got [] on cpu for \"x\"");
}

}  // namespace
}  // namespace aorta::data
