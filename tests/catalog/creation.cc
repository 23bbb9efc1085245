#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

void add_factories(std::vector<Row>& rows) {
  rows.push_back({.op = "zeros",
                  .tolerance = kExact,
                  .calls = {{"default",
                             []([[maybe_unused]] const Tensors& x) -> Tensors {
                               return {zeros({2, 3})};
                             }},
                            {"i64",
                             []([[maybe_unused]] const Tensors& x) -> Tensors {
                               return {zeros({2}, {.dtype = i64})};
                             }}},
                  .bad = {{[] { zeros({-1}); }, "zeros: sizes can't be negative, got [-1]"}},
                  .also = {"fill_"}});
  rows.push_back({.op = "ones",
                  .tolerance = kExact,
                  .calls = {{"default",
                             []([[maybe_unused]] const Tensors& x) -> Tensors {
                               return {ones({2, 3})};
                             }}},
                  .also = {"fill_"}});
  rows.push_back(
      {.op = "full",
       .tolerance = kExact,
       .calls = {{"default",
                  []([[maybe_unused]] const Tensors& x) -> Tensors {
                    return {full({2, 3}, 2.5)};
                  }},
                 {"integer",
                  []([[maybe_unused]] const Tensors& x) -> Tensors { return {full({2}, 7)}; }}},
       .bad = {{[] { full({2}, 300, {.dtype = u8}); },
                "full: the value must fit the dtype, got 300 for u8"}},
       .also = {"fill_"}});
  rows.push_back(
      {.op = "arange",
       .tolerance = {0, 1},
       .calls = {{"default",
                  []([[maybe_unused]] const Tensors& x) -> Tensors { return {arange(5)}; }},
                 {"float",
                  []([[maybe_unused]] const Tensors& x) -> Tensors {
                    return {arange(0, 1, 0.1, {.dtype = f64})};
                  }},
                 {"down",
                  []([[maybe_unused]] const Tensors& x) -> Tensors { return {arange(5, -4, -3)}; }},
                 {"empty",
                  []([[maybe_unused]] const Tensors& x) -> Tensors { return {arange(0)}; }}},
       .bad = {{[] { arange(0, 5, 0); },
                "arange: the bounds must be finite and the step not zero, got 0, 5, 0"},
               {[] { arange(5, {.dtype = boolean}); },
                "arange: dtype must be a number, not bool, got bool"}}});
  rows.push_back({.op = "linspace",
                  .tolerance = {0, 1},
                  .calls = {{"default",
                             []([[maybe_unused]] const Tensors& x) -> Tensors {
                               return {linspace(-1, 2, 7, {.dtype = f64})};
                             }},
                            {"one",
                             []([[maybe_unused]] const Tensors& x) -> Tensors {
                               return {linspace(3, 4, 1)};
                             }}},
                  .bad = {{[] { linspace(0, 1, -1); }, "linspace: steps can't be negative, got -1"},
                          {[] { linspace(0, 1, 2, {.dtype = boolean}); },
                           "linspace: dtype must be a number, not bool, got bool"}}});
  rows.push_back({.op = "logspace",
                  .tolerance = {0, 4},
                  .calls = {{"default",
                             []([[maybe_unused]] const Tensors& x) -> Tensors {
                               return {logspace(-1, 1, 4, 10, {.dtype = f64}),
                                       logspace(0.5, -2, 3, 2, {.dtype = f64}),
                                       logspace(0, 5, 6, 3, {.dtype = i64}), logspace(2, 3, 1)};
                             }}},
                  .bad = {{[] { logspace(0, 1, -1); }, "logspace: steps can't be negative, got -1"},
                          {[] { logspace(0, 20, 2, 10, {.dtype = i64}); },
                           "logspace: the value must fit the dtype, got 1e+20 for i64"}}});
  rows.push_back(
      {.op = "tril_indices",
       .tolerance = kExact,
       .calls = {{"default",
                  []([[maybe_unused]] const Tensors& x) -> Tensors {
                    return {tril_indices(3, 2), tril_indices(3, 4, 1), tril_indices(4, 2, -2),
                            tril_indices(2, 3, -2), tril_indices(0, 3)};
                  }}},
       .bad = {{[] { tril_indices(-1, 2); }, "tril_indices: sizes can't be negative, got [-1,2]"},
               {[] { tril_indices(2, 2, 0, {.dtype = f32}); },
                "tril_indices: dtype must be i64 or i32, got f32"}}});
  rows.push_back({.op = "triu_indices",
                  .tolerance = kExact,
                  .calls = {{"default",
                             []([[maybe_unused]] const Tensors& x) -> Tensors {
                               return {triu_indices(3, 2), triu_indices(3, 4, 1),
                                       triu_indices(4, 2, -2), triu_indices(2, 3, 3),
                                       triu_indices(3, 0)};
                             }}},
                  .bad = {{[] { triu_indices(2, -1); },
                           "triu_indices: sizes can't be negative, got [2,-1]"}}});
  rows.push_back(
      {.op = "eye",
       .tolerance = kExact,
       .calls = {{"default", []([[maybe_unused]] const Tensors& x) -> Tensors { return {eye(3)}; }},
                 {"wide",
                  []([[maybe_unused]] const Tensors& x) -> Tensors { return {eye(2, 4)}; }}},
       .bad = {{[] { eye(-1); }, "eye: sizes can't be negative, got [-1,-1]"}},
       .also = {"fill_"}});
  rows.push_back({.op = "tensor",
                  .tolerance = kExact,
                  .calls = {{"default",
                             []([[maybe_unused]] const Tensors& x) -> Tensors {
                               return {tensor({{1, 2}, {3, 4}})};
                             }}},
                  .bad = {{[] {
                             tensor({{1, 2}, {3}});
                           },
                           "tensor: nested lists must be regular, got [2,2]"}},
                  .functions = {"from_values"}});
  rows.push_back(
      {.op = "zeros_like",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {zeros_like(x[0])}; }}},
       .also = {"fill_"},
       // The shape of the input counts, and no value; so it is for the two below.
       .derivative = Derivative::none});
  rows.push_back(
      {.op = "ones_like",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {ones_like(x[0])}; }}},
       .also = {"fill_"},
       .derivative = Derivative::none});
  rows.push_back(
      {.op = "full_like",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {full_like(x[0], 1)}; }}},
       .also = {"fill_"},
       .derivative = Derivative::none});
}

}  // namespace

std::vector<Row> creation_rows() {
  std::vector<Row> rows;
  add_factories(rows);
  return rows;
}

}  // namespace aorta::catalog
