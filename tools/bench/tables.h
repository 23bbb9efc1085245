#pragma once

#include <aorta/tools/bench/harness.h>

#include <span>
#include <vector>

namespace aorta::bench {

/// What a table's rows depend on.
struct Plan {
  std::vector<int> threads = {1};
  /// Small inputs, to see that every row runs; the times say nothing.
  bool tiny = false;

  int64_t size(int64_t full, int64_t small) const { return tiny ? small : full; }
};

using Rows = std::vector<Row>;

struct Table {
  const char* name;
  const char* about;
  Rows (*rows)(const Plan& plan) = nullptr;
  /// For a table of another kind: all of it, given what stands after its name; the exit status.
  int (*run)(const std::vector<std::string>& arguments) = nullptr;
  Settings settings = {};
  /// For a table of very many rows: what is printed after a row was measured, and below the table
  /// in footer()'s place, of all rows and the results so far.
  std::string (*line)(const Rows& rows, const std::vector<Result>& results) = nullptr;
  std::string (*summary)(const Rows& rows, const std::vector<Result>& results) = nullptr;
};

/// Every table that the program knows.
std::span<const Table> tables();

// tables/core_*.cc, the parts of `core`; the others are a file a table.
void add_small_rows(Rows& rows, const Plan& plan);
void add_memory_rows(Rows& rows, const Plan& plan);
void add_layout_rows(Rows& rows, const Plan& plan);
void add_matmul_rows(Rows& rows, const Plan& plan);
Rows autograd_rows(const Plan& plan);
Rows convolution_rows(const Plan& plan);
Rows attention_rows(const Plan& plan);
Rows training_rows(const Plan& plan);
Rows parallel_rows(const Plan& plan);
Rows transcendental_rows(const Plan& plan);
Rows reduce_rows(const Plan& plan);
Rows index_rows(const Plan& plan);
Rows random_rows(const Plan& plan);
Rows optimizer_rows(const Plan& plan);
Rows cuda_rows(const Plan& plan);
Rows cuda_training_rows(const Plan& plan);
Rows cuda_matmul_rows(const Plan& plan);
Rows cuda_copies_rows(const Plan& plan);
Rows cuda_overlap_rows(const Plan& plan);
Rows cuda_cpu_rows(const Plan& plan);
Rows cuda_loader_rows(const Plan& plan);
Rows cuda_linalg_rows(const Plan& plan);
Rows sweep_rows(const Plan& plan);
Rows compile_rows(const Plan& plan);
/// bench build: device code compiled for the emulated device, and the tests on it, beside their
/// limits (tools/build_cost.sh). Returns 1 where a limit is broken.
int run_build(const std::vector<std::string>& arguments);
int run_loader(const std::vector<std::string>& arguments);
int run_loader_sweep(const std::vector<std::string>& arguments);
int run_loader_workers(const std::vector<std::string>& arguments);
int run_loader_place(const std::vector<std::string>& arguments);
/// Rows whose verdicts are known: what tests look at.
Rows selftest_rows(const Plan& plan);

}  // namespace aorta::bench
