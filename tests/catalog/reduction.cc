#include <aorta/core/ops/reduction.h>
#include <aorta/tests/catalog/rows.h>

#include <cmath>

namespace aorta::catalog {
namespace {

// Which of two zeros is the larger isn't said.
constexpr Tolerance kExactButZeros{.zero_signs = false};

// Samples of the moments with values that are equal, or far from 0 beside their differences.
const std::vector<std::string> kCloseMoments = {
    "correction2/equal", "correction2/shifted", "default/equal", "default/shifted",
    "dim/equal",         "dim/shifted",         "keepdim/equal", "keepdim/shifted",
    "population/equal",  "population/shifted"};

// `row` with the calls of a reduction: over one dimension, kept or not, over several, and over all.
template <Tensor (*f)(const Tensor&, const ReduceDims&, bool)>
Row over_dims(Row row) {
  row.calls = {{"dim", [](const Tensors& x) -> Tensors { return {f(x[0], 1, false)}; }},
               {"keepdim", [](const Tensors& x) -> Tensors { return {f(x[0], -1, true)}; }},
               {"dims",
                [](const Tensors& x) -> Tensors {
                  return {f(x[0], {0, -1}, false)};
                }},
               {"default", [](const Tensors& x) -> Tensors { return {f(x[0], {}, false)}; }}};
  return row;
}

void add_sums(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "sum",
       .tolerance = kSums,
       .calls = {{"dim", [](const Tensors& x) -> Tensors { return {sum(x[0], 1)}; }},
                 {"keepdim", [](const Tensors& x) -> Tensors { return {sum(x[0], -1, true)}; }},
                 {"dims",
                  [](const Tensors& x) -> Tensors {
                    return {sum(x[0], {0, -1})};
                  }},
                 {"default", [](const Tensors& x) -> Tensors { return {sum(x[0])}; }},
                 {"dtype", [](const Tensors& x) -> Tensors { return {sum(x[0], 1, false, f64)}; }}},
       .bad = {{[] { sum(ones({2}), 2); },
                "sum: dimension out of range, got dim 2 of a 1-d tensor"},
               {[] {
                  sum(ones({2, 2}), {0, -2});
                },
                "sum: a dimension can be given only once, got [0,-2]"}},
       .autocasts = Autocasts::f32});
  rows.push_back(
      {.op = "sum_to_size",
       .tolerance = kSums,
       .calls = {{"column",
                  [](const Tensors& x) -> Tensors {
                    return {sum_to_size(x[0], {3, 1})};
                  }},
                 {"last", [](const Tensors& x) -> Tensors { return {sum_to_size(x[0], {4})}; }},
                 {"all", [](const Tensors& x) -> Tensors { return {sum_to_size(x[0], {})}; }},
                 {"same",
                  [](const Tensors& x) -> Tensors {
                    return {sum_to_size(x[0], {2, 3, 4})};
                  }}},
       .bad = {{[] {
                  sum_to_size(ones({2, 3}), {2});
                },
                "sum_to_size: the shape must broadcast to the input's, got [2] for [2,3]"}},
       .also = {"sum"},
       .autocasts = Autocasts::f32});
  rows.push_back(
      {.op = "mean",
       .tolerance = {2, 2, 4},
       .calls = {{"dim", [](const Tensors& x) -> Tensors { return {mean(x[0], 1)}; }},
                 {"keepdim", [](const Tensors& x) -> Tensors { return {mean(x[0], -1, true)}; }},
                 {"dims",
                  [](const Tensors& x) -> Tensors {
                    return {mean(x[0], {0, -1})};
                  }},
                 {"default", [](const Tensors& x) -> Tensors { return {mean(x[0])}; }}},
       .bad = {
           {[] { mean(ones({2}), 2); }, "mean: dimension out of range, got dim 2 of a 1-d tensor"},
           {[] { mean(ones({2}, {.dtype = i64})); }, "mean: dtype must be floating, got i64"}}});
  rows.push_back(
      over_dims<amax>({.op = "amax",
                       .tolerance = kExactButZeros,
                       .bad = {{[] { amax(ones({2}), 2); },
                                "amax: dimension out of range, got dim 2 of a 1-d tensor"}}}));
  rows.push_back(
      over_dims<amin>({.op = "amin",
                       .tolerance = kExactButZeros,
                       .bad = {{[] { amin(ones({2}), 2); },
                                "amin: dimension out of range, got dim 2 of a 1-d tensor"}}}));
  rows.push_back(
      over_dims<any>({.op = "any",
                      .tolerance = kExact,
                      .bad = {{[] { any(ones({2}), 2); },
                               "any: dimension out of range, got dim 2 of a 1-d tensor"}}}));
  rows.push_back(
      over_dims<all>({.op = "all",
                      .tolerance = kExact,
                      .bad = {{[] { all(ones({2}), 2); },
                               "all: dimension out of range, got dim 2 of a 1-d tensor"}}}));
  rows.push_back(
      {.op = "logsumexp",
       .tolerance = {4, 8, 4},
       .calls = {{"dim", [](const Tensors& x) -> Tensors { return {logsumexp(x[0], 1)}; }},
                 {"keepdim",
                  [](const Tensors& x) -> Tensors { return {logsumexp(x[0], -1, true)}; }},
                 {"dims",
                  [](const Tensors& x) -> Tensors {
                    return {logsumexp(x[0], {0, -1})};
                  }}},
       .bad = {{[] { logsumexp(ones({2}), 2); },
                "logsumexp: dimension out of range, got dim 2 of a 1-d tensor"}},
       .autocasts = Autocasts::f32});
  rows.push_back({.op = "prod",
                  .tolerance = {4, 8},
                  .calls = {{.name = "default",
                             .run = [](const Tensors& x) -> Tensors { return {prod(x[0])}; },
                             .ordered_products = true},
                            {.name = "dim",
                             .run = [](const Tensors& x) -> Tensors { return {prod(x[0], 1)}; },
                             .ordered_products = true}},
                  .bad = {{[] { prod(ones({2}), 2); },
                           "prod: dimension out of range, got dim 2 of a 1-d tensor"}},
                  .autocasts = Autocasts::f32});
}

void add_moments(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "var",
       .tolerance = {4, 4, 2},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {aorta::var(x[0])}; }},
                 {"dim", [](const Tensors& x) -> Tensors { return {aorta::var(x[0], 1)}; }},
                 {"keepdim",
                  [](const Tensors& x) -> Tensors {
                    return {aorta::var(x[0], {0, 2}, 1, true)};
                  }},
                 {"population",
                  [](const Tensors& x) -> Tensors { return {aorta::var(x[0], 1, 0)}; }},
                 {"correction2",
                  [](const Tensors& x) -> Tensors { return {aorta::var(x[0], 1, 2)}; }}},
       .bad = {{[] { aorta::var(ones({2}, {.dtype = i64})); },
                "var: dtype must be floating, got i64"}},
       .cancelling = kCloseMoments});
  rows.push_back(
      {.op = "std",
       .tolerance = {4, 4, 2},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {aorta::std(x[0])}; }},
                 {"dim", [](const Tensors& x) -> Tensors { return {aorta::std(x[0], 1)}; }},
                 {"keepdim",
                  [](const Tensors& x) -> Tensors {
                    return {aorta::std(x[0], {0, 2}, 1, true)};
                  }},
                 {"population", [](const Tensors& x) -> Tensors { return {stddev(x[0], 1, 0)}; }},
                 {"correction2",
                  [](const Tensors& x) -> Tensors { return {aorta::std(x[0], 1, 2)}; }}},
       .bad = {{[] { aorta::std(ones({2}, {.dtype = i64})); },
                "std: dtype must be floating, got i64"}},
       .functions = {"stddev"},
       .cancelling = kCloseMoments});
  rows.push_back({.op = "var_mean",
                  .tolerance = {4, 4, 2},
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               const VarMean r = var_mean(x[0]);
                               return {r.var, r.mean};
                             }},
                            {"dim",
                             [](const Tensors& x) -> Tensors {
                               const VarMean r = var_mean(x[0], 1);
                               return {r.var, r.mean};
                             }},
                            {"keepdim",
                             [](const Tensors& x) -> Tensors {
                               const VarMean r = var_mean(x[0], {0, 2}, 1, true);
                               return {r.var, r.mean};
                             }},
                            {"population",
                             [](const Tensors& x) -> Tensors {
                               const VarMean r = var_mean(x[0], 1, 0);
                               return {r.var, r.mean};
                             }},
                            {"correction2",
                             [](const Tensors& x) -> Tensors {
                               const VarMean r = var_mean(x[0], 1, 2);
                               return {r.var, r.mean};
                             }}},
                  .bad = {{[] { aorta::var_mean(ones({2}, {.dtype = i64})); },
                           "var_mean: dtype must be floating, got i64"}},
                  .cancelling = kCloseMoments});
}

void add_picks(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "argmax",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {argmax(x[0])}; }},
                 {"dim", [](const Tensors& x) -> Tensors { return {argmax(x[0], 1)}; }},
                 {"keepdim", [](const Tensors& x) -> Tensors { return {argmax(x[0], -1, true)}; }}},
       .bad = {{[] { argmax(ones({2}), 2); },
                "argmax: dimension out of range, got dim 2 of a 1-d tensor"}}});
  rows.push_back(
      {.op = "argmin",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {argmin(x[0])}; }},
                 {"dim", [](const Tensors& x) -> Tensors { return {argmin(x[0], 1)}; }},
                 {"keepdim", [](const Tensors& x) -> Tensors { return {argmin(x[0], -1, true)}; }}},
       .bad = {{[] { argmin(ones({2}), 2); },
                "argmin: dimension out of range, got dim 2 of a 1-d tensor"}}});
  rows.push_back({.op = "max",
                  .tolerance = kExactButZeros,
                  .calls = {{"all", [](const Tensors& x) -> Tensors { return {max(x[0])}; }},
                            {"dim",
                             [](const Tensors& x) -> Tensors {
                               const ValuesIndices r = max(x[0], 2);
                               return {r.values, r.indices};
                             }},
                            {"keepdim",
                             [](const Tensors& x) -> Tensors {
                               const ValuesIndices r = max(x[0], 0, true);
                               return {r.values, r.indices};
                             }}},
                  .bad = {{[] { max(ones({2}), 2); },
                           "max: dimension out of range, got dim 2 of a 1-d tensor"}},
                  .also = {"amax"}});
  rows.push_back({.op = "min",
                  .tolerance = kExactButZeros,
                  .calls = {{"all", [](const Tensors& x) -> Tensors { return {min(x[0])}; }},
                            {"dim",
                             [](const Tensors& x) -> Tensors {
                               const ValuesIndices r = min(x[0], 2);
                               return {r.values, r.indices};
                             }},
                            {"keepdim",
                             [](const Tensors& x) -> Tensors {
                               const ValuesIndices r = min(x[0], 0, true);
                               return {r.values, r.indices};
                             }}},
                  .bad = {{[] { min(ones({2}), 2); },
                           "min: dimension out of range, got dim 2 of a 1-d tensor"}},
                  .also = {"amin"}});
  rows.push_back(
      {.op = "count_nonzero",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {count_nonzero(x[0])}; }},
                 {"dim", [](const Tensors& x) -> Tensors { return {count_nonzero(x[0], 1)}; }}},
       .bad = {{[] { count_nonzero(ones({2}), 2); },
                "count_nonzero: dimension out of range, got dim 2 of a 1-d tensor"}}});
  rows.push_back(
      {.op = "norm",
       .tolerance = {16, 16, 0, 1},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {norm(x[0], 2, 1)}; }},
                 {"one", [](const Tensors& x) -> Tensors { return {norm(x[0], 1, 1)}; }},
                 {"three", [](const Tensors& x) -> Tensors { return {norm(x[0], 3, 1)}; }},
                 {"half", [](const Tensors& x) -> Tensors { return {norm(x[0], 0.5, 1)}; }},
                 {"zero", [](const Tensors& x) -> Tensors { return {norm(x[0], 0, 1)}; }},
                 {"inf", [](const Tensors& x) -> Tensors { return {norm(x[0], INFINITY, 1)}; }},
                 {"neg_inf",
                  [](const Tensors& x) -> Tensors { return {norm(x[0], -INFINITY, 1)}; }},
                 {"all", [](const Tensors& x) -> Tensors { return {norm(x[0])}; }}},
       .bad = {{[] { norm(ones({2}, {.dtype = i64})); }, "norm: dtype must be floating, got i64"}},
       .autocasts = Autocasts::f32});
}

}  // namespace

std::vector<Row> reduction_rows() {
  std::vector<Row> rows;
  add_sums(rows);
  add_moments(rows);
  add_picks(rows);
  return rows;
}

}  // namespace aorta::catalog
