#include <aorta/core/ops/einsum.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

void add_products(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "matmul",
       .tolerance = kSums,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {matmul(x[0], x[1])}; }}},
       .bad = {{[] {
                  matmul(ones({2, 3}), ones({4, 5}));
                },
                "matmul: the inner sizes must match, got [2,3] and [4,5]"},
               {[] {
                  matmul(ones({2, 2}), ones({2, 2}, {.dtype = f64}));
                },
                "matmul: the operands must have one dtype, got f32 and f64"}},
       .large =
           [] {
             return Tensors{numbers({300, 200}), numbers({200, 250})};
           },
       .autocasts = Autocasts::half});
  rows.push_back(
      {.op = "mm",
       .tolerance = kSums,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {mm(x[0], x[1])}; }}},
       .bad = {{[] {
                  mm(ones({3}), ones({3, 2}));
                },
                "mm: input must have 2 dimensions, got [3]"}},
       .also = {"matmul"},
       .large =
           [] {
             return Tensors{numbers({300, 200}), numbers({200, 250})};
           },
       .autocasts = Autocasts::half});
  rows.push_back(
      {.op = "bmm",
       .tolerance = kSums,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {bmm(x[0], x[1])}; }}},
       .bad = {{[] {
                  bmm(ones({2, 3}), ones({3, 2}));
                },
                "bmm: input must have 3 dimensions, got [2,3]"}},
       .also = {"matmul"},
       .large =
           [] {
             return Tensors{numbers({20, 50, 60}), numbers({20, 60, 70})};
           },
       .autocasts = Autocasts::half});
  rows.push_back(
      {.op = "mv",
       .tolerance = kSums,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {mv(x[0], x[1])}; }}},
       .bad = {{[] {
                  mv(ones({2, 3}), ones({2}));
                },
                "mv: the inner sizes must match, got [2,3] and [2]"}},
       .also = {"matmul"},
       .large =
           [] {
             return Tensors{numbers({500, 400}), numbers({400})};
           },
       .autocasts = Autocasts::half});
  rows.push_back(
      {.op = "dot",
       .tolerance = kSums,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {dot(x[0], x[1])}; }}},
       .bad = {{[] { dot(ones({2}), ones({3})); },
                "dot: the inner sizes must match, got [2] and [3]"}},
       .also = {"matmul"},
       .large =
           [] {
             return Tensors{numbers({300000}), numbers({300000})};
           },
       .autocasts = Autocasts::half});
  rows.push_back(
      {.op = "outer",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {outer(x[0], x[1])}; }}},
       .bad = {{[] {
                  outer(ones({2, 2}), ones({3}));
                },
                "outer: input must have 1 dimension, got [2,2]"}},
       .also = {"mul"},
       .large = [] {
         return Tensors{numbers({400}), numbers({500})};
       }});
  rows.push_back(
      {.op = "addmm",
       .tolerance = {1, 1, 6},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {addmm(x[0], x[1], x[2])}; }},
                 {"scaled",
                  [](const Tensors& x) -> Tensors {
                    return {addmm(x[0], x[1], x[2], {2, 3})};
                  }},
                 {"no_input",
                  [](const Tensors& x) -> Tensors {
                    return {addmm(x[0], x[1], x[2], {0, 1})};
                  }},
                 {"no_product",
                  [](const Tensors& x) -> Tensors {
                    return {addmm(x[0], x[1], x[2], {1, 0})};
                  }}},
       .bad = {{[] {
                  addmm(ones({2}), ones({2, 3}), ones({2, 3}));
                },
                "addmm: the inner sizes must match, got [2,3] and [2,3]"}},
       .large =
           [] {
             return Tensors{numbers({250}), numbers({300, 200}), numbers({200, 250})};
           },
       .autocasts = Autocasts::half});
  rows.push_back(
      {.op = "baddbmm",
       .tolerance = {1, 1, 6},
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {baddbmm(x[0], x[1], x[2])}; }},
                 {"scaled",
                  [](const Tensors& x) -> Tensors {
                    return {baddbmm(x[0], x[1], x[2], {2, 3})};
                  }},
                 {"no_input",
                  [](const Tensors& x) -> Tensors {
                    return {baddbmm(x[0], x[1], x[2], {0, 1})};
                  }},
                 {"no_product",
                  [](const Tensors& x) -> Tensors {
                    return {baddbmm(x[0], x[1], x[2], {1, 0})};
                  }}},
       .bad = {{[] {
                  baddbmm(ones({2}), ones({2, 3}), ones({2, 3}));
                },
                "baddbmm: batch1 must have 3 dimensions, got [2,3]"}},
       .also = {"addmm"},
       .large =
           [] {
             return Tensors{numbers({50, 70}), numbers({20, 50, 60}), numbers({20, 60, 70})};
           },
       .autocasts = Autocasts::half});
  rows.push_back(
      {.op = "linear",
       .tolerance = kSums,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {linear(x[0], x[1], x[2])}; }},
                 {"no_bias", [](const Tensors& x) -> Tensors { return {linear(x[0], x[1])}; }}},
       .bad = {{[] {
                  linear(ones({2, 3}), ones({4, 5}));
                },
                "linear: the inner sizes must match, got [2,3] and [4,5]"}},
       .large =
           [] {
             return Tensors{numbers({300, 200}), numbers({250, 200}), numbers({250})};
           },
       .autocasts = Autocasts::half});
  rows.push_back(
      {.op = "bilinear",
       .tolerance = {1, 1, 8},
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {bilinear(x[0], x[1], x[2], x[3])}; }},
                 {"no_bias",
                  [](const Tensors& x) -> Tensors { return {bilinear(x[0], x[1], x[2])}; }}},
       .bad = {{[] {
                  bilinear(ones({2, 3}), ones({2, 4}), ones({5, 3, 3}));
                },
                "bilinear: last dimensions must be the weight's, got 3 and 4 for [5,3,3]"},
               {[] {
                  bilinear(ones({2, 3}), ones({3, 4}), ones({5, 3, 4}));
                },
                "bilinear: inputs must agree but in the last dimension, got [2,3] and [3,4]"},
               {[] {
                  bilinear(ones({2, 3}), ones({4}), ones({5, 3, 4}));
                },
                "bilinear: inputs must have as many dimensions, got [2,3] and [4]"},
               {[] {
                  bilinear(ones({3}), ones({4}), ones({5, 3, 4}), ones({4}));
                },
                "bilinear: bias must be (out), got [4] for [5,3,4]"}},
       .also = {"add", "matmul", "to"},
       .large = [] {
         return Tensors{numbers({300, 20}), numbers({300, 30}), numbers({40, 20, 30}),
                        numbers({40})};
       }});
  rows.push_back(
      {.op = "tensordot",
       .tolerance = kSums,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {tensordot(x[0], x[1], 2)}; }},
                 {"dims",
                  [](const Tensors& x) -> Tensors {
                    return {tensordot(x[0], x[1], {1, 0}, {0, 2})};
                  }}},
       .bad = {{[] {
                  tensordot(ones({2, 3}), ones({4, 5}), 1);
                },
                "tensordot: the sizes of paired dimensions must match, got [2,3] and [4,5] paired "
                "by [1] and [0]"}},
       .also = {"matmul", "to"},
       .large =
           [] {
             return Tensors{numbers({90, 30, 40}), numbers({30, 40, 80})};
           },
       .autocasts = Autocasts::half});
  rows.push_back(
      {.op = "einsum",
       .tolerance = {1, 1, 8},
       .calls = {{"matmul", [](const Tensors& x) -> Tensors { return {einsum("ij,jk->ik", x)}; }},
                 {"implicit", [](const Tensors& x) -> Tensors { return {einsum("ij,jk", x)}; }},
                 {"batch", [](const Tensors& x) -> Tensors { return {einsum("bij,bjk->bik", x)}; }},
                 {"ellipsis",
                  [](const Tensors& x) -> Tensors { return {einsum("...ij,...jk->...ik", x)}; }},
                 {"trace", [](const Tensors& x) -> Tensors { return {einsum("ii->", x)}; }},
                 {"diagonal", [](const Tensors& x) -> Tensors { return {einsum("ii->i", x)}; }},
                 {"transpose", [](const Tensors& x) -> Tensors { return {einsum("ij->ji", x)}; }},
                 {"sum", [](const Tensors& x) -> Tensors { return {einsum("ij->j", x)}; }},
                 {"outer", [](const Tensors& x) -> Tensors { return {einsum("i,j->ij", x)}; }},
                 {"three", [](const Tensors& x) -> Tensors { return {einsum("ij,jk,kl->il", x)}; }},
                 {"attention",
                  [](const Tensors& x) -> Tensors { return {einsum("bhqd,bhkd->bhqk", x)}; }}},
       .bad = {{[] {
                  einsum("ij,jk->ik", {ones({2, 3})});
                },
                "einsum: as many subscripts as operands, got ij,jk->ik with 1"}},
       .also = {"matmul", "mul", "sum", "to"},
       .large =
           [] {
             return Tensors{numbers({300, 200}), numbers({200, 250})};
           },
       .autocasts = Autocasts::half});
}

}  // namespace

std::vector<Row> linalg_rows() {
  std::vector<Row> rows;
  add_products(rows);
  return rows;
}

}  // namespace aorta::catalog
