// Indices, classes and probabilities out of range on a GPU: the op waits for nothing, reads and
// writes inside of its tensors, and whoever waits next is told.
#include <aorta/autograd/sparse_gradient.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/module_path.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/cuda/gpu.h>
#include <aorta/tests/error_text.h>

#include <filesystem>
#include <functional>

using namespace aorta;
using gpu_test::bad_value_text;

namespace {

using BadValues = gpu_test::Gpu;

Tensor indices(const std::vector<int64_t>& values) { return tensor(values, {.dtype = i64}).cuda(); }
Tensor table() { return arange(12, {.dtype = f32}).view({4, 3}).cuda(); }

std::string of_a_wait() {
  return error_of([] { synchronize("cuda:0"); });
}

}  // namespace

TEST_F(BadValues, AreSaidByTheNextWaitOnce) {
  const Tensor x = table(), column = indices({0, 1, 4, -5}).view({4, 1});
  const Tensor places = indices({3, 9, 0}), rows = ones({3, 3}, {.device = "cuda"});
  const Tensor p = tensor({0.5, 2.0}, {.dtype = f32}).cuda(), half = full({2}, 0.5).cuda();
  const Tensor scores = rand({3, 4}, {.device = "cuda"}), classes = indices({1, -2, 4});
  const Tensor from_the_end = indices({-12, -13}), written = ones({4, 1}, {.device = "cuda"});
  struct Case {
    std::string op;
    int place;
    std::function<void()> call;
  };
  const Case cases[] = {
      {"gather", 2, [&] { gather(x, 1, column); }},
      {"index_select", 1, [&] { index_select(x, 0, places); }},
      {"take", 1, [&] { take(x, from_the_end); }},
      {"take_along_dim", 2, [&] { take_along_dim(x, column, 1); }},
      {"scatter", 2, [&] { scatter(x, 1, column, written); }},
      {"index_add", 1, [&] { index_add(x, 0, places, rows); }},
      {"index_copy", 1, [&] { index_copy(x, 0, places, rows); }},
      {"index_fill", 1, [&] { index_fill(x, 0, places, 1); }},
      {"index", 1, [&] { index(x, {places}); }},
      {"index_put", 1, [&] { index_put(x, {places}, rows); }},
      {"embedding", 1, [&] { embedding(places, x); }},
      {"one_hot", 1, [&] { one_hot(places, 5); }},
      {"cross_entropy", 1, [&] { cross_entropy(scores, classes); }},
      {"nll_loss", 1, [&] { nll_loss(scores, classes); }},
      {"binary_cross_entropy", 1, [&] { binary_cross_entropy(p, half); }},
      {"bernoulli", 1, [&] { bernoulli(p); }},
      {"multinomial", 0, [&] { multinomial(-half, 1); }},
  };
  for (const Case& one : cases) {
    Profiler profiler;
    EXPECT_EQ(error_of(one.call), kNoError) << one.op;
    profiler.stop();
    for (const ProfiledRange& range : profiler.ranges())
      EXPECT_FALSE(range.name.ends_with(" waits")) << one.op << ": " << range.name;
    EXPECT_EQ(of_a_wait(), bad_value_text(one.op, one.place));
    EXPECT_EQ(of_a_wait(), kNoError) << one.op;
  }
}

TEST_F(BadValues, LeaveTheOthersRight) {
  const Tensor x = table();
  const Tensor read = index(x, {indices({-1, 7, 1, -5})});
  EXPECT_EQ(of_a_wait(), bad_value_text("index", 1));
  EXPECT_EQ(read.select(0, 0).to_vector<double>(), std::vector<double>({9, 10, 11}));
  EXPECT_EQ(read.select(0, 2).to_vector<double>(), std::vector<double>({3, 4, 5}));
}

// A value is its own op's, whatever waits: the copy of another tensor, an op whose size is data's.
TEST_F(BadValues, AnyWaitSaysThem) {
  const Tensor x = table(), other = ones({2}, {.device = "cuda"});
  const std::function<void()> waits[] = {[&] { other.cpu(); }, [&] { sum(other).item<float>(); },
                                         [&] { nonzero(other); }};
  for (const auto& wait : waits) {
    embedding(indices({0, 4}), x);
    EXPECT_EQ(error_of(wait), bad_value_text("embedding", 1));
    EXPECT_EQ(error_of(wait), kNoError);
  }
  const Tensor rows = indices({0, 4}), places = indices({12});
  embedding(rows, x);
  take(x, places);
  EXPECT_EQ(of_a_wait(), bad_value_text("embedding", 1));
  EXPECT_EQ(of_a_wait(), bad_value_text("take", 0));
  EXPECT_EQ(of_a_wait(), kNoError);
}

TEST_F(BadValues, OfAStreamAreNotForgottenByAWaitForAnother) {
  const Tensor x = table(), bad = indices({4});
  synchronize("cuda:0");
  const Stream before = device().current_stream(0), side = device().create_stream(0);
  device().set_current_stream(side);
  embedding(bad, x);
  device().set_current_stream(before);
  device().synchronize_stream(before);
  EXPECT_EQ(of_a_wait(), bad_value_text("embedding", 0));
  device().destroy_stream(side);
}

TEST_F(BadValues, AreAModules) {
  const Tensor x = table(), bad = indices({4});
  {
    const ModuleScope scope("words");
    embedding(bad, x);
  }
  EXPECT_EQ(of_a_wait(), "words: " + bad_value_text("embedding", 0));
}

// Thousands of ops that nobody waits for: their places are looked at in between.
TEST_F(BadValues, AreFoundAmongManyCalls) {
  const Tensor x = table(), good = indices({3}), bad = indices({4});
  const auto calls = [&](int bad_one) {
    return error_of([&] {
      for (int i = 0; i < 2100; ++i) embedding(i == bad_one ? bad : good, x);
      synchronize("cuda:0");
    });
  };
  EXPECT_EQ(calls(-1), kNoError);
  for (const int i : {3, 1500, 2099}) EXPECT_EQ(calls(i), bad_value_text("embedding", 0));
  EXPECT_EQ(of_a_wait(), kNoError);
}

TEST_F(BadValues, OfASparseGradient) {
  Tensor x = table().requires_grad_();
  autograd::set_sparse_grad(x,
                            {indices({1, 4}), ones({2, 3}, {.device = "cuda"}), x.shape(), false});
  EXPECT_EQ(of_a_wait(), bad_value_text("set_sparse_grad", 1));
}

// In a process of its own, by the next test: the variable is read once.
TEST_F(BadValues, DISABLED_AreSaidByTheCall) {
  const Tensor x = table(), scores = rand({3, 4}, {.device = "cuda"});
  EXPECT_EQ(error_of([&] {
              embedding(indices({3, 9}), x);
            }),
            "embedding: index must be in [0, V), got 9 at [1], V 4");
  EXPECT_EQ(error_of([&] { index_select(x, 0, indices({9})); }),
            "index_select: index out of range, got 9 in dimension 0 of size 4");
  EXPECT_EQ(error_of([&] {
              cross_entropy(scores, indices({1, -2, 4}));
            }),
            "cross_entropy: target must be in [0, C) or ignore_index, got -2 at [1], C 4");
  EXPECT_EQ(error_of([&] { binary_cross_entropy(full({2}, 1.5).cuda(), ones({2}).cuda()); }),
            "binary_cross_entropy: input must lie in [0, 1], got 1.5");
  EXPECT_EQ(error_of([&] { binary_cross_entropy(ones({2}).cuda(), full({2}, 1.5).cuda()); }),
            "binary_cross_entropy: target must lie in [0, 1], got 1.5");
  EXPECT_EQ(error_of([&] { index(x, {indices({-4, 3})}); }), kNoError);
  EXPECT_EQ(of_a_wait(), kNoError);
}

TEST_F(BadValues, AreSaidByTheCallWhereLaunchesAreWaitedFor) {
  const std::string child = "AORTA_LAUNCH_BLOCKING=1 " +
                            std::filesystem::read_symlink("/proc/self/exe").string() +
                            " --gtest_also_run_disabled_tests --gtest_filter=BadValues.DISABLED_*";
  EXPECT_EQ(std::system(child.c_str()), 0);
}
