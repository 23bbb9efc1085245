#include <aorta/core/ops/indexing.h>
#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

void add_reading_and_writing(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "gather",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {gather(x[0], 2, x[1])}; }},
                 {"first", [](const Tensors& x) -> Tensors { return {gather(x[0], 0, x[1])}; }}},
       .bad = {{[] { gather(ones({5}), 0, tensor({7})); },
                "gather: index out of range, got 7 in dimension 0 of size 5"}},
       .also = {"find_bad_index"},
       .functions = {"check_index", "check_values", "prepare_index"},
       .large = [] {
         return Tensors{numbers({40, 50, 60}), places({40, 50, 90}, 60)};
       }});
  rows.push_back(
      {.op = "index_select",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {index_select(x[0], 1, x[1])}; }}},
       .bad = {{[] { index_select(ones({5}), 0, tensor({-1})); },
                "index_select: index out of range, got -1 in dimension 0 of size 5"}},
       .also = {"find_bad_index", "gather"},
       .large = [] {
         return Tensors{numbers({300, 200}), places({900}, 200)};
       }});
  rows.push_back(
      {.op = "take_along_dim",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {take_along_dim(x[0], x[1], 1)}; }}},
       .bad = {{[] { take_along_dim(ones({5}), tensor({5}), 0); },
                "take_along_dim: index out of range, got 5 in dimension 0 of size 5"}},
       .also = {"find_bad_index", "gather"}});
  rows.push_back(
      {.op = "take",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {take(x[0], x[1])}; }}},
       .bad = {{[] { take(ones({5}), tensor({5})); },
                "take: index out of range, got 5 in dimension 0 of size 5"}},
       .also = {"find_bad_index", "gather"}});
  rows.push_back(
      {.op = "scatter_",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {scatter(x[0], 2, x[1], x[2])}; },
                  [](const Tensors& x) -> Tensor { return scatter_(x[0], 2, x[1], x[2]); }},
                 {"value", [](const Tensors& x) -> Tensors { return {scatter(x[0], 2, x[1], 1)}; },
                  [](const Tensors& x) -> Tensor { return scatter_(x[0], 2, x[1], 1); }}},
       .bad = {{[] { scatter(ones({5}), 0, tensor({5}), 1); },
                "scatter: index out of range, got 5 in dimension 0 of size 5"}},
       .also = {"fill_", "find_bad_index", "to"},
       .large = [] {
         return Tensors{numbers({40, 50, 60}), places({40, 50, 90}, 60), numbers({40, 50, 90})};
       }});
  rows.push_back(
      {.op = "scatter_add_",
       .tolerance = {1, 1, 4},
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {scatter_add(x[0], 2, x[1], x[2])}; },
                  [](const Tensors& x) -> Tensor { return scatter_add_(x[0], 2, x[1], x[2]); }}},
       .bad = {{[] { scatter_add(ones({5}), 0, tensor({5}), ones({1})); },
                "scatter_add: index out of range, got 5 in dimension 0 of size 5"}},
       .also = {"find_bad_index", "to"},
       .large = [] {
         return Tensors{numbers({40, 50, 60}), places({40, 50, 90}, 60), numbers({40, 50, 90})};
       }});
  rows.push_back(
      {.op = "scatter_reduce",
       .tolerance = {2, 2, 4},
       .calls = {{"sum",
                  [](const Tensors& x) -> Tensors {
                    return {scatter_reduce(x[0], 2, x[1], x[2], ScatterReduce::sum)};
                  },
                  [](const Tensors& x) -> Tensor {
                    return scatter_reduce_(x[0], 2, x[1], x[2], ScatterReduce::sum);
                  }},
                 {"sum_alone",
                  [](const Tensors& x) -> Tensors {
                    return {scatter_reduce(x[0], 2, x[1], x[2], ScatterReduce::sum, false)};
                  },
                  [](const Tensors& x) -> Tensor {
                    return scatter_reduce_(x[0], 2, x[1], x[2], ScatterReduce::sum, false);
                  }},
                 {.name = "prod",
                  .run = [](const Tensors& x) -> Tensors {
                    return {scatter_reduce(x[0], 2, x[1], x[2], ScatterReduce::prod)};
                  },
                  .in_place = [](const Tensors& x) -> Tensor {
                    return scatter_reduce_(x[0], 2, x[1], x[2], ScatterReduce::prod);
                  },
                  .ordered_products = true},
                 {.name = "prod_alone",
                  .run = [](const Tensors& x) -> Tensors {
                    return {scatter_reduce(x[0], 2, x[1], x[2], ScatterReduce::prod, false)};
                  },
                  .in_place = [](const Tensors& x) -> Tensor {
                    return scatter_reduce_(x[0], 2, x[1], x[2], ScatterReduce::prod, false);
                  },
                  .ordered_products = true},
                 {"amax",
                  [](const Tensors& x) -> Tensors {
                    return {scatter_reduce(x[0], 2, x[1], x[2], ScatterReduce::amax)};
                  },
                  [](const Tensors& x) -> Tensor {
                    return scatter_reduce_(x[0], 2, x[1], x[2], ScatterReduce::amax);
                  }},
                 {"amax_alone",
                  [](const Tensors& x) -> Tensors {
                    return {scatter_reduce(x[0], 2, x[1], x[2], ScatterReduce::amax, false)};
                  },
                  [](const Tensors& x) -> Tensor {
                    return scatter_reduce_(x[0], 2, x[1], x[2], ScatterReduce::amax, false);
                  }},
                 {"amin",
                  [](const Tensors& x) -> Tensors {
                    return {scatter_reduce(x[0], 2, x[1], x[2], ScatterReduce::amin)};
                  },
                  [](const Tensors& x) -> Tensor {
                    return scatter_reduce_(x[0], 2, x[1], x[2], ScatterReduce::amin);
                  }},
                 {.name = "amin_alone",
                  .run = [](const Tensors& x) -> Tensors {
                    return {scatter_reduce(x[0], 2, x[1], x[2], ScatterReduce::amin, false)};
                  },
                  .in_place = [](const Tensors& x) -> Tensor {
                    return scatter_reduce_(x[0], 2, x[1], x[2], ScatterReduce::amin, false);
                  },
                  // PyTorch shares it with what is replaced.
                  .gradient_is_pytorchs = false},
                 {"mean",
                  [](const Tensors& x) -> Tensors {
                    return {scatter_reduce(x[0], 2, x[1], x[2], ScatterReduce::mean)};
                  },
                  [](const Tensors& x) -> Tensor {
                    return scatter_reduce_(x[0], 2, x[1], x[2], ScatterReduce::mean);
                  }},
                 {"mean_alone",
                  [](const Tensors& x) -> Tensors {
                    return {scatter_reduce(x[0], 2, x[1], x[2], ScatterReduce::mean, false)};
                  },
                  [](const Tensors& x) -> Tensor {
                    return scatter_reduce_(x[0], 2, x[1], x[2], ScatterReduce::mean, false);
                  }}},
       .bad = {{[] { scatter_reduce(ones({5}), 0, tensor({5}), ones({1}), ScatterReduce::sum); },
                "scatter_reduce: index out of range, got 5 in dimension 0 of size 5"}},
       .also = {"all", "clamp_min", "div", "fill_", "find_bad_index", "floor_divide", "to"}});
  rows.push_back(
      {.op = "index_add",
       .tolerance = {1, 1, 4},
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {index_add(x[0], 0, x[1], x[2])}; },
                  [](const Tensors& x) -> Tensor { return index_add_(x[0], 0, x[1], x[2]); }},
                 {"alpha",
                  [](const Tensors& x) -> Tensors { return {index_add(x[0], 0, x[1], x[2], 2)}; },
                  [](const Tensors& x) -> Tensor { return index_add_(x[0], 0, x[1], x[2], 2); }}},
       .bad = {{[] { index_add(ones({5}), 0, tensor({5}), ones({1})); },
                "index_add: index out of range, got 5 in dimension 0 of size 5"}},
       .also = {"find_bad_index", "mul", "scatter_add_", "to"},
       .large = [] {
         return Tensors{numbers({300, 700}), places({900}, 300), numbers({900, 700})};
       }});
  rows.push_back(
      {.op = "index_reduce",
       .tolerance = {2, 2, 4},
       .calls = {{.name = "prod",
                  .run = [](const Tensors& x) -> Tensors {
                    return {index_reduce(x[0], 1, x[1], x[2], ScatterReduce::prod)};
                  },
                  .in_place = [](const Tensors& x) -> Tensor {
                    return index_reduce_(x[0], 1, x[1], x[2], ScatterReduce::prod);
                  },
                  .ordered_products = true},
                 {"amax",
                  [](const Tensors& x) -> Tensors {
                    return {index_reduce(x[0], 1, x[1], x[2], ScatterReduce::amax)};
                  },
                  [](const Tensors& x) -> Tensor {
                    return index_reduce_(x[0], 1, x[1], x[2], ScatterReduce::amax);
                  }},
                 {"mean_alone",
                  [](const Tensors& x) -> Tensors {
                    return {index_reduce(x[0], 1, x[1], x[2], ScatterReduce::mean, false)};
                  },
                  [](const Tensors& x) -> Tensor {
                    return index_reduce_(x[0], 1, x[1], x[2], ScatterReduce::mean, false);
                  }}},
       .bad = {{[] { index_reduce(ones({5}), 0, tensor({5}), ones({1}), ScatterReduce::amax); },
                "index_reduce: index out of range, got 5 in dimension 0 of size 5"},
               {[] { index_reduce(ones({5}), 0, tensor({0}), ones({1}), ScatterReduce::sum); },
                "index_reduce: reduce must be prod, mean, amax or amin, got sum"},
               {[] {
                  const Tensor flags = ones({5}, {.dtype = boolean});
                  index_reduce(flags, 0, tensor({0}), flags, ScatterReduce::amax);
                },
                "index_reduce: dtype can't be bool, got bool"}},
       .also = {"all", "clamp_min", "div", "fill_", "find_bad_index", "floor_divide",
                "scatter_reduce", "to"}});
  rows.push_back(
      {.op = "index_copy",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {index_copy(x[0], 0, x[1], x[2])}; },
                  [](const Tensors& x) -> Tensor { return index_copy_(x[0], 0, x[1], x[2]); }}},
       .bad = {{[] { index_copy(ones({5}), 0, tensor({5}), ones({1})); },
                "index_copy: index out of range, got 5 in dimension 0 of size 5"}},
       .also = {"find_bad_index", "scatter_", "to"}});
  rows.push_back(
      {.op = "index_fill",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {index_fill(x[0], 1, x[1], 1)}; },
                  [](const Tensors& x) -> Tensor { return index_fill_(x[0], 1, x[1], 1); }}},
       .bad = {{[] { index_fill(ones({5}), 0, tensor({5}), 1); },
                "index_fill: index out of range, got 5 in dimension 0 of size 5"}},
       .also = {"fill_", "find_bad_index", "scatter_", "to"}});
}

void add_advanced(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "index",
       .needs_values = true,
       .tolerance = kExact,
       .calls = {{"rows", [](const Tensors& x) -> Tensors { return {index(x[0], {x[1]})}; }},
                 {"pairs",
                  [](const Tensors& x) -> Tensors {
                    return {index(x[0], {x[1], x[2]})};
                  }},
                 {"apart",
                  [](const Tensors& x) -> Tensors {
                    return {index(x[0], {x[1], Slice{}, x[2]})};
                  }},
                 {"mixed",
                  [](const Tensors& x) -> Tensors {
                    return {index(x[0], {Slice{1}, None, Ellipsis, x[1]})};
                  }},
                 {"mask", [](const Tensors& x) -> Tensors { return {index(x[0], {x[1]})}; }},
                 {"mask_rows", [](const Tensors& x) -> Tensors { return {index(x[0], {x[1]})}; }},
                 {"basic_only",
                  [](const Tensors& x) -> Tensors {
                    return {index(x[0], {-1, Slice{1, 3}})};
                  }}},
       .bad = {{[] { index(ones({5}), {tensor({5})}); },
                "index: index out of range, got 5 in dimension 0 of size 5"},
               {[] {
                  index(ones({5}), {0, 0});
                },
                "index: too many indices, got 2 for shape [5]"}},
       .also = {"find_bad_index", "nonzero"},
       .large = [] {
         return Tensors{numbers({300, 700}), places({900}, 300)};
       }});
  rows.push_back(
      {.op = "index_put_",
       .needs_values = true,
       .tolerance = {1, 1, 4},
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    return {index_put(x[0], {x[1], x[2]}, x[3])};
                  },
                  [](const Tensors& x) -> Tensor {
                    return index_put_(x[0], {x[1], x[2]}, x[3]);
                  }},
                 {"accumulate",
                  [](const Tensors& x) -> Tensors {
                    return {index_put(x[0], {x[1], x[2]}, x[3], true)};
                  },
                  [](const Tensors& x) -> Tensor {
                    return index_put_(x[0], {x[1], x[2]}, x[3], true);
                  }},
                 {"mask",
                  [](const Tensors& x) -> Tensors { return {index_put(x[0], {x[1]}, x[2])}; },
                  [](const Tensors& x) -> Tensor { return index_put_(x[0], {x[1]}, x[2]); }}},
       .bad = {{[] { index_put(ones({5}), {tensor({5})}, ones({1})); },
                "index_put: index out of range, got 5 in dimension 0 of size 5"}},
       .also = {"find_bad_index", "nonzero", "to"},
       .large = [] {
         return Tensors{numbers({300, 700}), places({90000}, 300), places({90000}, 700),
                        numbers({90000})};
       }});
  rows.push_back(
      {.op = "nonzero",
       .needs_values = true,
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {nonzero(x[0])}; }}},
       .large = [] {
         return Tensors{floor(numbers({500, 400}))};
       }});
  rows.push_back(
      {.op = "where_nonzero",
       .needs_values = true,
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return aorta::where(x[0]); }}},
       .also = {"nonzero"}});
  rows.push_back(
      {.op = "masked_select",
       .needs_values = true,
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {masked_select(x[0], x[1])}; }},
                 {"broadcast",
                  [](const Tensors& x) -> Tensors { return {masked_select(x[0], x[1])}; }}},
       .bad = {{[] { masked_select(ones({2}), ones({2})); },
                "masked_select: the mask must be bool, got f32"}},
       .also = {"find_bad_index", "index", "nonzero", "to"},
       .large = [] {
         return Tensors{numbers({500, 400}), gt(numbers({500, 400}), 0)};
       }});
  rows.push_back(
      {.op = "masked_scatter",
       .needs_values = true,
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {masked_scatter(x[0], x[1], x[2])}; },
                  [](const Tensors& x) -> Tensor { return masked_scatter_(x[0], x[1], x[2]); }}},
       .bad = {{[] { masked_scatter(ones({2}), ones({2}, {.dtype = boolean}), ones({1})); },
                "masked_scatter: the source must have an element for each place, got 1 for 2"}},
       .also = {"find_bad_index", "index_put_", "nonzero", "to"}});
  rows.push_back(
      {.op = "one_hot",
       .needs_values = true,
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {one_hot(x[0])}; }},
                 {"classes", [](const Tensors& x) -> Tensors { return {one_hot(x[0], 7)}; }}},
       .bad = {{[] { one_hot(tensor({-1})); }, "one_hot: classes can't be negative, got -1"}},
       .also = {"fill_", "find_bad_index", "scatter_"}});
}

}  // namespace

std::vector<Row> indexing_rows() {
  std::vector<Row> rows;
  add_reading_and_writing(rows);
  add_advanced(rows);
  return rows;
}

}  // namespace aorta::catalog
