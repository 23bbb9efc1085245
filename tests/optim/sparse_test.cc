// Sparse gradients of embeddings: SparseAdam, SGD and Adagrad against PyTorch and closed forms, and
// what a step costs.
#include <aorta/autograd/history.h>
#include <aorta/core/allocator.h>
#include <aorta/core/io/load_save.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/optim/clip.h>
#include <aorta/optim/lbfgs.h>
#include <aorta/optim/oracle_gtest.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/optim/optimizers.h>

namespace aorta::optim {
namespace {

using autograd::sparse_grad;

// ---- The runs of tests/fixtures/make_optim_sparse.py.

constexpr int64_t kSteps = 12, kRows = 7, kSize = 3, kRead = 10;

Tensor rows_of(int64_t t) {
  std::vector<int64_t> rows;
  for (int64_t k = 0; k < kRead; ++k)
    rows.push_back(t % 3 == 0 && k < 2 ? kRows - 1 : (k * k * (t % 4) + 2 * t) % (kRows - 1));
  return tensor(rows);
}

void expect_table(const Tensor& got, const Tensor& expected, double tolerance,
                  const std::string& what) {
  const auto a = got.to_vector<double>(), b = expected.to_vector<double>();
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance) << what << ", number " << i;
}

struct SparseRun {
  std::function<std::unique_ptr<Optimizer>(const Tensor& table)> make;
  std::optional<int64_t> padding = {};
};
template <class T>
SparseRun sparse_run(const typename T::Options& options, std::optional<int64_t> padding = {}) {
  return {
      [options](const Tensor& table) { return std::make_unique<T>(List<Tensor>{table}, options); },
      padding};
}

TEST(SparseGradients, TrainAsInPyTorch) {
  const std::map<std::string, SparseRun> runs = {
      {"sparse_adam", sparse_run<SparseAdam>({.lr = 0.1})},
      {"sparse_adam_all", sparse_run<SparseAdam>({.lr = 0.05, .betas = {0.8, 0.95}, .eps = 1e-3})},
      {"sparse_adam_maximize", sparse_run<SparseAdam>({.lr = 0.01, .maximize = true})},
      {"sparse_adam_padding", sparse_run<SparseAdam>({.lr = 0.1}, 4)},
      {"sgd", sparse_run<SGD>({.lr = 0.1})},
      {"adagrad",
       sparse_run<Adagrad>({.lr = 0.1, .lr_decay = 0.02, .initial_accumulator_value = 0.1})},
  };
  std::map<std::string, Tensor> arrays;
  for (const auto& [name, array] : load("tests/fixtures/optim/sparse.npz")) arrays[name] = array;
  for (const auto& [name, run] : runs) {
    for (const DType dtype : {f64, f32}) {
      const Tensor expected = arrays.at(name + (dtype == f64 ? ".f64" : ".f32"));
      const double tolerance = dtype == f64 ? 1e-12 : 1e-6;
      const Tensor table = cos(arange(kRows * kSize, {.dtype = f64}))
                               .reshape({kRows, kSize})
                               .to(dtype)
                               .requires_grad_();
      const auto optimizer = run.make(table);
      for (int64_t t = 1; t <= kSteps; ++t) {
        optimizer->zero_grad();
        const Tensor out = embedding(rows_of(t), table, run.padding, true);
        const Tensor place = arange(1, kRead * kSize + 1).to(f64).reshape(out.shape());
        const Tensor factors = 1 + 0.5 * sin(12.9898 * place + 78.233 * static_cast<double>(t));
        (0.5 * sum(square(out - 1) * factors.to(dtype))).backward();
        optimizer->step();
        expect_table(table, expected.select(0, t - 1), tolerance, name);
      }
      if (!name.starts_with("sparse_adam") || dtype != f64) continue;
      const State state = optimizer->state();
      EXPECT_EQ(state.get<int64_t>("state.0.step"), kSteps);
      for (const char* moment : {"exp_avg", "exp_avg_sq"})
        expect_table(state.tensor(std::string("state.0.") + moment), arrays.at(name + "." + moment),
                     1e-12, name + moment);
    }
  }
}

// ---- The oracle.

TEST(SparseGradients, SparseAdamFollowsItsForms) {
  for (const SparseAdamOptions& o :
       {SparseAdamOptions{}, {.lr = 0.1, .betas = {0.8, 0.9}, .eps = 0.1}, {.maximize = true}}) {
    EXPECT_OPTIMIZER_RULE(oracle::maker<SparseAdam>(o), o);
    EXPECT_OPTIMIZER_CONDUCT(oracle::maker<SparseAdam>(o));
  }
}

struct SparseParts {
  bool corrected = true, eps_late = false, every_row = false, own_steps = false;
  int times = 1;     // that the rule is applied
  double share = 1;  // of the gradient, each time
  double sign = 1, eps = 1e-8;
};

// SparseAdam written with tensor ops, right and wrong.
struct WrittenSparse : CustomOptimizer<SparseAdamOptions> {
  WrittenSparse(std::vector<Tensor> parameters, const SparseAdamOptions& o, const SparseParts& p)
      : CustomOptimizer(std::move(parameters), o), parts(p) {}
  GradientKinds gradient_kinds(size_t) const override { return GradientKinds::sparse; }
  void update(Slot& slot, const SparseAdamOptions& o) override {
    EXPECT_FALSE(slot.gradient.defined());
    const auto& [rows, values, shape, coalesced] = *slot.sparse_gradient;
    EXPECT_TRUE(coalesced);
    const Tensor exp_avg = slot.state("m"), exp_avg_sq = slot.state("v"), steps = slot.state("t");
    if (parts.every_row) {
      mul_(exp_avg, o.betas[0]);
      mul_(exp_avg_sq, o.betas[1]);
    }
    index_add_(steps, 0, rows, ones_like(values));
    for (int time = 0; time < parts.times; ++time) {
      const Tensor g = parts.sign * parts.share * values;
      Tensor m = index_select(exp_avg, 0, rows), v = index_select(exp_avg_sq, 0, rows);
      m = (parts.every_row ? m : o.betas[0] * m) + (1 - o.betas[0]) * g;
      v = (parts.every_row ? v : o.betas[1] * v) + (1 - o.betas[1]) * square(g);
      index_copy_(exp_avg, 0, rows, m);
      index_copy_(exp_avg_sq, 0, rows, v);
      const Tensor t = parts.own_steps ? index_select(steps, 0, rows)
                                       : full({}, static_cast<double>(slot.step), {.dtype = f64});
      const Tensor one = ones({}, {.dtype = f64});
      const Tensor b1 = parts.corrected ? 1 - pow(o.betas[0] * one, t) : one;
      const Tensor b2 = parts.corrected ? 1 - pow(o.betas[1] * one, t) : one;
      const Tensor root =
          parts.eps_late ? sqrt(v / b2) + parts.eps : (sqrt(v) + parts.eps) / sqrt(b2);
      Tensor step = m / b1 / root;
      if (parts.every_row) {  // of all rows
        const Tensor all = (sqrt(exp_avg_sq) + parts.eps) / sqrt(b2);
        sub_(slot.parameter, o.lr * (exp_avg / b1 / all));
      } else {
        index_add_(slot.parameter, 0, rows, -o.lr * step);
      }
    }
  }
  SparseParts parts;
};

TEST(SparseGradients, TheOracleNamesMistakesInSparseAdam) {
  struct Case {
    SparseParts parts;
    const char* words;
  };
  const std::vector<Case> cases = {
      {{}, ""},
      {{.corrected = false}, "no bias correction"},
      {{.eps_late = true}, "eps added before the bias correction, or after it"},
      {{.every_row = true}, "moments of rows that aren't there moved too"},
      {{.own_steps = true}, "steps of each row counted for itself"},
      {{.times = 2, .share = 0.5}, "a step for each time that a row comes"},
      {{.share = 0.5}, "a row that comes twice taken once"},
      {{.sign = -1}, "maximize the wrong way round"},
      {{.eps = 0}, "no eps"},
  };
  const SparseAdamOptions o{.lr = 0.1, .eps = 1e-3};
  for (const Case& c : cases) {
    SparseParts parts = c.parts;
    if (parts.eps != 0) parts.eps = o.eps;
    const auto make = [&](std::vector<Tensor> parameters) -> std::unique_ptr<Optimizer> {
      return std::make_unique<WrittenSparse>(std::move(parameters), o, parts);
    };
    const oracle::Result result = oracle::check_rule(make, o);
    if (!*c.words)
      EXPECT_TRUE(result) << result.message;
    else
      EXPECT_NE(result.message.find(std::string("it moves as with this mistake: ") + c.words),
                std::string::npos)
          << c.words << ": " << result.message;
  }
}

// ---- What a step costs.

// After the first step, which makes the moments, a step of 1,000 rows of 1,000,000 takes memory of
// those rows: of gradient, parameter, moments and indices, a few at a time.
TEST(SparseGradients, AStepTakesMemoryOfItsRowsAlone) {
  constexpr int64_t kTable = 1000000, kDim = 16, kBatch = 1000;
  const Tensor table = zeros({kTable, kDim}).requires_grad_();
  const auto step_with = [&](Optimizer& optimizer, int64_t t) {
    optimizer.zero_grad();
    const Tensor rows = remainder(arange(kBatch) * 7919 + t, kTable);
    sum(embedding(rows, table, {}, true) - 1).backward();
    clip_grad_norm_({table}, 1e9);
    optimizer.step();
  };
  SparseAdam sparse_adam({table});
  SGD sgd({table});
  Adagrad adagrad({table});
  for (Optimizer* optimizer : std::initializer_list<Optimizer*>{&sparse_adam, &sgd, &adagrad}) {
    step_with(*optimizer, 0);
    const int64_t before = cpu::allocator_stats().bytes_in_use;
    cpu::reset_peak_bytes();
    for (int64_t t = 1; t < 4; ++t) step_with(*optimizer, t);
    const int64_t taken = cpu::allocator_stats().peak_bytes - before;
    EXPECT_GT(taken, kBatch * kDim * 4);
    EXPECT_LT(taken, 12 * kBatch * (kDim * 4 + 8));
    EXPECT_LT(taken, table.nbytes() / 50);
  }
}

// ---- Beside other things.

Tensor small_table(DType dtype = f64) { return zeros({4, 2}, {.dtype = dtype}).requires_grad_(); }

TEST(SparseGradients, OfHalfTypesAreAddedInFullPrecision) {
  const Tensor table = small_table(bf16);
  SGD optimizer({table}, {.lr = 1});
  sum(embedding(zeros({1000}, {.dtype = i64}), table, {}, true)).backward();
  optimizer.step();
  EXPECT_EQ(table.to_vector<float>(), (std::vector<float>{-1000, -1000, 0, 0, 0, 0, 0, 0}));
}

TEST(SparseGradients, AreClipped) {
  const Tensor table = small_table(), dense = zeros({1}, {.dtype = f64}).requires_grad_();
  const auto give = [&] {
    table.set_grad({});
    sum(embedding(tensor({2, 0, 2}), table, {}, true)).backward();
    dense.set_grad(tensor({4.0}, {.dtype = f64}));
  };
  give();
  // 1, 1, 2, 2 and 4.
  EXPECT_DOUBLE_EQ(clip_grad_norm_({table, dense}, 2.6).item<double>(), std::sqrt(26));
  const auto clipped = *sparse_grad(table);
  EXPECT_EQ(clipped.indices.to_vector<int64_t>(), (std::vector<int64_t>{0, 2}));
  expect_table(clipped.values, tensor({1.0, 1.0, 2.0, 2.0}, {.dtype = f64}) * 2.6 / std::sqrt(26),
               1e-6, "clipped");
  give();
  clip_grad_value_({table, dense}, 1.5);
  EXPECT_EQ(sparse_grad(table)->values.to_vector<double>(), (std::vector<double>{1, 1, 1.5, 1.5}));
}

// Without rows a step counts and moves nothing, as in PyTorch.
TEST(SparseGradients, WithoutRowsCountAStep) {
  const Tensor table = small_table();
  SparseAdam optimizer({table}, {.lr = 0.5});
  const auto step_of = [&](const Tensor& rows) {
    sum(embedding(rows, table, {}, true)).backward();
    optimizer.step();
  };
  step_of(tensor({1, 1}));
  const Tensor before = table.detach().clone();
  optimizer.zero_grad(false);
  ASSERT_TRUE(sparse_grad(table));
  EXPECT_EQ(sparse_grad(table)->values.shape(), (Shape{0, 2}));
  step_of(empty({0}, {.dtype = i64}));
  expect_same_bits(table, before, "table");
  EXPECT_EQ(optimizer.state().get<int64_t>("state.0.step"), 2);
}

TEST(SparseGradients, OfATableThatIsTransposedOrHasGaps) {
  const Tensor whole = zeros({2, 9}, {.dtype = f64});
  const Tensor table = whole.slice(1, 0, 8, 2).t().detach().requires_grad_();
  const Tensor plain = small_table();
  ASSERT_FALSE(table.is_contiguous());
  SparseAdam optimizer({table}, {.lr = 0.1}), expected({plain}, {.lr = 0.1});
  for (int step = 0; step < 3; ++step) {
    for (const Tensor& t : {table, plain}) {
      t.set_grad({});
      sum(square(embedding(tensor({3, step}), t, {}, true) - 1)).backward();
    }
    optimizer.step();
    expected.step();
  }
  expect_same_bits(table, plain, "table");
  EXPECT_EQ(whole.select(1, 1).to_vector<double>(), (std::vector<double>{0, 0}));
}

TEST(SparseGradients, GoWhereTheParameterIsTaken) {
  const Tensor table = small_table();
  SparseAdam optimizer({table}, {.lr = 0.1});
  sum(embedding(tensor({3, 1, 3}), table, {}, true)).backward();
  autograd::set_data(table, table.detach().to(f32));
  EXPECT_EQ(sparse_grad(table)->values.dtype(), f32);
  optimizer.step();
  EXPECT_EQ(optimizer.state().tensor("state.0.exp_avg").dtype(), f32);
  EXPECT_NEAR(table.at<float>({3, 0}), -0.1, 1e-6);
}

TEST(SparseGradients, AreRefusedByOtherRules) {
  const Tensor table = small_table();
  const auto give = [&] {
    table.set_grad({});
    sum(embedding(tensor({0}), table, {}, true)).backward();
  };
  give();
  const char* wanted =
      "optimizer: the rule takes no sparse gradients: SparseAdam does, and SGD and Adagrad without "
      "momentum and weight decay, got one of [4,2]";
  for (const auto& [name, make] : runs()) {
    const bool takes = name == "sgd" || name == "adagrad";
    const auto optimizer = make({{{table}}});
    const std::string got = error_of([&] { optimizer->step(); });
    EXPECT_EQ(got, takes ? kNoError : wanted) << name;
    EXPECT_EQ(optimizer->state().tensors().empty(), name != "adagrad") << name;
  }
  for (const auto& [name, make] : matrix_runs())
    EXPECT_EQ(error_of([&] { make({{{table}}})->step(); }), wanted) << name;
  LBFGS lbfgs({table});
  EXPECT_EQ(error_of([&] {
              lbfgs.step([&] {
                give();
                return full({}, 1.0, {.dtype = f64});
              });
            }),
            "grad: a sparse gradient is had from autograd::sparse_grad(), got [1,2] of [4,2]");
  table.set_grad(ones({4, 2}, {.dtype = f64}));
  SparseAdam sparse_adam({table});
  EXPECT_EQ(error_of([&] { sparse_adam.step(); }),
            "optimizer: the rule takes no dense gradients: Adam does, got one of [4,2]");
  EXPECT_EQ(error_of([&] { SparseAdam({table}, {.eps = 0}); }),
            "sparse_adam: eps must be above 0, got 0");
  EXPECT_EQ(error_of([&] {
              SparseAdam({table}, {.betas = {0.9, 1}});
            }),
            "sparse_adam: betas must be in [0, 1), got 1");
  EXPECT_EQ(error_of([&] { SparseAdam({table}, {.lr = -1}); }),
            "sparse_adam: lr must be at least 0, got -1");
}

}  // namespace
}  // namespace aorta::optim
