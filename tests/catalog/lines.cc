#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/ops/sort.h>
#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

// For softmax: numbers so far apart that one of them is all of the sum, and gradients cancel.
const std::vector<std::string> kCancelling = {"default/large", "first/large", "middle/large"};

void add_lines(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "softmax",
       .tolerance = {8, 16, 0, 1, false},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {softmax(x[0], -1)}; }},
                 {"first", [](const Tensors& x) -> Tensors { return {softmax(x[0], 0)}; }},
                 {"middle", [](const Tensors& x) -> Tensors { return {softmax(x[0], 1)}; }}},
       .bad = {{[] { softmax(ones({2}), 2); },
                "softmax: dimension out of range, got dim 2 of a 1-d tensor"},
               {[] { softmax(ones({2}, {.dtype = i64}), 0); },
                "softmax: dtype must be floating, got i64"}},
       .functions = {"softmax_backward"},
       .autocasts = Autocasts::f32,
       .cancelling = kCancelling});
  rows.push_back(
      {.op = "softmin",
       .tolerance = {8, 16, 0, 1, false},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {softmin(x[0], -1)}; }},
                 {"first", [](const Tensors& x) -> Tensors { return {softmin(x[0], 0)}; }}},
       .bad = {{[] { softmin(ones({2}), 2); },
                "softmin: dimension out of range, got dim 2 of a 1-d tensor"},
               {[] { softmin(ones({2}, {.dtype = i64}), 0); },
                "softmin: dtype must be floating, got i64"}},
       .also = {"neg", "softmax"},
       .functions = {"softmax_backward"},
       .autocasts = Autocasts::f32,
       .cancelling = {"default/large", "first/large"}});
  rows.push_back(
      {.op = "log_softmax",
       .tolerance = {8, 16, 2, 1, false},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {log_softmax(x[0], -1)}; }},
                 {"first", [](const Tensors& x) -> Tensors { return {log_softmax(x[0], 0)}; }},
                 {"middle", [](const Tensors& x) -> Tensors { return {log_softmax(x[0], 1)}; }}},
       .bad = {{[] { log_softmax(ones({2}), 2); },
                "log_softmax: dimension out of range, got dim 2 of a 1-d tensor"},
               {[] { log_softmax(ones({2}, {.dtype = i64}), 0); },
                "log_softmax: dtype must be floating, got i64"}},
       .functions = {"log_softmax_backward"},
       .autocasts = Autocasts::f32});
  rows.push_back(
      {.op = "cumsum",
       .tolerance = {1, 1, 8},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {cumsum(x[0], 1)}; }},
                 {"last", [](const Tensors& x) -> Tensors { return {cumsum(x[0], -1)}; }},
                 {"first", [](const Tensors& x) -> Tensors { return {cumsum(x[0], 0)}; }}},
       .bad = {{[] { cumsum(ones({2}), 2); },
                "cumsum: dimension out of range, got dim 2 of a 1-d tensor"}},
       .also = {"to"},
       .autocasts = Autocasts::f32});
  rows.push_back({.op = "cumprod",
                  .tolerance = {1, 1, 8},
                  .calls = {{.name = "default",
                             .run = [](const Tensors& x) -> Tensors { return {cumprod(x[0], 1)}; },
                             .ordered_products = true},
                            {.name = "last",
                             .run = [](const Tensors& x) -> Tensors { return {cumprod(x[0], -1)}; },
                             .ordered_products = true},
                            {.name = "first",
                             .run = [](const Tensors& x) -> Tensors { return {cumprod(x[0], 0)}; },
                             .ordered_products = true}},
                  .bad = {{[] { cumprod(ones({2}), 2); },
                           "cumprod: dimension out of range, got dim 2 of a 1-d tensor"}},
                  .also = {"to"},
                  .autocasts = Autocasts::f32});
}

template <ValuesIndices (*f)(const Tensor&, int64_t), int dim>
Tensors along(const Tensors& x) {
  const ValuesIndices r = f(x[0], dim);
  return {r.values, r.indices};
}
template <ValuesIndices (*f)(const Tensor&, int64_t)>
Row running_extremum(const char* op, const char* error) {
  return {.op = op,
          .tolerance = kExact,
          .calls = {{"default", along<f, 1>}, {"last", along<f, -1>}, {"first", along<f, 0>}},
          .bad = {{[] { f(ones({2}), 2); }, error}}};
}

void add_running(std::vector<Row>& rows) {
  rows.push_back(running_extremum<cummax>(
      "cummax", "cummax: dimension out of range, got dim 2 of a 1-d tensor"));
  rows.push_back(running_extremum<cummin>(
      "cummin", "cummin: dimension out of range, got dim 2 of a 1-d tensor"));
  rows.push_back(
      {.op = "logcumsumexp",
       .tolerance = {2, 8, 2},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {logcumsumexp(x[0], 1)}; }},
                 {"last", [](const Tensors& x) -> Tensors { return {logcumsumexp(x[0], -1)}; }},
                 {"first", [](const Tensors& x) -> Tensors { return {logcumsumexp(x[0], 0)}; }}},
       .bad = {{[] { logcumsumexp(ones({2}), 2); },
                "logcumsumexp: dimension out of range, got dim 2 of a 1-d tensor"},
               {[] { logcumsumexp(ones({2}, {.dtype = i64}), 0); },
                "logcumsumexp: dtype must be floating, got i64"}}});
}

void add_sorting(std::vector<Row>& rows) {
  rows.push_back({.op = "sort",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               const ValuesIndices r = sort(x[0], -1, false, true);
                               return {r.values, r.indices};
                             }},
                            {"descending",
                             [](const Tensors& x) -> Tensors {
                               const ValuesIndices r = sort(x[0], -1, true, true);
                               return {r.values, r.indices};
                             }},
                            {"first",
                             [](const Tensors& x) -> Tensors {
                               const ValuesIndices r = sort(x[0], 0, false, true);
                               return {r.values, r.indices};
                             }}},
                  .bad = {{[] { sort(ones({2}), 2); },
                           "sort: dimension out of range, got dim 2 of a 1-d tensor"}}});
  rows.push_back(
      {.op = "argsort",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {argsort(x[0], -1, false, true)}; }},
                 {"descending",
                  [](const Tensors& x) -> Tensors { return {argsort(x[0], -1, true, true)}; }},
                 {"first",
                  [](const Tensors& x) -> Tensors { return {argsort(x[0], 0, false, true)}; }}},
       .bad = {{[] { argsort(ones({2}), 2); },
                "argsort: dimension out of range, got dim 2 of a 1-d tensor"}},
       .also = {"sort"}});
  rows.push_back(
      {.op = "topk",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    const ValuesIndices r = topk(x[0], 3);
                    return {r.values, r.indices};
                  }},
                 {"smallest",
                  [](const Tensors& x) -> Tensors {
                    const ValuesIndices r = topk(x[0], 4, -1, false);
                    return {r.values, r.indices};
                  }},
                 {"dim",
                  [](const Tensors& x) -> Tensors {
                    const ValuesIndices r = topk(x[0], 2, 1);
                    return {r.values, r.indices};
                  }},
                 {"none",
                  [](const Tensors& x) -> Tensors {
                    const ValuesIndices r = topk(x[0], 0);
                    return {r.values, r.indices};
                  }},
                 {"all",
                  [](const Tensors& x) -> Tensors {
                    const ValuesIndices r = topk(x[0], 11);
                    return {r.values, r.indices};
                  }}},
       .bad = {{[] { topk(ones({2}), 3); },
                "topk: k must be in the range of the dimension, got k 3 for dim 0 of [2]"}}});
  rows.push_back(
      {.op = "kthvalue",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    const ValuesIndices r = kthvalue(x[0], 3);
                    return {r.values, r.indices};
                  }},
                 {"keepdim",
                  [](const Tensors& x) -> Tensors {
                    const ValuesIndices r = kthvalue(x[0], 2, 1, true);
                    return {r.values, r.indices};
                  }}},
       .bad = {{[] { kthvalue(ones({2}), 0); },
                "kthvalue: k must be in the range of the dimension, got k 0 for dim 0 of [2]"}},
       .also = {"topk"}});
  rows.push_back({.op = "unique",
                  .needs_values = true,
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               const Unique r = unique(x[0], true, true, true);
                               return {r.values, r.inverse, r.counts};
                             }}},
                  // As in PyTorch.
                  .derivative = Derivative::none});
  rows.push_back({.op = "unique_dim",
                  .needs_values = true,
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               const Unique r = unique_dim(x[0], 0, true, true, true);
                               return {r.values, r.inverse, r.counts};
                             }}},
                  .bad = {{[] { unique_dim(ones({2}), 2); },
                           "unique_dim: dimension out of range, got dim 2 of a 1-d tensor"}},
                  .also = {"unique"},
                  .derivative = Derivative::none});
}

}  // namespace

std::vector<Row> line_rows() {
  std::vector<Row> rows;
  add_lines(rows);
  add_running(rows);
  add_sorting(rows);
  return rows;
}

}  // namespace aorta::catalog
