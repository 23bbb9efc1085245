#include <aorta/core/ops/view.h>
#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

void add_views(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "view",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    return {x[0].contiguous().view({4, 6})};
                  }}},
       .bad = {{[] {
                  ones({2, 3}).view({4});
                },
                "view: the number of elements must stay, got [4] for a tensor of shape [2,3]"}}});
  rows.push_back(
      {.op = "reshape",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    return {reshape(x[0], {4, -1})};
                  }}},
       .bad = {
           {[] {
              reshape(ones({2, 3}), {4});
            },
            "reshape: the number of elements must stay, got [4] for a tensor of shape [2,3]"}}});
  rows.push_back(
      {.op = "flatten",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {flatten(x[0])}; }},
                 {"dims", [](const Tensors& x) -> Tensors { return {flatten(x[0], 1, -1)}; }}},
       .bad = {{[] {
                  flatten(ones({2, 3}), 1, 0);
                },
                "flatten: start_dim can't come after end_dim, got 1 and 0"}}});
  rows.push_back(
      {.op = "unflatten",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    return {unflatten(x[0], 1, {3, 4})};
                  }},
                 {"found",
                  [](const Tensors& x) -> Tensors {
                    return {unflatten(x[0], -2, {2, -1, 1})};
                  }}},
       .bad = {{[] {
                  unflatten(ones({2, 12}), 1, {5, -1});
                },
                "unflatten: sizes must multiply to the dimension's, got [5,-1] for 12"}}});
  rows.push_back(
      {.op = "squeeze",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {squeeze(x[0])}; }},
                 {"dim", [](const Tensors& x) -> Tensors { return {squeeze(x[0], 1)}; }}},
       .bad = {{[] { squeeze(ones({2}), 2); },
                "squeeze: dimension out of range, got dim 2 of a 1-d tensor"}}});
  rows.push_back(
      {.op = "unsqueeze",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {unsqueeze(x[0], 0)}; }},
                 {"last", [](const Tensors& x) -> Tensors { return {unsqueeze(x[0], -1)}; }}}});
  rows.push_back({.op = "permute",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               return {permute(x[0], {2, 0, 3, 1})};
                             }}},
                  .bad = {{[] {
                             permute(ones({2, 3}), {0, 0});
                           },
                           "permute: each dimension once, got [0,0]"}}});
  rows.push_back(
      {.op = "transpose",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {transpose(x[0], 0, -1)}; }}},
       .bad = {{[] { transpose(ones({2}), 0, 2); },
                "transpose: dimension out of range, got dim 2 of a 1-d tensor"}}});
  rows.push_back(
      {.op = "movedim",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {movedim(x[0], 0, -1)}; }}},
       .bad = {{[] { movedim(ones({2}), 0, 2); },
                "movedim: dimension out of range, got dim 2 of a 1-d tensor"}}});
  rows.push_back({.op = "expand",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               return {expand(x[0], {2, 3, 4})};
                             }},
                            {"keep",
                             [](const Tensors& x) -> Tensors {
                               return {expand(x[0], {5, -1, 2})};
                             }}},
                  .bad = {{[] { expand(ones({2}), {3}); },
                           "expand: sizes must match or be 1, got [3] for shape [2]"}}});
  rows.push_back(
      {.op = "slice",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {x[0].slice(1, 1, 4, 2)}; }},
                 {"negative", [](const Tensors& x) -> Tensors { return {x[0].slice(1, -3, -1)}; }},
                 {"none", [](const Tensors& x) -> Tensors { return {x[0].slice(0, 3, 1)}; }}},
       .bad = {{[] { ones({2}).slice(0, 0, 1, 0); }, "slice: step must be positive, got 0"}}});
  rows.push_back(
      {.op = "select",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {select(x[0], 1, -2)}; }}},
       .bad = {{[] { select(ones({2}), 0, 2); },
                "select: index out of range, got 2 in a dimension of size 2"}}});
  rows.push_back(
      {.op = "narrow",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {narrow(x[0], 1, 1, 3)}; }}},
       .bad = {{[] { narrow(ones({2}), 0, 1, 2); },
                "narrow: start and length must lie in the dimension, got start 1, length 2 in a "
                "dimension of size 2"}}});
  rows.push_back(
      {.op = "diagonal",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {diagonal(x[0])}; }},
                 {"offset",
                  [](const Tensors& x) -> Tensors { return {diagonal(x[0], -1, 2, 0)}; }}},
       .bad = {{[] { diagonal(ones({2})); },
                "diagonal: dimension out of range, got dim 1 of a 1-d tensor"}}});
  rows.push_back({.op = "as_strided",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               return {as_strided(x[0].contiguous().clone(), {2, 3}, {1, 2}, 1)};
                             }}},
                  .bad = {{[] { as_strided(ones({2}), {3}, {1}, 0); },
                           "as_strided: every element must lie inside the storage, got shape [3], "
                           "strides [1], offset 0 in a storage of 2 elements"}},
                  .also = {"to"}});
}

void add_widened(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "atleast_1d",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {atleast_1d(x[0])}; }}}});
  rows.push_back(
      {.op = "atleast_2d",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {atleast_2d(x[0])}; }}}});
  rows.push_back(
      {.op = "atleast_3d",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {atleast_3d(x[0])}; }}}});
}

void add_copies(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "contiguous",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {x[0].contiguous()}; }}}});
  rows.push_back(
      {.op = "clone",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {x[0].clone()}; }}},
       .also = {"to"}});
  rows.push_back(
      {.op = "to",
       .tolerance = {0},
       .calls = {{"f32", [](const Tensors& x) -> Tensors { return {x[0].to(f32)}; }},
                 {"f64", [](const Tensors& x) -> Tensors { return {x[0].to(f64)}; }},
                 {"f16", [](const Tensors& x) -> Tensors { return {x[0].to(f16)}; }},
                 {"bf16", [](const Tensors& x) -> Tensors { return {x[0].to(bf16)}; }},
                 {"i64", [](const Tensors& x) -> Tensors { return {x[0].to(i64)}; }},
                 {"i32", [](const Tensors& x) -> Tensors { return {x[0].to(i32)}; }},
                 {"u8", [](const Tensors& x) -> Tensors { return {x[0].to(u8)}; }},
                 {"bool", [](const Tensors& x) -> Tensors { return {x[0].to(boolean)}; }}},
       .functions = {"cpu", "cuda"}});
  rows.push_back(
      {.op = "copy_",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {x[0].clone().copy_(x[1])}; },
                  [](const Tensors& x) -> Tensor { return x[0].copy_(x[1]); }}},
       .bad = {{[] { ones({2}).copy_(ones({3})); },
                "copy_: shapes must broadcast, got [2] and [3]"}},
       .also = {"to"},
       // The result is the source.
       .overwrites = true});
}

}  // namespace

std::vector<Row> view_rows() {
  std::vector<Row> rows;
  add_views(rows);
  add_widened(rows);
  add_copies(rows);
  return rows;
}

}  // namespace aorta::catalog
