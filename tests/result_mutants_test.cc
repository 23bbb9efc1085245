#include <aorta/tests/mutants.h>
#include <aorta/tests/result_mutants.h>
#include <gtest/gtest.h>

// Every row of the op catalogue is held to samples that a wrong result doesn't pass.
namespace aorta::catalog {
namespace {

const std::vector<mutants::Exception>& exceptions() {
  static const std::vector<mutants::Exception> all = {
      {"the op is symmetric",
       "(add|mul|eq|ne|logical_(and|or|xor)|bitwise_(and|or|xor)|hypot|logaddexp2?|dot|inner|gcd|"
       "lcm|vecdot|(mse|l1|smooth_l1|huber)_loss|cosine_(similarity|embedding_loss))/\\w+: inputs "
       "0 and 1 "
       "exchanged|"
       "complex_binary/(add|eq|ne|mul|logical_and): inputs 0 and 1 exchanged|"
       "(addcmul/\\w+: inputs 1 and 2|lstm_cell/default: inputs 5 and 6|"
       "complex_move/permute: inputs 0 and 1) exchanged|"
       "(add|mul|minimum|maximum|eq|ne|logical_(and|or|xor)|bitwise_(and|or|xor)|hypot|logaddexp2?|"
       "gcd|lcm)/number(_left)?: runs number(_left)?"},
      {"all results are alike",
       "(fill_|(zeros|ones|full)(_like)?)/\\w+: (input 0 alike|output 0 (reversed|rolled))|"
       "(dropout([123]d)?/all|lstsq/default|matrix_power/zero|logical_or/"
       "number(_left)?|(heaviside|prelu)/number_left): (input 0 "
       "alike|output [02] (reversed|rolled))|eye/default: output 0 reversed"},
      {"there is no element", "((topk|slice|combinations|unfold)/none|diff/often): input 0 alike"},
      {"the input isn't read",
       "(lerp/ends|heaviside/values|copy_/default|(addmm|baddbmm|addbmm|addmv|addr)/no_input): "
       "input 0 alike|(addmm|baddbmm)/no_product: input [12] alike"},
      {"another form of the same call",
       "heaviside/(default: runs values|values: runs default)|"
       "einsum/(batch: runs ellipsis|implicit: runs (ellipsis|matmul)|matmul: runs (ellipsis|"
       "implicit))|"
       "index/(mask|mask_rows|rows): runs (mask|mask_rows|rows)|"
       "masked_select/(default|broadcast): runs (default|broadcast)|"
       "qr/(complete: runs (complete_tall|default)|complete_tall: runs complete)|"
       "svd/full: runs default|"
       "conv[123]d/(default: runs valid|valid: runs default)|"
       "nll_loss/weight(_none|_sum)?: runs (default|none|sum)|"
       "cosine_similarity/vectors: runs last|"
       "dropout([123]d)?/(default: runs none|none: runs default)|"
       "scaled_dot_product_attention/(added: runs mask|mask: runs added)|"
       "complex_product/(linear: runs matmul|matmul: runs linear)|"
       "inner/(default: runs number|number: runs default)|conj/default: outputs 0 and 1 exchanged|"
       "fft_c2c/n_\\d+: runs (n_\\d+|dim)|fft_r2c/(n_\\d+|backward): runs (n_\\d+|backward)|"
       "fft_r2c/n_1: runs (forward|ortho)|fft_c2r/n_\\d+: runs backward"},
      {"another form of the same call",  // probabilities and weights are inputs
       "cross_entropy/(probabilities_?)?(smoothing|)_?(weight)?_?(none|sum|)(default)?: runs "
       "(probabilities_?)?\\2_?(weight)?_?\\4(default)?"},
      {"an option of the gradient",
       "embedding/(default|padding|padding_last): runs (default|padding|padding_last)"},
      {"its values differ by dtype: tests/core/composed_test.cc",
       "nextafter/default: inputs 0 and 1 exchanged"}};
  return all;
}

void count_mutants(const Row& row, mutants::Count& count) {
  ++count.rows;
  for (const auto& [mutant, caught] : result_mutants(row))
    count.add(row.op + "/" + mutant, caught, exceptions());
}

std::vector<const Row*> rows_with_calls() {
  std::vector<const Row*> result;
  for (const Row& row : rows()) {
    if (!row.calls.empty()) result.push_back(&row);
  }
  return result;
}

class ResultMutants : public ::testing::TestWithParam<const Row*> {};
TEST_P(ResultMutants, AreCaught) {
  mutants::Count count;
  count_mutants(*GetParam(), count);
}
INSTANTIATE_TEST_SUITE_P(Rows, ResultMutants, ::testing::ValuesIn(rows_with_calls()),
                         [](const auto& test) { return test.param->op; });

TEST(ResultMutantsTable, ThePageCountsThem) {
  std::map<std::string, mutants::Count> families;
  for (const Row* row : rows_with_calls()) count_mutants(*row, families[row->family]);
  mutants::expect_counts("results of ops", families, exceptions());
}

}  // namespace
}  // namespace aorta::catalog
