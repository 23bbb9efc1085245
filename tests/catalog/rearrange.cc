#include <aorta/core/ops/join.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/scan.h>
#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

template <Tensor (*f)(const List<Tensor>&)>
Row numpy_join(const char* op, std::vector<BadCall> bad) {
  return {.op = op,
          .tolerance = kExact,
          .calls = {{"default", [](const Tensors& x) -> Tensors { return {f(x)}; }}},
          .bad = std::move(bad),
          .also = {"to"}};
}

void add_numpy_joins(std::vector<Row>& rows) {
  rows.push_back(numpy_join<hstack>(
      "hstack", {{[] { hstack({}); }, "hstack: there must be a tensor, got none"},
                 {[] {
                    hstack({ones({2, 2}), ones({2})});
                  },
                  "hstack: tensors must have one number of dimensions, got [2,2] and [2]"}}));
  rows.push_back(numpy_join<vstack>(
      "vstack", {{[] {
                    vstack({ones({2}), ones({3})});
                  },
                  "vstack: sizes must match but in the joined dimension, got [1,2] and [1,3] in "
                  "dimension 0"}}));
  rows.push_back(numpy_join<dstack>(
      "dstack", {{[] { dstack({}); }, "dstack: there must be a tensor, got none"}}));
  rows.push_back(numpy_join<column_stack>(
      "column_stack",
      {{[] {
          column_stack({ones({2}), ones({3})});
        },
        "column_stack: sizes must match but in the joined dimension, got [2,1] and [3,1] in "
        "dimension 1"}}));
  rows.push_back(
      {.op = "hsplit",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return hsplit(x[0], 2); }},
                 {"indices",
                  [](const Tensors& x) -> Tensors {
                    return hsplit(x[0], {1, 9});
                  }}},
       .bad = {
           {[] { hsplit(ones({}), 1); }, "hsplit: input must have more dimensions, got [] for 1"},
           {[] {
              hsplit(ones({2, 4}), 3);
            },
            "hsplit: sections must divide the size, got 3 for 4"}}});
  rows.push_back(
      {.op = "vsplit",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return vsplit(x[0], 2); }},
                 {"indices",
                  [](const Tensors& x) -> Tensors {
                    return vsplit(x[0], {1, 3});
                  }}},
       .bad = {{[] { vsplit(ones({4}), 2); },
                "vsplit: input must have more dimensions, got [4] for 2"}}});
  rows.push_back(
      {.op = "dsplit",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return dsplit(x[0], 2); }},
                 {"indices",
                  [](const Tensors& x) -> Tensors {
                    return dsplit(x[0], {1, 3});
                  }}},
       .bad = {{[] {
                  dsplit(ones({4, 2}), {1});
                },
                "dsplit: input must have more dimensions, got [4,2] for 3"},
               {[] {
                  dsplit(ones({1, 1, 4}), 0);
                },
                "dsplit: sections must divide the size, got 0 for 4"}}});
}

void add_turns(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "fliplr",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {fliplr(x[0])}; }}},
       .bad = {{[] { fliplr(ones({2})); }, "fliplr: input must be (N, M, *), got [2]"}},
       .also = {"flip"}});
  rows.push_back(
      {.op = "flipud",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {flipud(x[0])}; }}},
       .bad = {{[] { flipud(ones({})); }, "flipud: input must have a dimension, got []"}},
       .also = {"flip"}});
  rows.push_back({.op = "rot90",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               return {rot90(x[0]), rot90(x[0], 2), rot90(x[0], 3), rot90(x[0], 0)};
                             }},
                            {"back",
                             [](const Tensors& x) -> Tensors {
                               return {rot90(x[0], -1, {2, 0}), rot90(x[0], -6, {1, -1}),
                                       rot90(x[0], -3, {1, 2}), rot90(x[0], 8, {0, 1})};
                             }}},
                  .bad = {{[] {
                             rot90(ones({2, 2}), 1, {0, -2});
                           },
                           "rot90: each dimension once, got [0,-2]"},
                          {[] { rot90(ones({2})); },
                           "rot90: two dimensions of two or more, got [0,1] for shape [2]"}},
                  .also = {"flip", "to"}});
}

void add_powers(std::vector<Row>& rows) {
  rows.push_back({.op = "vander",
                  .tolerance = {4, 4},
                  .calls = {{"default", [](const Tensors& x) -> Tensors { return {vander(x[0])}; }},
                            {"increasing",
                             [](const Tensors& x) -> Tensors {
                               return {vander(x[0], 3, true), vander(x[0], 0)};
                             }}},
                  .bad = {{[] {
                             vander(ones({2, 2}));
                           },
                           "vander: x must have one dimension, got [2,2]"},
                          {[] { vander(ones({2}), -1); }, "vander: N can't be negative, got -1"}},
                  .also = {"cumprod", "fill_", "flip", "to"},
                  .autocasts = Autocasts::f32});
}

void add_joins(std::vector<Row>& rows) {
  rows.push_back({.op = "cat",
                  .tolerance = kExact,
                  .calls = {{"default", [](const Tensors& x) -> Tensors { return {cat(x)}; }},
                            {"last", [](const Tensors& x) -> Tensors { return {cat(x, -1)}; }}},
                  .bad = {{[] {
                             cat({ones({2, 3}), ones({2, 4})});
                           },
                           "cat: sizes must match but in the joined dimension, got [2,3] and [2,4] "
                           "in dimension 0"},
                          {[] { cat({}); }, "cat: there must be a tensor, got none"}},
                  .also = {"to"},
                  .large = [] {
                    return Tensors{numbers({300, 400}), numbers({100, 400})};
                  }});
  rows.push_back({.op = "stack",
                  .tolerance = kExact,
                  .calls = {{"default", [](const Tensors& x) -> Tensors { return {stack(x)}; }},
                            {"last", [](const Tensors& x) -> Tensors { return {stack(x, -1)}; }}},
                  .bad = {{[] {
                             stack({ones({2}), ones({3})});
                           },
                           "stack: shapes must be equal, got [2] and [3]"}},
                  .also = {"to"}});
  rows.push_back({.op = "split",
                  .tolerance = kExact,
                  .calls = {{"default", [](const Tensors& x) -> Tensors { return split(x[0], 2); }},
                            {"sizes",
                             [](const Tensors& x) -> Tensors {
                               return split(x[0], {1, 0, 4}, 1);
                             }}},
                  .bad = {{[] {
                             split(ones({3}), {1, 1});
                           },
                           "split: sizes must add up to the dimension's, got 2 for 3"}}});
  rows.push_back(
      {.op = "chunk",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return chunk(x[0], 3, 1); }}},
       .bad = {
           {[] { chunk(ones({3}), 0); }, "chunk: the number of chunks must be positive, got 0"}}});
  rows.push_back(
      {.op = "tensor_split",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return tensor_split(x[0], 3, 1); }},
                 {"indices",
                  [](const Tensors& x) -> Tensors {
                    return tensor_split(x[0], {1, 4}, 1);
                  }}},
       .bad = {{[] { tensor_split(ones({3}), 0); },
                "tensor_split: the number of sections must be positive, got 0"}}});
  rows.push_back(
      {.op = "unbind",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return unbind(x[0], 1); }}},
       .bad = {{[] { unbind(tensor(1)); }, "unbind: a 0-d tensor has no parts, got []"}}});
  rows.push_back({.op = "meshgrid",
                  .tolerance = kExact,
                  .calls = {{"default", [](const Tensors& x) -> Tensors { return meshgrid(x); }},
                            {"xy", [](const Tensors& x) -> Tensors { return meshgrid(x, "xy"); }}},
                  .bad = {{[] {
                             meshgrid({ones({2, 2})});
                           },
                           "meshgrid: tensors must be 0-d or 1-d, got [2,2]"}}});
  rows.push_back(
      {.op = "block_diag",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {block_diag(x)}; }}},
       .bad = {{[] { block_diag({}); }, "block_diag: there must be a tensor, got none"},
               {[] {
                  block_diag({ones({1, 2, 3})});
                },
                "block_diag: tensors must have at most 2 dimensions, got [1,2,3]"}},
       .also = {"pad", "to"}});
  add_numpy_joins(rows);
  rows.push_back(
      {.op = "cartesian_prod",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {cartesian_prod(x)}; }}},
       .bad = {{[] { cartesian_prod({}); }, "cartesian_prod: there must be a tensor, got none"},
               {[] {
                  cartesian_prod({ones({2, 2})});
                },
                "cartesian_prod: tensors must be 1-d, got [2,2]"}},
       .also = {"to"}});
  rows.push_back(
      {.op = "combinations",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {combinations(x[0])}; }},
                 {"three", [](const Tensors& x) -> Tensors { return {combinations(x[0], 3)}; }},
                 {"replaced",
                  [](const Tensors& x) -> Tensors { return {combinations(x[0], 3, true)}; }},
                 {"none", [](const Tensors& x) -> Tensors { return {combinations(x[0], 0)}; }}},
       .bad = {{[] {
                  combinations(ones({2, 2}));
                },
                "combinations: input must be 1-d, got [2,2]"},
               {[] { combinations(ones({2}), -1); }, "combinations: r can't be negative, got -1"},
               {[] { combinations(ones({2}), INT64_MAX, true); },
                "combinations: their number must fit in 63 bits, got 9223372036854775807 of 2"},
               {[] { combinations(ones({200}), 100); },
                "combinations: their number must fit in 63 bits, got 100 of 200"}},
       .also = {"find_bad_index", "gather"}});
}

void add_rearranging(std::vector<Row>& rows) {
  rows.push_back({.op = "flip",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               return {flip(x[0], {0, -1})};
                             }}},
                  .bad = {{[] {
                             flip(ones({2}), {0, 0});
                           },
                           "flip: each dimension once, got [0,0]"}},
                  .large = [] {
                    return Tensors{numbers({500, 400})};
                  }});
  add_turns(rows);
  add_powers(rows);
  rows.push_back({.op = "roll",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               return {roll(x[0], {1, -2}, {0, 2})};
                             }},
                            {"flat", [](const Tensors& x) -> Tensors { return {roll(x[0], 5)}; }}},
                  .bad = {{[] {
                             roll(ones({2}), {1, 2}, {0});
                           },
                           "roll: one shift a dimension, got [1,2] for dimensions [0]"}},
                  .large = [] {
                    return Tensors{numbers({50, 40, 100})};
                  }});
  rows.push_back(
      {.op = "pad",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    return {pad(x[0], {2, 1, 1, 2})};
                  }},
                 {"reflect",
                  [](const Tensors& x) -> Tensors {
                    return {pad(x[0], {2, 1, 1, 2}, PadMode::reflect)};
                  }},
                 {"replicate",
                  [](const Tensors& x) -> Tensors {
                    return {pad(x[0], {2, 1, 1, 2}, PadMode::replicate)};
                  }},
                 {"circular",
                  [](const Tensors& x) -> Tensors {
                    return {pad(x[0], {2, 1, 1, 2}, PadMode::circular)};
                  }},
                 {"value",
                  [](const Tensors& x) -> Tensors {
                    return {pad(x[0], {1, -1, 0, 2}, PadMode::constant, 1)};
                  }}},
       .bad = {{[] {
                  pad(ones({3}), {3, 0}, PadMode::reflect);
                },
                "pad: reflect needs padding smaller than the size, got 3 in dimension 0 of size 3"},
               {[] { pad(ones({3}), {1}); },
                "pad: two numbers a dimension, last dimension first, got [1] for shape [3]"}},
       .large = [] {
         return Tensors{numbers({50, 40, 100})};
       }});
  rows.push_back({.op = "tril",
                  .tolerance = kExact,
                  .calls = {{"default", [](const Tensors& x) -> Tensors { return {tril(x[0])}; },
                             [](const Tensors& x) -> Tensor { return tril_(x[0]); }},
                            {"above", [](const Tensors& x) -> Tensors { return {tril(x[0], 1)}; },
                             [](const Tensors& x) -> Tensor { return tril_(x[0], 1); }},
                            {"below", [](const Tensors& x) -> Tensors { return {tril(x[0], -2)}; },
                             [](const Tensors& x) -> Tensor { return tril_(x[0], -2); }}},
                  .bad = {{[] { tril(ones({2})); }, "tril: at least 2 dimensions, got [2]"}},
                  .large = [] {
                    return Tensors{numbers({500, 400})};
                  }});
  rows.push_back({.op = "triu",
                  .tolerance = kExact,
                  .calls = {{"default", [](const Tensors& x) -> Tensors { return {triu(x[0])}; },
                             [](const Tensors& x) -> Tensor { return triu_(x[0]); }},
                            {"above", [](const Tensors& x) -> Tensors { return {triu(x[0], 1)}; },
                             [](const Tensors& x) -> Tensor { return triu_(x[0], 1); }},
                            {"below", [](const Tensors& x) -> Tensors { return {triu(x[0], -2)}; },
                             [](const Tensors& x) -> Tensor { return triu_(x[0], -2); }}},
                  .bad = {{[] { triu(ones({2})); }, "triu: at least 2 dimensions, got [2]"}},
                  .large = [] {
                    return Tensors{numbers({500, 400})};
                  }});
  rows.push_back({.op = "repeat",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               return {repeat(x[0], {2, 1, 3})};
                             }}},
                  .bad = {{[] {
                             repeat(ones({2, 2}), {2});
                           },
                           "repeat: a number for each dimension, got [2] for shape [2,2]"}},
                  .also = {"to"},
                  .large = [] {
                    return Tensors{numbers({300, 300})};
                  }});
  rows.push_back(
      {.op = "tile",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {tile(x[0], {2})}; }}},
       .also = {"to"}});
  rows.push_back(
      {.op = "repeat_interleave",
       .needs_values = true,
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {repeat_interleave(x[0], 2)}; }},
                 {"dim",
                  [](const Tensors& x) -> Tensors { return {repeat_interleave(x[0], 2, 1)}; }},
                 {"tensor",
                  [](const Tensors& x) -> Tensors { return {repeat_interleave(x[0], x[1], 0)}; }}},
       .bad = {{[] { repeat_interleave(ones({2}), -1); },
                "repeat_interleave: repeats can't be negative, got -1"},
               {[] {
                  repeat_interleave(ones({2}), tensor({INT64_MAX, int64_t{1}}));
                },
                "repeat_interleave: the number of elements must fit in 63 bits, got 1 repeats of "
                "element 1"}},
       .also = {"find_bad_index", "gather", "to"}});
}

}  // namespace

std::vector<Row> rearrange_rows() {
  std::vector<Row> rows;
  add_joins(rows);
  add_rearranging(rows);
  return rows;
}

}  // namespace aorta::catalog
