#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/searchsorted.h>
#include <aorta/core/ops/statistics.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/catalog/rows.h>

// Functions of the torch namespace that are composed of other ops.
namespace aorta::catalog {
namespace {

using AddProduct = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const AddmmOptions&);

template <AddProduct f>
Row add_product(const char* op, std::vector<BadCall> bad) {
  return {
      .op = op,
      .tolerance = {1, 1, 6},
      .calls = {{"default", [](const Tensors& x) -> Tensors { return {f(x[0], x[1], x[2], {})}; }},
                {"scaled",
                 [](const Tensors& x) -> Tensors {
                   return {f(x[0], x[1], x[2], {2, 3})};
                 }},
                {"no_input",
                 [](const Tensors& x) -> Tensors {
                   return {f(x[0], x[1], x[2], {0, 1})};
                 }}},
      .bad = std::move(bad),
      .also = {"addmm"},
      .autocasts = Autocasts::half};
}

void add_products(std::vector<Row>& rows) {
  rows.push_back(add_product<addbmm>(
      "addbmm", {{[] {
                    addbmm(ones({2}), ones({2, 3}), ones({2, 3}));
                  },
                  "addbmm: batch1 must have 3 dimensions, got [2,3]"},
                 {[] {
                    addbmm(ones({2}), ones({2, 3, 4}), ones({3, 4, 2}));
                  },
                  "addbmm: the batch sizes must match, got [2,3,4] and [3,4,2]"},
                 {[] {
                    addbmm(ones({2}), ones({2, 3, 4}), ones({2, 3, 2}));
                  },
                  "addbmm: the inner sizes must match, got [2,3,4] and [2,3,2]"}}));
  rows.back().also.push_back("to");  // of transposed batches
  rows.push_back(
      add_product<addmv>("addmv", {{[] {
                                      addmv(ones({2}), ones({2, 3}), ones({2}));
                                    },
                                    "addmv: the inner sizes must match, got [2,3] and [2]"},
                                   {[] {
                                      addmv(ones({2, 2}), ones({2, 3}), ones({3}));
                                    },
                                    "addmv: input must have at most 1 dimension, got [2,2]"},
                                   {[] {
                                      addmv(ones({3}), ones({2, 3}), ones({3}));
                                    },
                                    "addmv: shapes must broadcast, got [3,1] and [2,1]"}}));
  rows.push_back(add_product<addr>("addr", {{[] {
                                               addr(ones({2}), ones({2, 3}), ones({3}));
                                             },
                                             "addr: vec1 must have 1 dimension, got [2,3]"},
                                            {[] {
                                               addr(ones({3, 2}), ones({2}), ones({3}));
                                             },
                                             "addr: shapes must broadcast, got [3,2] and [2,3]"}}));
  rows.push_back(
      {.op = "inner",
       .tolerance = kSums,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {inner(x[0], x[1])}; }},
                 {"number", [](const Tensors& x) -> Tensors { return {inner(x[0], x[1])}; }}},
       .bad = {{[] {
                  inner(ones({2, 3}), ones({2}));
                },
                "inner: the sizes of paired dimensions must match, got [2,3] and [2] paired by "
                "[-1] and [-1]"}},
       .also = {"matmul", "mul"},
       .autocasts = Autocasts::half});
}

void add_distances(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "cdist",
       .tolerance = {16, 16, 0, 1},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {cdist(x[0], x[1])}; }},
                 {"zero", [](const Tensors& x) -> Tensors { return {cdist(x[0], x[1], 0)}; }},
                 {"one", [](const Tensors& x) -> Tensors { return {cdist(x[0], x[1], 1)}; }},
                 {"three", [](const Tensors& x) -> Tensors { return {cdist(x[0], x[1], 3)}; }},
                 {"inf",
                  [](const Tensors& x) -> Tensors { return {cdist(x[0], x[1], INFINITY)}; }}},
       .bad = {{[] {
                  cdist(ones({2}), ones({2, 2}));
                },
                "cdist: x1 and x2 must be (*, P, M) and (*, R, M), got [2] and [2,2]"},
               {[] {
                  cdist(ones({2, 3}), ones({2, 2}));
                },
                "cdist: rows must be of one size, got [2,3] and [2,2]"},
               {[] {
                  cdist(ones({2, 3}), ones({2, 3}), -1);
                },
                "cdist: p can't be negative, got -1"},
               {[] {
                  cdist(ones({2, 3}, {.dtype = i64}), ones({2, 3}, {.dtype = i64}));
                },
                "cdist: dtype must be floating, got i64"}},
       .also = {"norm", "sub", "sum"},
       .autocasts = Autocasts::f32});
}

Tensors both(const MinMax& r) { return {r.min, r.max}; }
Tensors both(const StdMean& r) { return {r.std, r.mean}; }

void add_pairs(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "aminmax",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) { return both(aminmax(x[0])); }},
                 {"dim", [](const Tensors& x) { return both(aminmax(x[0], 1, true)); }}},
       .bad = {{[] { aminmax(ones({0})); },
                "aminmax: a reduced dimension must have elements, got [0] reduced over [0]"},
               {[] { aminmax(ones({2}), 1); },
                "aminmax: dimension out of range, got dim 1 of a 1-d tensor"}},
       .also = {"amax", "amin"}});
  rows.push_back({.op = "std_mean",
                  .tolerance = {4, 4, 2},
                  .calls = {{"default", [](const Tensors& x) { return both(std_mean(x[0])); }},
                            {"population",
                             [](const Tensors& x) {
                               return both(std_mean(x[0], {0, 1}, 0, true));
                             }}},
                  .bad = {{[] { std_mean(ones({2}, {.dtype = i64})); },
                           "std_mean: dtype must be floating, got i64"}},
                  .also = {"mean", "std"},
                  .cancelling = {"population/equal"}});
}

void add_integrals(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "trapezoid",
       .tolerance = {2, 2, 8},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {trapezoid(x[0])}; }},
                 {"dx", [](const Tensors& x) -> Tensors { return {trapezoid(x[0], 0.5, 0)}; }},
                 {"x", [](const Tensors& x) -> Tensors { return {trapezoid(x[0], x[1], 0)}; }}},
       .bad = {{[] { trapezoid(ones({})); }, "trapezoid: y must have a dimension, got []"},
               {[] { trapezoid(ones({2}, {.dtype = boolean})); },
                "trapezoid: dtype must be a number, not bool, got bool"},
               {[] {
                  trapezoid(ones({2, 3}), ones({2}));
                },
                "trapezoid: x must have a number for each sample, got [2] for [2,3]"}},
       .also = {"add", "mul", "sub", "sum"},
       .autocasts = Autocasts::f32});
  rows.push_back(
      {.op = "cumulative_trapezoid",
       .tolerance = {2, 2, 8},
       .calls =
           {{"default", [](const Tensors& x) -> Tensors { return {cumulative_trapezoid(x[0])}; }},
            {"dx",
             [](const Tensors& x) -> Tensors { return {cumulative_trapezoid(x[0], 0.5, 0)}; }},
            {"x",
             [](const Tensors& x) -> Tensors { return {cumulative_trapezoid(x[0], x[1], 0)}; }}},
       .bad = {{[] { cumulative_trapezoid(ones({2}), 1, 1); },
                "cumulative_trapezoid: dimension out of range, got dim 1 of a 1-d tensor"}},
       .also = {"add", "cumsum", "mul", "sub"},
       .autocasts = Autocasts::f32});
}

void add_places(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "isin",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {isin(x[0], x[1])}; }},
                 {"inverted", [](const Tensors& x) -> Tensors { return {isin(x[0], x[1], true)}; }},
                 {"number", [](const Tensors& x) -> Tensors { return {isin(x[0], 2)}; }},
                 {"number_left", [](const Tensors& x) -> Tensors { return {isin(2, x[0])}; }}},
       .bad = {{[] { isin(1, 2); }, "isin: one operand must be a tensor, got 1 and 2"},
               {[] { isin(complex(ones({2}), ones({2})), ones({2})); },
                "isin: dtype must be real, got c64"}},
       .also = {"clamp_max", "eq", "fill_", "find_bad_index", "gather", "isnan", "ne",
                "searchsorted", "sort", "where"}});
  rows.push_back({.op = "unravel_index",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               return unravel_index(x[0], {3, 4});
                             }}},
                  .bad = {{[] { unravel_index(ones({2}), {2}); },
                           "unravel_index: indices must be integers, got f32"},
                          {[] { unravel_index(tensor({2}), {-2}); },
                           "unravel_index: sizes can't be negative, got [-2]"}},
                  .also = {"floor_divide", "remainder"}});
}

void add_rounded(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "div_rounded",
       .tolerance = kExact,
       .calls = {{"trunc", [](const Tensors& x) -> Tensors { return {div(x[0], x[1], "trunc")}; },
                  [](const Tensors& x) { return div_(x[0], x[1], "trunc"); }},
                 {"floor", [](const Tensors& x) -> Tensors { return {div(x[0], x[1], "floor")}; },
                  [](const Tensors& x) { return div_(x[0], x[1], "floor"); }},
                 {"number", [](const Tensors& x) -> Tensors { return {div(x[0], 2, "trunc")}; },
                  [](const Tensors& x) { return div_(x[0], 2, "trunc"); }}},
       .bad = {{[] { div(ones({2}), 2, "round"); },
                "div: rounding_mode must be trunc or floor, got round"},
               {[] {
                  div(tensor({1, 2}), tensor({1, 0}), "trunc");
                },
                "div: an integer can't be divided by zero, got a 0 among the divisors"},
               {[] {
                  div_(tensor({1, 2}), 0.5, "trunc");
                },
                "div_: the result's dtype must be castable to that of the tensor written in place, "
                "got f32 into i64"}},
       .also = {"all", "div", "floor_divide", "fmod", "sub", "to", "trunc"},
       .functions = {"div", "div_"},
       .derivative = Derivative::zero});
  rows.push_back(
      {.op = "round_decimals",
       .tolerance = {1, 1},
       .calls = {{"two", [](const Tensors& x) -> Tensors { return {round(x[0], 2)}; },
                  [](const Tensors& x) { return round_(x[0], 2); }},
                 {"none", [](const Tensors& x) -> Tensors { return {round(x[0], 0)}; },
                  [](const Tensors& x) { return round_(x[0], 0); }},
                 {"tens", [](const Tensors& x) -> Tensors { return {round(x[0], -1)}; },
                  [](const Tensors& x) { return round_(x[0], -1); }}},
       .bad = {{[] { round(tensor({1}), 1); }, "round: dtype must be floating, got i64"}},
       .also = {"div", "mul", "round", "to"},
       .derivative = Derivative::zero});
  rows.push_back(
      {.op = "float_power",
       .tolerance = kUlps2,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {float_power(x[0], x[1])}; },
                  [](const Tensors& x) { return float_power_(x[0], x[1]); }},
                 {"number", [](const Tensors& x) -> Tensors { return {float_power(x[0], 3)}; },
                  [](const Tensors& x) { return float_power_(x[0], 3); }},
                 {"base", [](const Tensors& x) -> Tensors { return {float_power(2, x[0])}; }}},
       .bad = {{[] { float_power_(tensor({2}), 2); },
                "float_power_: the result's dtype must be castable to that of the tensor written "
                "in place, got f64 into i64"}},
       .also = {"mul", "pow", "square", "to"}});
  rows.push_back(
      {.op = "narrow_copy",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {narrow_copy(x[0], 1, 1, 2)}; }}},
       .bad = {{[] { narrow_copy(ones({2}), 0, 1, 2); },
                "narrow_copy: start and length must lie in the dimension, got start 1, length 2 in "
                "a dimension of size 2"}},
       .also = {"to"}});
}

void add_numbers(std::vector<Row>& rows) {
  rows.push_back(binary<gcd, gcd_>(
      "gcd", kExact,
      {{[] { gcd(ones({2}), 1); }, "gcd: dtype must be an integer or bool, got f32"},
       {[] { gcd(ones({2}, {.dtype = boolean}), true); },
        "gcd: dtype must be an integer, not bool, got bool"}}));
  rows.push_back(binary<lcm, lcm_>(
      "lcm", kExact,
      {{[] { lcm(ones({2}), 1); }, "lcm: dtype must be an integer or bool, got f32"}}));
  rows.push_back(binary<nextafter, nextafter_>(
      "nextafter", kExact,
      {{[] { nextafter(ones({2}, {.dtype = f16}), 1); },
        "nextafter: dtype must be f32 or f64, got f16"},
       {[] { nextafter(tensor({1}), 2); }, "nextafter: dtype must be floating, got i64"}}));
}

}  // namespace

std::vector<Row> composed_rows() {
  std::vector<Row> rows;
  add_products(rows);
  add_distances(rows);
  add_pairs(rows);
  add_integrals(rows);
  add_places(rows);
  add_rounded(rows);
  add_numbers(rows);
  return rows;
}

}  // namespace aorta::catalog
