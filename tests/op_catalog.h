#pragma once

#include <aorta/core/tensor.h>

#include <string>
#include <vector>

// The op catalogue: one row an op. A row names the ways to call the op; what they are called with
// and what comes out stands in tests/fixtures/core/FAMILY.npz, made by PyTorch
// (fixtures/make_core.py). op_checks.h drives every check from the rows.
namespace aorta::catalog {

using Tensors = std::vector<Tensor>;

/// One way to call an op: its parameters. It has samples in the fixture under OP/NAME.
struct Call {
  const char* name = "default";
  Tensors (*run)(const Tensors& inputs) = nullptr;
  /// The same, written into inputs[0] and returned; null where there is no such form.
  Tensor (*in_place)(const Tensors& inputs) = nullptr;
};

/// A call that must throw exactly `error`.
struct BadCall {
  void (*run)();
  const char* error;
};

/// How far a result may be from the reference: `ulps` units in the last place of the result's dtype
/// (half types get one where f32 gets any), `sums` times the unit roundoff times the sum of
/// magnitudes (`scale` in the fixture) where results are sums, and `tiny` times the smallest normal
/// number. `zero_signs`: zeros have the reference's sign.
struct Tolerance {
  double ulps = 0;
  double ulps_f64 = 0;
  double sums = 0;
  double tiny = 0;
  bool zero_signs = true;
};

struct Row {
  /// The name of the op's table row (OpRow), or of the public function where it has none.
  std::string op;
  Tolerance tolerance = {};
  std::vector<Call> calls = {};
  std::vector<BadCall> bad = {};
  /// Further public functions and table rows that these calls test.
  std::vector<std::string> also = {};
  /// For results that no fixture can hold (random numbers, fresh memory): throws nothing, expects.
  void (*property)(Device device) = nullptr;
  /// Inputs of the first call that are worth several threads. Pointwise ops and those along
  /// dimensions have none: their first samples are repeated along a new dimension.
  Tensors (*large)() = nullptr;
  std::string family = {};
};

/// A row's samples: what it is called with, and what PyTorch gives.
struct Sample {
  std::string name;
  const Call* call;
  Tensors inputs;
  std::vector<bool> varied;  // by input: takes the dtype under test
  Tensors outputs, scales;   // f64, i64 or bool; a scale may be undefined
  Tensor dtypes;             // u8 (outputs, 8)
};

/// Every row, by family.
const std::vector<Row>& rows();
const Row& find_row(const std::string& op);
/// The samples of a row, in the order of their names.
const std::vector<Sample>& samples(const Row& row);

/// A file below tests/fixtures (AORTA_FIXTURES where the tests run elsewhere).
std::string fixture_path(const std::string& name);
/// Keys of the fixture files that no row's call reads.
std::vector<std::string> unused_fixture_keys();

// The families, each in tests/catalog/FAMILY.cc.
std::vector<Row> pointwise_rows();
std::vector<Row> activation_rows();
std::vector<Row> reduction_rows();
std::vector<Row> line_rows();
std::vector<Row> linalg_rows();
std::vector<Row> view_rows();
std::vector<Row> creation_rows();
std::vector<Row> rearrange_rows();
std::vector<Row> indexing_rows();
std::vector<Row> pooling_rows();
std::vector<Row> interpolate_rows();
std::vector<Row> convolution_rows();
std::vector<Row> loss_rows();
std::vector<Row> embedding_rows();
std::vector<Row> dropout_rows();
std::vector<Row> attention_rows();
std::vector<Row> normalization_rows();
std::vector<Row> recurrent_rows();
std::vector<Row> random_rows();
std::vector<Row> update_rows();

}  // namespace aorta::catalog
