// Every differentiable op of the catalogue is in the table `sweep`, at every size; those that
// aren't are named here.
#include <aorta/core/check.h>
#include <aorta/tools/bench/sweep.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace aorta::bench {
namespace {

using Names = std::set<std::string>;

// Whether a call of the row gives a floating result of floating inputs.
bool is_floating_function(const catalog::Row& row) {
  for (const catalog::Sample& sample : catalog::samples(row)) {
    bool of_floating = false, gives_floating = false;
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      of_floating |= sample.varied[i] && is_floating(sample.inputs[i].dtype());
    }
    for (const Tensor& output : sample.outputs) gives_floating |= is_floating(output.dtype());
    if (of_floating && gives_floating) return true;
  }
  return false;
}

TEST(Sweep, HasEveryDifferentiableOp) {
  Names left_out;
  std::string why;
  for (const catalog::Row& row : catalog::rows()) {
    const bool differentiable =
        row.derivative == catalog::Derivative::exists && is_floating_function(row);
    const bool is_in = sweep_op(row, why).has_value();
    EXPECT_TRUE(differentiable || !is_in) << row.op;
    if (differentiable && !is_in) left_out.insert(row.op + ": " + why);
  }
  EXPECT_EQ(left_out, Names{});
}

TEST(Sweep, InputsHaveTheirSize) {
  constexpr int64_t kElements = 100'000;
  Names others;
  std::string why;
  for (const catalog::Row& row : catalog::rows()) {
    const std::optional<SweepOp> op = sweep_op(row, why);
    if (!op) continue;
    int64_t most = 0;
    const catalog::Tensors inputs = sweep_inputs(*op, kElements);
    for (const catalog::Tensors& tensors : {inputs, op->sample->call->run(inputs)}) {
      for (const Tensor& t : tensors) most = std::max(most, t.defined() ? t.numel() : 0);
    }
    if (most < kElements / 3 || most > kElements * 3) others.insert(row.op);
  }
  // Results that are larger than the square of an input, shapes and numbers that a call fixes, and
  // solutions by factors, whose sides are small.
  EXPECT_EQ(others,
            (Names{"atleast_1d",   "atleast_2d",     "atleast_3d", "block_diag", "column_stack",
                   "combinations", "corrcoef",       "cov",        "diag",       "diagflat",
                   "dstack",       "expand",         "inner",      "kron",       "ldl_solve",
                   "lu_solve",     "masked_scatter", "pdist",      "tensorinv",  "tensorsolve",
                   "vander",       "view",           "vstack"}));
}

Row row_of(const std::string& name, int threads) {
  return {.name = name, .threads = threads, .make = {}};
}

Result result_of(double seconds, double ratio, std::string missing = {}) {
  Result result;
  result.ours.median = seconds;
  result.to_peer.of_medians = ratio;
  result.peer.missing = std::move(missing);
  return result;
}

TEST(Sweep, LineAndSummarySayWhatWasMeasured) {
  const std::vector<Row> rows = {
      row_of("op forward, f32, 1000", 1), row_of("op forward, f32, 1000", 2),
      row_of("op forward, bf16, 1000", 1), row_of("op backward, f32, 1000", 1),
      row_of("op backward, f32, 1000", 2)};
  std::vector<Result> results = {result_of(1, 0.5), result_of(2, 1.5)};
  EXPECT_EQ(sweep_line(rows, results), "");
  results.push_back(result_of(1, 0, "PyTorch: none"));
  EXPECT_EQ(sweep_line(rows, results),
            "op forward                              f32 1000 0.50/1.50  bf16 1000 -\n");
  results.push_back(result_of(1, 0.25));
  results.push_back(result_of(1, 0));
  results.back().verdict = Verdict::mismatch;
  results.back().note = "PyTorch: value 1: 2 against 3";
  EXPECT_EQ(sweep_line(rows, results),
            "op backward                             f32 1000 0.25/MISMATCH\n");
  const std::string summary = sweep_summary(rows, results);
  for (const char* text :
       {"all                median 0.50x, <= 1.0x  66.7 %, > 1.2x 33.3 %, worst 1.50x, of 3\n",
        "backward           median 0.25x, <= 1.0x 100.0 %, > 1.2x  0.0 %, worst 0.25x, of 1\n",
        "The 3 worst:\n   1.50x  op forward, f32, 1000, 2 threads\n",
        "Slower than on 1 thread by more than 5 %: 1 of 2\n   2.00x  op forward, f32, 1000, 2 "
        "threads\n",
        "MISMATCH: op backward, f32, 1000, 2 threads: PyTorch: value 1: 2 against 3\n",
        "Not compared (PyTorch: none; 1): op forward, bf16, 1000\n"}) {
    EXPECT_NE(summary.find(text), std::string::npos) << text << "in\n" << summary;
  }
}

}  // namespace
}  // namespace aorta::bench
