#include <aorta/core/ops/creation.h>
#include <aorta/data/combine.h>
#include <aorta/data/loader.h>

#include <algorithm>
#include <set>

#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

namespace aorta::data {
namespace {

using Indices = std::vector<int64_t>;

// Sample i of "n" is start + i.
DatasetPointer numbers(int64_t size, int64_t start = 0, const std::string& name = "n") {
  return make_dataset<TensorDataset>(NamedTensors{{name, arange(start, start + size)}});
}

int64_t number(const Dataset& dataset, int64_t index, const std::string& name = "n") {
  return dataset.sample(index)[name].item<int64_t>();
}

Indices all_of(const Dataset& dataset) {
  Indices values;
  for (int64_t i = 0; i < dataset.size(); ++i) values.push_back(number(dataset, i));
  return values;
}

Indices sizes_of(const std::vector<std::shared_ptr<const Subset>>& parts) {
  Indices sizes;
  for (const auto& part : parts) sizes.push_back(part->size());
  return sizes;
}

// 1. Split lengths must sum to the dataset.
TEST(RandomSplit, LengthsMustSumToTheDataset) {
  EXPECT_EQ(error_of([] {
              random_split(numbers(5), {1, 2});
            }),
            "random_split: lengths must sum to the size of the dataset, got [1,2] for 5 samples");
  EXPECT_EQ(error_of([] {
              random_split(numbers(5), {4, 2});
            }),
            "random_split: lengths must sum to the size of the dataset, got [4,2] for 5 samples");
  EXPECT_EQ(error_of([] {
              random_split(numbers(5), {6, -1});
            }),
            "random_split: lengths must sum to the size of the dataset, got [6,-1] for 5 samples");
  EXPECT_EQ(error_of([] {
              random_split(numbers(5), {-1, 6});
            }),
            "random_split: lengths can't be negative, got -1");
  EXPECT_EQ(error_of([] {
              random_split(numbers(5), {INT64_MAX, INT64_MAX, int64_t{7}});
            }),
            "random_split: lengths must sum to the size of the dataset, got "
            "[9223372036854775807,9223372036854775807,7] for 5 samples");
  EXPECT_EQ(error_of([] { random_split(nullptr, {1}); }),
            "random_split: there must be a dataset, got none");
}

// 2. Fractional splits: sizes and remainders, the numbers that PyTorch gives.
TEST(RandomSplit, FractionsGiveTheRemainderToTheFirst) {
  EXPECT_EQ(sizes_of(random_split(numbers(4), {0.5, 0.5})), (Indices{2, 2}));
  EXPECT_EQ(sizes_of(random_split(numbers(6), {0.5, 0.5})), (Indices{3, 3}));
  EXPECT_EQ(sizes_of(random_split(numbers(3), {0.5, 0.5})), (Indices{2, 1}));
  EXPECT_EQ(sizes_of(random_split(numbers(5), {0.5, 0.5})), (Indices{3, 2}));
  EXPECT_EQ(sizes_of(random_split(numbers(106), {0.25, 0.25, 0.25, 0.25})),
            (Indices{27, 27, 26, 26}));
  EXPECT_EQ(sizes_of(random_split(numbers(10), {0.7, 0.2, 0.1})), (Indices{7, 2, 1}));
  EXPECT_EQ(sizes_of(random_split(numbers(2), {0.2, 0.3, 0.5, 0.0})), (Indices{1, 0, 1, 0}));
  EXPECT_EQ(sizes_of(random_split(numbers(3), std::vector<double>(10, 0.1))),
            (Indices{1, 1, 1, 0, 0, 0, 0, 0, 0, 0}));
}

// 3. Bad fractions are rejected.
TEST(RandomSplit, RejectsBadFractions) {
  EXPECT_EQ(error_of([] {
              random_split(numbers(3), {0.5, 0.4});
            }),
            "random_split: fractions must sum to 1, got 0.9");
  EXPECT_EQ(error_of([] {
              random_split(numbers(3), {0.5, 0.6});
            }),
            "random_split: fractions must sum to 1, got 1.1");
  EXPECT_EQ(error_of([] {
              random_split(numbers(3), {1.5, -0.5});
            }),
            "random_split: fractions must be between 0 and 1, got 1.5 at 0");
  EXPECT_EQ(error_of([] {
              random_split(numbers(3), {0.5, -0.5, 1.0});
            }),
            "random_split: fractions must be between 0 and 1, got -0.5 at 1");
  EXPECT_EQ(error_of([] { random_split(numbers(3), std::vector<double>{}); }),
            "random_split: fractions must sum to 1, got 0");
}

// 4. Splits are disjoint and complete.
TEST(RandomSplit, PartsAreDisjointAndComplete) {
  for (const auto& parts :
       {random_split(numbers(20), {8, 8, 4}), random_split(numbers(20), {0.4, 0.4, 0.2})}) {
    EXPECT_EQ(sizes_of(parts), (Indices{8, 8, 4}));
    Indices together;
    for (const auto& part : parts) {
      const Indices values = all_of(*part);
      EXPECT_EQ(values, part->indices());
      together.insert(together.end(), values.begin(), values.end());
    }
    EXPECT_FALSE(std::is_sorted(together.begin(), together.end()));
    std::sort(together.begin(), together.end());
    EXPECT_EQ(together, all_of(*numbers(20)));
  }
}

// 5. The generator decides. 6. A generator of one's own leaves the default one alone.
TEST(RandomSplit, IsAFunctionOfTheGenerator) {
  const auto split = [](uint64_t seed) {
    Generator random(seed);
    return random_split(numbers(100), {50, 50}, random)[0]->indices();
  };
  const GeneratorState before = default_generator().state();
  EXPECT_EQ(split(1), split(1));
  EXPECT_NE(split(1), split(2));
  EXPECT_EQ(default_generator().state(), before);
  manual_seed(4);
  const Indices one = random_split(numbers(100), {50, 50})[0]->indices();
  manual_seed(4);
  EXPECT_EQ(random_split(numbers(100), {50, 50})[0]->indices(), one);
}

// 7. A subset of a subset, and slices as Python has them.
TEST(Subset, OfASubset) {
  const auto odd = make_dataset<Subset>(numbers(10), Indices{1, 3, 5, 7, 9});
  const auto some = make_dataset<Subset>(odd, Indices{4, 0, 0});
  EXPECT_EQ(all_of(*some), (Indices{9, 1, 1}));
  EXPECT_EQ(some->dataset(), odd);
  EXPECT_EQ(make_dataset<Subset>(odd, Indices{})->size(), 0);
}

TEST(Subset, SlicesAsPythonDoes) {
  const auto ten = numbers(10);
  using Optional = std::optional<int64_t>;
  const auto values = [&](Optional start, Optional stop, int64_t step = 1) {
    return all_of(*slice(ten, start, stop, step));
  };
  EXPECT_EQ(values({}, 3), (Indices{0, 1, 2}));
  EXPECT_EQ(values(-3, {}), (Indices{7, 8, 9}));
  EXPECT_EQ(values(2, -2, 3), (Indices{2, 5}));
  EXPECT_EQ(values({}, {}, -4), (Indices{9, 5, 1}));
  EXPECT_EQ(values(3, {}, -1), (Indices{3, 2, 1, 0}));
  EXPECT_EQ(values(-100, 100, 9), (Indices{0, 9}));
  EXPECT_EQ(values(5, 5), Indices{});
  EXPECT_EQ(values(8, 2), Indices{});
  EXPECT_EQ(values(1, {}, INT64_MAX), Indices{1});
  EXPECT_EQ(values({}, {}, INT64_MIN), Indices{9});
  EXPECT_EQ(error_of([&] { slice(ten, 0, 1, 0); }), "slice: the step can't be 0, got 0");
}

TEST(Subset, RefusesIndicesThatAreNotThere) {
  EXPECT_EQ(error_of([] {
              Subset(numbers(3), {0, 3});
            }),
            "subset: indices must be in [0, size), got 3 of 3");
  EXPECT_EQ(error_of([] { Subset(numbers(3), {-1}); }),
            "subset: indices must be in [0, size), got -1 of 3");
  EXPECT_EQ(error_of([] { Subset(nullptr, {}); }), "subset: there must be a dataset, got none");
  EXPECT_EQ(error_of([] { Subset(numbers(3), {0}).sample(1); }),
            "dataset: index must be in [0, size), got 1 of 1");
}

// 8. Tensor dataset: length, one to n tensors.
TEST(TensorDataset, OfOneToManyTensors) {
  for (const int count : {1, 2, 5}) {
    NamedTensors tensors;
    for (int t = 0; t < count; ++t)
      tensors.emplace_back("t" + std::to_string(t), arange(t * 100, t * 100 + 6).reshape({3, 2}));
    const TensorDataset dataset(tensors);
    EXPECT_EQ(dataset.size(), 3);
    for (int t = 0; t < count; ++t) {
      const Sample sample = dataset.sample(2);
      EXPECT_EQ(sample["t" + std::to_string(t)].to_vector<int>(),
                (std::vector<int>{t * 100 + 4, t * 100 + 5}));
    }
  }
}

// 9. Stack dataset: as a tuple, as a dictionary, size mismatch, empty.
TEST(StackDataset, PutsTensorsSideBySide) {
  const StackDataset stack({numbers(5, 0, "a"), numbers(5, 10, "b")});
  EXPECT_EQ(stack.size(), 5);
  EXPECT_EQ(number(stack, 3, "a"), 3);
  EXPECT_EQ(number(stack, 3, "b"), 13);
  const auto named = make_dataset<StackDataset>(std::vector<std::pair<std::string, DatasetPointer>>{
      {"x", numbers(5)}, {"y", numbers(5, 20)}});
  EXPECT_EQ(number(*named, 1, "x.n"), 1);
  EXPECT_EQ(number(*named, 1, "y.n"), 21);
  DataLoader loader(named, {.batch_size = 5});
  EXPECT_EQ((*loader.begin())["y.n"].to_vector<int>(), (std::vector<int>{20, 21, 22, 23, 24}));
}

TEST(StackDataset, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { StackDataset(std::vector<DatasetPointer>{}); }),
            "stack_dataset: at least one dataset should be passed, got none");
  EXPECT_EQ(error_of([] {
              StackDataset({numbers(5, 0, "a"), numbers(4, 0, "b")});
            }),
            "stack_dataset: sizes of datasets must be equal, got 4 and 5");
  EXPECT_EQ(error_of([] {
              StackDataset({numbers(5), numbers(5)});
            }),
            "stack_dataset: names of tensors must differ, got \"n\" twice");
  EXPECT_EQ(error_of([] { StackDataset(std::vector<DatasetPointer>{nullptr}); }),
            "stack_dataset: each member must be a dataset, got none at 0");
}

// Sample i has i + 1 elements, at most `most`.
struct Growing : Dataset {
  explicit Growing(int64_t most) : most(most) {}
  int64_t size() const override { return most; }
  std::vector<TensorSpec> specs() const override { return {{"n", f32, {most}}}; }
  void read(int64_t index, Sample& sample, Generator&) const override {
    const Tensor& row = sample.resize("n", {index + 1});
    row.fill_(static_cast<double>(index));
  }
  int64_t most;
};

TEST(StackDataset, KeepsTheSizesOfItsMembers) {
  const StackDataset stack({make_dataset<Growing>(int64_t{3}), numbers(3, 0, "other")});
  for (int64_t i = 0; i < 3; ++i) {
    const Sample sample = stack.sample(i);
    EXPECT_EQ(sample["n"].to_vector<float>(),
              std::vector<float>(static_cast<size_t>(i + 1), static_cast<float>(i)));
  }
}

// 11. Concat: empty members, out of range, negative.
TEST(ConcatDataset, OfTwo) {
  const auto both =
      make_dataset<ConcatDataset>(std::vector<DatasetPointer>{numbers(3), numbers(2, 10)});
  EXPECT_EQ(all_of(*both), (Indices{0, 1, 2, 10, 11}));
  EXPECT_EQ(both->cumulative_sizes(), (Indices{3, 5}));
  EXPECT_EQ(both->locate(-1).dataset, 1u);
  EXPECT_EQ(both->locate(-1).index, 1);
  EXPECT_EQ(both->locate(-5).dataset, 0u);
  EXPECT_EQ(both->locate(-5).index, 0);
}

TEST(ConcatDataset, SkipsEmptyMembers) {
  const ConcatDataset all(
      {numbers(0), numbers(2), numbers(0), numbers(0), numbers(1, 7), numbers(0)});
  EXPECT_EQ(all_of(all), (Indices{0, 1, 7}));
  EXPECT_EQ(ConcatDataset({numbers(0), numbers(0)}).size(), 0);
}

// 12. Streams can't be members.
static_assert(std::is_constructible_v<ConcatDataset, std::vector<DatasetPointer>>);
static_assert(
    !std::is_constructible_v<ConcatDataset, std::vector<std::shared_ptr<const IterableDataset>>>);

TEST(ConcatDataset, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { ConcatDataset({}); }),
            "concat_dataset: datasets should not be empty, got none");
  const ConcatDataset both({numbers(3), numbers(2)});
  EXPECT_EQ(error_of([&] { both.locate(5); }),
            "concat_dataset: index must be in [-size, size), got 5 of 5");
  EXPECT_EQ(error_of([&] { both.locate(-6); }),
            "concat_dataset: index must be in [-size, size), got -6 of 5");
  EXPECT_EQ(error_of([&] { both.sample(5); }), "dataset: index must be in [0, size), got 5 of 5");
  EXPECT_EQ(error_of([] {
              ConcatDataset({numbers(3), numbers(2, 0, "m")});
            }),
            "concat_dataset: members must declare the same tensors, got \"m\" i64 [] and \"n\" i64 "
            "[]");
  EXPECT_EQ(error_of([] {
              ConcatDataset({numbers(3), nullptr});
            }),
            "concat_dataset: each member must be a dataset, got none at 1");
}

TEST(ConcatDataset, DeclaresTheLargestShapes) {
  const auto all = make_dataset<ConcatDataset>(std::vector<DatasetPointer>{
      make_dataset<TensorDataset>(NamedTensors{{"n", full({2, 1}, 5.f)}}),
      make_dataset<Growing>(int64_t{3})});
  EXPECT_EQ(all->specs()[0].shape, Shape{3});
  EXPECT_EQ(all->sample(1)["n"].to_vector<float>(), std::vector<float>{5});
  EXPECT_EQ(all->sample(4)["n"].to_vector<float>(), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(all->sample(3)["n"].shape(), Shape{2});
}

// Says its file, then fails.
struct Broken : Dataset {
  int64_t size() const override { return 1; }
  std::vector<TensorSpec> specs() const override { return {{"n", i64, {}}}; }
  void read(int64_t, Sample& sample, Generator&) const override {
    sample.set_file("broken.avi");
    fail("broken", "it is");
  }
};

TEST(Combinations, SayWhichFileIsRead) {
  const DatasetPointer broken = make_dataset<Broken>();
  const DatasetPointer datasets[] = {make_dataset<Subset>(broken, Indices{0}),
                                     make_dataset<ConcatDataset>(std::vector{broken}),
                                     make_dataset<StackDataset>(std::vector{broken})};
  for (const DatasetPointer& dataset : datasets) {
    Sample sample(checked_specs(dataset->specs()));
    EXPECT_EQ(error_of([&] { dataset->read(0, sample, default_generator()); }), "broken: it is");
    EXPECT_EQ(sample.file(), "broken.avi");
  }
}

// Combinations of combinations, through a loader.
TEST(Combinations, LoadInBatches) {
  const auto all = make_dataset<ConcatDataset>(std::vector<DatasetPointer>{
      slice(numbers(10), {}, {}, 2), make_dataset<Subset>(numbers(5, 100), Indices{4, 3})});
  DataLoader loader(all, {.batch_size = 4});
  std::vector<Indices> batches;
  for (const auto& batch : loader) batches.push_back(batch["n"].to_vector<int64_t>());
  EXPECT_EQ(batches, (std::vector<Indices>{{0, 2, 4, 6}, {8, 104, 103}}));
}

}  // namespace
}  // namespace aorta::data
