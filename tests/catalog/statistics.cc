#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/nan.h>
#include <aorta/core/ops/quantile.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/statistics.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/ops/view_scatter.h>
#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

void add_nan(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "nan_to_num",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {nan_to_num(x[0])}; },
                  [](const Tensors& x) { return nan_to_num_(x[0]); }},
                 {"numbers",
                  [](const Tensors& x) -> Tensors { return {nan_to_num(x[0], 2, 100, -50)}; },
                  [](const Tensors& x) { return nan_to_num_(x[0], 2, 100, -50); }}},
       .bad = {{[] { nan_to_num(ones({2}, {.dtype = f16}), 1e6); },
                "nan_to_num: the value must fit the dtype, got 1e+06 for f16"}},
       .also = {"eq", "isnan", "to", "where"}});
  rows.push_back({.op = "nansum",
                  .tolerance = kSums,
                  .calls = {{"default", [](const Tensors& x) -> Tensors { return {nansum(x[0])}; }},
                            {"dim", [](const Tensors& x) -> Tensors { return {nansum(x[0], 1)}; }},
                            {"keepdim",
                             [](const Tensors& x) -> Tensors {
                               return {nansum(x[0], {0, -1}, true)};
                             }}},
                  .bad = {{[] { nansum(ones({2}), 2); },
                           "nansum: dimension out of range, got dim 2 of a 1-d tensor"}},
                  .also = {"isnan", "sum", "where"},
                  .autocasts = Autocasts::f32});
  rows.push_back(
      {.op = "nanmean",
       .tolerance = {2, 2, 4},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {nanmean(x[0])}; }},
                 {"dim", [](const Tensors& x) -> Tensors { return {nanmean(x[0], 1)}; }},
                 {"keepdim",
                  [](const Tensors& x) -> Tensors {
                    return {nanmean(x[0], {0, -1}, true)};
                  }}},
       .bad = {{[] { nanmean(ones({2}, {.dtype = i64})); },
                "nanmean: dtype must be floating, got i64"}},
       .also = {"div", "isnan", "logical_not", "sum", "where"}});
}

template <Tensor (*of_all)(const Tensor&), ValuesIndices (*along)(const Tensor&, int64_t, bool)>
Row middle(Row row) {
  row.tolerance = kExact;
  row.calls = {{"default", [](const Tensors& x) -> Tensors { return {of_all(x[0])}; }},
               {"dim",
                [](const Tensors& x) -> Tensors {
                  const ValuesIndices r = along(x[0], 1, false);
                  return {r.values, r.indices};
                }},
               {"keepdim", [](const Tensors& x) -> Tensors {
                  const ValuesIndices r = along(x[0], 0, true);
                  return {r.values, r.indices};
                }}};
  return row;
}

using Quantile = Tensor (*)(const Tensor&, const Operand&, std::optional<int64_t>, bool,
                            const char*);
// The fractions in the input's dtype.
Tensor of(const Tensors& x, const TensorData& q) {
  if (!x[0].defined()) return tensor(q);
  return tensor(q, {.dtype = x[0].dtype(), .device = x[0].device()});
}

template <Quantile f>
Row fractions(Row row) {
  row.tolerance = {4, 4, 0, 0, false};
  row.calls = {
      {"default", [](const Tensors& x) -> Tensors { return {f(x[0], 0.25, {}, false, "linear")}; }},
      {"dim", [](const Tensors& x) -> Tensors { return {f(x[0], 0.375, 1, false, "linear")}; }},
      {"keepdim", [](const Tensors& x) -> Tensors { return {f(x[0], 0.625, 0, true, "linear")}; }},
      {"keep_all", [](const Tensors& x) -> Tensors { return {f(x[0], 1, {}, true, "linear")}; }},
      {"several",
       [](const Tensors& x) -> Tensors {
         return {f(x[0], of(x, {0.0, 0.25, 0.8125, 1.0}), -1, false, "linear")};
       }},
      {"several_kept",
       [](const Tensors& x) -> Tensors {
         return {f(x[0], of(x, {0.5, 0.125}), 1, true, "linear")};
       }},
      {"several_of_all",
       [](const Tensors& x) -> Tensors {
         return {f(x[0], of(x, {0.5, 0.3125}), {}, true, "linear")};
       }},
      {"lower", [](const Tensors& x) -> Tensors { return {f(x[0], 0.375, 1, false, "lower")}; }},
      {"higher", [](const Tensors& x) -> Tensors { return {f(x[0], 0.375, 1, false, "higher")}; }},
      {"nearest", [](const Tensors& x) -> Tensors { return {f(x[0], 0.25, 1, false, "nearest")}; }},
      {"midpoint",
       [](const Tensors& x) -> Tensors { return {f(x[0], 0.375, 1, false, "midpoint")}; }}};
  return row;
}

void add_middles(std::vector<Row>& rows) {
  rows.push_back(middle<median, median>(
      {.op = "median",
       .bad = {{[] { median(ones({2}), 2); },
                "median: dimension out of range, got dim 2 of a 1-d tensor"},
               {[] {
                  median(ones({2, 0}), 1);
                },
                "median: dim must not be of size 0, got 1 of [2,0]"},
               {[] { median(ones({0}, {.dtype = i64})); },
                "median: an integer tensor must have elements, got [0]"}},
       .also = {"amax", "argmax", "fill_", "find_bad_index", "gather", "isnan", "where", "topk"}}));
  rows.push_back(middle<nanmedian, nanmedian>(
      {.op = "nanmedian",
       .needs_values = true,
       .bad = {{[] {
                  nanmedian(ones({2, 0}), 1);
                },
                "nanmedian: dim must not be of size 0, got 1 of [2,0]"}},
       .also = {"clamp_min", "fill_", "find_bad_index", "floor_divide", "gather", "isnan",
                "logical_not", "sort", "sub", "sum", "topk"}}));
  rows.push_back({.op = "mode",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               const ValuesIndices r = mode(x[0]);
                               return {r.values, r.indices};
                             }},
                            {"keepdim",
                             [](const Tensors& x) -> Tensors {
                               const ValuesIndices r = mode(x[0], 0, true);
                               return {r.values, r.indices};
                             }}},
                  .bad = {{[] { mode(ones({2}), 2); },
                           "mode: dimension out of range, got dim 2 of a 1-d tensor"},
                          {[] {
                             mode(ones({2, 0}));
                           },
                           "mode: dim must not be of size 0, got 1 of [2,0]"}},
                  .also = {"argmax", "cummax", "fill_", "find_bad_index", "gather", "ne", "pad",
                           "sort", "sub", "where"}});
  rows.push_back(fractions<quantile>(
      {.op = "quantile",
       .bad = {{[] { quantile(ones({2}), 1.5); }, "quantile: q must be in [0, 1], got 1.5"},
               {[] { quantile(ones({2}), tensor({0.5}, {.dtype = f64})); },
                "quantile: q must have the input's dtype, got f64 for f32"},
               {[] {
                  quantile(ones({2}), ones({1, 1}));
                },
                "quantile: q must be a number, 0-d or 1-d, got [1,1]"},
               {[] {
                  quantile(ones({2, 0}), 0.5, 1);
                },
                "quantile: there must be elements, got [2,0] and dim 1"},
               {[] { quantile(ones({2}, {.dtype = i64}), 0.5); },
                "quantile: dtype must be floating, got i64"},
               {[] { quantile(ones({2}), 0.5, 0, false, "cubic"); },
                "quantile: interpolation must be linear, lower, higher, midpoint or nearest, got "
                "cubic"}},
       .also = {"any", "ceil", "fill_", "find_bad_index", "floor", "gather", "ge", "isnan", "le",
                "lerp", "logical_and", "logical_not", "mul", "nonzero", "round", "sort", "sub",
                "to", "where"}}));
  rows.push_back(fractions<nanquantile>(
      {.op = "nanquantile",
       .bad = {{[] { nanquantile(ones({0}), 0.5); },
                "nanquantile: there must be elements, got [0]"}},
       .also = {"ceil", "clamp_min", "fill_", "find_bad_index", "floor", "gather", "ge", "isnan",
                "le", "lerp", "logical_and", "logical_not", "mul", "nonzero", "round", "sort",
                "sub", "sum", "to"}}));
}

Tensors parts_of(const Histogram& h) { return {h.hist, h.bin_edges}; }

void add_counts(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "histc",
       .needs_values = true,
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {histc(x[0], 4, -2, 2)}; }},
                 {"range", [](const Tensors& x) -> Tensors { return {histc(x[0], 8)}; }}},
       .bad = {{[] { histc(ones({2}), 0); }, "histc: bins must be positive, got 0"},
               {[] { histc(ones({2}), 4, 2, 1); },
                "histc: max must not be below min, got min 2 and max 1"},
               {[] { histc(ones({2}) / 0, 4); },
                "histc: the range must be finite, got min inf and max inf"},
               {[] { histc(ones({2}, {.dtype = i64})); },
                "histc: dtype must be floating, got i64"}},
       .also = {"amax", "amin", "clamp_max", "div", "fill_", "find_bad_index", "ge", "index", "le",
                "logical_and", "mul", "nonzero", "scatter_add_", "sub", "to"},
       .derivative = Derivative::none});
  rows.push_back(
      {.op = "histogram",
       .needs_values = true,
       .tolerance = {4, 4, 4},
       .calls = {{"default", [](const Tensors& x) { return parts_of(histogram(x[0], 8)); }},
                 {"range",
                  [](const Tensors& x) {
                    return parts_of(histogram(x[0], 4, {.range = {{-2, 2}}, .density = true}));
                  }},
                 {"weight",
                  [](const Tensors& x) { return parts_of(histogram(x[0], 5, {.weight = x[1]})); }},
                 {"edges", [](const Tensors& x) { return parts_of(histogram(x[0], x[1])); }}},
       .bad = {{[] { histogram(ones({2}), 0); }, "histogram: bins must be positive, got 0"},
               {[] {
                  histogram(ones({2}), 4, {.range = {{2, 1}}});
                },
                "histogram: the range can't fall, got 2 to 1"},
               {[] { histogram(ones({2}) / 0, 4); },
                "histogram: the range must be finite, got inf to inf"},
               {[] { histogram(ones({2}), ones({1})); },
                "histogram: edges must be two or more, (bins + 1), got [1]"},
               {[] {
                  histogram(ones({2}), ones({2}), {.range = {{0, 1}}});
                },
                "histogram: there is no range beside edges, got one"},
               {[] { histogram(ones({2}), ones({2}, {.dtype = f64})); },
                "histogram: edges must have the input's dtype and device, got f64 on cpu"},
               {[] { histogram(ones({2}), 2, {.weight = ones({3})}); },
                "histogram: weight must have the input's shape, got [3] for [2]"},
               {[] { histogram(ones({2}, {.dtype = i64})); },
                "histogram: dtype must be floating, got i64"}},
       .also = {"amax", "amin", "clamp_max", "div", "fill_", "find_bad_index", "ge", "le",
                "logical_and", "scatter_add_", "searchsorted", "sub", "sum", "to", "where"},
       .derivative = Derivative::none});
  rows.push_back(
      {.op = "bincount",
       .needs_values = true,
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {bincount(x[0])}; }},
                 {"minlength", [](const Tensors& x) -> Tensors { return {bincount(x[0], {}, 9)}; }},
                 {"weights", [](const Tensors& x) -> Tensors { return {bincount(x[0], x[1])}; }}},
       .bad = {{[] { bincount(ones({2})); },
                "bincount: input must be 1-d integers, got f32 of shape [2]"},
               {[] {
                  bincount(tensor({1, -2}));
                },
                "bincount: integers can't be negative, got -2"},
               {[] {
                  bincount(tensor({1, 2}), ones({3}));
                },
                "bincount: weights must have the input's shape, got [3] for [2]"},
               {[] { bincount(tensor({1}), {}, -1); },
                "bincount: minlength can't be negative, got -1"}},
       .also = {"amax", "amin", "fill_", "find_bad_index", "scatter_add_", "to"},
       .derivative = Derivative::none});
  rows.push_back(
      {.op = "unique_consecutive",
       .needs_values = true,
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    const Unique r = unique_consecutive(x[0], true, true);
                    return {r.values, r.inverse, r.counts};
                  }},
                 {"rows",
                  [](const Tensors& x) -> Tensors {
                    const Unique r = unique_consecutive(x[0], true, true, 0);
                    return {r.values, r.inverse, r.counts};
                  }},
                 {"columns",
                  [](const Tensors& x) -> Tensors {
                    const Unique r = unique_consecutive(x[0], true, true, 1);
                    return {r.values, r.inverse, r.counts};
                  }}},
       .bad = {{[] { unique_consecutive(ones({2}), false, false, 2); },
                "unique_consecutive: dimension out of range, got dim 2 of a 1-d tensor"}},
       .also = {"any", "cumsum", "fill_", "find_bad_index", "gather", "ne", "nonzero", "sub", "to"},
       .derivative = Derivative::none});
}

void add_covariances(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "cov",
       .tolerance = {4, 4, 8},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {cov(x[0])}; }},
                 {"population", [](const Tensors& x) -> Tensors { return {cov(x[0], 0)}; }},
                 {"fweights", [](const Tensors& x) -> Tensors { return {cov(x[0], 1, x[1])}; }},
                 {"weights",
                  [](const Tensors& x) -> Tensors { return {cov(x[0], 1, x[1], x[2])}; }}},
       .bad = {{[] {
                  cov(ones({2, 2, 2}));
                },
                "cov: input must have at most 2 dimensions, got [2,2,2]"},
               {[] {
                  cov(ones({2, 3}), 1, tensor({1, 2}));
                },
                "cov: fweights must be one number an observation, got [2] for 3"},
               {[] {
                  cov(ones({2, 3}), 1, ones({3}));
                },
                "cov: fweights must be integers, got f32"},
               {[] {
                  cov(ones({2, 2}), 1, {}, tensor({1, 2}));
                },
                "cov: aweights must be floating, got i64"},
               {[] {
                  cov(ones({2}), 1, tensor({1, -1}));
                },
                "cov: fweights can't be negative, got -1"}},
       .also = {"clamp_min", "div", "fill_", "lt", "matmul", "mul", "nonzero", "sub", "sum",
                "to"}});
  rows.push_back(
      {.op = "corrcoef",
       .tolerance = {4, 4, 8},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {corrcoef(x[0])}; }}},
       .bad = {{[] {
                  corrcoef(ones({2, 2, 2}));
                },
                "corrcoef: input must have at most 2 dimensions, got [2,2,2]"}},
       .also = {"clamp", "clamp_min", "div", "fill_", "matmul", "mul", "sqrt", "sub", "sum"}});
  rows.push_back(
      {.op = "diff",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {diff(x[0])}; }},
                 {"twice", [](const Tensors& x) -> Tensors { return {diff(x[0], 2, 0)}; }},
                 {"often", [](const Tensors& x) -> Tensors { return {diff(x[0], 7)}; }},
                 {"never", [](const Tensors& x) -> Tensors { return {diff(x[0], 0)}; }},
                 {"ends",
                  [](const Tensors& x) -> Tensors { return {diff(x[0], 1, 0, x[1], x[2])}; }}},
       .bad = {{[] { diff(ones({})); }, "diff: input must have a dimension, got []"},
               {[] { diff(ones({2}), -1); }, "diff: n can't be negative, got -1"}},
       .also = {"logical_xor", "sub", "to"}});
}

void add_matrices(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "kron",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {kron(x[0], x[1])}; }}},
       .bad = {{[] {
                  kron(ones({1, 1, 1, 1, 1, 1, 1}), ones({2}));
                },
                "kron: the operands can have 6 dimensions at most, got [1,1,1,1,1,1,1] and [2]"}},
       .also = {"mul"}});
  rows.push_back({.op = "trace",
                  .tolerance = kSums,
                  .calls = {{"default", [](const Tensors& x) -> Tensors { return {trace(x[0])}; }}},
                  .bad = {{[] { trace(ones({2})); }, "trace: input must be a matrix, got [2]"}},
                  .also = {"sum"},
                  .autocasts = Autocasts::f32});
  rows.push_back(
      {.op = "diag",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {diag(x[0])}; }},
                 {"above", [](const Tensors& x) -> Tensors { return {diag(x[0], 2)}; }},
                 {"of_matrix", [](const Tensors& x) -> Tensors { return {diag(x[0], -1)}; }}},
       .bad = {{[] {
                  diag(ones({1, 2, 3}));
                },
                "diag: input must be a vector or a matrix, got [1,2,3]"}},
       .also = {"fill_", "to"}});
  rows.push_back(
      {.op = "diag_embed",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {diag_embed(x[0])}; }},
                 {"offset",
                  [](const Tensors& x) -> Tensors { return {diag_embed(x[0], -2, 2, 0)}; }}},
       .bad = {{[] { diag_embed(ones({2}), 0, 1, -1); },
                "diag_embed: two different dimensions, got 1 and -1"},
               {[] { diag_embed(ones({})); },
                "diag_embed: input must have 1 to 11 dimensions, got []"}},
       .also = {"fill_", "to"}});
  rows.push_back(
      {.op = "diagflat",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {diagflat(x[0])}; }},
                 {"below", [](const Tensors& x) -> Tensors { return {diagflat(x[0], -1)}; }}},
       .bad = {{[] { diagflat(ones({2}), INT64_MIN); },
                "diagflat: diagonal must give a matrix of some size, got -9223372036854775808"}},
       .also = {"fill_", "to"}});
  rows.push_back(
      {.op = "fill_diagonal_",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {fill_diagonal_(x[0].clone(), 2.5)}; },
                  [](const Tensors& x) { return fill_diagonal_(x[0], 2.5); }},
                 {"wrap",
                  [](const Tensors& x) -> Tensors {
                    return {fill_diagonal_(x[0].clone(), 2, true)};
                  },
                  [](const Tensors& x) { return fill_diagonal_(x[0], 2, true); }}},
       .bad = {{[] { fill_diagonal_(ones({2}), 1); },
                "fill_diagonal_: input must have 2 dimensions at least, got [2]"},
               {[] {
                  fill_diagonal_(ones({3, 3, 2}), 1);
                },
                "fill_diagonal_: more than 2 dimensions must be of one size, got [3,3,2]"},
               {[] {
                  fill_diagonal_(ones({1, 3}).expand({3, 3}), 1);
                },
                "fill_diagonal_: a tensor whose elements share memory can't be written; clone it "
                "first, got [3,3] with strides [0,1]"}},
       .also = {"eq", "fill_", "remainder", "to", "where"}});
}

void add_windows(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "unfold",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {unfold(x[0], 1, 3, 1)}; }},
                 {"step", [](const Tensors& x) -> Tensors { return {unfold(x[0], -2, 2, 2)}; }},
                 {"none", [](const Tensors& x) -> Tensors { return {unfold(x[0], 0, 0, 1)}; }},
                 {"one", [](const Tensors& x) -> Tensors { return {unfold(x[0], 0, 1, 1)}; }}},
       .bad = {{[] { unfold(ones({2}), 0, 3, 1); },
                "unfold: size must be in the range of the dimension, got 3 for dim 0 of [2]"},
               {[] { unfold(ones({2}), 0, 1, 0); }, "unfold: step must be positive, got 0"}}});
  rows.push_back({.op = "slice_scatter",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               return {slice_scatter(x[0], x[1], 1, 1, 5, 2)};
                             }}},
                  .bad = {{[] { slice_scatter(ones({3}), ones({3}), 0, 1); },
                           "slice_scatter: src must have the view's shape, got [3] for [2]"}},
                  .also = {"to"}});
  rows.push_back(
      {.op = "select_scatter",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {select_scatter(x[0], x[1], 1, -2)}; }}},
       .bad = {{[] { select_scatter(ones({3}), ones({1}), 0, 1); },
                "select_scatter: src must have the view's shape, got [1] for []"}},
       .also = {"to"}});
  rows.push_back({.op = "diagonal_scatter",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               return {diagonal_scatter(x[0], x[1], 1, 1, 0)};
                             }}},
                  .bad = {{[] {
                             diagonal_scatter(ones({3, 3}), ones({2}));
                           },
                           "diagonal_scatter: src must have the view's shape, got [2] for [3]"}},
                  .also = {"to"}});
  rows.push_back({.op = "as_strided_scatter",
                  .tolerance = kExact,
                  .calls = {{.name = "default",
                             .run = [](const Tensors& x) -> Tensors {
                               return {as_strided_scatter(x[0], x[1], {2, 3}, {1, 4}, 2)};
                             },
                             // PyTorch's fails PyTorch's own gradcheck.
                             .gradient_is_pytorchs = false}},
                  .bad = {{[] { as_strided_scatter(ones({3}), ones({2}), {3}, {1}); },
                           "as_strided_scatter: src must have the view's shape, got [2] for [3]"}},
                  .also = {"to"}});
}

}  // namespace

std::vector<Row> statistics_rows() {
  std::vector<Row> rows;
  add_nan(rows);
  add_middles(rows);
  add_counts(rows);
  add_covariances(rows);
  add_matrices(rows);
  add_windows(rows);
  return rows;
}

}  // namespace aorta::catalog
