#pragma once

#include <aorta/tests/op_catalog.h>
#include <aorta/tools/bench/harness.h>

#include <optional>
#include <string>
#include <vector>

// Every differentiable op of the catalogue (tests/op_catalog.h) beside PyTorch. A row's first call
// is what is measured: on the inputs of its first sample, or on those that its row calls large,
// made larger. PyTorch's side is the function that made the sample's reference (peer_sweep.py).

namespace aorta::bench {

/// What the sweep measures of a row of the catalogue.
struct SweepOp {
  const catalog::Row* row;
  const catalog::Sample* sample;
};

/// Nothing for a row that isn't measured, with the reason in `why`.
std::optional<SweepOp> sweep_op(const catalog::Row& row, std::string& why);

/// Inputs of the op's first call in f32 whose largest tensor, or that of the results, has about so
/// many elements; fewer or more where the op's form allows no other.
catalog::Tensors sweep_inputs(const SweepOp& op, int64_t elements);

/// A line a direction of an op, its ratios by dtype, size and threads, once all of them are
/// measured; empty before. `rows` are those of the table, `results` of the first of them.
std::string sweep_line(const std::vector<Row>& rows, const std::vector<Result>& results);
/// How the ratios are distributed, the worst rows, and those where two threads are slower than one.
std::string sweep_summary(const std::vector<Row>& rows, const std::vector<Result>& results);

}  // namespace aorta::bench
