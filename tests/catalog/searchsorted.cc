#include <aorta/core/ops/searchsorted.h>
#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {

std::vector<Row> searchsorted_rows() {
  return {
      {.op = "searchsorted",
       .tolerance = kExact,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {searchsorted(x[0], x[1])}; }},
                 {"right",
                  [](const Tensors& x) -> Tensors { return {searchsorted(x[0], x[1], true)}; }},
                 {"number", [](const Tensors& x) -> Tensors { return {searchsorted(x[0], 2)}; }}},
       .bad = {{[] {
                  searchsorted(ones({2, 3}), ones({3, 3}));
                },
                "searchsorted: sequence and values must have the same sizes but for the last, got "
                "[2,3] and [3,3]"},
               {[] { searchsorted(ones({3}, {.dtype = boolean}), ones({3}, {.dtype = boolean})); },
                "searchsorted: dtype must be a number, not bool, got bool"},
               {[] { searchsorted(ones({3}), ones({3}, {.dtype = c64})); },
                "searchsorted: dtype must be real, got c64"},
               {[] {
                  searchsorted(tensor({1, 2}), 1e300);
                },
                "searchsorted: the value must fit the dtype, got 1e+300 for f32"},
               {[] { searchsorted(ones({}), ones({3})); },
                "searchsorted: the sequence must have a dimension, got []"},
               {[] { searchsorted(ones({3}), ones({3}, {.device = "cpu:1"})); },
                "searchsorted: tensors must be on one device, got cpu and cpu:1"},
               {[] { searchsorted(ones({3}), Tensor()); },
                "searchsorted: values must be defined, got an undefined tensor"}},
       .also = {"fill_"}},  // of a number
      {.op = "bucketize",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {bucketize(x[0], x[1])}; }},
                 {"right",
                  [](const Tensors& x) -> Tensors { return {bucketize(x[0], x[1], true)}; }}},
       .bad = {{[] {
                  bucketize(ones({2}), ones({3, 3}));
                },
                "bucketize: boundaries must have one dimension, got [3,3]"}},
       .also = {"searchsorted"}}};
}

}  // namespace aorta::catalog
