#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {
namespace {

constexpr Tolerance kUlps4{4, 6, 0};
// PyTorch's zeros differ in sign by the path it takes.
constexpr Tolerance kExactButZeros{.zero_signs = false};
// x * sigmoid(x), where the sigmoid is subnormal.
constexpr Tolerance kNearZero{16, 32, 0, 1};

void add_plain(std::vector<Row>& rows) {
  rows.push_back(unary<sigmoid, sigmoid_>("sigmoid", kUlps2));
  rows.push_back(
      {.op = "logit",
       .tolerance = kUlps4,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {logit(x[0])}; },
                  [](const Tensors& x) { return logit_(x[0]); }},
                 {"eps", [](const Tensors& x) -> Tensors { return {logit(x[0], 0.125)}; },
                  [](const Tensors& x) { return logit_(x[0], 0.125); }}},
       .bad = {
           {[] { logit_(ones({2}, {.dtype = i32})); },
            "logit_: the result's dtype must be castable to that of the tensor written in place, "
            "got f32 into i32"}}});
  rows.push_back(unary<relu, relu_>("relu", kExactButZeros,
                                    {{[] { relu(ones({2}, {.dtype = boolean})); },
                                      "relu: dtype must be a number, not bool, got bool"}}));
  rows.push_back(unary<relu6, relu6_>("relu6", kExactButZeros,
                                      {{[] { relu6(ones({2}, {.dtype = boolean})); },
                                        "relu6: dtype must be a number, not bool, got bool"}}));
  rows.push_back(unary<selu, selu_>(
      "selu", kUlps4,
      {{[] { selu(ones({2}, {.dtype = i32})); }, "selu: dtype must be floating, got i32"}}));
  rows.push_back(unary<silu, silu_>(
      "silu", kNearZero,
      {{[] { silu(ones({2}, {.dtype = i32})); }, "silu: dtype must be floating, got i32"}}));
  rows.push_back(unary<mish, mish_>(
      "mish", kNearZero,
      {{[] { mish(ones({2}, {.dtype = i32})); }, "mish: dtype must be floating, got i32"}}));
  rows.push_back(unary<logsigmoid, logsigmoid_>("logsigmoid", {4, 6, 0, 0, false},
                                                {{[] { logsigmoid(ones({2}, {.dtype = i32})); },
                                                  "logsigmoid: dtype must be floating, got i32"}}));
  rows.push_back(
      unary<softsign, softsign_>("softsign", kUlps2,
                                 {{[] { softsign(ones({2}, {.dtype = boolean})); },
                                   "softsign: dtype must be a number, not bool, got bool"}}));
  rows.push_back(
      unary<hardsigmoid, hardsigmoid_>({.op = "hardsigmoid",
                                        .tolerance = kUlps2,
                                        .bad = {{[] { hardsigmoid(ones({2}, {.dtype = i32})); },
                                                 "hardsigmoid: dtype must be floating, got i32"}},
                                        // PyTorch's sixth there is an f32 number.
                                        .gradient_tolerance = 1e-7}));
  rows.push_back(unary<hardswish, hardswish_>("hardswish", kUlps2,
                                              {{[] { hardswish(ones({2}, {.dtype = i32})); },
                                                "hardswish: dtype must be floating, got i32"}}));
  rows.push_back(
      unary<tanhshrink, tanhshrink_>("tanhshrink", {2, 4, 4},
                                     {{[] { tanhshrink(ones({2}, {.dtype = boolean})); },
                                       "tanhshrink: dtype must be a number, not bool, got bool"}}));
}

void add_with_parameters(std::vector<Row>& rows) {
  rows.push_back({.op = "gelu",
                  .tolerance = kNearZero,
                  .calls = {{"default", [](const Tensors& x) -> Tensors { return {gelu(x[0])}; },
                             [](const Tensors& x) { return gelu_(x[0]); }}},
                  .bad = {{[] { gelu(ones({2}, {.dtype = i32})); },
                           "gelu: dtype must be floating, got i32"}}});
  rows.push_back(
      {.op = "gelu_tanh",
       .tolerance = kNearZero,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {gelu(x[0], GeluApproximation::tanh)}; },
                  [](const Tensors& x) { return gelu_(x[0], GeluApproximation::tanh); }}}});
  rows.push_back(
      {.op = "leaky_relu",
       .tolerance = {1, 1},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {leaky_relu(x[0])}; },
                  [](const Tensors& x) { return leaky_relu_(x[0]); }},
                 {"slope", [](const Tensors& x) -> Tensors { return {leaky_relu(x[0], -0.25)}; },
                  [](const Tensors& x) { return leaky_relu_(x[0], -0.25); }}},
       .bad = {{[] { leaky_relu(ones({2}, {.dtype = i32})); },
                "leaky_relu: dtype must be floating, got i32"}}});
  rows.push_back(
      {.op = "elu",
       .tolerance = kUlps4,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {elu(x[0])}; },
                  [](const Tensors& x) { return elu_(x[0]); }},
                 {"alpha", [](const Tensors& x) -> Tensors { return {elu(x[0], 2.5)}; },
                  [](const Tensors& x) { return elu_(x[0], 2.5); }}},
       .bad = {{[] { elu(ones({2}, {.dtype = i32})); }, "elu: dtype must be floating, got i32"}}});
  rows.push_back({.op = "celu",
                  .tolerance = kUlps4,
                  .calls = {{"default", [](const Tensors& x) -> Tensors { return {celu(x[0])}; },
                             [](const Tensors& x) { return celu_(x[0]); }},
                            {"alpha", [](const Tensors& x) -> Tensors { return {celu(x[0], 2.0)}; },
                             [](const Tensors& x) { return celu_(x[0], 2.0); }}},
                  .bad = {{[] { celu(ones({2}), 0); }, "celu: alpha must not be 0, got 0"}}});
  rows.push_back(
      {.op = "softplus",
       .tolerance = kUlps4,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {softplus(x[0])}; },
                  [](const Tensors& x) { return softplus_(x[0]); }},
                 {"beta", [](const Tensors& x) -> Tensors { return {softplus(x[0], 2.0, 4.0)}; },
                  [](const Tensors& x) { return softplus_(x[0], 2.0, 4.0); }}},
       .bad = {{[] { softplus(ones({2}, {.dtype = i32})); },
                "softplus: dtype must be floating, got i32"}},
       .autocasts = Autocasts::f32});
  rows.push_back(
      {.op = "hardtanh",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {hardtanh(x[0])}; },
                  [](const Tensors& x) { return hardtanh_(x[0]); }},
                 {"range", [](const Tensors& x) -> Tensors { return {hardtanh(x[0], -2, 3)}; },
                  [](const Tensors& x) { return hardtanh_(x[0], -2, 3); }}},
       .bad = {{[] { hardtanh(ones({2}, {.dtype = boolean})); },
                "hardtanh: dtype must be a number, not bool, got bool"}}});
  rows.push_back(
      {.op = "threshold",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {threshold(x[0], 1, 20)}; },
                  [](const Tensors& x) { return threshold_(x[0], 1, 20); }}},
       .bad = {{[] { threshold(ones({2}, {.dtype = boolean}), 1, 2); },
                "threshold: dtype must be a number, not bool, got bool"}}});
  rows.push_back(
      {.op = "hardshrink",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {hardshrink(x[0])}; },
                  [](const Tensors& x) { return hardshrink_(x[0]); }},
                 {"lambda", [](const Tensors& x) -> Tensors { return {hardshrink(x[0], 1.5)}; },
                  [](const Tensors& x) { return hardshrink_(x[0], 1.5); }}},
       .bad = {{[] { hardshrink(ones({2}, {.dtype = i64})); },
                "hardshrink: dtype must be floating, got i64"}}});
  rows.push_back(
      {.op = "softshrink",
       .tolerance = kExactButZeros,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {softshrink(x[0])}; },
                  [](const Tensors& x) { return softshrink_(x[0]); }},
                 {"lambda", [](const Tensors& x) -> Tensors { return {softshrink(x[0], 1.5)}; },
                  [](const Tensors& x) { return softshrink_(x[0], 1.5); }}},
       .bad = {
           {[] { softshrink(ones({2}), -1.0); }, "softshrink: lambda can't be negative, got -1"}}});
}

}  // namespace

std::vector<Row> activation_rows() {
  std::vector<Row> rows;
  add_plain(rows);
  add_with_parameters(rows);
  return rows;
}

}  // namespace aorta::catalog
