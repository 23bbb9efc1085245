#include <aorta/core/ops/embedding.h>

#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {

std::vector<Row> embedding_rows() {
  return {
      {.op = "embedding",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {embedding(x[0], x[1])}; }},
                 {.name = "padding",
                  .run = [](const Tensors& x) -> Tensors { return {embedding(x[0], x[1], 2)}; },
                  // The gradient of the padding row is 0.
                  .gradient_is_derivative = false},
                 {.name = "padding_last",
                  .run = [](const Tensors& x) -> Tensors { return {embedding(x[0], x[1], -1)}; },
                  .gradient_is_derivative = false}},
       .bad = {{[] {
                  embedding(tensor({{0, 1, 2}, {3, 4, 7}}), ones({5, 2}));
                },
                "embedding: index must be in [0, V), got 7 at [1,2], V 5"},
               {[] {
                  embedding(tensor({0, -1}), ones({5, 2}));
                },
                "embedding: index must be in [0, V), got -1 at [1], V 5"},
               {[] { embedding(tensor({0}), ones({5})); },
                "embedding: weight must be (V, D), got [5]"},
               {[] {
                  embedding(tensor({0.5}), ones({5, 2}));
                },
                "embedding: indices must be i64 or i32, got f32"},
               {[] {
                  embedding(tensor({0}), ones({5, 2}), 5);
                },
                "embedding: padding_idx must be a row of weight, got 5 for [5,2]"}},
       .also = {"find_bad_index", "gather"},
       .large = [] {
         return Tensors{places({64, 300}, 977), numbers({977, 61})};
       }}};
}

}  // namespace aorta::catalog
