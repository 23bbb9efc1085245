#pragma once

#include <aorta/core/tensor.h>

#include <map>
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
  /// Writes the result into inputs[0] and returns it; null where there is no such form.
  Tensor (*in_place)(const Tensors& inputs) = nullptr;
  /// False where the gradient is defined to be another than the derivative.
  bool gradient_is_derivative = true;
  /// False where the gradient is another than PyTorch's on purpose (docs/pytorch.md).
  bool gradient_is_pytorchs = true;
  /// Results are products of many values, whose order the layout decides, and with it whether they
  /// leave the range on the way.
  bool ordered_products = false;
};

/// A call that must throw exactly `error`.
struct BadCall {
  void (*run)();
  const char* error;
};

/// How far a result may be from the reference: `ulps` units in the last place of the result's dtype
/// (half types get one where f32 gets any), `sums` times the unit roundoff times the sum of
/// magnitudes (`scale` in the fixture) where results are sums, and `tiny` times the smallest normal
/// number. `zero_signs`: zeros have the reference's sign. `half_sums` is as `sums` for half types
/// whose terms are rounded to them, with their roundoff.
struct Tolerance {
  double ulps = 0;
  double ulps_f64 = 0;
  double sums = 0;
  double tiny = 0;
  bool zero_signs = true;
  double half_sums = 0;
};

/// What floating inputs of an op become inside an Autocast scope: the scope's half type where that
/// pays, for products; f32 where a half type's range or precision doesn't do.
enum class Autocasts { nothing, half, f32 };

/// What a row with floating results has for a gradient.
enum class Derivative {
  exists,
  zero,  // wherever it exists: steps, and results that are another value than the input's
  none,  // results are not recorded
};

/// A flag is off unless a row says otherwise. Why one does stands beside the row where the flag's
/// own comment isn't the reason.
struct Row {
  /// The name of the op's table row (kernel::OpRow), or of the public function where it has none.
  std::string op;
  /// Some calls read values on the host, or the shapes of their results hang on them: on meta they
  /// say that there are none.
  bool needs_values = false;
  Tolerance tolerance = {};
  std::vector<Call> calls = {};
  std::vector<BadCall> bad = {};
  /// Further ops whose kernels these calls run: all of them, and no other. The op runs on a device
  /// that has a kernel of its own row and of these.
  std::vector<std::string> also = {};
  /// Further public functions that these calls run, or their gradients.
  std::vector<std::string> functions = {};
  /// For results that no fixture can hold (random numbers, fresh memory): throws nothing, expects.
  void (*property)(Device device) = nullptr;
  /// Inputs of the first call that are worth several threads. Families of ops that take any number
  /// of dimensions have none: their first samples are repeated along a new dimension.
  Tensors (*large)() = nullptr;
  Autocasts autocasts = Autocasts::nothing;
  Derivative derivative = Derivative::exists;
  /// The gradient doesn't lead to the tensor that is written: nothing of its values is left.
  bool overwrites = false;
  /// The result jumps wherever the quotient of the two inputs is whole: where the quotient is large
  /// the jumps lie so close together that finite differences see a slope.
  bool jumps_at_whole_quotients = false;
  /// How far gradients may be from PyTorch's, relative to the largest.
  double gradient_tolerance = 1e-11;
  /// Samples (CALL/SAMPLE) whose gradients are differences of close numbers, of which half types
  /// keep nothing.
  std::vector<std::string> cancelling = {};
  /// Whether samples may be repeated along a new first dimension; its family says so.
  bool takes_more_dimensions = false;
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

/// Rows of complex numbers take half types as f32, and give the parts of their results, which the
/// checks of real ones compare, but where a test sets this.
extern bool keeps_complex;

/// Every row, by family.
const std::vector<Row>& rows();
const Row& find_row(const std::string& op);
/// The samples of a row, in the order of their names.
const std::vector<Sample>& samples(const Row& row);

/// A file below tests/fixtures (AORTA_FIXTURES where the tests run elsewhere).
std::string fixture_path(const std::string& name);
/// The arrays of a fixture file of the catalogue by their keys (tests/fixtures/make_core.py).
std::map<std::string, Tensor> fixture_arrays(const std::string& name);
/// Keys of the fixture files that no row's call reads.
std::vector<std::string> unused_fixture_keys();

// The families, each in tests/catalog/FAMILY.cc.
std::vector<Row> pointwise_rows();
std::vector<Row> activation_rows();
std::vector<Row> reduction_rows();
std::vector<Row> line_rows();
std::vector<Row> linalg_rows();
std::vector<Row> decomposition_rows();
std::vector<Row> linalg_function_rows();
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
std::vector<Row> statistics_rows();
std::vector<Row> update_rows();
std::vector<Row> searchsorted_rows();
std::vector<Row> im2col_rows();
std::vector<Row> ctc_loss_rows();
std::vector<Row> complex_rows();
std::vector<Row> spectra_rows();
std::vector<Row> composed_rows();

}  // namespace aorta::catalog
