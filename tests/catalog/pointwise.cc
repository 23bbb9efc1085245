#include <aorta/tests/catalog/rows.h>
#include <gtest/gtest.h>

#include <cmath>

namespace aorta::catalog {
namespace {

Tensor sum_of(const Operand& a, const Operand& b) { return add(a, b); }
Tensor add_to(const Tensor& self, const Operand& other) { return add_(self, other); }
Tensor difference_of(const Operand& a, const Operand& b) { return sub(a, b); }
Tensor subtract_from(const Tensor& self, const Operand& other) { return sub_(self, other); }

// PyTorch's have no in-place form.
template <Unary f>
Row question(const char* op, const char* error) {
  return {.op = op,
          .tolerance = kExact,
          .calls = {{"default", [](const Tensors& x) -> Tensors { return {f(x[0])}; }}},
          .bad = {{[] { f(Tensor()); }, error}}};
}

template <Unary f>
Row special(const char* op, double ulps_f64, Autocasts autocasts = Autocasts::nothing) {
  return {.op = op,
          .tolerance = {2, ulps_f64},
          .calls = {{"default", [](const Tensors& x) -> Tensors { return {f(x[0])}; }}},
          .autocasts = autocasts};
}

// Where each call is `f(x)` and `f_(x)`.
void add_unary(std::vector<Row>& rows) {
  rows.push_back(unary<neg, neg_>("neg", kExact,
                                  {{[] { neg(ones({2}, {.dtype = boolean})); },
                                    "neg: dtype must be a number, not bool, got bool"}}));
  rows.push_back(unary<abs, abs_>("abs", kExact,
                                  {{[] { abs(ones({2}, {.dtype = boolean})); },
                                    "abs: dtype must be a number, not bool, got bool"}}));
  // A step function, as floor, ceil, round and trunc are.
  rows.push_back(
      unary<sign, sign_>({.op = "sign", .tolerance = kExact, .derivative = Derivative::zero}));
  rows.push_back(unary<square, square_>("square", kExact,
                                        {{[] { square(ones({2}, {.dtype = boolean})); },
                                          "square: dtype must be a number, not bool, got bool"}}));
  rows.push_back(unary<reciprocal, reciprocal_>(
      {.op = "reciprocal", .tolerance = kExact, .autocasts = Autocasts::f32}));
  rows.push_back(
      unary<floor, floor_>({.op = "floor", .tolerance = kExact, .derivative = Derivative::zero}));
  rows.push_back(
      unary<ceil, ceil_>({.op = "ceil", .tolerance = kExact, .derivative = Derivative::zero}));
  rows.push_back(
      unary<round, round_>({.op = "round", .tolerance = kExact, .derivative = Derivative::zero}));
  rows.push_back(
      unary<trunc, trunc_>({.op = "trunc", .tolerance = kExact, .derivative = Derivative::zero}));
  rows.push_back(unary<frac, frac_>(
      "frac", kExact,
      {{[] { frac(ones({2}, {.dtype = i64})); }, "frac: dtype must be floating, got i64"}}));
  rows.push_back(unary<sqrt, sqrt_>(
      "sqrt", kExact,
      {{[] { sqrt_(ones({2}, {.dtype = i64})); },
        "sqrt_: the result's dtype must be castable to that of the tensor written in place, got "
        "f32 "
        "into i64"},
       {[] { sqrt(Tensor()); }, "sqrt: input must be defined, got an undefined tensor"},
       {[] { sqrt_(ones({1}).expand({3})); },
        "sqrt_: a tensor whose elements share memory can't be written; clone it first, got [3] "
        "with "
        "strides [0]"}}));
  rows.push_back(unary<isnan, isnan_>("isnan", kExact));
  rows.push_back(unary<isinf, isinf_>("isinf", kExact));
  rows.push_back(unary<isfinite, isfinite_>("isfinite", kExact));
  rows.push_back(
      question<isposinf>("isposinf", "isposinf: input must be defined, got an undefined tensor"));
  rows.push_back(
      question<isneginf>("isneginf", "isneginf: input must be defined, got an undefined tensor"));
  rows.push_back(
      question<signbit>("signbit", "signbit: input must be defined, got an undefined tensor"));
  rows.push_back(unary<logical_not, logical_not_>("logical_not", kExact));
  rows.push_back(unary<bitwise_not, bitwise_not_>(
      "bitwise_not", kExact,
      {{[] { bitwise_not(ones({2})); },
        "bitwise_not: dtype must be an integer or bool, got f32"}}));
  rows.push_back(
      unary<rsqrt, rsqrt_>({.op = "rsqrt", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(unary<exp, exp_>({.op = "exp", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(unary<exp2, exp2_>("exp2", kUlps2));
  rows.push_back(
      unary<expm1, expm1_>({.op = "expm1", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(unary<log, log_>({.op = "log", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(
      unary<log1p, log1p_>({.op = "log1p", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(
      unary<log2, log2_>({.op = "log2", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(
      unary<log10, log10_>({.op = "log10", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(unary<sin, sin_>("sin", kUlps2));
  rows.push_back(unary<cos, cos_>("cos", kUlps2));
  rows.push_back(unary<tan, tan_>({.op = "tan", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(
      unary<asin, asin_>({.op = "asin", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(
      unary<acos, acos_>({.op = "acos", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(unary<atan, atan_>("atan", kUlps2));
  rows.push_back(
      unary<sinh, sinh_>({.op = "sinh", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(
      unary<cosh, cosh_>({.op = "cosh", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(unary<tanh, tanh_>("tanh", kUlps2));
  rows.push_back(unary<asinh, asinh_>("asinh", kUlps2));
  rows.push_back(unary<acosh, acosh_>("acosh", kUlps2));
  rows.push_back(unary<atanh, atanh_>("atanh", kUlps2));
  rows.push_back(unary<erf, erf_>("erf", kUlps2));
  rows.push_back(unary<erfc, erfc_>("erfc", kUlps2));
  rows.push_back(
      unary<erfinv, erfinv_>({.op = "erfinv", .tolerance = kUlps2, .autocasts = Autocasts::f32}));
  rows.push_back(special<erfcx>("erfcx", 4, Autocasts::f32));
  rows.push_back(special<log_ndtr>("log_ndtr", 8, Autocasts::f32));
  rows.push_back(unary<i0, i0_>({.op = "i0", .tolerance = {2, 8}, .autocasts = Autocasts::f32}));
  rows.push_back(special<i0e>("i0e", 4));
  rows.push_back(special<i1>("i1", 8, Autocasts::f32));
  rows.push_back(special<i1e>("i1e", 4));
  // NVIDIA's bound of 4 ULP in f64 is for outside of -11 to -2.26 alone; 91 were seen beside a zero
  // inside.
  rows.push_back(unary<lgamma, lgamma_>("lgamma", {2, 128, 0}));
  rows.push_back(unary<sinc, sinc_>(
      "sinc", {.ulps = 4, .ulps_f64 = 8},
      {{[] { sinc_(ones({2}, {.dtype = i64})); },
        "sinc_: the result's dtype must be castable to that of the tensor written in place, got "
        "f32 into i64"}}));
  // Beside a zero of the function its digits are those of the terms that cancel there.
  rows.push_back(unary<digamma, digamma_>("digamma", {2, 4, 8}));
  rows.push_back(
      {.op = "polygamma",
       .tolerance = {2, 64, 0},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {polygamma(1, x[0])}; },
                  [](const Tensors& x) { return polygamma_(1, x[0]); }},
                 {"third", [](const Tensors& x) -> Tensors { return {polygamma(3, x[0])}; },
                  [](const Tensors& x) { return polygamma_(3, x[0]); }}},
       .bad = {
           {[] { polygamma(-1, ones({2})); }, "polygamma: n must be from 0 to 169, got -1"},
           {[] { polygamma_(170, ones({2})); }, "polygamma_: n must be from 0 to 169, got 170"}}});
  rows.push_back(
      {.op = "mvlgamma",
       .tolerance = {4, 128, 8},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {mvlgamma(x[0], 3)}; },
                  [](const Tensors& x) { return mvlgamma_(x[0], 3); }}},
       .bad = {{[] { mvlgamma(ones({2}), 0); }, "mvlgamma: p must be at least 1, got 0"},
               {[] { mvlgamma_(ones({2}, {.dtype = i64}), 1); },
                "mvlgamma_: dtype must be floating, got i64"}},
       .also = {"add", "lgamma", "mul", "sub", "sum", "to"}});
  rows.push_back({.op = "frexp",
                  .tolerance = kExact,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               const auto [mantissa, exponent] = frexp(x[0]);
                               return {mantissa, exponent};
                             }}},
                  .bad = {{[] { frexp(ones({2}, {.dtype = i64})); },
                           "frexp: dtype must be floating, got i64"}},
                  .also = {"frexp_exponent", "to"}});
}

Tensor without_history(const Tensor& x) { return x.defined() ? x.detach() : x; }

// By the first there is no derivative, as in PyTorch.
template <Binary f, BinaryInPlace in_place>
Row incomplete_gamma(const char* op, const char* error) {
  return {
      .op = op,
      .tolerance = {.ulps = 4, .ulps_f64 = 2048},
      .calls = {{.name = "default",
                 .run = [](const Tensors& x) -> Tensors {
                   return {f(without_history(x[0]), x[1])};
                 },
                 .in_place = [](const Tensors& x) { return in_place(x[0], x[1]); },
                 .gradient_is_derivative = false},
                {.name = "number",
                 .run = [](const Tensors& x) -> Tensors { return {f(without_history(x[0]), 2.5)}; },
                 .gradient_is_derivative = false},
                {"number_left", [](const Tensors& x) -> Tensors { return {f(2.5, x[0])}; }}},
      .bad = {{[] { f(ones({2}, {.dtype = i64}), 1); }, error}}};
}

// PyTorch's have no in-place form.
template <Binary f>
Row log_of_sum(const char* op, const char* error) {
  return {.op = op,
          .tolerance = {2, 4, 2},
          .calls = {{"default", [](const Tensors& x) -> Tensors { return {f(x[0], x[1])}; }},
                    {"number", [](const Tensors& x) -> Tensors { return {f(x[0], 2.5)}; }},
                    {"number_left", [](const Tensors& x) -> Tensors { return {f(2.5, x[0])}; }}},
          .bad = {{[] { f(ones({2}, {.dtype = i64}), 1); }, error}}};
}

void add_binary(std::vector<Row>& rows) {
  rows.push_back(binary<sum_of, add_to>(
      "add", kExact,
      {{[] {
          add(ones({2, 3}), ones({4}));
        },
        "add: shapes must broadcast, got [2,3] and [4]"},
       {[] { add(1, 2); }, "add: at least one operand must be a tensor, got numbers alone"},
       {[] {
          add_(ones({2, 1}), ones({2, 3}));
        },
        "add_: the result must fit the tensor that is written in place, got [2,3] into [2,1]"},
       {[] { add_(ones({2}, {.dtype = i32}), 1.5); },
        "add_: the result's dtype must be castable to that of the tensor written in place, got f32 "
        "into i32"},
       {[] { add(ones({2}), ones({2}, {.device = "cpu:1"})); },
        "add: tensors must be on one device, got cpu and cpu:1"}}));
  rows.push_back(
      binary<difference_of, subtract_from>("sub", kExact,
                                           {{[] { sub(ones({2}, {.dtype = boolean}), true); },
                                             "sub: dtype must be a number, not bool, got bool"}}));
  rows.push_back(binary<mul, mul_>("mul", kExact));
  rows.push_back(binary<div, div_>("div", kExact));
  rows.push_back(binary<minimum, minimum_>("minimum", kExact));
  rows.push_back(binary<maximum, maximum_>("maximum", kExact));
  rows.push_back(binary<eq, eq_>("eq", kExact));
  rows.push_back(binary<ne, ne_>("ne", kExact));
  rows.push_back(binary<lt, lt_>("lt", kExact));
  rows.push_back(binary<le, le_>("le", kExact));
  rows.push_back(binary<gt, gt_>("gt", kExact));
  rows.push_back(binary<ge, ge_>("ge", kExact));
  rows.push_back(binary<logical_and, logical_and_>("logical_and", kExact));
  rows.push_back(binary<logical_or, logical_or_>("logical_or", kExact));
  rows.push_back(binary<logical_xor, logical_xor_>("logical_xor", kExact));
  rows.push_back(binary<bitwise_and, bitwise_and_>(
      "bitwise_and", kExact,
      {{[] { bitwise_and(ones({2}), 1); },
        "bitwise_and: dtype must be an integer or bool, got f32"}}));
  rows.push_back(
      binary<bitwise_or, bitwise_or_>("bitwise_or", kExact,
                                      {{[] { bitwise_or(ones({2}), 1); },
                                        "bitwise_or: dtype must be an integer or bool, got f32"}}));
  rows.push_back(binary<bitwise_xor, bitwise_xor_>(
      "bitwise_xor", kExact,
      {{[] { bitwise_xor(ones({2}), 1); },
        "bitwise_xor: dtype must be an integer or bool, got f32"}}));
  rows.push_back(binary<bitwise_left_shift, bitwise_left_shift_>(
      "bitwise_left_shift", kExact,
      {{[] { bitwise_left_shift(ones({2}), 1); },
        "bitwise_left_shift: dtype must be an integer or bool, got f32"},
       {[] { bitwise_left_shift(ones({2}, {.dtype = boolean}), true); },
        "bitwise_left_shift: dtype must be an integer, not bool, got bool"}}));
  rows.push_back(binary<bitwise_right_shift, bitwise_right_shift_>(
      "bitwise_right_shift", kExact,
      {{[] { bitwise_right_shift(ones({2}, {.dtype = boolean}), true); },
        "bitwise_right_shift: dtype must be an integer, not bool, got bool"}}));
  rows.push_back(binary<floor_divide, floor_divide_>(
      {.op = "floor_divide",
       .tolerance = kExact,
       .bad = {{[] {
                  floor_divide(tensor({5, 6}), 0);
                },
                "floor_divide: an integer can't be divided by zero, got 0"},
               {[] {
                  floor_divide(tensor({5, 6}), 0);
                },
                "floor_divide: an integer can't be divided by zero, got 0"},
               {[] {
                  floor_divide_(tensor({5, 6}), 0);
                },
                "floor_divide_: an integer can't be divided by zero, got 0"}},
       .also = {"all"},                 // of an integer divisor: whether one is 0
       .derivative = Derivative::zero,  // steps
       .jumps_at_whole_quotients = true}));
  rows.push_back(binary<fmod, fmod_>({.op = "fmod",
                                      .tolerance = kExact,
                                      .bad = {{[] {
                                                 fmod(tensor({5, 6}), 0);
                                               },
                                               "fmod: an integer can't be divided by zero, got 0"}},
                                      .also = {"all"},
                                      .jumps_at_whole_quotients = true}));
  rows.push_back(binary<remainder, remainder_>(
      {.op = "remainder",
       .tolerance = {.zero_signs = false},
       .bad = {{[] {
                  remainder(tensor({5, 6}), 0);
                },
                "remainder: an integer can't be divided by zero, got 0"}},
       .also = {"all"},
       .jumps_at_whole_quotients = true}));
  rows.push_back(binary<pow, pow_>({.op = "pow",
                                    .tolerance = kUlps2,
                                    .bad = {{[] {
                                               pow(tensor({5, 6}), -1);
                                             },
                                             "pow: an integer can't have a negative power, got -1"},
                                            {[] { pow(ones({2}, {.dtype = boolean}), true); },
                                             "pow: dtype must be a number, not bool, got bool"}},
                                    .autocasts = Autocasts::f32}));
  rows.push_back(binary<atan2, atan2_>("atan2", kUlps2));
  rows.push_back(binary<hypot, hypot_>(
      "hypot", kUlps2,
      {{[] { hypot(ones({2}, {.dtype = i64}), 1); }, "hypot: dtype must be floating, got i64"}}));
  rows.push_back(binary<copysign, copysign_>(
      "copysign", kExact,
      {{[] { copysign(1, 2); },
        "copysign: at least one operand must be a tensor, got numbers alone"}}));
  rows.push_back(binary<heaviside, heaviside_>(
      {.op = "heaviside",
       .tolerance = kExact,
       .bad = {{[] { heaviside(ones({2}), Tensor()); },
                "heaviside: values must be defined, got an undefined tensor"},
               {[] { heaviside(ones({2}, {.dtype = u8}), -1); },
                "heaviside: the value must fit the dtype, got -1 for u8"}}}));
  // Where the values are the result, and have its gradient.
  rows.back().calls.push_back(
      {"values", [](const Tensors& x) -> Tensors { return {heaviside(x[0], x[1])}; }});
  rows.push_back(binary<ldexp, ldexp_>("ldexp", kUlps2,
                                       {{[] {
                                           ldexp(ones({2, 3}), ones({4}));
                                         },
                                         "ldexp: shapes must broadcast, got [2,3] and [4]"}}));
  rows.push_back(binary<xlogy, xlogy_>("xlogy", kUlps2));
  rows.push_back(
      incomplete_gamma<igamma, igamma_>("igamma", "igamma: dtype must be floating, got i64"));
  rows.push_back(
      incomplete_gamma<igammac, igammac_>("igammac", "igammac: dtype must be floating, got i64"));
  rows.push_back(log_of_sum<logaddexp>("logaddexp", "logaddexp: dtype must be floating, got i64"));
  rows.push_back(
      log_of_sum<logaddexp2>("logaddexp2", "logaddexp2: dtype must be floating, got i64"));
  rows.push_back(binary<prelu, prelu_>(
      "prelu", kExact,
      {{[] { prelu(ones({2}, {.dtype = i64}), 1); }, "prelu: dtype must be floating, got i64"}}));
}

void add_scaled(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "add_scaled",
       .tolerance = {1, 1, 2},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {add(x[0], x[1], 0.75)}; },
                  [](const Tensors& x) { return add_(x[0], x[1], 0.75); }},
                 {"integer", [](const Tensors& x) -> Tensors { return {add(x[0], x[1], 3)}; },
                  [](const Tensors& x) { return add_(x[0], x[1], 3); }}},
       .bad = {{[] {
                  add(tensor({1, 2}), 1, 0.5);
                },
                "add: alpha must be an integer for integer operands, got 0.5 for i64"}}});
  rows.push_back(
      {.op = "sub_scaled",
       .tolerance = {1, 1, 2},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {sub(x[0], x[1], 0.75)}; },
                  [](const Tensors& x) { return sub_(x[0], x[1], 0.75); }},
                 {"integer", [](const Tensors& x) -> Tensors { return {sub(x[0], x[1], 3)}; },
                  [](const Tensors& x) { return sub_(x[0], x[1], 3); }}},
       .bad = {{[] {
                  sub(tensor({1, 2}), 1, 0.5);
                },
                "sub: alpha must be an integer for integer operands, got 0.5 for i64"}}});
}

void add_ternary(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "where",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {where(x[0], x[1], x[2])}; }},
                 {"numbers", [](const Tensors& x) -> Tensors { return {where(x[0], x[1], 2.5)}; }}},
       .bad = {{[] { where(ones({2}), 1, 2); }, "where: the condition must be bool, got f32"},
               {[] { where(ones({2}, {.dtype = boolean}), ones({3}), 2); },
                "where: shapes must broadcast, got [2] and [3]"}}});
  rows.push_back(
      {.op = "isclose",
       .tolerance = kExact,
       .calls =
           {{"default", [](const Tensors& x) -> Tensors { return {isclose(x[0], x[1])}; }},
            {"loose", [](const Tensors& x) -> Tensors { return {isclose(x[0], x[1], 0.25, 0.5)}; }},
            {"equal_nan",
             [](const Tensors& x) -> Tensors { return {isclose(x[0], x[1], 1e-5, 1e-8, true)}; }}},
       .bad = {{[] { isclose(ones({2}), ones({2}, {.dtype = f64})); },
                "isclose: tensors must have one dtype, got f32 and f64"},
               {[] { isclose(ones({2}), ones({2}), -1); },
                "isclose: rtol must be at least 0, got -1"},
               {[] { isclose(ones({2}), ones({2}), 0, -1); },
                "isclose: atol must be at least 0, got -1"},
               {[] { isclose(ones({2}), ones({3})); },
                "isclose: shapes must broadcast, got [2] and [3]"}},
       .also = {"abs", "add", "eq", "isfinite", "isnan", "le", "logical_and", "logical_or", "mul",
                "sub", "to"}});
  rows.push_back(
      {.op = "lerp",
       .tolerance = {1, 1, 4},
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {lerp(x[0], x[1], x[2])}; },
                  [](const Tensors& x) { return lerp_(x[0], x[1], x[2]); }},
                 {"number", [](const Tensors& x) -> Tensors { return {lerp(x[0], x[1], 0.75)}; },
                  [](const Tensors& x) { return lerp_(x[0], x[1], 0.75); }},
                 {"ends", [](const Tensors& x) -> Tensors { return {lerp(x[0], x[1], 1.0)}; },
                  [](const Tensors& x) { return lerp_(x[0], x[1], 1.0); }}},
       .bad = {{[] {
                  lerp(tensor({1, 2}), tensor({1, 2}), 1);
                },
                "lerp: dtype must be floating, got i64"}}});
  rows.push_back(
      {.op = "addcmul",
       .tolerance = {1, 1, 3},
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {addcmul(x[0], x[1], x[2])}; },
                  [](const Tensors& x) { return addcmul_(x[0], x[1], x[2]); }},
                 {"value",
                  [](const Tensors& x) -> Tensors { return {addcmul(x[0], x[1], x[2], -0.75)}; },
                  [](const Tensors& x) { return addcmul_(x[0], x[1], x[2], -0.75); }}},
       .bad = {{[] { addcmul(ones({2}), ones({3}), ones({2})); },
                "addcmul: shapes must broadcast, got [2] and [3]"}}});
  rows.push_back(
      {.op = "addcdiv",
       .tolerance = {1, 1, 3},
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {addcdiv(x[0], x[1], x[2])}; },
                  [](const Tensors& x) { return addcdiv_(x[0], x[1], x[2]); }},
                 {"value",
                  [](const Tensors& x) -> Tensors { return {addcdiv(x[0], x[1], x[2], -0.75)}; },
                  [](const Tensors& x) { return addcdiv_(x[0], x[1], x[2], -0.75); }}},
       .bad = {{[] { addcdiv(tensor({1}), tensor({1}), tensor({1})); },
                "addcdiv: dtype must be floating, got i64"}}});
  rows.push_back(
      {.op = "masked_fill",
       .tolerance = kExact,
       .calls =
           {{"default", [](const Tensors& x) -> Tensors { return {masked_fill(x[0], x[1], 2.5)}; },
             [](const Tensors& x) { return masked_fill_(x[0], x[1], 2.5); }},
            {"integer", [](const Tensors& x) -> Tensors { return {masked_fill(x[0], x[1], 7)}; },
             [](const Tensors& x) { return masked_fill_(x[0], x[1], 7); }},
            {"tensor", [](const Tensors& x) -> Tensors { return {masked_fill(x[0], x[1], x[2])}; },
             [](const Tensors& x) { return masked_fill_(x[0], x[1], x[2]); }}},
       .bad = {{[] { masked_fill(ones({2}), ones({2}), 1); },
                "masked_fill: the mask must be bool, got f32"}},
       .also = {"where"}});
}

// Ops with numbers as parameters.
void add_clamps(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "clamp_min",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {clamp_min(x[0], 1)}; },
                  [](const Tensors& x) { return clamp_min_(x[0], 1); }},
                 {"fraction", [](const Tensors& x) -> Tensors { return {clamp_min(x[0], 0.5)}; },
                  [](const Tensors& x) { return clamp_min_(x[0], 0.5); }}},
       .bad = {{[] { clamp_min(ones({2}, {.dtype = boolean}), 1); },
                "clamp_min: dtype must be a number, not bool, got bool"}},
       .also = {"to"}});
  rows.push_back(
      {.op = "clamp_max",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {clamp_max(x[0], 1)}; },
                  [](const Tensors& x) { return clamp_max_(x[0], 1); }},
                 {"fraction", [](const Tensors& x) -> Tensors { return {clamp_max(x[0], 0.5)}; },
                  [](const Tensors& x) { return clamp_max_(x[0], 0.5); }}},
       .also = {"to"}});
  rows.push_back(
      {.op = "clamp",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {clamp(x[0], -1, 2)}; },
                  [](const Tensors& x) { return clamp_(x[0], -1, 2); }},
                 {"fraction", [](const Tensors& x) -> Tensors { return {clamp(x[0], -1.5, 2.5)}; },
                  [](const Tensors& x) { return clamp_(x[0], -1.5, 2.5); }},
                 {"min_only", [](const Tensors& x) -> Tensors { return {clamp(x[0], 0.25)}; },
                  [](const Tensors& x) { return clamp_(x[0], 0.25); }},
                 {"max_only", [](const Tensors& x) -> Tensors { return {clamp(x[0], {}, 2)}; },
                  [](const Tensors& x) { return clamp_(x[0], {}, 2); }},
                 {"crossed", [](const Tensors& x) -> Tensors { return {clamp(x[0], 3, 2)}; },
                  [](const Tensors& x) { return clamp_(x[0], 3, 2); }},
                 {"tensors", [](const Tensors& x) -> Tensors { return {clamp(x[0], x[1], x[2])}; },
                  [](const Tensors& x) { return clamp_(x[0], x[1], x[2]); }}},
       .bad = {{[] { clamp(ones({2}), std::nullopt, std::nullopt); },
                "clamp: min or max must be given, got neither"}},
       .also = {"clamp_max", "clamp_min", "maximum", "minimum", "to"}});
}

void add_fill(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "fill_",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {x[0].clone().fill_(2.5)}; },
                  [](const Tensors& x) -> Tensor { return x[0].fill_(2.5); }},
                 {"zero", [](const Tensors& x) -> Tensors { return {x[0].clone().zero_()}; },
                  [](const Tensors& x) -> Tensor { return x[0].zero_(); }},
                 {"bool", [](const Tensors& x) -> Tensors { return {x[0].clone().fill_(true)}; },
                  [](const Tensors& x) -> Tensor { return x[0].fill_(true); }}},
       .bad = {{[] { ones({1}).expand({3}).fill_(1); },
                "fill_: a tensor whose elements share memory can't be written; clone it first, got "
                "[3] with strides [0]"}},
       .also = {"to"},
       .functions = {"zero_"},
       // The result is the number.
       .derivative = Derivative::zero,
       .overwrites = true});
}

// Questions of the host about two tensors: no fixture holds a bool that is no tensor.
void check_allclose(Device device) {
  const Tensor x = tensor({1.0, 0.0, -100.0}).to(device);
  const Tensor y = tensor({1.000009, 1e-9, -100.0009}).to(device);
  EXPECT_TRUE(allclose(x, y));
  EXPECT_FALSE(allclose(x, y, 1e-6));
  EXPECT_FALSE(allclose(x, y, 1e-5, 0));
  EXPECT_TRUE(allclose(x, x.slice(0, 0, 1), 0, 101));
  const Tensor nan = full({1}, std::nan("")).to(device);
  EXPECT_FALSE(allclose(nan, nan));
  EXPECT_TRUE(allclose(nan, nan, 0, 0, true));
}

void check_equal(Device device) {
  const Tensor x = arange(6).to(device).view({2, 3});
  EXPECT_TRUE(equal(x, x.clone()));
  EXPECT_TRUE(equal(x.t(), x.t().contiguous()));
  EXPECT_FALSE(equal(x, x.view({3, 2})));
  EXPECT_FALSE(equal(x, x.slice(0, 0, 1)));
  EXPECT_FALSE(equal(x, x.clone().fill_(1)));
}

void add_closeness(std::vector<Row>& rows) {
  rows.push_back({.op = "allclose",
                  .bad = {{[] { allclose(ones({2}), ones({2}), 0, -1); },
                           "allclose: atol must be at least 0, got -1"}},
                  .also = {"abs", "add", "all", "eq", "isfinite", "isnan", "le", "logical_and",
                           "logical_or", "mul", "sub"},
                  .property = check_allclose});
  rows.push_back({.op = "equal",
                  .bad = {{[] { equal(ones({2}), ones({2}, {.device = "cpu:1"})); },
                           "equal: tensors must be on one device, got cpu and cpu:1"}},
                  .also = {"all", "eq"},
                  .property = check_equal});
}

}  // namespace

std::vector<Row> pointwise_rows() {
  std::vector<Row> rows;
  add_unary(rows);
  add_binary(rows);
  add_scaled(rows);
  add_ternary(rows);
  add_clamps(rows);
  add_fill(rows);
  add_closeness(rows);
  return rows;
}

}  // namespace aorta::catalog
